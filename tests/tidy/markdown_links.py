"""Every link of a Markdown file to a place in the project leads somewhere, and so does its #heading."""
import argparse
import re
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors_of(path):
    headings = re.findall(r"^#+\s+(.+?)\s*$", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problems_of(path):
    for target in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = path.parent / name if name else path
        if not place.exists():
            yield f"{target} does not exist"
        elif anchor and place.suffix == ".md" and anchor not in anchors_of(place):
            yield f"{target}: there is no such heading"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    files = [path for path in sorted(source.rglob("*.md"))
             if not {"build", "out", ".git"} & set(path.relative_to(source).parts)]
    count = 0
    for path in files:
        for problem in problems_of(path):
            print(f"{path.relative_to(source)}: {problem}")
            count += 1
    print(f"{len(files)} files, {count} problems")
    return 1 if count or not files else 0


sys.exit(main())
