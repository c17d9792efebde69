"""What libweft-program.a has in place of the C library's is weak, so that a program may define it, and named in
shared_symbols.list, so that a library which it was linked to, too, uses its program's."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ALLOCATOR = re.compile(r"^(malloc\w*|calloc|realloc\w*|free|\w*memalign|aligned_alloc|p?valloc|_Zn[wa]m.*|_Zd[la]Pv.*)$")
# Of weft's own (the start of programs among them, which no library has), and variables of which the C library has one, which no program defines.
OWN = re.compile(r"^(weft_\w+|__libc_start_main)$")
VARIABLES = {"environ", "__environ", "_environ", "stdin", "stdout", "stderr"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    archive = args.build / "lib/weft/libweft-program.a"
    if not archive.exists():
        print("the wrappers are not part of this build")
        return
    members = {path.name + ".o" for prefix in ("program", "both") for path in (args.source / "src/process").glob(f"*/{prefix}_*.c")}
    defined, member = {}, ""
    for line in subprocess.run(["nm", "--defined-only", "-g", archive], capture_output=True, text=True).stdout.splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif member in members and len(line.split()) == 3:
            kind, name = line.split()[1:]
            defined[name] = kind
    text = re.sub(r"/\*.*?\*/", "", (args.source / "tools/weftcc/shared_symbols.list").read_text(), flags=re.S)
    listed = {name for name in re.findall(r"\w+", text) if not ALLOCATOR.match(name)}
    replaced = {name for name in defined if not OWN.match(name)}
    errors = [f"{name} is defined in src/process, but not in shared_symbols.list" for name in replaced - listed]
    errors += [f"{name} is in shared_symbols.list, but nothing defines it" for name in listed - replaced]
    errors += [f"{name} is not weak: a program could not define it" for name, kind in defined.items()
               if name in replaced - VARIABLES and kind not in "WV"]
    if not defined:
        errors.append(f"{archive} has none of {sorted(members)}")
    sys.exit("\n".join(sorted(errors))) if errors else print(f"{len(replaced)} names are weak and listed")


main()
