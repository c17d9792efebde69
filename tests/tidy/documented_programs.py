"""Every program of README.md and docs/*.md compiles, and every command does what is printed.

A block ```cpp or ```c that begins with a comment "// NAME.cpp" or "/* NAME.c" is written to a file of that name; a
block ```console is run: each line "$ COMMAND" by one shell, in an empty directory, with an installed
weft, and what both outputs say must be what the block shows. "..." stands for any text."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(c|cpp|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "=== next command ==="


def expected_of(block):
    """The commands of a console block, each with the text that must follow it."""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], ""])
        elif not commands:
            raise ValueError(f"text before the first command: {line}")
        else:
            commands[-1][1] += line + "\n"
    return commands


def outputs_of(commands, directory, environment):
    script = "status=0\n" + "".join(
        f"echo '{MARK}'; (exit $status); {command}\nstatus=$?\n" for command, _ in commands)
    result = subprocess.run(["bash", "-c", f"exec 2>&1\n{script}"], cwd=directory, env=environment,
                            text=True, capture_output=True, timeout=300)
    return result.stdout.split(MARK + "\n")[1:]


def matches(expected, output):
    pattern = ".*?".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, output, re.DOTALL) is not None


def problems_of(path, environment):
    with tempfile.TemporaryDirectory() as directory:
        for kind, block in BLOCK.findall(path.read_text()):
            if kind in ("c", "cpp"):
                if name := re.match(r"(?:// |/\* )(\w+\.(?:c|cpp))\b", block):
                    (Path(directory) / name[1]).write_text(block)
                elif "int main" in block:
                    yield f'a program does not begin with the name of its file:\n{block}'
                continue
            commands = expected_of(block)
            outputs = outputs_of(commands, directory, environment)
            for (command, expected), output in zip(commands, outputs, strict=True):
                if not matches(expected, output):
                    yield f"$ {command}\nshould print:\n{expected}but prints:\n{output}"


def check_the_check():
    assert matches("a ... c\n", "a b c\n") and not matches("a\n", "a\nb\n") and not matches("a\n", "")
    commands = expected_of("$ (exit 3)\n$ echo $?; echo x >&2\n3\nx\n")
    assert commands == [["(exit 3)", ""], ["echo $?; echo x >&2", "3\nx\n"]]
    assert outputs_of(commands, "/", dict(os.environ)) == ["", "3\nx\n"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    check_the_check()
    count = blocks = 0
    with tempfile.TemporaryDirectory() as directory:
        prefix = Path(directory) / "installed"
        subprocess.run(["cmake", "--install", args.build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        # The documents say g++; any compiler of the build may stand behind that name.
        (Path(directory) / "g++").symlink_to(args.cxx)
        (package,) = prefix.rglob("weft.pc")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
        environment |= {"PATH": f"{directory}:{prefix / 'bin'}:{environment['PATH']}",
                        "PKG_CONFIG_PATH": str(package.parent)}
        for page in (args.source / "README.md", *sorted((args.source / "docs").glob("*.md"))):
            blocks += len(BLOCK.findall(page.read_text()))
            for problem in problems_of(page, environment):
                print(f"{page.relative_to(args.source)}: {problem}")
                count += 1
    print(f"{blocks} blocks, {count} problems")
    return 1 if count or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
