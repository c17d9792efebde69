"""libmpi_abi has each function that the standard's description and mpi.h name, twice, under both of its own names, and no variables; and
libmpi.so.12 has them."""
import argparse
import re
import subprocess
import sys
from pathlib import Path


def symbols_of(library):
    """Kind by name."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {words[2]: words[1] for words in map(str.split, lines)}


def errors_of_mpich(home, wanted):
    """libmpi.so.12 has these functions, too, and what they mean is found elsewhere; weft's own never call by a name that it has."""
    errors = []
    defined = {**symbols_of(home / "libweft-mpich.so"), **symbols_of(home / "libweft-process-mpich.so")}
    for soname in ("libmpi.so.12", "libmpich.so.12"):
        names = symbols_of(home / soname)
        for function in sorted(wanted):
            errors += [f"{soname} does not have {name}" for name in (function, "P" + function) if name not in names]
            errors += [f"nothing defines {name} of {soname}" for name in (function, "P" + function) if name not in defined]
        dynamic = subprocess.run(["readelf", "-d", home / soname], capture_output=True, text=True, check=True).stdout
        for text in (f"soname: [{soname}]", "[libweft-process-mpich.so]", "[libweft-mpich.so]", "Auxiliary library: [libweft.so."):
            if text not in dynamic:
                errors.append(f"{soname} does not say {text}")
    # Functions that MPI 3.0 has removed call newer ones by name, and are never called by libmpi.so.12.
    newer = {"PMPI_Get_address", "PMPI_Type_create_hvector", "PMPI_Type_create_hindexed", "PMPI_Type_create_struct", "PMPI_Type_get_extent",
             "PMPI_Comm_create_errhandler", "PMPI_Comm_set_errhandler", "PMPI_Comm_get_errhandler"}
    relocations = subprocess.run(["readelf", "-rW", home / "libweft.so"], capture_output=True, text=True, check=True).stdout
    called = set(re.findall(r"R_\S+(?:JUMP_SLOT|GLOB_DAT|_64)\s+\S+ (P?MPI_\w+)", relocations))
    return errors + [f"libweft calls {name} by a name that libmpi.so.12 may have" for name in sorted(called - newer)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    home = args.build / "lib/weft"
    if not (home / "libmpi_abi.so.1").exists():
        print("libmpi_abi is not part of this build")
        return
    # In Fortran alone: MPI_Sizeof, and what MPI_F_sync_reg does.
    table = (args.source / "src/mpi/fortran/functions.table").read_text()
    wanted = set(re.findall(r"^function (MPI_\w+)", table, re.MULTILINE)) - {"MPI_Sizeof", "MPI_F_sync_reg"}
    wanted |= set(re.findall(r"^WEFT_MPI_DECLARE\(\s*\w+,\s*(MPI_\w+)", (args.source / "include/mpi/mpi.h").read_text(), re.MULTILINE))
    of_weft = symbols_of(home / "libweft.so")
    errors = []
    for soname in ("libmpi_abi.so.1", "libmpi_abi.so.0"):
        found = symbols_of(home / soname)
        missing = {name for function in wanted for name in (function, "P" + function)} - set(found)
        errors += [f"{soname} does not have {name}" for name in sorted(missing)]
        errors += [f"{soname} has the variable {name}" for name, kind in found.items() if kind not in "TW"]
        own = {"MPI_Psend_init_c", "MPI_Precv_init_c", "PMPI_Psend_init_c", "PMPI_Precv_init_c"}
        errors += [f"{soname} names {name}, which libweft does not define" for name in sorted(set(found) - set(of_weft) - own)
                   if name.startswith(("MPI_", "PMPI_"))]
        dynamic = subprocess.run(["readelf", "-d", home / soname], capture_output=True, text=True, check=True).stdout
        for text in (f"soname: [{soname}]", "Auxiliary library: [libweft-process.so]", "Auxiliary library: [libweft.so."):
            if text not in dynamic:
                errors.append(f"{soname} does not say {text}")
    errors += errors_of_mpich(home, wanted)
    sys.exit("\n".join(errors)) if errors else print(f"{len(wanted)} functions")


main()
