"""The library exports the functions of OpenSHMEM's table and no others of such names; the headers are as the table says;
every function is called by a conformance program."""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = re.compile(r"^p?(shmemx?_\w+|start_pes|_my_pe|_num_pes|shmalloc|shfree|shrealloc|shmemalign)$")


def symbols(path, *words):
    lines = subprocess.run(["nm", "-D", *words, path], text=True, capture_output=True, check=True).stdout.splitlines()
    return {name for name in (line.split()[-1].split("@")[0] for line in lines if line.strip()) if NAME.match(name)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    library = next((args.build / "lib/weft").glob("libweft.so.*"), None)
    programs = sorted(p for p in (args.build / "bin/shmem").glob("*") if p.is_file())
    if library is None or not programs:
        print("no programs of the wrappers in this build")
        return
    generator = [sys.executable, args.source / "src/shmem/generate.py"]
    wanted = set(subprocess.run([*generator, "names"], text=True, capture_output=True, check=True).stdout.split())
    found = symbols(library, "--defined-only")
    wrong = [f"not exported: {n}" for n in sorted(wanted - found)] + [f"not of the table: {n}" for n in sorted(found - wanted)]
    called = set()
    for program in programs:
        called |= symbols(program, "--undefined-only")
    current = {n for n in wanted if not n.startswith("p")}
    wrong += [f"called by no program: {n}" for n in sorted(current - called)]
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([*generator, "headers", directory], check=True)
        for header in ("shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h"):
            if (Path(directory) / header).read_text() != (args.source / "include/shmem" / header).read_text():
                wrong.append(f"include/shmem/{header} is not what generate.py writes: run it with 'headers include/shmem'")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(current)} functions, each with its twin")


main()
