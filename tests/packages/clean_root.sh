#!/usr/bin/env bash
# Installs the packages of `./dev release` in a Debian that has nothing else, and uses them there: an MPI program
# in C, one of weft in C++, one of OpenSHMEM, manuals, completion. Run by hand, as root, with debootstrap installed:
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
for file in usr/share/man/man1/weftrun.1.gz usr/share/man/man1/weftrun.1 usr/share/bash-completion/completions/weftrun; do
  [[ -e $root/$file ]] && found+=" /$file"
done
[[ ${found-} == *man* && ${found-} == *completions* ]] || fail "a manual or completion is missing; there are:${found-}"
say "removing"
inside apt-get -qy purge 'libweft*' 'weft-*' >/dev/null 2>&1 || fail "the packages cannot be removed"
left=$(find "$root/usr" -name '*weft*' | head -n 3)
[[ -z $left ]] || fail "files are left behind: $left"
say "all of it works"
