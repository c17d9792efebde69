#!/usr/bin/python3
"""How much longer programs take while weftrun --breakdown watches them.

    bench/breakdown/on_cost.py [--build DIR] [--runs N]      about a minute

By turns with and without, by the programs' own clocks; the fastest run of each and the middle one are shown. METG is that of
tasks of 10 us in a row of neighbours, by the best efficiency of a run. Exit status 1 when a program failed.
"""
import argparse
import csv
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def run(words, directory):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "BENCH_PRIORITY": "0"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def own_time(text):
    return float(re.search(r"^time\s+([\d.]+) s", text, re.MULTILINE)[1])


def per_work(text):
    """Time by what the work alone takes: one by the best efficiency."""
    row = next(row for row in csv.DictReader(io.StringIO(text)) if row["name"].startswith("metg/efficiency"))
    return 100 / float(row["p99"])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where weft was built")
    options.add_argument("--runs", type=int, default=7, help="of each program, with and without")
    asked = options.parse_args()
    programs = asked.build.resolve() / "bin"
    with tempfile.TemporaryDirectory() as directory:
        patterns = Path(directory) / "patterns"
        run([programs / "weftcc", "-O1", Path(__file__).resolve().parent / "patterns.c", "-o", patterns], directory)
        watched = [
            ("molecular dynamics", [programs / "weft-md", "--size", "16x10x10", "--steps", "60"], own_time),
            ("halo exchange, 1 ms of work", [patterns, "row", "300", "300000", "4096"], own_time),
            ("halo exchange, 50 us of work", [patterns, "row", "3000", "15000", "4096"], own_time),
            ("METG, tasks of 10 us", [programs / "bench-mpi-metg-weft", "--pattern", "stencil_1d", "--task-us", "10"], per_work),
        ]
        print(f"{'program':<30}{'least':>10}{'watched':>10}{'':>9}{'middle':>10}{'watched':>10}")
        for name, words, told in watched:
            plain, seen = [], []
            for _ in range(asked.runs):
                plain.append(told(run([programs / "weftrun", "-n", "2", *words], directory)))
                seen.append(told(run([programs / "weftrun", "--breakdown", "-n", "2", *words], directory)))
            pairs = [(min(plain), min(seen)), (statistics.median(plain), statistics.median(seen))]
            print(f"{name:<30}" + "".join(f"{a:>10.4f}{b:>10.4f}{100 * (b / a - 1):>+8.1f}%" for a, b in pairs))


if __name__ == "__main__":
    main()
