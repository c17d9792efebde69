#!/usr/bin/python3
"""Percent of peak by task size and back end, and METG(50 %), a table for each pattern.

    bench/metg_table.py out/bench/metg-curves.csv
"""
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rows as of_run

SHARE = 50.0  # Percent, of METG.
PEERS = ("weft", "weft-steps", "weft-tasks", "weft-spawn", "weft-futures", "weft-parcels", "tbb", "weft-mpi", "weft-mpi-ready", "weft-mpi-tasks", "mpich", "mpich-ready",
         "openmpi", "openmpi-ready", "weft-shmem-signals", "weft-shmem-get", "weft-shmem-am", "weft-shmem-am-wait",
         "oshmem-signals", "oshmem-get")


def curves(rows):
    """{pattern and what follows: {peer: {iterations: {"granularity": us, "efficiency": percent}}}}"""
    found = {}
    for row in rows:
        parts = row["name"].split("/")
        if parts[0] == "metg" and parts[1] in ("granularity", "efficiency") and parts[-1].isdigit():
            peers = found.setdefault("/".join(parts[2:-1]), {})
            peers.setdefault(row["peer"], {}).setdefault(int(parts[-1]), {})[parts[1]] = float(row["median"])
    # A curve has more than one point; what is left is a single granularity that was asked for.
    return {pattern: {peer: points for peer, points in peers.items() if len(points) > 2}
            for pattern, peers in found.items() if any(len(points) > 2 for points in peers.values())}


def metg(points, share=SHARE):
    """The granularity at which a curve first reaches the share, between two points; None when it does not."""
    below = None
    for _, here in sorted(points.items()):
        if here["efficiency"] >= share:
            if below is None or here["efficiency"] <= below["efficiency"]:
                return here["granularity"]
            part = (share - below["efficiency"]) / (here["efficiency"] - below["efficiency"])
            return below["granularity"] * math.pow(here["granularity"] / below["granularity"], part)
        below = here
    return None


def table(pattern, peers):
    """A row for each number of iterations; the first value of a column that reaches the share has a star."""
    names = sorted(peers, key=lambda peer: PEERS.index(peer) if peer in PEERS else len(PEERS))
    width = max(16, *(len(name) + 2 for name in names))
    lines = [f"{pattern}: percent of peak",
             f"{'iterations':>10}{'task, us':>10}" + "".join(f"{n:>{width}}" for n in names)]
    reached = set()
    for iterations in sorted({n for points in peers.values() for n in points}):
        here = {name: peers[name][iterations] for name in names if iterations in peers[name]}
        task = statistics.median(p["granularity"] * p["efficiency"] / 100 for p in here.values())
        cells = ""
        for name in names:
            if name not in here:
                cells += " " * width
                continue
            value = here[name]["efficiency"]
            first = value >= SHARE and name not in reached
            reached |= {name} if first else set()
            cells += f"{value:>{width - 1}.1f}{'*' if first else ' '}"
        lines.append(f"{iterations:>10}{task:>10.3f}{cells}")
    values = (metg(peers[name]) for name in names)
    lines.append(f"{'METG(50 %), us':>20}" + "".join(f"{'-' if v is None else format(v, '.3g'):>{width - 1}} " for v in values))
    return "\n".join(lines)


def tables(rows):
    return "\n\n".join(table(pattern, peers) for pattern, peers in curves(rows).items())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(tables(of_run.read(sys.argv[1:])) or "metg_table: no curves in these rows; write them with bench/run.py metg-curves")
