#!/usr/bin/python3
"""Plot what weft-breakdown prints as CSV: plot_breakdown.py model|what-if|report|scale IN.csv OUT.png"""
import csv
import sys

COLOURS = ["#0b6e4f", "#2b6cb0", "#e0a030", "#c1440e", "#5b5f97", "#7fc8a9", "#888888", "#9c4a97", "#7fb0e0"]


def figure(plt, rows, columns, title, size):
    fig, axes = plt.subplots(rows, columns, figsize=size, dpi=120, squeeze=False)
    fig.suptitle(title)
    for one in axes.flat:
        one.spines[["top", "right"]].set_visible(False)
    return fig, axes


def model(plt, rows):
    """Stacked bars, one for each bar of each figure of the paper."""
    bars = {}
    for row in rows:
        bars.setdefault(f"Figure {row['figure']}: {row['bar']}", []).append(row)
    fig, axes = figure(plt, 1, 1, "Components of a small message", (11, 0.55 * len(bars) + 1))
    axes = axes[0][0]
    for at, (name, parts) in enumerate(bars.items()):
        left = 0.0
        for number, part in enumerate(parts):
            width = float(part["percent"])
            axes.barh(at, width, left=left, color=COLOURS[number % len(COLOURS)], edgecolor="white")
            if width > 6:
                axes.text(left + width / 2, at, f"{part['part']}\n{width:.1f} %", ha="center", va="center", fontsize=6,
                          color="white")
            left += width
    axes.set_yticks(range(len(bars)), list(bars), fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("per cent of the bar; of what was observed, of its model")
    axes.set_xlim(0, 106)  # What was observed is more than its model, or less.
    return fig


def what_if(plt, rows):
    """Figure 17: how much the sums fall when a component does."""
    panels = [("injection overhead", "injection_gain_percent"), ("latency", "latency_gain_percent")]
    fig, axes = figure(plt, 1, 2, "What a faster component brings", (12, 4.5))
    names = list(dict.fromkeys(row["component"] for row in rows))
    for axis, (title, column) in zip(axes[0], panels):
        for number, name in enumerate(names):
            mine = [row for row in rows if row["component"] == name]
            gains = [float(row[column]) for row in mine]
            if max(gains) > 0:
                axis.plot([float(row["reduction_percent"]) for row in mine], gains, marker="o", label=name,
                          color=COLOURS[number % len(COLOURS)], linestyle=["-", "--"][number // len(COLOURS) % 2])
        axis.set_title(title)
        axis.set_xlabel("reduction of the component, per cent")
        axis.set_ylabel("reduction of the whole, per cent")
        axis.grid(True, alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    return fig


def report(plt, rows):
    """A stacked bar for each rank; of many ranks neighbours are averaged."""
    shares = [name for name in rows[0] if name not in ("rank", "process", "worker", "ended", "seconds")]
    per = -(-len(rows) // 128)
    groups = [rows[at:at + per] for at in range(0, len(rows), per)]
    fig, axes = figure(plt, 1, 1, "Where the time of each rank goes", (10, 4.5))
    axes = axes[0][0]
    bottom = [0.0] * len(groups)
    for number, share in enumerate(shares):
        values = [100 * sum(float(r[share]) for r in g) / max(sum(float(r["seconds"]) for r in g), 1e-12) for g in groups]
        axes.bar(range(len(groups)), values, bottom=bottom, width=0.9, label=share.replace("_", " "),
                 color=COLOURS[number % len(COLOURS)])
        bottom = [a + b for a, b in zip(bottom, values)]
    step = -(-len(groups) // 16)
    axes.set_xticks(range(0, len(groups), step), [groups[at][0]["rank"] for at in range(0, len(groups), step)])
    axes.set_xlabel("rank" if per == 1 else f"first of {per} ranks")
    axes.set_ylabel("per cent of the time")
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    return fig


def scale(plt, rows):
    """Predicted times over ranks, those of real runs beside them."""
    computes = any(float(row["computing_percent"]) > 0 for row in rows)
    fig, axes = figure(plt, 1, 1 + computes, f"Scaling of {rows[0]['pattern']}", (11 if computes else 7, 4.5))
    time = axes[0][0]
    by_ranks = sorted(rows, key=lambda row: int(row["ranks"]))
    ranks = [int(row["ranks"]) for row in by_ranks]
    unit, per = ("s", 1) if max(float(row["seconds"]) for row in rows) >= 1 else ("ms", 1e3)
    if max(float(row["seconds"]) for row in rows) < 1e-3:
        unit, per = "µs", 1e6
    time.plot(ranks, [per * float(row["seconds"]) for row in by_ranks], marker="o", color=COLOURS[0], label="predicted")
    real = [row for row in by_ranks if row["measured_seconds"]]
    if real:
        time.plot([int(row["ranks"]) for row in real], [per * float(row["measured_seconds"]) for row in real], marker="x",
                  linestyle="", markersize=9, color=COLOURS[3], label="measured")
        for row in real:
            time.annotate(f"{float(row['error_percent']):+.0f} %", (int(row["ranks"]), per * float(row["measured_seconds"])),
                          textcoords="offset points", xytext=(6, 6), fontsize=8)
    time.set_ylabel(f"time, {unit}")
    time.set_ylim(bottom=0)
    if computes:
        efficiency = axes[0][1]
        efficiency.plot(ranks, [float(row["computing_percent"]) for row in by_ranks], marker="o", color=COLOURS[1])
        efficiency.set_ylabel("computing, per cent of the time of all workers")
        efficiency.set_ylim(0, 105)
    for axis in axes[0]:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.set_xlabel("ranks")
        axis.grid(True, alpha=0.3)
    time.legend(frameon=False)
    return fig


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("model", "what-if", "report", "scale"):
        sys.exit(__doc__)
    try:
        import matplotlib
    except ImportError:
        sys.exit("plots need matplotlib: install python3-matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    fig = {"model": model, "what-if": what_if, "report": report, "scale": scale}[sys.argv[1]](plt, rows)
    fig.tight_layout()
    try:
        fig.savefig(sys.argv[3])
    except (OSError, ValueError) as failure:
        sys.exit(f"cannot write {sys.argv[3]}: {failure}")


if __name__ == "__main__":
    main()
