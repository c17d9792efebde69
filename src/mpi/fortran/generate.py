#!/usr/bin/env python3
"""Writes the Fortran side of MPI from the declarations in mpi.h and in mpi-ext.h beside it.

    generate.py MPI.H OUTPUT_DIRECTORY      leaves out and names a function that it does not understand, and
                                            ends with status 1 then
stubs.c      for each function of C one with Fortran's calling convention, but those that special.c has
mpif.h       the constants
mpi.f90      module mpi: the constants and the interfaces
stubs_f08.c  for each function with a buffer one that takes descriptors
mpi_f08.f90  module mpi_f08 (module_f08.py)

A string of Fortran has its length as a hidden argument after all others; gfortran's logicals are 0 or 1.
"""
import platform
import re
import sys
from pathlib import Path

import module_f08

HANDLES = {"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Group": "Group", "MPI_Request": "Request", "MPI_Op": "Op",
           "MPI_Info": "Info", "MPI_Errhandler": "Errhandler", "MPI_Message": "Message", "MPI_File": "File",
           "MPI_Session": "Session", "MPI_Win": "Win"}
KINDS = {"MPI_Aint": "MPI_ADDRESS_KIND", "MPI_Count": "MPI_COUNT_KIND", "MPI_Offset": "MPI_OFFSET_KIND"}
# Functions whose `flag` is an integer of bits.
OF_BITS = {"MPIX_Comm_agree", "MPIX_Comm_iagree"}
LOGICALS = {"flag", "reorder", "periods", "remain_dims", "commute", "high", "weighted"}
# Arguments that are arrays of integers, though C declares them as pointers without const.
ARRAYS = {"coords", "dims", "ranks2", "neighbors", "sources", "sourceweights", "destinations", "destweights", "edges",
          "nnodes_index"}
# The length of an array of handles, where it is not the argument `count`.
LENGTHS = {"MPI_Waitsome": "*incount", "MPI_Testsome": "*incount", "MPI_Type_get_contents": "*max_datatypes",
           "MPI_Type_get_contents_c": "*max_datatypes"}
# Functions whose stubs are in special.c. Their interfaces for the module are still made of C's declarations.
SPECIAL = {"MPI_Init", "MPI_Init_thread", "MPI_Pcontrol", "MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff",
           "MPI_Op_create", "MPI_Comm_create_errhandler", "MPI_File_create_errhandler", "MPI_Register_datarep",
           "MPI_Comm_create_keyval", "MPI_Type_create_keyval",
           "MPI_Comm_set_attr", "MPI_Comm_get_attr", "MPI_Type_set_attr", "MPI_Type_get_attr", "MPI_Waitany",
           "MPI_Testany", "MPI_Waitsome", "MPI_Testsome", "MPI_Request_get_status_any",
           "MPI_Request_get_status_some", "MPI_Grequest_start", "MPI_Buffer_detach", "MPI_Comm_detach_buffer",
           "MPI_Win_create_errhandler", "MPI_Win_create_keyval", "MPI_Win_set_attr", "MPI_Win_get_attr",
           "MPI_Info_get",
           "MPI_Info_get_string", "MPI_Info_create_env", "MPI_Errhandler_create", "MPI_Comm_idup",
           "MPI_Comm_idup_with_info", "MPI_Keyval_create", "MPI_Attr_put", "MPI_Attr_get",
           "MPI_Op_create_c", "MPI_Register_datarep_c", "MPI_Buffer_detach_c", "MPI_Comm_detach_buffer_c",
           "MPI_Session_create_errhandler", "MPI_Session_get_nth_pset", "MPI_Session_detach_buffer", "MPI_Session_detach_buffer_c",
           "MPI_Status_f2f08", "MPI_Status_f082f", "MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPIX_Comm_ishrink"}
# The arguments of functions that have fewer in Fortran than in C.
SHORTER = {"MPI_Pcontrol": "int level", "MPI_Info_create_env": "MPI_Info* info"}
# Functions of MPI-1 to which addresses are integers of the default kind.
NARROW = {"MPI_Address", "MPI_Type_hvector", "MPI_Type_hindexed", "MPI_Type_struct", "MPI_Type_extent", "MPI_Type_lb",
          "MPI_Type_ub", "MPI_Keyval_create", "MPI_Attr_put", "MPI_Attr_get"}
# Functions that Fortran does not have, or only the module mpi_f08.
ABSENT = re.compile(r"_(c2f|f2c|c2f08|f082c|fromint|toint)$|^MPI_T_|^MPIX_(Async_\w+|Type_iov\w*|Request_is_complete|\w+_x)$")
OFFSETS = {"MPI_DISPLACEMENT_CURRENT"}  # Constants of kind MPI_OFFSET_KIND.
# Lengths of strings: one less than in C, which counts the zero byte at the end.
STRING_SIZES = re.compile(r"^MPI_MAX_")
# A double precision is longer than C's double where -fdefault-real-8 makes reals as long.
FUNCTIONS = {"MPI_Wtime": "real(kind=8)", "MPI_Wtick": "real(kind=8)",
             "MPI_Aint_add": "integer(kind=MPI_ADDRESS_KIND)", "MPI_Aint_diff": "integer(kind=MPI_ADDRESS_KIND)"}
PLACES = ("MPI_BOTTOM", "MPI_IN_PLACE", "MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE", "MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY",
          "MPI_ERRCODES_IGNORE", "MPI_BUFFER_AUTOMATIC", "MPI_ARGV_NULL", "MPI_ARGVS_NULL")
# The dimensions of the places that are arrays.
SHAPES = {"MPI_STATUS_IGNORE": "(8)", "MPI_STATUSES_IGNORE": "(8,1)", "MPI_UNWEIGHTED": "(1)", "MPI_WEIGHTS_EMPTY": "(1)",
          "MPI_ERRCODES_IGNORE": "(1)", "MPI_ARGV_NULL": "(1)", "MPI_ARGVS_NULL": "(1,1)"}
OWN_CONSTANTS = {"MPI_ADDRESS_KIND": 8, "MPI_COUNT_KIND": 8, "MPI_OFFSET_KIND": 8, "MPI_INTEGER_KIND": 4,
                 "MPI_STATUS_SIZE": 8, "MPI_SOURCE": 1, "MPI_TAG": 2, "MPI_ERROR": 3}
CALLBACKS = ("COMM_DUP_FN", "COMM_NULL_COPY_FN", "COMM_NULL_DELETE_FN", "TYPE_DUP_FN", "TYPE_NULL_COPY_FN",
             "TYPE_NULL_DELETE_FN", "WIN_DUP_FN", "WIN_NULL_COPY_FN", "WIN_NULL_DELETE_FN", "DUP_FN", "NULL_COPY_FN", "NULL_DELETE_FN",
             "CONVERSION_FN_NULL")


# For MPI_Sizeof: the kinds of each type, and how many bytes an element of the kind has.
SIZES = {"integer": {1: 1, 2: 2, 4: 4, 8: 8, 16: 16}, "logical": {1: 1, 2: 2, 4: 4, 8: 8, 16: 16},
         "real": {4: 4, 8: 8, 10: 16, 16: 16}, "complex": {4: 8, 8: 16, 10: 32, 16: 32}}
if platform.machine() not in ("x86_64", "i686"):
    SIZES["real"].pop(10), SIZES["complex"].pop(10)


class Unknown(Exception):
    pass


class Parameter:
    def __init__(self, text):
        text = " ".join(text.split())
        if text == "...":
            raise Unknown("...")
        found = re.fullmatch(r"(const )?(\w+) ?(\**) ?(\w+)((?:\[\d*\])*)", text)
        if not found:
            raise Unknown(text)
        self.is_const, self.base, stars, self.name, self.brackets = found.groups()
        self.pointers = len(stars) + (1 if self.brackets else 0)
        self.array_of_three = self.brackets.endswith("[3]")

    @property
    def is_array(self):
        return self.pointers > 0 and (bool(self.is_const) or self.name.startswith("array_of_") or self.name in ARRAYS
                                      or bool(self.brackets) or self.name == "ranges")

    @property
    def is_status(self):
        return self.base == "MPI_Status"

    @property
    def is_choice(self):
        return (self.base == "void" and self.pointers == 1 and not self.is_address
                and self.name not in ("extra_state", "attribute_val"))

    @property
    def is_address(self):
        return self.name == "baseptr"

    @property
    def is_string(self):
        return self.base == "char" and self.pointers == 1

    @property
    def is_callback(self):
        return self.base.endswith(("_function", "_fn"))


def length_of(function, parameter):
    """How many elements an array of handles has, as an expression in C."""
    if "lltoallw" in function:
        if "eighbor" in function:
            return f"weft_fortran_neighbours(MPI_Comm_f2c(*comm), {int(parameter.name.startswith('recv'))})"
        return "weft_fortran_peers(MPI_Comm_f2c(*comm))"
    return LENGTHS.get(function, "*count")


def stub(name, parameters, buffers=None):
    """The function in C that Fortran calls. With `buffers`, of module_f08.buffers_of(), it is that of mpi_f08 and takes descriptors
    of buffers and strings."""
    taken, given, before, after, hidden = [], [], [], [], []
    roles = {n: role for n, (role, _, _) in (buffers or {}).items()}
    has_descriptors = any(role != "address_of_c" for role in roles.values())
    for p in parameters:
        n = p.name
        if p.is_callback:
            raise Unknown(f"callback {n}")
        if roles.get(n) == "address_of_c":
            taken.append(f"void* {n}")
            given.append(n)
        elif n in roles:
            taken.append(f"CFI_cdesc_t* {n}")
            given.append(f"{place_of(name)}({n}->base_addr)")
        elif p.is_choice:
            taken.append(f"void* {n}")
            given.append(f"{place_of(name)}({n})")
        elif p.is_address:  # The address is an integer's value, or a Cray pointer's.
            taken.append(f"MPI_Aint* {n}")
            given.append(n)
        elif p.is_string:
            text, room = n, f"{n}_room"
            if not has_descriptors:
                taken.append(f"char* {n}")
                hidden.append(f"size_t {n}_room")
            else:
                taken.append(f"CFI_cdesc_t* {n}")
                text, room = f"{n}->base_addr", f"{n}->elem_len"
            if p.is_const:
                way = "name" if name.removesuffix("_c").endswith("_set_name") else "text"
                before.append(f"char* const c_{n} = weft_fortran_{way}_in({text}, {room});")
                after.append(f"free(c_{n});")
            else:
                before.append(f"char c_{n}[MPI_MAX_LIBRARY_VERSION_STRING + 1] = \"\";")
                after.append(f"weft_fortran_text_out(c_{n}, {text}, {room});")
            given.append(f"c_{n}")
        elif p.is_status and p.pointers == 1:
            taken.append(f"MPI_Status* {n}")
            given.append(f"weft_fortran_status({n})")
        elif p.base in HANDLES and p.pointers == 0:
            taken.append(f"const MPI_Fint* {n}")
            given.append(handle_in(p.base, f"*{n}"))
        elif p.base in HANDLES and p.pointers == 1:
            kind = HANDLES[p.base]
            taken.append(f"MPI_Fint* {n}")
            given.append(f"c_{n}" if p.is_array else f"&c_{n}")
            if p.is_array:
                before.append(f"const long {n}_count = {length_of(name, p)};")
                before.append(f"{p.base}* const c_{n} = weft_fortran_memory({n}_count, sizeof *c_{n});")
                before.append(f"for (long i = 0; i < {n}_count; ++i) c_{n}[i] = MPI_{kind}_f2c({n}[i]);")
                if not p.is_const:
                    after.append(f"for (long i = 0; i < {n}_count; ++i) {n}[i] = MPI_{kind}_c2f(c_{n}[i]);")
                after.append(f"free(c_{n});")
            else:
                before.append(f"{p.base} c_{n} = {handle_in(p.base, f'*{n}')};")
                after.append(f"*{n} = MPI_{kind}_c2f(c_{n});")
        elif p.base in KINDS and name in NARROW and p.pointers == 1:
            taken.append(f"MPI_Fint* {n}")
            given.append(f"c_{n}" if p.is_array else f"&c_{n}")
            if p.is_array:
                before.append(f"{p.base}* const c_{n} = weft_fortran_memory({length_of(name, p)}, sizeof *c_{n});")
                before.append(f"for (long i = 0; i < {length_of(name, p)}; ++i) c_{n}[i] = {n}[i];")
                after.append(f"free(c_{n});")
            else:  # An address is cut off; differences of such are right all the same.
                before.append(f"{p.base} c_{n} = 0;")
                after.append(f"*{n} = (MPI_Fint)c_{n};")
        elif p.base in KINDS and name in NARROW:
            taken.append(f"const MPI_Fint* {n}")
            given.append(f"*{n}")
        elif p.base in ("int", *KINDS) and p.pointers == 0:
            taken.append(f"const {p.base}* {n}")
            given.append(f"*{n}")
        elif p.base == "int" and p.array_of_three:
            taken.append(f"int (*{n})[3]")
            given.append(n)
        elif p.base in ("int", *KINDS) and p.pointers == 1:
            taken.append(f"{p.base}* {n}")
            given.append(f"weft_fortran_weights({n})" if "weights" in n else n)
        else:
            raise Unknown(f"{p.base} {n}")
    signature = ", ".join(taken + ["MPI_Fint* ierror"] + hidden)
    fortran = name.lower() + "_" + ("" if buffers is None else "f08ts_" if has_descriptors else "f08_")
    plain = list(given)
    first, then, last = descriptors(name, parameters, buffers or {}, given)
    text = [*first, *before, *then, f"*ierror = {name}({', '.join(given)});", *last, *after]
    is_f08_too = buffers is None and not any(p.is_choice for p in parameters)
    lines = "".join(f"  {line}\n" for line in text)
    if has_descriptors and not before + after + then:
        return with_fast_path(name, fortran, signature, parameters, roles, plain, lines)
    return (f"void p{fortran}({signature}) {{\n  WEFT_STUB;\n{lines}}}\n"
            f"WEFT_FORTRAN_NAME{'' if is_f08_too else '_ALONE'}({fortran}, ({signature}));\n"
            + (address_names(fortran, signature) if buffers is None and gives_address(parameters) else ""))


def with_fast_path(name, fortran, signature, parameters, roles, given, lines):
    """A stub without anything to convert or to end: whatever is unusual is out of line, and nothing is kept over the call."""
    unusual = ["weft_traces_calls"] + [f"!WEFT_IS_PREDEFINED(*{p.name})" for p in parameters if p.base in HANDLES]
    unusual += [f"weft_f08_is_section({n})" for n, role in roles.items() if role != "address"]
    given = [f"WEFT_PREDEFINED({p.base}, *{p.name})" if p.base in HANDLES else g for p, g in zip(parameters, given)]
    names = ", ".join(re.findall(r"(\w+)(?:, |$)", signature))
    return (f"static __attribute__((noinline, cold)) void any_{fortran}({signature}, const void* caller) {{\n"
            f"  WEFT_STUB_CALLED_FROM(caller);\n{lines}}}\n"
            f"void p{fortran}({signature}) {{\n  if (__builtin_expect({' || '.join(unusual)}, 0)) {{\n"
            f"    any_{fortran}({names}, __builtin_return_address(0));\n    return;\n  }}\n"
            f"  const int error = {name}({', '.join(given)});\n  if (ierror != NULL) *ierror = error;\n}}\n"
            f"WEFT_FORTRAN_NAME_ALONE({fortran}, ({signature}));\n")


def place_of(name):
    """What knows the constants that may be in place of the function's buffer."""
    return "weft_fortran_memory_at" if re.fullmatch(r"MPI_\w?(send|recv)(_init)?(_c)?", name, re.IGNORECASE) else "weft_fortran_place"


def handle_in(base, number):
    return f"WEFT_HANDLE({base}, MPI_{HANDLES[base]}_f2c, {number})"


def descriptors(name, parameters, buffers, given):
    """What a stub does for descriptors: before and behind the conversion of its other arguments, and after the call. Replaces in
    `given` the counts and datatypes that go with them."""
    at = {p.name: i for i, p in enumerate(parameters)}
    first, then, last = [], [], []

    def section(made, is_section, call, datatype, *others):
        """Uses another datatype, and what goes with it, where there is a section."""
        first.extend([f"MPI_Datatype {made}_type = {given[at[datatype]]}, {made} = NULL;",
                      f"if (__builtin_expect({is_section}, 0)) {{", f"  {made} = {call};",
                      f"  if ({made} != NULL) {made}_type = {made}{''.join(others)};", "}"])
        last.append(f"if (__builtin_expect({made} != NULL, 0)) weft_section_end({made});")
        given[at[datatype]] = f"{made}_type"

    comm = given[at["comm"]] if "comm" in at and parameters[at["comm"]].base == "MPI_Comm" else "MPI_COMM_SELF"
    for n, (role, count, datatype) in sorted(buffers.items(), key=lambda b: b[1][0] != "row"):
        if role == "row":
            first.append(f"if (weft_f08_is_section({n})) {{")
            first.append(f"  *ierror = weft_section_refuse(\"{name}\", \"{n}\", {comm});")
            first.append("  return;\n  }")
        elif role == "block":
            first.append(f"{parameters[at[count]].base} {n}_count = *{count};")
            section(f"{n}_made", f"weft_f08_is_section({n})", f"weft_f08_block({n}, *{count}, {given[at[datatype]]})", datatype,
                    f", {n}_count = 1")
            given[at[count]] = f"{n}_count"
        elif role == "list" and parameters[at[datatype]].pointers:
            then.append(f"weft_f08_lists({n}, c_{datatype}, {datatype}_count);")
            last.append(f"weft_f08_end_lists({n}, c_{datatype}, {datatype}_count);")
        elif role == "list":
            section(f"{n}_made", f"weft_f08_is_section({n})", f"weft_f08_list({n}, {given[at[datatype]]})", datatype)
    reduced = [n for n, (role, _, _) in buffers.items() if role == "reduced"]
    if reduced:
        section("made", " | ".join(f"weft_f08_is_section({n})" for n in reduced),
                f"weft_f08_reduced({', '.join(reduced)}, {given[at['datatype']]})", "datatype")
    return first, then, last


def gives_address(parameters):
    return any(p.is_address for p in parameters)


def address_names(fortran, signature):
    """The names of a function that returns an address, for programs that take it in a TYPE(C_PTR)."""
    other = fortran + "cptr_"
    return (f"extern __attribute__((alias(\"p{fortran}\"))) void p{other}({signature});\n"
            f"WEFT_FORTRAN_NAME({other}, ({signature}));\n")


def refusing_stub(name, text):
    """The stub of a function that weft does not have: it passes no argument on, since C's refuses whatever it gets."""
    count = 0 if text.strip() == "void" else text.count(",") + 1
    fortran = name.lower() + "_"
    signature = "".join(f"void* a{i}, " for i in range(count)) + "MPI_Fint* ierror"
    unused = "".join(f"(void)a{i}, " for i in range(count))
    return (f"void p{fortran}({signature}) {{\n  WEFT_STUB;\n  {unused}*ierror = {name}({', '.join(['0'] * count)});\n}}\n"
            f"WEFT_FORTRAN_NAME({fortran}, ({signature}));\n"
            f"extern __attribute__((alias(\"p{fortran}\"))) void p{fortran}f08ts_({signature});\n"
            f"WEFT_FORTRAN_NAME_ALONE({fortran}f08ts_, ({signature}));\n"
            + (address_names(fortran, signature) if re.search(r"\bbaseptr\b", text) else ""))


def are_told_apart(small, large):
    """Whether a generic function can have both: one argument differs in kind, or their number does."""
    return len(small) != len(large) or any((a.base == "int") != (b.base == "int") for a, b in zip(small, large))


def interfaces_of(functions):
    """The interfaces of functions, given as parameters by name, and of their PMPI names. Those of large counts are also called by the
    name without _c where their arguments tell them apart."""
    text, alone = "", ""
    for name, parameters in functions.items():
        of_int = functions.get(name.removesuffix("_c")) if name.endswith("_c") else None
        if of_int is not None and are_told_apart(of_int, parameters):
            continue
        large = functions.get(name + "_c")
        both = [(name, parameters)] + ([(name + "_c", large)] if large and are_told_apart(parameters, large) else [])
        for prefix in ("", "P"):
            bodies = ""
            for one, arguments in both:
                bodies += specific(prefix + one, one, arguments)
                if gives_address(arguments):  # The address is an integer or a TYPE(C_PTR).
                    bodies += specific(f"{prefix}{one}_cptr", one, arguments, address="type(c_ptr)")
            if len(both) == 1 and not gives_address(parameters):
                alone += bodies
            else:
                text += f"  interface {prefix}{name}\n{bodies}  end interface\n"
    return f"{text}  interface\n{alone}  end interface\n"


def specific(called, name, parameters, address="integer(kind=MPI_ADDRESS_KIND)"):
    """One function of an interface, by the name that is called."""
    lines, names = [], []
    for p in parameters:
        n = p.name
        names.append(n)
        dimension = "(*)" if p.is_array else ""
        if p.is_callback:
            lines.append(f"external :: {n}")
        elif p.base == "void" and not p.is_choice and name not in NARROW:
            lines.append(f"{address if p.is_address else 'integer(kind=MPI_ADDRESS_KIND)'} :: {n}")
        elif p.is_choice:
            lines.append(f"type(*), dimension(*) :: {n}")
            # Each compiler knows one of these.
            lines.extend([f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {n}", f"!DEC$ ATTRIBUTES NO_ARG_CHECK :: {n}", f"!DIR$ IGNORE_TKR {n}"])
        elif p.base == "char":
            lines.append(f"character(len=*) :: {n}{('', '(*)', '(count, *)')[p.pointers - 1]}")
        elif p.base == "MPI_F08_status":
            lines.append(f"type(MPI_Status) :: {n}")
        elif p.base == "MPI_Fint":
            lines.append(f"integer :: {n}(MPI_STATUS_SIZE)")
        elif p.is_status:
            lines.append(f"integer :: {n}(MPI_STATUS_SIZE{', *' if n.startswith('array_of_') else ''})")
        elif p.base in KINDS and name not in NARROW:
            lines.append(f"integer(kind={KINDS[p.base]}) :: {n}{dimension}")
        elif p.array_of_three:
            lines.append(f"integer :: {n}(3, *)")
        elif n in LOGICALS and name not in OF_BITS:
            lines.append(f"logical :: {n}{'(*)' if n in ('periods', 'remain_dims') else ''}")
        else:
            lines.append(f"integer :: {n}{dimension}")
    kind = "function" if name in FUNCTIONS else "subroutine"
    if name in FUNCTIONS:
        lines.append(f"{FUNCTIONS[name]} :: {called}")
    elif name != "MPI_Pcontrol":
        names.append("ierror")
        lines.append("integer :: ierror")
    text = "".join(f"      {line}\n" if not line.startswith("!") else f"{line}\n" for line in lines)
    used = "      use, intrinsic :: iso_c_binding, only: c_ptr\n" if "c_ptr" in address else ""
    return (f"    {kind} {called}({', '.join(names)})\n{used}      import\n      implicit none\n"
            f"{text}    end {kind}\n")


def parameters_of(name, text):
    text = text.strip()
    if text in ("", "void"):
        return []
    text = SHORTER.get(name, text)
    if name in ("MPI_Init", "MPI_Init_thread"):  # Fortran has no words of the command line to give.
        text = re.sub(r"int\* argc, char\*\*\* argv(, )?", "", text)
    return [Parameter(part) for part in text.split(",") if part.strip()]


def constants(header):
    """The value of every integer and handle that Fortran knows too, by name; and the kinds of those that are handles."""
    values, kinds = dict(OWN_CONSTANTS), {}
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for name, text in re.findall(r"^#define (MPI_\w+) (.+)$", header, re.MULTILINE):
        found = re.fullmatch(r"\(\((MPI_\w+)\)(0x[0-9a-f]+)\)|(?:\(\(MPI_Offset\))?(-?\d+)\)?", text.strip())
        if found:
            values[name] = int(found[2], 16) if found[2] else int(found[3])
            if found[1] in HANDLES:
                kinds[name] = found[1][len("MPI_"):]
        elif text.strip() in values:
            values[name] = values[text.strip()]
            if text.strip() in kinds:
                kinds[name] = kinds[text.strip()]
    for body in re.findall(r"\benum \{(.*?)\}", header, re.DOTALL):
        for name, value in re.findall(r"(MPI_\w+) = (-?\d+)", body):
            if not name.startswith("MPI_F_"):
                values[name] = int(value)
        for name, value in re.findall(r"(MPIX_\w+) = (-?\d+|MPI_\w+)", body):
            values[name] = values[value] if value in values else int(value)
    for name in PLACES:
        values.pop(name, None)
    for name in values:
        if STRING_SIZES.match(name):
            values[name] -= 1
    return values, kinds


def mpif(values):
    """mpif.h, in lines that are right in free form and in fixed form: no continuation, nothing beyond column 72. It does
    not compile where default integers have 8 bytes, since no function would set more than 4 of them."""
    lines = ["! Constants of MPI. Written by generate.py from mpi.h.",
             "      integer(kind=4) WEFT_MPI_NEEDS_4_BYTE_INTEGERS",
             "      parameter (WEFT_MPI_NEEDS_4_BYTE_INTEGERS=1/(32/bit_size(1)))",
             "      logical MPI_SUBARRAYS_SUPPORTED", "      parameter (MPI_SUBARRAYS_SUPPORTED=.false.)",
             "      logical MPI_ASYNC_PROTECTS_NONBLOCKING", "      parameter (MPI_ASYNC_PROTECTS_NONBLOCKING=.false.)"]
    for name, value in values.items():
        kind = "integer(kind=8)" if name in OFFSETS else "integer"
        lines += [f"      {kind} {name}", f"      parameter ({name}={value})"]
    for name in PLACES:
        kind = "character" if name.startswith("MPI_ARGV") else "integer"
        lines.append(f"      {kind} {name}{SHAPES.get(name, '')}")
        lines.append(f"      common /{COMMON[name]}/ {name}")
    return "\n".join(lines) + "\n"


COMMON = {name: "weft_" + name.lower() for name in PLACES}


def sizeof():
    """The stubs and the interfaces of MPI_Sizeof, a generic function with one specific function for each type and kind: for module
    mpi, and for mpi_f08."""
    stubs, interfaces = [], ["  interface MPI_Sizeof\n"]
    for base, kind, size in [(b, k, s) for b, kinds in SIZES.items() for k, s in kinds.items()] + [("character", 1, 1)]:
        name = f"weft_mpi_sizeof_{base}{kind}"
        declared = "character(len=*)" if base == "character" else f"{base}(kind={kind})"
        stubs.append(f"void {name}_(void* x, MPI_Fint* size, MPI_Fint* ierror) {{\n"
                     f"  WEFT_STUB;\n  (void)x, *size = {size}, *ierror = MPI_SUCCESS;\n}}\n")
        interfaces.append(f"    subroutine {name}(x, size, ierror)\n      {declared}, dimension(..) :: x\n"
                          f"      integer :: size\n      integer :: ierror\n    end subroutine\n")
    text = "".join(interfaces) + "  end interface\n"
    return "\n".join(stubs), text, text.replace("integer :: ierror", "integer, optional :: ierror")


def with_extensions(header, extensions):
    """mpi.h, as if it declared the functions of mpi-ext.h itself."""
    return header + extensions.replace("WEFT_MPIX_DECLARE(", "WEFT_MPI_DECLARE(int, ")


def absent_functions(text):
    """(name, parameters) of each in the lists of mpi_absent.h."""
    return re.findall(r"^  X\((MPI_\w+),\s*\(([^()]*)\)\)", text.replace("\\\n", "\n"), re.MULTILINE)


def stub_f08(function, name, parameters):
    """The stub of a function whose arguments differ in mpi_f08; null where it is the one that Fortran 90 calls."""
    arguments = function.arguments(name.endswith("_c")) if function is not None else []
    if any(a.types == "choice" for a in arguments):
        return stub(name, parameters, module_f08.buffers_of(function, name.endswith("_c")))
    plain = {a.name: ("address_of_c", None, None) for a, p in zip(arguments, parameters)
             if a.types in ("cptr", "logical_any") and p.is_choice}
    return stub(name, parameters, plain) if plain else None


def main():
    header, output = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    header = with_extensions(header, Path(sys.argv[1]).with_name("mpi-ext.h").read_text())
    absent = Path(sys.argv[1]).with_name("mpi_absent.h").read_text()
    table = module_f08.read_table(Path(__file__).with_name("functions.table"))
    table |= module_f08.read_table(Path(__file__).with_name("extensions.table"))
    output.mkdir(parents=True, exist_ok=True)
    stubs, stubs_f08, parameters_by_name, left_out, known = [], [], {}, [], {"MPI_F_sync_reg"}
    for result, name, text in re.findall(r"^WEFT_MPI_DECLARE\(\s*([\w ]+?)\s*,\s*(MPIX?_\w+)\s*,\s*\(([^()]*)\)\)", header,
                                         re.MULTILINE):
        if ABSENT.search(name):
            continue
        known.add(name)
        try:
            parameters = parameters_of(name, text)
            if name not in SPECIAL:
                stubs.append(stub(name, parameters))
            stubs_f08.append(stub_f08(table.get(name.removesuffix("_c")), name, parameters) or "")
            parameters_by_name[name] = parameters
        except Unknown as reason:
            left_out.append(f"{name} ({reason})")
    for name, text in absent_functions(absent):
        if ABSENT.search(name):
            continue
        known.add(name)
        stubs.append(refusing_stub(name, text))
        try:
            parameters_by_name[name] = parameters_of(name, text)
        except Unknown:
            pass  # Called without an interface.
    sizes, size_interfaces, size_interfaces_f08 = sizeof()
    stubs.append(sizes)
    operators, compared = module_f08.operators()
    special = "".join(f"#define WEFT_HAS_{name} 1\n" for name in sorted(SPECIAL) if re.search(rf", {name},", header))
    (output / "declared.h").write_text("/* Which of the functions of special.c mpi.h declares. */\n" + special)
    (output / "stubs.c").write_text('/* Written by generate.py from mpi.h. */\n#include "stubs.h"\n\n' + "\n".join(stubs))
    (output / "stubs_f08.c").write_text('/* Written by generate.py from mpi.h and functions.table. */\n#include "descriptors.h"\n\n'
                                        + compared + "\n" + "\n".join(s for s in stubs_f08 if s))
    values, kinds = constants(header + absent)
    text = mpif(values)
    externals = "".join(f"      external MPI_{name}\n" for name in CALLBACKS)
    functions = "".join(f"      external {name}\n      {kind.replace('kind=MPI_ADDRESS_KIND', '8')} {name}\n"
                        for name, kind in FUNCTIONS.items())
    (output / "mpif.h").write_text(text + externals + functions)
    (output / "mpi.f90").write_text(module_f08.wrapped("! Written by generate.py from mpi.h.\nmodule mpi\n  implicit none\n"
                                    + module_f08.types() + text + externals +
                                    size_interfaces + interfaces_of(parameters_by_name) + "end module\n"))
    (output / "mpi_f08.f90").write_text(module_f08.module(table, known, (values, kinds, OFFSETS), (PLACES, SHAPES, COMMON),
                                                          operators + size_interfaces_f08))
    left_out += [f"{f.name} (not declared)" for f in table.values()
                 if not f.is_callback and f.name not in known | module_f08.ELSEWHERE]
    if left_out:
        print("Fortran does not have: " + ", ".join(left_out), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
