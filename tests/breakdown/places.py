#!/usr/bin/python3
"""Programs in Fortran have places as those in C: places.py WEFTRUN WEFT-BREAKDOWN PLACES SOURCE."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, BREAKDOWN, PLACES, SOURCE = (str(Path(word).resolve()) for word in sys.argv[1:5])


def main():
    lines = {match[1]: number for number, text in enumerate(Path(SOURCE).read_text().splitlines(), 1)
             if (match := re.search(r"! place (.*)$", text))}
    problems = []
    for shape in (("--workers", "2"), ("--ranks-per-process", "1")):
        with tempfile.TemporaryDirectory() as directory:
            page = Path(directory) / "places.html"
            done = subprocess.run([WEFTRUN, "--breakdown", "--breakdown-file", str(page), "-n", "2", *shape, PLACES], cwd=directory,
                                  capture_output=True, text=True, timeout=100)
            if done.returncode != 0:
                sys.exit(f"{shape}: status {done.returncode}: {done.stderr}")
            data = json.loads(page.with_suffix(".json").read_text())
            seen = {"live": [place["at"] for place in data["places"]], "waits": [w["at"] for w in data["waits"]],
                    "causes": [w["cause_at"] for w in data["waits"]], "replay": [one["at"] for one in data["run"]["delays"]]}
            wanted = [("live", name, call) for name, call in (
                ("send", "MPI_Send"), ("second send", "MPI_Send"), ("third send", "MPI_Ssend"), ("recv", "MPI_Recv"), ("module", "MPI_Recv"),
                ("wait", "MPI_Wait"), ("wrapper", "MPI_Barrier"))]
            wanted += [("waits", name, call) for name, call in (("recv", "MPI_Recv"), ("module", "MPI_Recv"), ("wrapper", "MPI_Barrier"))]
            wanted += [(table, name, call) for table in ("causes", "replay") for name, call in (("send", "MPI_Send"), ("second send", "MPI_Send"))]
            for table, name, call in wanted:
                if not any(re.search(rf"\b{call} in .*\bplaces\.f90:{lines[name]}$", at) for at in seen[table]):
                    problems.append(f"{shape}: nothing in '{table}' is {call} at line {lines[name]}, '{name}': {seen[table]}")
            problems += [f"{shape}: {at}" for table in seen.values() for at in table if "mpi_" in at and "_+" in at]
    print("\n".join(f"WRONG: {one}" for one in problems))
    sys.exit(1 if problems else 0)


main()
