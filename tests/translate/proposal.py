"""The loop that a breakdown asks for: proposal.py BIN WORK SOURCE

A run of SOURCE under weftrun --breakdown, and what weft-translate --tasks --from says of it: the place to which most computation
leads, and the loops before it, those in functions that are called there, too, and no others.
"""
import pathlib
import re
import shutil
import subprocess
import sys

bin_directory, work, source = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], cwd=work, capture_output=True, text=True, timeout=200)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stderr


def line_of(text):
    return next(number for number, line in enumerate(source.read_text().splitlines(), 1) if text in line)


shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
shutil.copy(source, work)
run(bin_directory / "weftcxx", "-g", "-O1", "-w", "-std=c++20", source.name, "-lm", "-o", "program")
run(bin_directory / "weftrun", "--breakdown", "-n", "2", "./program")
said = run(bin_directory / "weft-translate", "--tasks", "--from", "breakdown.json", source.name, "--", "-std=c++20")
place = f"MPI_Barrier in main at {source.name}:{line_of('MPI_Barrier')}"
if not re.search(rf"s of computation lead to {place}; the loops before it:", said):
    sys.exit(f"it does not name {place}:\n{said}")
told = {int(line) for line in re.findall(rf"^{source.name}:(\d+): the loop in", said, re.MULTILINE)}
in_step = line_of("for (int i = 0; i < cells; ++i) {")
if in_step not in told or line_of("odd += i % 2") in told:
    sys.exit(f"it tells of the loops at {sorted(told)}, and {in_step} is the one:\n{said}")
refused = run(bin_directory / "weft-translate", "--from", "breakdown.json", source.name, status=2)
if refused != "weft-translate: --loop and --from are about loops: give --tasks, too\n":
    sys.exit(refused)
(work / "other.json").write_text('{"places": [{"at": "main at elsewhere.c:7", "computing": 3}]}')
refused = run(bin_directory / "weft-translate", "--tasks", "--from", "other.json", source.name, "--", "-std=c++20", status=2)
if "other.json names no place in these sources: compile the program with -g" not in refused:
    sys.exit(refused)
