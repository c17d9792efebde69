"""foreign.py WEFTRUN HOME CC [MPI=MPICC...]: programs that weft's wrappers have not linked, as they come: in folders of another MPI, with tools
before them, and those that cannot run, of which one line says why. MPICC is the compiler of mpich before version 5, or of openmpi."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WEFTRUN, HOME, CC = sys.argv[1:4]
OTHERS = dict(word.split("=", 1) for word in sys.argv[4:])
INCLUDE = Path(__file__).resolve().parents[3] / "include/mpi"
HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static BEFORE int of_rank;
int main(int argc, char** argv) {
  int rank, size, sum, length;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  of_rank = rank + 1;
  MPI_Allreduce(&of_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Get_library_version(version, &length);
  if (of_rank != rank + 1 || sum != size * (size + 1) / 2) return 1;
  if (rank == 0) printf("%.4s %d of %d\n", version, sum, size);
  if (argc > 1) CALL;
  return MPI_Finalize();
}
"""
TOOL = r"""
#include <mpi.h>
#include <stdio.h>
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  if (rank == 0) puts("tool"), fflush(stdout);
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
"""
TEAMS = r"""
int begin(int, char**);
int main(int argc, char** argv) {
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  threads += 1;
  return threads == 2 ? begin(argc, argv) : 3;
}
"""
OPENER = r"""
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void* library = dlopen(argv[1], RTLD_NOW);
  int (*sum)(void) = library != NULL ? (int (*)(void))dlsym(library, "sum") : NULL;
  if (rank == 0 && library == NULL) puts(strstr(dlerror(), ", which this program does not have") != NULL ? "refused" : dlerror());
  if (sum != NULL && sum() != size) return 1;
  if (rank == 0 && sum != NULL) puts("opened");
  return MPI_Finalize();
}
"""
SUM = r"""
#include <mpi.h>
int sum(void) {
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return all;
}
"""
SMALL_STACKS = r"""
#include <limits.h>
#include <pthread.h>
#include <string.h>
static void* body(void* size) {
  char taken[6000];
  memset(taken, 1, sizeof taken);
  of_rank = taken[*(volatile size_t*)size - 1];
  return NULL;
}
static int threads_of_small_stacks(void) {
  size_t sizes[] = {PTHREAD_STACK_MIN, 16384, 32768, 65536}, taken = 6000;
  for (int i = 0; i < 4; ++i) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, sizes[i]);
    if (pthread_create(&thread, &attributes, body, &taken) != 0) return 1;
    pthread_join(thread, NULL);
    size_t still = 0;
    if (pthread_attr_getstacksize(&attributes, &still) != 0 || still != sizes[i]) return 1;
    pthread_attr_destroy(&attributes);
  }
  return 0;
}
"""
WAITS = r"""
program waits
  use mpi
  integer :: error, rank, request, value(1), other(1)
  call mpi_init(error)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  value = rank + 1
  call mpi_isend(value, 1, mpi_integer, 0, 1, mpi_comm_self, request, error)
  call mpi_recv(other, 1, mpi_integer, 0, 1, mpi_comm_self, mpi_status_ignore, error)
  call mpi_wait(request, mpi_status_ignore, error)
  if (rank == 0 .and. other(1) == 1 .and. request == mpi_request_null) print '(a)', "fine"
  call mpi_finalize(error)
end program
"""
failures = []


def compiled(output, text, *words):
    subprocess.run([CC, "-x", "c", "-", "-o", output, f"-I{INCLUDE}", "-DBEFORE=" + ("__thread" if "tls" in output.name else ""),
                    *(() if any(str(w).startswith("-DCALL") for w in words) else ("-DCALL=exit(0)",)), "-x", "none", *map(str, words)],
                   input=text, text=True, check=True)
    return output


def compiled_by(mpi, output, text, *words):
    subprocess.run([OTHERS[mpi], "-x", "c", "-", "-o", output, "-DBEFORE=", *(() if any(str(w).startswith("-DCALL") for w in words) else ("-DCALL=exit(0)",)),
                    "-x", "none", *map(str, words)], input=text, text=True, check=True)
    return output


def run(*words, environment=None):
    ran = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=60, env={**os.environ, **(environment or {})})
    return ran.returncode, ran.stdout, ran.stderr


def expect(what, ran, status, output, said=""):
    code, out, errors = ran
    if code != status or out != output or (said not in errors if said else errors) or errors.count("\n") > 1:
        failures.append(f"{what}: {code}, not {status}\n--- output\n{out}--- errors\n{errors}")


def main(folder):
    link = [f"-L{HOME}", "-lmpi_abi"]
    right = "weft 6 of 3\n"
    hello = compiled(folder / "hello", HELLO, *link)
    expect("all in one process", run(WEFTRUN, "-n", 3, hello), 0, right)
    expect("two processes", run(WEFTRUN, "-n", 3, "--processes", 2, hello), 0, right)
    expect("each alone", run(WEFTRUN, "-n", 3, "--ranks-per-process", 1, hello), 0, right)
    expect("without weftrun", run(hello, environment={"LD_LIBRARY_PATH": HOME}), 0, "weft 1 of 1\n")
    older = compiled(folder / "older", HELLO, f"-L{HOME}", "-l:libmpi_abi.so.0")
    expect("by the name of MPICH 5.0.0", run(WEFTRUN, "-n", 3, older), 0, right)

    # One that comes in the folder of another MPI, and knows that first.
    other = folder / "other"
    other.mkdir()
    stand_in = ("int MPI_Init(void){return 99;} int MPI_Frobnicate(int x){return x;} int MPIX_Frobnicate(int x){return x;} "
                "int MPIX_Comm_is_revoked(void* c, int* f){(void)c; return *f;}")
    names = "MPI_Comm_rank MPI_Comm_size MPI_Allreduce MPI_Get_library_version MPI_Finalize".split()
    stand_in += "".join(f"int {name}(void){{return 99;}}" for name in names)
    for soname in ("libmpi_abi.so.1", "libmpi_abi.so.7", "libmpi.so.12", "libmpi.so.20"):
        compiled(other / soname, stand_in, "-shared", "-fPIC", f"-Wl,-soname,{soname}")
    for kind in ("--enable-new-dtags", "--disable-new-dtags"):
        theirs = compiled(folder / "theirs", HELLO, other / "libmpi_abi.so.1", f"-Wl,{kind},-rpath,{other}")
        expect(f"in another MPI's folder, {kind}", run(WEFTRUN, "-n", 3, theirs), 0, right)

    tool = compiled(folder / "tool.so", TOOL, "-shared", "-fPIC")
    for shape in ("--processes", 1), ("--ranks-per-process", 1):
        expect(f"a tool before it, {shape}", run(WEFTRUN, "-n", 3, *shape, hello, environment={"LD_PRELOAD": str(tool)}), 0,
               "tool\n" + right)

    library = compiled(folder / "libuser.so", HELLO.replace("int main", "int begin"), "-shared", "-fPIC", *link)
    through = compiled(folder / "through", "int begin(int, char**); int main(int argc, char** argv) { return begin(argc, argv); }",
                       library, f"-Wl,-rpath-link,{HOME}")
    expect("through a library", run(WEFTRUN, "-n", 3, through), 0, right)

    module = folder / "module.py"
    module.write_text("import ctypes\nmpi = ctypes.CDLL('libmpi_abi.so.1')\nmpi.MPI_Init(None, None)\nsize = ctypes.c_int()\n"
                      "mpi.MPI_Comm_size(ctypes.c_void_p(0x101), ctypes.byref(size))\nmpi.MPI_Finalize()\nprint(size.value)\n")
    expect("opened as a module", run(WEFTRUN, "-n", 2, sys.executable, module), 0, "2\n2\n")

    # Each rank has a thread for itself, whose thread-local variables are its own.
    tls = compiled(folder / "tls", HELLO, *link)
    expect("thread-local variables", run(WEFTRUN, "-n", 3, tls), 0, right)

    for shape in ("--processes", 2), ("--pin", "off"), ("--workers", 2, "--processes", 1), ("--pin", "off", "--processes", 2, "--map", "cyclic"):
        expect(f"thread-local variables, {shape}", run(WEFTRUN, "-n", 3, *shape, tls), 0, right)
    expect("thread-local variables in two programs", run(WEFTRUN, "-n", 2, tls, ":", "-n", 1, tls), 0, right)
    expect("a program with thread-local variables and one without", run(WEFTRUN, "-n", 2, tls, ":", "-n", 1, hello), 0, right)
    expect("thread-local variables and a schedule", run(WEFTRUN, "-n", 3, "--schedule", 1, "--processes", 1, tls), 2, "",
           "a schedule has one worker, and each rank of this program needs one of its own")
    expect("many ranks with thread-local variables", run(WEFTRUN, "-n", 65, tls), 0, "weft 2145 of 65\n",
           "get processes of 33 each: one holds at most 64, since each rank has a thread")
    small = compiled(folder / "small_tls", HELLO.replace("int main", SMALL_STACKS + "int main"), "-DCALL=if (threads_of_small_stacks() != 0) return 1",
                     *link, "-pthread")
    expect("threads of small stacks", run(WEFTRUN, "-n", 3, small, 1), 0, right)
    # A library's, whose distance from the thread pointer the executable has: each copy takes some of what the C library sets aside.
    owner = compiled(folder / "libowner_tls.so", "__thread char of_library[1000] = {7};", "-shared", "-fPIC")
    user = compiled(folder / "user_tls", "extern __thread char of_library[1000];" + HELLO, "-DCALL=if (of_library[0]++ != 7) return 1", *link, owner,
                    f"-Wl,-rpath,{folder}")
    expect("a library's thread-local variable in an executable", run(WEFTRUN, "-n", 8, user, 1), 0, "weft 36 of 8\n")

    in_system(folder, link, right)

    # A process for each rank, and a line that says why.
    fixed = compiled(folder / "fixed", HELLO, "-no-pie", *link)
    expect("at a fixed address", run(WEFTRUN, "-n", 3, fixed), 0, right, "is linked at a fixed address (-no-pie)")
    expect("thread-local variables and fewer workers", run(WEFTRUN, "-n", 3, "--workers", 2, tls), 0, right,
           "so that a worker has one rank, with fewer workers than ranks: each rank gets a process of its own")
    large_tls = compiled(folder / "large_tls", "__thread char large[80000];" + HELLO, "-DCALL=large[argc] = 1", *link)
    expect("many thread-local variables", run(WEFTRUN, "-n", 3, large_tls), 0, right, "bytes of thread-local variables, aligned to")
    user = compiled(folder / "libtls_user.so", "extern __thread int of_executable; int begin(void) { return of_executable; }", "-shared", "-fPIC")
    known = compiled(folder / "known_tls", "__thread int of_executable; int begin(void);" + HELLO, "-DCALL=if (begin() != 0) return 1", *link, user,
                     f"-Wl,-rpath,{folder}")
    expect("a thread-local variable that a library uses", run(WEFTRUN, "-n", 3, known, 1), 0, right,
           f"has the thread-local variable of_executable, which {user} uses")
    expect("the same in one process", run(WEFTRUN, "-n", 3, "--processes", 1, known, 1), 2, "",
           f"{user} uses the thread-local variable of_executable of {known}")
    # Both define it, as two files do that include a header with an inline variable: it is one.
    both_define = "__thread int of_executable __attribute__((weak)) = 4;"
    definer = compiled(folder / "libtls_definer.so", both_define + "int begin(void) { return of_executable++ - 4; }", "-shared", "-fPIC")
    defined = compiled(folder / "defined_tls", both_define + "int begin(void);" + HELLO, "-DCALL=if (begin() != 0 || of_executable != 5) return 1", *link,
                       definer, f"-Wl,-rpath,{folder}")
    expect("a thread-local variable that a library defines, too", run(WEFTRUN, "-n", 3, defined, 1), 0, right,
           f"has the thread-local variable of_executable, which {definer} uses")
    expect("that in one process", run(WEFTRUN, "-n", 3, "--processes", 1, defined, 1), 2, "",
           f"{definer} uses the thread-local variable of_executable of {defined}")
    opens = ("#include <dlfcn.h>\n__thread int of_executable;" + HELLO).replace("int main", """
int opened(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == NULL) return fputs(dlerror(), stderr), fputs("\\n", stderr), 1;
  return ((int (*)(void))dlsym(library, "begin"))();
}
int main""")
    opening = compiled(folder / "opening_tls", opens, "-DCALL=if (opened(argv[1]) != 0) return 1", *link, "-rdynamic", "-ldl")
    plugin = folder / "libtls_user.so"
    expect("a plugin that uses a thread-local variable", run(WEFTRUN, "-n", 3, opening, plugin), 0, right,
           "exports thread-local variables, calls dlopen() and was linked as an executable: each rank gets a process of its own")
    code, _, errors = run(WEFTRUN, "-n", 3, "--processes", 1, opening, plugin)
    if code != 1 or f"{plugin} uses the thread-local variable of_executable of {opening}, which was linked as an executable" not in errors:
        failures.append(f"such a plugin in one process: {code}\n{errors}")
    pool = compiled(folder / "libtbb.so.12", "int begin(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12")
    pooled = compiled(folder / "pooled_tls", "int begin(void);" + HELLO, "-DCALL=if (begin() != 0) return 1", *link, pool, f"-Wl,-rpath,{folder}")
    expect("threads that all ranks share", run(WEFTRUN, "-n", 3, pooled, 1), 0, right, f"{pool} calls it on threads of all ranks: each rank gets a process")
    expect("these in one process", run(WEFTRUN, "-n", 3, "--processes", 1, pooled, 1), 2, "", f"{pool} calls it on threads of all ranks: link it with weftcc")
    # What cannot run.
    unknown = compiled(folder / "unknown", "int MPI_Frobnicate(int);" + HELLO, "-DCALL=MPI_Frobnicate(1)", other / "libmpi_abi.so.1")
    expect("a function that does not exist", run(WEFTRUN, "-n", 3, unknown), 2, "", "calls MPI_Frobnicate(), which weft's libmpi_abi.so.1 does not have")
    beyond = compiled(folder / "beyond", "int MPIX_Frobnicate(int);" + HELLO, "-DCALL=MPIX_Frobnicate(1)", other / "libmpi_abi.so.1")
    expect("one beyond the standard that does not exist", run(WEFTRUN, "-n", 3, beyond), 2, "",
           "calls MPIX_Frobnicate(), which weft's libmpi_abi.so.1 does not have")
    revoked = compiled(folder / "revoked", HELLO, "-DCALL={ int is = 7; MPIX_Comm_is_revoked(MPI_COMM_WORLD, &is); if (is != 0) return 1; }",
                       other / "libmpi_abi.so.1")
    expect("one beyond the standard that weft has", run(WEFTRUN, "-n", 3, revoked, 1), 0, right)
    checking = compiled(folder / "libchecking.so", "int MPI_Check_call(int code) { return code; }", "-shared", "-fPIC")
    checked = compiled(folder / "checked", "int MPI_Check_call(int);" + HELLO, "-DCALL=if (MPI_Check_call(0) != 0) return 1", *link, checking,
                       f"-Wl,-rpath,{folder}")
    expect("a library's own function whose name begins with MPI_", run(WEFTRUN, "-n", 3, checked, 1), 0, right)
    later = compiled(folder / "later", HELLO, other / "libmpi_abi.so.7")
    expect("a library of another number", run(WEFTRUN, "-n", 3, later), 2, "", "asks for libmpi_abi.so.7, which weft does not have")
    both = compiled(folder / "both", HELLO, "-Wl,--no-as-needed", *link, other / "libmpi.so.12")
    expect("two MPIs", run(WEFTRUN, "-n", 3, both), 2, "", "is linked with two MPIs")
    mixed = compiled(folder / "mixed", "int begin(int, char**); int MPI_Init(void); int main(int argc, char** argv) { MPI_Init(); return begin(argc, argv); }",
                     library, other / "libmpi.so.12", f"-Wl,-rpath-link,{HOME}", f"-Wl,-rpath,{folder}")
    expect("two MPIs by way of a library", run(WEFTRUN, "-n", 3, mixed), 2, "",
           f"is linked with two MPIs, libmpi.so.12 and libmpi_abi.so.1 through {library}")
    wanting = compiled(folder / "libwanting.so", "int MPI_Frobnicate(int); int begin(int c, char** v) { (void)v; return MPI_Frobnicate(c); }", "-shared",
                       "-fPIC", other / "libmpi_abi.so.1")
    through = compiled(folder / "through2", "int begin(int, char**); int main(int argc, char** argv) { return begin(argc, argv); }", wanting,
                       f"-Wl,-rpath-link,{other}")
    expect("a function that does not exist, in a library", run(WEFTRUN, "-n", 3, through), 2, "", f"calls MPI_Frobnicate() in {wanting}")
    unheard_of = compiled(folder / "unheard_of", "int MPI_Init(void); int main(void) { return MPI_Init(); }", other / "libmpi.so.20")
    expect("an MPI that weft does not speak", run(WEFTRUN, "-n", 3, unheard_of), 2, "", "is linked with another MPI (libmpi.so...)")
    # Launchers of others, which start a process for each rank.
    for launcher in ("mpiexec.mpich", "-n", "3"), ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"):
        if shutil.which(launcher[0]):
            expect(f"by {launcher[0]}", run(*launcher, hello, environment={"LD_LIBRARY_PATH": HOME}), 0, right)
    for mpi in OTHERS:
        by_another(mpi, folder, right)


def in_system(folder, link, right):
    """Libraries of the system that use MPI and that a program opens: each rank has its own. A directory is laid over the system's, where
    that is allowed."""
    made = folder / "of_system"
    made.mkdir()
    theirs = Path(subprocess.run([CC, "-print-file-name=libc.so.6"], text=True, capture_output=True, check=True).stdout.strip()).resolve().parent
    over = ["unshare", "-m", "sh", "-c", 'mount -t overlay weft -o "lowerdir=$0:$1" "$1" && shift && exec "$@"', str(made), str(theirs)]
    if not str(theirs).startswith(("/lib", "/usr/lib")) or subprocess.run([*over, "true"], capture_output=True).returncode != 0:
        print("nothing may be laid over the system's directories here: libraries of the system that a program opens are not tried")
        return
    counts = compiled(made / "libweft_counts.so", "#include <mpi.h>\nstatic int of_rank; int count(void) { int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank); "
                      "of_rank += rank; MPI_Barrier(MPI_COMM_WORLD); return of_rank == rank; }", "-shared", "-fPIC", "-Wl,-soname,libweft_counts.so", *link)
    compiled(made / "libweft_through.so", "int count(void); int count_through(void) { return count(); }", "-shared", "-fPIC", counts)
    opening = "#include <dlfcn.h>\n" + HELLO
    for name, function in (f"{theirs}/libweft_counts.so", "count"), ("libweft_counts.so", "count"), ("libweft_through.so", "count_through"):
        opens = compiled(folder / "opens", opening, f'-DCALL=if (!((int (*)(void))dlsym(dlopen("{name}", RTLD_NOW), "{function}"))()) return 1', *link)
        expect(f"a library of the system, {name}", run(*over, WEFTRUN, "-n", 3, opens, 1), 0, right)


def by_another(mpi, folder, right):
    """Programs of MPICH before version 5, or of Open MPI."""
    hello = compiled_by(mpi, folder / f"of_{mpi}", HELLO)
    for shape in (), ("--processes", 2), ("--ranks-per-process", 1):
        expect(f"of {mpi}, {shape}", run(WEFTRUN, "-n", 3, *shape, hello), 0, right)
    expect(f"of {mpi}, alone", run(hello, environment={"LD_LIBRARY_PATH": HOME}), 0, "weft 1 of 1\n")
    fixed = compiled_by(mpi, folder / f"fixed_of_{mpi}", HELLO, "-no-pie")
    expect(f"of {mpi}, at a fixed address", run(WEFTRUN, "-n", 3, fixed), 0, right, "is linked at a fixed address (-no-pie)")
    tool = compiled_by(mpi, folder / f"tool_of_{mpi}.so", TOOL, "-shared", "-fPIC")
    for shape in () if mpi == "openmpi" else ("--processes", 1), ("--ranks-per-process", 1):
        expect(f"of {mpi}, with a tool before it, {shape}", run(WEFTRUN, "-n", 3, *shape, hello, environment={"LD_PRELOAD": str(tool)}), 0,
               "tool\n" + right, f"is run behind {tool} (LD_PRELOAD)" if shape == () else "")
    linked = compiled_by(mpi, folder / f"linked_of_{mpi}", HELLO, "-Wl,--no-as-needed", tool, f"-Wl,-rpath,{folder}")
    expect(f"of {mpi}, linked with a tool", run(WEFTRUN, "-n", 3, linked), 0, "tool\n" + right)
    library = compiled_by(mpi, folder / f"libuser_of_{mpi}.so", HELLO.replace("int main", "int begin"), "-shared", "-fPIC")
    teams = compiled(folder / "teams", TEAMS, library, f"-Wl,-rpath,{folder}", "-fopenmp")  # OpenMP's library before that of MPI.
    expect(f"of {mpi}, through a library, with OpenMP", run(WEFTRUN, "-n", 3, teams, environment={"OMP_NUM_THREADS": "2"}), 0, right)
    opened = compiled_by(mpi, folder / f"opened_of_{mpi}.so", SUM, "-shared", "-fPIC")
    opener = compiled_by(mpi, folder / f"opener_of_{mpi}", OPENER)
    expect(f"of {mpi}, opens a library of it", run(WEFTRUN, "-n", 3, opener, opened), 0, "opened\n")
    standard = compiled(folder / f"opener_for_{mpi}", OPENER, f"-L{HOME}", "-lmpi_abi")
    expect(f"a library of {mpi} is opened by a program of the standard's interface", run(WEFTRUN, "-n", 3, standard, opened), 0, "refused\n")
    if mpi == "openmpi" and shutil.which("mpifort.openmpi"):
        source = folder / "waits.f90"
        source.write_text(WAITS)
        waits = folder / "waits"
        subprocess.run(["mpifort.openmpi", "-w", "-o", waits, source], check=True)
        expect("in Fortran of openmpi", run(WEFTRUN, "-n", 2, waits), 0, "fine\n")
        expect("in Fortran of openmpi, alone", run(waits, environment={"LD_PRELOAD": f"{HOME}/libmpi.so.40"}), 0, "fine\n")
        expect("in Fortran of openmpi, by the folder alone", run(waits, environment={"LD_LIBRARY_PATH": HOME}), 1, "",
               f"or set LD_PRELOAD={HOME}/libmpi.so.40")
    if mpi != "mpich":
        return
    older = (folder / "of_mpi12")  # As MPICH's own builds, Intel's and others call it.
    older.write_bytes(hello.read_bytes().replace(b"libmpich.so.12\0", b"libmpi.so.12\0\0\0"))
    older.chmod(0o755)
    expect("by the name libmpi.so.12", run(WEFTRUN, "-n", 3, older), 0, right)


with tempfile.TemporaryDirectory() as made:
    main(Path(made))
sys.exit("\n".join(failures)) if failures else print("right")
