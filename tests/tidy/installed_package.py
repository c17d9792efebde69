"""What `cmake --install` leaves is complete: a project outside builds and runs with find_package and
with pkg-config, and the tree may be moved first."""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, environment=None, **options):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                            env={**os.environ, **(environment or {})}, **options)
    if result.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def check_program(program, words=("--weft-ranks", "3"), expected="ranks 3\n"):
    out = run(program, *words)
    if out != expected:
        sys.exit(f"{program} printed {out!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    consumer = args.source / "tests/consumer"
    with tempfile.TemporaryDirectory() as directory:
        temporary = Path(directory)
        prefix = temporary / "moved"
        run("cmake", "--install", args.build, "--prefix", temporary / "first")
        (temporary / "first").rename(prefix)

        headers = sorted(path.relative_to(prefix / "include") for path in prefix.rglob("*.hpp"))
        expected = sorted(path.relative_to(args.source / "include") for path in (args.source / "include").rglob("*.hpp"))
        if headers != expected:
            sys.exit(f"installed headers {headers} are not those of include/: {expected}")
        for text in list(prefix.rglob("*.cmake")) + list(prefix.rglob("*.pc")):
            if str(args.source) in text.read_text():
                sys.exit(f"{text.relative_to(prefix)} names the source directory")
        run(prefix / "bin/weft-info", "--version")

        run("cmake", "-S", consumer, "-B", temporary / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={args.cxx}")
        run("cmake", "--build", temporary / "build")
        check_program(temporary / "build/consumer")
        check_program(temporary / "build/comm_consumer", (), "process 0 of 1\n")

        (package,) = prefix.rglob("weft.pc")
        flags = run("pkg-config", "--cflags", "--libs", "weft", environment={"PKG_CONFIG_PATH": str(package.parent)})
        run(args.cxx, consumer / "main.cpp", "-o", temporary / "by_pkg_config", *shlex.split(flags))
        check_program(temporary / "by_pkg_config")
        flags = run("pkg-config", "--cflags", "--libs", "weft-comm", environment={"PKG_CONFIG_PATH": str(package.parent)})
        run(args.cxx, consumer / "comm.cpp", "-o", temporary / "comm_by_pkg_config", *shlex.split(flags))
        check_program(temporary / "comm_by_pkg_config", (), "process 0 of 1\n")
    print("find_package and pkg-config both work")


main()
