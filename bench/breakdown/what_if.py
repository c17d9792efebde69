#!/usr/bin/python3
"""What weft-breakdown says a change would bring, beside the change itself.

    bench/breakdown/what_if.py [--build DIR] [--out DIR]      about a minute

Three predictions: a replay in which messages take twice as long, against a run whose messages are twice as long (all of it is
copies); a replay, and a causal experiment on the live program, in which the work of one function is halved, against a run in
which it is. Runs as they are and changed go by turns; the fastest of each counts, since other programs only add to it. Writes
what_if.csv. Exit status 1 when a program failed; an error of a prediction is a figure.
"""
import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Loops of rank 0 and of rank 1, bytes, steps.
COPIES = (200000, 200000, 8 << 20, 60)
UNEVEN = (2000000, 1300000, 64, 60)


class Tools:
    def __init__(self, bin_directory, out):
        self.weftrun, self.breakdown, self.out = bin_directory / "weftrun", bin_directory / "weft-breakdown", out
        self.program = out / "changes"
        self.run(bin_directory / "weftcc", "-O1", "-g", Path(__file__).resolve().parent / "changes.c", "-o", self.program)

    def run(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.out, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def replayed(self, events, *change):
        """Seconds of the record and of the changed replay."""
        rows = list(csv.DictReader(io.StringIO(self.run(self.breakdown, "replay", events, "--csv", *change))))
        seconds = [float(row["seconds"]) for row in rows if row["kind"] == "run"]  # Recorded, as it was, changed.
        return seconds[0], seconds[-1]

    def record(self, name, arguments):
        events = f"{name}.events"
        self.run(self.weftrun, "--trace", events, "-n", "2", "--workers", "2", self.program, *arguments)
        return self.replayed(events)[0], events


def by_turns(tools, as_it_is, changed, repeat):
    """The fastest record as it is, and the seconds of the fastest changed one."""
    plain, other = [], []
    for attempt in range(repeat):
        plain.append(tools.record(f"{as_it_is[2]}-plain-{attempt}", as_it_is))
        other.append(tools.record(f"{as_it_is[2]}-changed-{attempt}", changed))
    return min(plain), min(other)[0]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where weft was built")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "what_if", help="where the CSV goes")
    options.add_argument("--repeat", type=int, default=5, help="runs of each")
    asked = options.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not (asked.build / "bin" / "weft-breakdown").exists():
        sys.exit(f"{asked.build / 'bin'} has no weft-breakdown: build it, or name another folder by --build")
    tools = Tools(asked.build.resolve() / "bin", out)
    rows = []

    def add(change, method, was, predicted, ran):
        rows.append({"change": change, "method": method, "was_seconds": was, "predicted_seconds": predicted, "ran_seconds": ran,
                     "error_percent": 100 * (predicted / ran - 1)})

    first, second, size, steps = COPIES
    (was, events), ran = by_turns(tools, COPIES, (first, second, 2 * size, steps), asked.repeat)
    add("copies take twice as long", "replay --transfers -100", was, tools.replayed(events, "--transfers", "-100")[1], ran)
    first, second, size, steps = UNEVEN
    (was, events), ran = by_turns(tools, UNEVEN, (first // 2, second, size, steps), asked.repeat)
    change = "half the work of one function"
    add(change, "replay --faster", was, tools.replayed(events, "--faster", "in first at=50")[1], ran)
    told = list(csv.DictReader(io.StringIO(tools.run(
        tools.breakdown, "causal", "MPI_Sendrecv in first", "--reductions", "50", "--runs", asked.repeat, "--csv", "--",
        tools.weftrun, "-n", "2", "--workers", "2", tools.program, *UNEVEN))))
    gain = next(float(row["gain_percent"]) for row in told if row["reduction_percent"] == "50")
    add(change, "causal experiment", was, was * (1 - gain / 100), ran)
    with open(out / "what_if.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    print(f"{'change':<32}{'method':<26}{'was, s':>9}{'predicted':>11}{'ran':>9}{'error':>9}")
    for row in rows:
        print(f"{row['change']:<32}{row['method']:<26}{row['was_seconds']:>9.4f}{row['predicted_seconds']:>11.4f}"
              f"{row['ran_seconds']:>9.4f}{row['error_percent']:>+8.1f}%")


if __name__ == "__main__":
    main()
