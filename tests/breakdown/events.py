#!/usr/bin/python3
"""Event files, and what reads them: events.py WEFTRUN WEFT-BREAKDOWN FAULTS HALO. Nothing here depends on how fast the
machine is: a replay is held against its own record, a prediction against another way to make it."""
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, BREAKDOWN, FAULTS, HALO = (str(Path(word).resolve()) for word in sys.argv[1:5])
problems = []


def check(holds, what):
    if not holds:
        problems.append(what)
        print("WRONG:", what)


def run(*words, directory="."):
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=200)


def rows_of(*words, directory):
    done = run(BREAKDOWN, *words, "--csv", directory=directory)
    check(done.returncode == 0, f"{words}: {done.returncode} {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def record(directory, name, *words):
    done = run(WEFTRUN, "--trace", name, *words, directory=directory)
    check(done.returncode == 0, f"{words}: {done.returncode} {done.stderr}")
    return done


def check_replay(directory):
    for number, words in enumerate((("-n", "4", FAULTS, "late_sender"), ("-n", "4", "--processes", "2", FAULTS, "barrier"),
                                    ("-n", "4", "--workers", "1", FAULTS, "late_sender"), ("-n", "3", FAULTS, "late_receiver"),
                                    ("-n", "3", HALO))):
        record(directory, f"r{number}.events", *words)
        rows = rows_of("replay", f"r{number}.events", directory=directory)
        of = {(row["kind"], row["name"]): row for row in rows}
        recorded, again = (float(of["run", name]["seconds"]) for name in ("recorded", "replayed as it was"))
        check(recorded > 0 and abs(again - recorded) <= 0.03 * recorded, f"{words}: recorded {recorded}, replayed {again}")
        path = sum(float(row["seconds"]) for row in rows if row["kind"] == "critical path")
        check(path <= 1.001 * recorded, f"{words}: a critical path of {path} s in {recorded} s")
        for row in rows:
            if row["kind"] == "what if":
                check(float(row["seconds"]) <= 1.001 * again, f"{words}: half of it takes longer: {row}")
        bears = [float(row["seconds"]) for row in rows if row["kind"] == "tolerance"]
        check(len(bears) == 3 and bears == sorted(bears), f"{words}: tolerances {bears}")
    # Whoever comes late is who is blamed.
    rows = rows_of("replay", "r0.events", directory=directory)
    delays = [row["name"] for row in rows if row["kind"] == "delay"]
    check(any("MPI_Send in message_of" in delay for delay in delays), f"late sender: delays {delays}")
    on_path = sum(float(row["seconds"]) for row in rows
                  if row["kind"] == "critical path" and row["name"].startswith("computation before MPI_Send in message_of"))
    slower = rows_of("replay", "r0.events", "--faster", "MPI_Send in message_of=-100", directory=directory)
    changed = [float(row["seconds"]) for row in slower if row["name"].startswith("replayed with")]
    # What is on the path twice makes the run longer by at least that.
    again = float(slower[1]["seconds"])
    check(changed and changed[0] >= again + 0.999 * on_path, f"twice {on_path} s before sends: {again} s, {changed}")


def check_otf2(directory):
    done = record(directory, "halo.otf2", "-n", "3", HALO, "5")
    if "was built without" in done.stderr:
        print("without OTF2")
        return
    check("3 ranks, 5 steps" in done.stdout, f"otf2: {done.stdout}")
    archive = Path(directory) / "halo.otf2"
    check((archive / "traces.otf2").exists() and not (Path(directory) / "halo.otf2.events").exists(), "otf2: no archive")
    if not shutil.which("otf2-print"):
        print("without otf2-print")
        return
    printed = run("otf2-print", str(archive / "traces.otf2"))
    check(printed.returncode == 0 and "[ERROR]" not in printed.stderr, f"otf2-print: {printed.returncode} {printed.stderr}")
    count = {word: len(re.findall(rf"^{word}\s", printed.stdout, re.MULTILINE))
             for word in ("ENTER", "LEAVE", "MPI_SEND", "MPI_RECV", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END")}
    check(count["ENTER"] == count["LEAVE"] > 3 * 5 * 4, f"otf2: {count}")
    check(count["MPI_SEND"] == count["MPI_RECV"] == 4 * 5, f"otf2: {count}")
    # A broadcast, five sums, a maximum of each rank, and those of beginning and end.
    check(count["MPI_COLLECTIVE_BEGIN"] == count["MPI_COLLECTIVE_END"] >= 3 * 7, f"otf2: {count}")
    for word in ('"MPI_Waitall"', '"MPI_Allreduce"', '"step"', '"inner cells"', "ALLREDUCE", "BCAST"):
        check(word in printed.stdout, f"otf2: no {word}")
    again = run(WEFTRUN, "--trace", "halo.otf2", "-n", "1", HALO, directory=directory)
    check(again.returncode != 0 and "new directory" in again.stderr and not again.stdout, f"otf2 twice: {again}")
    # What is not known before the run either.
    lost = run(WEFTRUN, "--trace", "lost.otf2", "-n", "1", "sh", "-c", f"mkdir lost.otf2; exec {HALO} 2", directory=directory)
    check(lost.returncode == 2 and "1 ranks, 2 steps" in lost.stdout and "was not made" in lost.stderr, f"otf2 that is lost: {lost}")


def measured(directory, size, post, latency):
    """What weft-breakdown measure writes, with numbers of our own."""
    def of(mean):
        return {"mean": mean, "deviation": 0, "samples": 1, "left_out": 0, "quantiles": [mean] * 21}
    template = json.loads(Path(directory, "here.json").read_text())
    template["bytes"] = size
    for part in template["injection"]["parts"]:
        part.update(of(post if part["name"] == "protocol" else 0))
    for part in template["latency"]["parts"]:
        part.update(of(latency if part["name"] == "wire" else 0))
    template["latency"]["observed"].update(of(latency))
    Path(directory, f"m{size}.json").write_text(json.dumps(template))


def check_scale(directory):
    done = run(BREAKDOWN, "measure", "--runs", "1", "--samples", "100", "--out", "here.json", directory=directory)
    check(done.returncode == 0, f"measure: {done.stderr}")
    measured(directory, 8, 50, 200)
    measured(directory, 1024, 100, 400)
    messages = ("--message", "m8.json", "--message", "m1024.json")
    record(directory, "halo.events", "-n", "3", HALO)
    rows = rows_of("scale", "halo.events", *messages, "--nodes", "1,4,64", "--ranks-per-node", "4", "--topology", "ideal",
                   directory=directory)
    times = [float(row["seconds"]) for row in rows]
    check(len(rows) == 3 and times == sorted(times) and times[0] > 0, f"scale: {times}")
    check([int(row["ranks"]) for row in rows] == [4, 16, 256], f"scale: {rows}")
    check(all(row["without_partner"] == "0" for row in rows), f"scale: {rows}")
    # Of 20 steps each rank but those at the borders sends two messages.
    check([int(row["messages"]) - int(row["between_nodes"]) > 0 for row in rows] == [True] * 3, f"scale: {rows}")
    # As many ranks as recorded, beside the record itself.
    rows = rows_of("scale", "halo.events", *messages, "--measured", "halo.events", directory=directory)
    check(len(rows) == 1 and float(rows[0]["measured_seconds"]) > 0 and rows[0]["error_percent"], f"scale: {rows}")
    plot = run(BREAKDOWN, "scale", "halo.events", *messages, "--measured", "halo.events", "--nodes", "4,8", "--topology",
               "ideal", "--png", "s.png", directory=directory)
    check(plot.returncode == 0 or "matplotlib" in plot.stderr, f"scale --png: {plot.stderr}")
    if plot.returncode == 0:
        check(Path(directory, "s.png").read_bytes().startswith(b"\x89PNG"), "scale --png: no picture")
    record(directory, "plain.events", "-n", "3", HALO, "20", "20000", "plain")
    for topology in ("fat-tree", "dragonfly"):
        words = ("scale", "allreduce", *messages, "--nodes", "16,64", "--ranks-per-node", "16", "--topology", topology,
                 "--repeat", "3")
        done = run(BREAKDOWN, *words, directory=directory)
        if "needs SimGrid" in done.stderr:
            print("without SimGrid")
            return
        graph, actors = (rows_of(*words, *more, directory=directory) for more in ((), ("--actors",)))
        for a, b in zip(graph, actors):
            fast, slow = float(a["seconds"]), float(b["seconds"])
            check(abs(fast - slow) <= 0.02 * slow, f"{topology}: {fast} s by the graph, {slow} s by actors")
        pattern = ("scale", "plain.events", *messages, "--nodes", "8", "--ranks-per-node", "4", "--topology", topology)
        fast, slow = (float(rows_of(*pattern, *more, directory=directory)[0]["seconds"]) for more in ((), ("--actors",)))
        check(abs(fast - slow) <= 0.02 * slow, f"{topology}, halo: {fast} s by the graph, {slow} s by actors")
    large = rows_of("scale", "allreduce", *messages, "--nodes", "1024", "--ranks-per-node", "64", directory=directory)
    check(large[0]["ranks"] == "65536" and large[0]["between_nodes"] == "10240", f"65,536 ranks: {large}")
    # Messages that crowd no link, and ones that do: 250 B at 12.5 GB/s is the border.
    short, long = (float(rows_of("scale", "allreduce", "--bytes", size, "--nodes", "64", directory=directory)[0]["seconds"])
                   for size in ("248", "256"))
    check(abs(short - long) <= 0.02 * long, f"all-reduce of 248 B: {short} s, of 256 B: {long} s")


def check_refused(directory):
    whole = Path(directory, "r0.events").read_bytes()
    Path(directory, "cut.events").write_bytes(whole[:-7])
    Path(directory, "foreign.events").write_bytes(b"x" * 4096)
    for name, at in (("r0.events", len(whole) // 2), ("regions.record", 9000)):
        flipped = bytearray(Path(directory, name).read_bytes())
        flipped[at] ^= 0x20
        Path(directory, "flipped" + Path(name).suffix).write_bytes(flipped)
    Path(directory, "twice.events").write_bytes(2 * whole)
    for words, part in ((("replay", "cut.events"), "cut.events: "), (("replay", "foreign.events"), "foreign.events: "),
                        (("replay", "none.events"), "none.events"), (("replay", "r0.events", "--faster", "nowhere=5"), "nowhere"),
                        (("replay", "r0.events", "--faster", "MPI_Send"), "PLACE=PER CENT"),
                        (("scale", "allreduse", "--nodes", "2"), "allreduce"),
                        (("scale", "allreduce", "--nodes", "2", "--ranks-per-node", "2"), "--message"),
                        (("scale", "allreduce", "--nodes", "65536", "--ranks-per-node", "64", "--message", "m8.json"), "ranks"),
                        (("scale", "halo.events", "--nodes", "2", "--message", "m8.json"), "record fewer"),
                        (("scale", "allreduce", "--topology", "torus"), "torus"),
                        (("replay", "flipped.events"), "checksum"), (("otf2", "flipped.events", "f.otf2"), "checksum"),
                        (("scale", "flipped.events", "--nodes", "2"), "checksum"), (("replay", "twice.events"), "twice.events: "),
                        (("report", "regions.record", "--events", "r0.events"), "of another run"),
                        (("report", "regions.record", "--events", "flipped.events"), "checksum"),
                        (("report", "flipped.record"), "checksum"), (("compare", "regions.record", "flipped.record"), "checksum"),
                        (("otf2", "r0.events", "none/a.otf2"), "none/a.otf2"), (("otf2", "r0.events", "/proc/a"), "/proc/a"),
                        (("otf2", "r0.events", "."), "new directory")):
        done = run(BREAKDOWN, *words, directory=directory)
        lines = done.stderr.strip().splitlines()
        check(done.returncode == 2 and len(lines) == 1 and part in lines[0] and not done.stdout,
              f"{words}: {done.returncode} {done.stderr} {done.stdout}")


def check_regions(directory):
    page = Path(directory) / "regions.html"
    done = run(WEFTRUN, "--breakdown", "--breakdown-file", str(page), "-n", "3", HALO, "6", directory=directory)
    check(done.returncode == 0 and "3 ranks, 6 steps" in done.stdout and "inner cells" in done.stderr, f"regions: {done}")
    data = json.loads(page.with_suffix(".json").read_text())
    regions = {one["name"]: one for one in data["regions"]}
    check({name: one["entries"] for name, one in regions.items()} ==
          {"step": 6, "inner cells": 6, "phase 2": 1, "phase 3": 1}, f"regions: {regions}")
    for one in data["regions"] + data["iterations"]:
        check(one["ranks"] == 3, f"regions: {one}")
        check(abs(one["parallel"] - one["load_balance"] * one["communication"]) < 1e-3, f"regions: {one}")
        check(abs(one["communication"] - one["serialisation"] * one["transfer"]) < 1e-3, f"regions: {one}")
        check(0 <= one["transfer"] <= 1 and 0 <= one["waiting"] <= 1, f"regions: {one}")
    check(regions["inner cells"]["seconds"] <= regions["step"]["seconds"], f"regions: {regions}")
    check(regions["inner cells"]["waiting"] == 0, f"regions: {regions}")
    steps = [one["iteration"] for one in data["iterations"] if one["name"] == "step"]
    check(steps == list(range(6)), f"iterations: {steps}")
    check("of-regions" in page.read_text(), "regions: not in the page")


def check_probe(directory):
    """Who probes waits for the sender."""
    page = Path(directory) / "probe.html"
    done = run(WEFTRUN, "--breakdown", "--breakdown-file", str(page), "-n", "2", FAULTS, "probe", directory=directory)
    check(done.returncode == 0, f"probe: {done}")
    waits = json.loads(page.with_suffix(".json").read_text())["waits"]
    check(any(w["state"] == "late sender" and w["at"].startswith("MPI_Probe in") and w["cause"] == 0 and w["waiters"] == [1]
              and "MPI_Send" in w["cause_at"] for w in waits), f"probe: {waits}")


def check_causal(directory):
    """Experiments on the live program: everything but one part is delayed. No time is compared: others use the cores too."""
    words = ("--", WEFTRUN, "-n", "2", "--workers", "2", FAULTS, "late_sender")
    done = run(BREAKDOWN, "causal", "MPI_Send in message_of", "--runs", "1", "--reductions", "50", "--csv", *words, directory=directory)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    check(done.returncode == 0 and [row["reduction_percent"] for row in rows] == ["0", "50"], f"causal: {done}")
    if len(rows) == 2:
        # Rank 0 works 12 times for 5 ms before it sends: the other owes half of that.
        check(float(rows[0]["delays_seconds"]) == 0 and float(rows[1]["delays_seconds"]) >= 0.5 * 12 * 0.005, f"causal: {rows}")
        check(rows[1]["visits"] == "12" and float(rows[1]["replay_gain_percent"]) > 0, f"causal: {rows}")
        check(float(rows[1]["seconds"]) > float(rows[1]["delays_seconds"]), f"causal: {rows}")
    # A region of all ranks: each of them pays what it owes to the others, by a rest and a spin.
    done = run(BREAKDOWN, "causal", "inner cells", "--runs", "1", "--reductions", "50", "--csv", "--", WEFTRUN, "-n", "2", "--workers",
               "2", HALO, "20", "2000000", directory=directory)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    check(done.returncode == 0 and len(rows) == 2 and float(rows[1]["delays_seconds"]) > 0, f"causal, a region of all ranks: {done}")
    done = run(BREAKDOWN, "causal", "MPI_Reduce in main", *words, directory=directory)
    check(done.returncode == 2 and "5 are the least" in done.stderr and done.stderr.count("\n") == 1, f"causal, two visits: {done}")
    done = run(BREAKDOWN, "causal", "nowhere", *words, directory=directory)
    check(done.returncode == 2 and "'nowhere'" in done.stderr and "MPI_" in done.stderr, f"causal, unknown: {done}")
    done = run(BREAKDOWN, "causal", "MPI_Send", "--", WEFTRUN, "-n", "2", FAULTS, "status", directory=directory)
    check(done.returncode == 2 and "status 3" in done.stderr, f"causal of what fails: {done}")


def check_model(directory):
    """What the paper observed stands beside its own sums, and beside no others."""
    done = run(BREAKDOWN, "model", directory=directory)
    for line in (r"injection overhead, low level +295\.73 +282\.33 +\+4\.7 %", r"latency, low level +1135\.80 +1190\.25 +-4\.6 %",
                 r"injection overhead +264\.97 +263\.91 +\+0\.4 %", r"latency +1387\.02 +1336\.00 +\+3\.8 %"):
        check(re.search(line, done.stdout), f"model: no {line} in {done.stdout}")
    Path(directory, "mine.txt").write_text("wire = 100\n")
    done = run(BREAKDOWN, "model", "mine.txt", directory=directory)
    check(done.returncode == 0 and "observed" not in done.stdout, f"model of other components: {done}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_model(directory)
        check_replay(directory)
        check_causal(directory)
        check_regions(directory)
        check_probe(directory)
        check_otf2(directory)
        check_scale(directory)
        check_refused(directory)
    sys.exit(1 if problems else 0)


main()
