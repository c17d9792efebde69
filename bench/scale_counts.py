#!/usr/bin/python3
"""Instructions and cache lines of one operation as workers and ranks grow, counted, not timed: docs/scale_counts.csv.

    bench/scale_counts.py --build build/dev                 prints the rows
    bench/scale_counts.py --build build/dev --check         messages alone, with 2 and 16 workers: a test
    bench/scale_counts.py --build build/dev --store         keeps them as docs/scale_counts.csv; bench/page.py --write puts them
                                                            into docs/figures.md

bench-scale_counts steps through operations of ranks, one on each worker, with 2 to 128 workers on whatever cores there are.
The start of a rank is what valgrind counts for a job of twice as many ranks on one worker more, for each of them.
"""
import argparse
import csv
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "docs/scale_counts.csv"
COLUMNS = ("operation", "workers", "instructions", "instructions_max", "lines", "lines_max")
WORKERS = (2, 4, 8, 16, 32, 64, 128)
# Indices of ucontext's gregs.
GREGS = {name: i for i, name in enumerate("r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp rip".split())}
NONE = 255
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
OPERAND = re.compile(r"(%[a-z]s:)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)")
TARGET = re.compile(r"# ([0-9a-f]+)")
PREFIXES = {"lock", "rep", "repz", "repnz", "notrack", "bnd", "data16", "xacquire", "xrelease"}
READS_ONLY = re.compile(r"^(v?u?com|v?ptest|cmp[bwlq]?$|test|bt[bwlq]?$|push|jmp|call|i?mul[bwlq]?$|i?div|prefetch[tn]|v?pcmp|ldmxcsr|fld|vldmxcsr)")
TOUCHES_NOTHING = re.compile(r"^(lea|nop|ret|endbr|clflush|xsave|xrstor|fxsave|fxrstor)")
SIZES = (("%zmm", 64), ("%ymm", 32), ("%xmm", 16))


def decoded(line):
    """(address, displacement, base, index, scale, size, writes, repeats) of an instruction with a memory operand, or None."""
    found = LINE.match(line)
    if not found:
        return None
    words = found[2].split(None, 1)
    prefixes = []
    while words and words[0] in PREFIXES and len(words) > 1:
        prefixes.append(words[0])
        words = words[1].split(None, 1)
    if len(words) < 2 or TOUCHES_NOTHING.match(words[0]):
        return None
    name, rest = words
    operand = OPERAND.search(rest)
    if not operand or operand[1] in ("%fs:", "%gs:"):
        return None
    base = operand[3][1:] if operand[3] else None
    index = operand[4][1:] if operand[4] else None
    if base not in (None, *GREGS) or index not in (None, *GREGS):  # Gathers.
        return None
    displacement = int(operand[2], 16) if operand[2] else 0
    if base == "rip":
        target = TARGET.search(rest)
        if not target:
            return None
        displacement = int(target[1], 16)
    operands = rest.split("#")[0].rstrip()
    is_last = operands.endswith(operand[0])
    writes = "lock" in prefixes or name.startswith(("xchg", "prefetchw")) or (is_last and not READS_ONLY.match(name))
    size = next((size for register, size in SIZES if register in rest), {"b": 1, "w": 2, "l": 4}.get(name[-1], 8))
    if displacement >= 1 << 63:
        displacement -= 1 << 64
    return (int(found[1], 16), displacement, GREGS[base] if base else NONE, GREGS[index] if index else NONE,
            int(operand[5] or 1), size, writes, bool({"rep", "repz", "repnz"} & set(prefixes)))


def operands_of(path):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [one for one in map(decoded, (line for line in text.splitlines() if "(" in line)) if one]


def range_of(path, function):
    for line in subprocess.run(["nm", "-SC", path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and words[2] in "tT" and words[3] == function:
            return int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    sys.exit(f"scale_counts: {path} has no {function}")


def libc_of(program):
    loaded = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"libc\.so\.6 => (\S+)", loaded)[1]


def write_table(program, to):
    """What bench/single_steps.hpp reads."""
    rows = [(0, *one) for one in operands_of(program)] + [(1, *one) for one in operands_of(libc_of(program))]
    block, probe = range_of(program, "weft::worker::block(weft::waiter&)"), range_of(program, "weft::worker::steal(int)")
    with open(to, "wb") as file:
        file.write(struct.pack("<6Q", len(rows), *block, *probe, 0))
        for of_file, address, displacement, base, index, scale, size, writes, repeats in rows:
            file.write(struct.pack("<Qq8B", address, displacement, of_file, base, index, scale, size, writes, repeats, 0))


def counted(program, table, workers, repetitions, *what):
    # As if each worker had a core: waits of a crowded host give it up.
    done = subprocess.run([program, table, str(workers), str(repetitions), *what], stdout=subprocess.PIPE, text=True, check=True, timeout=600,
                          env=dict(os.environ, HWLOC_SYNTHETIC="core:256 pu:1"))
    return list(csv.DictReader(done.stdout.splitlines(), COLUMNS))


def instructions_of(words):
    """As valgrind counts them."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=True, timeout=600)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def starts(program, ranks):
    """Of a rank: how much longer a job of twice as many is."""
    at = {n: instructions_of([program, "--start", str(n)]) for n in (*ranks, 2 * ranks[-1])}
    for n in ranks:
        each = (at[2 * n] - at[n]) / n
        yield dict(zip(COLUMNS, ("start and end of a rank", n, f"{each:.0f}", f"{each:.0f}", "", "")))


def check(program, table):
    """Messages cost the same with 2 and 16 workers, but for a look into each mailbox."""
    few, many = ({row["operation"]: row for row in counted(program, table, workers, 3, "messages")} for workers in (2, 16))
    limits = {"send 8 B": 0, "receive 8 B": 1, "receive 8 B from any source": 24, "iprobe that finds nothing": 24}
    wrong = []
    for name, each in limits.items():
        more = int(many[name]["instructions"]) - int(few[name]["instructions"])
        if more > each * (16 - 2) or float(many[name]["lines"]) > max(float(few[name]["lines"]), 1):
            wrong.append(f"{name}: with 2 workers {few[name]['instructions']} instructions and {few[name]['lines']} lines, with 16 "
                         f"{many[name]['instructions']} and {many[name]['lines']}: at most {each} instructions more for each worker more, and no line")
    if wrong:
        sys.exit("scale_counts: " + "; ".join(wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--no-start", action="store_true", help="leave out what needs valgrind")
    parser.add_argument("--check", action="store_true", help="fail where messages cost more with more workers than a look into each mailbox")
    parser.add_argument("--store", action="store_true", help="keep the rows as docs/scale_counts.csv")
    args = parser.parse_args()
    program = str(args.build / "bin/bench-scale_counts")
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        table = os.path.join(directory, "operands")
        write_table(program, table)
        if args.check:
            return check(program, table)
        for workers in args.workers:
            rows += counted(program, table, workers, args.repetitions)
    if not args.no_start:
        rows += starts(program, tuple(args.workers))
    out = csv.DictWriter(open(STORED, "w", newline="") if args.store else sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    out.writerows(rows)


if __name__ == "__main__":
    main()
