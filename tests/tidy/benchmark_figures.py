"""The table of bench/metg_table.py and the plots of bench/plot.py, of rows whose figures are known."""
import argparse
import csv
import functools
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("--source", type=Path, required=True)
BENCH = PARSER.parse_known_args()[0].source / "bench"
sys.path.insert(0, str(BENCH))
import metg_table
import plot

# Microseconds a task and percent of peak at so many iterations. METG(50 %) of each is below.
CURVES = {
    "weft": {1: (1, 25), 10: (4, 75), 100: (64, 100)},             # Half way of the exponents.
    "weft-mpi": {1: (2, 10), 10: (10, 40), 100: (1000, 60)},       # The same, from 40 to 60.
    "mpich": {1: (3, 5), 10: (10, 20), 100: (100, 49.9)},          # Never.
    "openmpi": {1: (8, 50), 10: (16, 80), 100: (100, 90)},         # From the first on.
    "weft-tasks": {1: (1, 60), 10: (2, 40), 100: (4, 70)},         # The first time counts.
    "mpich-ready": {9: (1, 10), 10: (2, 50), 100: (9, 50)},        # Where it is reached exactly.
}
METG = {"weft": 2, "weft-mpi": 100, "mpich": None, "openmpi": 8, "weft-tasks": 1, "mpich-ready": 2}
COLUMNS = ("group name peer ranks workers unit min median p99 repetitions load priority bounce instructions").split()


def row(name, peer, median, ranks=2, workers=2, unit="ns"):
    return {"group": name.split("/")[0], "name": name, "peer": peer, "ranks": ranks, "workers": workers, "unit": unit,
            "min": 0.9 * median, "median": median, "p99": 1.1 * median, "repetitions": 15, "load": 0.1,
            "priority": "fifo50", "bounce": 50, "instructions": 90}


def curve(pattern, peer, points):
    return [row(f"metg/{what}/{pattern}/{iterations}", peer, value, unit=unit)
            for iterations, point in points.items()
            for what, value, unit in zip(("granularity", "efficiency"), point, ("us", "percent"))]


def written(rows, directory):
    path = Path(directory) / "all.csv"
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS)
        out.writeheader()
        out.writerows(rows)
    return path


def run(python, script, *words):
    return subprocess.run([python, BENCH / script, *words], capture_output=True, text=True, timeout=300)


STENCIL = [row for peer, points in CURVES.items() for row in curve("stencil_1d", peer, points)]
# What is no curve: a granularity that was asked for, and METG as a program tells it.
OTHERS = [row("metg/granularity/tree/7", "weft", 1), row("metg/efficiency/tree/7", "weft", 50),
          row("metg/metg/stencil_1d", "weft", 2)]


class Table(unittest.TestCase):
    def test_metg_lies_between_two_points(self):
        peers = metg_table.curves(STENCIL + OTHERS)
        self.assertEqual(list(peers), ["stencil_1d"])
        for peer, expected in METG.items():
            with self.subTest(peer):
                found = metg_table.metg(peers["stencil_1d"][peer])
                self.assertEqual(found, expected) if expected is None else self.assertAlmostEqual(found, expected)
        self.assertAlmostEqual(metg_table.metg(peers["stencil_1d"]["weft"], share=62.5), 4 ** 0.75)

    def test_the_program_prints_a_table_of_each_pattern(self):
        rows = STENCIL + OTHERS + curve("eight_columns/nearest", "weft", CURVES["weft"])
        with tempfile.TemporaryDirectory() as directory:
            ended = run(sys.executable, "metg_table.py", written(rows, directory))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        of_stencil, of_nearest = ended.stdout.strip("\n").split("\n\n")
        title, head, *lines, last = of_stencil.split("\n")
        self.assertEqual(title, "stencil_1d: percent of peak")
        self.assertEqual(head.split()[3:], ["weft", "weft-tasks", "weft-mpi", "mpich", "mpich-ready", "openmpi"])
        # The task: the median over the peers of granularity times efficiency. A star: 50 % for the first time.
        self.assertEqual([line.split() for line in lines],
                         [["1", "0.250", "25.0", "60.0*", "10.0", "5.0", "50.0*"],
                          ["9", "0.100", "10.0"],
                          ["10", "2.500", "75.0*", "40.0", "40.0", "20.0", "50.0*", "80.0"],
                          ["100", "56.950", "100.0", "70.0", "60.0*", "49.9", "50.0", "90.0"]])
        self.assertEqual(last.split(), ["METG(50", "%),", "us", "2", "1", "100", "-", "2", "8"])
        column = head.index("mpich-ready") + len("mpich-ready")
        self.assertEqual(lines[1][:column].split()[-1], "10.0")  # In its column, behind empty ones.
        self.assertEqual(of_nearest.split("\n")[0], "eight_columns/nearest: percent of peak")

    def test_no_curves_are_said_to_be_none(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertIn("no curves", run(sys.executable, "metg_table.py", written(OTHERS, directory)).stdout)
        self.assertIn("metg-curves.csv", run(sys.executable, "metg_table.py").stderr)


# Rows of which each plot has its share.
OF_PLOTS = {
    "latency.png": [row(f"p2p/one_way/{size}", peer, ns) for peer in ("weft", "mpich")
                    for size, ns in (("8B", 100), ("64KiB", 9000))],
    "processes-shm.png": [row(f"comm/am/{size}", peer, ns) for peer in ("weft-shm", "mpich")
                          for size, ns in (("8B", 200), ("64KiB", 9000))],
    "processes-shm-rate.png": [row("comm/rate/8B", "weft-shm", 30)],
    "collectives-2.png": [row("collectives/barrier", peer, 100) for peer in ("weft", "openmpi")],
    "collectives-16.png": [row("collectives/barrier", "weft", 900, ranks=16)],
    "stencil-8KiB.png": [row("stencil/share/8KiB", "weft", 97, ranks=16, unit="percent")],
    "stencil-64KiB.png": [row("stencil/share/64KiB", "weft", 98, ranks=16, unit="percent")],
    "many-ranks.png": [row("ring/hop/8B", "weft", 100, ranks=16), row("p2p/all_pairs/8B", "weft", 90, ranks=16)],
    "modes.png": [row("loop/uneven", "weft-guided-near", 1000)],
    "metg.png": STENCIL + curve("tree", "weft", CURVES["weft"]),
}
COLOUR_OF = {"stencil-8KiB.png": "weft", "processes-shm.png": "mpich", "metg.png": "weft-mpi"}

# Prints the width, the height, how many colours there are, and how many pixels have the one given.
COUNT = """
import sys, numpy, matplotlib.colors as colors, matplotlib.image as image
pixels = numpy.rint(image.imread(sys.argv[1])[:, :, :3] * 255).astype(int)
wanted = numpy.rint(numpy.array(colors.to_rgb(sys.argv[2])) * 255).astype(int)
print(*pixels.shape[1::-1], len(numpy.unique(pixels.reshape(-1, 3), axis=0)), (pixels == wanted).all(axis=2).sum())
"""


@functools.cache
def python_with_matplotlib():
    for python in (sys.executable, "/usr/bin/python3"):
        if Path(python).exists() and subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0:
            return python
    return None


@unittest.skipUnless(python_with_matplotlib(), "no python here has matplotlib")
class Plots(unittest.TestCase):
    def pixels(self, path, peer):
        found = subprocess.run([python_with_matplotlib(), "-c", COUNT, path, plot.COLOURS[peer]], capture_output=True,
                               text=True, timeout=300)
        self.assertEqual(found.returncode, 0, found.stderr)
        return map(int, found.stdout.split())

    def test_each_plot_shows_its_rows(self):
        with tempfile.TemporaryDirectory() as directory:
            path = written([row for rows in OF_PLOTS.values() for row in rows], directory)
            ended = run(python_with_matplotlib(), "plot.py", path)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(sorted(Path(line).name for line in ended.stdout.split()), sorted(OF_PLOTS))
            for name in OF_PLOTS:
                with self.subTest(name):
                    width, height, colours, _ = self.pixels(Path(directory) / name, "weft")
                    self.assertTrue(width > 400 and height > 200 and colours > 10, (width, height, colours))
            for name, peer in COLOUR_OF.items():
                with self.subTest(name):
                    self.assertGreater(list(self.pixels(Path(directory) / name, peer))[3], 50)

    def test_rows_that_are_not_there_are_not_plotted(self):
        with tempfile.TemporaryDirectory() as directory:
            ended = run(python_with_matplotlib(), "plot.py", written(OF_PLOTS["metg.png"], directory))
            self.assertEqual((ended.returncode, ended.stdout.split()), (0, [str(Path(directory) / "metg.png")]))
            self.assertEqual([path.name for path in Path(directory).glob("*.png")], ["metg.png"])

    def test_a_file_that_is_not_there_is_named(self):
        ended = run(python_with_matplotlib(), "plot.py", "/nowhere/all.csv")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("/nowhere/all.csv", ended.stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
