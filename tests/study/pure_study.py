"""bench/pure/pure_study.py: what it concludes from rows that are known, and a short run of all of it."""
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
STUDY = ARGS.source / "bench/pure/pure_study.py"
sys.path.insert(0, str(STUDY.parent))
import pure_study as study


def row(case, peer, seconds, ranks=2, repetition=0, load="0.10"):
    return {"figure": 4 if case.startswith("dt") else 5, "case": case, "ranks": ranks, "peer": peer, "workers": 2, "helpers": 0,
            "repetition": repetition, "seconds": seconds, "checksum": "a", "load": load}


class Conclusions(unittest.TestCase):
    def test_the_ends_of_the_programs_are_understood(self):
        dt = ("checksum             d0f73e4a2b85480e, right\n"
              "time                 0.269000 s a wave (median of 4), 0.268415 the shortest\n")
        self.assertEqual(study.figures_of(dt), (0.269, "d0f73e4a2b85480e"))
        amr = "time                 1.500000 s, 3.1 ns per cell, variable and step\nhash                 00f73e4a2b854801\n"
        self.assertEqual(study.figures_of(amr), (1.5, "00f73e4a2b854801"))
        md = ("500 atoms of Cu in 5 x 5 x 5 cells\nenergy drift               2e-7 of the total in 20 steps (fitted; below 1e-5)\n"
              "time                       0.010 s, 1000.0 ns per atom and step\n")
        self.assertAlmostEqual(study.figures_of(md)[0], 0.01)
        mpi = "name,peer,ranks,shares,wave,seconds,checksum\ndt/sh/S,mpich,12,no,1,3.0,aa\ndt/sh/S,mpich,12,no,2,2.0,aa\ndt/sh/S,mpich,12,no,3,9.0,aa\n"
        self.assertEqual(study.figures_of(mpi), (3.0, "aa"))
        self.assertEqual(study.figures_of("Loop time of 0.5 on 2 procs for 20 steps with 500 atoms\n"), (0.5, ""))
        self.assertIsNone(study.figures_of("nothing of it\n"))

    def test_speed_ups_are_over_the_better_mpi_by_medians(self):
        of = study.Results([row("dt-A", "weft-tasks", s, 80, i) for i, s in enumerate((1, 2, 90))]
                           + [row("dt-A", "mpich", 100, 80), row("dt-A", "openmpi", 4, 80), row("dt-S", "weft-tasks", 1, 12),
                              row("dt-S", "mpich", 1, 12)])
        self.assertEqual(of.speed_up("dt-A", 80, "weft-tasks"), 2)
        found = {text: (paper, ours, agrees) for _, text, paper, ours, agrees in study.findings(of)}
        self.assertEqual(found["dt: messages and tasks"], ((1.7, 2.5), (1, 2), True))
        self.assertEqual(found["dt: messages alone over the better MPI"], ((1.11, 1.25), None, None))

    def test_an_even_case_is_judged_by_its_worst_point_and_an_uneven_one_by_its_best(self):
        rows = [row(case, peer, seconds, ranks) for case in ("md-full", "md-voids")
                for ranks, pair in ((2, (("weft", 1.0), ("weft-tasks", 1.2))), (4, (("weft", 1.5), ("weft-tasks", 1.0))))
                for peer, seconds in pair]
        found = {text: agrees for _, text, _, _, agrees in study.findings(study.Results(rows))}
        self.assertFalse(found["md, balanced: with tasks over without"])
        self.assertTrue(found["md, static voids: with tasks over without"])

    def test_a_verdict_is_given_and_a_table_kept_only_of_a_quiet_machine(self):
        for load, end in (("0.10", "  agrees"), ("3.00", "  not judged: load 3.0")):
            of = study.Results([row("dt-S", "weft-tasks", 1, load=load), row("dt-S", "mpich", 2, load=load)])
            line = next(one for one in study.table(of, "machine").splitlines() if "messages and tasks" in one)
            self.assertTrue(line.endswith(end), line)
            with tempfile.TemporaryDirectory() as directory:
                page = Path(directory) / "page.md"
                page.write_text(f"before\n{study.TABLE[0]}\nold\n{study.TABLE[1]}\nafter\n")
                why = study.store(of, "machine", page)
                self.assertEqual(why is None, load == "0.10", why)
                self.assertEqual("2.00" in page.read_text(), load == "0.10")
                self.assertEqual("old" in page.read_text(), load != "0.10")
                self.assertTrue(page.read_text().endswith(f"{study.TABLE[1]}\nafter\n"))

    def test_the_page_has_the_places_and_the_findings_of_the_table(self):
        text = study.PAGE.read_text()
        begin, end = text.index(study.TABLE[0]), text.index(study.TABLE[1])
        self.assertLess(begin, end)
        for where, finding, *_ in study.findings(study.Results([])):
            self.assertIn(f"| {where} | {finding} |", text[begin:end])

    def test_rows_of_other_benchmarks_make_figures_6_and_7(self):
        table = [{"name": name, "peer": peer, "ranks": "2", "workers": "2", "unit": unit, "median": median} for name, peer, unit, median in
                 (("p2p/one_way/8B", "weft", "ns", "100"), ("p2p/one_way/8B", "mpich", "ns", "150"), ("p2p/one_way/1MiB/fresh", "weft", "ns", "1"),
                  ("p2p/one_way/8B/same_core", "weft", "ns", "20"), ("p2p/one_way/8B/same_core", "openmpi", "ns", "200"),
                  ("collectives/barrier", "weft", "ns", "100"), ("collectives/barrier", "openmpi", "ns", "400"),
                  ("collectives/alltoall/8B", "weft", "ns", "1"))]
        self.assertEqual({r["figure"] for r in study.micro_rows(table, 0.1, [4, 7])}, {7})
        rows = study.micro_rows(table, 0.1, [6, 7])
        self.assertEqual(len(rows), 6)
        found = {text: (ours, agrees) for _, text, _, ours, agrees in study.findings(study.Results(rows))}
        self.assertEqual([round(x, 6) for x in found["messages between cores, of all sizes"][0]], [1.5, 1.5])
        self.assertEqual([round(x, 6) for x in found["messages on one core, of all sizes"][0]], [10, 10])
        self.assertEqual([round(x, 6) for x in found["barrier"][0]], [4, 4])
        self.assertIsNone(found["all-reduce of 8 B"][1])

    def test_peers_get_their_cores_tasks_and_threads(self):
        args = study.parser().parse_args(["--build", str(ARGS.build)])
        args.waves, args.steps, args.levels = 2, 3, 4
        even = study.Point(4, "dt-S", 12, [])
        self.assertEqual(study.environment_of(even, "weft-mpi", args)["DT_TASKS"], "0")
        self.assertEqual(study.environment_of(even, "weft-mpi-tasks", args)["DT_TASKS"], "1")
        self.assertEqual(study.environment_of(study.Point(5, "amr", 2, []), "mpich-openmp", args)["OMP_NUM_THREADS"], "2")
        self.assertEqual(study.environment_of(study.Point(5, "amr-uneven", 2, []), "mpich", args)["AMR_BALANCE"], "0")
        workers, helpers = study.workers_and_helpers("weft-helpers", 12)
        self.assertGreaterEqual(helpers, 1)
        self.assertLessEqual(workers, max(1, study.CORES))

    def test_what_makes_no_sense_is_refused(self):
        for words in (["--figures", "8"], ["--classes", "X"], ["--ranks", "0"], ["--waves", "0"], ["--levels", "1"]):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                study.main(words)


class Run(unittest.TestCase):
    def test_a_short_run_writes_every_point_and_figure(self):
        for program in ("weft-dt", "weft-amr", "weft-md"):
            if not (ARGS.build / "bin" / program).exists():
                self.skipTest(f"{program} is not built")
        with tempfile.TemporaryDirectory() as directory:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                status = study.main(["--build", str(ARGS.build), "--out", directory, "--classes", "S", "--waves", "1", "--steps", "2",
                                     "--levels", "3", "--repetitions", "1", "--ranks", "2", "--figures", "4,5", "--peers", "^weft", "--limit", "60"])
            self.assertEqual(status, 0, said.getvalue())
            rows = study.parcels.read(Path(directory) / "pure.csv")
            cases = {"dt-S", "amr", "amr-uneven"}
            if Path("/usr/share/lammps/potentials/Cu_mishin1.eam.alloy").exists():
                cases |= set(study.CASES_OF_MD)
            self.assertEqual({r["case"] for r in rows}, cases)
            for case in cases:
                self.assertLessEqual({"weft", "weft-tasks"}, {r["peer"] for r in rows if r["case"] == case})
            for case in ("dt-S", "amr", "amr-uneven"):
                self.assertEqual(len({r["checksum"] for r in rows if r["case"] == case}), 1)
            self.assertTrue(all(float(r["seconds"]) > 0 for r in rows))
            self.assertIn("amr-uneven: seconds", (Path(directory) / "pure-findings.txt").read_text())
            if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
                self.assertEqual(sorted(path.name for path in Path(directory).glob("*.png")), ["pure-fig4.png", "pure-fig5.png"])


unittest.main(argv=sys.argv[:1], verbosity=2)
