"""The rows of a run of the benchmarks, by the group that each was measured in.

A group is one name of bench/run.py, whose jobs ran one after the other: figures of one group may be compared.
Rivals are measured in several groups.
"""
import collections
import csv
import itertools
from pathlib import Path

RIVALS = ("mpich", "openmpi")
# The pace of the machine, measured between any two programs: columns of a row, each with what two may differ by
# whose figures are compared. How long two lines take from core to core and back, and how long the slower of two
# cores takes for 1,000 instructions.
Pace = collections.namedtuple("Pace", "row ratio")  # The row of `limits` that measures it.
PACES = {"bounce": Pace("bounce/two_lines", 2.5), "instructions": Pace("instructions", 1.25)}
NEAR_NS_MAX = 125  # Of the two-line bounce, between cores that share a cache; beyond, they are far from each other.
REPETITIONS_ENOUGH = 5  # For their least to tell what a program takes undisturbed.
WORKERS = 2  # Of all benchmarks unless run.py is told otherwise: limits are set for two cores.


def read(paths):
    """The rows of these CSVs. Those of earlier versions have no group: it is the name of the file."""
    found = []
    for path in paths:
        with open(path, newline="") as file:
            found += [{"group": Path(path).stem, **row} for row in csv.DictReader(file)]
    return found


def pace(row):
    """The pace in which a row was measured; of files that do not say it, the same."""
    return tuple(float(row.get(column, 1)) for column in PACES)


def at_one_pace(rows):
    """The rows of the pace that most have, the faster of two: a virtual machine's cores move, and figures with them.

    What the machine gives does not say at which pace: it is there for the other rows.
    """
    def is_within(measured, fastest):
        return all(least <= value <= of.ratio * least for value, least, of in zip(measured, fastest, PACES.values()))
    count = collections.Counter(map(pace, [r for r in rows if r.get("group") != "limits"] or rows))
    rows_from = lambda fastest: sum(n for measured, n in count.items() if is_within(measured, fastest))
    most = max(itertools.product(*(sorted(set(values)) for values in zip(*count))), key=rows_from)
    return [r for r in rows if is_within(pace(r), most)]


def by_group(rows):
    """The rows of each group by its name."""
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return groups


def not_compared(rows):
    """How many rows are of another pace than most of their group: they are compared with nothing."""
    return sum(len(mine) - len(at_one_pace(mine)) for mine in by_group(rows).values())


def is_near(row):
    """Whether a row was measured on cores near each other."""
    return pace(row)[0] <= NEAR_NS_MAX


def undisturbed(rows):
    """The rows with the least of the repetitions in place of their median, where they are of times: what a program took while
    others used its cores least. A repetition lasts milliseconds, in which others may use them still. Of few repetitions, as
    programs have that tell one mean, the least is hardly less: None, with which nothing is compared.
    """
    def least(row):
        return row["min"] if int(row["repetitions"]) >= REPETITIONS_ENOUGH else None
    return [row | {"median": least(row)} if row["unit"] in ("ns", "ns/call", "us", "s") else row for row in rows]


def key(row):
    return row["name"], row["peer"], int(row["ranks"]), int(row["workers"])


def one_of_each(rows):
    """Of rows with the same key, that of the group which the benchmark is named after; else the first."""
    chosen = {}
    for row in rows:
        if key(row) not in chosen or row["group"] == row["name"].split("/")[0]:
            chosen[key(row)] = row
    return list(chosen.values())


def least_of(rows):
    """The least median of rows, or None: there are none, or one of them has no median."""
    medians = [row["median"] for row in rows]
    return None if None in medians else min(map(float, medians), default=None)


class Group:
    """The rows of one group."""

    def __init__(self, rows):
        self.rows = {key(r): r for r in rows}

    def row(self, name, peer="weft", ranks=2, workers=None):
        """A row, or None; of two workers where there are as many ranks."""
        return self.rows.get((name, peer, ranks, workers or min(WORKERS, ranks)))

    def get(self, *which, **named):
        """The median of row(), or None."""
        row = self.row(*which, **named)
        return None if row is None or row["median"] is None else float(row["median"])

    def least(self, name, *peers):
        """The least median of those peers whose names begin with one of these words, or None."""
        return least_of(row for (n, p, *_), row in self.rows.items() if n == name and p.startswith(peers))

    def best(self, name, ranks=2, variant=""):
        """The better MPI's median, or None."""
        return least_of(row for row in (self.row(name, peer + variant, ranks) for peer in RIVALS) if row is not None)


class Run(dict):
    """The groups of a run by name, each with its rows of one pace; those that were not run have no rows.

    Two groups may be of different paces: only limits, which name figures of several, ask for one pace of all.
    """

    def __init__(self, rows):
        super().__init__({name: Group(at_one_pace(mine)) for name, mine in by_group(rows).items()})

    def __missing__(self, name):
        return Group([])
