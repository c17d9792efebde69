"""Every function that mpi.h declares is called by a conformance program, in C and, where Fortran has it, there, by both modules."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

DECLARED = re.compile(r"^WEFT_MPI_DECLARE\(\s*[\w ]+?\s*,\s*(MPI_\w+)\s*,", re.MULTILINE)
OF_FORTRAN = re.compile(r"^    (?:subroutine|function) (MPI_\w+?)(?:_cptr)?\(", re.MULTILINE)
GENERIC_F08 = re.compile(r"^  interface (MPI_\w+)$", re.MULTILINE)
# Ends the job; tests/conformance/bad does so in C.
NOT_IN_FORTRAN = {"MPI_Abort"}
LISTED = re.compile(r"^  X\((?:MPI_T_ERR_\w+, )?(MPI_\w+),", re.MULTILINE)


def called_by(program):
    """By the C and C++ of the program: what Fortran calls is in the program itself."""
    table = subprocess.run(["nm", "-D", "--undefined-only", program], text=True, capture_output=True, check=True).stdout
    return {name.removeprefix("P") for name in re.findall(r" [UwW] (P?MPI_\w+)", table)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    header = args.source / "include/mpi"
    declared = DECLARED.findall((header / "mpi.h").read_text()) + LISTED.findall((header / "mpi_absent.h").read_text())
    programs = [path for path in sorted((args.build / "bin/conformance").iterdir())
                if path.is_file() and not path.name.endswith(("-mpich", "-openmpi")) and not re.search("fortran|f08_", path.name)]
    called = set().union(*map(called_by, programs))
    missing = [name for name in declared if name not in called]
    for name in missing:
        print(f"{name} is declared in mpi.h, and no program of tests/conformance calls it")
    absent = set(LISTED.findall((header / "mpi_absent.h").read_text()))
    text = "".join(path.read_text().lower() for end in ("F90", "f90", "f")
                   for path in (args.source / "tests/conformance").rglob(f"*.{end}"))
    module = args.build / "fortran/mpi.f90"
    of_fortran = set(OF_FORTRAN.findall(module.read_text())) - absent - NOT_IN_FORTRAN if module.exists() else set()
    for name in sorted(of_fortran):
        # Those of large counts are called by their generic names, by programs of mpi_f08: the functions are the same.
        if not name.endswith("_c") and not re.search(rf"\b{name.lower()}\(", text):
            print(f"{name} is in Fortran's module, and no program of tests/conformance in Fortran calls it")
            missing.append(name)
    text_f08 = "".join(path.read_text().lower() for end in ("f90", "h") for path in (args.source / "tests/conformance").rglob(f"f08_*.{end}"))
    module = args.build / "fortran/mpi_f08.f90"
    of_f08 = set(GENERIC_F08.findall(module.read_text())) - absent - NOT_IN_FORTRAN if module.exists() else set()
    for name in sorted(of_f08):
        if not re.search(rf"\bp?{name.lower()}\(", text_f08):
            print(f"{name} is in mpi_f08, and no program of tests/conformance in Fortran 2008 calls it")
            missing.append(name)
    print(f"{len(of_f08)} functions in Fortran 2008")
    print(f"{len(of_fortran)} functions in Fortran")
    print(f"{len(declared)} functions, {len(programs)} programs, {len(missing)} never called")
    return 1 if missing or len(declared) < 600 or len(programs) < 20 else 0


sys.exit(main())
