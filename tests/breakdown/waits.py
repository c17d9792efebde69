#!/usr/bin/python3
"""Each wait state by each call that can have it: waits.py WEFTRUN WEFT-BREAKDOWN WAITS PARCEL-WAITS SHMEM-WAITS. The program plants work of one rank that another one
waits for, and measures how long. What weftrun --breakdown says live, and what its replay says, is held against that; not against a speed."""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, BREAKDOWN, WAITS, PARCEL_WAITS, SHMEM_WAITS = (str(Path(word).resolve()) for word in sys.argv[1:6])
# Other programs of the machine can keep a rank from running, also while it waits: so little is asked for, which what has no cause has not,
# and each mode has to be right once.
least, most = 0.4, 1.3
attempts_max = 5
# The rows of a report end somewhere, so the modes are run in parts.
modes_of_a_run = 16


def run(directory, *words):
    page = Path(directory) / "waits.html"
    done = subprocess.run([WEFTRUN, "--breakdown", "--breakdown-file", str(page), *words], cwd=directory, capture_output=True, text=True,
                          timeout=250)
    if done.returncode != 0:
        sys.exit(f"{words}: status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, json.loads(page.with_suffix(".json").read_text())


def is_in(mode, place):
    return re.search(rf"\bin {mode}\b", place) is not None


def problems_of(mode, state, waited, data):
    """What live table and replay say otherwise than the program."""
    mine = [w for w in data["waits"] if is_in(mode, w["at"]) and 1 in w["waiters"] and w["state"] != "transfer"]
    right = sum(w["seconds"] for w in mine if w["state"] == state and w["cause"] == 0 and is_in(mode, w["cause_at"]))
    if not least * waited <= right <= 1.05 * waited:
        yield f"{mode}: {right:.4f} s of '{state}' for rank 0, which makes rank 1 wait {waited:.4f} s: {json.dumps(mine)}"
    others = sum(w["seconds"] for w in mine) - right
    if others > least * waited:
        yield f"{mode}: {others:.4f} s are no '{state}' for rank 0 in {mode}: {json.dumps(mine)}"
    delays = data["run"]["delays"]
    delayed = sum(one["seconds"] for one in delays if is_in(mode, one["at"]))
    if not least * waited <= delayed <= most * waited:
        yield f"{mode}: replayed, rank 0 delays rank 1 by {delayed:.4f} s, which waits {waited:.4f} s: {json.dumps(delays)}"


def check(directory, program, first):
    out, data = run(directory, "-n", "2", "--workers", "2", program, str(first), str(modes_of_a_run))
    each = float(re.search(r"^modes \d+, (\S+) each$", out, re.MULTILINE).group(1))
    found = {}
    computed = each_waited = 0
    for mode, state, waited in re.findall(r"^planted (\S+) (\S+) (\S+)$", out, re.MULTILINE):
        found[mode] = list(problems_of(mode, state.replace("_", " "), float(waited), data))
        if mode != "w_sleep":
            computed += each
            each_waited += float(waited)
        print(f"{mode}: {'right' if not found[mode] else found[mode]}")
    # Half of what is computed in all of them before each call: the others wait for nothing else.
    done = subprocess.run([BREAKDOWN, "replay", "waits.events", "--csv", "--faster", "in w_=50"], cwd=directory, capture_output=True,
                          text=True, timeout=250)
    again, changed = (float(row["seconds"]) for row in list(csv.DictReader(io.StringIO(done.stdout)))[1:3])
    saved = again - changed
    found["what if"] = [] if 2 * least * computed / 2 <= saved <= most * each_waited / 2 else [
        f"half of {computed:.4f} s of computation would save {saved:.4f} s of {again:.4f} s"]
    # Waiting is no work: rank 1 waits for all that rank 0 computes.
    tasks = data["by_rank"][1]["shares"][data["shares"].index("tasks")]
    found["efficiency"] = [] if data["efficiency"]["parallel"] < 0.7 and tasks < 0.05 * data["seconds"] else [
        f"waits count as work: {data['efficiency']}, {tasks} s of tasks"]
    nameless = sum(one["seconds"] for one in data["run"]["delays"] if one["at"].endswith(" end"))
    found["end"] = [f"delays have no place: {data['run']['delays']}"] if nameless > 0.2 * each else []
    return found


def check_parcels(directory):
    """A locality whose program has ended computes for others: it is the cause, and what it does is work."""
    out, data = run(directory, "-n", "2", "--processes", "2", PARCEL_WAITS)
    waited = {name: float(seconds) for name, seconds in re.findall(r"^planted (\S+) (\S+)$", out, re.MULTILINE)}
    found = {}
    for name, seconds in waited.items():
        late = [w for w in data["waits"] if w["waiters"] == [0] and w["state"] == "late task"]
        right = sum(w["seconds"] for w in late if w["cause"] == 1 and w["cause_at"] == f"action in {name}")
        delays = data["run"]["delays"]
        delayed = sum(one["seconds"] for one in delays if f"action in {name}" in one["at"])
        found[name] = [] if least * seconds <= right <= 1.05 * seconds and least * seconds <= delayed <= most * seconds else [
            f"{name}: {right:.4f} s live and {delayed:.4f} s replayed of {seconds:.4f} s: {json.dumps(late)} {json.dumps(delays)}"]
    served = data["by_rank"][1]["shares"][data["shares"].index("tasks")]
    sums = abs(sum(data["by_rank"][1]["shares"]) - data["by_rank"][1]["seconds"])
    found["served"] = [] if served >= least * sum(waited.values()) and sums < 1e-5 else [
        f"locality 1 computes {served:.4f} s of {sum(waited.values()):.4f} s: {json.dumps(data['by_rank'])}"]
    return found


def until_each_was_right(look, *words):
    wrong = None
    for attempt in range(attempts_max):
        found = look(*words)
        wrong = {name: what for name, what in found.items() if what and (wrong is None or name in wrong)}
        if not wrong:
            return []
    return [line for what in wrong.values() for line in what]


def main():
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        for program in (WAITS, SHMEM_WAITS):
            out, _ = run(directory, "-n", "2", program, "0", "0")
            count = int(re.search(r"^modes (\d+),", out, re.MULTILINE).group(1))
            for first in range(0, count, modes_of_a_run):
                problems += until_each_was_right(check, directory, program, first)
        problems += until_each_was_right(check_parcels, directory)
    print("\n".join(f"WRONG: {one}" for one in problems))
    sys.exit(1 if problems else 0)


main()
