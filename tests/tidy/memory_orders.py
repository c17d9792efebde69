"""Orders of memory are named in structures that the model checker runs, and nowhere else: elsewhere in src
and include an atomic operation is relaxed. A structure whose labels no test of tests/model sees has no
proof; an operation that names no order would be the strongest, without a label."""
import argparse
import re
import sys
from pathlib import Path

# Files that name stronger orders for a reason of their own.
ALLOWED = {
    "src/sync/atomics.hpp": "what release() and the like of the product are",
    "src/sync/atomics.cpp": "the fences themselves",
    "src/sync/announcements.hpp": "the checker does not run a read-modify-write before one that precedes it",
    "src/sync/deque.hpp": "the checker does not run a store before a load that precedes it",
    "src/sync/record_ring.hpp": "peek() is a hint for diagnosis that ThreadSanitizer is not asked about",
    "src/rank/instrumented_code.cpp": "operations of the program, which expects the order of std::atomic",
    "src/comm/atomics.cpp": "operations of the program, which expects the order of std::atomic_ref",
    "include/weft/comm/completion.hpp": "the same as sync/atomics.hpp, for a public counter",
}
STRONG = re.compile(r"memory_order(_|::)(acquire|release|acq_rel|seq_cst|consume)|__ATOMIC_(?!RELAXED)[A-Z_]+"
                    r"|atomic_thread_fence|atomic_signal_fence|\batomic_flag\b")
CALL = re.compile(r"(?:\.|->)(load|store|exchange|fetch_(?:add|sub|and|or|xor)|compare_exchange_(?:weak|strong)"
                  r"|test_and_set)\(")
LABEL = re.compile(r"Atomics::(?:acquire|release|acq_rel|seq_cst|light_fence|heavy_fence)\(\"")
DECLARED = re.compile(r"std::atomic<[^;()<>]*>\s+(\w+)(?=[;{= ])")


def arguments_at(text, start):
    """What follows the parenthesis that opens before `start`, to its end, without the arguments of calls in it."""
    depth = 1
    own = []
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            break
        if depth == 1:
            own.append(text[at])
    return "".join(own)


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def problems_of(path, text, atomics):
    """Yields (line, problem) for one file; `atomics` are the names of atomic objects that it may know."""
    code = without_comments(text)

    def line(at):
        return code.count("\n", 0, at) + 1

    if path not in ALLOWED:
        for found in STRONG.finditer(code):
            yield line(found.start()), f"{found.group()}: use a structure of sync, or make one with a model test"
    if path == "src/comm/atomics.cpp":
        return
    for found in CALL.finditer(code):
        arguments = arguments_at(code, found.end())
        if "memory_order" not in arguments and "Atomics::" not in arguments:
            yield line(found.start()), f"{found.group(1)}() names no order"
    for name in atomics:
        used = (rf"(?:\+\+|--)[\w.>\[\]-]*\b{name}\b"
                rf"|!{name}\b(?!\s*[.\[-])|\b(?:if|while)\s*\({name}\s*[)&|]"
                rf"|(?:^|[;{{}}(]|[\w)\]](?:\.|->))\s*\b{name}\s*(?:\+\+|--|[-+|&^]?=(?!=))")
        for found in re.finditer(used, code, re.MULTILINE):
            yield line(found.end()), f"{found.group().strip()} names no order"


def check_the_check():
    """The rules above, tried on right and wrong lines."""
    right = ["x.load(std::memory_order_relaxed);", 'x.load(Atomics::acquire("A1"));', "std::atomic<int> x{0};",
             "x.store(y.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);", "// memory_order_acquire",
             "return x.load(std::memory_order_relaxed);", "maxx = 1;",
             "x.compare_exchange_strong(a, f(b), std::memory_order_relaxed);", "p->maxx++;"]
    wrong = ["x.load();", "x.load(std::memory_order_acquire);", "x.fetch_add(f(1), std::memory_order_acq_rel);",
             "++x;", "o.x++;", "x = 1;", "x += 2;", "x.store(y.load(std::memory_order_relaxed));",
             "std::atomic_thread_fence(o);", "++o->x;", "while (!x) {", "if (x) return;"]
    for code in right:
        assert not list(problems_of("src/a.cpp", code, ["x"])), (code, list(problems_of("src/a.cpp", code, ["x"])))
    for code in wrong:
        assert list(problems_of("src/a.cpp", code, ["x"])), code


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    check_the_check()
    files = {path.relative_to(source).as_posix(): path.read_text()
             for top in ("src", "include") for path in sorted((source / top).rglob("*.?pp"))}
    models = "".join(path.read_text() for path in (source / "tests/model").glob("*_model.cpp"))
    seen_by_models = set(re.findall(r'#include "([^"]+)"', models))
    count = 0
    labelled = 0
    for path, text in files.items():
        stem = path.rsplit(".", 1)[0]
        own = "".join(without_comments(t) for p, t in files.items() if p.rsplit(".", 1)[0] == stem)
        problems = list(problems_of(path, text, set(DECLARED.findall(own))))
        if LABEL.search(text):
            labelled += 1
            if path.split("/", 1)[1] not in seen_by_models:
                problems.append((1, "it has labelled orders, and no test of tests/model includes it"))
        for number, problem in problems:
            print(f"{path}:{number}: {problem}")
        count += len(problems)
    print(f"{len(files)} files, {labelled} with labelled orders, {count} problems")
    return 1 if count or not labelled else 0


sys.exit(main())
