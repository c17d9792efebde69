"""Small rules for every source: #pragma once first, no work left as a comment, no tabs or stray blanks."""
import argparse
import re
import sys
from pathlib import Path

LEFT_WORK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def problems_of(name, text):
    if name.endswith(".hpp"):
        code = [line for line in text.splitlines() if line and not line.startswith("//")]
        if not code or code[0] != "#pragma once":
            yield 1, "a header begins with its comment and #pragma once"
    for number, line in enumerate(text.splitlines(), 1):
        if LEFT_WORK.search(line):
            yield number, "open work belongs in an issue, not in a comment"
        if line != line.rstrip() or "\t" in line:
            yield number, "a tab or a blank at the end of the line"
    if text and not text.endswith("\n"):
        yield len(text.splitlines()), "the last line has no end"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    count = files = 0
    for top in ("include", "src", "tools", "apps", "examples", "bench", "tests", "cmake"):
        for path in sorted((source / top).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".py", ".cmake"):
                continue
            files += 1
            for number, problem in problems_of(path.name, path.read_text()):
                print(f"{path.relative_to(source)}:{number}: {problem}")
                count += 1
    print(f"{files} files, {count} problems")
    return 1 if count or not files else 0


sys.exit(main())
