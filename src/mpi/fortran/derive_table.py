#!/usr/bin/env python3
"""Writes functions.table, what Fortran 2008 knows of each function of MPI, from the standard's machine-readable description.

    derive_table.py APIS.JSON > functions.table

APIS.JSON is data/apis.json of the package pympistandard. This runs when a new version of the standard is taken over, never in
a build.
"""
import json
import sys

HEAD = """\
# What Fortran 2008 (module mpi_f08) knows of each function and each function of the program that MPI calls. Origin: the
# machine-readable description of MPI 5.0, file data/apis.json of pympistandard 0.2.0 (pypi.org); derived by derive_table.py.
#
# KIND NAME [-> RESULT]: PARAMETER; PARAMETER; ...     KIND: function or callback (an abstract interface)
# PARAMETER: TYPE NAME[(LENGTHS)] INTENT [async]       INTENT: in, out, inout, or - where the standard gives none
# TYPE: int, aint, count, offset: integers by kind; SMALL/LARGE where functions of large counts differ; -/LARGE: these alone
#       have it. choice: a buffer of any type. cptr, cptr_value: TYPE(C_PTR). A capital: a handle or MPI_Status.
"""
# How the description names what the table names.
SMALL = {"BUFFER": "choice", "C_BUFFER": "cptr", "C_BUFFER2": "cptr", "C_BUFFER3": "cptr_value", "C_BUFFER4": "cptr_value",
         "STRING": "string", "STRING_ARRAY": "strings", "STRING_2DARRAY": "strings", "LOGICAL": "logical",
         "LOGICAL_BOOLEAN": "logical", "LOGICAL_VOID": "logical_any", "F90_STATUS": "status_array", "F08_STATUS": "Status",
         "STATUS": "Status", "COMMUNICATOR": "Comm", "DATATYPE": "Datatype", "ERRHANDLER": "Errhandler", "FILE": "File",
         "GROUP": "Group", "INFO": "Info", "MESSAGE": "Message", "REQUEST": "Request", "SESSION": "Session", "WINDOW": "Win",
         "OPERATION": "Op", "INDEX": "index", "WEIGHT": "weights"}
ADDRESSES = {"EXTRA_STATE", "ATTRIBUTE_VAL", "STRIDE_BYTES", "WINDOW_SIZE", "ALLOC_MEM_NUM_BYTES", "PACK_EXTERNAL_SIZE",
             "WIN_ATTACH_SIZE", "DISPLACEMENT", "DISPLACEMENT_NNI", "LOCATION_SMALL", "DISPLACEMENT_AINT_COUNT_SMALL",
             "DTYPE_PACK_SIZE_SMALL", "DTYPE_STRIDE_BYTES_SMALL", "RMA_DISPLACEMENT_NNI",
             "DISPOFFSET_SMALL"}
COUNTS = {"XFER_NUM_ELEM", "XFER_NUM_ELEM_NNI", "GENERIC_DTYPE_COUNT", "NUM_BYTES", "NUM_BYTES_NNI", "DTYPE_NUM_ELEM",
          "DTYPE_NUM_ELEM_NNI", "NUM_PARAM_VALUES"}
LARGE = {"POLYDISPLACEMENT": "int/aint", "POLYRMA_DISPLACEMENT": "int/aint", "POLYDISPLACEMENT_AINT_COUNT": "aint/count",
         "POLYDTYPE_PACK_SIZE": "aint/count", "POLYDTYPE_STRIDE_BYTES": "aint/count", "POLYLOCATION": "aint/count",
         "POLYDISPOFFSET": "aint/count"}
RESULTS = {"WALL_TIME": "double", "TICK_RESOLUTION": "double", "LOCATION_SMALL": "aint", "DISPLACEMENT": "aint"}


def type_of(parameter):
    kind = parameter["kind"]
    if kind in ("FUNCTION", "FUNCTION_SMALL"):
        return "procedure:" + parameter["func_type"]
    if kind == "POLYFUNCTION":
        return f"procedure:{parameter['func_type']}/{parameter['func_type']}_c"
    if kind in SMALL:
        return SMALL[kind]
    if kind in ADDRESSES:
        return "aint"
    if kind in COUNTS:
        return "count"
    if kind == "OFFSET":
        return "offset"
    if kind in LARGE:
        return LARGE[kind]
    return "int/count" if kind.startswith("POLY") else "int"


def described(parameter):
    kind, direction, length = parameter["kind"], parameter["param_direction"], parameter["length"]
    type_ = type_of(parameter)
    if parameter["large_only"]:
        type_ = "-/" + type_.split("/")[-1]
    if parameter["array_type"] == "hidden" or (length == "" and kind != "STRING"):
        lengths = "*"
    elif isinstance(length, list):
        lengths = ",".join(reversed(length))
    elif length is None or kind == "C_BUFFER4":
        lengths = "*" if kind == "STRING_ARRAY" else ""
    else:
        lengths = f"{length},*" if kind == "STRING_2DARRAY" else length
    # A constant such as MPI_STATUS_IGNORE or MPI_BOTTOM may be where a value is put.
    without = "f08_intent" in parameter["suppress"] or kind in ("FUNCTION", "POLYFUNCTION") or (
        kind in ("STATUS", "BUFFER") and direction != "in")
    return (f"{type_} {parameter['name']}{f'({lengths})' if lengths else ''} {'-' if without else direction}"
            + (" async" if parameter["asynchronous"] else ""))


def main():
    described_by = json.load(open(sys.argv[1], encoding="utf-8"))
    print(HEAD, end="")
    for name in sorted(described_by):
        function = described_by[name]
        how = function["attributes"]
        if not how["f08_expressible"] or how["predefined_function"]:
            continue
        parameters = [p for p in function["parameters"]
                      if "f08_parameter" not in p["suppress"] and p["kind"] not in ("VARARGS", "ARGUMENT_COUNT", "ARGUMENT_LIST")]
        result = RESULTS.get(function["return_kind"])
        print(f"{'callback' if how['callback'] else 'function'} {function['name']}{f' -> {result}' if result else ''}: "
              + "; ".join(described(p) for p in parameters))


if __name__ == "__main__":
    main()
