"""The table of docs/settings.md is what weft-info says. With --write, makes it so."""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from shared.written_table import check_table

HEAD = "| name | variable | default | allowed | meaning |\n|---|---|---|---|---|\n"
TABLE = re.compile(r"^\| name \|.*?\n(?!\|)", re.DOTALL | re.MULTILINE)


def table_by(program):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}

    def said(*words):
        return subprocess.run([program, *words], text=True, capture_output=True, check=True, env=environment).stdout

    names = re.findall(r"^  (\S+)", said().split("\nsettings\n")[1], re.MULTILINE)[1:]
    assert len(names) > 10, names
    rows = ""
    for name in names:
        first, *lines = said(name).splitlines()
        about = dict(line.split(maxsplit=1) for line in lines)
        rows += f"| `{name}` | `{about['variable']}` | {about['default']} | {about['allowed']} | {first.split(': ', 1)[1]} |\n"
    return HEAD + rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_known_args()[0]
    table = table_by(args.build / "bin/weft-info")
    return check_table(args.source / "docs/settings.md", TABLE, table, "weft-info",
                       "tests/tidy/documented_settings.py --source . --build build/dev --write", args.write)


sys.exit(main())
