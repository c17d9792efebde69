#!/usr/bin/python3
"""Predicted against measured: what weft-breakdown scale says of more ranks, and how long they take.

    bench/breakdown/scale.py [--build DIR] [--out DIR] [PATTERN...]      all patterns: about a minute

Each pattern is recorded once, with the fewest ranks; from that record its time with up to 16 ranks is predicted, and run. Of
each number of ranks the fastest of --repeat runs counts, since other programs only add to it. Writes scale.csv and, where
matplotlib is installed, scale.png, and prints the table. The ranks share the machine's cores, as those of the record do, so
what is predicted is how they take turns and wait. Exit status 1 when a program failed; an error of a prediction is a figure.
"""
import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Pattern:
    """A program by number of ranks, and how many ranks are recorded and run."""

    def __init__(self, title, recorded, more, program):
        self.title, self.recorded, self.more, self.program = title, recorded, more, program


def patterns(bin_directory, compiled):
    """A row needs three ranks to show its inner ones and its ends, a grid three by three, a ring of blocks four."""
    md = str(bin_directory / "weft-md")
    return {
        "allreduce": Pattern("all-reduce, 8 KiB", 2, (4, 8, 12, 16), lambda n: [compiled, "allreduce", "60", "600000", "8192"]),
        "halo": Pattern("halo exchange in a row, 4 KiB", 3, (4, 6, 8, 12, 16), lambda n: [compiled, "row", "60", "600000", "4096"]),
        "stencil": Pattern("stencil in two dimensions, 4 KiB", 9, (12, 16), lambda n: [compiled, "grid", "60", "600000", "4096"]),
        "md": Pattern("molecular dynamics, a ring of blocks", 4, (6, 8, 12, 16),
                      lambda n: [md, "--size", f"{6 * n}x6x6", "--steps", "20", "--tasks", "off"]),
    }


def run(words, directory):
    done = subprocess.run([str(word) for word in words], cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def recorded_runs(weftrun, pattern, name, ranks, repeat, directory):
    files = []
    for attempt in range(repeat):
        files.append(f"{name}-{ranks}-{attempt}.events")
        run([weftrun, "--trace", files[-1], "-n", ranks, *pattern.program(ranks)], directory)
    return files


def rows_of(breakdown, record, message, measured, directory):
    text = run([breakdown, "scale", record, "--message", message, "--csv", "--measured", *measured], directory)
    return list(csv.DictReader(io.StringIO(text)))


def fastest(rows):
    return min(rows, key=lambda row: float(row["measured_seconds"]))


def look_at(name, pattern, tools, message, repeat, directory, tell):
    """One row for each number of ranks."""
    weftrun, breakdown = tools
    runs = recorded_runs(weftrun, pattern, name, pattern.recorded, repeat, directory)
    own = [fastest(rows_of(breakdown, file, message, [file], directory)) for file in runs]
    record = runs[own.index(fastest(own))]
    found = []
    for ranks in (pattern.recorded, *pattern.more):
        files = runs if ranks == pattern.recorded else recorded_runs(weftrun, pattern, name, ranks, repeat, directory)
        row = fastest(rows_of(breakdown, record, message, files, directory))
        found.append({"pattern": name, "recorded_ranks": pattern.recorded, "ranks": ranks, "workers": row["workers_per_node"],
                      "predicted_seconds": row["seconds"], "measured_seconds": row["measured_seconds"],
                      "error_percent": row["error_percent"]})
        tell(f"{name}, {ranks} ranks")
    return found


def draw(all_rows, titles, path):
    try:
        import matplotlib
    except ImportError:
        return "no figure: install python3-matplotlib"
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig, panels = plt.subplots(1, len(titles), figsize=(4.2 * len(titles), 4), dpi=120, squeeze=False)
    for axes, (name, title) in zip(panels[0], titles.items()):
        rows = [row for row in all_rows if row["pattern"] == name]
        ranks = [int(row["ranks"]) for row in rows]
        axes.plot(ranks, [float(row["predicted_seconds"]) for row in rows], marker="o", color="#0b6e4f", label="predicted")
        axes.plot(ranks, [float(row["measured_seconds"]) for row in rows], marker="x", linestyle="", markersize=9,
                  color="#c1440e", label="measured")
        for row in rows:
            axes.annotate(f"{float(row['error_percent']):+.1f} %", (int(row["ranks"]), float(row["measured_seconds"])),
                          textcoords="offset points", xytext=(5, -12), fontsize=7)
        axes.set_title(f"{title}\nrecorded with {rows[0]['recorded_ranks']} ranks", fontsize=9)
        axes.set_xlabel(f"ranks on {rows[-1]['workers']} cores")
        axes.set_ylim(bottom=0)
        axes.grid(True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("seconds")
    panels[0][0].legend(frameon=False)
    fig.tight_layout()
    fig.savefig(path)
    return str(path)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where weft was built")
    options.add_argument("--out", type=Path, default=ROOT / "out" / "scale", help="where the figure and the CSV go")
    options.add_argument("--repeat", type=int, default=3, help="runs of each number of ranks")
    options.add_argument("pattern", nargs="*", metavar="PATTERN", help="allreduce, halo, stencil, md; none: all")
    asked = options.parse_args()
    bin_directory, out = asked.build.resolve() / "bin", asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not (bin_directory / "weft-breakdown").exists():
        sys.exit(f"{bin_directory} has no weft-breakdown: build it, or name another folder by --build")
    compiled = out / "patterns"
    run([bin_directory / "weftcc", "-O1", "-g", Path(__file__).resolve().parent / "patterns.c", "-o", compiled], out)
    known = patterns(bin_directory, compiled)
    if unknown := [name for name in asked.pattern if name not in known]:
        sys.exit(f"there is no pattern {unknown[0]}: there are {', '.join(known)}")
    wanted = asked.pattern or list(known)
    steps, done = sum(1 + len(known[name].more) for name in wanted), 0

    def tell(what):
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            print(f"\r\033[K  [{'#' * (40 * done // steps):<40}] {what}", end="", file=sys.stderr, flush=True)

    message = out / "message.json"
    run([bin_directory / "weft-breakdown", "measure", "--runs", "3", "--out", message], out)
    rows = []
    for name in wanted:
        rows += look_at(name, known[name], (bin_directory / "weftrun", bin_directory / "weft-breakdown"), message, asked.repeat,
                        out, tell)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    with open(out / "scale.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    print(f"{'pattern':<12}{'recorded':>9}{'ranks':>7}{'predicted, s':>14}{'measured, s':>13}{'error':>9}")
    for row in rows:
        print(f"{row['pattern']:<12}{row['recorded_ranks']:>9}{row['ranks']:>7}{float(row['predicted_seconds']):>14.4f}"
              f"{float(row['measured_seconds']):>13.4f}{float(row['error_percent']):>+8.1f}%")
    print(draw(rows, {name: known[name].title for name in wanted}, out / "scale.png"))


if __name__ == "__main__":
    main()
