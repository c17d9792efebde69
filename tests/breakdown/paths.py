#!/usr/bin/python3
"""Where calls are said to be: paths.py WEFTRUN WEFT-BREAKDOWN PATHS [POP-TOOL SHMEM-FAULTS]. Nothing here is a time."""
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, BREAKDOWN, PATHS, *REST = (str(Path(word).resolve()) for word in sys.argv[1:6])
POP_TOOL, SHMEM_FAULTS = REST if len(REST) == 2 else ("", "")
FILE = "breakdown/paths.c"
problems = []


def check(holds, what):
    if not holds:
        problems.append(what)
        print("WRONG:", what)


def run(*words, directory, **more):
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=120, **more)
    check(done.returncode == 0, f"{words}: {done.returncode} {done.stderr}")
    return done


def line_of(text):
    """Of the first line that has it, in the program's source."""
    source = (Path(__file__).parent / "paths.c").read_text().splitlines()
    return next(number for number, line in enumerate(source, 1) if text in line)


def places(directory, *words, ranks=("-n", "2")):
    """What stands in the data of a page, by place."""
    page = Path(directory) / "p.html"
    done = run(WEFTRUN, "--breakdown", "--breakdown-file", str(page), *words[:-1], *ranks, *words[-1], directory=directory)
    data = json.loads(page.with_suffix(".json").read_text())
    return done, {one["at"]: one for one in data["places"]}, data


SWAP = f"MPI_Sendrecv in swap at {FILE}:{line_of('MPI_Sendrecv(')}"
SMALL = f"{SWAP} <- exchange_small at {FILE}:{line_of('swap(small)')} <- main at {FILE}:{line_of('    exchange_small();')}"
LARGE = f"{SWAP} <- exchange_large at {FILE}:{line_of('swap(large)')} <- main at {FILE}:{line_of('    exchange_large();')}"
MEET = f"MPI_Barrier in meet at {FILE}:{line_of('MPI_Barrier(')}"


def check_sites(directory):
    """Without paths: one place for both, with the least, mean and most of both."""
    done, at, _ = places(directory, [PATHS])
    check(SWAP in at and not any(" <- " in place for place in at), f"sites: {sorted(at)}")
    one = at.get(SWAP, {})
    check((one.get("calls"), one.get("messages"), one.get("bytes"), one.get("least_bytes"), one.get("most_bytes")) ==
          (16, 16, 2 * (3 * 8 + 5 * 800), 8, 800), f"sites: {one}")
    check(one and abs(one["mean_bytes"] - one["bytes"] / 16) < 1e-6, f"sites: {one}")
    for place, row in at.items():
        check(row["least"] <= row["mean"] <= row["most"] <= row["in_calls"] + 1e-9, f"sites: {place}: {row}")
        check(row["least_bytes"] <= row["mean_bytes"] <= row["most_bytes"] <= row["bytes"], f"sites: {place}: {row}")
        if row["calls"]:
            check(row["mean"] <= row["in_calls"] and row["most"] >= row["in_calls"] / row["calls"] * 0.999, f"sites: {place}: {row}")
    line = next((line for line in done.stderr.splitlines() if line.endswith(SWAP) and "late" not in line and "transfer" not in line
                 and "%" not in line), "")
    check(re.search(r"^ +16 .* 16 +8 +503\.0 +800  MPI_Sendrecv", line), f"sites, text: {done.stderr}")


def check_calls(directory):
    """By rank and place, and of all ranks, as mpiP lists them."""
    rows = list(csv.DictReader(io.StringIO(run(BREAKDOWN, "report", "p.record", "--calls", directory=directory).stdout)))
    swaps = {row["rank"]: row for row in rows if row["place"] == SWAP}
    check(set(swaps) == {"0", "1", "*"}, f"calls: {rows}")
    for rank, row in swaps.items():
        count = 16 if rank == "*" else 8
        check((int(row["calls"]), int(row["messages"]), int(row["bytes"]), int(row["least_bytes"]), int(row["most_bytes"])) ==
              (count, count, count * 503, 8, 800), f"calls: {row}")
        check(abs(float(row["mean"]) * count - float(row["in_calls"])) < 1e-6, f"calls: {row}")
        check(float(row["least"]) <= float(row["mean"]) <= float(row["most"]), f"calls: {row}")


def check_paths(directory):
    """With them each is a place of its own, what was compiled into others is told, and the depth has a limit."""
    done, at, data = places(directory, "--call-paths", [PATHS])
    check(SMALL in at and LARGE in at and SWAP not in at, f"paths: {sorted(at)}")
    for place, count, size in ((SMALL, 6, 8), (LARGE, 10, 800)):
        one = at.get(place, {})
        check((one.get("calls"), one.get("messages"), one.get("least_bytes"), one.get("most_bytes")) == (count, count, size, size),
              f"paths: {place}: {one}")
    met = [place for place in at if place.startswith(MEET)]
    check(met and met[0].startswith(f"{MEET} <- synchronise at {FILE}:") and " <- main at " in met[0], f"inlined: {sorted(at)}")
    dug = [place for place in at if place.startswith("MPI_Bcast in dig at ")]
    check(len(dug) == 1 and dug[0].count("dig at ") == 32 and "main" not in dug[0], f"deep: {dug}")
    check(all(not place.split(" <- main at ")[1:] or " <- " not in place.split(" <- main at ")[1] for place in at),
          f"behind main: {sorted(at)}")
    check(all("weft" not in place for place in at if " in " in place), f"weft's own calls: {sorted(at)}")
    check(any(" <- exchange_large at " in one["at"] for one in data["run"]["critical_path"] + data["run"]["delays"]) or
          any(" <- " in one["at"] for one in data["run"]["critical_path"]), f"critical path: {data['run']['critical_path']}")
    check(" <- exchange_large at " in done.stderr, f"text: {done.stderr}")
    # The record that is read again says the same.
    again = run(BREAKDOWN, "report", "p.record", "--events", "p.events", "--page", "again.html", directory=directory)
    check(" <- exchange_large at " in again.stdout, f"report: {again.stdout}")
    page = (Path(directory) / "again.html").read_text()
    check(" \\u003c- exchange_large at " in page or " <- exchange_large at " in page, "report: no path in the page")
    # In processes of their own, whose main the C library calls.
    _, at, _ = places(directory, "--call-paths", "--ranks-per-process", "1", [PATHS])
    check(SMALL in at and LARGE in at, f"a process each: {sorted(at)}")


def check_tool(directory):
    """What a tool stands between is told with who called the tool."""
    _, at, _ = places(directory, "--call-paths", "--ranks-per-process", "1", ["env", f"LD_PRELOAD={POP_TOOL}", PATHS])
    through = [place for place in at if "pop_tool.c:" in place and "exchange_small at " in place and " <- main at " in place]
    check(through, f"through a tool: {sorted(at)}")


def rows_of(*words, directory):
    return list(csv.DictReader(io.StringIO(run(BREAKDOWN, *words, "--csv", directory=directory).stdout)))


def check_events(directory):
    """Event files of whatever call have places in the program, with accounts and without."""
    run(WEFTRUN, "--trace", "s.events", "-n", "2", PATHS, "starts", directory=directory)
    names = {row["name"] for row in rows_of("replay", "s.events", directory=directory)}
    check(not any("libweft" in name or "+0x" in name for name in names), f"starts: {names}")
    # What took no time is not among them; an archive has every call.
    if shutil.which("otf2-print"):
        made = subprocess.run([BREAKDOWN, "otf2", "s.events", "s.otf2"], cwd=directory, capture_output=True, text=True, timeout=120)
        if "was built without" not in made.stderr:
            printed = run("otf2-print", "s.otf2/traces.otf2", directory=directory).stdout
            check("libweft" not in printed, "starts: libweft in the archive")
            for call in ("MPI_Ibarrier(", "MPI_Iallreduce(", "MPI_Ibcast(", "MPI_Allreduce_init(", "MPI_Isend(", "MPI_Send_init(",
                         "MPI_Comm_dup("):
                check(f"starts at {FILE}:{line_of(call)}" in printed, f"starts: no place of {call}...)")
    run(WEFTRUN, "--call-paths", "--trace", "p.events", "-n", "2", PATHS, directory=directory)
    names = {row["name"] for row in rows_of("replay", "p.events", "--faster", "exchange_small=50", directory=directory)}
    check(any(SMALL in name for name in names) and any(LARGE in name for name in names), f"paths of events: {names}")
    archive = run(BREAKDOWN, "otf2", "p.events", "p.otf2", directory=directory) if shutil.which("otf2-print") else None
    if archive and "was built without" not in archive.stderr:
        printed = run("otf2-print", "p.otf2/traces.otf2", directory=directory).stdout
        check("exchange_small at " in printed and "libweft" not in printed, "otf2: no paths")
    if SHMEM_FAULTS:
        run(WEFTRUN, "--trace", "o.events", "-n", "2", SHMEM_FAULTS, "signal", directory=directory)
        names = {row["name"] for row in rows_of("replay", "o.events", directory=directory)}
        check(not any("libweft" in name for name in names) and any("shmem_" in name and "shmem_faults.c:" in name for name in names),
              f"OpenSHMEM: {names}")


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_sites(directory)
        check_calls(directory)
        check_paths(directory)
        check_events(directory)
        if POP_TOOL:
            check_tool(directory)
    sys.exit(1 if problems else 0)


main()
