#!/usr/bin/python3
"""The figures that weft must reach, each computed from the rows of one run.

    bench/targets.py out/bench/all.csv         or the CSVs of single benchmarks
"""
import bisect
import csv
import sys

RIVALS = ("mpich", "openmpi")


PACE_RATIO_MAX = 2.5  # Of two-line bounces whose figures may be compared.


def at_one_pace(rows):
    """The rows of the pace that most have, the faster of two: a virtual machine's cores move, and figures with them."""
    paces = sorted(float(r["bounce"]) for r in rows)
    rows_with = lambda pace: bisect.bisect_right(paces, PACE_RATIO_MAX * pace) - bisect.bisect_left(paces, pace)
    fastest = max(paces, key=rows_with)
    return [r for r in rows if fastest <= float(r["bounce"]) <= PACE_RATIO_MAX * fastest]


class Rows:
    def __init__(self, rows):
        self.rows = {(r["name"], r["peer"], int(r["ranks"]), int(r["workers"])): r for r in at_one_pace(rows)}

    def get(self, name, peer="weft", ranks=2, workers=None):
        """Median of a row, or None; any number of workers unless one is asked for."""
        for (n, p, k, w), row in self.rows.items():
            if (n, p, k) == (name, peer, ranks) and workers in (None, w):
                return float(row["median"])
        return None

    def least(self, name, *peers):
        """The least median of those peers whose names begin with one of these words, or None."""
        return min((float(row["median"]) for (n, p, _, _), row in self.rows.items()
                    if n == name and p.startswith(peers)), default=None)

    def best(self, name, ranks=2):
        """The better MPI's median, or None."""
        found = [v for v in (self.get(name, peer, ranks) for peer in RIVALS) if v is not None]
        return min(found, default=None)


def times(factor, value):
    return None if value is None else factor * value


def targets(rows):
    """Yields (text, figure, limit, unit, least): met when figure <= limit, or >= for least."""
    get, best = rows.get, rows.best

    def ratio(text, name, factor):
        return f"{text} <= {factor} x the better MPI", get(name), times(factor, best(name)), "ns", False

    def at_most(text, figure, limit, unit):
        return f"{text} <= {limit:g} {unit}", figure, limit, unit, False

    shm, tcp, least = (lambda name: get(name, "weft-shm")), (lambda name: get(name, "weft-ofi")), rows.least
    small, copied = shm("comm/am/64B"), get("limits/copy/8KiB/one_copier", "hardware")
    yield at_most("processes: 8 B am one way", shm("comm/am/8B"), 250, "ns")
    yield "processes: 8 B am <= UCX", shm("comm/am/8B"), least("comm/am/8B", "ucx"), "ns", False
    am_rate = shm("comm/rate/8B")
    yield "processes: >= 10 M am/s", times(1e3, am_rate and 1 / am_rate), 10, "M/s", True
    for size in (128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192):
        limit = small and copied and 1.5 * (small + size * copied / 8192)
        name = f"{size}B" if size < 1024 else f"{size >> 10}KiB"
        yield f"processes: {name} am <= 1.5 x (64 B + copying)", shm(f"comm/am/{name}"), limit, "ns", False
    yield ("processes: 64 KiB am <= the better of libfabric shm and UCX with cma", shm("comm/am/64KiB"),
           least("comm/am/64KiB", "libfabric-shm", "ucx-posix+cma"), "ns", False)
    yield ("processes: 1 MiB get <= the readv probe / 0.95", shm("comm/get/1MiB"),
           times(1 / 0.95, get("limits/process_vm_readv/1MiB", "hardware", 1)), "ns", False)
    for size, factor in (("8B", 1.1), ("16KiB", 1.3)):
        yield (f"tcp: {size} am <= {factor} x fi_pingpong of the same provider", tcp(f"comm/am/{size}"),
               times(factor, least(f"comm/am/{size}", "libfabric-net")), "ns", False)
    yield "tcp: 64 KiB am <= 3 x 16 KiB am", tcp("comm/am/64KiB"), times(3, tcp("comm/am/16KiB")), "ns", False
    between = "weft-processes"
    yield ("rank to rank between processes <= 1.3 x an am", get("p2p/one_way/8B", between),
           times(1.3, shm("comm/am/8B")), "ns", False)
    yield ("2 x 8 ranks: barrier between processes <= 3 x an am", get("collectives/barrier", between, 16),
           times(3, shm("comm/am/8B")), "ns", False)
    for processes in (2, 4):
        for name in ("allreduce/64KiB", "allreduce/1MiB", "bcast/64KiB", "bcast/1MiB", "alltoall/64KiB",
                     "alltoall/1MiB"):
            yield (f"{processes} processes: {name} <= the better MPI",
                   get(f"collectives/{name}", between if processes == 2 else f"weft-{processes}-processes", processes),
                   best(f"collectives/{name}", processes), "ns", False)
    one = get("comm/self/one_thread", "weft", 1, 1)
    yield ("two threads, a device each: time per message <= one thread's / 1.8",
           get("comm/self/two_threads/device_each", "weft", 1, 2), times(1 / 1.8, one), "ns", False)
    yield ("two threads on one device: time per message <= one thread's there / 0.9",
           get("comm/self/two_threads/one_device", "weft", 1, 2),
           times(1 / 0.9, get("comm/self/one_thread/shared", "weft", 1, 1)), "ns", False)
    yield ("8 B one way <= 1.3 x two-line bounce", get("p2p/one_way/8B"),
           times(1.3, get("limits/bounce/two_lines", "hardware")), "ns", False)
    yield at_most("shm: 8 B one way", shm("transport/one_way/8B"), 250, "ns")
    yield ("shm: 8 B one way <= UCX", shm("transport/one_way/8B"), least("transport/one_way/8B", "ucx"), "ns", False)
    rate = shm("transport/stream/8B")
    yield "shm: 8 B in a row >= 10 M/s", times(1e3, rate and 1 / rate), 10, "M/s", True
    small, copied = shm("transport/one_way/64B"), get("limits/copy/8KiB/one_copier", "hardware")
    for size in (128, 256, 512, 1024, 2048, 4096, 8192):
        name = f"{size}B" if size < 1024 else f"{size >> 10}KiB"
        limit = small and copied and 1.5 * (small + size * copied / 8192)
        yield f"shm: {name} one way <= 1.5 x (64 B + copying)", shm(f"transport/one_way/{name}"), limit, "ns", False
    probe = get("limits/process_vm_readv/1MiB", "hardware", 1)
    yield ("shm: 1 MiB by get <= the readv probe / 0.95", shm("transport/get/1MiB"),
           times(1 / 0.95, probe), "ns", False)
    yield at_most("shm: idle poll, 16 peers", get("transport/idle_poll/16", "weft-shm", 1), 20, "ns")
    yield ratio("8 B one way", "p2p/one_way/8B", 0.65)
    yield ratio("8 KiB one way", "p2p/one_way/8KiB", 0.7)
    yield ratio("64 KiB one way", "p2p/one_way/64KiB", 0.4)
    yield ratio("1 MiB one way", "p2p/one_way/1MiB", 0.4)
    yield at_most("two ranks on one worker, 8 B one way", get("p2p/one_way/8B/same_core"), 25, "ns")
    rate = get("p2p/window64/8B")
    yield "8 B in windows of 64 >= 40 M/s", times(1e3, rate and 1 / rate), 40, "M/s", True
    yield ratio("1 MiB in windows of 64", "p2p/window64/1MiB", 0.5)
    yield ratio("2 ranks: barrier", "collectives/barrier", 0.65)
    yield ("2 ranks: barrier <= OpenMP's", get("collectives/barrier"),
           get("collectives/barrier", "openmp"), "ns", False)
    yield ratio("2 ranks: all-reduce 8 B", "collectives/allreduce/8B", 0.65)
    yield ratio("2 ranks: broadcast 8 B, rotating root", "collectives/bcast/8B", 0.65)
    yield ratio("2 ranks: all-reduce 64 KiB", "collectives/allreduce/64KiB", 0.45)
    yield ratio("2 ranks: all-reduce 1 MiB", "collectives/allreduce/1MiB", 0.45)
    yield at_most("16 ranks: ring hop", get("ring/hop/8B", ranks=16), 60, "ns")
    yield at_most("16 ranks: barrier", get("collectives/barrier", ranks=16), 1500, "ns")
    yield at_most("16 ranks: all-reduce 8 B", get("collectives/allreduce/8B", ranks=16), 2000, "ns")
    yield at_most("16 ranks: all-to-all 8 B", get("collectives/alltoall/8B", ranks=16), 5000, "ns")
    yield at_most("16 ranks: all pairs, 8 B one way", get("p2p/all_pairs/8B/across", ranks=16), 400, "ns")
    yield at_most("1,000 ranks: ring hop", get("ring/hop/8B", ranks=1000), 150, "ns")
    yield at_most("1,000 ranks: gather by wildcard, a message", get("ring/gather_any/8B", ranks=1000), 100, "ns")
    yield ("wildcard receive among 9,998 idle ranks <= 1.2 x among 14", get("ring/any_of_idle/8B", ranks=10000),
           times(1.2, get("ring/any_of_idle/8B", ranks=16)), "ns", False)
    yield at_most("10,000 ranks from start to end", get("many/start_to_end", ranks=10000), 2, "s")
    yield at_most("10,000 ranks: memory", get("many/memory", ranks=10000), 2048, "MiB")
    for kind in ("c", "library", "fortran"):
        yield at_most(f"images, {kind}: 256 ranks from start to end",
                      get(f"images/start_to_end/{kind}", ranks=256), 0.2, "s")
        few, many, own = (get(f"images/{what}/{kind}", ranks=n)
                          for what, n in (("memory", 2), ("memory", 256), ("segments", 256)))
        yield (f"images, {kind}: memory of a further rank, beyond its writable segments",
               few and many and own and (many - few) / 254 - own, 128, "KiB", False)
    for size in ("8KiB", "64KiB"):
        for n in (2, 3, 4, 8, 16):
            yield (f"stencil {size}, {n} ranks: share of perfect >= 95 %",
                   get(f"stencil/share/{size}", ranks=n), 95, "%", True)
    yield at_most("loop of 64 empty chunks, no thief", get("loop/empty64/no_thief", ranks=1), 600, "ns")
    yield at_most("loop of 64 empty chunks, one thief", get("loop/empty64/thief"), 2000, "ns")
    tasks, alone = (get("md/atom_step/voids", peer) for peer in ("weft", "weft-no-tasks"))
    yield "md with voids: speed-up by stealing >= 1.5", alone and tasks and alone / tasks, 1.5, "x", True
    tasks, alone = (get("md/atom_step/full", peer) for peer in ("weft", "weft-no-tasks"))
    yield "md balanced: cost of tasks < 2 %", alone and tasks and 100 * (tasks / alone - 1), 2, "%", False
    yield ("md on one rank <= 2 x LAMMPS, atom and step", get("md/atom_step/full", ranks=1),
           times(2, get("md/atom_step/full", "lammps", ranks=1)), "ns", False)
    yield at_most("a waiting rank", get("idle/waiting_rank"), 2, "%")
    for peer, what in ((between, "shm"), (between + "-tcp", "tcp")):
        yield at_most(f"two processes that wait, joined by {what}, of a core", get("idle/job", peer, 4), 2, "%")
    # The ranks back end beside the code of Task Bench over the better MPI.
    for pattern, columns, ranks, factor in (("stencil_1d", 1, 2, 0.65), ("nearest", 1, 2, 0.65),
                                            ("all_to_all", 1, 2, 0.65), ("stencil_1d", 8, 2, 0.75),
                                            ("nearest", 8, 2, 0.6), ("all_to_all", 8, 2, 0.4),
                                            ("stencil_1d", 1, 16, 1 / 8), ("nearest", 1, 16, 1 / 8),
                                            ("all_to_all", 1, 16, 1 / 8)):
        name = f"metg/{pattern}/{columns}c"
        yield (f"METG(50 %) {pattern}, {ranks} ranks, {columns} columns each <= {factor:.3g} x the better MPI",
               get(name, ranks=ranks), times(factor, best(name, ranks)), "us", False)
    even, uneven = (get(f"metg/efficiency/stencil_1d/8c{kernel}/9.5us", "weft-tasks") for kernel in ("", "/imbalance"))
    yield ("imbalanced tasks: ranks with loop tasks keep >= 97 % of their efficiency",
           even and uneven and 100 * uneven / even, 97, "%", True)
    yield from mpi_targets(rows)


def mpi_targets(rows):
    """Unmodified MPI programs over weft's MPI beside both rivals, in the same run."""
    own = lambda name, ranks: rows.get(name, "weft-mpi", ranks)
    for name, what, ranks, factor in (
            ("p2p/one_way/8B", "8 B one way", 2, 0.7), ("p2p/window64/8B", "8 B in windows of 64", 2, 0.5),
            ("p2p/one_way/64KiB", "64 KiB one way", 2, 0.45), ("p2p/one_way/1MiB", "1 MiB one way", 2, 0.45),
            ("collectives/barrier", "barrier", 2, 0.65), ("collectives/allreduce/8B", "all-reduce 8 B", 2, 0.65),
            ("p2p/all_pairs/8B/across", "all pairs, 8 B one way", 16, 1 / 20), ("collectives/barrier", "barrier", 16, 1 / 20),
            ("collectives/allreduce/8B", "all-reduce 8 B", 16, 1 / 20), ("collectives/alltoall/8B", "all-to-all 8 B", 16, 1 / 12),
            ("collectives/allreduce/64KiB", "all-reduce 64 KiB", 16, 1 / 2.5),
            ("collectives/alltoall/64KiB", "all-to-all 64 KiB", 16, 1 / 2.5)):
        yield (f"MPI, {ranks} ranks: {what} <= {factor:.3g} x the better MPI", own(name, ranks),
               times(factor, rows.best(name, ranks)), "ns", False)
    for size in ("8KiB", "64KiB"):
        yield f"MPI, 16 ranks: stencil {size} unmodified: share of perfect >= 93 %", own(f"stencil/share/{size}", 16), 93, "%", True
        yield (f"MPI, 16 ranks: stencil {size} with three lines of weft/task.h >= 97 %",
               rows.get(f"stencil/share/{size}", "weft-mpi-tasks", 16), 97, "%", True)
    for what, name in (("ping-pong", "face/ping_pong/8B"), ("windows of 64", "face/window64/8B")):
        for workers in (1, 2):
            rank, mpi = rows.get(name, "weft", 2, workers), rows.get(name, "weft-mpi", 2, workers)
            yield (f"MPI: a call of {what}, {workers} worker(s), costs <= 10 ns more than that of a rank",
                   rank and mpi and mpi - rank, 10, "ns", False)
    for name in ("one_way/column/8KiB", "one_way/members/28KiB", "one_way/face_x/32KiB", "one_way/face_y/32KiB",
                 "one_way/face_z/32KiB", "halo/64^3"):
        for peer, whose in (("weft", "a layout of a rank"), ("weft-mpi", "a derived datatype")):
            figure = rows.get(f"datatypes/{name}", peer)
            yield f"{name}: {whose} <= the better MPI", figure, rows.best(f"datatypes/{name}"), "ns", False
            yield f"{name}: {whose} <= packing by hand", figure, rows.get(f"datatypes/{name}/packed", peer), "ns", False


def judged(rows):
    """Yields (text, figure, limit, unit, whether it is met) of the targets that were measured in this run."""
    for text, figure, limit, unit, least in targets(Rows(rows)):
        if figure is not None and limit is not None:
            yield text, figure, limit, unit, figure >= limit if least else figure <= limit


def circumstances(rows):
    """What the machine did meanwhile."""
    loads = [float(r["load"]) for r in rows]
    priorities = ", ".join(sorted({r["priority"] for r in rows}))
    paces = [float(r["bounce"]) for r in rows]
    other = len(rows) - len(at_one_pace(rows))
    return (f"load {min(loads):.2f} to {max(loads):.2f}; priority {priorities}; "
            f"two-line bounce {min(paces):.0f} to {max(paces):.0f} ns"
            + (f"; {other} of {len(rows)} rows are of another pace and not compared" if other else ""))


def table(rows):
    """The targets as text."""
    lines = [f"{'target':<82}{'figure':>12}{'limit':>12}  unit  met"]
    results = list(judged(rows))
    lines += [f"{text:<82}{figure:>12.4g}{limit:>12.4g}  {unit:<5} {'yes' if good else 'NO'}"
              for text, figure, limit, unit, good in results]
    lines.append(f"{sum(good for *_, good in results)} of {len(results)} met; {circumstances(rows)}")
    return "\n".join(lines)


if __name__ == "__main__":
    found = []
    for path in sys.argv[1:]:
        with open(path, newline="") as file:
            found += csv.DictReader(file)
    if not found:
        sys.exit("targets: name the CSVs that bench/run.py wrote, for example out/bench/all.csv")
    print(table(found))
