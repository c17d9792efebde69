#!/usr/bin/python3
"""What the communication core and its rivals take between two processes, a table for each transport.

    bench/comm_table.py out/bench/comm*.csv
"""
import collections
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rows as of_run

# What each transport is compared with.
PEERS = {
    "shm": ("weft-shm", "ucx-sysv", "ucx-posix", "ucx-posix+cma", "libfabric-shm", "lci-shm", "lci-shm+ring", "mpich",
            "openmpi"),
    "tcp": ("weft-ofi", "weft-ofi-off", "weft-ofi-encrypt", "libfabric-net", "libfabric-tcp;ofi_rxm", "lci-net", "lci-tcp;ofi_rxm", "mpich-tcp",
            "openmpi-tcp"),
    "ofi-shm": ("weft-ofi-shm", "libfabric-shm"),
    "mpi": ("weft-mpi-mpich", "mpich", "weft-mpi-openmpi", "openmpi"),
}
ACTIONS = ("am", "send_recv", "rate", "put", "get", "completion", "between", "progress")


def size_in_bytes(text):
    """Of 8B, 64KiB, 1MiB; of what is no size, none."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)):
        if text.endswith(unit) and text.removesuffix(unit).isdigit():
            return int(text.removesuffix(unit)) * factor
    return 0


def spaced(size):
    """8B as 8 B; what is no size stays."""
    return re.sub(r"(?<=\d)(?=[KM]?i?B$)", " ", size)


def place(name):
    """Where the row stands in a table."""
    action, what = name.split("/")[:2]
    return ACTIONS.index(action), size_in_bytes(what)


def of_transport(rows, transport):
    """The rows of one transport and of what it is compared with; none when it was not measured itself."""
    mine = [r for r in rows if r["name"].startswith("comm/") and r["peer"] in PEERS[transport] and int(r["ranks"]) == 2]
    if not (own := collections.Counter(r["group"] for r in mine if r["peer"].startswith("weft"))):
        return []
    # Some rows were measured in several groups: all are of that which has most of weft's own.
    group = own.most_common(1)[0][0]
    return sorted((r for r in mine if r["group"] == group), key=lambda r: PEERS[transport].index(r["peer"]))


def medians(rows, transport):
    """(the peers that were measured, [(row's name, {peer: ns})]) of one transport."""
    found = {}
    for r in of_transport(rows, transport):
        found.setdefault(r["name"].removeprefix("comm/"), {})[r["peer"]] = float(r["median"])
    peers = [peer for peer in PEERS[transport] if any(peer in of_row for of_row in found.values())]
    return peers, sorted(found.items(), key=lambda each: place(each[0]))


def tables(rows):
    texts = []
    for transport in PEERS:
        columns, lines_of = medians(rows, transport)
        if not columns:
            continue
        lines = [f"Two processes joined by {transport}, medians in ns", f"{'':<34}" + "".join(f"{p:>23}" for p in columns)]
        lines += [f"{name:<34}" + "".join(f"{of_row[p]:>23.4g}" if p in of_row else f"{'-':>23}" for p in columns)
                  for name, of_row in lines_of]
        texts.append("\n".join(lines))
    return "\n\n".join(texts)


if __name__ == "__main__":
    if not (text := tables(of_run.read(sys.argv[1:]))):
        sys.exit("comm_table: no rows of the communication core; name the CSVs that bench/run.py wrote, for example "
                 "out/bench/comm.csv")
    print(text)
