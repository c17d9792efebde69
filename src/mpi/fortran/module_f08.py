"""Module mpi_f08 and the functions of C behind its buffers, from functions.table and the declarations in mpi.h.

A function without a buffer is the stub that Fortran 90 calls, by another name. One with a buffer is interoperable (bind(C)): it
gets the buffer's descriptor, so that a section of an array needs no copy.
"""
import re
from pathlib import Path

TYPES = ("Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win")
INTEGERS = {"int": "integer", "index": "integer", "weights": "integer", "aint": "integer(kind=MPI_ADDRESS_KIND)",
            "count": "integer(kind=MPI_COUNT_KIND)", "offset": "integer(kind=MPI_OFFSET_KIND)", "logical": "logical",
            "logical_any": "logical", "cptr": "type(c_ptr)", "cptr_value": "type(c_ptr), value", "strings": "character(len=*)",
            "choice": "type(*), dimension(..)", "status_array": "integer"}
RESULTS = {"double": "real(kind=8)", "aint": "integer(kind=MPI_ADDRESS_KIND)"}
# Functions that functions.table has and the generic function of MPI_Sizeof replaces.
ELSEWHERE = {"MPI_Sizeof"}
# Functions of large counts that differ from the others in the procedures they take alone: no generic function can tell them apart.
NAMED = {"MPI_Op_create", "MPI_Register_datarep"}
# Predefined functions of the program's kind.
PREDEFINED = {"COMM": "Comm", "TYPE": "Type", "WIN": "Win"}
# Collectives of which a buffer is a list, of one block for each rank: all others take and give one block. Names are in small letters.
LISTS = {"recvbuf": re.compile(r"mpi_i?(gatherv?|allgatherv?|alltoall[vw]?|neighbor_all\w+?)(_init)?"),
         "sendbuf": re.compile(r"mpi_i?(scatterv?|alltoall[vw]?|neighbor_alltoall[vw]?)(_init)?")}
REDUCTIONS = re.compile(r"mpi_i?(reduce\w*|allreduce|scan|exscan)(_init)?")
PARTITIONED = re.compile(r"MPI_P(send|recv)_init")  # A list: partitions of so many elements each.
# Functions that only want an address, of whatever the buffer is.
ADDRESSES = re.compile(r"MPI_(Get_address|F_sync_reg|Free_mem|Win_detach|File_\w+_end)")


class Argument:
    def __init__(self, text):
        found = re.fullmatch(r"(\S+) (\w+)(?:\((.*)\))? (in|out|inout|-)( async)?", text.strip())
        self.types, self.name, self.lengths, self.intent, is_async = found.groups()
        self.is_async = is_async is not None

    def type_of(self, large):
        """Null where functions of this size of counts do not have it."""
        if self.types.startswith("procedure:"):
            small, _, other = self.types[len("procedure:"):].partition("/")
            return "procedure:" + (other if large and other else small)
        small, _, other = self.types.partition("/")
        chosen = other if large and other else small
        return None if chosen == "-" else chosen

    @property
    def is_large(self):
        return "/" in self.types


class Function:
    def __init__(self, kind, name, result, arguments):
        self.is_callback, self.name, self.result, self.all = kind == "callback", name, result, arguments

    def arguments(self, large):
        return [a for a in self.all if a.type_of(large) is not None]

    @property
    def has_large(self):
        return any(a.is_large for a in self.all)

    @property
    def has_buffer(self):
        return any(a.types == "choice" for a in self.all)


def wrapped(text):
    """The text without lines of free form that are longer than the standard allows."""
    lines = []
    for line in text.splitlines():
        while len(line) > 130 and not line.startswith("!"):
            at = line.rindex(", ", 0, 126) + 2
            lines.append(line[:at].rstrip() + " &")
            line = "        " + line[at:]
        lines.append(line)
    return "\n".join(lines) + "\n"


def read_table(path):
    functions = {}
    for line in Path(path).read_text().splitlines():
        if line.startswith("#"):
            continue
        kind, name, result, rest = re.fullmatch(r"(\w+) (\w+)(?: -> (\w+))?: ?(.*)", line).groups()
        functions[name] = Function(kind, name, result, [Argument(part) for part in rest.split(";") if part.strip()])
    return functions


def fortran_type(argument, large):
    chosen = argument.type_of(large)
    if chosen.startswith("procedure:"):
        return f"procedure({chosen[len('procedure:'):]})"
    if chosen == "string":
        return f"character(len={argument.lengths or '*'})"
    return INTEGERS.get(chosen) or f"type(MPI_{chosen})"


def declaration(argument, large, is_callback):
    words = [fortran_type(argument, large)]
    if argument.name == "ierror" and not is_callback:
        words.append("optional")
    if argument.intent != "-" and not is_callback:
        words.append(f"intent({argument.intent})")
    if argument.is_async:
        words.append("asynchronous")
    shape = ""
    if argument.types == "status_array":
        shape = "(MPI_STATUS_SIZE)"
    elif argument.types != "string" and argument.lengths:
        shape = f"({argument.lengths})"
    return f"{', '.join(words)} :: {argument.name}{shape}"


def body(function, called, linked, large):
    """One function of an interface, or an abstract one."""
    arguments = function.arguments(large)
    lines = ["use, intrinsic :: iso_c_binding, only: c_ptr"] if any(a.types.startswith("cptr") for a in arguments) else []
    lines += ["import", "implicit none"]
    # An array's length is declared before it.
    lines += [declaration(a, large, function.is_callback) for a in sorted(arguments, key=lambda a: bool(a.lengths))]
    kind = "subroutine"
    if function.result:
        kind = "function"
        lines.append(f"{RESULTS[function.result]} :: {called}")
    bound = f' bind(C, name="{linked}")' if linked else ""
    return (f"    {kind} {called}({', '.join(a.name for a in arguments)}){bound}\n"
            + "".join(f"      {line}\n" for line in lines) + f"    end {kind}\n")


def told_apart(function):
    """Whether a generic function can have those of both sizes of counts: an argument differs in kind (the kinds of addresses and
    counts are one), or their number does."""
    return len(function.arguments(False)) != len(function.arguments(True)) or any(
        a.type_of(False) in ("int", "index") and a.type_of(True) in ("count", "aint") for a in function.arguments(False))


def interface(function):
    suffix = "_f08ts" if function.has_buffer else "_f08"
    text = ""
    for prefix in ("", "P"):
        def one(large):
            called = f"{prefix}{function.name}{'_c' if large else ''}{suffix}"
            return body(function, called, called.lower() + "_" if function.has_buffer else None, large)
        is_apart = function.has_large and function.name not in NAMED and told_apart(function)
        text += f"  interface {prefix}{function.name}\n{one(False)}{one(True) if is_apart else ''}  end interface\n"
        if function.has_large and not is_apart:
            text += f"  interface {prefix}{function.name}_c\n{one(True)}  end interface\n"
    return text


def operators():
    """Comparisons of handles: the interfaces, and the functions of C behind them."""
    text, stubs = "", ""
    for symbol, name, expression in (("==", "equal", "=="), ("/=", "differ", "!=")):
        text += f"  interface operator({symbol})\n"
        for type_ in TYPES:
            called = f"weft_f08_{name}_{type_.lower()}"
            text += (f"    elemental logical function {called}(one, other)\n      import\n      implicit none\n"
                     f"      type(MPI_{type_}), intent(in) :: one, other\n    end function\n")
            stubs += (f"MPI_Fint {called}_(const MPI_Fint* one, const MPI_Fint* other) {{ return *one {expression} *other; }}\n")
        text += "  end interface\n"
    return text, stubs


def types():
    """Those that both modules define: interoperable ones, which are the same by the same name."""
    text = "".join(f"  type, bind(C) :: MPI_{type_}\n    integer :: MPI_VAL\n  end type\n" for type_ in TYPES)
    return (text + "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n"
            "    integer, private :: weft_internal(5)\n  end type\n")


def module(functions, known, constants, addresses, generics):
    """The text of the module: of functions that are `known` to C. `constants` are values by name, the types of those that are handles,
    and the names of offsets; `addresses` are the names of places, their shapes and their common blocks."""
    values, kinds, offsets = constants
    places, shapes, common = addresses
    lines = ["! Written by generate.py from functions.table and mpi.h.", "module mpi_f08",
             "  use, intrinsic :: iso_c_binding, only: c_char, c_ptr", "  implicit none", "  private :: c_char, c_ptr"]
    lines += [types(),
              # As mpif.h does: no function would set more than 4 bytes of a default integer.
              "  integer(kind=4), private, parameter :: weft_mpi_needs_4_byte_integers = 1 / (32 / bit_size(1))",
              "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.",
              "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true."]
    for name, value in values.items():
        if name in kinds:
            lines.append(f"  type(MPI_{kinds[name]}), parameter :: {name} = MPI_{kinds[name]}({value})")
        else:
            lines.append(f"  integer{'(kind=8)' if name in offsets else ''}, parameter :: {name} = {value}")
    for name in places:
        kind, shape = "integer", shapes.get(name, "")
        if name.startswith("MPI_STATUS"):
            kind, shape = "type(MPI_Status)", "(1)" if "STATUSES" in name else ""
        elif name.startswith("MPI_ARGV"):
            kind = "character(kind=c_char)"
        lines.append(f'  {kind}, bind(C, name="{common[name]}_"), protected :: {name}{shape}')
    text = "\n".join(lines) + "\n"
    callbacks = [f for f in functions.values() if f.is_callback]
    text += "  abstract interface\n" + "".join(
        body(f, f.name + ("_c" if large else ""), None, large)
        for f in callbacks for large in ((False, True) if f.has_large else (False,))) + "  end interface\n"
    for prefix, kind in PREDEFINED.items():
        text += (f"  procedure(MPI_{kind}_copy_attr_function) :: MPI_{prefix}_DUP_FN, MPI_{prefix}_NULL_COPY_FN\n"
                 f"  procedure(MPI_{kind}_delete_attr_function) :: MPI_{prefix}_NULL_DELETE_FN\n")
    text += ("  procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL\n"
             "  procedure(MPI_Datarep_conversion_function_c) :: MPI_CONVERSION_FN_NULL_C\n")
    text += generics
    text += "".join(interface(f) for f in functions.values() if f.name in known and f.name not in ELSEWHERE)
    return wrapped(text + "end module\n")


def buffers_of(function, large):
    """{name: (role, count, datatype)} of the buffers. Role: address (of anything), row (memory in a row), block, list (a block
    for each rank), reduced."""
    arguments, found = function.arguments(large), {}
    name = function.name
    for i, a in enumerate(arguments):
        if a.types != "choice":
            continue
        rest = [b for b in arguments[i + 1:i + 4]]
        if ADDRESSES.fullmatch(name):
            found[a.name] = ("address", None, None)
        elif REDUCTIONS.fullmatch(name.lower()):
            count = next(b for b in arguments if "count" in b.name)
            found[a.name] = ("reduced", count.name, "datatype")
        elif PARTITIONED.fullmatch(name):
            found[a.name] = ("list", "count", "datatype")
        else:
            type_at = next((k for k, b in enumerate(rest) if b.types == "Datatype"), None)
            between = rest[:type_at] if type_at is not None else []
            if not between or any(b.types in ("choice", "Comm") for b in between) or between[0].types not in (
                    "int/count",) or "count" not in between[0].name:
                found[a.name] = ("row", None, None)
            else:
                is_list = a.name in LISTS and LISTS[a.name].fullmatch(name.lower())
                found[a.name] = ("list" if is_list else "block", between[0].name, rest[type_at].name)
    return found
