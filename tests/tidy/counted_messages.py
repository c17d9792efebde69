#!/usr/bin/env python3
"""Messages of ranks are counted, or the end of a job and its deadlocks are told wrongly. What goes over the job's devices is
counted by remote::port and the handlers, and what goes around them does not compile (tests/compile_fail). Messages that those do
not see are counted by their user: that is for parcelports alone (docs/protocols/processes.md)."""
import argparse
import pathlib
import re
import sys

# What is looked for, and who may have it.
ALLOWED = {
    r"\buncounted_messages\b": ("remote/port.hpp", "runtime/network.hpp", "parcel/"),
    r"\bmake_core\(": ("runtime/network.hpp", "runtime/network.cpp", "parcel/lci/lci_shared_port.cpp"),
}


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--source", type=pathlib.Path, required=True)
    source = options.parse_known_args()[0].source / "src"
    found = []
    seen = dict.fromkeys(ALLOWED, 0)
    for path in sorted(source.rglob("*.[ch]pp")):
        name = path.relative_to(source).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0]
            for pattern, allowed in ALLOWED.items():
                if not re.search(pattern, code):
                    continue
                seen[pattern] += 1
                if not name.startswith(allowed):
                    found.append(f"src/{name}:{number}: use remote::port and remote::handlers, which count: {line.strip()}")
    found += [f"nothing looks like {pattern}: the check sees nothing" for pattern, count in seen.items() if count == 0]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
