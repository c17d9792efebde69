"""What weft-translate makes of a program: golden.py BIN TEXTS WORK SOURCE [--only-same]

The new text and what was said are those of TEXTS/NAME.translated and TEXTS/NAME.said; the new program compiles without a warning
and prints what the old one prints, with 1 and 4 ranks. With --only-same there are no such files. WRITE_GOLDEN=1 writes
them anew: look at the difference.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

bin_directory, texts, work, source = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
only_same = "--only-same" in sys.argv
text = source.read_text()


def fail(why):
    print(f"{source.name}: {why}")
    sys.exit(1)


def run(words, status=0):
    done = subprocess.run([str(word) for word in words], cwd=work, capture_output=True, text=True, timeout=200)
    if done.returncode != status:
        fail(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


shutil.rmtree(work, ignore_errors=True)
(work / "out").mkdir(parents=True)
shutil.copy(source, work)
named = re.search(r"Translate with: (.*?)(?: \*/)?$", text, re.MULTILINE)
words = named[1].split() if named else []
does_not_compile = "It does not compile" in text
done = run([bin_directory / "weft-translate", "--out", "out", *words, source.name, "--", "-O1"], 1 if does_not_compile else 0)
said = done.stderr.replace(str(work) + "/", "")
new = work / "out" / (source.stem + ".cpp")
if does_not_compile:
    if new.exists() or "undeclared" not in said or "nothing has been written" not in said or done.stdout:
        fail(f"it said\n{said}")
    sys.exit(0)
if (work / source.name).read_text() != text:
    fail("its source was written to")
if not only_same:
    for name, is_now in ((source.stem + ".translated", new.read_text()), (source.stem + ".said", said)):
        golden = texts / name
        if os.environ.get("WRITE_GOLDEN"):
            golden.write_text(is_now)
        elif not golden.exists() or golden.read_text() != is_now:
            (work / name).write_text(is_now)
            difference = subprocess.run(["diff", "-u", golden, work / name], capture_output=True, text=True).stdout
            fail(f"{name} is otherwise:\n{difference}")
    # Without a word about where it is to be written, nothing is.
    shown = run([bin_directory / "weft-translate", *words, source.name]).stdout
    if not shown.startswith("--- ") or not re.search(r"^\+.*weft", shown, re.MULTILINE) or list(work.glob("*.cpp")) != (
            [work / source.name] if source.suffix == ".cpp" else []):
        fail(f"the difference is\n{shown}")

    # Nor over what --out has written before.
    refused = run([bin_directory / "weft-translate", "--out", "out", *words, source.name], 2).stderr
    if "is there already" not in refused:
        fail(f"--out writes over a file: {refused}")

    # In place: C++ into the same file, of C beside it, and never over another one.
    (work / "place").mkdir()
    shutil.copy(source, work / "place")
    there = work / "place" / source.name
    run([bin_directory / "weft-translate", "--in-place", *(word.replace(source.name, str(there)) for word in words), there])
    if there.with_suffix(".cpp").read_text() != new.read_text() or (source.suffix == ".c" and there.read_text() != text):
        fail("--in-place writes otherwise than --out")
    if source.suffix == ".c":
        there.with_suffix(".cpp").write_text("mine")
        refused = run([bin_directory / "weft-translate", "--in-place", there], 2).stderr
        if "is there already" not in refused or there.with_suffix(".cpp").read_text() != "mine":
            fail(f"--in-place writes over a file: {refused}")

language = ["-std=gnu11"] if source.suffix == ".c" else ["-std=c++20"]
wrapper = "weftcc" if source.suffix == ".c" else "weftcxx"
run([bin_directory / wrapper, "-O1", "-w", *language, source.name, "-lm", "-o", "old"])
compiled = run([bin_directory / "weftcxx", "-O1", "-std=c++20", "-Wall", "-Wextra", "-Werror", new, "-lm", "-o", "new"])
for ranks in (1, 4):
    for way in ([], ["--ranks-per-process", "1"]):
        start = [bin_directory / "weftrun", "-n", ranks, *way]
        old_output = sorted(run([*start, "./old"]).stdout.splitlines())
        new_output = sorted(run([*start, "./new"]).stdout.splitlines())
        if old_output != new_output or not old_output:
            fail(f"{ranks} ranks {way}: before\n{old_output}\nnow\n{new_output}")
