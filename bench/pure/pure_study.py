#!/usr/bin/python3
"""The applications of the Pure paper (Psota, Solar-Lezama; PPoPP 2024), again: its figures 4 and 5, with weft-dt, weft-md and weft-amr in
place of NAS DT, CoMD and miniAMR; and figures 6 and 7 from weft's own benchmarks.

    ./dev bench pure --quick         small graphs, crystals and meshes, three repetitions: minutes
    ./dev bench pure                 classes S to B, ranks up to eight times the cores, ten repetitions: an hour
    ./dev bench pure --draw CSV      measure nothing: draw and judge an earlier pure.csv
    ./dev bench pure --store CSV     write the table of docs/pure-study.md from it, if the machine was quiet

All peers of a point run one after the other, then the next repetition, so that a slow minute meets all of them. dt and amr are one program
over each library: weft (its C++ interface), weft-mpi (the MPI form by weftcxx), mpich, openmpi, and these two with OpenMP. Each must come to
the same checksum, or the command fails. md has no MPI form: its peers are itself without tasks, and LAMMPS where that is installed. Ranks
beyond the cores share the problem that the cores have: what AMPI does with virtual ranks. Writes into --out:

    pure.csv                         a row for each run
    pure-mean.csv                    median, least and most of the repetitions
    pure-fig4.png                    speed-up of dt over the better MPI by messages, tasks and helpers
    pure-fig5.png                    seconds of md (full, static voids, moving voids) and amr over ranks
    pure-fig6.png, pure-fig7.png     speed-up of messages by size, and of barrier and all-reduce, over the better MPI
    pure-findings.txt                what the paper found, beside what came out by the medians; whether that agrees is said only where
                                     the machine was quiet at the start

Figures 6 and 7 take the rows of `./dev bench placement p2p collectives`, which runs for them. Exit status 1 when a checksum differs, when it was
stopped, or when nothing could be measured.
"""
import argparse
import collections
import csv
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/parcel")]
import quiet
import study as parcels

CORES = len(os.sched_getaffinity(0))
GRAPH_RANKS = {"S": 12, "W": 32, "A": 80, "B": 192}  # Of the shuffle.
LAUNCHERS = {"mpich": ["mpiexec.hydra", "-bind-to", "none", "-n"],
             "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "-n"]}
MPIS = tuple(LAUNCHERS)
MD_CELLS = 12  # Along each edge of what a rank has; 6,912 atoms.
CASES_OF_MD = {"md-full": [], "md-voids": ["--voids", "40"], "md-moving": ["--voids", "40", "--drift", "100"]}
MICRO = ["placement", "p2p", "collectives"]  # Of bench/run.py.
# Rows of these are taken: the figure, and what the case's name is.
MICRO_ROWS = {6: re.compile(r"p2p/one_way/\w+(/same_core)?"), 7: re.compile(r"collectives/(barrier|allreduce/\w+)")}
PAGE = ROOT / "docs/pure-study.md"
TABLE = ("<!-- table: ./dev bench pure --store -->", "<!-- end of table -->")

# What is run: one figure's point, and who takes part in it.
Point = collections.namedtuple("Point", "figure case ranks peers")


# --- What to run ------------------------------------------------------------------------------------

def points(args):
    """Every point of the chosen figures, with its peers."""
    all_of = []
    if 4 in args.figures:
        for letter in args.classes:
            peers = ["weft", "weft-tasks", "weft-helpers", "weft-mpi", "weft-mpi-tasks", *MPIS, *(f"{m}-openmp" for m in MPIS)]
            all_of.append(Point(4, "dt-" + letter, GRAPH_RANKS[letter], peers))
    if 5 in args.figures:
        for ranks in args.ranks:
            for case in CASES_OF_MD:
                all_of.append(Point(5, case, ranks, ["weft", "weft-tasks"] + (["lammps"] if case == "md-full" else [])))
            for case in ("amr", "amr-uneven"):
                peers = ["weft", "weft-tasks", "weft-mpi", "weft-mpi-tasks", *MPIS]
                # Fewer ranks, with threads in place of the others.
                peers += [f"{m}-openmp" for m in MPIS] if 1 < ranks <= CORES else []
                all_of.append(Point(5, case, ranks, peers))
    return all_of


def workers_and_helpers(peer, ranks):
    """Helpers stand for cores that the graph leaves free; where it leaves none, for half of them."""
    if peer != "weft-helpers":
        return min(ranks, CORES), 0
    workers = ranks if ranks < CORES else max(1, CORES // 2)
    return workers, max(1, CORES - workers)


def environment_of(point, peer, args):
    """What the programs are told: those over MPI by the environment alone."""
    ranks = point.ranks
    workers, helpers = workers_and_helpers(peer, ranks)
    told = {"WEFT_RANKS": ranks, "WEFT_WORKERS": workers, "WEFT_HELPERS": helpers, "OMP_NUM_THREADS": 1}
    tasks = int(peer.endswith(("-tasks", "-openmp")))
    if peer.endswith("-openmp"):
        told |= {"OMP_NUM_THREADS": max(2, CORES // ranks) if point.case.startswith("dt-") else ranks, "OMP_WAIT_POLICY": "passive"}
    if point.case.startswith("dt-"):
        told |= {"DT_GRAPH": "sh", "DT_CLASS": point.case[3:], "DT_WAVES": args.waves, "DT_TASKS": tasks}
    if point.case.startswith("amr"):
        told |= {f"AMR_{name.upper()}": value for name, value in amr_words(point.case, args).items()} | {"AMR_TASKS": tasks}
    return {name: str(value) for name, value in told.items()}


def amr_words(case, args):
    # Spheres cross the cube once; blocks that stay where they began leave one of two ranks 1.7 times its share.
    return {"steps": args.steps, "levels": args.levels, "base": 2, "variables": 8, "objects": 2, "seed": 9,
            "speed": 1 / args.steps, "regrid": 5, "balance": 0 if case == "amr-uneven" else 1}


def crystal(ranks):
    """Cells along x, y and z: as many for each core, and no more for ranks beyond the cores."""
    return f"{MD_CELLS * min(ranks, CORES)}x{MD_CELLS}x{MD_CELLS}"


def program_of(point, peer):
    """The name in the build's bin, or of an installed program."""
    app = point.case.partition("-")[0]
    library, _, how = peer.partition("-")
    if peer == "lammps":
        return "lmp"
    if peer.startswith("weft-mpi"):
        return f"bench-mpi-{app}-weft"
    if library == "weft":
        return f"weft-{app}"
    return f"bench-mpi-{app}{'_openmp' if how == 'openmp' else ''}-{library}"


def command_of(point, peer, args):
    """The words, or None and why there are none."""
    program, ranks = program_of(point, peer), point.ranks
    path = shutil.which(program) if peer == "lammps" else str(args.build / "bin" / program)
    if not path or not Path(path).exists():
        return None, f"{program} is not {'installed' if peer == 'lammps' else 'built'}"
    library = "openmpi" if peer == "lammps" else peer.partition("-")[0]
    if library in LAUNCHERS:
        launcher = LAUNCHERS[library]
        if not shutil.which(launcher[0]):
            return None, f"{launcher[0]} is not installed"
        # Of MPI with threads, one process stands for the ranks of amr.
        processes = 1 if peer.endswith("-openmp") and point.case.startswith("amr") else ranks
        if library == "openmpi" and processes > CORES:  # Every wait yields then; nobody else must pay for that.
            launcher = launcher[:1] + ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] + launcher[1:]
        words = [*launcher, str(processes), path]
        if peer == "lammps":
            cells = crystal(ranks).split("x")
            words += ["-in", str(ROOT / "bench/md.lmp"), "-var", "cells", cells[1], "-var", "cells_x", cells[0], "-var", "steps",
                      str(args.steps), "-log", "none"]
        return words, None
    if peer.startswith("weft-mpi"):
        return [str(args.build / "bin/weftrun"), "-n", str(ranks), path], None
    tasks = ["--tasks", "on" if peer in ("weft-tasks", "weft-helpers") else "off"]
    if point.case.startswith("dt-"):
        return [path, "--graph", "sh", "--class", point.case[3:], "--waves", str(args.waves), *tasks], None
    if point.case.startswith("amr"):
        words = [word for name, value in amr_words(point.case, args).items() for word in (f"--{name}", str(value))]
        return [path, *words, "--report", str(args.steps), *tasks], None
    return [path, "--size", crystal(ranks), "--steps", str(args.steps), "--thermo", str(args.steps), *CASES_OF_MD[point.case],
            *tasks], None


# --- Measuring --------------------------------------------------------------------------------------

def figures_of(output):
    """(seconds, checksum) of what a program has printed; the checksum of md, which has none, is empty. None: it says neither."""
    rows = re.findall(r"^(?:dt|amr)/\S+,(\d+\.\d+),(\w+)$", output, re.M)  # Of an MPI form: one of each wave.
    if rows:
        return statistics.median(float(seconds) for seconds, _ in rows), rows[-1][1]
    if loop := re.search(r"^Loop time of ([\d.]+) on", output, re.M):
        return float(loop[1]), ""
    if step := re.search(r"^time .*?([\d.]+) ns per atom and step", output, re.M):
        atoms, steps = (int(re.search(what, output, re.M)[1]) for what in (r"^(\d+) atoms of", r"in (\d+) steps \(fitted"))
        return float(step[1]) * 1e-9 * atoms * steps, ""
    seconds, checked = re.search(r"^time +([\d.]+) s", output, re.M), re.search(r"^(?:checksum|hash) +(\w+)", output, re.M)
    return (float(seconds[1]), checked[1] if checked else "") if seconds else None


def run(point, peer, args):
    """Returns (figures or None, why there are none)."""
    command, why = command_of(point, peer, args)
    if why:
        return None, why
    process = subprocess.Popen(command, env={**os.environ, **environment_of(point, peer, args)}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=args.limit)
    except subprocess.TimeoutExpired:
        parcels.end(process)
        return None, f"no end after {args.limit:g} s"
    finally:
        if process.poll() is None:
            parcels.end(process)
    found = figures_of(out) if process.returncode == 0 else None
    return found, None if found else (errors.strip().splitlines() or [f"status {process.returncode}"])[0]


def measure(args, load):
    """Returns (rows, whether something was wrong)."""
    todo = [point._replace(peers=[p for p in point.peers if re.search(args.peers, p)]) for point in points(args)]
    rows, left_out, checks, told, wrong = [], set(), {}, set(), False
    progress = parcels.Progress(args.repetitions * sum(len(point.peers) for point in todo))
    try:
        for repetition in range(args.repetitions):
            for point in todo:
                for peer in point.peers:
                    progress.show(f"{point.case}, {point.ranks} ranks, {peer}, repetition {repetition + 1}")
                    progress.step()
                    if (point.case, point.ranks, peer) in left_out:
                        continue
                    found, why = run(point, peer, args)
                    if not found:
                        left_out.add((point.case, point.ranks, peer))  # It is not tried again.
                        where = "" if "is not" in why else f"{point.case}, {point.ranks} ranks, {peer}: "
                        if where + why not in told:
                            progress.end()
                            print(f"pure: {where}{why}", file=sys.stderr)
                        told.add(where + why)
                        continue
                    seconds, checked = found
                    workers, helpers = workers_and_helpers(peer, point.ranks)
                    rows.append({"figure": point.figure, "case": point.case, "ranks": point.ranks, "peer": peer, "workers": workers,
                                 "helpers": helpers, "repetition": repetition, "seconds": seconds, "checksum": checked,
                                 "load": f"{load:.2f}"})
                    if checks.setdefault(point.case, checked) != checked:
                        wrong = True
                        progress.end()
                        print(f"pure: {point.case}, {point.ranks} ranks, {peer}: checksum {checked}, that of others is "
                              f"{checks[point.case]}", file=sys.stderr)
    except KeyboardInterrupt:
        progress.end()
        print("pure: stopped; what has been measured is written", file=sys.stderr)
        wrong = True
    progress.end()
    return rows, wrong


def micro_rows(table, load, figures):
    """Those of figures 6 and 7 in the rows of bench/run.py, as this study has them."""
    found = []
    for row in table:
        for figure in set(figures) & set(MICRO_ROWS):
            if MICRO_ROWS[figure].fullmatch(row["name"]) and row["unit"] == "ns":
                found.append({"figure": figure, "case": row["name"], "ranks": int(row["ranks"]), "peer": row["peer"],
                              "workers": int(row["workers"]), "helpers": 0, "repetition": 0, "seconds": float(row["median"]) * 1e-9,
                              "checksum": "", "load": f"{load:.2f}"})
    return found


def measure_micro(args, load):
    """Returns (rows, whether something was wrong)."""
    out = args.out / "pure-micro"
    words = ["--rounds", "1", "--seconds", "0.3"] if args.quick else []
    status = subprocess.run([sys.executable, str(ROOT / "bench/run.py"), *MICRO, "--build", str(args.build), "--out", str(out), *words],
                            stdout=subprocess.DEVNULL).returncode
    if not (out / "all.csv").exists():
        print("pure: figures 6 and 7 have no rows; what bench/run.py said is above", file=sys.stderr)
        return [], True
    with open(out / "all.csv", newline="") as file:
        return micro_rows(csv.DictReader(file), load, args.figures), status != 0


# --- What comes out ---------------------------------------------------------------------------------

class Results:
    def __init__(self, rows):
        self.loads = {float(row["load"]) for row in rows if row.get("load")}
        by_point = collections.defaultdict(list)
        for row in rows:
            by_point[row["case"], int(row["ranks"]), row["peer"]].append(float(row["seconds"]))
        self.points = {at: (statistics.median(of), min(of), max(of), len(of)) for at, of in by_point.items()}
        self.cases = list(dict.fromkeys(row["case"] for row in rows))

    @property
    def load(self):
        return max(self.loads, default=None)

    def ranks(self, case):
        return sorted({ranks for of, ranks, _ in self.points if of == case})

    def peers(self, case):
        return list(dict.fromkeys(peer for of, _, peer in self.points if of == case))

    def seconds(self, case, ranks, peer):
        return self.points.get((case, ranks, peer), (None,))[0]

    def better_mpi(self, case, ranks):
        """Seconds of the faster of MPICH and Open MPI without threads, or None."""
        return min((s for s in (self.seconds(case, ranks, mpi) for mpi in MPIS) if s is not None), default=None)

    def speed_up(self, case, ranks, peer, over=None):
        """Over the better MPI, or over a peer; None where one of them has not been measured."""
        mine = self.seconds(case, ranks, peer)
        theirs = self.better_mpi(case, ranks) if over is None else self.seconds(case, ranks, over)
        return theirs / mine if mine and theirs else None

    def speed_ups(self, cases, peer, over=None):
        """Of all points of these cases."""
        found = [self.speed_up(case, ranks, peer, over) for case in cases for ranks in self.ranks(case)]
        return [value for value in found if value is not None]


def findings(of):
    """[(figure, text, the paper's least and most, ours, whether it agrees)]; what is not measured is None."""
    graphs = [case for case in of.cases if case.startswith("dt-")]
    rows = [("fig. 4", "dt: messages alone over the better MPI", (1.11, 1.25), of.speed_ups(graphs, "weft"), 1.0),
            ("fig. 4", "dt: the MPI form, compiled by weftcxx", (1.11, 1.25), of.speed_ups(graphs, "weft-mpi"), 1.0),
            ("fig. 4", "dt: messages and tasks", (1.7, 2.5), of.speed_ups(graphs, "weft-tasks"), 1.5),
            ("fig. 4", "dt: messages, tasks and helpers", (2.6, 2.6), of.speed_ups(graphs, "weft-helpers"), 1.5),
            ("fig. 5a", "md, balanced: with tasks over without", None, of.speed_ups(["md-full"], "weft-tasks", "weft"), 0.98),
            ("fig. 5a", "md, balanced: over LAMMPS (paper: CoMD over MPI)", (1.07, 1.25), of.speed_ups(["md-full"], "weft-tasks", "lammps"), 1.0),
            ("fig. 5b", "md, static voids: with tasks over without", (1.6, 2.1), of.speed_ups(["md-voids"], "weft-tasks", "weft"), 1.0),
            ("fig. 5c", "md, moving voids: with tasks over without (paper: over AMPI)", (1.25, 2.0),
             of.speed_ups(["md-moving"], "weft-tasks", "weft"), 1.0),
            ("fig. 5d", "amr, balanced: messages alone over the better MPI", None, of.speed_ups(["amr"], "weft"), 0.98),
            ("fig. 5d", "amr, balanced: with tasks", None, of.speed_ups(["amr"], "weft-tasks"), 0.98),
            ("fig. 5d", "amr, blocks stay with their ranks: with tasks", None, of.speed_ups(["amr-uneven"], "weft-tasks"), 1.0),
            ("fig. 5d", "amr, the same in its MPI form, by weftcxx", None, of.speed_ups(["amr-uneven"], "weft-mpi-tasks"), 1.0)]
    near = [case for case in of.cases if MICRO_ROWS[6].fullmatch(case)]
    across = [case for case in near if not case.endswith("/same_core")]
    rows += [("fig. 6", "messages between cores, of all sizes", None, of.speed_ups(across, "weft"), 1.0),
             ("fig. 6", "messages on one core, of all sizes", (17.0, 17.0), of.speed_ups(sorted(set(near) - set(across)), "weft"), 1.0),
             ("fig. 7a", "all-reduce of 8 B", (1.11, 3.5), of.speed_ups(["collectives/allreduce/8B"], "weft"), 1.0),
             ("fig. 7", "barrier", (2.4, 5.0), of.speed_ups(["collectives/barrier"], "weft"), 1.0)]
    # The best point counts, as in the paper's sentences; where work is even, and of messages, the worst.
    found = []
    for where, text, paper, ours, least in rows:
        even = "balanced" in text or "messages between" in text
        agrees = None if not ours else (min(ours) if even else max(ours)) >= least
        found.append((where, text, paper, (min(ours), max(ours)) if ours else None, agrees))
    return found


def between(pair):
    if pair is None:
        return ""
    low, high = (f"{value:.2f}" for value in pair)
    return low if low == high else f"{low} to {high}"


def table(of, machine):
    lines = [machine, "medians of the repetitions; times as fast, from the least to the most of all points", "",
             f"{'':8} {'finding':66} {'paper':>13} {'here':>13}"]
    for where, text, paper, ours, agrees in findings(of):
        lines.append(f"{where:8} {text:66} {between(paper):>13} {between(ours) or '-':>13}  {quiet.said(agrees, of.load)}")
    for case in of.cases:
        if any(row.fullmatch(case) for row in MICRO_ROWS.values()):
            continue  # They are in the CSV, and in that of bench/run.py.
        lines += ["", f"{case}: seconds with so many ranks", f"{'':20}" + "".join(f"{n:>12}" for n in of.ranks(case))]
        for peer in of.peers(case):
            at = [of.seconds(case, ranks, peer) for ranks in of.ranks(case)]
            lines.append(f"{peer:20}" + "".join(f"{s:>12.6f}" if s is not None else f"{'-':>12}" for s in at))
    return "\n".join(lines)


def page_table(of, machine):
    """The findings as the page has them."""
    lines = [machine + ".", "", "| figure | finding, times as fast | paper | here | |", "|---|---|---|---|---|"]
    for where, text, paper, ours, agrees in findings(of):
        lines.append(f"| {where} | {text} | {between(paper) or '–'} | {between(ours) or '–'} | {quiet.said(agrees, of.load)} |")
    return "\n".join(lines)


def store(of, machine, page=PAGE):
    """Writes the table of the page. Returns why not, or None."""
    if of.load is None or of.load > quiet.QUIET_LOAD_MAX:
        return (f"the load at the start was {'not kept' if of.load is None else f'{of.load:.1f}'}, above {quiet.QUIET_LOAD_MAX}: "
                "figures of a busy machine are not kept; measure on a quiet one")
    text = page.read_text()
    begin, end = text.find(TABLE[0]), text.find(TABLE[1])
    if begin < 0 or end < begin:
        return f"{page} has no lines '{TABLE[0]}' and '{TABLE[1]}'"
    page.write_text(text[:begin + len(TABLE[0])] + "\n" + page_table(of, machine) + "\n" + text[end:])
    return None


def draw(of, out):
    """Returns the paths of what was drawn."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    order = ["mpich", "openmpi", "mpich-openmp", "openmpi-openmp", "lammps", "weft-mpi", "weft-mpi-tasks", "weft", "weft-tasks",
             "weft-helpers"]
    colours = dict(zip(order, plt.get_cmap("tab10").colors))
    drawn = []
    graphs = [case for case in of.cases if case.startswith("dt-")]
    if graphs:
        fig, axes = plt.subplots(figsize=(9.5, 5), dpi=110)
        axes.set_title("Figure 4. DT, shuffle: speed-up over the better MPI", fontsize=11)
        bars = [peer for peer in order if any(of.speed_ups([case], peer) for case in graphs)]
        for i, peer in enumerate(bars):
            heights = [of.speed_up(case, of.ranks(case)[0], peer) or 0 for case in graphs]
            axes.bar([x + (i - (len(bars) - 1) / 2) * 0.8 / len(bars) for x in range(len(graphs))], heights, 0.75 / len(bars),
                     label=peer, color=colours[peer])
        axes.axhline(1, color="grey", lw=0.8)
        axes.set_xticks(range(len(graphs)), [f"class {case[3:]}\n{of.ranks(case)[0]} ranks" for case in graphs])
        axes.set_ylabel("times as fast")
        if bars:
            axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
        drawn.append((fig, out / "pure-fig4.png"))
    panels = [(case, name) for case, name in (("md-full", "a. md, balanced"), ("md-voids", "b. md, static voids"),
                                              ("md-moving", "c. md, moving voids"), ("amr", "d. amr, balanced"),
                                              ("amr-uneven", "amr, blocks stay with their ranks")) if case in of.cases]
    if panels:
        columns = min(3, len(panels))
        fig, grid = plt.subplots((len(panels) + columns - 1) // columns, columns, figsize=(4.6 * columns, 4 * ((len(panels) + columns - 1) // columns)),
                                 dpi=110, squeeze=False)
        fig.suptitle("Figure 5. Seconds over ranks; beyond the dotted line ranks share the problem of the cores", fontsize=11)
        for axes in grid.flat[len(panels):]:
            axes.set_visible(False)
        for axes, (case, name) in zip(grid.flat, panels):
            for peer in (p for p in order if p in of.peers(case)):
                at = [(ranks, of.seconds(case, ranks, peer)) for ranks in of.ranks(case)]
                at = [(ranks, seconds) for ranks, seconds in at if seconds is not None]
                axes.plot(*zip(*at), label=peer, color=colours[peer], marker="o", ms=4, lw=1.4)
            axes.axvline(CORES, color="grey", lw=0.8, ls=":")
            axes.set_title(name, fontsize=10)
            axes.set_xscale("log", base=2)
            axes.set_xticks(of.ranks(case), [str(n) for n in of.ranks(case)])
            axes.minorticks_off()
            axes.set_xlabel("ranks")
            axes.set_ylabel("seconds")
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False, fontsize=7)
        drawn.append((fig, out / "pure-fig5.png"))
    for figure, text in ((6, "messages by size"), (7, "barrier and all-reduce")):
        found = {}  # By ranks: [(name, speed-up)].
        for case in (case for case in of.cases if MICRO_ROWS[figure].fullmatch(case)):
            group, same_core, _ = case.partition("/same_core")
            for ranks in of.ranks(case):
                if gain := of.speed_up(case, ranks, "weft"):
                    where = "on one core" if same_core else f"{ranks} ranks"
                    found.setdefault(where, []).append((group.split("/", 1)[1].removeprefix("one_way/"), gain))
        if not found:
            continue
        fig, axes = plt.subplots(figsize=(9.5, 5), dpi=110)
        axes.set_title(f"Figure {figure}. Speed-up of {text} over the better MPI", fontsize=11)
        for where, gains in found.items():
            axes.plot(*zip(*gains), marker="o", ms=5, lw=1.4, ls="-" if figure == 6 else "", label=where)
        axes.axhline(1, color="grey", lw=0.8)
        axes.set_yscale("log")
        axes.set_ylabel("times as fast")
        axes.legend(frameon=False, fontsize=8)
        drawn.append((fig, out / f"pure-fig{figure}.png"))
    for fig, path in drawn:
        for axes in fig.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(True, axis="y", alpha=0.3)
        fig.tight_layout()
        fig.savefig(path)
        plt.close(fig)
    return [path for _, path in drawn]


def counts(text):
    found = [int(word) for word in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def parser():
    made = argparse.ArgumentParser(prog="bench pure", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build directory (default build/dev)")
    made.add_argument("--out", type=Path, default=ROOT / "out/bench", help="where CSV and PNG go (default out/bench)")
    made.add_argument("--quick", action="store_true", help="classes S and W, few ranks and steps, three repetitions: minutes")
    made.add_argument("--figures", type=counts, default=[4, 5, 6, 7], metavar="N,N", help="default 4,5,6,7")
    made.add_argument("--classes", metavar="LETTERS", help="of dt (default SWAB, quick SW)")
    made.add_argument("--ranks", type=counts, metavar="N,N", help="of figure 5 (default 1, 2, ... up to eight times the cores; quick twice)")
    made.add_argument("--peers", default=".", metavar="REGEX", help="only those whose names match")
    made.add_argument("--waves", type=int, help="of each run of dt (default 5, quick 3)")
    made.add_argument("--steps", type=int, help="of each run of md and amr (default 100, quick 20)")
    made.add_argument("--levels", type=int, help="of amr's mesh (default 5, quick 4)")
    made.add_argument("--repetitions", type=int, help="default 10, quick 3")
    made.add_argument("--limit", type=float, help="seconds after which a run is stopped (default 300, quick 60)")
    made.add_argument("--draw", type=Path, metavar="CSV", help="measure nothing: draw and judge an earlier pure.csv")
    made.add_argument("--store", type=Path, metavar="CSV", help="measure nothing: write the table of docs/pure-study.md from it")
    return made


def main(words=None):
    options = parser()
    args = options.parse_args(words)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    for name, usual, quick in (("classes", "SWAB", "SW"), ("waves", 5, 3), ("steps", 100, 20), ("levels", 5, 4),
                               ("repetitions", 10, 3), ("limit", 300, 60)):
        if getattr(args, name) is None:
            setattr(args, name, quick if args.quick else usual)
    if not set(args.figures) <= {4, 5, 6, 7}:
        options.error(f"--figures {args.figures}: there are 4 to 7")
    if not args.classes or not set(args.classes) <= set(GRAPH_RANKS):
        options.error(f"--classes '{args.classes}': letters of {''.join(GRAPH_RANKS)}")
    if min(args.waves, args.steps, args.repetitions, args.levels - 1) < 1 or args.limit <= 0:
        options.error("--waves, --steps, --repetitions are at least 1, --levels 2, --limit above 0")
    args.ranks = args.ranks or [2**i for i in range((CORES * (2 if args.quick else 8)).bit_length())]
    load, wrong = quiet.load_now(), False
    if args.draw or args.store:
        rows, machine = parcels.read(args.draw or args.store), parcels.machine_of("an earlier run")
    else:
        if not (args.build / "bin/weft-dt").exists():
            options.error(f"{args.build}/bin/weft-dt is not built; build first: ./dev build")
        rows, wrong = measure(args, load)
        if set(args.figures) & set(MICRO_ROWS):
            args.out.mkdir(parents=True, exist_ok=True)
            more, bad = measure_micro(args, load)
            rows, wrong = rows + more, wrong or bad
        machine = parcels.machine_of(f"load {load:.1f} before, {quiet.load_now():.1f} after; {args.repetitions} repetition(s)"
                                     f"{', quick' if args.quick else ''}")
    if not rows:
        print("pure: nothing was measured", file=sys.stderr)
        return 1
    of = Results(rows)
    if args.store:
        why = store(of, machine)
        print(f"pure: {why}" if why else f"table: {PAGE}", file=sys.stderr if why else sys.stdout)
        return 1 if why else 0
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.draw:
        parcels.write(args.out / "pure.csv", rows)
    parcels.write(args.out / "pure-mean.csv",
                  [dict(zip(("case", "ranks", "peer"), at), median=f"{median:.6g}", least=f"{least:.6g}", most=f"{most:.6g}",
                        repetitions=count) for at, (median, least, most, count) in of.points.items()])
    for path in parcels.drawn_by_any(draw, of, __file__, args.draw or args.out / "pure.csv", args.out):
        print(f"figure: {path}")
    text = table(of, machine)
    (args.out / "pure-findings.txt").write_text(text + "\n")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
