#!/usr/bin/python3
"""weft-breakdown measure and what reads its files: measure.py WEFT-BREAKDOWN. Nothing here depends on how fast the
machine is: sums must be those of their parts, and every number is one that was measured."""
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BREAKDOWN = str(Path(sys.argv[1]).resolve())
problems = []


def check(holds, what):
    if not holds:
        problems.append(what)
        print("WRONG:", what)


def run(directory, *words):
    return subprocess.run([BREAKDOWN, *words], cwd=directory, capture_output=True, text=True, timeout=200)


PARTS = {
    "ranks": (["protocol", "pack", "publish", "return", "loop", "misc", "progress"],
              ["protocol", "pack", "publish", "wire", "match", "copy", "signal", "return", "loop", "misc"]),
    "fellows": (["keep", "loop", "misc", "progress"], ["match", "copy", "signal", "return", "switch", "loop"]),
    "comm": (["protocol", "publish", "return", "loop", "misc", "progress"],
             ["protocol", "publish", "wire", "match", "signal", "return", "loop", "misc"]),
}


def check_face(directory, face, *options):
    label = " ".join((face,) + options)
    done = run(directory, "measure", "--face", face, "--runs", "2", "--samples", "100", "--out", "here.json", *options)
    check(done.returncode == 0, f"{label}: {done.returncode} {done.stderr}")
    if done.returncode != 0:
        return
    data = json.loads((Path(directory) / "here.json").read_text())
    for sum_name, names in zip(("injection", "latency"), PARTS[face]):
        of = data[sum_name]
        check(sorted(p["name"] for p in of["parts"]) == sorted(names), f"{label}: parts {[p['name'] for p in of['parts']]}")
        total = sum(p["ns"] for p in of["parts"])
        check(abs(total - of["modelled"]) < 0.01, f"{label}: parts sum to {total}, the model says {of['modelled']}")
        check(of["observed"]["ns"] > 0 and total > 0, f"{label}: {sum_name} {total}, observed {of['observed']}")
        error = 100 * (of["modelled"] - of["observed"]["ns"]) / of["observed"]["ns"]
        check(abs(error - of["error_percent"]) < 0.1, f"{label}: an error of {error} %, said to be {of['error_percent']} %")
        stages = sum(p["ns"] for p in of["parts"] if p["name"] != "misc")
        check(abs(stages - of["stages"]) < 0.01, f"{label}: stages sum to {stages}, said to be {of['stages']}")
        error = 100 * (stages - of["observed"]["ns"]) / of["observed"]["ns"]
        check(abs(error - of["stages_error_percent"]) < 0.1, f"{label}: stages are {error} % off, said to be {of['stages_error_percent']} %")
        check(all((p["level"] == "misc") == (p["name"] == "misc") for p in of["parts"]), f"{label}: levels {of['parts']}")
        for part in of["parts"]:
            check(part["samples"] >= 100 and part["quantiles"] == sorted(part["quantiles"]), f"{label}: {part}")
    check([w[0] for w in data["windows"]] == [1, 2, 4, 8, 16, 32, 64], f"{label}: {data['windows']}")
    # A window is the way there and back, and the others one after the other, as fast as the slower side lets them.
    post = sum(p["ns"] for p in data["injection"]["parts"] if p["name"] != "progress")
    gap = data["interval"]["ns"] + post if face == "fellows" else max(data["interval"]["ns"], post)
    for messages, modelled, _ in data["windows"]:
        ns = (2 * data["latency"]["modelled"] + (messages - 1) * gap) / messages
        check(abs(ns - modelled) < 0.01, f"{label}: {messages} messages are modelled as {modelled}, not {ns}")
    shown = re.findall(r"^  (stages|whole) +([-0-9.]+)  .*, ([-+0-9.]+) % off$", done.stdout, re.M)
    expected = []
    for of in (data["injection"], data["latency"]):
        expected.append(("stages", f"{of['stages']:.2f}", f"{of['stages_error_percent']:+.1f}"))
        if any(p["name"] == "misc" for p in of["parts"]):
            expected.append(("whole", f"{of['modelled']:.2f}", f"{of['error_percent']:+.1f}"))
    check([s[0] for s in shown] == [e[0] for e in expected], f"{label}: {shown} shown, {expected} expected")
    for seen, wanted in zip(shown, expected):  # The file's digits are rounded once more.
        check(all(abs(float(a) - float(b)) < 0.11 for a, b in zip(seen[1:], wanted[1:])), f"{label}: {seen} shown, {wanted} expected")
    check("is subtracted" in done.stdout, f"{label}: {done.stdout}")
    return data


def main():
    with tempfile.TemporaryDirectory() as directory:
        check_face(directory, "comm", "--transport", "shm")
        check_face(directory, "fellows")
        check_face(directory, "ranks", "--size", "512")
        data = check_face(directory, "ranks")

        # What reads it.
        done = run(directory, "what-if", "here.json", "--csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        wire = [p for p in data["latency"]["parts"] if p["name"] == "wire"][0]["ns"]
        half = [r for r in rows if r["component"] == "wire" and r["reduction_percent"] == "50"]
        check(len(half) == 1 and abs(float(half[0]["latency_gain_percent"]) - 50 * wire / data["latency"]["modelled"]) < 0.01,
              f"what-if: {half}, the wire takes {wire} of {data['latency']['modelled']}")
        # A faster low level makes its own parts faster, and nothing that no level has.
        low = sum(p["ns"] for p in data["injection"]["parts"] if p["name"] in ("pack", "publish"))
        half = [float(r["injection_gain_percent"]) for r in rows if r["component"] == "low level" and r["reduction_percent"] == "50"]
        expected = 50 * max(low, 0) / data["injection"]["modelled"]
        check(abs((half or [0])[0] - expected) < 0.01, f"what-if: {half} of the low level, {expected} expected")
        again = run(directory, "model", "here.json")
        check(again.returncode == 0 and "wire" in again.stdout, f"model: {again.stdout}{again.stderr}")

        # What is not believed.
        text = (Path(directory) / "here.json").read_text()
        for name, bad in (("cut", text[:700]), ("foreign", '{"kind": "other"}'), ("negative", text.replace('"bytes": 8', '"bytes": -8')),
                          ("word", text.replace('"rounds": 2', '"rounds": "two"')), ("deep", '{"a":' * 100)):
            (Path(directory) / f"{name}.json").write_text(bad)
            done = run(directory, "what-if", f"{name}.json")
            check(done.returncode == 2 and f"{name}.json" in done.stderr and done.stderr.count("\n") == 1,
                  f"'{name}': {done.returncode} {done.stderr}")
        for words in (("--face", "nobody"), ("--size", "4"), ("--size", "100000000"), ("--out", "/nonexistent/a.json"),
                      ("--samples", "3")):
            done = run(directory, "measure", *words)
            check(done.returncode == 2 and done.stderr.count("\n") == 1 and words[0] in done.stderr + " --out",
                  f"{words}: {done.returncode} {done.stderr}")
        done = run(directory, "measure", "--face", "comm", "--transport", "pigeons", "--runs", "1")
        check(done.returncode == 2 and "pigeons" in done.stderr, f"no such transport: {done.returncode} {done.stderr}")
    sys.exit(1 if problems else 0)


main()
