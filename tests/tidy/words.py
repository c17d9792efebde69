"""Words that weft has given up for those of the field; docs/glossary.md has the words that hold."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

# The old word, and what is said instead.
GONE = {
    r"(?<!PARAM_)octets?": "byte",  # Of OpenSSL's names it is a part.
    r"helms?": "hand-off lock",
    r"guests?": "attached thread",
    r"exhibit(ion)?s?": "buffer exposure, exposure",
    r"errands?": "urgent fiber",
    r"standstill": "stall",
    r"countdowns?": "completion counter",
    r"(?<!_)in_turn": "collective_turn",  # The type; try_enter_in_turn() is another word.
    r"attendant": "pass hook",
    r"visitors<": "reader_count",
    r"lives<": "lifetime_count",
    r"glimpse": "peek",
    r"lie_down|get_up": "arm, disarm",
    r"look_limit": "spin_limit",
    r"call_thieves": "wake_thief",
    r"(is_|begin_)?hindered": "needs_slow_path",
    r"short[ _]ways?": "fast path",
    r"take_leave": "shut_down",
    r"conceal": "end_exposure",
    r"is_deaf": "has_no_buffer_posted",
    r"class outside|outside_|glance": "event_source, events_, poll_cheap",
    r"attract_attention|attention_|attended_": "interrupt_workers, interrupts_",
    r"(look|go)_at_rest|rest_(observer|look|agreement)": "look_when_quiescent, quiescence_observer",
}
# Elsewhere these words may have their own meaning: by top folder.
GONE_IN = {"src/": {r"long[ _]way(?! [=<;])": "slow path", r"distant": "remote", r"shower": "owner", r"fellows?": "of the same worker", r"talks?\b(?= [a-z_]+\()": "control messages",
                    r"tenant": "user data", r"brought_bytes_max": "exchanged_bytes_max",
                    r"mates_of": "node_subgroups"},
           "src/runtime/": {r"judged?s?": "coordinator", r"verdicts?": "decision", r"witness(es)?": "participant"},
           "src/job/": {r"judged?s?": "coordinator"}}
EXEMPT = {"tests/tidy/words.py"}


def problems_of(name, text):
    gone = dict(GONE)
    for top, words in GONE_IN.items():
        if name.startswith(top):
            gone |= words
    # Names are looked at word by word: octets_of, is_guest.
    def pattern(word):
        return rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])"
    if not re.search(pattern("|".join(gone)), text, re.IGNORECASE):
        return  # One search for most files.
    for number, line in enumerate(text.splitlines(), 1):
        for word, instead in gone.items():
            if re.search(pattern(word), line, re.IGNORECASE):
                yield number, f"{word}: say {instead}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    listed = subprocess.run(["git", "-C", source, "ls-files"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        str(path.relative_to(source)) for top in ("include", "src", "tools", "docs", "tests", "bench", "apps", "examples")
        for path in (source / top).rglob("*")]
    count = files = 0
    for name in names:
        path = source / name
        if name in EXEMPT or not path.is_file() or path.suffix not in (
                ".hpp", ".cpp", ".h", ".c", ".f90", ".py", ".md", ".cmake", ".sh"):
            continue
        files += 1
        for number, problem in problems_of(name, path.read_text()):
            print(f"{name}:{number}: {problem}")
            count += 1
    print(f"{files} files, {count} problems")
    return 1 if count or not files else 0


sys.exit(main())
