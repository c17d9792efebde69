"""Who may include whom: the arrows of docs/architecture, third parties' headers in one place."""
import argparse
import re
import sys
from pathlib import Path

# Beside itself, a module may include these and no other; everyone may include base, sync, trace and profile.
ARROWS = {
    "base": set(),
    "sync": {"base"},
    "trace": {"base"},
    "profile": {"base", "sync", "trace"},
    "fiber": set(),
    "transport": set(),
    "bootstrap": set(),
    "sched": {"fiber"},
    "comm": {"transport", "bootstrap"},
    "runtime": {"comm", "sched", "bootstrap"},
    "breakdown": set(),
    "diagnosis": {"sched", "runtime"},
    "job": {"diagnosis", "bootstrap", "comm", "sched", "runtime"},
    "remote": {"job", "comm", "sched", "runtime"},
    "rank": {"remote", "job", "diagnosis", "sched"},
    "collective": {"rank", "remote", "job", "comm"},
    "process": {"rank", "job", "diagnosis", "sched", "fiber", "runtime"},
    "task": {"sched"},
    "parcel": {"remote", "job", "task", "comm", "sched", "transport", "bootstrap"},
    "rma": {"rank", "remote", "job", "sched", "runtime"},
    "shmem": {"rma", "collective", "rank", "process", "remote", "job", "comm", "sched"},
    "mpi": {"rma", "collective", "rank", "process", "job", "diagnosis", "sched", "bootstrap"},
}
FOR_ALL = {"base", "sync", "trace", "profile"}
NOT_USED_YET = set()
# The rooms of a module, likewise: beside itself, a room may include these rooms of its module.
_CALLER = {"life", "signals"}
_POINT_TO_POINT = {"object", "datatype"}
_COLLECTIVE = _POINT_TO_POINT | {"point_to_point"}
ROOMS = {
    "mpi": {
        "object": set(),
        "datatype": {"object"},
        "point_to_point": _POINT_TO_POINT,
        "collective": _COLLECTIVE,
        "communicator": _COLLECTIVE | {"collective"},
        "topology": _COLLECTIVE | {"collective"},
        "environment": _COLLECTIVE | {"collective"},
        "fortran": {"object", "datatype"},
        "window": _COLLECTIVE | {"collective"},
        "io": _COLLECTIVE | {"collective"},
        "spawn": _COLLECTIVE | {"collective", "io"},
        "abi": {"object", "topology"},
    },
    "process": {
        "life": {"signals", "environment", "files", "blocking"},
        "signals": {"life"},
        "environment": {"life"},
        "libc_state": _CALLER,
        "threads": _CALLER | {"files"},
        "files": _CALLER | {"blocking"},
        "blocking": _CALLER | {"files", "threads"},
        "children": _CALLER | {"environment", "files", "blocking"},
        "loader": {"life", "libc_state", "blocking"},
    },
}

# Public headers belong to the module that implements them; those not named here to rank.
PUBLIC_OWNER = {"error.hpp": "base", "status.hpp": "base", "options.hpp": "base",
                "peer_access.hpp": "base",
                "accelerator.hpp": "transport", "loop.hpp": "sched",
                "tasks/run.hpp": "rank", "loop.h": "job", "task.h": "job",
                "region.h": "job", "region.hpp": "job"}

# Where a third party's headers may appear.
THIRD_PARTY = {
    r"hwloc": ["src/base"],
    r"bits/": ["include/weft/operators.hpp"],
    r"fmt/": ["src/base"],
    r"boost/context/": ["src/fiber"],
    r"boost/crc\.hpp": ["src/base"],
    r"boost/asio/": ["src/parcel/tcp"],
    r"taskflow/": ["bench"],
    r"libfork\.hpp": ["bench"],
    r"pmix\.h": ["src/bootstrap/pmix"],
    r"rdma/": ["src/transport/ofi"],
    r"openssl/": ["src/transport/sealed"],
    r"sanitizer/": ["src/fiber", "tests"],
    r"valgrind/": ["src/fiber"],
    r"elfutils/": ["src/base"],
    r"cereal/": ["include/weft/serialization.hpp"],
    r"CLI/": ["tools", "apps"],
    r"(simgrid|otf2)/": ["tools/weft-breakdown"],
    r"(clang|llvm)/": ["tools/weft-translate"],
    r"png\.h": ["apps"],
    r"gtest/": ["tests", "apps"],
    r"benchmark/": ["bench"],
    r"mpi\.h": ["bench", "src/transport/mpi", "examples/mpi", "tests/conformance", "tests/consumer",
                "tests/image", "tests/translate"],
    r"(shmem/)?shmemx?\.h": ["bench", "tests/conformance", "tests/compile_fail"],  # shmemx.hpp, too.
    r"omp\.h": ["bench"],
    r"oneapi/tbb/": ["bench"],
    r"lci\.hpp": ["bench/lci"],
}
SYSTEM = re.compile(
    r"^([a-z_0-9]+|dwarf\.h|(sys|linux|asm|arpa|net|netinet)/[a-z_]+\.h|(unistd|sched|signal|pthread|dlfcn|fcntl|netdb|poll|ucontext"
    r"|cxxabi|unwind|execinfo|immintrin|x86intrin|malloc|link|elf|semaphore|getopt|sysexits|spawn|time"
    r"|cpuid|ifaddrs|strings|termios|stdio|threads)\.h|ext/[a-z_]+\.h)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def module_of(path):
    """The module of a file or include below src/, or None."""
    first = path.split("/")[0]
    return first if "/" in path and first in ARROWS else None


def room_problem(path, name):
    """What is wrong with an include of `name` by the file `path` below src/, as to rooms; None: nothing."""
    here, there = path.split("/"), name.split("/")
    if here[0] not in ROOMS or here[0] != there[0]:
        return None
    rooms = ROOMS[here[0]]
    if len(here) < 3 or here[1] not in rooms:
        return f"src/{path} is in none of the rooms of {here[0]}: {', '.join(rooms)}"
    if len(there) < 3 or there[1] not in rooms:
        return None  # A header without a room, of include/.
    if there[1] != here[1] and there[1] not in rooms[here[1]]:
        return f'room {here[0]}/{here[1]} must not include "{name}"'
    return None


def may_include(module, other):
    if module == other:
        return True
    if module in FOR_ALL:
        return other in ARROWS[module]
    return other in FOR_ALL or other in ARROWS[module]


def owner_of(name):
    """The module of a public header <weft/...>."""
    top = re.split(r"[/.]", name[5:])[0]
    return PUBLIC_OWNER.get(name[5:]) or {"comm": "comm", "tasks": "task", "parcels": "parcel"}.get(top, "rank")


def arrows_of(path, text):
    """The arrows that the includes of one file use, as pairs of modules."""
    module = module_of(path[4:]) if path.startswith("src/") else None
    for _, name in INCLUDE.findall(text) if module else ():
        other = owner_of(name) if name.startswith("weft/") else module_of(name)
        if other and other != module:
            yield module, other


def problems_of(path, text):
    """Yields what is wrong with the includes of one file, its path relative to the project."""
    top = path.split("/")[0]
    module = module_of(path[4:]) if top == "src" else None
    if top == "src" and module is None:
        yield f"src/{path[4:].split('/')[0]} is not a module that docs/architecture knows"
        return
    for bracket, name in INCLUDE.findall(text):
        if name.startswith("weft/"):
            owner = owner_of(name)
            if module and not may_include(module, owner):
                yield f"module {module} must not include <{name}>, which belongs to {owner}"
            continue
        if (other := module_of(name)) and bracket == '"':
            if top in ("include", "examples"):
                yield f'{top}/ must not include the internal header "{name}"'
            elif module and not may_include(module, other):
                yield f'module {module} must not include "{name}"'
            elif module and (problem := room_problem(path[4:], name)):
                yield problem
            continue
        if bracket == '"' or path.endswith(".c"):
            continue
        for pattern, places in THIRD_PARTY.items():
            if re.match(pattern, name):
                if not any(path == place or path.startswith(place + "/") for place in places):
                    yield f"<{name}> belongs in {' or '.join(places)} only"
                break
        else:
            if not SYSTEM.match(name):
                yield f"<{name}> is neither standard nor a third party that tests/tidy knows"


def check_the_check():
    """The rules above, tried on one right and one wrong line each."""
    right = [("src/sched/a.cpp", '#include "fiber/b.hpp"\n#include <weft/error.hpp>\n#include <atomic>'),
             ("src/rank/a.cpp", '#include "sched/b.hpp"\n#include <weft/communicator.hpp>'),
             ("src/runtime/a.cpp", "#include <weft/comm/runtime.hpp>"),
             ("src/mpi/collective/a.cpp", '#include "mpi/datatype/b.hpp"'),
             ("src/base/a.cpp", "#include <hwloc.h>\n#include <sys/mman.h>"),
             ("examples/a.cpp", "#include <weft/weft.hpp>")]
    wrong = [("src/sched/a.cpp", '#include "comm/b.hpp"'), ("src/sched/a.cpp", '#include "rank/b.hpp"'),
             ("src/sched/a.cpp", "#include <weft/communicator.hpp>"), ("src/base/a.cpp", '#include "sync/b.hpp"'),
             ("src/sched/a.cpp", "#include <weft/comm.hpp>"),
             ("src/process/signals/a.c", '#include "process/children/b.h"'),
             ("src/mpi/datatype/a.cpp", '#include "mpi/collective/b.hpp"'), ("src/mpi/a.cpp", '#include "mpi/object/b.hpp"'),
             ("src/rank/a.cpp", '#include "fiber/b.hpp"'), ("src/rank/a.cpp", "#include <hwloc.h>"),
             ("include/weft/a.hpp", '#include "rank/b.hpp"'), ("examples/a.cpp", '#include "base/b.hpp"'),
             ("src/other/a.cpp", ""), ("src/rank/a.cpp", "#include <zmq.h>")]
    for path, text in right:
        assert not list(problems_of(path, text)), (path, text, list(problems_of(path, text)))
    for path, text in wrong:
        assert list(problems_of(path, text)), (path, text)
    assert list(arrows_of("src/rank/a.cpp", '#include "sched/b.hpp"\n#include <weft/comm.hpp>')) == \
        [("rank", "sched"), ("rank", "comm")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    source = parser.parse_known_args()[0].source
    check_the_check()
    count = files = 0
    used = set()
    for top in ("include", "src", "tools", "apps", "examples", "bench", "tests"):
        for path in sorted([*(source / top).rglob("*.[ch]pp"), *(source / top / "process").rglob("*.[ch]")]):
            files += 1
            relative = path.relative_to(source).as_posix()
            text = path.read_text()
            used.update(arrows_of(relative, text))
            for problem in problems_of(relative, text):
                print(f"{relative}: {problem}")
                count += 1
    allowed = {(module, other) for module, others in ARROWS.items() for other in others}
    for module, other in sorted(allowed - used - NOT_USED_YET) + sorted(NOT_USED_YET & used):
        print(f"the arrow {module} -> {other} is {'used now' if (module, other) in used else 'used by nobody'}")
        count += 1
    print(f"{files} files, {count} problems")
    return 1 if count or not files else 0


sys.exit(main())
