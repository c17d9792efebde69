"""bench/parcel/study.py: what it concludes from rows that are known, and a short run of all of it."""
import argparse
import collections
import contextlib
import csv
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("--source", type=Path, required=True)
PARSER.add_argument("--build", type=Path, required=True)
ARGS = PARSER.parse_known_args()[0]
STUDY = ARGS.source / "bench/parcel/study.py"
sys.path.insert(0, str(STUDY.parent))
import study


def rate(port, per_s, attempted=0, size=8, repetition=0):
    return {"parcelport": port, "kind": "rate-8B" if size == 8 else "rate-16KiB", "what": "rate", "size": str(size),
            "attempted_per_s": str(attempted), "window": "", "repetition": repetition, "achieved_per_s": str(per_s)}


def latency(port, us, kind="latency-size", size=8, window=1):
    return {"parcelport": port, "kind": kind, "what": "latency", "size": str(size), "attempted_per_s": "",
            "window": str(window), "repetition": 0, "latency_us": str(us)}


class Conclusions(unittest.TestCase):
    def test_a_line_names_all_parcelports(self):
        self.assertEqual(study.named_in("weftrun: 'x' is not allowed; give a, b_P_C (P: x or y, C: u, v or w), c or d_e, each "
                                        "with _i behind it or not; then :N of b_P_C, or :p or :q\n"),
                         [name + end for name in ("a", "b_x_u", "b_x_v", "b_x_w", "b_y_u", "b_y_v", "b_y_w", "c", "d_e")
                          for end in ("", "_i")])

    def test_the_mean_and_the_deviation_are_of_the_repetitions(self):
        mean, deviation, count, median = next(iter(study.means(
            [rate("lci_i", per_s, repetition=i) for i, per_s in enumerate((100, 300, 110))]).values()))
        self.assertEqual((mean, count, median), (170, 3, 110))
        self.assertAlmostEqual(deviation, 112.69, 2)

    def test_the_highest_rate_is_of_all_attempted_and_no_limit_comes_last(self):
        of = study.Results([rate("mpi", 50, 0), rate("mpi", 90, 100), rate("mpi", 70, 200)])
        self.assertEqual(of.best("mpi", "rate-8B")[0], 90)
        self.assertEqual([at for at, _, _ in of.curve("mpi", "rate-8B")], [100, 200, 0])

    def test_a_finding_agrees_does_not_or_was_not_measured(self):
        of = study.Results([rate("lci_psr_cq_pin_i", 300), rate("lci_psr_cq_pin", 150), rate("lci_psr_cq_mt_i", 400),
                            rate("mpi_i", 100), latency("lci_psr_cq_pin_i", 2, "window-8B", window=64),
                            latency("lci_psr_cq_pin_i", 1, "window-8B", window=1)])
        found = {text: (ours, agrees) for _, text, _, ours, agrees in study.findings(of)}
        self.assertEqual(found["8 B: the best of LCI over the best of MPI, rate"], (4, True))
        self.assertEqual(found["8 B: dedicated progress over all workers (psr_cq), rate"], (0.75, False))
        self.assertEqual(found["8 B: sending at once over aggregation (psr_cq_pin), rate"], (2, True))
        self.assertEqual(found["8 B: latency at window 64 over window 1 (psr_cq_pin_i)"], (2, True))
        self.assertEqual(found["16 KiB: MPI over LCI at window 64"], (None, None))


    def test_a_verdict_is_given_only_of_a_quiet_machine(self):
        rows = [rate("lci_psr_cq_pin_i", 300), rate("mpi_i", 100)]
        told = lambda load: study.table(study.Results([{**row, "load": load} for row in rows]), "machine").splitlines()
        line = lambda load: next(one for one in told(load) if "the best of LCI over the best of MPI, rate" in one and "8 B" in one)
        self.assertTrue(line("0.10").endswith("  agrees"), line("0.10"))
        self.assertTrue(line("7.31").endswith("  not judged: load 7.3"), line("7.31"))
        self.assertTrue(line("").endswith("  not judged: load not known"), line(""))
        for load in ("0.10", "7.31"):
            self.assertEqual(any("not agree" in one for one in told(load)), False)
            self.assertTrue(any(one.endswith("not measured") for one in told(load)))


class Run(unittest.TestCase):
    def test_a_short_run_writes_every_point_and_figure(self):
        ports = subprocess.run([sys.executable, STUDY, "--build", ARGS.build, "--list"], capture_output=True, text=True,
                               timeout=60).stdout.split()
        for port in ("lci", "lci_i", "lci_psr_cq_pin_i", "lci_sr_sy_mt", "tcp"):
            self.assertIn(port, ports)
        one = next((p for p in ("lci_i", "lci") if p in ports), ports[0])
        with tempfile.TemporaryDirectory() as directory:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                status = study.main(["--build", str(ARGS.build), "--out", directory, "--quick", "--repetitions", "2",
                                     "--messages", "500", "--hops", "20", "--parcelports", f"^{one}$"])
            self.assertEqual(status, 0)
            rows = study.read(Path(directory) / "parcel.csv")
            points = collections.Counter(map(study.point, rows))
            self.assertEqual(set(points.values()), {2})
            count = collections.Counter(kind for _, kind, *_ in points)
            self.assertEqual(count, {"rate-8B": 4, "rate-16KiB": 4, "latency-size": 5, "window-8B": 3, "window-16KiB": 3})
            for row in rows:
                wanted = 20 * int(row["window"]) if row["what"] == "latency" else None
                self.assertEqual(int(row["messages"]), wanted or int(row["messages"]))
                self.assertGreater(study.figure_of(row), 0)
                if row["what"] == "rate":
                    self.assertLessEqual(int(row["messages"]), 500)
                    self.assertGreater(float(row["injected_per_s"]), 0)
            with open(Path(directory) / "parcel-mean.csv", newline="") as file:
                self.assertEqual(len(list(csv.DictReader(file))), len(points))
            self.assertIn("not measured", (Path(directory) / "parcel-findings.txt").read_text())
            if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
                figures = sorted(path.name for path in Path(directory).glob("*.png"))
                self.assertEqual(figures, [f"parcel-fig{n}.png" for n in range(1, 10) if n not in (2, 5)])
                self.assertEqual(said.getvalue().count("figure:"), len(figures))

    def test_what_makes_no_sense_is_refused(self):
        program = ARGS.build / "bin" / "bench-parcel"
        for words, says in ((["rate", "--sizes", "9"], "multiple of 8"), (["latency", "--hops", "3"], "even"),
                            (["speed"], "rate, latency or local"), (["rate", "--batch"], "no value"), ([], "rate, latency or local"),
                            (["rate", "--rates", "1,x"], "at least 0"), (["rate"], "weftrun --processes 2")):
            with self.subTest(words):
                ended = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
                self.assertIn(says, ended.stderr)
                self.assertIn(ended.returncode, (1, 2))
        self.assertIn("WHAT", subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60).stdout)


unittest.main(argv=sys.argv[:1], verbosity=2)
