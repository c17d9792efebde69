"""Every C++ file is as `./dev format` leaves it. Formatters of other versions see some things otherwise."""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = 14  # Debian 12's.
SKIPPED = 77


def files_of(source: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.hpp", "*.cpp"],
        cwd=source, capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name and (source / name).exists()]
    return [str(path.relative_to(source)) for top in ("apps", "bench", "examples", "include", "src", "tests", "tools")
            for path in (source / top).rglob("*.[hc]pp")]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    arguments, _ = parser.parse_known_args()
    if shutil.which("clang-format") is None:
        print("clang-format is not installed")
        return SKIPPED
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    if re.search(rf"version {VERSION}\.", version) is None:
        print(f"this is not clang-format {VERSION}: {version.strip()}")
        return SKIPPED
    files = files_of(arguments.source)
    said = subprocess.run(["clang-format", "--dry-run", *files], cwd=arguments.source,
                          capture_output=True, text=True).stderr
    wrong = sorted({line.split(":")[0] for line in said.splitlines() if "-Wclang-format-violations" in line})
    for name in wrong:
        print(f"{name}: run ./dev format")
    return 1 if wrong or not files else 0


sys.exit(main())
