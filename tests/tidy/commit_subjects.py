"""Subjects of commits are "module: imperative summary", of at most 72 characters, as CONTRIBUTING.md says. The rule is
checked from the commit that brought this test on, until a commit is pushed and can no longer be mended."""
import argparse
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
LENGTH_MAX = 72
SUBJECT = re.compile(r"[a-z0-9_./, -]+: \S")


def problem_of(subject):
    if len(subject) > LENGTH_MAX:
        return f"{len(subject)} characters, of at most {LENGTH_MAX}"
    if not SUBJECT.match(subject):
        return "it does not begin with a module and a colon"
    return None


def check_the_check():
    assert problem_of("comm: store completion events by value") is None
    assert problem_of("trace, profile: " + "x" * (LENGTH_MAX - 16)) is None
    assert problem_of("comm: " + "x" * LENGTH_MAX)
    assert problem_of("Store completion events") and problem_of("comm:store") and problem_of("")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    check_the_check()

    def git(*words):
        try:
            return subprocess.run(["git", "-C", source, *words], text=True, capture_output=True)
        except FileNotFoundError:
            return None

    # The rule holds from this test's first commit on. An archive knows none, and in a clone of the last commits alone the
    # oldest of these seems to bring on every file.
    shallow = git("rev-parse", "--is-shallow-repository")
    if shallow is None or shallow.returncode or shallow.stdout.strip() != "false":
        print("this is no clone with the history of the repository")
        return SKIPPED
    first = git("log", "--diff-filter=A", "--format=%h", "--", "tests/tidy/commit_subjects.py")
    if first.returncode or not first.stdout.strip():
        print("this is no clone with the history of the repository")
        return SKIPPED
    commits = git("log", "--no-merges", "--format=%h %s", f"{first.stdout.split()[-1]}..HEAD", "--not", "--remotes").stdout.splitlines()
    count = 0
    for commit in commits:
        number, _, subject = commit.partition(" ")
        if problem := problem_of(subject):
            print(f"{number} {subject}: {problem}")
            count += 1
    print(f"{len(commits)} commits, {count} problems")
    return 1 if count else 0


sys.exit(main())
