"""Each row of the table of docs/images.md, what a process has once, names a test that there is."""
import argparse
import re
import sys
from pathlib import Path

HEAD = "| what | ranks of a process | tested by | |"
# What ranks have once been found to miss: no row of these may go.
ROWS = ["descriptors of children", "keys of threads", "process number", "another program in its place", "the stack",
        "streams of the C library", "handlers of faults"]


def rows_of(page):
    lines = page.splitlines()
    begin = lines.index(HEAD) + 2
    for line in lines[begin:]:
        if not line.startswith("|"):
            return
        # A bar within a row would be read as the end of a cell.
        yield [cell.strip() for cell in line.strip("|").split("|")]


def faults_of(row, page):
    if len(row) != 4:
        return [f"{row[0]}: {len(row)} cells, not 4"]
    tests = 0
    faults = []
    for file, names in re.findall(r"\[[^\]]*\]\(([^)]*)\)((?:,? `[^`]*`)+)", row[2]):
        path = (page.parent / file).resolve()
        text = path.read_text() if path.exists() else ""
        for name in re.findall(r"`([^`]*)`", names):
            tests += 1
            if not re.search(rf"TEST(?:_P|_F)?\([^)]*,\s*{re.escape(name)}\)", text):
                faults.append(f"{row[0]}: {file} has no test {name}")
    return faults if tests else [f"{row[0]}: names no test"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    page = parser.parse_known_args()[0].source / "docs/images.md"
    rows = list(rows_of(page.read_text()))
    errors = [fault for row in rows for fault in faults_of(row, page)]
    errors += [f"there is no row about {what}" for what in ROWS if not any(row[0].startswith(what) for row in rows)]
    sys.exit("\n".join(errors)) if errors else print(f"{len(rows)} rows name tests that there are")


main()
