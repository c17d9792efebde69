"""What bench/ concludes from rows: rivals of the same group, two workers, and no target left out without a word."""
import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("--source", type=Path, required=True)
sys.path.insert(0, str(PARSER.parse_known_args()[0].source / "bench"))
import comm_table
import page
import rows as of_run
import targets

with mock.patch("os.sched_getaffinity", return_value=set(range(16))):  # Of a large machine.
    import run


def row(group, name, peer, median, ranks=2, workers=2, spread=0.0, bounce=50, unit="ns", repetitions=15,
        instructions=90):
    return {"group": group, "name": name, "peer": peer, "ranks": str(ranks), "workers": str(workers), "unit": unit,
            "min": median * (1 - spread), "median": median, "p99": median * (1 + spread), "repetitions": repetitions,
            "load": "1.1", "load_before": "0.1", "priority": "fifo50", "bounce": str(bounce), "instructions": str(instructions)}


def target(rows, words):
    return next(t for t in targets.judged(rows) if words in t.text)


class Targets(unittest.TestCase):
    BARRIER = [row("collectives", "collectives/barrier", "weft", 60), row("collectives", "collectives/barrier", "mpich", 200),
               row("collectives", "collectives/barrier", "openmpi", 100)]
    MEASURED_AGAIN = [row("mpi", "collectives/barrier", "weft-mpi", 60), row("mpi", "collectives/barrier", "openmpi", 50)]

    def test_rivals_are_those_of_the_same_group(self):
        for rows in (self.BARRIER + self.MEASURED_AGAIN, self.MEASURED_AGAIN + self.BARRIER):
            self.assertEqual(target(rows, "2 ranks: barrier <= 0.65").limit, 65)
            self.assertEqual(target(rows, "MPI, 2 ranks: barrier").limit, 32.5)
            self.assertIn("| barrier | 2 | near | 60 ns | 200 ns | 100 ns |", page.page(rows))
            self.assertIn("| barrier | 2 | near | 60 ns | – | 50 ns |", page.page(rows))

    def test_the_page_keeps_its_introduction_and_its_length(self):
        rows = [r | {"commit": "1234567"} for r in self.BARRIER]
        text = page.whole_page(f"# Figures\n\nBy hand.\n\n{page.MARK}\nof before\n", rows)
        self.assertTrue(text.startswith("# Figures\n\nBy hand.\n"))
        self.assertNotIn("of before", text)
        self.assertIn("| barrier | 2 | near | 60 ns | 200 ns | 100 ns |", text)
        self.assertIn(" met", text)
        self.assertEqual(page.whole_page(text, rows), text)
        with self.assertRaisesRegex(ValueError, "no line"):
            page.whole_page("# Figures", rows)
        with self.assertRaisesRegex(ValueError, "at most"):
            page.whole_page("\n" * page.LINES_MAX + page.MARK, rows)

    def test_each_line_says_how_far_apart_the_cores_were(self):
        far = [row("ring", "ring/hop/8B", "weft", 90, ranks=16, bounce=250)]
        text = page.page(self.BARRIER + far)
        self.assertIn("| barrier | 2 | near | 60 ns", text)
        self.assertIn("| token round a ring, a hop | 16 | far | 90 ns", text)
        self.assertEqual(of_run.not_compared(self.BARRIER + far), 0)

    def test_the_first_table_is_written_into_the_readme(self):
        rows = [r | {"commit": "1234567"} for r in self.BARRIER]
        begin, end = page.README_MARKS
        text = page.whole_readme(f"before\n{begin}\nold\n{end}\nbehind\n", rows)
        self.assertTrue(text.startswith(f"before\n{begin}\nMeasured at 1234567: load 0.10"))
        self.assertIn("| barrier | 2 | near | 60 ns | 200 ns | 100 ns |", text)
        self.assertTrue(text.endswith(f"{end}\nbehind\n"))
        self.assertNotIn("old", text)
        self.assertEqual(page.whole_readme(text, rows), text)
        with self.assertRaisesRegex(ValueError, "no lines"):
            page.whole_readme("# weft", rows)

    def test_rows_of_a_busy_machine_are_not_stored(self):
        self.assertIsNone(page.refusal(self.BARRIER))
        self.assertIn("load was 0.7", page.refusal([self.BARRIER[0] | {"load_before": "0.7"}, *self.BARRIER]))
        other = [row("collectives", f"collectives/{i}", "weft", 60, bounce=250) for i in range(1)]
        self.assertIsNone(page.refusal(7 * self.BARRIER + other))
        self.assertIn("1 of 4 rows", page.refusal(self.BARRIER + other))

    def test_the_pages_are_what_the_stored_rows_give(self):
        checked = subprocess.run([sys.executable, Path(page.__file__), "--check"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_figures_of_one_pace_are_compared(self):
        at = lambda bounce, instructions, figure: row("ring", "ring/hop/8B", "weft", figure, 16, bounce=bounce,
                                                      instructions=instructions)
        medians = lambda rows: sorted(r["median"] for r in of_run.at_one_pace(rows))
        near, far, shared = [at(50, 100, 1), at(60, 90, 2)], [at(240, 90, 3)], [at(52, 170, 4)]
        self.assertEqual(medians(far + shared + near), [1, 2])
        self.assertEqual(medians(far + near[:1]), [1])  # The faster of two.
        self.assertEqual(medians(far + far + near[:1]), [3, 3])
        self.assertEqual(medians([{"group": "ring", "median": 5}]), [5])  # A file of before.
        of_machine = [row("limits", f"limits/{i}", "hardware", 9, bounce=240, instructions=90) for i in range(5)]
        self.assertEqual(medians(of_machine + near), [1, 2])  # It does not outvote the others.
        self.assertEqual(medians(of_machine), [9] * 5)
        self.assertEqual(medians([]), [])
        self.assertIn("2 of 4 rows are of another pace than their group", targets.circumstances(far + shared + near))

    def test_what_ran_at_another_pace_is_run_again(self):
        paces = iter([(50, 90), (50, 90), (50, 95), (50, 170), (50, 92), (50, 90)])  # Before, and behind each.
        pace = lambda args: dict(zip(of_run.PACES, next(paces)))
        ran = []
        with mock.patch.object(run, "pace", pace), mock.patch("sys.stderr"), mock.patch.object(
                run, "run", lambda job, *_: ran.append(job) or [{"name": job, "median": len(ran)}]):
            rows, failed = run.run_round("ring", ["a", "b", "c"], None, "")
        self.assertEqual(ran, ["a", "b", "c", "c", "c"])  # The second of c began where others share the cores.
        self.assertEqual([(r["name"], r["instructions"]) for r in rows],
                         [("a", "90.0"), ("b", "95.0"), ("c", "92.0")])
        self.assertFalse(failed)

    def test_a_target_without_figure_or_rival_is_counted(self):
        rows = self.BARRIER[:1]
        self.assertEqual(target(rows, "2 ranks: barrier <= 0.65").verdict(), "not measured")
        results = targets.judged(rows)
        self.assertEqual(targets.summary(results), f"0 of 0 met, {len(results)} not measured")
        self.assertIn("not measured", targets.table(rows))
        self.assertFalse([t for t in targets.judged(self.BARRIER) if "ring" in t.text])  # Of what was not run, none.

    def test_the_least_of_the_repetitions_is_told_where_it_says_something_else(self):
        hop = lambda spread: targets.table([row("ring", "ring/hop/8B", "weft", 66, 16, spread=spread)])
        self.assertIn("missed; by the least 59.4 of 60: met", hop(0.1))
        self.assertNotIn("by the least", hop(0.05))
        one_way = lambda repetitions: targets.table(
            [row("transport", "transport/one_way/8B", "weft-shm", 282, spread=0.1),
             row("transport", "transport/one_way/8B", "ucx-posix", 260, repetitions=repetitions)])
        self.assertIn("by the least 253.8 of 260: met", one_way(15))
        self.assertNotIn("by the least", one_way(2))  # One mean a round.
        few = targets.table([row("ring", "ring/hop/8B", "weft", 66, 16, spread=0.1, repetitions=3)])
        self.assertIn("missed", few)
        self.assertNotIn("by the least", few)
        self.assertNotIn("by the least", targets.table(
            [row("collectives", "collectives/barrier", peer, ns, spread=0.5, repetitions=n)
             for peer, ns, n in (("weft", 200, 15), ("mpich", 300, 2), ("openmpi", 400, 15))]))
        share = targets.table([row("stencil", "stencil/share/8KiB", "weft", 96, unit="%", spread=0.1)])
        self.assertNotIn("by the least", share)  # More is better there.

    def test_limits_of_two_workers_are_judged_by_two(self):
        ring = lambda workers: [row("ring", "ring/hop/8B", "weft", 10, 16, workers)]
        self.assertEqual(target(ring(2), "16 ranks: ring hop").verdict(), "met")
        self.assertEqual(target(ring(16), "16 ranks: ring hop").verdict(), "not measured")

    def test_a_large_machine_measures_with_two_workers(self):
        self.assertEqual({job.workers for job in run.jobs()["ring"]}, {2})

    def test_a_cost_within_the_spread_of_few_rounds_is_not_resolved(self):
        def cost(alone, tasks, spread, rounds=2):
            rows = [row("md", "md/atom_step/full", peer, ns, spread=spread, repetitions=rounds)
                    for peer, ns in (("weft", tasks), ("weft-no-tasks", alone))]
            return target(rows, "cost of tasks").verdict()
        self.assertEqual(cost(100, 101, 0.001), "met")
        self.assertEqual(cost(100, 101, 0.15), "not resolved")
        self.assertEqual(cost(100, 105, 0.001), "missed")
        self.assertEqual(cost(100, 50, 0.15), "met")
        self.assertEqual(cost(100, 101, 0.15, rounds=5), "met")  # Of many rounds the least counts.
        self.assertEqual(cost(100, 105, 0.15, rounds=5), "missed")

    def test_the_default_protocol_over_tcp_is_compared_with_the_other(self):
        rows = [row("comm-tcp", f"comm/am/64KiB/{protocol}", "weft-ofi", ns, workers=1)
                for protocol, ns in (("eager/default", 100), ("rendezvous", 90))]
        self.assertEqual(target(rows, "1.05 x").limit, 1.05 * 90)
        self.assertEqual(target(rows, "1.05 x").verdict(), "missed")
        self.assertEqual(target(rows[:1], "1.05 x").verdict(), "not measured")

    def test_a_table_of_a_transport_is_of_one_group(self):
        rows = [row("comm", "comm/am/8B", "weft-shm", 1), row("comm", "comm/am/64B", "weft-shm", 2),
                row("comm", "comm/am/8B", "mpich", 3), row("processes", "comm/am/8B", "weft-shm", 4),
                row("comm-mpi", "comm/am/8B", "mpich", 5)]
        self.assertEqual(comm_table.medians(rows, "shm"),
                         (["weft-shm", "mpich"], [("am/8B", {"weft-shm": 1, "mpich": 3}), ("am/64B", {"weft-shm": 2})]))

    def test_one_row_of_each_is_that_of_the_group_it_is_named_after(self):
        rows = [row("processes", "collectives/barrier", "openmpi", 1)] + self.BARRIER + self.MEASURED_AGAIN
        self.assertEqual([r["median"] for r in of_run.one_of_each(rows)], [100, 60, 200, 60])

    def test_a_file_without_groups_is_one(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "ring.csv"
            path.write_text("name,bounce\nring/hop/8B,50\n")
            self.assertEqual(of_run.read([path]), [{"group": "ring", "name": "ring/hop/8B", "bounce": "50"}])


unittest.main(argv=sys.argv[:1], verbosity=2)
