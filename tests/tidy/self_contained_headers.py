"""Every header compiles by itself; a public one with nothing but include/ in sight."""
import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
         "-fsyntax-only", "-x", "c++", "-"]


def compile_alone(compiler, source, header):
    roots = ["include"] if header.is_relative_to(source / "include") else ["include", "src", "apps", "bench"]
    command = [compiler, *(f"-I{source / root}" for root in roots), *FLAGS]
    # Twice, so that a missing #pragma once shows.
    text = f'#include "{header}"\n' * 2
    return header, subprocess.run(command, input=text, text=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    headers = [header for top in ("include", "src", "apps") for header in sorted((args.source / top).rglob("*.hpp"))]
    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, result in pool.map(lambda h: compile_alone(args.cxx, args.source, h), headers):
            if result.returncode:
                failures += 1
                print(f"{header.relative_to(args.source)} does not compile by itself:\n{result.stderr}")
    print(f"{len(headers)} headers, {failures} failures")
    return 1 if failures or not headers else 0


sys.exit(main())
