#!/usr/bin/python3
"""The tables of docs/figures.md, in Markdown, from the rows of one call of bench/run.py.

    bench/page.py out/bench/all.csv             prints them
    bench/page.py --store out/bench/all.csv     keeps the rows as docs/figures.csv and writes the page anew, behind its
                                                introduction, and the table of README.md
    bench/page.py --write                       writes both anew from docs/figures.csv
    bench/page.py --check                       fails where they are not what --write would write

A line has weft's figure and those of rivals that were measured beside it, in the same group, and how far apart the cores were.
The page is at most LINES_MAX lines long: it has what a reader compares, the CSV has all. Rows are stored only when at most
OTHERS_MAX of them are of another pace than their group, and nothing else ran at the start.
"""
import argparse
import csv
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import comm_table
import rows as of_run
import targets

ROOT = Path(__file__).resolve().parent.parent
STORED, PAGE, README = ROOT / "docs/figures.csv", ROOT / "docs/figures.md", ROOT / "README.md"
COUNTS = ROOT / "docs/scale_counts.csv"
LINES_MAX = 290
OTHERS_MAX = 0.05
LOAD_MAX = 0.5  # Before the call whose rows these are.
README_MARKS = ("<!-- Written by bench/page.py from docs/figures.csv. -->", "<!-- Written up to here. -->")
MARK = "<!-- What follows is written by bench/page.py from figures.csv. -->"


class Line(NamedTuple):
    text: str
    name: str
    ranks: int
    suffix: str = ""  # Of weft's peer in this line.


def by_size(text, name, sizes, ranks=2):
    return [Line(text.format(comm_table.spaced(size)), name.format(size), ranks) for size in sizes]


LARGE = ("64KiB", "1MiB")
MPI = (("MPICH", "mpich"), ("Open MPI", "openmpi"))
ONE_WAY = (by_size("{} one way", "p2p/one_way/{}", ("8B", "1KiB", "8KiB"))
           + by_size("{} one way, just written", "p2p/one_way/{}/fresh", LARGE)
           + by_size("{} in windows of 64, a message", "p2p/window64/{}", ("8B",)))
FEW = ([Line("barrier", "collectives/barrier", 2)] + by_size("all-reduce, {}", "collectives/allreduce/{}", ("8B", "64KiB"))
       + by_size("broadcast, rotating root, {}", "collectives/bcast/{}", ("8B", "64KiB"))
       + by_size("all-to-all, {}", "collectives/alltoall/{}", ("8B", "64KiB")))
CROWDED = ([Line("barrier", "collectives/barrier", 16)] + by_size("all-reduce, {}", "collectives/allreduce/{}", ("8B",), 16)
           + by_size("all-to-all, {}", "collectives/alltoall/{}", ("8B", "64KiB"), 16)
           + [Line("all pairs at once, 8 B one way", "p2p/all_pairs/8B/across", 16)])
RING = [Line("8 B one way on one core", "p2p/one_way/8B/same_core", 2), Line("token round a ring, a hop", "ring/hop/8B", 16),
        Line("token round a ring, a hop", "ring/hop/8B", 1000),
        Line("gather by wildcards, a message", "ring/gather_any/8B", 1000),
        Line("processor time of a rank that waits", "idle/waiting_rank", 2)]
STENCIL = [Line("uneven stencil, 8 KiB: share of perfect", "stencil/share/8KiB", n) for n in (2, 16)]
MPI_STENCIL = [Line("uneven stencil, 8 KiB: share of perfect" + how, "stencil/share/8KiB", 16, suffix)
               for how, suffix in (("", ""), (", three lines of weft/loop.h", "-tasks"))]
PROCESSES = (by_size("{} one way", "p2p/one_way/{}", ("8B",)) + [Line("barrier", "collectives/barrier", 2)]
             + [Line(f"{text}, 64 KiB", f"collectives/{name}/64KiB", 2)
                for text, name in (("all-reduce", "allreduce"), ("broadcast, rotating root", "bcast"), ("all-to-all", "alltoall"))])
WINDOWS = [Line(text, f"windows/{name}", ranks) for text, name, ranks in (
    ("8 B put and flush", "put_flush/8B", 2), ("64 KiB put and flush", "put_flush/64KiB", 2), ("8 B get and flush", "get_flush/8B", 2),
    ("fetch_and_op and flush", "fetch_and_op/8B", 2), ("lock and unlock", "lock_unlock", 2), ("post, start, complete, wait", "pscw", 2),
    *((text, name, ranks) for ranks in (2, 16) for text, name in (
        ("accumulate of 1,000 doubles by all on one", "accumulate/1000_doubles"), ("lock and unlock of one target by all", "lock_unlock/contended"),
        ("fence", "fence"))))]
FILES = [Line(f"{text}, {where}", f"files/{name}/{where}", ranks) for ranks in (2, 16) for where in ("memory", "disk")
         for text, name in (("collective write", "collective_write"), ("collective read", "collective_read"), ("strided read", "strided_read"))]
PARTITIONED = [Line(f"{comm_table.spaced(size)}, {text}", f"partitioned/{name}/{size}", 2) for size in ("8KiB", "64KiB", "1MiB")
               for text, name in (("one persistent message", "persistent"), ("64 parts", "64"))]
SESSIONS = [Line("a session", "sessions/begin_end", 2), Line("a session with a communicator of all ranks", "sessions/cycle", 2),
            Line("a communicator of the living", "sessions/shrink", 1000)]
METG = [Line(f"{pattern}, {columns} column{'s' if columns > 1 else ''} a rank", f"metg/{pattern}/{columns}c", ranks)
        for ranks, columns in ((2, 1), (2, 8), (16, 1)) for pattern in ("stencil_1d", "all_to_all")]
SHMEM = ([Line(text, f"shmem/{name}/8B", 2) for text, name in (
             ("put and quiet, 8 B", "put_quiet"), ("put ping-pong, 8 B", "ping_pong"), ("puts, 8 B", "put"), ("get, 8 B", "get"),
             ("fetch-add", "fetch_add"), ("sum of 8 B", "sum"), ("active message, 8 B", "am"))]
         + [Line("barrier_all", "shmem/barrier", 2), Line("barrier_all", "shmem/barrier", 16)])
MD = [Line("an atom and step", "md/atom_step/full", 1), Line("an atom and step", "md/atom_step/full", 2),
      Line("an atom and step, with voids", "md/atom_step/voids", 2)]
MANY = [Line("from start to end", "many/start_to_end", 10000), Line("memory", "many/memory", 10000),
        Line("all-gather of 4 B", "many/allgather/4B", 10000)] + [
       Line(f"MPI program {of}: from start to end", f"images/start_to_end/{kind}", 256)
       for of, kind in (("in C", "c"), ("with a library of its own", "library"), ("in Fortran", "fortran"))]

OF_RANKS = (("weft", "weft"), *MPI)  # README.md has these columns, too.

# The title, the columns as (heading, peer), weft's own the first, and the lines.
SECTIONS = [
    ("Unmodified MPI programs", (("weft", "weft-mpi"), *MPI), ONE_WAY + FEW + CROWDED + MPI_STENCIL),
    ("Windows of unmodified MPI programs", (("weft", "weft-mpi"), ("weft, two processes", "weft-mpi-processes"), *MPI), WINDOWS),
    ("Files of unmodified MPI programs: 1 MiB of each rank in blocks of 8 KiB between those of the others",
     (("weft", "weft-mpi"), *MPI), FILES),
    ("A face of a stencil that two ranks exchange", (("weft", "weft-mpi"), *MPI), PARTITIONED),
    ("Sessions", (("weft", "weft-mpi"), ("MPICH", "mpich")), SESSIONS),
    ("Ranks beside MPI", OF_RANKS, ONE_WAY[:1] + ONE_WAY[-1:] + FEW[:2] + CROWDED[:1] + CROWDED[-1:] + RING + STENCIL),
    ("Ranks in two processes", (("weft", "weft-processes"), *MPI), PROCESSES),
    ("OpenSHMEM in one process", (("weft", "weft-shmem"), ("Open MPI's oshmem", "oshmem")), SHMEM),
    ("METG(50 %)", (("weft", "weft"), ("weft's MPI", "weft-mpi"), *MPI), METG),
    ("Many ranks", (("weft", "weft"),), MANY),
    ("Molecular dynamics", (("weft", "weft"), ("weft, tasks off", "weft-no-tasks"), ("LAMMPS", "lammps")), MD),
]
COUNTS_WORDS = """## Work per operation as workers grow

Counted by bench/scale_counts.py, not timed: instructions outside of waiting; lines of the cache that move between workers. 2 to 128 workers of one rank
each, all of which have sent to each other. Of collectives: the rank in the middle, to the one with most. A send is the same
for any number, a receive from a named rank and a stealing probe (of one victim, at random) within 4 instructions. A worker that has nothing
looks into each mailbox that others have opened to it, 17 instructions a mailbox, and no line while that is empty: with it grow a receive from any source, a probe that finds nothing and a
collective's waits. In a collective up to 8 workers each read the dropboxes of all; more form a tree of width 8: most read one line and the
root's, an inner rank 8 a level. Instructions of collectives are upper bounds: a pass of a wait in which a line came counts as work. A small
broadcast has one writer. The start of a rank is its share of a job of one worker, from begin to end.
"""
# README.md has one table of ranks and MPI.
FIRST = (by_size("2 ranks on 2 cores: {} one way", "p2p/one_way/{}", ("8B",))
         + by_size("{} in windows of 64, a message", "p2p/window64/{}", ("8B",))
         + by_size("{} one way, just written", "p2p/one_way/{}/fresh", ("1MiB",))
         + [Line("barrier", "collectives/barrier", 2), Line("16 ranks on 2 cores: barrier", "collectives/barrier", 16),
            Line("all pairs at once, 8 B one way", "p2p/all_pairs/8B/across", 16),
            Line("10,000 ranks, from start to end", "many/start_to_end", 10000),
            Line("uneven stencil, 8 KiB: share of perfect", "stencil/share/8KiB", 2)])
# Between two processes: the rows that most programs feel.
COMM = ("am/8B", "am/1KiB", "am/16KiB", "am/1MiB", "rate/8B", "put/8B")


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
            table.append([line.text, str(line.ranks), "near" if of_run.is_near(cells[0]) else "far"]
                         + [measured(float(c["median"]), c["unit"]) if c else "–" for c in cells])
    return markdown(["", "ranks", "cores", *(heading for heading, _ in columns)], table) if table else []


def limits(rows):
    """How many limits are met, and each that is not; those that are met need no line."""
    results = targets.judged(rows)
    if not results:
        return []
    value = lambda figure, unit: "–" if figure is None else measured(figure, unit)
    table = [[t.text, value(t.figure, t.unit), value(t.limit, t.unit), f"**{t.verdict()}**"] for t in results
             if t.verdict() in ("missed", "not resolved")]
    return [targets.summary(results) + ".", *(["", *markdown(["", "figure", "limit", ""], table)] if table else [])]


def processes(rows):
    """(title, table) of each transport between two processes."""
    for transport in comm_table.PEERS:
        peers, lines = comm_table.medians(rows, transport)
        lines = [(name, of_row) for name, of_row in lines if name in COMM]
        peers = [peer for peer in peers if any(peer in of_row for _, of_row in lines)]
        if lines:
            yield (f"The communication core between two processes, {transport}", markdown(["", *peers], [
                [", ".join(map(comm_table.spaced, name.split("/"))), *(measured(of_row[p], "ns") if p in of_row else "–" for p in peers)]
                for name, of_row in lines]))


def page(rows):
    run = of_run.Run(rows)
    parts = [("Against the limits that were set", limits(rows)),
             *((title, beside(run, columns, lines)) for title, columns, lines in SECTIONS), *processes(rows)]
    return "\n\n".join(f"## {title}\n\n" + "\n".join(table) for title, table in parts if table)


def counts(rows):
    """The table of bench/scale_counts.py's rows: an operation a line, a number of workers a column."""
    workers = sorted({int(row["workers"]) for row in rows})
    cells = {}
    for row in rows:
        steps, most = f"{int(row['instructions']):,}", f"{int(row['instructions_max']):,}"
        lines, most_lines = (f"{float(row[name] or 0):.0f}" for name in ("lines", "lines_max"))
        steps, lines = (value if value == largest else f"{value} to {largest}" for value, largest in ((steps, most), (lines, most_lines)))
        # Of a start lines are not counted.
        cells.setdefault(row["operation"], {})[int(row["workers"])] = f"{steps}; {lines}" if row["lines"] else steps
    return markdown(["", *map(str, workers)], [[name, *(of.get(n, "–") for n in workers)] for name, of in cells.items()])


def when(rows):
    """Of which commit rows are, and what the machine did meanwhile."""
    return f"Measured at {', '.join(sorted({row['commit'] for row in rows}))}: {targets.circumstances(rows)}."


def whole_page(introduction, rows):
    """The text of docs/figures.md: its introduction, written by hand, and what these rows give."""
    head, mark, _ = introduction.partition(MARK)
    if not mark:
        raise ValueError(f"no line '{MARK}'")
    text = f"{head}{mark}\n\n{when(rows)}\n\n{page(rows)}\n"
    if COUNTS.exists():
        text += f"\n{COUNTS_WORDS}\n" + "\n".join(counts(list(csv.DictReader(COUNTS.read_text().splitlines())))) + "\n"
    if (lines := text.count("\n")) > LINES_MAX:
        raise ValueError(f"{lines} lines, of at most {LINES_MAX}: a table must go or get shorter")
    return text


def whole_readme(text, rows):
    """The text of README.md with the table that these rows give."""
    begin, end = README_MARKS
    head, first, rest = text.partition(begin)
    _, last, tail = rest.partition(end)
    if not (first and last):
        raise ValueError(f"no lines '{begin}' and '{end}'")
    table = "\n".join(beside(of_run.Run(rows), OF_RANKS, FIRST))
    return f"{head}{begin}\n{when(rows)}\n\n{table}\n{end}{tail}"


def refusal(rows):
    """Why rows may not be stored, or None."""
    if (others := of_run.not_compared(rows)) > OTHERS_MAX * len(rows):
        return f"{others} of {len(rows)} rows are of another pace than their group, of at most {OTHERS_MAX:.0%}: measure again"
    if (load := max(float(row.get("load_before") or "inf") for row in rows)) > LOAD_MAX:
        return f"the load was {load} before the start, of at most {LOAD_MAX}: measure when nothing else runs"
    return None


def store(rows, path=STORED):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="*", type=Path, help="what bench/run.py wrote")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--store", action="store_true", help="keep the rows as docs/figures.csv, write docs/figures.md and README.md anew")
    how.add_argument("--write", action="store_true", help="write docs/figures.md and README.md anew from docs/figures.csv")
    how.add_argument("--check", action="store_true", help="fail where they are not what docs/figures.csv gives")
    args = parser.parse_args()
    found = of_run.read([STORED] if args.write or args.check else args.csv)
    if not page(found):
        sys.exit("page: no rows that a table has; name the CSVs that bench/run.py wrote, for example out/bench/all.csv")
    if not (args.store or args.write or args.check):
        print(page(found))
        print(f"\n{targets.circumstances(found)}")
        return
    if args.store and (why := refusal(found)):
        sys.exit(f"page: {why}")
    for path, written in ((PAGE, whole_page), (README, whole_readme)):
        try:
            text = written(path.read_text(), found)
        except ValueError as problem:
            sys.exit(f"page: {path.name}: {problem}")
        if args.check and text != path.read_text():
            sys.exit(f"page: {path.relative_to(ROOT)} is not what docs/figures.csv gives; bench/page.py --write makes it so")
        if not args.check:
            path.write_text(text)
    if args.store:
        store(found)


if __name__ == "__main__":
    main()
