#!/usr/bin/python3
"""The tables of docs/figures.md, in Markdown, from the rows of one call of bench/run.py.

    bench/page.py out/bench/all.csv
"""
import csv
import sys

import comm_table
import targets

# Sections: the title, weft's peer, the names of the rivals' peers, and their rows: (text, name, ranks).
SIZES = ("8B", "1KiB", "8KiB", "64KiB", "1MiB")
BESIDE_MPI = (
    [(f"{comm_table.spaced(size)} one way", f"p2p/one_way/{size}", 2) for size in SIZES]
    + [("8 B in windows of 64, a message", "p2p/window64/8B", 2),
       ("1 MiB in windows of 64, a message", "p2p/window64/1MiB", 2),
       ("8 B one way on one core", "p2p/one_way/8B/same_core", 2),
       ("processor time of a rank that waits", "idle/waiting_rank", 2)]
    + [(f"{text}{comm_table.spaced(size)}", f"collectives/{name}{size}", ranks) for ranks in (2, 16)
       for text, name, size in (("barrier", "barrier", ""), ("all-reduce, ", "allreduce/", "8B"),
                                ("all-reduce, ", "allreduce/", "64KiB"), ("all-reduce, ", "allreduce/", "1MiB"),
                                ("broadcast, rotating root, ", "bcast/", "8B"), ("all-to-all, ", "alltoall/", "8B"))]
    + [("all pairs at once, 8 B one way", "p2p/all_pairs/8B/across", 16),
       ("token round a ring, a hop", "ring/hop/8B", 16),
       ("gather by wildcards, a message", "ring/gather_any/8B", 16)])
METG = [(f"METG(50 %), {pattern}, {columns} column{'s' if columns > 1 else ''} a rank", f"metg/{pattern}/{columns}c", ranks)
        for ranks, columns in ((2, 1), (2, 8), (16, 1)) for pattern in ("stencil_1d", "nearest", "all_to_all")]
PROCESSES = [(f"{text}, {comm_table.spaced(size)}", f"collectives/{name}/{size}", 2)
             for text, name in (("all-reduce", "allreduce"), ("broadcast, rotating root", "bcast"),
                                ("all-to-all", "alltoall")) for size in ("64KiB", "1MiB")]
SECTIONS = [("Ranks beside MPI", "weft", BESIDE_MPI), ("Unmodified MPI programs", "weft-mpi", BESIDE_MPI),
            ("Two processes, large collectives", "weft-processes", PROCESSES), ("Task granularity", "weft", METG)]


def measured(value, unit):
    """As a reader would say it: 81.6 ns, 1.4 µs, 0.05 %."""
    to_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}.get(unit)
    if to_ns is None:
        return f"{value:,.3g} {unit}" if abs(value) < 1000 else f"{value:,.0f} {unit}"
    ns = value * to_ns
    for name, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor:
            return f"{ns / factor:,.3g} {name}"
    return f"{ns:.3g} ns"


def beside(rows, own, lines):
    """A table of weft and both MPIs; of rows that weft was not measured in, none."""
    by_key = {(r["name"], r["peer"], int(r["ranks"])): r for r in targets.at_one_pace(rows)}
    table = []
    for text, name, ranks in lines:
        cells = [by_key.get((name, peer, ranks)) for peer in (own, "mpich", "openmpi")]
        if cells[0] is not None:
            table.append(f"| {text} | {ranks} | "
                         + " | ".join(measured(float(c["median"]), c["unit"]) if c else "–" for c in cells) + " |")
    return ["| | ranks | weft | MPICH | Open MPI |", "|---|---|---|---|---|"] + table if table else []


def limits(rows):
    table = [f"| {text} | {measured(figure, unit)} | {measured(limit, unit)} | {'met' if good else '**missed**'} |"
             for text, figure, limit, unit, good in targets.judged(rows)]
    return ["| | figure | limit | |", "|---|---|---|---|"] + table if table else []


def page(rows):
    parts = []
    for title, table in ([(title, beside(rows, own, lines)) for title, own, lines in SECTIONS]
                         + [("Against the limits that were set", limits(rows))]):
        if table:
            parts.append(f"## {title}\n\n" + "\n".join(table))
    return "\n\n".join(parts)


if __name__ == "__main__":
    found = []
    for path in sys.argv[1:]:
        with open(path, newline="") as file:
            found += csv.DictReader(file)
    if not (text := page(found)):
        sys.exit("page: no rows that a table has; name the CSVs that bench/run.py wrote, for example out/bench/all.csv")
    print(text)
    print(f"\n{targets.circumstances(found)}")
