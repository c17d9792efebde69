#!/usr/bin/python3
"""Compare two runs: bench/compare.py base.csv new.csv [--above PERCENT]

Prints every row that both have, with the ratio of the medians; a change within the spread of the
two runs (from minimum to p99 of either) is marked as noise.
"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rows as of_run


def read(path):
    try:
        return {of_run.key(r): r for r in of_run.one_of_each(of_run.read([path]))}
    except (OSError, KeyError) as error:
        sys.exit(f"compare: {path}: {error}; expected a CSV written by bench/run.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--above", type=float, default=0, help="show only changes of at least so many percent")
    args = parser.parse_args()
    base, new = read(args.base), read(args.new)
    common = [key for key in base if key in new]
    if not common:
        sys.exit(f"compare: {args.base} and {args.new} have no row in common")
    print(f"{'name':<36}{'peer':<22}{'n':>6}{'base':>12}{'new':>12}  unit {'change':>8}")
    for key in common:
        old, now = base[key], new[key]
        before, after = float(old["median"]), float(now["median"])
        change = 100 * (after / before - 1) if before else 0
        if abs(change) < args.above:
            continue
        noise = after <= float(old["p99"]) and before <= float(now["p99"]) and \
            after >= float(old["min"]) and before >= float(now["min"])
        print(f"{key[0]:<36}{key[1]:<22}{key[2]:>6}{before:>12.5g}{after:>12.5g}  {now['unit']:<4} "
              f"{change:>+7.1f}%{'  within the spread' if noise else ''}")


if __name__ == "__main__":
    main()
