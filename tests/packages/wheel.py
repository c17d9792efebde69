"""wheel.py BUILD VERSION CC: writes a wheel of what this build installs, installs it by pip in a fresh environment, and uses it
there: programs by its mpicc_abi and weftcc, Python, with all ranks in one process and with a process for each.

Where WEFT_TEST_WHEELS names a folder with wheels of mpi4py (pip download mpi4py), that module runs, too. Exits with 77 where this
Python makes no environments."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD, VERSION, CC = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
SOURCE = Path(__file__).resolve().parents[2]
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
static int of_rank;
int main(int argc, char** argv) {
  int rank, sum, major, minor;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  of_rank = rank;
  MPI_Allreduce(&of_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Abi_get_version(&major, &minor);
  if (of_rank != rank) return 1;
  if (rank == 0) printf("sum %d, interface %d.%d\n", sum, major, minor);
  return MPI_Finalize();
}
"""
BY_CTYPES = ("import ctypes\nmpi = ctypes.CDLL('libmpi_abi.so.1')\nmpi.MPI_Init(None, None)\nsize = ctypes.c_int()\n"
             "mpi.MPI_Comm_size(ctypes.c_void_p(0x101), ctypes.byref(size))\nmpi.MPI_Finalize()\nprint(size.value)\n")
BY_MPI4PY = ("from mpi4py import MPI\nworld = MPI.COMM_WORLD\nassert 'weft' in MPI.Get_library_version()\n"
             "assert world.allgather({'rank': world.rank}) == [{'rank': r} for r in range(world.size)]\n"
             "print(world.allreduce(world.rank))\n")


def run(*words, says=None, **more):
    ran = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=300, **more)
    if ran.returncode != 0 or (says is not None and ran.stdout != says):
        sys.exit(f"{' '.join(map(str, words))}: {ran.returncode}\n--- output\n{ran.stdout}--- errors\n{ran.stderr}")
    return ran.stdout


def main(made):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "WEFT_TEST_WHEELS")}
    run("cmake", "--install", BUILD, "--prefix", made / "tree", "--strip")
    run(sys.executable, SOURCE / "tools/wheel/write_wheel.py", made / "tree", VERSION, made)
    (wheel,) = made.glob("weft-*.whl")
    venv = made / "venv"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", venv / "bin/python")
    for words in (sys.executable, "-m", "venv", "--without-pip", venv), (*pip, "list"):
        if subprocess.run([str(w) for w in words], capture_output=True, check=False).returncode != 0:
            print("this Python makes no environments, or its pip does not know other ones")
            sys.exit(77)
    before = {p for p in venv.rglob("*") if p.suffix != ".pyc"}
    run(*pip, "install", "--no-index", "--no-deps", wheel, env=environment)
    weftrun, home = venv / "bin/weftrun", venv / "lib/weft"
    (made / "program.c").write_text(PROGRAM)
    by_abi, by_weftcc = made / "by_abi", made / "by_weftcc"
    run(home / "bin/mpicc_abi", made / "program.c", "-o", by_abi, env={**environment, "WEFT_CC": CC})
    run(venv / "bin/weftcc", made / "program.c", "-o", by_weftcc, env={**environment, "WEFT_CC": CC})
    for program in by_abi, by_weftcc:
        for shape in (), ("--ranks-per-process", 1):
            run(weftrun, "-n", 4, *shape, program, says="sum 6, interface 1.0\n", env=environment)
    run(home / "bin/mpirun", "-n", 4, by_abi, says="sum 6, interface 1.0\n", env=environment)
    (made / "module.py").write_text(BY_CTYPES)
    run(weftrun, "-n", 2, venv / "bin/python", made / "module.py", says="2\n2\n", env=environment)
    if (venv / "bin/weft-python").exists():
        run(weftrun, "-n", 2, venv / "bin/weft-python", made / "module.py", says="2\n2\n", env=environment)
    wheels = os.environ.get("WEFT_TEST_WHEELS")
    if wheels and list(Path(wheels).glob("mpi4py-*.whl")):
        run(*pip, "install", "--no-index", "--no-deps", "--find-links", wheels, "mpi4py", env=environment)
        (made / "objects.py").write_text(BY_MPI4PY)
        run(weftrun, "-n", 4, venv / "bin/python", made / "objects.py", says="6\n" * 4, env=environment)
        # Its module for the standard's interface, where it has one.
        if (venv / "bin/weft-python").exists() and list(venv.rglob("MPI.mpiabi.*")):
            run(weftrun, "-n", 4, venv / "bin/weft-python", made / "objects.py", says="6\n" * 4, env=environment)
        run(*pip, "uninstall", "-y", "mpi4py", env=environment)
    run(*pip, "uninstall", "-y", "weft", env=environment)
    left = {p for p in venv.rglob("*") if p.suffix != ".pyc" and p.name != "__pycache__" and p.is_file()} - before
    if left:
        sys.exit(f"what pip leaves behind: {sorted(map(str, left))}")
    print("right")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
