"""The walks and the table of docs/architecture name functions in files: each is found in the file that follows it. The picture
and the table of modules have each folder of src, and the table no other."""
import argparse
import re
import sys
from pathlib import Path

SECTIONS = ("## Four walks", "## Where do I change ...")
# Names in code, then the link to their file: "`a`, and that `b` and `c` ([x.cpp](../src/x.cpp))" or "`a` in [x.cpp](...)".
TOKEN = re.compile(r"`([^`\n]+)`|\]\(([^)\s]+)\)", re.MULTILINE)
NAME = re.compile(r"^[a-z_]+(::[a-z_]+)*$")
NAMES_MIN = 30  # Fewer: the page is read wrongly.


def section_of(text, heading):
    begin = text.index(heading)
    end = text.find("\n## ", begin + 1)
    return text[begin:end if end >= 0 else len(text)]


def claims_of(text):
    """Pairs of a name and the link that follows it."""
    names = []
    for name, link in TOKEN.findall(text):
        if name:
            names.append(name)
        else:
            yield from ((each, link) for each in names if NAME.match(each))
            names = []


def problems_of(text, read):
    """Yields what is wrong; `read` gives the text of a linked file, or None."""
    count = 0
    for name, link in claims_of(text):
        count += 1
        code = read(link)
        if code is None:
            yield f"{link} is no file"
        elif not re.search(rf"\b{re.escape(name.split('::')[-1])}\b", re.sub(r"//[^\n]*", "", code)):
            yield f"`{name}` is not in {link}"
    if count < NAMES_MIN:
        yield f"only {count} names of functions were found"


MODULE = re.compile(r"^\| (?:\[([a-z_]+)\]\(\.\./src/([a-z_]+)/README\.md\)|`([a-z_]+)`) \|", re.MULTILINE)


def module_problems_of(text, folders):
    """Yields what is wrong with the picture and the table of modules; `folders`: those of src, with whether it has a README."""
    section = section_of(text, "## The picture")
    picture = set(re.findall(r"[a-z_]+", section.split("```")[1]))
    rows = {}
    for name, linked, plain in MODULE.findall(section.split("```")[2]):
        rows[name or plain] = linked
        if name and name != linked:
            yield f"the row of {name} leads to {linked}"
    for folder, has_readme in folders.items():
        if folder not in picture:
            yield f"src/{folder} is not in the picture"
        if folder not in rows:
            yield f"src/{folder} has no row in the table of modules"
        elif has_readme and not rows[folder]:
            yield f"the row of {folder} does not lead to its README.md"
    for name in rows.keys() - folders.keys():
        yield f"the table of modules has {name}, which is no folder of src"


def check_the_check():
    drawn = "## The picture\n```\n a b \n```\n| [a](../src/a/README.md) | x |\n| `b` | y |\n"
    wrong = lambda folders, text=drawn: list(module_problems_of(text, folders))
    assert not wrong({"a": True, "b": False})
    assert wrong({"a": True, "b": True}) and wrong({"a": True}) and len(wrong({"a": True, "b": False, "c": False})) == 2
    assert wrong({"a": True, "b": False}, drawn.replace(" a b ", " a "))
    assert wrong({"a": True, "b": False}, drawn.replace("src/a", "src/b"))
    page = "`a_b` calls `x::c` ([f](f.cpp)). `d` in [g](g.cpp) " + "`a_b` ([f](f.cpp)) " * NAMES_MIN
    files = {"f.cpp": "void a_b() { c(); }", "g.cpp": "int d;"}
    assert not list(problems_of(page, files.get)), list(problems_of(page, files.get))
    assert list(problems_of(page, {**files, "g.cpp": "// d"}.get))
    assert list(problems_of(page, {"f.cpp": files["f.cpp"]}.get))
    assert list(problems_of("`a` ([f](f.cpp))", {"f.cpp": "a"}.get))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    check_the_check()
    docs = source / "docs"

    def read(link):
        path = docs / link
        return path.read_text() if path.is_file() else None

    page = (docs / "architecture.md").read_text()
    problems = list(problems_of("\n".join(section_of(page, each) for each in SECTIONS), read))
    folders = {path.name: (path / "README.md").is_file() for path in (source / "src").iterdir() if path.is_dir()}
    problems += module_problems_of(page, folders)
    for problem in problems:
        print(f"docs/architecture.md: {problem}")
    return 1 if problems else 0


sys.exit(main())
