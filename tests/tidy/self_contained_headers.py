"""Every header compiles by itself; a public one with nothing but include/ in sight. One that some source file
includes first has been compiled so by the build. And the main header is short, with all that it includes."""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror",
         "-fsyntax-only", "-x", "c++", "-"]


# Of a program that includes nothing else: docs/decisions/what-the-main-header-includes.md.
MAIN_HEADER_LINES_MAX = 60_000


def lines_of_main_header(compiler, source):
    command = [compiler, "-std=c++20", f"-I{source / 'include'}", "-E", "-x", "c++", "-"]
    result = subprocess.run(command, input="#include <weft/weft.hpp>\n", text=True, capture_output=True, check=True)
    return result.stdout.count("\n")


def compile_alone(compiler, source, header):
    roots = ["include"] if header.is_relative_to(source / "include") else ["include", "src", "apps", "bench"]
    command = [compiler, *(f"-I{source / root}" for root in roots), *FLAGS]
    result = subprocess.run(command, input=f'#include "{header}"\n', text=True, capture_output=True)
    absent = "needs cereal" in result.stderr  # A library that weft does without.
    return header, result.stderr if result.returncode and not absent else None


def first_of_sources(source):
    """What sources include before anything else, as they name it."""
    found = (re.search(r'^#include ["<]([^">]+)', path.read_text(), re.MULTILINE)
             for top in ("src", "apps", "bench") for path in (source / top).rglob("*.cpp"))
    return {first[1] for first in found if first}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    headers = [(args.source / top, header) for top in ("include", "src", "apps")
               for header in sorted((args.source / top).rglob("*.hpp"))]
    compiled_first = first_of_sources(args.source)
    alone = [header for root, header in headers if str(header.relative_to(root)) not in compiled_first]
    problems = [(header, "it is without #pragma once") for _, header in headers
                if not re.search(r"^#pragma once$", header.read_text(), re.MULTILINE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(lambda h: compile_alone(args.cxx, args.source, h), alone)
        problems += [(header, f"it does not compile by itself:\n{text}") for header, text in compiled if text]
    lines = lines_of_main_header(args.cxx, args.source)
    if lines > MAIN_HEADER_LINES_MAX:
        problems.append((args.source / "include/weft/weft.hpp",
                         f"{lines} lines are compiled with it, of at most {MAIN_HEADER_LINES_MAX}"))
    for header, text in problems:
        print(f"{header.relative_to(args.source)}: {text}")
    print(f"{len(headers)} headers, {len(alone)} compiled, {lines} lines in the main one, {len(problems)} problems")
    return 1 if problems or not alone else 0


sys.exit(main())
