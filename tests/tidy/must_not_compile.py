"""Misuse that the compiler must refuse. Each file of tests/compile_fail compiles as it is and does not
with -DMISUSE; the message then matches the file's line "// Expect: PATTERN". Where that is a sentence of weft's own, the
whole message has 10 lines at most."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
LINES_MAX = 10


def precompile_main_header(compiler, source, directory):
    """Most files include <weft/weft.hpp>: it is compiled once. Returns the header to include first."""
    header = directory / "main.hpp"
    header.write_text("#include <weft/weft.hpp>\n")
    subprocess.run([compiler, FLAGS[0], "-w", f"-I{source / 'include'}", "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return ["-include", str(header)]


def problem_of(compiler, source, precompiled, path):
    text = path.read_text()
    first = precompiled if "#include <weft/weft.hpp>" in text else []

    def compile_it(*more):
        command = [compiler, *FLAGS, *first, f"-I{source / 'include'}", f"-I{source / 'src'}", *more, str(path)]
        return subprocess.run(command, text=True, capture_output=True)

    expected = re.search(r"^// Expect: (.+)$", text, re.MULTILINE)
    if not expected:
        return 'the line "// Expect: PATTERN" is missing'
    right = compile_it()
    if right.returncode:
        return f"the right use does not compile:\n{right.stderr}"
    wrong = compile_it("-DMISUSE")
    if not wrong.returncode:
        return "the misuse compiles"
    if not re.search(expected[1], wrong.stderr):
        return f"the message does not match {expected[1]!r}:\n{wrong.stderr}"
    lines = [line for line in wrong.stderr.splitlines() if not line.startswith("cc1plus:")]
    if expected[1].startswith("weft:") and len(lines) > LINES_MAX and "clang" not in compiler:
        return f"the message has {len(lines)} lines, not {LINES_MAX} at most:\n{wrong.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    files = sorted((args.source / "tests/compile_fail").glob("*.cpp"))
    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as directory:
        precompiled = [] if "clang" in args.cxx else precompile_main_header(args.cxx, args.source, Path(directory))
        for path, problem in zip(files, pool.map(lambda p: problem_of(args.cxx, args.source, precompiled, p), files)):
            if problem:
                failures += 1
                print(f"{path.relative_to(args.source)}: {problem}")
    print(f"{len(files)} files, {failures} failures")
    return 1 if failures or not files else 0


sys.exit(main())
