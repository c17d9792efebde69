"""What `cmake --install` leaves is complete: a project outside builds and runs with find_package and
with pkg-config, the tree may be moved first, and its plug-ins are found by programs that lie elsewhere."""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, environment=None, **options):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                            env={**os.environ, **(environment or {})}, **options)
    if result.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def check_program(program, words=("--weft-ranks", "3"), expected="ranks 3\n"):
    out = run(program, *words)
    if out != expected:
        sys.exit(f"{program} printed {out!r}")


def check_plugins(prefix, consumer, cxx, program, temporary, elsewhere):
    """By libweft.so, by weftrun and by the setting; otherwise the error says where they should be."""
    (plugins,) = {path.parent for path in prefix.rglob("weft-transport-mpi-mpich.so")} or {None}
    if not plugins or not shutil.which("mpiexec.mpich"):
        print("there is no MPICH: its plug-in is not looked for")
        return
    launch = ["timeout", "60", "mpiexec.mpich", "-n", "2"]
    over_mpi = {"WEFT_TRANSPORT": "mpi:mpich"}
    both = ["process 0 of 2", "process 1 of 2"]

    def check(words, environment):
        out = sorted(run(*launch, *words, environment={**over_mpi, **environment}).splitlines())
        if out != both:
            sys.exit(f"{words} with {environment} printed {out}")

    check([program], {"WEFT_PLUGINS": str(plugins)})
    check([prefix / "bin/weftrun", program], {})
    libraries = list(prefix.rglob("libweft.so.*"))
    if libraries:
        run(cxx, "-std=c++20", "-pthread", f"-I{prefix}/include", consumer / "comm.cpp", libraries[0],
            f"-Wl,-rpath,{libraries[0].parent}", "-o", temporary / "shared")
        check([temporary / "shared"], {})

    def refusal(environment, *words):
        result = subprocess.run([str(word) for word in ("timeout", "60", *words)], text=True, capture_output=True,
                                env={**os.environ, **over_mpi, **environment})
        if result.returncode == 0:
            sys.exit(f"{words} ran over MPI with {environment}")
        return result.stdout + result.stderr

    if (prefix / "bin/weftcc").exists():
        main = temporary / "main.c"
        main.write_text("""#include <mpi.h>
                        #include <stdio.h>
                        int main(void) {
                          int rank, size;
                          MPI_Init(0, 0);
                          MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                          MPI_Comm_size(MPI_COMM_WORLD, &size);
                          printf("process %d of %d\\n", rank, size);
                          return MPI_Finalize();
                        }""")
        run(prefix / "bin/weftcc", main, "-o", temporary / "main")
        check([temporary / "main"], {"WEFT_RANKS": "2"})
        if (plugins / "weft-transport-mpi-openmpi.so").exists():
            told = refusal({"WEFT_TRANSPORT": "mpi:openmpi"}, prefix / "bin/weftrun", "-n", "2", "--processes", "2",
                           temporary / "main")
            if "this program has its own, as those of weftcc do" not in told:
                sys.exit(f"a program of weftcc over Open MPI says {told}")

    empty = temporary / "empty"
    for environment, places in (({"WEFT_PLUGINS": str(empty)}, [empty]), ({}, [program.parent, elsewhere])):
        if not environment and any(elsewhere.glob("lib*/**/weft-transport-mpi-mpich.so")):
            continue  # Another weft is installed.
        told = refusal(environment, program)
        for word in ("weft-transport-mpi-mpich.so is not in", "--plugins", "WEFT_PLUGINS", *places):
            if str(word) not in told:
                sys.exit(f"no {word} in what is said with {environment}: {told}")


def check_debugger(prefix, cxx, temporary, flags):
    """weft.py finds the types that it reads where weft was built without debug information, but for the one file."""
    if not shutil.which("gdb") or not shutil.which("objcopy"):
        print("there is no gdb: its commands are not looked for")
        return
    (archive,), (script,) = prefix.rglob("libweft.a"), prefix.rglob("weft.py")
    stripped = temporary / "stripped"
    stripped.mkdir()
    run("ar", "x", archive, "worker.cpp.o", cwd=stripped)
    run("objcopy", "-g", archive, stripped / "libweft.a")
    run("ar", "r", stripped / "libweft.a", stripped / "worker.cpp.o")
    source = temporary / "deadlock.cpp"
    source.write_text("""#include <weft/weft.hpp>
                      int main(int argc, char** argv) {
                        return weft::run(argc, argv, [](weft::communicator& world) {
                          (void)world.recv<int>(1 - world.rank(), 7);
                        });
                      }""")
    run(cxx, "-std=c++20", source, "-o", temporary / "deadlock", f"-L{stripped}", *flags)
    said = run("timeout", "100", "gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", f"source {script}",
               "-ex", "break weft::diagnosis::deadlock_report", "-ex", "run", "-ex", "weft ranks", "--args",
               temporary / "deadlock", "--weft-ranks", "2", "--weft-pin=off")
    if "Breakpoint 1, " not in said:
        print("gdb may not trace here: its commands are not looked for")
    elif "in recv, peer 0, tag 7, 4 bytes" not in said:
        sys.exit(f"weft ranks in gdb says {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    args = parser.parse_known_args()[0]
    (elsewhere,) = re.findall(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", (args.build / "CMakeCache.txt").read_text(), re.M)
    consumer = args.source / "tests/consumer"
    with tempfile.TemporaryDirectory() as directory:
        temporary = Path(directory)
        prefix = temporary / "moved"
        run("cmake", "--install", args.build, "--prefix", temporary / "first")
        (temporary / "first").rename(prefix)

        headers = sorted(path.relative_to(prefix / "include") for path in prefix.rglob("*.hpp"))
        expected = sorted(path.relative_to(args.source / "include") for path in (args.source / "include").rglob("*.hpp"))
        if headers != expected:
            sys.exit(f"installed headers {headers} are not those of include/: {expected}")
        for text in list(prefix.rglob("*.cmake")) + list(prefix.rglob("*.pc")):
            if str(args.source) in text.read_text():
                sys.exit(f"{text.relative_to(prefix)} names the source directory")
        run(prefix / "bin/weft-info", "--version")

        run("cmake", "-S", consumer, "-B", temporary / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={args.cxx}")
        run("cmake", "--build", temporary / "build")
        check_program(temporary / "build/consumer")
        check_program(temporary / "build/comm_consumer", (), "process 0 of 1\n")

        check_plugins(prefix, consumer, args.cxx, temporary / "build/comm_consumer", temporary, Path(elsewhere))

        (package,) = prefix.rglob("weft.pc")
        flags = run("pkg-config", "--cflags", "--libs", "weft", environment={"PKG_CONFIG_PATH": str(package.parent)})
        run(args.cxx, consumer / "main.cpp", "-o", temporary / "by_pkg_config", *shlex.split(flags))
        check_debugger(prefix, args.cxx, temporary, shlex.split(flags))
        check_program(temporary / "by_pkg_config")
        flags = run("pkg-config", "--cflags", "--libs", "weft-comm", environment={"PKG_CONFIG_PATH": str(package.parent)})
        run(args.cxx, consumer / "comm.cpp", "-o", temporary / "comm_by_pkg_config", *shlex.split(flags))
        check_program(temporary / "comm_by_pkg_config", (), "process 0 of 1\n")
    print("find_package and pkg-config both work")


main()
