#!/usr/bin/env python3
"""Writes the names of libmpi_abi: each function that mpi.h and mpi_absent.h declare, twice, as MPI_X and PMPI_X.

    write_library.py MPI.H OUTPUT.C

The loader takes their definitions from libweft, which the library names as its auxiliary. What stands here is for linkers,
and is called only where the loader has not found libweft.
"""
import re
import sys
from pathlib import Path


def functions(header):
    """The names that the two headers declare."""
    texts = header.read_text(), header.with_name("mpi_absent.h").read_text().replace("\\\n", "\n")
    return sorted(set(re.findall(r"^WEFT_MPI_DECLARE\(\s*[\w ]+?\s*,\s*(MPI_\w+)", texts[0], re.MULTILINE)
                      + re.findall(r"^  X\((?:\w+,\s*)?(MPI_\w+),\s*\(", texts[1], re.MULTILINE)))


TEXT = """/* Written by write_library.py from mpi.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(void) {
  static const char text[] =
      "libmpi_abi: libweft was not found in the folder of this library: install weft again, or run the program with weftrun\\n";
  (void)!write(STDERR_FILENO, text, strlen(text));
  _exit(127);
}
#define NAME(name) \\
  extern void name(void) __attribute__((alias("tell"))); \\
  extern void P##name(void) __attribute__((alias("tell")));
"""


def main():
    names = functions(Path(sys.argv[1]))
    Path(sys.argv[2]).write_text(TEXT + "".join(f"NAME({name})\n" for name in names))


main()
