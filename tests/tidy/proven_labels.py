"""Each use of a labelled order or fence in src and include is met by a model test that fails when that one is
weakened. memory_orders.py sees that the file is included by such a test; this one runs them."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

USE = re.compile(r"\bAtomics::(?:acquire|release|acq_rel|seq_cst|light_fence|heavy_fence)\(([^)]*)\)")
NEEDED = re.compile(r"^needed: (\S+) at (\S+):(\d+)$", re.MULTILINE)


def uses_in(source):
    """Yields (label, file, first line, last line) of each."""
    for top in ("src", "include"):
        for path in sorted((source / top).rglob("*.?pp")):
            code = re.sub(r"//[^\n]*", "", path.read_text())
            for use in USE.finditer(code):
                first = code.count("\n", 0, use.start()) + 1
                for label in re.findall(r'"([^"]+)"', use[1]):
                    yield label, path.name, first, first + use[0].count("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    tests = sorted((args.build / "bin").glob("*_model"))
    if not tests:
        print("no test of tests/model is built")
        return 77
    needed = set()
    for test in tests:
        run = subprocess.run([test, "--gtest_filter=*needed*"], text=True, capture_output=True)
        if run.returncode:
            print(f"{test.name} fails:\n{run.stdout}{run.stderr}")
            return 1
        needed.update(NEEDED.findall(run.stdout))
    uses = list(uses_in(args.source))
    unproven = [(label, file, first) for label, file, first, last in uses
                if not any((label, file, str(line)) in needed for line in range(first, last + 1))]
    for label, file, line in unproven:
        print(f"{file}:{line}: no model test needs {label}")
    print(f"{len(uses)} uses of labels, {len(unproven)} without a proof")
    return 1 if unproven or not uses else 0


sys.exit(main())
