#!/usr/bin/python3
"""Plot a run of the benchmarks: bench/plot.py [out/bench/all.csv]. PNGs are written beside it."""
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import comm_table
import metg_table
import rows as of_run

COLOURS = {"weft": "#0b6e4f", "weft-no-tasks": "#7fc8a9", "weft-tasks": "#3c9d6b", "weft-mpi": "#2b6cb0",
           "weft-mpi-tasks": "#7fb0e0", "weft-spawn": "#9c4a97",
           "weft-futures": "#d39ac8", "weft-parcels": "#5b5f97", "tbb": "#444444", "mpich": "#c1440e", "openmpi": "#e0a030",
           "weft-steps": "#7fc8a9", "mpich-ready": "#e58a6a", "openmpi-ready": "#f0cf8a", "weft-shmem-signals": "#6a3d9a",
           "weft-shmem-get": "#b39ddb", "weft-shmem-am": "#c2185b", "weft-shmem-am-wait": "#f06292",
           "oshmem-signals": "#5d6d7e", "oshmem-get": "#aab7b8",
           "openmp": "#5b5f97", "hardware": "#888888", "weft-processes": "#3c9d6b", "weft-shm": "#0b6e4f", "weft-ofi": "#0b6e4f",
           "weft-ofi-shm": "#0b6e4f", "weft-mpi-mpich": "#0b6e4f", "weft-mpi-openmpi": "#7fc8a9",
           "mpich-tcp": "#c1440e", "openmpi-tcp": "#e0a030",
           "ucx-sysv": "#d39ac8", "ucx-posix": "#9c4a97", "ucx-posix+cma": "#4f1d55", "libfabric-shm": "#5b5f97",
           "libfabric-net": "#2b6cb0", "libfabric-tcp;ofi_rxm": "#7fb0e0"}


def first_of(cpulist):
    """The first core of a kernel core list such as 0-3,8; None when it is empty."""
    text = cpulist.strip().split(",")[0].split("-")[0]
    return int(text) if text else None


def figure(title, ylabel):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig, axes = plt.subplots(figsize=(9, 4.5), dpi=120)
    axes.set_title(title)
    axes.set_ylabel(ylabel)
    axes.grid(True, which="major", axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return fig, axes


def time_text(ns, _=None):
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor:
            return f"{ns / factor:g} {unit}"
    return f"{ns:g} ns"


def save(fig, axes, path):
    import matplotlib.pyplot as plt
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_formatter(time_text)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    fig.tight_layout()
    fig.savefig(path)
    plt.close(fig)
    return path


def bars(rows, title, ylabel, path, labels, log=True, line=None):
    """Grouped bars. rows: [(label, peer, row)]; whiskers from minimum to p99."""
    peers = list(dict.fromkeys(peer for _, peer, _ in rows))
    fig, axes = figure(title, ylabel)
    width = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        mine = [(labels.index(label), row) for label, p, row in rows if p == peer]
        x = [i + (k - (len(peers) - 1) / 2) * width for i, _ in mine]
        y = [float(r["median"]) for _, r in mine]
        below = [max(v - float(r["min"]), 0) for v, (_, r) in zip(y, mine)]
        above = [max(float(r["p99"]) - v, 0) for v, (_, r) in zip(y, mine)]
        axes.bar(x, y, width * 0.92, label=peer, color=COLOURS.get(peer), yerr=[below, above],
                 error_kw=dict(lw=0.8, ecolor="#444444"))
    longest = max(map(len, labels))
    meet = longest > 9 or longest * len(labels) > 80
    axes.set_xticks(range(len(labels)), labels, rotation=20 if meet else 0, ha="right" if meet else "center")
    if log:
        axes.set_yscale("log")
    if line:
        axes.axhline(line[0], color="#444444", lw=1, ls="--", label=line[1])
    return save(fig, axes, path)


def draw_latency(rows, prefix, title, path):
    """One way by size: rows named PREFIX/SIZE, one line for each peer."""
    series = {}
    for r in rows:
        if r["name"].rpartition("/")[0] == prefix:
            series.setdefault(r["peer"], []).append((comm_table.size_in_bytes(r["name"].rpartition("/")[2]), float(r["median"])))
    if not series:
        return None
    fig, axes = figure(title, "median")
    for peer, points in series.items():
        points.sort()
        axes.plot(*zip(*points), marker="o", ms=4, label=peer, color=COLOURS.get(peer))
    bounce = [float(r["median"]) for r in rows if r["name"] == "limits/bounce/two_lines"]
    if bounce:
        axes.axhline(bounce[0], color="#444444", lw=1, ls="--", label="two cache lines bounced")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20]
    axes.set_xticks(ticks, ["8 B", "64 B", "512 B", "4 KiB", "64 KiB", "1 MiB", "4 MiB"])
    return save(fig, axes, path)


def draw_comm(rows, transport, out):
    """Of one transport between two processes: one way by size, and what comes in a row."""
    mine = comm_table.of_transport(rows, transport)
    drawn = [draw_latency(mine, "comm/am", f"Message between two processes over {transport}, one way",
                          out / f"processes-{transport}.png")]
    in_a_row = [(r["name"].removeprefix("comm/"), r["peer"], r) for r in mine
                if r["name"].split("/")[1] in ("rate", "put", "get")]
    if in_a_row:
        labels = sorted({m[0] for m in in_a_row}, key=comm_table.place)
        drawn.append(bars(in_a_row, f"Messages, puts and gets in a row over {transport}", "time of each, median",
                          out / f"processes-{transport}-rate.png", labels))
    return drawn


def draw_collectives(rows, ranks, out):
    mine = [(r["name"].removeprefix("collectives/"), r["peer"], r) for r in rows
            if r["name"].startswith("collectives/") and int(r["ranks"]) == ranks]
    if not mine:
        return None
    cores = max(int(row["workers"]) for _, _, row in mine)  # Of a process; MPIs have one for each rank.
    return bars(mine, f"Collectives, {ranks} ranks on {cores} cores", "median",
                out / f"collectives-{ranks}.png", list(dict.fromkeys(m[0] for m in mine)))


def draw_stencil(rows, size, out):
    mine = [(r["ranks"], r["peer"], r) for r in rows if r["name"] == f"stencil/share/{size}"
            and r["peer"] in COLOURS]
    if not mine:
        return None
    mine = [(f"{ranks} ranks", peer, r) for ranks, peer, r in mine]
    labels = sorted({m[0] for m in mine}, key=lambda text: int(text.split()[0]))
    return bars(mine, f"Stencil with uneven work, {size} a rank, {mine[0][2]['workers']} cores",
                "share of perfect sharing, %", out / f"stencil-{size}.png", labels, log=False,
                line=(95, "95 %"))


def draw_many(rows, out):
    mine = [(f"{r['name'].split('/')[1]}, {r['ranks']} ranks", r["peer"], r) for r in rows
            if r["name"].startswith("ring/")]
    mine += [(f"all pairs {r['name'].split('/')[-1]}, {r['ranks']} ranks", r["peer"], r) for r in rows
             if r["name"].startswith("p2p/all_pairs/")]
    if not mine:
        return None
    return bars(mine, "More ranks than cores, time a message", "median", out / "many-ranks.png",
                list(dict.fromkeys(m[0] for m in mine)))


def draw_metg(rows, out):
    """Efficiency against granularity, a panel for each pattern; METG is where a line crosses 50 %."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    curves = metg_table.curves(rows)
    if not curves:
        return None
    across = min(4, len(curves))
    down = -(-len(curves) // across)
    fig, panels = plt.subplots(down, across, figsize=(1.5 + 3.6 * across, 0.8 + 2.7 * down), dpi=110, squeeze=False,
                               sharex=True, sharey=True)
    lines = {}
    for axes, (pattern, peers) in zip(panels.flat, curves.items()):
        axes.set_title(pattern, fontsize=10)
        for peer in sorted(peers):
            points = sorted((p["granularity"], p["efficiency"]) for p in peers[peer].values())
            lines[peer], = axes.plot(*zip(*points), marker="o", ms=3, lw=1.3, color=COLOURS.get(peer),
                                     ls="--" if peer.endswith(("-tasks", "-wait", "-get")) else "-")
        axes.axhline(50, color="#444444", lw=0.8, ls=":")
        axes.set_xscale("log")
        axes.set_ylim(0, 105)
        axes.tick_params(labelbottom=True)
        axes.grid(True, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in list(panels.flat)[len(curves):]:
        axes.set_visible(False)
    fig.supxlabel("task granularity, µs", fontsize=10)
    fig.supylabel("efficiency, %", fontsize=10)
    in_line = max(2, int(fig.get_figwidth() / 1.7))
    fig.legend(lines.values(), lines.keys(), frameon=False, ncols=min(len(lines), in_line), loc="upper center", fontsize=9)
    fig.tight_layout(rect=(0, 0, 1, 1 - (0.2 + 0.2 * -(-len(lines) // in_line)) / fig.get_figheight()))
    path = out / "metg.png"
    fig.savefig(path)
    plt.close(fig)
    return path


def draw_modes(rows, out):
    mine = [(r["peer"].removeprefix("weft-"), r["name"].removeprefix("loop/"), r) for r in rows
            if r["name"].startswith("loop/") and r["peer"].count("-") == 2]
    if not mine:
        return None
    return bars(mine, "Chunk and steal modes, two workers", "time of a loop, median", out / "modes.png",
                list(dict.fromkeys(m[0] for m in mine)))


def draw_all(rows, out):
    """Returns the paths of the plots that the rows allow."""
    if not importlib.util.find_spec("matplotlib"):
        print("plot: no plots: this python has no matplotlib; install python3-matplotlib and run "
              "/usr/bin/python3 bench/plot.py", file=sys.stderr)
        return []
    out = Path(out)
    each = of_run.one_of_each(rows)
    drawn = [draw_latency(each, "p2p/one_way", "Message between two ranks on two cores, one way", out / "latency.png"),
             *(path for transport in comm_table.PEERS for path in draw_comm(rows, transport, out)),
             draw_collectives(each, 2, out), draw_collectives(each, 16, out),
             draw_stencil(each, "8KiB", out), draw_stencil(each, "64KiB", out), draw_many(each, out),
             draw_modes(each, out), draw_metg(each, out)]
    return [path for path in drawn if path]


if __name__ == "__main__":
    source = Path(sys.argv[1] if len(sys.argv) > 1 else "out/bench/all.csv")
    try:
        table = of_run.read([source])
    except OSError as error:
        sys.exit(f"plot: {error}; write it with bench/run.py")
    for path in draw_all(table, source.parent):
        print(path)
