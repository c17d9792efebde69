#!/usr/bin/python3
"""weftrun --breakdown against programs with one known fault, each of which measures itself what must be found:
live.py WEFTRUN WEFT-BREAKDOWN FAULTS PLAIN [SHMEM-FAULTS TASK-FAULTS POP-TOOL]. No limit here is a speed."""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, BREAKDOWN, FAULTS, PLAIN = (str(Path(word).resolve()) for word in sys.argv[1:5])
SHMEM_FAULTS, TASK_FAULTS, POP_TOOL = (str(Path(word).resolve()) for word in sys.argv[5:8]) if len(sys.argv) > 7 else ("", "", "")
problems = []
# Other programs of the machine can keep a rank or its process from running between the program's own look at the clock and weft's.
# A tool that is wrong is wrong in each run, so what compares times is looked at again, up to `attempts_max` times, until each of
# its checks has held in one run.
attempts_max = 6
wrong_now = None  # Of the run that is looked at: which checks failed, by line of this file and rank.


def check(holds, what, rank=None):
    if holds:
        return
    if wrong_now is None:
        problems.append(what)
        print("WRONG:", what)
    else:
        wrong_now[sys._getframe(1).f_lineno, rank] = what


class NothingToSee(Exception):
    """A run has no report."""


def until_each_held(label, look, *words, **options):
    """Calls `look` until each check in it has held once."""
    global wrong_now
    wrong = None
    for attempt in range(attempts_max):
        wrong_now = {}
        try:
            look(*words, **options)
            wrong = {key: what for key, what in wrong_now.items() if wrong is None or key in wrong}
        except NothingToSee as nothing:
            if wrong is None and attempt + 1 == attempts_max:
                wrong = {None: str(nothing)}
            print(f"{label}: {nothing}")
        finally:
            wrong_now = None
        if wrong == {}:
            return
        print(f"run {attempt + 1} of at most {attempts_max} of '{label}' is not right: {list((wrong or {}).values())}")
    for what in (wrong or {}).values():
        check(False, what)


def run(words, directory):
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=120)


def breakdown(mode, directory, *options, program=FAULTS):
    page = Path(directory) / f"{mode}.html"
    done = run([WEFTRUN, "--breakdown", "--breakdown-file", str(page), *options, program, mode], directory)
    data = json.loads(page.with_suffix(".json").read_text()) if page.with_suffix(".json").exists() else None
    return done, data, page


def share(data, name):
    return data["shares"].index(name)


def check_sums(mode, data):
    for rank in data["by_rank"]:
        check(abs(sum(rank["shares"]) - rank["seconds"]) <= 1e-6 + 1e-6 * rank["seconds"],
              f"{mode}: the shares of rank {rank['rank']} are {sum(rank['shares'])} s of {rank['seconds']} s")
    e = data["efficiency"]
    check(abs(e["parallel"] - e["load_balance"] * e["communication"]) < 1e-3, f"{mode}: efficiency is no product: {e}")
    check(abs(e["communication"] - e["serialisation"] * e["transfer"]) < 1e-3, f"{mode}: communication is none: {e}")
    check(abs(e["parallel"] - e["own"] - e["stolen"]) < 1e-3, f"{mode}: own and stolen work are not all: {e}")


HEADER = 8192  # Bytes of a record before its accounts.

# Mode: wait state, its cause, where those wait, and a word of the advice.
FOUND = {
    "late_sender": ("late sender", 0, r"MPI_Recv in message_of at .*faults\.c:\d+", "sends late"),
    "late_sender_wait": ("late sender", 0, r"MPI_Wait in .*main at .*faults\.c:\d+", "sends late"),
    "late_sender_waitall": ("late sender", 0, r"MPI_Waitall in .*main at .*faults\.c:\d+", "sends late"),
    "late_receiver": ("late receiver", 1, r"MPI_Send in message_of at .*faults\.c:\d+", "receives its long"),
    "barrier": ("wait at barrier", 3, r"MPI_Barrier in .*main at .*faults\.c:\d+", "x the mean"),
    "alltoall": ("wait at n to n", 3, r"MPI_Alltoall in .*main at .*faults\.c:\d+", "x the mean"),
    "broadcast": ("late broadcast", 0, r"MPI_Bcast in .*main at .*faults\.c:\d+", "the root"),
    "reduce": ("early reduce", 3, r"MPI_Reduce in .*main at .*faults\.c:\d+", "as root"),
    "serial": ("wait at n to n", 0, r"MPI_Allreduce in .*main at .*faults\.c:\d+", "serial section"),
    "sleep": ("wait at barrier", None, r"MPI_Barrier in .*main at .*faults\.c:\d+", ""),
}
FOUND_IN_SHMEM = {
    "signal": ("late signal", 0, r"shmem_signal_wait_until in .*main at .*faults\.c:\d+", "writes late"),
    "lock": ("wait for lock", 0, r"shmem_set_lock in .*main at .*faults\.c:\d+", "a lock that rank 0"),
    "barrier": ("wait at barrier", 3, r"shmem_barrier_all in .*main at .*faults\.c:\d+", "x the mean"),
}
FOUND_IN_TASKS = {
    "promise": ("late task", 0, r"future::get in .* at .*", "brings about late"),
}


def check_fault(mode, directory, *options, program=FAULTS, known=FOUND):
    until_each_held(" ".join((mode,) + options), check_fault_once, mode, directory, *options, program=program, known=known)


def check_fault_once(mode, directory, *options, program, known):
    done, data, _ = breakdown(mode, directory, *options, program=program)
    label = " ".join((mode,) + options)
    if done.returncode != 0 or data is None:
        raise NothingToSee(f"{label}: status {done.returncode}:\n{done.stdout}{done.stderr}")
    check_sums(label, data)
    expected = dict(re.findall(r"^expect (\S+(?: \d+)?) (\S+)$", done.stdout, re.MULTILINE))
    total = float(re.search(r"^total (\S+)$", done.stdout, re.MULTILINE).group(1))
    state, cause, where, advice = known[mode]
    near = 0.02 * total
    mine = [w for w in data["waits"] if w["state"] == state and re.fullmatch(where, w["at"])]
    found = sum(w["seconds"] for w in mine)
    check(abs(found - float(expected["wait"])) <= near,
          f"{label}: {found:.4f} s of '{state}' at the place, the program measured {expected['wait']} s of {total:.4f} s;"
          f" waits: {json.dumps(data['waits'][:5], indent=1)}")
    for rank in range(data["ranks"]):
        of_cause = sum(w["seconds"] for w in mine if w["cause"] == rank)
        check(abs(of_cause - float(expected[f"caused {rank}"])) <= near,
              f"{label}: rank {rank} causes {of_cause:.4f} s of {found:.4f} s, by the program {expected[f'caused {rank}']} s", rank)
    if cause is not None and (mode.startswith("late_") or mode in ("signal", "lock", "promise")):
        check(not mine or any(re.search(r"faults\.c(pp)?:\d+$", w["cause_at"]) for w in mine), f"{label}: the cause has no place: {mine}")
    for rank in data["by_rank"]:
        for name in ("computing", "asleep"):
            measured = float(expected[f"{name} {rank['rank']}"])
            seen = rank["shares"][share(data, name)]
            check(abs(seen - measured) <= 0.02 * rank["seconds"],
                  f"{label}: rank {rank['rank']} is {name} for {seen:.4f} s, by itself {measured:.4f} s", (rank["rank"], name))
    # What other programs of the machine do to the ranks may outweigh the fault: then other advice is right.
    computing = [float(expected[f"computing {rank}"]) for rank in range(data["ranks"])]
    is_uneven = max(computing) > 1.3 * sum(computing) / len(computing)
    if float(expected["wait"]) > 3 * near and (is_uneven or mode.startswith("late_")):
        check(any(advice in line for line in data["advice"]), f"{label}: no advice has '{advice}': {data['advice']}")


def seen(mode, directory, *options):
    done, data, _ = breakdown(mode, directory, *options)
    if done.returncode != 0 or data is None:
        raise NothingToSee(f"{mode}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done, data


def check_early(directory, workers, mode, call, state):
    """What comes for other receives is not what a wait was for."""
    _, data = seen(mode, directory, "-n", "2", "--workers", workers)
    sums = {}
    for w in data["waits"]:
        if w["at"].startswith(call + " ") and w["waiters"] == [0]:
            sums[w["state"]] = sums.get(w["state"], 0) + w["seconds"]
    check(sums.get(state, 0) > 0.03 and "late sender" not in sums, f"{mode} on {workers}: {sums}")
    queued = data["by_rank"][0]["shares"][share(data, "queued")]
    check(queued < sums.get(state, 0), f"{mode} on {workers}: queued for {queued} s, {sums}")


def check_many_communicators(directory):
    """However many communicators a program has, it is known who comes last."""
    _, data = seen("many_communicators", directory, "-n", "2")
    late = [w for w in data["waits"] if w["state"] == "wait at barrier" and w["cause"] == 1 and w["waiters"] == [0]]
    check(sum(w["seconds"] for w in late) > 0.02, f"many communicators: {json.dumps(data['waits'][:5])}")


def check_own_work(directory, mode, ranks):
    """What a thief waits for in a chunk is not its owner's wait; nor does a rank wait while a thread of it does."""
    done, data = seen(mode, directory, "-n", str(ranks), *(("--workers", "3") if ranks == 3 else ()))
    own = float(re.search(r"^expect own (\S+)$", done.stdout, re.MULTILINE).group(1))
    computing = data["by_rank"][0]["shares"][share(data, "computing")]
    check(computing >= 0.8 * own, f"{mode}: rank 0 computes for {computing} s, by itself {own} s: {data['waits'][:3]}")


def check_late_task(directory, mode, state, cause, where, *options):
    """Who computed is the cause, by the name that the program has for it."""
    done, data, _ = breakdown(mode, directory, "-n", "2", *options, program=TASK_FAULTS)
    if done.returncode != 0 or data is None:
        raise NothingToSee(f"{mode}: status {done.returncode}: {done.stdout}{done.stderr}")
    late = [w for w in data["waits"] if w["state"] == state and w["cause"] == cause and re.fullmatch(where, w["cause_at"])]
    check(sum(w["seconds"] for w in late) > 0.03, f"{mode}: {json.dumps(data['waits'][:4], indent=1)}")


def check_efficiencies(directory, mode):
    """POP's efficiencies of a run are those of a tool that knows nothing of weft, in the same run."""
    done, data = seen(mode, directory, "-n", "4", "--ranks-per-process", "1", "env", f"LD_PRELOAD={POP_TOOL}")
    other = dict(zip(("parallel", "load_balance", "communication"), re.search(r"^pop (\S+) (\S+) (\S+)$", done.stderr, re.MULTILINE).groups()))
    mine = next(one for one in data["regions"] if one["name"] == "phase 9")
    for name, value in other.items():
        check(abs(mine[name] - float(value)) <= 0.02, f"{mode}: {name} is {mine[name]}, by the other tool {value}", name)
    print(f"efficiencies of {mode}: " + ", ".join(f"{name} {mine[name]:.4f} ({value})" for name, value in other.items()))


def main():
    with tempfile.TemporaryDirectory() as directory:
        for mode in FOUND:
            check_fault(mode, directory, "-n", "4", "--workers", "4")
        check_fault("late_sender", directory, "-n", "4", "--processes", "2")
        check_fault("barrier", directory, "-n", "4", "--ranks-per-process", "1")
        if SHMEM_FAULTS:
            check_fault("signal", directory, "-n", "2", program=SHMEM_FAULTS, known=FOUND_IN_SHMEM)
            check_fault("signal", directory, "-n", "2", "--processes", "2", program=SHMEM_FAULTS, known=FOUND_IN_SHMEM)
            check_fault("lock", directory, "-n", "2", program=SHMEM_FAULTS, known=FOUND_IN_SHMEM)
            check_fault("barrier", directory, "-n", "4", "--workers", "4", program=SHMEM_FAULTS, known=FOUND_IN_SHMEM)
        if POP_TOOL:
            for mode in ("barrier", "late_sender", "serial"):
                until_each_held(f"efficiencies of {mode}", check_efficiencies, directory, mode)
        if TASK_FAULTS:
            until_each_held("action", check_late_task, directory, "action", "late task", 1, r"action in \(anonymous namespace\)::answer_late", "--processes", "2")
            until_each_held("coroutine", check_late_task, directory, "coroutine", "late task", 1, r"the coroutine in pass_on at task_faults\.cpp:\d+")
            until_each_held("task", check_late_task, directory, "task", "task waits", 0, r"the promise in .* at task_faults\.cpp:\d+")
            check_fault("promise", directory, "-n", "2", program=TASK_FAULTS, known=FOUND_IN_TASKS)

        # The same output and status as without.
        plain = run([WEFTRUN, "-n", "2", FAULTS, "status"], directory)
        done, data, page = breakdown("status", directory, "-n", "2")
        check(done.stdout == plain.stdout and done.returncode == plain.returncode == 3,
              f"status: {done.returncode} and {done.stdout!r}, without {plain.returncode} and {plain.stdout!r}")
        check(data is not None and "breakdown of" in done.stderr, f"status: no report: {done.stderr}")
        # Of a collective to which not all have come nobody knows whom it waited for.
        ends = [w["state"] for w in data["waits"] if "MPI_Finalize" in w["at"]]
        check("transfer" not in ends, f"status: {data['waits']}")

        # A job within the job leaves its accounts alone.
        outer = Path(directory) / "nested.html"
        done = run([WEFTRUN, "--breakdown", "--breakdown-file", str(outer), "-n", "8", FAULTS, "nested",
                    f"{WEFTRUN} -n 1 {FAULTS} barrier >nested.out 2>&1"], directory)
        check(done.returncode == 0 and "rank" not in done.stdout, f"nested: {done}")
        data = json.loads(outer.with_suffix(".json").read_text())
        check_sums("nested", data)
        check(data["ranks"] == data["ranks_seen"] == data["ranks_ended"] == 8, f"nested: {data['ranks']} {data['ranks_ended']}")

        for workers in ("1", "2"):
            for mode, call, state in (("early_for_send", "MPI_Send", "late receiver"), ("early_for_barrier", "MPI_Barrier", "wait at barrier")):
                until_each_held(f"{mode} on {workers}", check_early, directory, workers, mode, call, state)
        until_each_held("many communicators", check_many_communicators, directory)
        for mode, ranks in (("loop_in_chunk", 3), ("helper_thread", 2)):
            until_each_held(mode, check_own_work, directory, mode, ranks)

        # Where the accounts are not, as on another host, the job goes on without.
        other = Path(directory) / "other"
        other.write_bytes(bytes(9000))
        for file in ("/proc/0/fd/3", str(other)):
            done = run(["env", f"WEFT_BREAKDOWN_ACCOUNTS={file}", WEFTRUN, "-n", "2", "--processes", "2", FAULTS, "status"], directory)
            check(done.returncode == 3 and done.stdout == plain.stdout and done.stderr.count("are not in it") == 1,
                  f"elsewhere: {done}")
        check(other.read_bytes() == bytes(9000), "elsewhere: a foreign file was changed")

        # What ends badly has a report too.
        done, data, _ = breakdown("crash", directory, "-n", "2")
        check(done.returncode != 0 and data is not None, f"crash: status {done.returncode}, {done.stderr}")
        if data is not None:
            check_sums("crash", data)
            check(data["ranks_ended"] < 2 and data["by_rank"][0]["shares"][share(data, "computing")] >= 0.03,
                  f"crash: {data['by_rank']}")
        done, data, _ = breakdown("deadlock", directory, "-n", "2")
        check(done.returncode != 0 and data is not None, f"deadlock: status {done.returncode}, {done.stderr}")
        if data is not None:
            check_sums("deadlock", data)
            check(any("MPI_Recv" in place["at"] for place in data["places"]), f"deadlock: {data['places']}")

        # Records that are none, and files that cannot be.
        record = page.with_suffix(".record")
        done = run([BREAKDOWN, "report", str(record), "--page", "again.html"], directory)
        check(done.returncode == 0 and (Path(directory) / "again.html").stat().st_size > 10000, f"report: {done.stderr}")
        # Two runs side by side: one with itself is as good as itself.
        done = run([BREAKDOWN, "compare", str(record), str(record), "--csv"], directory)
        rows = list(csv.reader(io.StringIO(done.stdout)))
        check(done.returncode == 0 and len(rows) > 20 and all(r[3] == r[4] for r in rows[1:]), f"compare: {done.stdout}{done.stderr}")
        check(["100", "100"] == [r[3:5] for r in rows if r[1] == "computation"][0], f"compare: {done.stdout}")
        done = run([BREAKDOWN, "compare", str(record), str(record)], directory)
        check(done.returncode == 0 and "load balance" in done.stdout, f"compare: {done.stdout}{done.stderr}")
        check(run([BREAKDOWN, "compare", str(record)], directory).returncode == 2, "compare takes one record")
        content = record.read_bytes()
        for name, bad in (("short", content[:5000]), ("empty", b""), ("foreign", b"\x7fELF" + content[4:]),
                          ("shares", content[:HEADER] + b"\x01\xff\xff\xff" + content[HEADER + 4:])):
            (Path(directory) / name).write_bytes(bad)
            done = run([BREAKDOWN, "report", name], directory)
            check(done.returncode == 2 and done.stderr.startswith(f"weft-breakdown: {name}") and
                  done.stderr.count("\n") == 1, f"record '{name}': {done.returncode} {done.stderr}")
        # A rank that never ran, whose account says something all the same, and a directory in place of any file.
        accounts = (len(content) - HEADER) // 2
        strange = bytearray(content)
        strange[HEADER:HEADER + accounts] = b"\x3f" * accounts
        strange[HEADER:HEADER + 4] = bytes(4)
        (Path(directory) / "strange").write_bytes(strange)
        done = run([BREAKDOWN, "report", "strange"], directory)
        check(done.returncode in (0, 2) and done.stderr.count("\n") <= 1, f"record 'strange': {done.returncode} {done.stderr}")
        (Path(directory) / "deep.json").write_text('{"weft-breakdown": "' + "x" * 1000 + '", "' + "n" * 1000000 + '": [' + "0," * 4000 + "0]}")
        for words in (("replay", "."), ("otf2", ".", "x"), ("scale", "./"), ("model", "."), ("what-if", "."), ("report", "."),
                      ("model", "deep.json")):
            done = run([BREAKDOWN, *words], directory)
            check(done.returncode == 2 and done.stderr.startswith("weft-breakdown: ") and done.stderr.count("\n") == 1,
                  f"{words}: {done.returncode} {done.stderr}")
        done = run([WEFTRUN, "--breakdown", "--breakdown-file", "/nonexistent/a.html", "-n", "2", FAULTS, "status"], directory)
        check(done.returncode == 2 and "/nonexistent/a.html" in done.stderr and done.stdout == "", f"unwritable: {done}")
        done = run([WEFTRUN, "--breakdown", "-n", "1", "true"], directory)
        check(done.returncode == 0 and "no job of weft has run" in done.stderr, f"no job: {done}")
        # A program of the C++ face, whose ranks are in the program itself.
        if PLAIN:
            done, data, _ = breakdown("plain", directory, "-n", "2", program=PLAIN)
            check(done.returncode == 0 and data is not None, f"C++: {done.returncode} {done.stdout} {done.stderr}")
            if data is not None:
                check_sums("C++", data)
    sys.exit(1 if problems else 0)


main()
