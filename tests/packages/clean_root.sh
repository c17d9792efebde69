#!/usr/bin/env bash
# Installs the packages of `./dev release` in a Debian that has nothing else, and uses them there: an MPI program
# in C, one of weft in C++, one of OpenSHMEM, manuals, completion; then beside Open MPI and MPICH, in both orders. Run by
# hand, as root, with debootstrap installed:
#   ./dev release && tests/packages/clean_root.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
say() { printf 'clean_root: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
((EUID == 0)) || fail "debootstrap and chroot need root"
command -v debootstrap >/dev/null || fail "debootstrap is not installed"
compgen -G 'out/release/*.deb' >/dev/null || fail "there are no packages in out/release; run ./dev release first"

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
# Whatever this machine itself installs from.
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' "Created-By: Packages" |
  awk -v wanted="$release" '$2 == wanted && $3 == "main" { print $1; exit }')
[[ -n $mirror ]] || fail "apt of this machine knows no archive of $release"
root=$(mktemp -d)
trap 'umount "$root/proc" "$root/dev/shm" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
say "a clean $release"
debootstrap --variant=minbase "$release" "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; fail "debootstrap failed"; }
rm -f "$root.log"
cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"
mkdir "$root/packages"
cp out/release/*.deb "$root/packages"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root "$@"; }

say "installing"
inside sh -c 'apt-get -q update && apt-get -qy --no-install-recommends install /packages/*.deb' >"$root/install.log" 2>&1 ||
  { tail -n 20 "$root/install.log" >&2; fail "the packages cannot be installed"; }
cat >"$root/root/hello.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
}
C
cat >"$root/root/hello.cpp" <<'C'
#include <cstdio>
#include <weft/weft.hpp>
int main(int argc, char** argv) {
  return weft::run(argc, argv, [](weft::communicator& world) {
    const int sum = world.allreduce(world.rank(), std::plus<>{});
    if (world.rank() == 0) std::printf("sum %d\n", sum);
  });
}
C
cat >"$root/root/hello_shmem.c" <<'C'
#include <shmem.h>
#include <stdio.h>
int main(void) {
  static long got;
  shmem_init();
  shmem_long_p(&got, shmem_my_pe() + 1, (shmem_my_pe() + 1) % shmem_n_pes());
  shmem_barrier_all();
  if (shmem_my_pe() == 0) printf("sum %ld\n", got + 2);
  shmem_finalize();
}
C
check() {  # WHAT COMMAND: prints "sum 6".
  local said
  said=$(inside sh -c "cd /root && $2" 2>&1) || { echo "$said" >&2; fail "$1 failed"; }
  [[ $said == *"sum 6"* ]] || fail "$1 says: $said"
  say "$1: right"
}
check "an MPI program in C" 'weftcc hello.c -o hello && weftrun -n 4 ./hello'
check "over two processes" 'weftrun -n 4 --processes 2 ./hello'
check "an OpenSHMEM program" 'oshcc hello_shmem.c -o hello_shmem && oshrun -n 4 ./hello_shmem'
inside apt-get -qy --no-install-recommends install pkg-config cmake make >/dev/null 2>&1 || fail "cmake cannot be installed"
check "a C++ program by pkg-config" 'g++ -std=c++20 hello.cpp -o hello_cpp $(pkg-config --cflags --libs weft) && weftrun -n 4 ./hello_cpp'
cat >"$root/root/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.20)
project(hello CXX)
find_package(weft REQUIRED)
add_executable(hello_cmake hello.cpp)
target_link_libraries(hello_cmake PRIVATE weft::weft)
C
check "a C++ program by find_package" 'cmake -B build . >/dev/null && cmake --build build >/dev/null && weftrun -n 4 build/hello_cmake'
for file in man/man1/weftrun.1.gz man/man1/weftcc.1.gz bash-completion/completions/weftrun doc/weft-tools/copyright; do
  [[ -e $root/usr/share/$file ]] || fail "/usr/share/$file is missing"
done
for name in mpicc mpirun oshcc oshrun; do
  [[ $(inside readlink -f "/usr/bin/$name") == *weft* ]] || fail "alone on the system, $name is not weft's"
done
check "an MPI program by mpicc and mpirun" 'mpicc hello.c -o hello && mpirun -n 4 ./hello'
check "an OpenSHMEM program by oshcc.weft" 'oshcc.weft hello_shmem.c -o hello_shmem && oshrun.weft -n 4 ./hello_shmem'

own=(libweft0 weft-transport-mpi libweft-dev weft-tools)
rivals=(openmpi-bin libopenmpi-dev mpich libmpich-dev)
quietly() {  # WHAT COMMAND...
  local what=$1
  shift
  inside "$@" >"$root/log" 2>&1 || { tail -n 20 "$root/log" >&2; fail "$what failed"; }
}
purge_own() {
  quietly "purging weft's packages" apt-get -qy purge "${own[@]}"
  local left
  left=$(find "$root/usr" "$root/etc/alternatives" -name '*weft*' | head -n 3)
  [[ -z $left ]] || fail "files are left behind: $left"
}
rivals_are_whole() {
  local changed name
  for name in "${rivals[@]}"; do
    changed=$(inside dpkg --verify "$name") || true
    [[ -z $changed ]] || fail "$name is not as it was installed: $changed"
  done
  [[ $(inside readlink -f /usr/bin/mpicc) != *weft* && $(inside readlink -f /usr/bin/mpirun) != *weft* ]] ||
    fail "mpicc or mpirun is weft's although Open MPI is there"
  [[ $(inside dpkg -S /usr/bin/oshcc) == openmpi-bin:* && $(inside readlink /usr/bin/oshcc) != /etc/alternatives/* ]] ||
    fail "oshcc is not Open MPI's, whose file it is"
}
say "Open MPI and MPICH come after weft"
quietly "installing them" apt-get -qy --no-install-recommends install "${rivals[@]}"
rivals_are_whole
check "weft's own names beside them" 'mpicc.weft hello.c -o hello && mpirun.weft -n 4 ./hello'
purge_own
rivals_are_whole
say "weft comes after Open MPI and MPICH"
quietly "installing weft" sh -c 'apt-get -qy --no-install-recommends install /packages/*.deb'
rivals_are_whole
quietly "choosing weft's mpirun" update-alternatives --set mpirun /usr/bin/mpirun.weft
quietly "choosing weft's mpicc" update-alternatives --set mpi /usr/bin/mpicc.weft
check "chosen among the alternatives" 'mpicc hello.c -o hello && mpirun -n 4 ./hello'
quietly "purging Open MPI" apt-get -qy purge openmpi-bin libopenmpi-dev
check "oshcc once Open MPI has gone" 'oshcc hello_shmem.c -o hello_shmem && oshrun -n 4 ./hello_shmem'
quietly "purging MPICH" apt-get -qy purge mpich libmpich-dev
purge_own
say "all of it works"
