"""Fortran has every function of mpi.h that the standard gives it."""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    args = parser.parse_known_args()[0]
    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run([sys.executable, "-B", args.source / "src/mpi/fortran/generate.py",
                                 args.source / "include/mpi/mpi.h", directory], text=True, capture_output=True)
        written = (Path(directory) / "stubs.c").read_text().count("WEFT_FORTRAN_NAME(")
    if result.returncode or written < 50:
        sys.exit(f"{result.stdout}{result.stderr}{written} functions")
    print(f"{written} functions by one rule, the rest in special.c")


main()
