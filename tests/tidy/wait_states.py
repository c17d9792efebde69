"""The table of docs/breakdown.md is what src/profile/wait_states.inc says; with --write, makes it so. A wait is counted by the object for
it, profile::counted_wait, alone."""
import argparse
import re
import sys
from pathlib import Path

from shared.written_table import check_table

HEAD = "| name | who waits | until |\n|---|---|---|\n"
TABLE = re.compile(r"^\| name \| who waits \|.*?\n(?!\|)", re.DOTALL | re.MULTILINE)
TEXT = r'((?:"[^"\n]*"\s*)+)'
ROW = re.compile(rf"WEFT_WAIT_STATE\(\w+,\s*\.name = {TEXT},\s*\.waits = {TEXT},\s*\.until = {TEXT},")

DIRECT = re.compile(r"profile::(?:begin|end)_(?:caused_|task_)?wait\(")


def table_of(source):
    """The rows as Markdown; adjacent literals are one text, as in C++."""
    def joined(literals):
        return "".join(re.findall(r'"([^"\n]*)"', literals))

    rows = [tuple(map(joined, row)) for row in ROW.findall(source)]
    assert len(rows) == source.count("\nWEFT_WAIT_STATE("), "a row is not read"
    return HEAD + "".join(f"| {name} | {waits} | {until} |\n" for name, waits, until in rows)


def check_the_check():
    source = '\nWEFT_WAIT_STATE(a, .name = "x", .waits = "y "\n "z", .until = "w", .blames = true)'
    assert table_of(source) == HEAD + "| x | y z | w |\n"
    (found,) = TABLE.findall("a\n\n" + HEAD + "| x | y | z |\n\nb")
    assert found == HEAD + "| x | y | z |\n"
    assert DIRECT.search("profile::end_caused_wait(rank)") and not DIRECT.search("profile::counted_wait counted(")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_known_args()[0]
    check_the_check()
    direct = [path.relative_to(args.source) for path in sorted((args.source / "src").rglob("*.[ch]pp"))
              if DIRECT.search(path.read_text())]
    if direct:
        print("\n".join(f"{path}: make a profile::counted_wait" for path in direct))
        return 1
    table = table_of((args.source / "src/profile/wait_states.inc").read_text())
    return check_table(args.source / "docs/breakdown.md", TABLE, table, "src/profile/wait_states.inc",
                       "tests/tidy/wait_states.py --source . --write", args.write)


sys.exit(main())
