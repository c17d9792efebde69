#!/usr/bin/python3
"""Run weft's benchmarks and their rivals interleaved, write CSV and plots, print the targets.

    bench/run.py [--build DIR] [NAME...]       NAME: see --list; none means all but the long ones
    bench/run.py parcel [--quick]              the study of parcelports, by itself; parcel --help says how
    bench/run.py octree [--quick]              its figures of an application, likewise
    bench/run.py pure [--quick]                the applications of the Pure paper, likewise

Every benchmark runs weft, MPICH and Open MPI (where installed) one after the other, and that ROUNDS
times, so that a neighbour or a slow minute meets all of them. Rows of several rounds are merged: least
minimum, median of medians, greatest p99. All run on two cores, for which the limits are set, unless
--workers says otherwise. Exit status 1 when a program failed; a missed target is a figure, not a failure.
"""
import argparse
import csv
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parcel"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "octree"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "pure"))
import comm_table
import metg_table
import octree_study
import plot
import pure_study
import rows as of_run
import study
import targets

ROOT = Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0))
wanted_workers = min(of_run.WORKERS, CORES)  # Of every job that does not say; what --workers sets.
ROUND_ATTEMPTS = 3
LAUNCHERS = {
    "mpich": ["mpiexec.hydra", "-bind-to", "none", "-n"],
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "-n"],
}

BY_NAME_ALONE = {"metg-am", "metg-patterns", "metg-curves"}  # They take as long as all others.
OWN_MPI = "weft-mpi"  # Programs of weftcxx from the sources that the rivals' wrappers compile.


class Job:
    """One run of one program. `program` is weft's name; a rival's is derived from it."""

    def __init__(self, program, peer="weft", ranks=2, workers=None, variant="", only="", seconds=None,
                 spin=True, cores=None, **settings):
        self.program, self.peer, self.ranks = program, peer, ranks
        self.workers = min(workers or wanted_workers, ranks)
        self.seconds, self.spin, self.cores = seconds, spin, cores
        self.settings = {"BENCH_ONLY": only, "BENCH_VARIANT": variant, **settings}

    def path(self, build):
        if self.peer in LAUNCHERS:
            return build / "bin" / f"bench-mpi-{self.program}-{self.peer}"
        if self.peer == OWN_MPI:
            return build / "bin" / f"bench-mpi-{self.program}-weft"
        return build / "bin" / f"bench-{self.program}"

    def missing(self, build):
        if not self.path(build).exists():
            return f"{self.path(build).name} is not built"
        if self.peer in LAUNCHERS and not shutil.which(LAUNCHERS[self.peer][0]):
            return f"{LAUNCHERS[self.peer][0]} is not installed"
        return None

    def command(self, build):
        command = [str(self.path(build))]
        if self.peer == OWN_MPI:
            command = [str(build / "bin" / "weftrun"), "-n", str(self.ranks), "--workers", str(self.workers)] + command
        if self.peer in LAUNCHERS:
            launcher = list(LAUNCHERS[self.peer])
            # Every wait yields then; a rival with a core per rank must not pay that.
            if self.peer == "openmpi" and self.ranks > self.workers:
                launcher[1:1] = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            command = launcher + [str(self.ranks)] + command
        if self.cores:
            command = ["taskset", "-c", self.cores] + command
        return command

    def environment(self, args, commit):
        env = {**os.environ, "BENCH_COMMIT": commit, "OMP_WAIT_POLICY": "active",
               "BENCH_SECONDS": str(self.seconds or args.seconds),
               # Ranks that spin without yielding never let each other run at real-time priority.
               "BENCH_PRIORITY": str(args.priority if self.spin else 0),
               "BENCH_WORKERS": str(self.workers),
               "WEFT_RANKS": str(self.ranks), "WEFT_WORKERS": str(self.workers)}
        env.update({k: str(v) for k, v in self.settings.items() if v != ""})
        return env

    def rows(self, output, commit_text):
        lines = output.splitlines()
        heads = [line for line in lines if line.startswith("name,")]  # One of each process.
        return list(csv.DictReader(heads[:1] + [line for line in lines if line not in heads])) if heads else []


def real_time_allowed(priority):
    return subprocess.run(["chrt", "-f", str(priority), "true"], stderr=subprocess.DEVNULL).returncode == 0


class TbbJob(Job):
    """The task graphs over oneTBB: no ranks, so they are told how many the rivals have."""

    def __init__(self, program, ranks=2, **settings):
        super().__init__(program, "tbb", ranks, BENCH_RANKS=ranks, **settings)

    def path(self, build):
        return build / "bin" / f"bench-tbb-{self.program}"


class TaskJob(Job):
    """Tasks of weft and of oneTBB, one after the other, in one program without ranks."""

    def __init__(self, workers=None, only=""):
        super().__init__("task", ranks=1, only=only)
        self.workers = workers or wanted_workers


class AbiJob(Job):
    """One source, linked by weftcxx, by mpicxx_abi or by MPICH's wrapper, and run by weft all the same."""

    PEERS = {OWN_MPI: "weft", "weft-abi": "abi", "weft-of-mpich": "mpich"}

    def __init__(self, peer, **settings):
        super().__init__("abi", peer, **settings)

    def path(self, build):
        return build / "bin" / f"bench-mpi-abi-{self.PEERS[self.peer]}"

    def command(self, build):
        return [str(build / "bin" / "weftrun"), "-n", str(self.ranks), "--workers", str(self.workers), str(self.path(build))]

    def rows(self, output, commit_text):
        # One that is not of weft's own header counts the cores that it has bound itself to.
        return [row | {"peer": self.peer, "workers": str(self.workers)} for row in super().rows(output, commit_text)]


class ImageJob:
    """One run of a small MPI program whose ranks have copies of it: time from start to end, memory of the process
    when all are in it, and what each copy writes in its files."""

    PROGRAMS = {"c": "footprint", "library": "footprint_library", "fortran": "footprint_fortran", "abi": "footprint_abi"}
    peer = "weft"

    def __init__(self, kind, ranks):
        self.kind, self.ranks = kind, ranks

    def path(self, build):
        return build / "bin" / "image" / self.PROGRAMS[self.kind]

    def missing(self, build):
        self.segments = self.segment_bytes(self.path(build)) if self.path(build).exists() else 0
        return None if self.segments else f"{self.path(build)} is not there (WEFT_BUILD_TESTS)"

    @staticmethod
    def segment_bytes(program):
        """Of the program and the libraries that each rank has its own of."""
        needed = subprocess.run([str(program)], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True,
                                text=True).stdout
        files = [program] + re.findall(r"=> (\S*/lib(?:numbers|gfortran|weft-process)\.\S*)", needed)
        total = 0
        for file in files:
            segments = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True).stdout
            total += sum(int(size, 16) for size in re.findall(
                r"^\s*LOAD(?:\s+0x[0-9a-f]+){4}\s+(0x[0-9a-f]+)\s+RW", segments, re.M))
        return total

    def command(self, build):
        return [str(build / "bin" / "weftrun"), "-n", str(self.ranks), "--workers", str(min(wanted_workers, self.ranks)),
                str(self.path(build))]

    def environment(self, args, commit_text):
        self.began = time.monotonic()
        return dict(os.environ)

    def rows(self, output, commit_text):
        seconds = time.monotonic() - self.began
        found = re.search(r"ranks (\d+) proportional_kib (\d+) sum (\d+)", output)
        if not found or int(found[1]) != self.ranks or int(found[3]) != self.ranks * (self.ranks - 1) // 2:
            return []
        figures = {"start_to_end": ("s", seconds), "memory": ("KiB", float(found[2])),
                   "segments": ("KiB", self.segments / 1024)}
        return [{"name": f"images/{what}/{self.kind}", "peer": self.peer, "ranks": str(self.ranks),
                 "workers": str(min(wanted_workers, self.ranks)), "unit": unit, "min": value, "median": value, "p99": value,
                 "repetitions": 1, "load": f"{os.getloadavg()[0]:.2f}", "compiler": "-", "commit": commit_text,
                 "priority": "normal"} for what, (unit, value) in figures.items()]


class MdJob:
    """One run of the copper crystal, by weft-md or by LAMMPS: one repetition of one row."""

    STEPS = 50
    CELLS = 20
    rest = 0.2  # s before it starts: real-time threads stand still at the end of a second of which they used 95 %.

    def __init__(self, peer, ranks, voids=0):
        self.peer, self.ranks, self.voids = peer, ranks, voids

    def path(self, build):
        return Path(shutil.which("lmp") or "lmp") if self.peer == "lammps" else build / "bin" / "weft-md"

    def missing(self, build):
        return None if self.path(build).exists() else f"{self.path(build).name} is not there"

    def command(self, build):
        if self.peer == "lammps":
            # The same crystal; cutoff, neighbour skin and rebuilding as LAMMPS has them by default.
            words = ["-in", str(ROOT / "bench" / "md.lmp"), "-var", "cells", str(self.CELLS), "-var", "steps",
                     str(self.STEPS), "-log", "none"]
        else:
            words = ["--size", str(self.CELLS), "--steps", str(self.STEPS), "--thermo", str(self.STEPS), "--tasks",
                     "off" if self.peer == "weft-no-tasks" else "on", "--voids", str(self.voids)]
        return [str(self.path(build))] + words

    def environment(self, args, commit_text):
        self.real_time = args.priority if args.priority > 0 and real_time_allowed(args.priority) else 0
        return {**os.environ, "OMP_NUM_THREADS": "1", "WEFT_RANKS": str(self.ranks), "WEFT_WORKERS": str(self.ranks)}

    def rows(self, output, commit_text):
        if self.peer == "lammps":
            found = re.search(r"Loop time of ([0-9.]+) on 1 procs for (\d+) steps with (\d+) atoms", output)
            value = found and float(found[1]) * 1e9 / int(found[2]) / int(found[3])
        else:
            found = re.search(r"([0-9.]+) ns per atom and step", output)
            value = found and float(found[1])
        if not value:
            return []
        row = {"name": "md/atom_step/" + ("voids" if self.voids else "full"), "peer": self.peer,
               "ranks": str(self.ranks), "workers": str(self.ranks), "unit": "ns"}
        row |= {"min": value, "median": value, "p99": value, "repetitions": 1}
        row |= {"load": f"{os.getloadavg()[0]:.2f}", "compiler": "-", "commit": commit_text,
                "priority": f"fifo{self.real_time}" if self.real_time else "normal"}
        allowed = re.search(r"stealing can win at most ([0-9.]+) times", output)
        if not allowed or self.peer != "weft":
            return [row]
        figures = dict.fromkeys(("min", "median", "p99"), float(allowed[1]))
        return [row, row | {"name": row["name"].replace("atom_step", "allowed_speed_up"), "unit": "x"} | figures]


class CommJob(Job):
    """The communication core between two processes, over one transport. Those that an MPI's messages join are started
    by its launcher. `secure` is the setting; without it messages are protected as they are by default."""

    def __init__(self, transport, only="", secure=""):
        kind, _, which = transport.partition(":")
        self.mpi = which if kind == "mpi" else None
        variant = "" if transport in ("shm", "ofi:tcp") else "-" + which  # Plain "ofi" is tcp.
        super().__init__("comm", variant=variant + (secure and "-" + secure), only=only, WEFT_TRANSPORT=transport,
                         WEFT_SECURE=secure)

    def missing(self, build):
        if self.mpi and not (build / "lib" / "weft" / f"weft-transport-mpi-{self.mpi}.so").exists():
            return f"the plug-in for {self.mpi} is not built"
        if self.mpi and not shutil.which(LAUNCHERS[self.mpi][0]):
            return f"{LAUNCHERS[self.mpi][0]} is not installed"
        return super().missing(build)

    def command(self, build):
        weftrun = [str(build / "bin" / "weftrun"), "--pin", "off", "--processes"]
        return (LAUNCHERS[self.mpi] if self.mpi else weftrun) + ["2", str(self.path(build))]


class ProcessesJob(Job):
    """Ranks in two processes or more, a worker each; the peer's name says so, and by which network they are joined."""

    def __init__(self, program, ranks, only="", processes=2, transport="", **settings):
        variant = "-processes" if processes == 2 else f"-{processes}-processes"
        super().__init__(program, ranks=ranks, workers=1, variant=variant + transport.replace("ofi:", "-"), only=only,
                         WEFT_TRANSPORT=transport, **settings)
        self.processes = processes

    def command(self, build):
        return [str(build / "bin" / "weftrun"), "--processes", str(self.processes), "-n", str(self.ranks), "--workers", "1",
                str(self.path(build))]

    def rows(self, output, commit_text):
        # One worker in each process: on cores of their own all the same.
        return [row | {"name": row["name"].removesuffix("/same_core")} for row in super().rows(output, commit_text)]


class ShmemJob(Job):
    """A program of OpenSHMEM, compiled by weft's oshc++ or by Open MPI's: its PEs in one process, or in two."""

    def __init__(self, program="shmem", peer="weft", ranks=2, processes=1, transport="", workers=None, **settings):
        variant = ("-processes" if processes > 1 else "") + transport.replace("ofi:", "-")
        super().__init__(program, peer, ranks, workers=1 if processes > 1 else workers,
                         variant=variant if peer == "weft" else "", WEFT_TRANSPORT=transport, **settings)
        self.processes = processes

    def path(self, build):
        return build / "bin" / f"bench-shmem-{self.program}-{self.peer}"

    def command(self, build):
        if self.peer in LAUNCHERS:
            return super().command(build)
        return [str(build / "bin" / "weftrun"), "-n", str(self.ranks), "--processes", str(self.processes), "--workers",
                str(self.workers), str(self.path(build))]


class RivalJob:
    """One row measured by a rival's own program, a server on one core and a client on another, over one
    transport of the rival: UCX's ucx_perftest or libfabric's fi_pingpong."""

    UCX = {"transport/one_way": "tag_lat", "transport/stream": "tag_bw", "comm/am": "ucp_am_lat",
           "comm/rate": "ucp_am_bw"}
    port = 14300

    def __init__(self, peer, action, size, transport):
        self.peer, self.action, self.size, self.transport = peer, action, size, transport
        self.program = "ucx_perftest" if peer == "ucx" else "fi_pingpong"
        self.count = 200_000 if size < 16384 else 5000
        if transport in ("tcp", "net") or transport.startswith("tcp;"):
            self.count //= 10

    def missing(self, build):
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    def command(self, build):
        RivalJob.port += 1  # The last server's may still be in use.
        port = RivalJob.port
        if self.peer == "ucx":
            server = f"{self.program} -p {port} -f -v"
            client = (f"{self.program} localhost -p {port} -f -v -t {self.UCX[self.action]} -s {self.size} "
                      f"-n {self.count}")
        else:
            words = f"-p '{self.transport}' -e rdm -S {self.size} -I {self.count}"
            server, client = f"{self.program} -B {port} {words}", f"{self.program} -P {port} {words} localhost"
        return ["bash", "-c", f"timeout 30 taskset -c 1 {server} >/dev/null & sleep 0.5; "
                              f"timeout 30 taskset -c 0 {client}; said=$?; wait; exit $said"]

    def environment(self, args, commit_text):
        self.real_time = args.priority if args.priority > 0 and real_time_allowed(args.priority) else 0
        return {**os.environ, "UCX_TLS": self.transport + ",self", "UCX_WARN_UNUSED_ENV_VARS": "n"}

    def rows(self, output, commit_text):
        figures = [line for line in output.splitlines() if line[:1].isdigit()]
        if not figures:
            return []
        # In microseconds. ucx_perftest: iterations, median, mean, mean of the whole; the median of a
        # stream is that of single calls and leaves out the waiting. fi_pingpong: the mean, last but one.
        if self.peer == "ucx":
            is_stream = self.UCX[self.action].endswith("_bw")
            value = float(figures[-1].split(",")[3 if is_stream else 1]) * 1e3
        else:
            value = float(figures[-1].split()[-2]) * 1e3
        row = {"name": f"{self.action}/{size_text(self.size)}",
               "peer": f"{self.peer}-{self.transport.replace(',', '+')}",
               "ranks": "2", "workers": "2" if self.action.startswith("transport") else "1", "unit": "ns",
               "min": value, "median": value, "p99": value, "repetitions": 1}
        return [row | {"load": f"{os.getloadavg()[0]:.2f}", "compiler": "-", "commit": commit_text,
                       "priority": f"fifo{self.real_time}" if self.real_time else "normal"}]


class LciJob(Job):
    """What the communication core's program measures, over LCI 2 and one provider of libfabric: two processes that
    meet by LCI's own rendezvous over TCP, without a launcher, or one process alone."""

    port = 14900

    def __init__(self, provider, ranks=2, only=""):
        super().__init__("comm", "lci", ranks, only=only, variant=f"-{provider}", LCI_ATTR_BACKEND="ofi",
                         LCI_ATTR_OFI_PROVIDER_NAME=provider, LCI_ATTR_SHM_ENABLE="" if provider == "shm" else 0,
                         LCT_PMI_BACKEND="tcp" if ranks == 2 else "local", WORLD_SIZE=ranks,
                         LCT_MASTER_ADDR="127.0.0.1")

    def path(self, build):
        return build / "bin" / "bench-lci-comm"

    def command(self, build):
        program = shlex.quote(str(self.path(build)))
        if self.ranks == 1:
            return ["timeout", "50", str(self.path(build))]
        LciJob.port += 1  # The last rendezvous' may still be in use.
        return ["bash", "-c", f"export LCT_MASTER_PORT={LciJob.port}; RANK=1 timeout 50 {program} & "
                              f"RANK=0 timeout 50 {program}; said=$?; ((said == 0)) || kill $! 2>/dev/null; "
                              "wait; exit $said"]


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit}{name}"
    return f"{size}B"


def crowded_mpich(program, only, **settings):
    """MPICH with more ranks than cores waits out whole time slices: few rows, few repetitions."""
    return Job(program, "mpich", 16, only=only, seconds=1, spin=False, **settings)


def jobs():
    both = lambda program, **k: [Job(program, **k)] + [Job(program, peer, **k) for peer in LAUNCHERS]
    stencil = []
    for n in (2, 3, 4, 8, 16):
        stencil += [Job("stencil", ranks=n), Job("stencil", "openmpi", n)]
        few = {} if n <= wanted_workers else dict(spin=False, only="8KiB", seconds=1, BENCH_STEPS=3)
        stencil.append(Job("stencil", "mpich", n, **few))
    modes = [Job(program, ranks=ranks, variant=f"-{chunks}-{steal}", only=only, WEFT_CHUNKS=chunks, WEFT_STEAL=steal)
             for program, ranks, only in (("loop", 2, ""), ("stencil", 4, "8KiB"))
             for chunks in ("guided", "single") for steal in ("random", "near", "sticky")]
    every = lambda **k: [Job("metg", peer, **k) for peer in ("weft", OWN_MPI, *LAUNCHERS)]
    loops = lambda **k: [Job("metg", METG_BACKEND="ready,tasks", **k), Job("metg", OWN_MPI, METG_BACKEND="steps,tasks", **k)
                         ] + [Job("metg", peer, **k) for peer in LAUNCHERS]
    some = "stencil_1d,nearest,all_to_all"
    metg = []
    for columns in (1, 8):  # Every back end in both orders; Task Bench's is "steps".
        metg += every(METG_PATTERN=some, METG_COLUMNS=columns, METG_BACKEND="ready,steps")
    metg += [Job("metg", ranks=16, METG_PATTERN=some, METG_BACKEND="ready"), Job("metg", OWN_MPI, 16, METG_PATTERN=some),
             Job("metg", "openmpi", 16, METG_PATTERN=some)]
    # Tasks of no rank, beside the ranks and oneTBB; parcels between two processes beside their ranks.
    metg_tasks = [Job("metg", METG_PATTERN=some, METG_COLUMNS=8, METG_BACKEND="ready,spawn,futures"),
                  TbbJob("metg", METG_PATTERN=some, METG_COLUMNS=8),
                  ProcessesJob("metg", 2, METG_PATTERN=some, METG_COLUMNS=8, METG_BACKEND="ready,parcels")]
    for kernel in ("compute", "imbalance"):  # The same work, even and uneven.
        metg += loops(METG_PATTERN="stencil_1d", METG_COLUMNS=8, METG_KERNEL=kernel, METG_TASK_US=9.5)
    patterns = []
    for kernel in ("compute", "memory", "imbalance"):
        patterns += loops(METG_COLUMNS=8, METG_KERNEL=kernel, seconds=0.3)
    own = []  # Unmodified MPI programs, all in the same run as their rivals.
    for program in ("p2p", "collectives"):
        own += [Job(program, peer) for peer in (OWN_MPI, *LAUNCHERS)] + [Job(program, peer, 16) for peer in (OWN_MPI, "openmpi")]
    own += [crowded_mpich("p2p", "across"), crowded_mpich("collectives", "barrier")]
    own += [Job("stencil", peer, 16) for peer in (OWN_MPI, "openmpi")]
    placement = [Job("p2p", workers=1)]
    nodes = sorted(Path("/sys/devices/system/node").glob("node[0-9]*/cpulist"))
    first_cores = [cores for cores in (plot.first_of(n.read_text()) for n in nodes) if cores is not None]
    if len(first_cores) > 1:
        placement.append(Job("p2p", only="one_way", variant="-two-nodes",
                             cores=f"{first_cores[0]},{first_cores[1]}"))
    sizes, node, tcp = (8, 64, 1024, 8192, 65536, 1 << 20), ("sysv", "posix", "posix,cma"), ("net", "tcp;ofi_rxm")
    rivals = lambda action: [RivalJob("ucx", action, size, tls) for size in sizes for tls in node] + [
        RivalJob("libfabric", action, size, "shm") for size in sizes]
    # What the MPIs take between two processes: by themselves, and over tcp.
    mpis = [Job("comm", peer) for peer in LAUNCHERS]
    over_tcp = {"openmpi": dict(OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,tcp"),
                "mpich": dict(MPIR_CVAR_NOLOCAL=1, UCX_TLS="tcp,self", FI_PROVIDER="tcp")}
    mpis_tcp = [Job("comm", peer, variant="-tcp", BENCH_WINDOWS=0, **how) for peer, how in over_tcp.items()]
    comm = [Job("limits", "hardware", only="copy/8KiB/one"), Job("limits", "hardware", only="vm_readv"), CommJob("shm"),
            Job("comm", ranks=1)] + rivals("comm/am") + [
        RivalJob("ucx", "comm/rate", 8, tls) for tls in node] + [LciJob("shm"), LciJob("shm", ranks=1)] + mpis
    comm_tcp = [CommJob("ofi:tcp", only="comm/" + what)
                for what in ("am", "rate", "put", "get", "send_recv", "completion", "between")] + [
        CommJob("ofi:tcp", only="comm/" + what, secure=secure)
                for what in ("am", "rate", "put", "get", "send_recv") for secure in ("off", "encrypt")] + [
        LciJob(provider) for provider in tcp] + [
        RivalJob("libfabric", "comm/am", size, provider) for size in (8, 16384, 65536) for provider in tcp] + mpis_tcp
    comm_ofi_shm = [CommJob("ofi:shm")] + [RivalJob("libfabric", "comm/am", size, "shm") for size in sizes]
    comm_mpi = [job for peer in LAUNCHERS for job in (CommJob("mpi:" + peer), Job("comm", peer))]
    between = [CommJob("shm", only="comm/am/8B")] + [
        ProcessesJob(program, ranks, only) for ranks in (2, 16)
        for program, only in (("p2p", "one_way"), ("collectives", "barrier"))] + [
        Job(program, peer, only=only) for program, only in (("p2p", "one_way"), ("collectives", "barrier"))
        for peer in LAUNCHERS]
    between += [job for size in ("64KiB", "1MiB")
                for job in (ProcessesJob("collectives", 2, size), *(Job("collectives", peer, only=size) for peer in LAUNCHERS),
                            ProcessesJob("collectives", 4, size, 4), Job("collectives", "openmpi", 4, only=size))]
    # Beside what the machine gives, what ranks take for the same, and the core's ams.
    shmem = [Job("limits", "hardware", only=only) for only in ("bounce/two_lines", "copy/64KiB/alone")] + [
        ShmemJob(), ShmemJob(peer="openmpi"), Job("collectives", only="barrier"), Job("collectives", only="allreduce/8B"),
        ShmemJob(processes=2), CommJob("shm", only="comm/am"), ShmemJob(processes=2, transport="ofi:tcp", only="8B"),
        CommJob("ofi:tcp", only="comm/am/8B"), ShmemJob(ranks=16), ShmemJob(peer="openmpi", ranks=16, seconds=1),
        Job("p2p", ranks=16, only="across"), Job("collectives", ranks=16, only="barrier")]
    # Table 1 and figure 4 of the paper on active messages, from shorter tasks on: 256 columns, of which each reads all.
    table = dict(METG_PATTERN="all_to_all", METG_WIDTH=256, METG_STEPS=os.environ.get("METG_STEPS", 256),
                 METG_ITERATIONS=os.environ.get("METG_ITERATIONS", ",".join(str(1 << n) for n in range(17))))
    metg_am = []
    for ranks in (wanted_workers, 64):
        mpis = LAUNCHERS if ranks == wanted_workers else ("openmpi",)  # MPICH takes whole time slices.
        metg_am += [Job("metg", peer, ranks, METG_BACKEND=backend, **table)
                    for peer in ("weft", OWN_MPI, *mpis) for backend in ("ready", "steps")]
        metg_am += [ShmemJob("metg", peer, ranks, **table) for peer in ("weft", "openmpi")]
    images = [ImageJob(kind, ranks) for ranks in (2, 16, 64, 256) for kind in ("c", "library", "fortran")] * 5
    transport = [Job("limits", "hardware", only="vm_readv"), Job("limits", "hardware", only="copy/8KiB/one"),
                 Job("sealed", "weft-shm", 1), Job("transport", "weft-shm")] + rivals("transport/one_way") + [
        RivalJob("ucx", "transport/stream", 8, tls) for tls in node]
    return {
        "comm": comm,
        "comm-tcp": comm_tcp,
        "comm-ofi-shm": comm_ofi_shm,
        "comm-mpi": comm_mpi,
        "processes": between,
        "limits": [Job("limits", "hardware")],
        "sync": [Job("record_ring", "hardware"), Job("fiber", "hardware", 1)],
        "transport": transport,
        "p2p": both("p2p") + [Job("p2p", ranks=16), Job("p2p", "openmpi", 16), crowded_mpich("p2p", "across")],
        "placement": placement + [Job("p2p", "openmpi", workers=1)],
        "collectives": both("collectives") + [
            Job("openmp", "openmp"), Job("collectives", ranks=16), Job("collectives", "openmpi", 16),
            crowded_mpich("collectives", "barrier")],
        "ring": [Job("ring", ranks=16), Job("ring", "openmpi", 16), crowded_mpich("ring", "hop"),
                 Job("ring", ranks=1000), Job("ring", ranks=10000, only="any_of_idle")],
        "many": [Job("many", ranks=10000)],
        "rma": [Job("rma")] + [ProcessesJob("rma", 2, transport=transport) for transport in ("", "ofi:tcp")],
        "shmem": shmem,
        "images": images,
        "stencil": stencil,
        "loop": [Job("loop", ranks=1), Job("loop", ranks=2)],
        "modes": modes,
        "tasks": [TaskJob(), TaskJob(1, "future_set")],
        "metg": metg,
        "metg-tasks": metg_tasks,
        "metg-am": metg_am,
        "metg-patterns": patterns,
        "metg-curves": loops(METG_COLUMNS=8, METG_CURVE=1) + [
            Job("metg", METG_COLUMNS=8, METG_CURVE=1, METG_BACKEND="spawn,futures"), TbbJob("metg", METG_COLUMNS=8, METG_CURVE=1)],
        "mpi": own,
        "face": [Job("face")],
        "abi": [AbiJob(peer) for peer in AbiJob.PEERS] * 3 + [ImageJob("abi", ranks) for ranks in (2, 64)] * 5,
        "windows": [Job("limits", "hardware", only="copy/64KiB/alone"), Job("collectives", only="barrier"), Job("p2p", only="one_way/8B")]
                   + [Job("windows", peer) for peer in (OWN_MPI, *LAUNCHERS)]
                   + [Job("windows", OWN_MPI, workers=1, WEFT_RANKS_PER_PROCESS=1, variant="-processes")]
                   + [Job("windows", peer, 16, seconds=1, only=only) for only in ("accumulate", "contended", "fence")
                      for peer in (OWN_MPI, "openmpi")],
        "files": [Job("files", peer, n, seconds=2, spin=False) for n in (2, 16) for peer in (OWN_MPI, "openmpi")]
                 + [Job("files", "mpich", seconds=2)],
        "partitioned": [Job("partitioned", peer) for peer in (OWN_MPI, *LAUNCHERS)],
        "sessions": [Job("sessions", peer) for peer in (OWN_MPI, "mpich")]
                    + [Job("sessions", OWN_MPI, 1000, seconds=1, only="shrink")],
        "datatypes": [Job("datatypes", peer) for peer in ("weft", OWN_MPI, *LAUNCHERS)],
        "polling": [Job("polling", peer, n, workers=1, spin=False, WEFT_RANKS_PER_PROCESS=1)
                    for n in (4, 8) for peer in (OWN_MPI, "openmpi")],
        "waiting": [Job("waiting", peer, variant=variant, **how) for peer in ("weft", OWN_MPI)
                    for variant, how in (("", {}), ("-looking", dict(WEFT_SPIN_US=100000)))]
                   + [Job("waiting", peer) for peer in LAUNCHERS],
        "idle": both("idle") + [ProcessesJob("idle", 4, transport=transport) for transport in ("", "ofi:tcp")],
        "md": [MdJob("weft", 1), MdJob("lammps", 1)]
              + [MdJob(peer, 2, voids) for voids in (0, 40) for peer in ("weft", "weft-no-tasks")] * 5,
    }


def commit():
    git = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-changed" if changed else "")


def busy_share():
    """Cores that others keep busy, measured over half a second in which this program sleeps."""
    def busy():
        fields = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(fields) - fields[3] - fields[4]
    before = busy()
    time.sleep(0.5)
    return (busy() - before) / os.sysconf("SC_CLK_TCK") / 0.5


def run(job, args, commit_text, quiet=False):
    """Returns the rows of one job, or None when it failed."""
    command = job.command(args.build)
    environment = job.environment(args, commit_text)
    # Programs of bench/ raise their own priority; others are started with it.
    if getattr(job, "real_time", 0):
        command = ["chrt", "-f", str(job.real_time)] + command
    time.sleep(getattr(job, "rest", 0))
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL if quiet else None, text=True)
    try:
        output, _ = process.communicate(timeout=args.limit)
    except subprocess.TimeoutExpired:
        print(f"bench: {' '.join(command)}: no end after {args.limit:g} s, stopped", file=sys.stderr)
        if job.peer == "weft":
            process.send_signal(signal.SIGUSR1)  # It says what its ranks wait for.
            time.sleep(0.5)
        return None
    finally:
        if process.poll() is None:
            # A launcher ends its ranks when asked; killed at once it would leave them spinning.
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
    if process.returncode != 0:
        print(f"bench: {' '.join(command)}: exit status {process.returncode}", file=sys.stderr)
        return None
    return job.rows(output, commit_text)


def pace(args):
    """The pace of now: virtual machines move, cores then lie nearer or farther, and others share them."""
    def median(only):
        job = Job("limits", "hardware", only=only, seconds=0.1)
        rows = run(job, args, "", quiet=True) if job.path(args.build).exists() else None
        return float(rows[0]["median"]) if rows else 1.0
    return {column: median(of.row) for column, of in of_run.PACES.items()}


def run_round(group, jobs, args, commit_text):
    """Runs the jobs of a group one after the other, and those again that ran at another pace than most.

    Returns (rows, whether a job failed).
    """
    rows_of, failed, now, left = {}, False, pace(args), range(len(jobs))
    for attempt in range(ROUND_ATTEMPTS):
        for job in left:
            before, result, now = now, run(jobs[job], args, commit_text), pace(args)
            failed = failed or result is None
            slower = {column: f"{max(before[column], now[column]):.1f}" for column in of_run.PACES}
            rows_of[job] = [{"group": group, **row, **slower} for row in result or []]
        rows = [row for job in sorted(rows_of) for row in rows_of[job]]
        paces = {of_run.pace(row) for row in of_run.at_one_pace(rows)}
        left = [job for job, its in sorted(rows_of.items()) if its and of_run.pace(its[0]) not in paces]
        if not left:
            break
        others = ", ".join("{:.0f} and {:.0f} ns".format(*of_run.pace(rows_of[job][0])) for job in left)
        print(f"bench: {len(left)} of {len(jobs)} programs ran where two lines bounce and 1,000 instructions take {others}; "
              + ("once more" if attempt + 1 < ROUND_ATTEMPTS else "their figures are not comparable"), file=sys.stderr)
    return rows, failed


def merge(rows):
    """One row of each key from the rows of all rounds of one pace."""
    by_key = {}
    for row in of_run.at_one_pace(rows):
        by_key.setdefault(of_run.key(row), []).append(row)
    merged = []
    for same in by_key.values():
        row = dict(same[0])
        row["min"] = min(float(r["min"]) for r in same)
        row["median"] = statistics.median(float(r["median"]) for r in same)
        row["p99"] = max(float(r["p99"]) for r in same)
        row["repetitions"] = sum(int(r["repetitions"]) for r in same)
        row["load"] = max(float(r["load"]) for r in same)
        row.update({column: max(float(r[column]) for r in same) for column in of_run.PACES})
        merged.append(row)
    return merged


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def main():
    global wanted_workers
    # They have options, rows and figures of their own.
    for name, of_its_own in (("parcel", study), ("octree", octree_study), ("pure", pure_study)):
        if name in sys.argv[1:]:
            words = list(sys.argv[1:])
            words.remove(name)
            return of_its_own.main(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks to run (default all but {', '.join(sorted(BY_NAME_ALONE))}): see --list")
    parser.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build directory (default build/dev)")
    parser.add_argument("--out", type=Path, default=ROOT / "out/bench", help="where CSV and PNG go (default out/bench)")
    parser.add_argument("--rounds", type=int, default=2, help="times every program runs (default 2)")
    parser.add_argument("--seconds", type=float, default=2, help="upper bound of one row's repetitions (default 2)")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a program is stopped (default 60)")
    parser.add_argument("--priority", type=int, default=50, help="SCHED_FIFO priority, 0 for none (default 50)")
    parser.add_argument("--workers", type=int, default=of_run.WORKERS,
                        help=f"cores of every benchmark (default {of_run.WORKERS}, as the limits have it)")
    parser.add_argument("--neighbours", type=int, default=0, help="busy processes beside the benchmarks (default 0)")
    parser.add_argument("--no-rivals", action="store_true", help="weft and the machine's limits only")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Runs the finally clauses: nothing stays behind.
    if args.workers < 1:
        parser.error(f"--workers {args.workers}: at least 1")
    wanted_workers = min(args.workers, CORES)
    table = jobs()
    if args.list:
        print("\n".join(table))
        return 0
    for name in args.names:
        if name not in table:
            parser.error(f"no benchmark named '{name}'; there are {', '.join(table)}")
    if args.rounds < 1:
        parser.error(f"--rounds {args.rounds}: at least 1")
    if not (args.build / "bin").is_dir():
        parser.error(f"{args.build}/bin does not exist; build first: ./dev build")

    busy, load_before = busy_share(), f"{os.getloadavg()[0]:.2f}"
    if busy > 0.2 or os.getloadavg()[0] > CORES:
        print(f"bench: others keep {busy:.1f} of {CORES} cores busy, load {os.getloadavg()[0]:.1f}: "
              "medians of spinning programs may be 5-10 x too high", file=sys.stderr)
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.neighbours)]
    commit_text, rows, failed, told = commit(), [], False, set()
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        for name in args.names or [name for name in table if name not in BY_NAME_ALONE]:
            ready = []
            for job in table[name]:
                if args.no_rivals and (job.peer in LAUNCHERS or isinstance(job, (RivalJob, LciJob, TbbJob))):
                    continue
                if reason := job.missing(args.build):
                    if reason not in told:
                        print(f"bench: left out: {reason}", file=sys.stderr)
                    told.add(reason)
                else:
                    ready.append(job)
            here = []
            for _ in range(args.rounds if ready else 0):
                result, bad = run_round(name, ready, args, commit_text)
                here, failed = here + result, failed or bad
            if here:
                here = [row | {"load_before": load_before} for row in merge(here)]
                write(args.out / f"{name}.csv", here)
                rows += here
    finally:
        for process in neighbours:
            process.kill()
    if not rows:
        print("bench: nothing was measured", file=sys.stderr)
        return 1
    write(args.out / "all.csv", rows)
    for path in plot.draw_all(rows, args.out):
        print(f"plot: {path}")
    for name, tables in (("metg.txt", metg_table.tables(rows)), ("processes.txt", comm_table.tables(rows))):
        if tables:
            (args.out / name).write_text(tables + "\n")
            print(f"table: {args.out / name}")
    print(f"figures: {args.out}/all.csv")
    print(targets.table(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
