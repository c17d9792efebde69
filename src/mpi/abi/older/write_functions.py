#!/usr/bin/env python3
"""Writes what libmpi.so.12 or libmpi.so.40 is made of: the functions of MPI as MPICH before version 5 and Open MPI have them.

    write_functions.py mpich|openmpi MPI.H OUTPUT_DIRECTORY     fails and names a parameter that it does not understand

names.h      declares weft's functions by the names that begin with weft_abi_: those without belong to the interface's
functions.c  for each function of mpi.h and mpi_absent.h one that converts and calls weft's, but those that special.c,
             of_rank.c and the interface's own files have
library.c    the names of all functions, for linkers and for who looks at the library: what they mean is found elsewhere
own_names    words for the linker of libweft, which give its functions the names that begin with weft_abi_

What is given and what comes back is told by functions.table, which is derived from the standard's description.
"""
import re
import sys
from pathlib import Path

HANDLES = {"MPI_Comm": "comm", "MPI_Datatype": "type", "MPI_Group": "group", "MPI_Request": "request", "MPI_Op": "op",
           "MPI_Info": "info", "MPI_Errhandler": "errhandler", "MPI_Message": "message", "MPI_File": "file",
           "MPI_Session": "session", "MPI_Win": "win"}
# Written by hand: in special.c, in own.c of each interface, and in of_rank.c what keeps something for a rank.
SPECIAL = {"MPI_Type_get_contents", "MPI_Type_get_contents_c", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple",
           "MPI_Get_processor_name", "MPI_Open_port", "MPI_Lookup_name", "MPI_Type_extent", "MPI_Type_lb", "MPI_Type_ub",
           "MPI_Pcontrol", "MPI_Comm_idup", "MPI_Comm_idup_with_info", "MPI_Info_create_env", "MPI_Abi_get_version",
           "MPI_Status_c2f", "MPI_Status_f2c", "MPI_Status_c2f08", "MPI_Status_f082c", "MPI_Status_f2f08", "MPI_Status_f082f",
           "MPI_Waitall", "MPI_T_event_get_info", "MPI_Comm_split_type"}
# Buffers for MPI_Bsend.
SPECIAL |= {f"MPI_{name}{ending}" for ending in ("", "_c") for name in (
    "Buffer_attach", "Buffer_detach", "Comm_attach_buffer", "Comm_detach_buffer", "Session_attach_buffer", "Session_detach_buffer")}
OF_RANK = {"MPI_Op_create", "MPI_Op_create_c", "MPI_Comm_create_errhandler", "MPI_Win_create_errhandler",
           "MPI_File_create_errhandler", "MPI_Session_create_errhandler", "MPI_Errhandler_create",
           "MPI_Comm_create_keyval", "MPI_Type_create_keyval", "MPI_Win_create_keyval", "MPI_Keyval_create",
           "MPI_Comm_get_attr", "MPI_Attr_get", "MPI_Win_get_attr", "MPI_Grequest_start",
           "MPI_Register_datarep", "MPI_Register_datarep_c"}
# In own.c of one interface alone.
OWN = {"mpich": set(),
       "openmpi": {"MPI_Comm_f2c", "MPI_Type_match_size", "MPIX_Comm_ishrink", "MPI_Error_string", "MPI_Get_library_version", "MPI_Comm_get_name", "MPI_Type_get_name", "MPI_Win_get_name",
                   "MPI_Info_get_nthkey"}}
CONVERSIONS = re.compile(r"_(c2f|f2c|toint|fromint)$")
# Functions of MPI-1. They are called by their newer names, since weft's own call functions that have names here, too.
NEWER = {"MPI_Address": "MPI_Get_address", "MPI_Type_hvector": "MPI_Type_create_hvector",
         "MPI_Type_hindexed": "MPI_Type_create_hindexed", "MPI_Type_struct": "MPI_Type_create_struct",
         "MPI_Errhandler_set": "MPI_Comm_set_errhandler", "MPI_Errhandler_get": "MPI_Comm_get_errhandler"}
# Of the functions beyond the standard those that the interfaces have, too: Open MPI since version 5.
EXTENDED = {"MPIX_Comm_revoke", "MPIX_Comm_shrink", "MPIX_Comm_agree", "MPIX_Comm_failure_ack", "MPIX_Comm_failure_get_acked",
            "MPIX_Comm_get_failed", "MPIX_Comm_is_revoked", "MPIX_Comm_ack_failed", "MPIX_Comm_iagree", "MPIX_Comm_ishrink"}
# Those that one interface has not.
ABSENT = {"mpich": {"MPIX_Comm_ishrink"}, "openmpi": set()}
# Open MPI 4's names of collectives that are started again and again.
PERSISTENT = re.compile(r"MPI_((All|Neighbor_|Reduce_|Red|Sca|Gat|Barrier|Bcast|Exs)\w*)_init$")
# Integers by the names of their parameters: what converts a value, and what converts one that comes back. None: nothing does.
RANK, TAG, ERROR, KEY = ("rank_in", "rank_out"), ("tag_in", "tag_out"), ("error_in", "error_out"), ("key_in", "key_out")
INTEGERS = {
    **dict.fromkeys(("dest", "source", "root", "rank", "target_rank", "local_leader", "remote_leader", "ranks1", "ranks2",
                     "rank_source", "rank_dest"), RANK),
    **dict.fromkeys(("tag", "sendtag", "recvtag"), TAG),
    **dict.fromkeys(("error", "errorclass", "errorcode"), ERROR),
    **dict.fromkeys(("comm_keyval", "type_keyval", "win_keyval", "keyval"), KEY),
    "required": ("thread_level_in", None), "provided": (None, "thread_level_out"), "result": (None, "compared_out"),
    "status": (None, "topology_out"), "order": ("order_in", None), "array_of_distribs": ("distribution_in", None),
    "array_of_dargs": ("distribution_size_in", None), "combiner": (None, "combiner_out"), "typeclass": ("type_class_in", None),
    "lock_type": ("lock_in", None), "assert": ("assert_in", None), "amode": ("access_in", "access_out"), "whence": ("whence_in", None),
    "verbosity": (None, "verbosity_out"), "bind": (None, "bound_out"), "scope": (None, "scope_out"),
    "var_class": ("variable_class_in", "variable_class_out")}
# Integers that are numbers alone, or for which both have the same constants (MPI_UNDEFINED).
PLAIN = set("""abi_major abi_minor address argc array_of_addresses array_of_blocklengths array_of_displacements array_of_gsizes
    array_of_indices array_of_large_counts array_of_partitions array_of_psizes array_of_sizes array_of_starts array_of_subsizes
    atomic blocklength buflen cat_index color commute continuous coords count cvar_index degrees desc_len destinations dims
    direction disp disp_unit displacement displs edges element_index event_index event_timestamp extent fd flag high incount
    indegree index indices indx insize is_set key lb len length level logical_size max_addresses max_datatypes max_integers
    max_large_counts max_ticks maxdims maxedges maxindegree maxindex maxneighbors maxoutdegree maxprocs n name_len ndims nedges
    neighbors newrank nkeys nneighbors nnodes npset_names num num_addresses num_cat num_categories num_cvar num_cvars num_datatypes
    num_elements num_events num_integers num_large_counts num_pvar num_pvars num_sources offset origin_count outcount outdegree
    outsize partition partition_high partition_low partitions periods position precision pset_len pvar_index range ranges ranks
    rdispls readonly recvcount recvcounts remain_dims reorder result_count resultlen sdispls sendcount sendcounts size
    source_index sources stride subversion target_count target_disp ticks_per_second timestamp true_extent true_lb update_number
    num_to_ack num_acked value valuelen version weighted base addr1 addr2""".split())
# Arguments that mean weights of edges: MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY have values of the interface.
WEIGHTS = {"weights", "sourceweights", "destweights"}
COUNTS = {"MPI_Aint", "MPI_Count", "MPI_Offset"}
TOOLS = re.compile(r"MPI_T_(enum|cvar_handle|pvar_handle|pvar_session|event_registration|event_instance|\w+_function)")
# How many elements an array has that is converted.
LENGTHS = {"array_of_requests": "count", "array_of_statuses": "count", "array_of_types": "count", "array_of_datatypes": "count",
           "ranks1": "n", "ranks2": "n", "array_of_distribs": "ndims", "array_of_dargs": "ndims"}
# Collectives of which the root alone sends, or receives, parts.
ROOTED = re.compile(r"MPIX?_I?(gather|scatter)v?(_init)?(_c)?", re.IGNORECASE)
# Which returns what is no error.
RESULTS = {"MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff"}


LIBRARY = """/* Written by write_functions.py from mpi.h. */
#include <string.h>
#include <unistd.h>

static void tell(void) {
  static const char text[] =
      "weft's libmpi: libweft was not found in the folder of this library: install weft again, or run the program with weftrun\\n";
  (void)!write(STDERR_FILENO, text, strlen(text));
  _exit(127);
}
#define NAME(name) \\
  extern void name(void) __attribute__((alias("tell"))); \\
  extern void P##name(void) __attribute__((alias("tell")));
"""


class Unknown(Exception):
    pass


class Parameter:
    def __init__(self, text):
        found = re.fullmatch(r"(const )?(\w+) ?(\**) ?(\w+)((?:\[\d*\])*)", " ".join(text.split()))
        if not found:
            raise Unknown(text)
        self.is_const, self.base, stars, self.name, self.brackets = found.groups()
        self.pointers = len(stars) + (1 if self.brackets else 0)
        self.text = " ".join(text.split())

    @property
    def is_array(self):
        return self.pointers > 0 and (bool(self.brackets) or self.name.startswith("array_of_") or self.name in LENGTHS)


def parameters_of(text):
    text = text.strip()
    return [] if text in ("", "void") else [Parameter(part) for part in text.split(",")]


def intents(table):
    """By function: how each parameter is used (in, out, inout), as the standard says."""
    known = {}
    for name, text in re.findall(r"^function (MPI_\w+)[^:]*: (.*)$", table, re.MULTILINE):
        known[name] = dict(re.findall(r"\S+ (\w+)(?:\([^()]*\))? (inout|in|out|-)", text))
    return known


def length_of(function, parameter):
    if "lltoallw" in function:
        incoming = int(parameter.name.startswith("recv"))
        return f"weft_neighbours_of(s_comm, {incoming})" if "eighbor" in function else "weft_peers_of(s_comm)"
    if function.endswith("some"):
        return "incount"
    return LENGTHS[parameter.name]


def insignificant(function, parameter, parameters):
    """When a handle means nothing at the caller, where the program may have left anything, and a handle for it; None: it always means something."""
    names = {p.name for p in parameters}
    none, never, rooted = [], "MPI_BYTE", ROOTED.fullmatch(function)
    if parameter in ("sendtype", "recvtype"):
        buffer = parameter.removesuffix("type") + "buf"
        if rooted:
            scatters = rooted[1].lower() == "scatter"
            none = ["!is_root(s_comm, rank_in(root))" if (parameter == "sendtype") == scatters else "has_no_part(rank_in(root))"]
        if (parameter == "sendtype" or rooted) and buffer in names and "endrecv" not in function:
            none.append(f"{buffer} == OLDER_IN_PLACE")
    elif parameter == "peer_comm" and function == "MPI_Intercomm_create":
        none, never = ["weft_rank_in(s_local_comm) != local_leader"], "MPI_COMM_SELF"
    elif parameter == "info" and function in ("MPI_Comm_accept", "MPI_Comm_connect"):
        none, never = ["!is_root(s_comm, rank_in(root))"], "MPI_INFO_NULL"
    elif parameter == "origin_datatype" and "et_accumulate" in function:
        none = ["s_op == MPI_NO_OP"]
    return (" || ".join(none), never) if none else None


def function(name, parameters, used, result="int"):
    taken, given, values, later, before, after, at_success = [], [], [], [], [], [], []
    for p in parameters:
        n, s, intent = p.name, "s_" + p.name, used.get(p.name, "-")
        c = "const " if p.is_const else ""
        if p.base in HANDLES:
            kind, their = HANDLES[p.base], "void*" if p.base == "MPI_File" else "older_handle"
            if p.pointers == 0:
                taken.append(f"{their} {n}")
                if unread := insignificant(name, n, parameters):
                    later.append(f"const {p.base} {s} = {unread[0]} ? {unread[1]} : {kind}_in({n});")
                else:
                    values.append(f"const {p.base} {s} = {kind}_in({n});")
                given.append(s)
            elif p.is_array:
                taken.append(f"{c}{their}* {n}")
                # With MPI_IN_PLACE these are not looked at.
                none = f"{n} == NULL" + (" || sendbuf == OLDER_IN_PLACE" if n == "sendtypes" else "")
                before.append(f"OLDER_ARRAY({p.base}, {s}, {none} ? 0 : {length_of(name, p)});")
                before.append(f"for (long i = 0; i < {s}_count; ++i) {s}[i] = {kind}_in({n}[i]);")
                given.append(f"{none} ? NULL : {s}")
                if kind == "request" and not p.is_const:  # A call ends a request or leaves it as it was.
                    after.append(f"for (long i = 0; i < {s}_count; ++i)\n    if ({s}[i] == MPI_REQUEST_NULL) {n}[i] = OLDER_REQUEST_NULL;")
                elif not p.is_const:
                    after.append(f"for (long i = 0; i < {s}_count; ++i) {n}[i] = {kind}_out({s}[i]);")
                after.append(f"OLDER_END({s});")
            elif kind == "request" and intent == "inout":
                taken.append(f"older_handle* {n}")
                before.append(f"MPI_Request {s} = {n} == NULL ? (MPI_Request)0 : request_in(*{n});")
                given.append(f"{n} == NULL ? NULL : &{s}")
                after.append(f"if ({s} == MPI_REQUEST_NULL) *{n} = OLDER_REQUEST_NULL;")
            else:
                taken.append(f"{their}* {n}")
                is_in = intent == "inout" or name == "MPI_Cancel"
                # What the call leaves alone stays as it is.
                before.append(f"{p.base} {s} = " + (f"{n} == NULL ? ({p.base})0 : {kind}_in(*{n});" if is_in else f"({p.base})0;"))
                given.append(f"{n} == NULL ? NULL : &{s}")
                after.append(f"if ({n} != NULL && {s} != ({p.base})0) *{n} = {kind}_out({s});")
        elif p.base == "MPI_Status":
            taken.append(f"{c}older_status* {n}")
            if p.is_array:
                before.append(f"OLDER_ARRAY(MPI_Status, {s}, {n} == NULL || {n} == OLDER_STATUS_IGNORE ? 0 : {length_of(name, p)});")
                before.append(f"for (long i = 0; i < {s}_count; ++i) status_begin(&{s}[i]);")
                given.append(f"{n} == NULL || {n} == OLDER_STATUS_IGNORE ? MPI_STATUSES_IGNORE : {s}")
                after.append(f"for (long i = 0; i < {s}_count; ++i) status_out(&{s}[i], &{n}[i]);")
                after.append(f"OLDER_END({s});")
            else:
                is_in = bool(p.is_const) or name.startswith("MPI_Status_set")
                before.append(f"MPI_Status {s};")
                before.append(f"if ({n} != NULL && {n} != OLDER_STATUS_IGNORE) status_{'in' if is_in else 'begin'}("
                              + (f"{n}, " if is_in else "") + f"&{s});")
                given.append(f"{n} == NULL || {n} == OLDER_STATUS_IGNORE ? MPI_STATUS_IGNORE : &{s}")
                if not p.is_const:
                    out = "status_update" if is_in else "status_out"
                    after.append(f"if ({n} != NULL && {n} != OLDER_STATUS_IGNORE) {out}(&{s}, {n});")
        elif p.base == "void":
            taken.append(f"{c}void* {n}")
            if n in ("sendbuf", "recvbuf") and "endrecv" not in name:
                given.append(f"place_in({n})")
            else:
                given.append(n)
        elif p.base in ("int", "MPI_Fint") and n in INTEGERS and not (name == "MPI_Abort" and n == "errorcode"):
            into, out = INTEGERS[n]
            if p.pointers == 0:
                if into is None:
                    raise Unknown(f"{name}: {p.text}")
                taken.append(f"int {n}")
                given.append(f"{into}({n})")
            elif p.is_array and p.is_const:
                taken.append(f"const int* {n}")
                before.append(f"OLDER_ARRAY(int, {s}, {n} == NULL ? 0 : {length_of(name, p)});")
                before.append(f"for (long i = 0; i < {s}_count; ++i) {s}[i] = {into}({n}[i]);")
                given.append(f"{n} == NULL ? NULL : {s}")
                after.append(f"OLDER_END({s});")
            elif p.is_array:
                taken.append(f"int* {n}")
                given.append(n)
                at_success.append(f"for (long i = 0; {n} != NULL && i < {length_of(name, p)}; ++i) {n}[i] = {out}({n}[i]);")
            else:
                if out is None:
                    raise Unknown(f"{name}: {p.text}")
                taken.append(f"int* {n}")
                if intent == "inout":
                    before.append(f"if ({n} != NULL) *{n} = {into}(*{n});")
                    after.append(f"if ({n} != NULL) *{n} = {out}(*{n});")
                else:
                    at_success.append(f"if ({n} != NULL) *{n} = {out}(*{n});")
                given.append(n)
        elif p.base == "MPI_Offset" and n == "disp" and p.pointers == 0:
            taken.append(f"MPI_Offset {n}")
            given.append(f"displacement_in({n})")
        elif p.base == "MPI_T_pvar_handle" and p.pointers == 0:
            taken.append(p.text)
            given.append(f"variable_handle_in({n})")
        elif p.base == "MPI_T_cb_safety":
            taken.append(f"int {n}")
            given.append(f"safety_in({n})")
        elif p.base == "MPI_T_source_order":
            taken.append(f"int* {n}")
            before.append(f"MPI_T_source_order {s} = MPI_T_SOURCE_ORDERED;")
            given.append(f"{n} == NULL ? NULL : &{s}")
            at_success.append(f"if ({n} != NULL) *{n} = {s} - MPI_T_SOURCE_ORDERED;")
        elif n in WEIGHTS:
            taken.append(p.text)
            given.append(f"weights_in({n})")
        elif (p.base in ("int", *COUNTS) and (n in PLAIN or n == "errorcode" or (p.base in COUNTS and n in INTEGERS))
              or p.base == "char" or TOOLS.fullmatch(p.base)):
            taken.append(p.text)
            given.append(n)
        else:
            raise Unknown(f"{name}: {p.text}")
    signature = ", ".join(taken) or "void"
    call = f"weft_abi_{NEWER.get(name, name)}({', '.join(given)})"
    if name in RESULTS:
        body = f"  return {call};\n"
    else:
        lines = values + later + before + [f"const int code = {call};"] + after
        if at_success:
            lines += ["if (code == MPI_SUCCESS) {", *("  " + line for line in at_success), "}"]
        body = "".join(f"  {line}\n" for line in lines) + "  return error_out(code);\n"
    return f"OLDER_FUNCTION({result}, {name}, ({signature})) {{\n{body}}}\n"


def conversions(interface):
    """Between C's handles and integers."""
    text = ""
    for kind in ("Comm", "Type", "Group", "Request", "Op", "Info", "Errhandler", "Message", "Session", "Win", "File"):
        handle, name = "void*" if kind == "File" else "older_handle", kind.lower()
        for out, back in (("c2f", "f2c"), ("toint", "fromint")):
            backwards = (f"OLDER_FUNCTION({handle}, MPI_{kind}_{back}, (int number)) {{ return {name}_of_integer(number); }}\n"
                         if f"MPI_{kind}_{back}" not in OWN[interface] else "")
            text += (f"OLDER_FUNCTION(int, MPI_{kind}_{out}, ({handle} handle)) {{ return {name}_to_integer(handle); }}\n" + backwards)
    return text


def declared(header):
    """(result, name, parameters) of each function of mpi.h, mpi_absent.h and mpi-ext.h."""
    absent = header.with_name("mpi_absent.h").read_text().replace("\\\n", "\n")
    extended = header.with_name("mpi-ext.h").read_text()
    found = re.findall(r"^WEFT_MPI_DECLARE\(\s*([\w ]+?)\s*,\s*(MPI_\w+)\s*,\s*\(([^()]*)\)\)", header.read_text(), re.MULTILINE)
    found += [("int", name, text) for name, text in re.findall(r"^  X\((?:\w+,\s*)?(MPI_\w+),\s*\(([^()]*)\)\)", absent, re.MULTILINE)]
    return found + [("int", name, text) for name, text
                    in re.findall(r"^WEFT_MPIX_DECLARE\((MPIX_\w+), \(([^()]*)\)\)", extended, re.MULTILINE) if name in EXTENDED]


def main():
    interface, header, output = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    table = (Path(__file__).resolve().parents[2] / "fortran/functions.table").read_text()
    used = intents(table)
    all_declared = declared(header)
    if interface == "openmpi":
        persistent = [(result, "MPIX_" + name.removeprefix("MPI_"), text) for result, name, text in all_declared if PERSISTENT.match(name)]
        NEWER.update({name: "MPI_" + name.removeprefix("MPIX_") for _, name, _ in persistent})
        all_declared += persistent
    every_name = sorted({name for _, name, _ in all_declared})
    all_declared = [one for one in all_declared if one[1] not in ABSENT[interface]]
    functions, unknown = [], []
    for result, name, text in all_declared:
        if name in SPECIAL | OF_RANK | OWN[interface] or CONVERSIONS.search(name):
            continue
        try:
            parameters = parameters_of(text)
            how = used.get(NEWER.get(name, name).removesuffix("_c"), {})
            if name.startswith("MPIX_") or not how:
                how = {p.name: "out" for p in parameters if p.pointers == 1 and p.name.startswith(("new", "failed"))} or how
            functions.append(function(name, parameters, how, result))
        except Unknown as reason:
            unknown.append(str(reason))
    if unknown:
        sys.exit("write_functions.py does not understand:\n" + "\n".join(unknown))
    output.mkdir(parents=True, exist_ok=True)
    names = sorted({name for _, name, _ in all_declared})
    both = [prefix + name for name in every_name for prefix in ("", "P")]
    (output / "names.h").write_text(
        "/* Written by write_functions.py from mpi.h. */\n#ifndef WEFT_MPI_ABI_OLDER_NAMES_H\n#define WEFT_MPI_ABI_OLDER_NAMES_H\n"
        + "".join(f"#define {name} weft_abi_{name}\n" for name in both) + '#include "mpi/mpi.h"\n'
        + "".join(f"#undef {name}\n" for name in both) + "#endif\n")
    (output / "functions.c").write_text('/* Written by write_functions.py from mpi.h and functions.table. */\n#include "functions.h"\n\n'
                                        + "\n".join(functions) + "\n" + conversions(interface))
    (output / "library.c").write_text(LIBRARY + "".join(f"NAME({name})\n" for name in names))
    (output / "own_names").write_text("".join(f"--defsym=weft_abi_{name}=P{name}\n" for name in every_name))


if __name__ == "__main__":
    main()
