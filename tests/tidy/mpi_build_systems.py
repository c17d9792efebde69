"""Build systems find an installed weft as they find any MPI: CMake's FindMPI, by flags and by compilers, a
Makefile, a script like autoconf's, autoconf itself where it is installed, for C that calls Fortran, and mpirun with
the words of MPICH and Open MPI; and as an OpenSHMEM, by find_package and pkg-config."""
import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*command, environment=None, status=0, **options):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                            env={**os.environ, **(environment or {})}, **options)
    if result.returncode != status:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def check_autoconf(source, path):
    """C and Fortran in one program, linked by either compiler."""
    auxiliary = [found.parent for found in Path("/usr/share").glob("automake-*/config.guess")]
    if not shutil.which("autoreconf") or not auxiliary:
        print("autoconf is not installed")
        return
    for name in ("config.guess", "config.sub", "install-sh"):
        (source / "auxiliary").mkdir(exist_ok=True)
        shutil.copy(auxiliary[0] / name, source / "auxiliary" / name)
    run("autoreconf", cwd=source)
    run("./configure", cwd=source, environment=path)
    run("make", cwd=source, environment=path)
    for program in ("by_c", "by_fortran"):
        for words in (["-n", "3"], ["-n", "3", "-ppn", "1"]):
            out = run("mpirun", *words, source / program, environment=path)
            if out != "mixed: 3 ranks, sum 3, calls 3\n":
                sys.exit(f"mpirun {words} {program} printed {out!r}")


def check_manuals(prefix):
    """Each program has a page, whose NAME says what the program is for."""
    if not shutil.which("help2man"):
        print("help2man is not installed")
        return
    names = {}
    for page in sorted((prefix / "share/man/man1").glob("*.1.gz")):
        text = gzip.decompress(page.read_bytes()).decode()
        said = re.search(r"^\.SH NAME\n(\S+) \\- (.*)$", text, re.MULTILINE)
        if not said or said[1] != page.name.removesuffix(".1.gz") or said[2].startswith("manual page for"):
            sys.exit(f"{page.name} has the NAME {said and said[0]!r}")
        names[said[1]] = said[2]
    for program in ("weftrun", "weft-info", "weft-breakdown", "weftcc", "weftcxx", "weftfc", "oshcc", "oshrun", "oshmem_info",
                    "weft-triangles"):
        if program not in names:
            sys.exit(f"{program} has no manual page; there are {sorted(names)}")


def check_openshmem(source, build, prefix):
    """find_package(OpenSHMEM) and pkg-config; what is installed beside them."""
    run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    programs = [build / "heard_c", build / "heard_cxx"]
    if shutil.which("pkg-config"):
        (pc,) = prefix.glob("lib*/**/weft-shmem.pc")
        flags = run("pkg-config", "--cflags", "--libs", "weft-shmem", environment={"PKG_CONFIG_PATH": str(pc.parent)})
        run("cc", source / "heard.c", source / "counts.c", "-o", build / "by_pkg_config", *flags.split())
        programs.append(build / "by_pkg_config")
    for program in programs:
        for words in (["-n", "3"], ["-n", "3", "--ranks-per-process", "1"]):
            if (out := run(prefix / "bin/oshrun", *words, program)) != "3 PEs, sum 6\n":
                sys.exit(f"oshrun {words} {program} printed {out!r}")
    out = run(prefix / "bin/weftrun", "-n", "2", prefix / "bin/weft-triangles", "--vertices", "60", "--edges", "300",
              "--check")
    if "right" not in out.splitlines():
        sys.exit(f"weft-triangles printed {out!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    args = parser.parse_known_args()[0]
    if not (args.build / "lib/weft/weft-host").exists():
        print("the wrappers are not part of this build")
        return
    with tempfile.TemporaryDirectory() as directory:
        temporary = Path(directory)
        run("cmake", "--install", args.build, "--prefix", temporary / "first")
        prefix = temporary / "moved"
        (temporary / "first").rename(prefix)
        (home,) = prefix.glob("lib*/**/weft-host")
        names = home.parent / "bin"
        path = {"PATH": f"{names}:{os.environ['PATH']}"}
        fortran = (home.parent / "fortran/mpi.mod").exists()
        check_manuals(prefix)

        def check(programs, wanted=("C", "C++", "Fortran")):
            for program, language in zip(programs, wanted):
                for words in (["-n", "3"], ["-np", "3", "--oversubscribe", "--bind-to", "none", "--mca", "a", "b"],
                              ["-n", "3", "-ppn", "1"], ["-genv", "NAME", "value", "-np", "3"]):
                    out = run("mpirun", *words, program, environment=path)
                    if out != f"{language}: 3 ranks, sum 3\n":
                        sys.exit(f"mpirun {words} {program} printed {out!r}")
                if run(program, environment=path) != f"{language}: 1 ranks, sum 0\n":
                    sys.exit(f"{program} alone printed something else")

        def check_library(program):
            for words in (["-n", "4"], ["-n", "4", "-ppn", "2"], ["-n", "2", "-ppn", "1"]):
                out = run("mpirun", *words, program, environment=path)
                if out != "library right\n":
                    sys.exit(f"mpirun {words} {program} printed {out!r}")

        source = shutil.copytree(args.source / "tests/consumer/mpi", temporary / "source")
        run("./configure", cwd=source, environment=path)
        run("make", cwd=source, environment=path)
        check([source / "sum_c", source / "sum_cxx"])
        check_library(source / "uses_library")
        if fortran:
            check_autoconf(shutil.copytree(args.source / "tests/consumer/autoconf", temporary / "mixed"), path)
        kinds = ["sum_c", "sum_cxx"] + ["sum_fortran"] * fortran
        for way, words in {"flags": [f"-DMPI_HOME={home.parent}"],
                           "compilers": ["-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=mpicxx",
                                         "-DCMAKE_Fortran_COMPILER=mpifort"]}.items():
            build = temporary / way
            run("cmake", "-S", source, "-B", build, f"-DWITH_FORTRAN={int(fortran)}", *words, environment=path)
            if str(names) not in (build / "CMakeCache.txt").read_text():
                sys.exit(f"FindMPI by {way} found another MPI: {(build / 'CMakeCache.txt').read_text()}")
            run("cmake", "--build", build, environment=path)
            check([build / kind for kind in kinds])
            for kind in ("uses_STATIC", "uses_SHARED"):
                check_library(build / kind)
            alone = run("mpirun", "-n", "2", "-ppn", "1", build / "local_c", environment=path)
            together = subprocess.run(["mpirun", "-n", "2", build / "local_c"], env={**os.environ, **path}, text=True,
                                      capture_output=True)
            # Linked as an executable or not, each rank has its own.
            if alone != "calls 1\n" or together.stdout != "calls 1\n" or together.stderr:
                sys.exit(f"a thread-local by {way}: {alone!r}, {together}")

        for name, where in {"weft-mpi": home.parent.parent / "pkgconfig", "mpi-c": home.parent / "pkgconfig",
                            "mpi-cxx": home.parent / "pkgconfig", "mpi-fort": home.parent / "pkgconfig"}.items():
            asked = {**path, "PKG_CONFIG_PATH": str(where)}
            if not shutil.which("pkg-config"):
                break
            flags = run("pkg-config", "--cflags", "--libs", name, environment=asked).split()
            compiler = {"mpi-cxx": "c++", "mpi-fort": "gfortran"}.get(name, "cc")
            suffix = {"mpi-cxx": "cpp", "mpi-fort": "f90"}.get(name, "c")
            if suffix == "f90" and not fortran:
                continue
            run(compiler, f"sum.{suffix}", "-o", "by_pkg_config", *flags, cwd=source)
            check([source / "by_pkg_config"], [{"c": "C", "cpp": "C++", "f90": "Fortran"}[suffix]])

        check_openshmem(args.source / "tests/consumer/shmem", temporary / "shmem", prefix)

        for word in ("-show", "-compile-info", "-link-info", "-showme:compile", "-showme:link"):
            if str(prefix / "include") not in run("mpicc", word, environment=path) and "link" not in word:
                sys.exit(f"mpicc {word} does not name {prefix}/include")
        for name in ("mpicc", "mpicxx", "mpic++", "mpiCC", "mpifort", "mpif90", "mpif77"):
            if f" -L{home.parent} " not in run(names / name, "-show", "x.o"):
                sys.exit(f"{names / name} does not name the library in {home.parent}")
        run("mpirun", "-n", "2", environment=path, status=2)
        run("mpiexec", "--no-such-word", "true", environment=path, status=2)
    print("FindMPI, make, configure and mpirun work")


main()
