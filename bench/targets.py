#!/usr/bin/python3
"""The figures that weft must reach, each computed from the rows of one run.

    bench/targets.py out/bench/all.csv         or the CSVs of single benchmarks

A figure is the median of its repetitions, compared with that of rivals of its own group, which ran beside it. Where the least
of the repetitions of both would say something else, that is told too: it is what undisturbed programs take.
"""
import collections
import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import rows as of_run


@dataclasses.dataclass
class Target:
    text: str
    figure: float | None  # None: not measured; of the limit, that there is no rival.
    limit: float | None
    unit: str
    least: bool = False  # Met when the figure is not below the limit; otherwise when not above it.
    figures: tuple | None = None  # The least and the greatest that the rounds allow, where that is wider than the limit.

    def verdict(self):
        """met, missed, not measured, or not resolved: the rounds differ by more than the limit."""
        if self.figure is None or self.limit is None:
            return "not measured"
        met = {figure >= self.limit if self.least else figure <= self.limit for figure in self.figures or [self.figure]}
        return "not resolved" if len(met) > 1 else "met" if met.pop() else "missed"


WORKERS = of_run.WORKERS


def times(factor, value):
    return None if value is None else factor * value


def at_most(text, figure, limit, unit):
    return Target(f"{text} <= {limit:g} {unit}", figure, limit, unit)


def ratio(here, text, name, factor):
    return Target(f"{text} <= {factor} x the better MPI", here.get(name), times(factor, here.best(name)), "ns")


def rate(text, time, limit):
    """Of messages, from nanoseconds each."""
    return Target(f"{text} >= {limit} M/s", time and 1e3 / time, limit, "M/s", True)


def by_size(text, what, here, peer, prefix, workers, sizes):
    """No size may cost more than the copying of it and half as much again."""
    one_way = lambda size: here.get(f"{prefix}/{size}", peer, 2, workers)
    small, copied = one_way("64B"), here.get("limits/copy/8KiB/one_copier", "hardware")
    for size in sizes:
        name = f"{size}B" if size < 1024 else f"{size >> 10}KiB"
        limit = small and copied and 1.5 * (small + size * copied / 8192)
        yield Target(f"{text}: {name} {what} <= 1.5 x (64 B + copying)", one_way(name), limit, "ns")


def readv(here):
    """What 1 MiB may take when the kernel copies it between processes."""
    return times(1 / 0.95, here.get("limits/process_vm_readv/1MiB", "hardware", 1))


# Each of the following yields the targets of one group: `here` are its rows, `run` those of all groups.

def comm(here, run):
    shm = lambda name: here.get(name, "weft-shm", 2, 1)
    yield at_most("processes: 8 B am one way", shm("comm/am/8B"), 250, "ns")
    yield Target("processes: 8 B am <= UCX", shm("comm/am/8B"), here.least("comm/am/8B", "ucx"), "ns")
    yield rate("processes: ams", shm("comm/rate/8B"), 10)
    yield from by_size("processes", "am", here, "weft-shm", "comm/am", 1,
                       (128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192))
    yield Target("processes: 64 KiB am <= the better of libfabric shm and UCX with cma", shm("comm/am/64KiB"),
                 here.least("comm/am/64KiB", "libfabric-shm", "ucx-posix+cma"), "ns")
    for what, name in (("get", "get"), ("am", "am"), ("send and receive", "send_recv")):
        yield Target(f"processes: 1 MiB {what} <= the readv probe / 0.95", shm(f"comm/{name}/1MiB"), readv(here), "ns")
    yield Target("two threads, a device each: time per message <= one thread's / 1.8",
                 here.get("comm/self/two_threads/device_each", "weft", 1, 2),
                 times(1 / 1.8, here.get("comm/self/one_thread", "weft", 1)), "ns")
    yield Target("two threads on one device: time per message <= one thread's there / 0.9",
                 here.get("comm/self/two_threads/one_device", "weft", 1, 2),
                 times(1 / 0.9, here.get("comm/self/one_thread/shared", "weft", 1)), "ns")


def comm_tcp(here, run):
    tcp = lambda name: here.get(name, "weft-ofi", 2, 1)
    # libfabric has several providers of tcp: the best of those that were measured counts.
    for size, factor in (("8B", 1.1), ("16KiB", 1.3)):
        yield Target(f"tcp: {size} am <= {factor} x fi_pingpong over tcp", tcp(f"comm/am/{size}"),
                     times(factor, here.least(f"comm/am/{size}", "libfabric-net", "libfabric-tcp")), "ns")
    yield Target("tcp: 64 KiB am <= 3 x 16 KiB am", tcp("comm/am/64KiB"), times(3, tcp("comm/am/16KiB")), "ns")
    default, other = (next((ns for protocol in ("eager", "rendezvous") if (ns := tcp(f"comm/am/64KiB/{protocol}{which}"))), None)
                      for which in ("/default", ""))
    yield Target("tcp: 64 KiB am by the default's protocol <= 1.05 x the lesser of eager and rendezvous", default,
                 default and other and 1.05 * min(default, other), "ns")


def processes(here, run):
    am = here.get("comm/am/8B", "weft-shm", 2, 1)
    yield Target("rank to rank between processes <= 1.3 x an am", here.get("p2p/one_way/8B", "weft-processes", 2, 1),
                 times(1.3, am), "ns")
    yield Target("2 x 8 ranks: barrier between processes <= 3 x an am",
                 here.get("collectives/barrier", "weft-processes", 16, 1), times(3, am), "ns")
    for count, peer in ((2, "weft-processes"), (4, "weft-4-processes")):
        for name in ("allreduce/64KiB", "allreduce/1MiB", "bcast/64KiB", "bcast/1MiB", "alltoall/64KiB",
                     "alltoall/1MiB"):
            yield Target(f"{count} processes: {name} <= the better MPI", here.get(f"collectives/{name}", peer, count, 1),
                         here.best(f"collectives/{name}", count), "ns")


def transport(here, run):
    shm = lambda name: here.get(name, "weft-shm")
    yield at_most("shm: 8 B one way", shm("transport/one_way/8B"), 250, "ns")
    yield Target("shm: 8 B one way <= UCX", shm("transport/one_way/8B"), here.least("transport/one_way/8B", "ucx"), "ns")
    yield rate("shm: 8 B in a row", shm("transport/stream/8B"), 10)
    yield from by_size("shm", "one way", here, "weft-shm", "transport/one_way", 2,
                       (128, 256, 512, 1024, 2048, 4096, 8192))
    yield Target("shm: 1 MiB by get <= the readv probe / 0.95", shm("transport/get/1MiB"), readv(here), "ns")
    yield at_most("shm: idle poll, 16 peers", here.get("transport/idle_poll/16", "weft-shm", 1), 20, "ns")


def p2p(here, run):
    yield Target("8 B one way <= 1.3 x two-line bounce", here.get("p2p/one_way/8B"),
                 times(1.3, run["limits"].get("limits/bounce/two_lines", "hardware")), "ns")
    yield ratio(here, "8 B one way", "p2p/one_way/8B", 0.65)
    yield ratio(here, "8 KiB one way", "p2p/one_way/8KiB", 0.7)
    for size, name in (("64 KiB", "64KiB"), ("1 MiB", "1MiB")):
        yield ratio(here, f"{size} one way", f"p2p/one_way/{name}", 0.4)
        yield ratio(here, f"{size} one way, just written", f"p2p/one_way/{name}/fresh", 0.4)
    yield rate("8 B in windows of 64", here.get("p2p/window64/8B"), 40)
    yield ratio(here, "1 MiB in windows of 64", "p2p/window64/1MiB", 0.5)
    yield at_most("16 ranks: all pairs, 8 B one way", here.get("p2p/all_pairs/8B/across", ranks=16), 400, "ns")


def placement(here, run):
    yield at_most("two ranks on one worker, 8 B one way", here.get("p2p/one_way/8B/same_core", workers=1), 25, "ns")


def collectives(here, run):
    yield ratio(here, "2 ranks: barrier", "collectives/barrier", 0.65)
    yield Target("2 ranks: barrier <= OpenMP's", here.get("collectives/barrier"),
                 here.get("collectives/barrier", "openmp"), "ns")
    yield ratio(here, "2 ranks: all-reduce 8 B", "collectives/allreduce/8B", 0.65)
    yield ratio(here, "2 ranks: broadcast 8 B, rotating root", "collectives/bcast/8B", 0.65)
    for size, name in (("64 KiB", "64KiB"), ("1 MiB", "1MiB")):
        yield ratio(here, f"2 ranks: all-reduce {size}", f"collectives/allreduce/{name}", 0.45)
        yield ratio(here, f"2 ranks: all-reduce {size}, just written", f"collectives/allreduce/{name}/fresh", 0.45)
    yield at_most("16 ranks: barrier", here.get("collectives/barrier", ranks=16), 1500, "ns")
    yield at_most("16 ranks: all-reduce 8 B", here.get("collectives/allreduce/8B", ranks=16), 2000, "ns")
    yield at_most("16 ranks: all-to-all 8 B", here.get("collectives/alltoall/8B", ranks=16), 5000, "ns")


def ring(here, run):
    yield at_most("16 ranks: ring hop", here.get("ring/hop/8B", ranks=16), 60, "ns")
    yield at_most("1,000 ranks: ring hop", here.get("ring/hop/8B", ranks=1000), 150, "ns")
    yield at_most("1,000 ranks: gather by wildcard, a message", here.get("ring/gather_any/8B", ranks=1000), 100, "ns")
    yield Target("wildcard receive among 9,998 idle ranks <= 1.2 x among 14", here.get("ring/any_of_idle/8B", ranks=10000),
                 times(1.2, here.get("ring/any_of_idle/8B", ranks=16)), "ns")


def many(here, run):
    yield at_most("10,000 ranks from start to end", here.get("many/start_to_end", ranks=10000), 2, "s")
    yield at_most("10,000 ranks: memory", here.get("many/memory", ranks=10000), 2048, "MiB")
    yield at_most("10,000 ranks: all-gather of 4 B", here.get("many/allgather/4B", ranks=10000), 0.5, "s")


def images(here, run):
    for kind in ("c", "library", "fortran"):
        yield at_most(f"images, {kind}: 256 ranks from start to end",
                      here.get(f"images/start_to_end/{kind}", ranks=256), 0.2, "s")
        few, most, own = (here.get(f"images/{what}/{kind}", ranks=n)
                          for what, n in (("memory", 2), ("memory", 256), ("segments", 256)))
        yield Target(f"images, {kind}: memory of a further rank, beyond its writable segments",
                     few and most and own and (most - few) / 254 - own, 128, "KiB")


def stencil(here, run):
    for size in ("8KiB", "64KiB"):
        for n in (2, 3, 4, 8, 16):
            yield Target(f"stencil {size}, {n} ranks: share of perfect >= 95 %",
                         here.get(f"stencil/share/{size}", ranks=n), 95, "%", True)


def loop(here, run):
    # With one worker a loop is a plain call: "no thief" is a second worker that is busy.
    yield at_most("loop of 64 empty chunks, no thief", here.get("loop/empty64/busy"), 600, "ns")
    yield at_most("loop of 64 empty chunks, one thief", here.get("loop/empty64/thief"), 2000, "ns")


def md(here, run):
    full = [here.row("md/atom_step/full", peer) for peer in ("weft-no-tasks", "weft")]
    voids = [here.get("md/atom_step/voids", peer) for peer in ("weft-no-tasks", "weft")]
    allowed = here.get("md/allowed_speed_up/voids")
    yield Target("md with voids: speed-up by stealing >= 1.5" + (f" (the imbalance allows {allowed:.3g})" if allowed else ""),
                 None if None in voids else voids[0] / voids[1], 1.5, "x", True)
    cost, costs = None, None
    if None not in full:
        percent = lambda of_alone, of_tasks: 100 * (float(full[1][of_tasks]) / float(full[0][of_alone]) - 1)
        # The least of many rounds is what the code costs; of few, what others did meanwhile may be more than 2 %.
        cost = percent("min", "min")
        if min(int(row["repetitions"]) for row in full) < of_run.REPETITIONS_ENOUGH:
            costs = percent("p99", "min"), percent("min", "p99")
    yield Target("md balanced: cost of tasks < 2 %", cost, 2, "%", figures=costs)
    yield Target("md on one rank <= 2 x LAMMPS, atom and step", here.get("md/atom_step/full", ranks=1),
                 times(2, here.get("md/atom_step/full", "lammps", ranks=1)), "ns")


def idle(here, run):
    yield at_most("a waiting rank", here.get("idle/waiting_rank"), 2, "%")
    for peer, what in (("weft-processes", "shm"), ("weft-processes-tcp", "tcp")):
        yield at_most(f"two processes that wait, joined by {what}, of a core", here.get("idle/job", peer, 4, 1), 2, "%")


def waiting(here, run):
    """What the default costs over looking without an end, for waits of 5 us to 5 ms."""
    for what, text in (("stencil", "a step"), ("ping_pong", "half a round")):
        for wait in ("5us", "20us", "50us", "100us", "500us", "2ms", "5ms"):
            name = f"waiting/{what}/{wait}"
            yield Target(f"waits of {wait} in {text} <= 1.01 x looking without end", here.get(name),
                         times(1.01, here.get(name, "weft-looking")), "ns")


def polling(here, run):
    for n in (4, 8):
        for way in ("test", "testany", "iprobe", "improbe", "get_status"):
            yield at_most(f"{n} processes that poll on two cores: a message by {way}",
                          here.get(f"polling/message/{way}", "weft-mpi", n, 1), 10000, "ns")


def tasks(here, run):
    """Tasks beside oneTBB and, where that was found, Taskflow, on the same cores."""
    of = lambda name, peer="weft": here.get("task/" + name, peer, 1, WORKERS)
    for what, name in (("fib(32), a spawn per call", "fib/32"), ("a random graph of 10^6 tasks", "graph/1000000"),
                       ("nested loops", "nested_loops/1000x1000")):
        yield Target(f"tasks: {what} <= oneTBB", of(name), of(name, "tbb"), "ns")
        if of(name, "taskflow") is not None:  # It is in no package that ./dev installs.
            yield Target(f"tasks: {what} <= 1.3 x Taskflow", of(name), 1.3 * of(name, "taskflow"), "ns")
    yield at_most("tasks: spawn and join", of("spawn_join/0B"), 60, "ns")
    yield at_most("tasks: a future set until who waits for it on the same worker goes on",
                  here.get("task/future_set_to_waiter/8B", "weft", 1, 1), 30, "ns")


def metg_tasks(here, run):
    for pattern in ("stencil_1d", "nearest", "all_to_all"):
        name = f"metg/{pattern}/8c"
        yield Target(f"METG(50 %) {pattern}, 2 workers, 8 columns each: spawned tasks <= oneTBB",
                     here.get(name, "weft-spawn"), here.get(name, "tbb"), "us")


def metg(here, run):
    # The ranks back end beside the code of Task Bench over the better MPI.
    for pattern, columns, ranks, factor in (("stencil_1d", 1, 2, 0.65), ("nearest", 1, 2, 0.65),
                                            ("all_to_all", 1, 2, 0.65), ("stencil_1d", 8, 2, 0.75),
                                            ("nearest", 8, 2, 0.6), ("all_to_all", 8, 2, 0.4),
                                            ("stencil_1d", 1, 16, 1 / 8), ("nearest", 1, 16, 1 / 8),
                                            ("all_to_all", 1, 16, 1 / 8)):
        name = f"metg/{pattern}/{columns}c"
        yield Target(f"METG(50 %) {pattern}, {ranks} ranks, {columns} columns each <= {factor:.3g} x the better MPI",
                     here.get(name, ranks=ranks), times(factor, here.best(name, ranks)), "us")
    even, uneven = (here.get(f"metg/efficiency/stencil_1d/8c{kernel}/9.5us", "weft-tasks") for kernel in ("", "/imbalance"))
    yield Target("imbalanced tasks: ranks with loop tasks keep >= 97 % of their efficiency",
                 even and uneven and 100 * uneven / even, 97, "%", True)


def mpi(here, run):
    """Unmodified MPI programs over weft's MPI."""
    for name, what, ranks, factor in (
            ("p2p/one_way/8B", "8 B one way", 2, 0.7), ("p2p/window64/8B", "8 B in windows of 64", 2, 0.5),
            ("p2p/one_way/64KiB", "64 KiB one way", 2, 0.45),
            ("p2p/one_way/64KiB/fresh", "64 KiB one way, just written", 2, 0.45),
            ("p2p/one_way/1MiB", "1 MiB one way", 2, 0.45), ("p2p/one_way/1MiB/fresh", "1 MiB one way, just written", 2, 0.45),
            ("collectives/barrier", "barrier", 2, 0.65), ("collectives/allreduce/8B", "all-reduce 8 B", 2, 0.65),
            ("p2p/all_pairs/8B/across", "all pairs, 8 B one way", 16, 1 / 20), ("collectives/barrier", "barrier", 16, 1 / 20),
            ("collectives/allreduce/8B", "all-reduce 8 B", 16, 1 / 20), ("collectives/alltoall/8B", "all-to-all 8 B", 16, 1 / 12),
            ("collectives/allreduce/64KiB", "all-reduce 64 KiB", 16, 1 / 2.5),
            ("collectives/alltoall/64KiB", "all-to-all 64 KiB", 16, 1 / 2.5)):
        yield Target(f"MPI, {ranks} ranks: {what} <= {factor:.3g} x the better MPI", here.get(name, "weft-mpi", ranks),
                     times(factor, here.best(name, ranks)), "ns")
    for size in ("8KiB", "64KiB"):
        for peer, how, least in (("weft-mpi", "unmodified: share of perfect", 93),
                                 ("weft-mpi-tasks", "with three lines of weft/loop.h", 97)):
            yield Target(f"MPI, 16 ranks: stencil {size}, {how} >= {least} %", here.get(f"stencil/share/{size}", peer, 16), least,
                         "%", True)


def abi(here, run):
    """Programs that weftcxx has not linked beside the same one that it has; images of an executable of a plain compiler."""
    of = lambda name, peer="weft-mpi": here.get("abi/" + name, peer)
    for peer, by in (("weft-abi", "mpicxx_abi"), ("weft-of-mpich", "MPICH's mpicxx")):
        for name in ("Comm_rank", "Get_count"):
            own, other = of(f"call/{name}"), of(f"call/{name}", peer)
            yield at_most(f"{by}: a call of MPI_{name}, beyond that of weftcxx", own and other and other - own, 3, "ns")
        for size in ("8B", "64B", "512B", "1KiB", "4KiB", "8KiB", "16KiB", "64KiB", "256KiB", "1MiB"):
            yield Target(f"{by}: {size} one way <= 1.05 x weftcxx", of(f"one_way/{size}", peer), times(1.05, of(f"one_way/{size}")), "ns")
    yield at_most("64 images of an executable from start to end", here.get("images/start_to_end/abi", ranks=64), 0.1, "s")
    few, most, own = (here.get(f"images/{what}/abi", ranks=n) for what, n in (("memory", 2), ("memory", 64), ("segments", 64)))
    yield Target("memory of a further image, beyond its writable segments", few and most and own and (most - few) / 62 - own,
                 4096, "KiB")


def windows(here, run):
    """MPI's windows beside both MPIs, the barrier and the messages of ranks, and what the machine copies."""
    of = lambda name, ranks=2: here.get("windows/" + name, "weft-mpi", ranks)
    for name, what, limit in (("put_flush/8B", "8 B put and flush", 20), ("get_flush/8B", "8 B get and flush", 20),
                              ("fetch_and_op/8B", "fetch_and_op and flush", 25), ("lock_unlock", "lock and unlock", 40)):
        yield at_most(f"windows: {what}", of(name), limit, "ns")
        if name in ("put_flush/8B", "fetch_and_op/8B"):
            yield Target(f"windows, two processes: {what} <= 1.5 x that in one",
                         here.get("windows/" + name, "weft-mpi-processes", 2, 1), times(1.5, of(name)), "ns")
    yield Target("windows: fence <= 1.1 x the ranks' barrier", of("fence"), times(1.1, here.get("collectives/barrier")), "ns")
    yield Target("windows: a pair of post and start <= 2 x a message", of("pscw"), times(2, here.get("p2p/one_way/8B")), "ns")
    yield Target("windows: 64 KiB put and flush <= the machine's copy / 0.95", of("put_flush/64KiB"),
                 times(1 / 0.95, here.get("limits/copy/64KiB/alone", "hardware", 1)), "ns")
    for ranks, name, what, factor in ((2, "accumulate/1000_doubles", "accumulate of 1,000 doubles by all on one", 2),
                                      (16, "accumulate/1000_doubles", "accumulate of 1,000 doubles by all on one", 10),
                                      (16, "lock_unlock/contended", "contended lock", 20), (16, "fence", "fence", 20)):
        yield Target(f"windows, {ranks} ranks: {what} <= 1/{factor} of the better MPI", of(name, ranks),
                     times(1 / factor, here.best("windows/" + name, ranks)), "ns")


def files(here, run):
    for ranks in (2, 16):
        for where in ("memory", "disk"):
            for what, factor in (("collective_write", 1.5), ("collective_read", 1.5), ("strided_read", 1)):
                name = f"files/{what}/{where}"
                yield Target(f"files, {ranks} ranks, {where}: {what.replace('_', ' ')} <= 1/{factor:g} of the better MPI",
                             here.get(name, "weft-mpi", ranks), times(1 / factor, here.best(name, ranks)), "ns")


def partitioned(here, run):
    for size in ("8KiB", "64KiB", "1MiB"):
        yield Target(f"partitioned messages: a face of {size} in 64 parts <= 1/1.3 of the better MPI's persistent message",
                     here.get(f"partitioned/64/{size}", "weft-mpi"), times(1 / 1.3, here.best(f"partitioned/persistent/{size}")), "ns")


def sessions(here, run):
    yield at_most("sessions: a cycle with a communicator of all", here.get("sessions/cycle", "weft-mpi"), 50_000, "ns")
    yield at_most("1,000 ranks: a communicator of the living", here.get("sessions/shrink", "weft-mpi", 1000), 50_000_000, "ns")


def face(here, run):
    for what, name in (("ping-pong", "face/ping_pong_call/8B"), ("windows of 64", "face/window64_call/8B")):
        for workers in (1, 2):
            rank, of_mpi = (here.get(name, peer, 2, workers) for peer in ("weft", "weft-mpi"))
            yield Target(f"MPI: a call of {what}, {workers} worker(s), costs <= 10 ns more than that of a rank",
                         rank and of_mpi and of_mpi - rank, 10, "ns")


def datatypes(here, run):
    for name in ("one_way/column/8KiB", "one_way/members/28KiB", "one_way/face_x/32KiB", "one_way/face_y/32KiB",
                 "one_way/face_z/32KiB", "halo/64^3"):
        for peer, whose in (("weft", "a layout of a rank"), ("weft-mpi", "a derived datatype")):
            figure = here.get(f"datatypes/{name}", peer)
            yield Target(f"{name}: {whose} <= the better MPI", figure, here.best(f"datatypes/{name}"), "ns")
            yield Target(f"{name}: {whose} <= packing by hand", figure, here.get(f"datatypes/{name}/packed", peer), "ns")


def shmem(here, run):
    of = lambda name, peer="weft-shmem", workers=2: here.get("shmem/" + name, peer, 2, workers)
    two = "weft-shmem-processes"
    between = lambda name: of(name, two, 1)
    hardware = lambda name: here.get("limits/" + name, "hardware")
    flags, am = hardware("bounce/two_lines"), here.get("comm/am/8B", "weft-shm", 2, 1)
    for name, what, limit in (("put_quiet/8B", "a put and quiet", 15), ("get/8B", "a get", 12), ("fetch_add/8B", "fetch-add", 12)):
        yield at_most(f"OpenSHMEM: {what}, 8 B", of(name), limit, "ns")
        yield at_most(f"OpenSHMEM, two processes: {what}, 8 B", between(name), 1.3 * limit, "ns")
    yield rate("OpenSHMEM: puts", of("put/8B"), 120)
    for where, suffix in (("the heap", ""), ("globals", "/static")):
        name = "ping_pong/8B" + suffix
        yield Target(f"OpenSHMEM: put ping-pong in {where} <= 1.05 x two lines that bounce", of(name), times(1.05, flags), "ns")
        yield Target(f"OpenSHMEM: put ping-pong in {where} <= Open MPI's in the heap", of(name), of("ping_pong/8B", "oshmem"), "ns")
    yield Target("OpenSHMEM, two processes: put ping-pong <= 1.3 x that in one", between("ping_pong/8B"),
                 times(1.3, of("ping_pong/8B")), "ns")
    yield Target("OpenSHMEM: 64 KiB put <= the machine's copy / 0.95", of("put/64KiB"),
                 times(1 / 0.95, here.get("limits/copy/64KiB/alone", "hardware", 1)), "ns")
    yield Target("OpenSHMEM: barrier_all <= 1.1 x the ranks' barrier", of("barrier"),
                 times(1.1, here.get("collectives/barrier")), "ns")
    yield Target("OpenSHMEM: sum of 8 B <= 1.2 x the ranks' all-reduce", of("sum/8B"),
                 times(1.2, here.get("collectives/allreduce/8B")), "ns")
    yield Target("OpenSHMEM: 8 B active message <= 1.3 x the put ping-pong", of("am/8B"), times(1.3, of("ping_pong/8B")), "ns")
    yield Target("OpenSHMEM, two processes: 8 B active message <= 1.3 x an am of the core", between("am/8B"), times(1.3, am), "ns")
    yield rate("OpenSHMEM: active messages", of("am_rate/8B"), 15)
    # Heaps of a node are mapped whatever the transport; globals are reached by messages.
    tcp = lambda name: of(name, "weft-shmem-processes-tcp", 1)
    yield Target("OpenSHMEM over tcp: put ping-pong <= 1.1 x an am of the core", tcp("ping_pong/8B/static"),
                 times(1.1, here.get("comm/am/8B", "weft-ofi", 2, 1)), "ns")
    yield rate("OpenSHMEM over tcp: puts", tcp("put/8B/static"), 2.5)
    yield Target("OpenSHMEM, 16 PEs: ping-pong of all pairs <= 1.3 x the ranks'", here.get("shmem/all_pairs/8B/across", "weft-shmem", 16),
                 times(1.3, here.get("p2p/all_pairs/8B/across", ranks=16)), "ns")
    yield Target("OpenSHMEM, 16 PEs: barrier_all <= 1.3 x the ranks' barrier", here.get("shmem/barrier", "weft-shmem", 16),
                 times(1.3, here.get("collectives/barrier", ranks=16)), "ns")


TARGETS = {"shmem": shmem, "comm": comm, "comm-tcp": comm_tcp, "processes": processes, "transport": transport, "p2p": p2p,
           "placement": placement, "collectives": collectives, "ring": ring, "many": many, "images": images,
           "stencil": stencil, "loop": loop, "md": md, "idle": idle, "polling": polling, "waiting": waiting, "metg": metg,
           "metg-tasks": metg_tasks, "tasks": tasks, "mpi": mpi, "face": face, "abi": abi,
           "datatypes": datatypes, "windows": windows, "files": files, "partitioned": partitioned,
           "sessions": sessions}


def judged(rows):
    """The targets of the groups that were run, met or not, measured or not."""
    run = of_run.Run(of_run.at_one_pace(rows) if rows else [])
    return [target for name, of in TARGETS.items() if name in run for target in of(run[name], run)]


def summary(results):
    """How many of the targets are met, and why others are not judged."""
    count = collections.Counter(target.verdict() for target in results)
    parts = [f"{count['met']} of {count['met'] + count['missed']} met"]
    return ", ".join(parts + [f"{count[why]} {why}" for why in ("not resolved", "not measured") if count[why]])


def circumstances(rows):
    """What the machine did meanwhile."""
    before, loads = [[float(r[column]) for r in rows if r.get(column)] for column in ("load_before", "load")]
    priorities = ", ".join(sorted({r["priority"] for r in rows}))
    bounces, instructions = zip(*map(of_run.pace, rows))
    other = of_run.not_compared(rows)
    return ((f"load {max(before):.2f} before the start, " if before else "load ") + f"{min(loads):.2f} to {max(loads):.2f} with the benchmarks; "
            f"priority {priorities}; "
            f"two-line bounce {min(bounces):.0f} to {max(bounces):.0f} ns; "
            f"1,000 instructions {min(instructions):.0f} to {max(instructions):.0f} ns"
            + (f"; {other} of {len(rows)} rows are of another pace than their group and not compared" if other else ""))


def table(rows):
    """The targets as text."""
    results = judged(rows)
    number = lambda value: f"{'-' if value is None else format(value, '.4g'):>12}"
    lines = [f"{'target':<90}{'figure':>12}{'limit':>12}  unit  "]
    for t, least in zip(results, judged(of_run.undisturbed(rows)), strict=True):
        said = t.verdict() + (" (rounds: {:.3g} to {:.3g})".format(*t.figures) if t.figures else "")
        if least.verdict() not in (t.verdict(), "not measured"):
            said += f"; by the least {least.figure:.4g} of {least.limit:.4g}: {least.verdict()}"
        lines.append(f"{t.text:<90}{number(t.figure)}{number(t.limit)}  {t.unit:<5} {said}")
    return "\n".join(lines + [f"{summary(results)}; {circumstances(rows)}"])


if __name__ == "__main__":
    if not (found := of_run.read(sys.argv[1:])):
        sys.exit("targets: name the CSVs that bench/run.py wrote, for example out/bench/all.csv")
    print(table(found))
