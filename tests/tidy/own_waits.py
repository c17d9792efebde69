"""weft's own code rests by base/kernel.hpp and base/pause.hpp alone. The C library's sleep(), sched_yield() and their kin are replaced in
programs of weftcc, where they let other ranks run, which must not happen in the middle of weft; and pause() and its kin wait for a signal
that nobody sends: a rank's signals go to the monitor."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

FOR_SIGNALS = {"pause", "sigpause", "__sigpause", "__xpg_sigpause", "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait"}

# What headers of others bring along: the spin of std::stop_token, and Boost.Asio's event of a program without threads, which is never made.
OF_OTHERS = {("group.cpp.o", "sched_yield"), ("tcp_meeting.cpp.o", "pause"), ("tcp_port.cpp.o", "pause")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    replaced = set(re.findall(r"^REPLACES \w+ (\w+)\(", (args.source / "src/process/blocking/both_sleep.c").read_text(), re.MULTILINE))
    if not {"sched_yield", "nanosleep", "usleep"} <= replaced:
        sys.exit(f"src/process/blocking/both_sleep.c replaces {sorted(replaced)}: this check cannot read it")
    libraries = [path for pattern in ("libweft.a", "lib/weft/libweft.so.*", "lib/weft/weft-transport-*.so")
                 for path in sorted(args.build.glob(pattern)) if not path.is_symlink()]
    if not libraries:
        print("no library is part of this build")
        return
    errors = []
    for library in libraries:
        words = ["nm", "--undefined-only"] + ([] if library.suffix == ".a" else ["-D"])
        member = ""
        for line in subprocess.run([*words, library], capture_output=True, text=True).stdout.splitlines():
            if line.endswith(":"):
                member = line[:-1]
            elif (name := line.split()[-1].split("@")[0] if line.split() else "") in replaced | FOR_SIGNALS:
                # A shared library has no members to tell it by: there the archive of the same sources decides.
                if (member, name) not in OF_OTHERS and (member or name not in {other for _, other in OF_OTHERS}):
                    errors.append(f"{library.name} {member} calls {name}(): rest by base/kernel.hpp or base/pause.hpp")
    sys.exit("\n".join(sorted(errors))) if errors else print(f"{len(libraries)} libraries call none of {len(replaced | FOR_SIGNALS)} functions")


main()
