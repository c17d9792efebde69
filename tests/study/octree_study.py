"""bench/octree/octree_study.py: what it concludes from rows that are known, and a short run of all of it."""
import argparse
import contextlib
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
STUDY = ARGS.source / "bench/octree/octree_study.py"
sys.path.insert(0, str(STUDY.parent))
import octree_study as study


def row(port, localities, steps_per_s, figure=10, repetition=0, load="0.10"):
    return {"figure": figure, "levels": 3, "parcelport": port, "localities": localities, "repetition": repetition, "steps": 5,
            "steps_per_s": steps_per_s, "messages_per_s": 1, "idle_percent": 1, "hash": "a", "load": load}


class Conclusions(unittest.TestCase):
    def test_the_end_of_the_program_is_understood(self):
        text = ("mass                 changed by 2.9e-15 of itself (below 1e-12)\n"
                "time                 20.040 s, 0.998 steps/s, 814 messages/s and 1.4 MB/s between localities, 59.7 % idle\n"
                "hash                 9a90d2d3c37967b2\n")
        self.assertEqual(study.figures_of(text), (0.998, 814, 59.7, "9a90d2d3c37967b2"))
        self.assertIsNone(study.figures_of(text.splitlines()[0]))

    def test_lci_is_compared_with_either_mpi_by_medians(self):
        of = study.Results([row("lci_psr_cq_pin_i", 2, v, repetition=i) for i, v in enumerate((4, 6, 100))]
                           + [row("lci_psr_cq_pin_i", 4, 9), row("mpi_i:mpich", 2, 4), row("mpi_i:mpich", 4, 3), row("mpi:mpich", 2, 12),
                              row("mpi_i:mpich", 1, 1), row("lci_psr_cq_pin_i", 1, 50)])
        self.assertEqual(of.speedups(10, "mpi_i:mpich"), {2: 1.5, 4: 3})
        found = {text: (paper, ours, agrees) for where, text, paper, ours, agrees in study.findings(of) if where == "fig. 10"}
        self.assertEqual(found["lci_psr_cq_pin_i over mpi_i, steps/s, at most"], (13.6, 3, True))
        self.assertEqual(found["lci_psr_cq_pin_i over mpi, steps/s, at most"], (1.175, 0.5, False))
        self.assertEqual(found["what lci is faster than mpi_i grows with the localities"], (None, 2, True))
        self.assertTrue(all(agrees is None for where, *_, agrees in study.findings(of) if where == "fig. 11"))

    def test_a_verdict_is_given_only_of_a_quiet_machine(self):
        for load, end in (("0.10", "  agrees"), ("3.00", "  not judged: load 3.0")):
            of = study.Results([row("lci_i", 2, 2, load=load), row("mpi_i", 2, 1, load=load)])
            line = next(one for one in study.table(of, "machine").splitlines() if "over mpi_i, steps/s" in one)
            self.assertTrue(line.endswith(end), line)

    def test_what_makes_no_sense_is_refused(self):
        for words in (["--figures", "12"], ["--localities", "0"], ["--localities", "x"], ["--steps", "0"]):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                study.main(words)


class Run(unittest.TestCase):
    def test_a_short_run_writes_every_point_and_figure(self):
        if not (ARGS.build / "bin/weft-octree").exists():
            self.skipTest("weft-octree is not built")
        with tempfile.TemporaryDirectory() as directory:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                status = study.main(["--build", str(ARGS.build), "--out", directory, "--levels", "2", "--steps", "1", "--repetitions",
                                     "1", "--localities", "1,2", "--parcelports", "^(lci_i|tcp_i)$", "--limit", "60"])
            self.assertEqual(status, 0)
            rows = study.parcels.read(Path(directory) / "octree.csv")
            self.assertEqual({(int(r["figure"]), r["parcelport"], int(r["localities"])) for r in rows},
                             {(f, p, n) for f in (10, 11) for p in ("lci_i", "tcp_i") for n in (1, 2)})
            self.assertEqual(len(rows), 8)
            self.assertEqual(len({r["hash"] for r in rows}), 1)
            self.assertTrue(all(float(r["steps_per_s"]) > 0 for r in rows))
            self.assertIn("not measured", (Path(directory) / "octree-findings.txt").read_text())
            if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
                self.assertEqual(sorted(path.name for path in Path(directory).glob("*.png")), ["octree-fig10.png", "octree-fig11.png"])
                self.assertEqual(said.getvalue().count("figure:"), 2)


unittest.main(argv=sys.argv[:1], verbosity=2)
