#!/usr/bin/python3
"""The tables of docs/figures.md, in Markdown, from the rows of one call of bench/run.py.

    bench/page.py out/bench/all.csv

A line has weft's figure and those of rivals that were measured beside it, in the same group.
"""
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import comm_table
import rows as of_run
import targets


class Line(NamedTuple):
    text: str
    name: str
    ranks: int
    suffix: str = ""  # Of weft's peer in this line.


def by_size(text, name, sizes, ranks=2):
    return [Line(text.format(comm_table.spaced(size)), name.format(size), ranks) for size in sizes]


LARGE = ("64KiB", "1MiB")
MPI = (("MPICH", "mpich"), ("Open MPI", "openmpi"))
BESIDE_MPI = (
    by_size("{} one way", "p2p/one_way/{}", ("8B", "1KiB", "8KiB", *LARGE))
    + by_size("{} one way, just written", "p2p/one_way/{}/fresh", LARGE)
    + by_size("that writing alone, {}", "p2p/rewriting/{}", LARGE)
    + by_size("{} in windows of 64, a message", "p2p/window64/{}", ("8B", "1MiB"))
    + [Line("8 B one way on one core", "p2p/one_way/8B/same_core", 2),
       Line("processor time of a rank that waits", "idle/waiting_rank", 2)]
    + [line for ranks in (2, 16) for line in (
        [Line("barrier", "collectives/barrier", ranks)]
        + by_size("all-reduce, {}", "collectives/allreduce/{}", ("8B", *LARGE), ranks)
        + by_size("all-reduce, {}, just written", "collectives/allreduce/{}/fresh", LARGE, ranks)
        + by_size("broadcast, rotating root, {}", "collectives/bcast/{}", ("8B", *LARGE), ranks)
        + by_size("all-to-all, {}", "collectives/alltoall/{}", ("8B", *LARGE), ranks))]
    + [Line("all pairs at once, 8 B one way", "p2p/all_pairs/8B/across", 16),
       Line("token round a ring, a hop", "ring/hop/8B", 16), Line("token round a ring, a hop", "ring/hop/8B", 1000),
       Line("gather by wildcards, a message", "ring/gather_any/8B", 16),
       Line("gather by wildcards, a message", "ring/gather_any/8B", 1000)])
STENCIL = [line for n in (2, 3, 4, 8, 16) for line in by_size("uneven stencil, {}: share of perfect", "stencil/share/{}",
                                                              ("8KiB", "64KiB"), n)]
MPI_STENCIL = [line._replace(text=line.text + how, suffix=suffix) for line in STENCIL if line.ranks == 16
               for how, suffix in ((", unmodified", ""), (", three lines of weft/task.h", "-tasks"))]
DATATYPES = by_size("derived datatype: {}", "datatypes/{}",
                    ("one_way/column/8KiB", "one_way/members/28KiB", "one_way/face_x/32KiB", "one_way/face_y/32KiB",
                     "one_way/face_z/32KiB", "halo/64^3"))
PROCESSES = (
    by_size("{} one way", "p2p/one_way/{}", ("8B", "1KiB", "8KiB", *LARGE)) + [Line("barrier", "collectives/barrier", 2),
                                                                               Line("barrier", "collectives/barrier", 16)]
    + [line for text, name in (("all-reduce", "allreduce"), ("broadcast, rotating root", "bcast"), ("all-to-all", "alltoall"))
       for line in by_size(text + ", {}", f"collectives/{name}/{{}}", LARGE)])
FOUR_PROCESSES = [line._replace(ranks=4) for line in PROCESSES if line.name.endswith(LARGE) and "collectives" in line.name]
METG = [Line(f"{pattern}, {columns} column{'s' if columns > 1 else ''} a rank", f"metg/{pattern}/{columns}c", ranks)
        for ranks, columns in ((2, 1), (2, 8), (16, 1)) for pattern in ("stencil_1d", "nearest", "all_to_all")]
TASKS = [Line(f"stencil_1d, 8 columns, tasks of 9.5 µs, {what}", f"metg/efficiency/stencil_1d/8c{kernel}/9.5us", 2)
         for what, kernel in (("even", ""), ("uneven", "/imbalance"))]
MD = [Line("an atom and step", "md/atom_step/full", 1), Line("an atom and step", "md/atom_step/full", 2),
      Line("an atom and step, with voids", "md/atom_step/voids", 2)]

# The title, the columns as (heading, peer), weft's own the first, and the lines.
SECTIONS = [
    ("Ranks beside MPI", (("weft", "weft"), *MPI), BESIDE_MPI + STENCIL),
    ("Unmodified MPI programs", (("weft", "weft-mpi"), *MPI), BESIDE_MPI + MPI_STENCIL + DATATYPES),
    ("Ranks in two processes", (("weft", "weft-processes"), *MPI), PROCESSES),
    ("Ranks in four processes", (("weft", "weft-4-processes"), *MPI), FOUR_PROCESSES),
    ("METG(50 %)", (("weft", "weft"), ("weft, steps", "weft-steps"), ("weft's MPI", "weft-mpi"), *MPI), METG),
    ("Efficiency of even and uneven tasks",
     (("weft with loop tasks", "weft-tasks"), ("weft's MPI with loop tasks", "weft-mpi-tasks"), ("weft", "weft"), *MPI), TASKS),
    ("Molecular dynamics", (("weft", "weft"), ("weft, tasks off", "weft-no-tasks"), ("LAMMPS", "lammps")), MD),
]


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


def markdown(heads, lines):
    return ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"] + ["| " + " | ".join(each) + " |" for each in lines]


def beside(run, columns, lines):
    """A table of weft and its rivals; of lines that weft was not measured in, none."""
    table = []
    for line in lines:
        def row_in(group, peer):
            # Of any number of workers: no line has several in its group.
            return next((r for (name, who, ranks, _), r in group.rows.items()
                         if (name, who, ranks) == (line.name, peer, line.ranks)), None)
        own = columns[0][1] + line.suffix
        group = next((g for g in run.values() if row_in(g, own)), None)
        if group is not None:
            cells = [row_in(group, peer) for peer in (own, *(peer for _, peer in columns[1:]))]
            table.append([line.text, str(line.ranks)]
                         + [measured(float(c["median"]), c["unit"]) if c else "–" for c in cells])
    return markdown(["", "ranks", *(heading for heading, _ in columns)], table) if table else []


def limits(rows):
    value = lambda figure, unit: "–" if figure is None else measured(figure, unit)
    results = targets.judged(rows)
    table = [[t.text, value(t.figure, t.unit), value(t.limit, t.unit),
              "**missed**" if t.verdict() == "missed" else t.verdict()] for t in results]
    return [targets.summary(results) + ".", "", *markdown(["", "figure", "limit", ""], table)] if table else []


def processes(rows):
    """(title, table) of each transport between two processes."""
    for transport in comm_table.PEERS:
        peers, lines = comm_table.medians(rows, transport)
        if lines:
            yield (f"The communication core between two processes, {transport}", markdown(["", *peers], [
                [", ".join(map(comm_table.spaced, name.split("/"))), *(measured(of_row[p], "ns") if p in of_row else "–" for p in peers)]
                for name, of_row in lines]))


def page(rows):
    run = of_run.Run(rows)
    parts = [*((title, beside(run, columns, lines)) for title, columns, lines in SECTIONS), *processes(rows),
             ("Against the limits that were set", limits(rows))]
    return "\n\n".join(f"## {title}\n\n" + "\n".join(table) for title, table in parts if table)


if __name__ == "__main__":
    found = of_run.read(sys.argv[1:])
    if not (text := page(found)):
        sys.exit("page: no rows that a table has; name the CSVs that bench/run.py wrote, for example out/bench/all.csv")
    print(text)
    print(f"\n{targets.circumstances(found)}")
