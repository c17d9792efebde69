#!/usr/bin/python3
"""Figures 10 and 11 of the study of HPX's LCI parcelport (Yan et al.), again: steps per second of an octree over localities, for
each parcelport, with weft-octree in Octo-Tiger's place.

    ./dev bench octree --quick         small trees, three repetitions: minutes
    ./dev bench octree                 the paper's levels, 6 and 5, five repetitions: hours
    ./dev bench octree --draw CSV      measure nothing: draw and judge an earlier octree.csv

Each locality is a process; the cores are shared out among them. All ports run one after the other, then the next repetition,
so that a slow minute meets all of them. Every run must come to the same numbers, to the bit. Writes into --out:

    octree.csv                         a row for each run
    octree-mean.csv                    mean, standard deviation and median of the repetitions
    octree-fig10.png, octree-fig11.png steps per second (solid, left), and what lci is faster than mpi (dashed, right)
    octree-findings.txt                what the paper found, beside what came out by the medians; whether that agrees is said only
                                       where the machine was quiet at the start

Exit status 1 when cells differ, when a run was stopped, or when nothing could be measured.
"""
import argparse
import collections
import csv
import os
import re
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
# Number, the paper's machine, levels there and of --quick, and how much faster lci was than mpi_i and than mpi, at most.
Figure = collections.namedtuple("Figure", "number machine levels quick_levels over_mpi_i over_mpi")
FIGURES = [Figure(10, "SDSC Expanse", 6, 4, 13.6, 1.175), Figure(11, "Rostam", 5, 3, 1.08, 1.04)]
DEFAULT_PORTS = r"^(lci|mpi[^_]*|tcp)(_i)?(:\w+)?$|^lci_psr_cq_(pin|mt)_i$"
PAPERS_LCI = "lci_psr_cq_pin_i"  # What the paper calls lci in these figures.


# --- Measuring --------------------------------------------------------------------------------------

def figures_of(output):
    """What weft-octree has printed at its end: steps and messages a second, per cent of the time without work, the hash."""
    time = re.search(r"^time .*?([\d.]+) steps/s, ([\d.]+) messages/s.*?([\d.]+) % idle", output, re.M)
    hashed = re.search(r"^hash +(\w+)", output, re.M)
    return (float(time[1]), float(time[2]), float(time[3]), hashed[1]) if time and hashed else None


def run(port, localities, levels, args):
    """Returns (figures or None, why there are none)."""
    command = [str(args.build / "bin" / "weftrun"), "--processes", str(localities), "--workers",
               str(args.workers or max(1, CORES // localities)), str(args.build / "bin" / "weft-octree"), "--exchange", "parcels",
               "--levels", str(levels), "--steps", str(args.steps), "--report", str(args.steps)]
    process = subprocess.Popen(command, env={**os.environ, "WEFT_PARCELPORT": port}, stdout=subprocess.PIPE,
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


def measure(ports, args, load):
    """Returns (rows, whether something was wrong)."""
    rows, left_out, hashes, wrong = [], set(), {}, False
    progress = parcels.Progress(args.repetitions * len(args.figures) * len(args.localities) * len(ports))
    try:
        for repetition in range(args.repetitions):
            for figure in args.figures:
                levels = args.levels or (figure.quick_levels if args.quick else figure.levels)
                for localities in args.localities:
                    for port in ports:
                        progress.show(f"figure {figure.number}, {port}, {localities} localities, repetition {repetition + 1}")
                        if (port, localities > 1) not in left_out:
                            found, why = run(port, localities, levels, args)
                            if found:
                                steps_per_s, messages_per_s, idle, hashed = found
                                rows.append({"figure": figure.number, "levels": levels, "parcelport": port,
                                             "localities": localities, "repetition": repetition, "steps": args.steps,
                                             "steps_per_s": steps_per_s, "messages_per_s": messages_per_s,
                                             "idle_percent": idle, "hash": hashed, "load": f"{load:.2f}"})
                                if hashes.setdefault(levels, hashed) != hashed:
                                    wrong = True
                                    progress.end()
                                    print(f"octree: {port} with {localities} localities came to other cells: hash {hashed}, "
                                          f"not {hashes[levels]}", file=sys.stderr)
                            else:
                                # What cannot start is not tried again.
                                left_out.add((port, localities > 1))
                                progress.end()
                                print(f"octree: {port}, {localities} localities: {why}", file=sys.stderr)
                        progress.step()
    except KeyboardInterrupt:
        progress.end()
        print("octree: stopped; what has been measured is written", file=sys.stderr)
        wrong = True
    progress.end()
    return rows, wrong


# --- What comes out ---------------------------------------------------------------------------------

class Results:
    def __init__(self, rows):
        self.ports = list(dict.fromkeys(row["parcelport"] for row in rows))
        self.levels = {int(row["figure"]): int(row["levels"]) for row in rows}
        self.loads = {float(row["load"]) for row in rows if row.get("load")}
        by_point = collections.defaultdict(list)
        for row in rows:
            by_point[int(row["figure"]), row["parcelport"], int(row["localities"])].append(float(row["steps_per_s"]))
        self.points = {at: (statistics.fmean(of), statistics.stdev(of) if len(of) > 1 else 0.0, statistics.median(of), len(of))
                       for at, of in by_point.items()}

    @property
    def load(self):
        return max(self.loads, default=None)

    def curve(self, figure, port):
        """[(localities, mean, deviation, median)]"""
        return sorted((at[2], *found[:3]) for at, found in self.points.items() if at[:2] == (figure, port))

    def lci(self):
        """The paper's variant; where that could not run, the nearest."""
        return next((p for p in (PAPERS_LCI, "lci_psr_cq_mt_i", "lci_i", "lci") if p in self.ports), None)

    def others(self, immediate):
        """mpi or mpi_i, over whichever MPI."""
        return [p for p in self.ports if re.fullmatch("mpi_i(:.*)?" if immediate else "mpi(:.*)?", p)]

    def speedups(self, figure, over):
        """{localities: how many times as many steps a second lci has}, of several localities."""
        mine = {n: median for n, _, _, median in self.curve(figure, self.lci())}
        theirs = {n: median for n, _, _, median in self.curve(figure, over)}
        return {n: mine[n] / theirs[n] for n in sorted(mine) if n > 1 and theirs.get(n)}


def findings(of):
    """[(figure, text, the paper's, ours, whether it agrees)]; what is not measured is None."""
    found = []
    for figure in FIGURES:
        for immediate, most in ((True, figure.over_mpi_i), (False, figure.over_mpi)):
            ours = max((value for port in of.others(immediate) for value in of.speedups(figure.number, port).values()), default=None)
            found.append((f"fig. {figure.number}", f"{of.lci()} over {'mpi_i' if immediate else 'mpi'}, steps/s, at most", most, ours,
                          None if ours is None else ours >= 1))
        growing = [after / before for before, after in zip(*(lambda s: (s, s[1:]))(list(of.speedups(
            figure.number, (of.others(True) or [""])[0]).values())))]
        found.append((f"fig. {figure.number}", "what lci is faster than mpi_i grows with the localities", None,
                      min(growing, default=None), all(g >= 1 for g in growing) if growing else None))
    return found


def table(of, machine):
    lines = [machine, "medians of the repetitions", "", f"{'':8} {'finding':62} {'paper':>7} {'here':>7}"]
    for where, text, paper, ours, agrees in findings(of):
        number = lambda value: "" if value is None else f"{value:.2f}"
        lines.append(f"{where:8} {text:62} {number(paper):>7} {number(ours) or '-':>7}  {quiet.said(agrees, of.load)}")
    for figure, levels in sorted(of.levels.items()):
        counts = sorted({at[2] for at in of.points if at[0] == figure})
        lines += ["", f"figure {figure}, levels up to {levels}: steps/s with so many localities",
                  f"{'parcelport':24}" + "".join(f"{n:>10}" for n in counts)]
        for port in of.ports:
            medians = {n: median for n, _, _, median in of.curve(figure, port)}
            if medians:
                lines.append(f"{port:24}" + "".join(f"{medians[n]:>10.3f}" if n in medians else f"{'-':>10}" for n in counts))
    return "\n".join(lines)


def draw(of, out):
    """Returns the paths of what was drawn."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    colours = dict(zip(of.ports, plt.get_cmap("tab10").colors * 4))
    drawn = []
    for figure in FIGURES:
        if figure.number not in of.levels:
            continue
        fig, steps = plt.subplots(figsize=(9.5, 5), dpi=110)
        steps.set_title(f"Figure {figure.number}. Steps per second of weft-octree, levels up to {of.levels[figure.number]}\n"
                        f"(the paper: Octo-Tiger on {figure.machine}, levels up to {figure.levels})", fontsize=11)
        for i, port in enumerate(of.ports):
            curve = of.curve(figure.number, port)
            if curve:
                steps.errorbar([n for n, *_ in curve], [mean for _, mean, _, _ in curve], yerr=[d for _, _, d, _ in curve], label=port,
                               color=colours[port], marker="os^Dv<>Pp*X"[i % 11], ms=5, lw=1.4, capsize=3)
        gain = steps.twinx()
        for port in of.others(True) + of.others(False):
            gains = of.speedups(figure.number, port)
            if gains:
                gain.plot(list(gains), list(gains.values()), color=colours[port], ls="--", lw=1.2, marker=".", label=f"{of.lci()} over {port}")
        counts = sorted({at[2] for at in of.points if at[0] == figure.number})
        steps.set_xscale("log", base=2)
        steps.set_xticks(counts, [str(n) for n in counts])
        steps.minorticks_off()
        steps.set_xlabel("localities")
        steps.set_ylabel("steps per second")
        steps.set_ylim(bottom=0)
        steps.spines[["top"]].set_visible(False)
        gain.spines[["top"]].set_visible(False)
        gain.set_ylabel("speedup of lci (dashed)")
        gain.set_ylim(bottom=0)
        if not gain.lines:
            gain.set_visible(False)
        steps.grid(True, axis="y", alpha=0.3)
        lines, labels = (a + b for a, b in zip(steps.get_legend_handles_labels(), gain.get_legend_handles_labels()))
        steps.legend(lines, labels, frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.09, 1))
        fig.tight_layout()
        drawn.append(out / f"octree-fig{figure.number}.png")
        fig.savefig(drawn[-1])
        plt.close(fig)
    return drawn


def counts(text):
    found = [int(word) for word in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def parser():
    made = argparse.ArgumentParser(prog="bench octree", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build directory (default build/dev)")
    made.add_argument("--out", type=Path, default=ROOT / "out/bench", help="where CSV and PNG go (default out/bench)")
    made.add_argument("--quick", action="store_true", help="levels 4 and 3, three repetitions, two localities: minutes")
    made.add_argument("--parcelports", default=DEFAULT_PORTS, metavar="REGEX",
                      help="only those whose names match; '.' is all (default lci, mpi, tcp and the paper's lci)")
    made.add_argument("--figures", type=counts, default=[f.number for f in FIGURES], metavar="N,N", help="default 10,11")
    made.add_argument("--localities", type=counts, metavar="N,N", help="default 1, 2, 4, ... up to the cores, 2 at least")
    made.add_argument("--levels", type=int, help="instead of each figure's")
    made.add_argument("--steps", type=int, default=5, help="of each run (default 5, as in the paper)")
    made.add_argument("--repetitions", type=int, help="default 5, quick 3")
    made.add_argument("--workers", type=int, help="of each process (default its share of the cores)")
    made.add_argument("--limit", type=float, default=600, help="seconds after which a run is stopped (default 600)")
    made.add_argument("--draw", type=Path, metavar="CSV", help="measure nothing: draw and judge an earlier octree.csv")
    made.add_argument("--list", action="store_true", help="print the parcelports and end")
    return made


def main(words=None):
    options = parser()
    args = options.parse_args(words)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    args.repetitions = args.repetitions or (3 if args.quick else 5)
    known = [f.number for f in FIGURES]
    if not set(args.figures) <= set(known):
        options.error(f"--figures {args.figures}: there are {known}")
    if args.repetitions < 1 or args.steps < 1:
        options.error("--repetitions and --steps are at least 1")
    args.figures = [f for f in FIGURES if f.number in args.figures]
    args.localities = args.localities or ([1, 2] if args.quick else [2**i for i in range(max(1, CORES.bit_length() - 1) + 1)])
    load, wrong = quiet.load_now(), False
    if args.draw:
        rows, machine = parcels.read(args.draw), f"from {args.draw.name}"
    else:
        for program in ("weftrun", "weft-octree"):
            if not (args.build / "bin" / program).exists():
                options.error(f"{args.build}/bin/{program} is not built; build first: ./dev build")
        ports = [p for p in parcels.parcelports(args.build) if re.search(args.parcelports, p)]
        if args.list:
            print("\n".join(ports))
            return 0
        if not ports:
            options.error(f"no parcelport matches '{args.parcelports}'; --list --parcelports . names them")
        rows, wrong = measure(ports, args, load)
        machine = parcels.machine_of(f"{args.steps} steps; load {load:.1f} before, {quiet.load_now():.1f} after; "
                                     f"{args.repetitions} repetition(s){', quick' if args.quick else ''}")
    if not rows:
        print("octree: nothing was measured", file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.draw:
        parcels.write(args.out / "octree.csv", rows)
    of = Results(rows)
    parcels.write(args.out / "octree-mean.csv",
                  [dict(zip(("figure", "parcelport", "localities"), at), mean=f"{mean:.6g}", deviation=f"{deviation:.3g}",
                        median=f"{middle:.6g}", repetitions=count) for at, (mean, deviation, middle, count) in of.points.items()])
    for path in parcels.drawn_by_any(draw, of, __file__, args.draw or args.out / "octree.csv", args.out):
        print(f"figure: {path}")
    text = table(of, machine)
    (args.out / "octree-findings.txt").write_text(text + "\n")
    print(f"rows: {args.draw or args.out / 'octree.csv'}\n{text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
