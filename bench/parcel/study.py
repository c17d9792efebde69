#!/usr/bin/python3
"""The study of HPX's LCI parcelport (Yan et al.), again, with weft's parcels: its microbenchmarks over every parcelport.

    bench/parcel/study.py --quick          a few minutes; also: ./dev bench parcel --quick
    bench/parcel/study.py                  the numbers of the paper, five repetitions: hours
    bench/parcel/study.py --list           the parcelports that would be run

Message rate against attempted injection rate (8 B in batches of 100, 16 KiB in batches of 10), latency against size, latency
against the window for 8 B and 16 KiB. Two processes. The parcelports are those that weftrun names; one that this build or
machine cannot run is left out with a line. All run one after the other, then the next repetition, so that a slow minute
meets all of them. Writes into --out:

    parcel.csv              a row for each parcelport, point and repetition
    parcel-mean.csv         mean, standard deviation and median of the repetitions
    parcel-fig1.png to -fig9.png    the figures of the paper
    parcel-findings.txt     its findings, one by one, beside what came out by the medians; whether that agrees is said only where
                            the machine was quiet at the start

Exit status 1 when a message was lost or changed, when it was stopped, or when nothing could be measured.
"""
import argparse
import collections
import csv
import importlib.util
import itertools
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import quiet

CORES = len(os.sched_getaffinity(0))
UNLIMITED = 0

# One run of bench-parcel, and the figures that its points are for.
Kind = collections.namedtuple("Kind", "name words batch rates messages quick_rates quick_messages")
KINDS = {
    "rate-8B": Kind("message rate, 8 B", ["rate", "--sizes", "8"], 100,
                    [100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000, UNLIMITED], 500_000,
                    [100_000, 400_000, 1_600_000, UNLIMITED], 20_000),
    "rate-16KiB": Kind("message rate, 16 KiB", ["rate", "--sizes", "16384"], 10,
                       [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, UNLIMITED], 100_000,
                       [10_000, 40_000, 160_000, UNLIMITED], 2_000),
    "latency-size": Kind("latency by size", ["latency"], None, None, None, None, None),
    "window-8B": Kind("latency by window, 8 B", ["latency", "--sizes", "8"], None, None, None, None, None),
    "window-16KiB": Kind("latency by window, 16 KiB", ["latency", "--sizes", "16384"], None, None, None, None, None),
}
SIZES = [8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]
QUICK_SIZES = [8, 512, 4096, 16384, 65536]
WINDOWS = [1, 2, 4, 8, 16, 32, 64]
QUICK_WINDOWS = [1, 8, 64]


# --- Which parcelports ------------------------------------------------------------------------------

def expand(name, letters):
    """All that a name of weftrun's stands for, whose parts of one capital letter are listed in `letters`."""
    choices = [letters.get(part, [part]) for part in name.split("_")]
    return ["_".join(words) for words in itertools.product(*choices)]


def named_in(text):
    """The parcelports of a line such as "give lci, lci_P_C (P: sr or psr, C: cq or sy), tcp or mpi, each with _i behind it
    or not; then ...": all but what follows the semicolon."""
    text = text.partition("give ")[2].partition(";")[0]
    listed = lambda words: [word for word in re.split(r", | or ", words.strip(", ")) if word]
    letters = {letter: listed(words) for letter, words in re.findall(r"([A-Z]): ((?:[^:()](?!\b[A-Z]:))+)", text)}
    names = []
    for name in listed(re.sub(r" *\([^)]*\)", "", text).partition(", each")[0]):
        for one in expand(name, letters):
            names += [one, one + "_i"] if "each with _i" in text else [one]
    return names


def parcelports(build):
    """The names of all, as weftrun tells them to whoever asks for one that there is not; of a weft that has no choice, one
    without a name."""
    told = subprocess.run([build / "bin" / "weftrun", "--processes", "2", "true"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "WEFT_PARCELPORT": "?"})
    return (named_in(told.stderr) if told.returncode else []) or [""]


def title(port):
    return port or "weft"


# --- Measuring --------------------------------------------------------------------------------------

class Progress:
    """A bar on a terminal, otherwise a line for each tenth."""

    def __init__(self, steps):
        self.steps, self.done, self.start, self.told = steps, 0, time.monotonic(), -1

    def show(self, what):
        part = self.done / max(1, self.steps)
        spent = time.monotonic() - self.start
        left = f", {spent / part - spent:.0f} s left" if part > 0.02 else ""
        if sys.stderr.isatty():
            bar = "#" * int(30 * part)
            print(f"\r\033[K[{bar:<30}] {self.done}/{self.steps} {what}{left}", end="", file=sys.stderr, flush=True)
        elif int(10 * part) != self.told:
            self.told = int(10 * part)
            print(f"study: {100 * part:.0f} %, {what}{left}", file=sys.stderr, flush=True)

    def step(self):
        self.done += 1

    def end(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def words_of(key, args):
    kind = KINDS[key]
    listed = lambda values: ",".join(map(str, values))
    if key.startswith("rate"):
        rates, messages = (kind.quick_rates, kind.quick_messages) if args.quick else (kind.rates, kind.messages)
        words = kind.words + ["--batch", kind.batch, "--rates", listed(rates), "--messages", args.messages or messages]
        return words + ["--seconds", 0.1 if args.quick else 2]
    hops = args.hops or (200 if args.quick else 2000)
    if key == "latency-size":
        return kind.words + ["--sizes", listed(QUICK_SIZES if args.quick else SIZES), "--hops", hops]
    return kind.words + ["--windows", listed(QUICK_WINDOWS if args.quick else WINDOWS), "--hops", hops]


def end(process):
    """What it has printed. weftrun ends its processes when asked; killed at once it would leave them spinning."""
    process.terminate()
    try:
        return process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def run(port, key, args):
    """Returns (rows, why it failed or None, whether messages were wrong)."""
    command = [str(args.build / "bin" / "weftrun"), "--processes", "2", "--workers", str(args.workers),
               str(args.build / "bin" / "bench-parcel"), *map(str, words_of(key, args))]
    environment = {**os.environ, "BENCH_PRIORITY": str(args.priority)}
    if port:
        environment["WEFT_PARCELPORT"] = port
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = process.communicate(timeout=args.limit)
        why = None if process.returncode == 0 else (errors.strip().splitlines() or [f"status {process.returncode}"])[0]
    except subprocess.TimeoutExpired:
        out, errors = end(process)
        why = f"no end after {args.limit:g} s"
    finally:
        if process.poll() is None:
            end(process)
    lines = out.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("what,")), None)
    rows = [] if start is None else list(csv.DictReader(lines[start:]))
    rows = [row for row in rows if None not in row.values()]  # The last one may be cut off.
    return rows, why, "lost or changed" in errors


def measure(ports, args):
    """Returns (rows, {port: why it was left out}, whether messages were wrong)."""
    rows, left_out, wrong = [], {}, False
    progress = Progress(args.repetitions * len(args.kinds) * len(ports))
    try:
        for repetition in range(args.repetitions):
            for key in args.kinds:
                for port in ports:
                    progress.show(f"{title(port)}, {KINDS[key].name}, repetition {repetition + 1}")
                    if (port, key) not in left_out and port not in left_out:
                        found, why, bad = run(port, key, args)
                        wrong |= bad
                        rows += [{"parcelport": title(port), "kind": key, **row, "repetition": repetition} for row in found]
                        if why:
                            # What cannot start at all is not tried again, nor is a kind that does not end.
                            left_out[(port, key) if found else port] = why
                            progress.end()
                            print(f"study: {title(port)}, {KINDS[key].name}: {why}", file=sys.stderr)
                    progress.step()
    except KeyboardInterrupt:
        progress.end()
        print("study: stopped; what has been measured is written", file=sys.stderr)
        wrong = True
    progress.end()
    return rows, left_out, wrong


# --- What comes out ---------------------------------------------------------------------------------

def point(row):
    return row["parcelport"], row["kind"], int(row["size"]), int(row["attempted_per_s"] or 0), int(row["window"] or 0)


def figure_of(row):
    return float(row["latency_us"]) if row["what"] == "latency" else float(row["achieved_per_s"])


def means(rows):
    """{point: (mean, standard deviation, repetitions, median)}"""
    by_point = collections.defaultdict(list)
    for row in rows:
        by_point[point(row)].append(figure_of(row))
    return {at: (statistics.fmean(of), statistics.stdev(of) if len(of) > 1 else 0.0, len(of), statistics.median(of))
            for at, of in by_point.items()}


def write(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys())
        out.writeheader()
        out.writerows(rows)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Results:
    def __init__(self, rows):
        self.mean = means(rows)
        # Whether it was quiet (quiet.py); rows of long ago do not say it.
        self.load = max((float(row["load"]) for row in rows if row.get("load")), default=None)
        self.ports = list(dict.fromkeys(row["parcelport"] for row in rows))

    def curve(self, port, kind):
        """[(attempted rate, window or size, mean, deviation)] of one parcelport, in order; no limit as the last rate."""
        at = {"rate-8B": 3, "rate-16KiB": 3, "latency-size": 2, "window-8B": 4, "window-16KiB": 4}[kind]
        points = [(where[at], mean, deviation) for where, (mean, deviation, *_) in self.mean.items()
                  if where[0] == port and where[1] == kind]
        return sorted(points, key=lambda p: (kind.startswith("rate") and p[0] == UNLIMITED, p[0]))

    def best(self, port, kind):
        """(mean, deviation) of the highest rate."""
        return max(((m, d) for _, m, d in self.curve(port, kind)), default=None)

    # The findings go by medians, since others on the machine make a single repetition ten times as long.
    def medians(self, port, kind):
        return {where[2:]: middle for where, (*_, middle) in self.mean.items() if where[:2] == (port, kind)}

    def rate(self, port, kind):
        """The highest."""
        return max(self.medians(port, kind).values(), default=None)

    def latency(self, port, kind, at):
        return next((m for (size, _, window), m in self.medians(port, kind).items()
                     if (size if kind == "latency-size" else window) == at), None)


VARIANT = re.compile(r"lci_(sr|psr)_(cq|sy)_(\w+?)(_i)?$")


def overview(ports):
    """What figures 1, 4, 7, 8 and 9 begin with: every port, and of the variants the baseline with and without aggregation."""
    return [p for p in ports if not VARIANT.match(p) or p in ("lci_psr_cq_pin", "lci_psr_cq_pin_i")]


def immediate_variants(ports):
    return [p for p in ports if VARIANT.match(p) and p.endswith("_i")]


FIGURES = {  # Number: (kind, which parcelports, what it is)
    1: ("rate-8B", overview, "Message rate of 8 B messages"),
    2: ("rate-8B", immediate_variants, "Message rate of 8 B messages, variants that send at once"),
    3: ("rate-8B", None, "Highest message rate of 8 B messages"),
    4: ("rate-16KiB", overview, "Message rate of 16 KiB messages"),
    5: ("rate-16KiB", immediate_variants, "Message rate of 16 KiB messages, variants that send at once"),
    6: ("rate-16KiB", None, "Highest message rate of 16 KiB messages"),
    7: ("latency-size", lambda ports: overview(ports) + [p for p in immediate_variants(ports) if p not in overview(ports)],
        "Latency by size, one message at a time"),
    8: ("window-8B", lambda ports: overview(ports) + [p for p in immediate_variants(ports) if p not in overview(ports)],
        "Latency of 8 B messages by window"),
    9: ("window-16KiB", lambda ports: overview(ports) + [p for p in immediate_variants(ports) if p not in overview(ports)],
        "Latency of 16 KiB messages by window"),
}


def count_text(value, _=None):
    for unit, factor in (("M", 1e6), ("K", 1e3)):
        if value >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def bytes_text(value, _=None):
    return f"{value // 1024:g} KiB" if value >= 1024 else f"{value:g} B"


def draw(results, out):
    """Returns the paths of the figures of which there are rows."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    palette = [*plt.get_cmap("tab20").colors, *plt.get_cmap("Dark2").colors, *plt.get_cmap("Set1").colors]
    colours = {port: palette[i % len(palette)] for i, port in enumerate(results.ports)}
    marks = {port: "os^Dv<>Pp*X"[i % 11] for i, port in enumerate(results.ports)}
    drawn = []
    for number, (kind, which, text) in FIGURES.items():
        is_rate = kind.startswith("rate")
        ports = [p for p in (which(results.ports) if which else results.ports) if results.curve(p, kind)]
        if not ports:
            continue
        fig, axes = plt.subplots(figsize=(9.5, 5), dpi=110)
        axes.set_title(f"Figure {number}. {text}", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        if which is None:
            best = sorted(((results.best(p, kind), p) for p in ports), reverse=True)
            axes.barh([p for _, p in best], [b[0] for b, _ in best], xerr=[b[1] for b, _ in best],
                      color=[colours[p] for _, p in best], capsize=3)
            axes.invert_yaxis()
            axes.set_xlim(0)
            axes.xaxis.set_major_formatter(count_text)
            axes.set_xlabel("messages a second")
            axes.grid(True, axis="x", alpha=0.3)
            axes.tick_params(axis="y", labelsize=8)
            fig.set_figheight(max(3.5, 1.2 + 0.24 * len(best)))
        else:
            places = sorted({where for p in ports for where, _, _ in results.curve(p, kind)},
                            key=lambda at: (is_rate and at == UNLIMITED, at))
            for port in ports:
                curve = results.curve(port, kind)
                axes.errorbar([places.index(at) for at, _, _ in curve], [m for _, m, _ in curve], yerr=[d for _, _, d in curve],
                              label=port, color=colours[port], marker=marks[port], ms=4, lw=1.2, capsize=2,
                              ls="-" if port.endswith("_i") else "--")
            if is_rate:
                limited = [at for at in places if at != UNLIMITED]
                axes.plot(range(len(limited)), limited, color="#999999", lw=0.8, ls=":", label="as attempted")
                axes.set_xlabel("attempted injection rate, messages a second")
                axes.set_ylabel("message rate, a second")
                axes.set_yscale("log")
                axes.yaxis.set_major_formatter(count_text)
                labels = ["unlimited" if at == UNLIMITED else count_text(at) for at in places]
            else:
                axes.set_yscale("log")
                axes.set_ylabel("latency one way, µs")
                axes.yaxis.set_major_formatter(lambda v, _: f"{v:g}")
                axes.set_xlabel("size of a message" if kind == "latency-size" else "window: messages at the same time")
                labels = [bytes_text(at) if kind == "latency-size" else f"{at}" for at in places]
            axes.set_xticks(range(len(places)), labels)
            axes.grid(True, axis="y", alpha=0.3)
            axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        fig.tight_layout()
        path = out / f"parcel-fig{number}.png"
        fig.savefig(path)
        plt.close(fig)
        drawn.append(path)
    return drawn


def drawn_by_any(draw, results, script, rows, out):
    """draw(results, out), by the system's python where this one has no matplotlib: then `script` draws what is in `rows`."""
    if importlib.util.find_spec("matplotlib"):
        return draw(results, out)
    python = "/usr/bin/python3"
    if sys.executable != python and subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
        subprocess.run([python, script, "--draw", str(rows), "--out", str(out)], stdout=subprocess.DEVNULL, check=True)
        return sorted(out.glob(f"{rows.stem}-fig*.png"))
    print("no figures: no python here has matplotlib; install python3-matplotlib and run "
          f"{python} {script} --draw {rows}", file=sys.stderr)
    return []


# --- The findings of the paper ----------------------------------------------------------------------

def ratio(a, b):
    return a / b if a and b else None


def findings(of):
    """[(where, what the paper found, its ratio, ours or None, whether it agrees or None)]"""
    peak = of.rate
    least_of = lambda ports, value: min((v for v in map(value, ports) if v), default=None)
    best_of = lambda ports, value: max((v for v in map(value, ports) if v), default=None)
    rate8, rate16 = (lambda p: peak(p, "rate-8B")), (lambda p: peak(p, "rate-16KiB"))
    window = lambda p, kind, at: of.latency(p, kind, at)
    lci = [p for p in of.ports if p.startswith("lci")]
    mpi = [p for p in of.ports if p in ("mpi", "mpi_i")]
    has = lambda *words: [p for p in immediate_variants(of.ports) if all(f"_{w}_" in p for w in words)]
    at_once, queued = "lci_psr_cq_pin_i", "lci_psr_cq_pin"
    all_found = [
        ("fig. 3", "8 B: the best of LCI over the best of MPI, rate", "> 1", ratio(best_of(lci, rate8), best_of(mpi, rate8)), 1.05),
        ("fig. 6", "16 KiB: the same", "up to 30", ratio(best_of(lci, rate16), best_of(mpi, rate16)), 1.05),
        ("fig. 3", "8 B: dedicated progress over all workers (psr_cq), rate", "2.6",
         ratio(rate8(at_once), rate8("lci_psr_cq_mt_i")), 1.05),
        ("fig. 6", "16 KiB: the best with dedicated progress over the best without, rate", "1.17 to 1.5",
         ratio(best_of(has("pin"), rate16), best_of(has("mt"), rate16)), 1.05),
        ("fig. 2", "8 B: put over send and receive (cq_pin), rate", "3.5", ratio(rate8(at_once), rate8("lci_sr_cq_pin_i")), 1.05),
        ("fig. 1", "8 B: sending at once over aggregation (psr_cq_pin), rate", "1.8", ratio(rate8(at_once), rate8(queued)), 1.05),
        ("fig. 1", "8 B: aggregation over sending at once (sr_cq_pin), rate", "2",
         ratio(rate8("lci_sr_cq_pin"), rate8("lci_sr_cq_pin_i")), 1.05),
        ("fig. 4", "16 KiB: sending at once over aggregation (psr_cq_pin), rate", "about 5",
         ratio(rate16(at_once), rate16(queued)), 1.05),
        ("fig. 6", "16 KiB: completion queues over synchronizers, best of each, rate", "1.25 to 1.3",
         ratio(best_of(has("cq"), rate16), best_of(has("sy"), rate16)), 1.05),
        ("fig. 7", "8 B: latency of MPI over LCI (mpi_i, psr_cq_pin)", "1.3",
         ratio(window("mpi_i", "latency-size", 8), window(queued, "latency-size", 8)), 1.05),
        ("fig. 7", "16 KiB: the same", "3 to 5", ratio(window("mpi_i", "latency-size", 16384), window(queued, "latency-size", 16384)), 1.05),
        ("fig. 7", "8 B: latency with aggregation over sending at once (psr_cq_pin)", "> 1",
         ratio(window(queued, "latency-size", 8), window(at_once, "latency-size", 8)), 1.0),
        ("fig. 7", "8 B: latency of the best with all workers over the best with dedicated progress", "> 1",
         ratio(least_of(has("mt"), lambda p: window(p, "latency-size", 8)), least_of(has("pin"), lambda p: window(p, "latency-size", 8))), 1.0),
        ("fig. 8", "8 B: latency at window 64 over window 1 (psr_cq_pin_i)", "> 1",
         ratio(window(at_once, "window-8B", 64), window(at_once, "window-8B", 1)), 1.05),
        ("fig. 9", "16 KiB: MPI over LCI at window 1 (mpi_i, psr_cq_pin_i)", "2",
         ratio(window("mpi_i", "window-16KiB", 1), window(at_once, "window-16KiB", 1)), 1.05),
        ("fig. 9", "16 KiB: MPI over LCI at window 64", "9.6",
         ratio(window("mpi_i", "window-16KiB", 64), window(at_once, "window-16KiB", 64)), 1.05),
        ("fig. 8", "8 B: window 64, the best other variant over psr_cq_pin_i", "> 1",
         ratio(least_of([p for p in immediate_variants(of.ports) if p != at_once], lambda p: window(p, "window-8B", 64)),
               window(at_once, "window-8B", 64)), 1.0),
    ]
    return [(where, text, paper, ours, None if ours is None else ours >= least) for where, text, paper, ours, least in all_found]


def table(of, machine):
    lines = [machine, "medians of the repetitions", "", f"{'':8} {'finding':72} {'paper':>12} {'here':>8}"]
    for where, text, paper, ours, agrees in findings(of):
        lines.append(f"{where:8} {text:72} {paper:>12} {'-' if ours is None else format(ours, '.2f'):>8}  "
                     f"{quiet.said(agrees, of.load)}")
    lines += ["", f"{'parcelport':24} {'8 B/s':>10} {'16 KiB/s':>10} {'8 B, us':>9} {'16 KiB, us':>11} {'8 B x 64':>9} {'16 KiB x 64':>12}"]
    text = lambda value, form: "-" if value is None else format(value, form)
    for port in of.ports:
        peaks = [of.rate(port, kind) for kind in ("rate-8B", "rate-16KiB")]
        times = [of.latency(port, "latency-size", 8), of.latency(port, "latency-size", 16384),
                 of.latency(port, "window-8B", 64), of.latency(port, "window-16KiB", 64)]
        lines.append(f"{port:24} {text(peaks[0], '.0f'):>10} {text(peaks[1], '.0f'):>10} {text(times[0], '.2f'):>9} "
                     f"{text(times[1], '.2f'):>11} {text(times[2], '.2f'):>9} {text(times[3], '.2f'):>12}")
    return "\n".join(lines)


def machine_of(what):
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return f"{CORES} cores of {model[1] if model else os.uname().machine}; {what}"


def machine_text(args, before):
    return machine_of(f"two processes, {args.workers} worker(s) each; load {before:.1f} before, {quiet.load_now():.1f} after; "
                      f"{args.repetitions} repetition(s){', quick' if args.quick else ''}")


def parser():
    made = argparse.ArgumentParser(prog="study.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--build", type=Path, default=ROOT / "build/dev", help="build directory (default build/dev)")
    made.add_argument("--out", type=Path, default=ROOT / "out/bench", help="where CSV and PNG go (default out/bench)")
    made.add_argument("--quick", action="store_true", help="few points, few messages, three repetitions: a few minutes")
    made.add_argument("--parcelports", default="", metavar="REGEX", help="only those whose names match (default all)")
    made.add_argument("--kinds", default=",".join(KINDS), help=f"which measurements (default {','.join(KINDS)})")
    made.add_argument("--repetitions", type=int, help="default 5, quick 3")
    made.add_argument("--messages", type=int, help="of a point of the message rate, instead of the paper's")
    made.add_argument("--hops", type=int, help="of a chain of the latency (default 2000, quick 200)")
    made.add_argument("--workers", type=int, default=max(1, CORES // 2), help="of each process (default half of the cores)")
    made.add_argument("--priority", type=int, default=0, help="SCHED_FIFO priority, 0 for none (default 0)")
    made.add_argument("--limit", type=float, default=120, help="seconds after which a run is stopped (default 120)")
    made.add_argument("--draw", type=Path, metavar="CSV", help="measure nothing: draw and judge an earlier parcel.csv")
    made.add_argument("--list", action="store_true", help="print the parcelports and end")
    return made


def main(words=None):
    options = parser()
    args = options.parse_args(words)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    args.repetitions = args.repetitions or (3 if args.quick else 5)
    args.kinds = args.kinds.split(",")
    for key in args.kinds:
        if key not in KINDS:
            options.error(f"no measurement '{key}'; there are {', '.join(KINDS)}")
    if args.repetitions < 1:
        options.error(f"--repetitions {args.repetitions}: at least 1")
    before, wrong = quiet.load_now(), False
    if args.draw:
        rows, machine = read(args.draw), f"from {args.draw.name}"
    else:
        for program in ("weftrun", "bench-parcel"):
            if not (args.build / "bin" / program).exists():
                options.error(f"{args.build}/bin/{program} is not built; build first: ./dev build")
        ports = [p for p in parcelports(args.build) if re.search(args.parcelports, title(p))]
        if args.list:
            print("\n".join(map(title, ports)))
            return 0
        if not ports:
            options.error(f"no parcelport matches '{args.parcelports}'; --list names them")
        rows, _, wrong = measure(ports, args)
        for row in rows:
            row["load"] = f"{before:.2f}"
        machine = machine_text(args, before)
    if not rows:
        print("study: nothing was measured", file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)
    if not args.draw:
        write(args.out / "parcel.csv", rows)
    results = Results(rows)
    write(args.out / "parcel-mean.csv",
          [dict(zip(("parcelport", "kind", "size", "attempted_per_s", "window"), at),
                mean=f"{mean:.6g}", deviation=f"{deviation:.3g}", median=f"{middle:.6g}", repetitions=count)
           for at, (mean, deviation, count, middle) in results.mean.items()])
    for path in drawn_by_any(draw, results, __file__, args.draw or args.out / "parcel.csv", args.out):
        print(f"figure: {path}")
    text = table(results, machine)
    (args.out / "parcel-findings.txt").write_text(text + "\n")
    print(f"rows: {args.draw or args.out / 'parcel.csv'}\n{text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
