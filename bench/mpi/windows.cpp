// What one-sided communication costs: each row is one operation of rank 0 on the window of the last rank, which waits, or one
// synchronisation of all.
//
//   windows/put_flush/SIZE, get_flush/8B, fetch_and_op/8B, lock_unlock    under a shared lock of the target, or with one for each
//   windows/accumulate/1000_doubles                                        every rank adds to the same 1,000 doubles
//   windows/lock_unlock/contended                                          every rank takes the exclusive lock of the same target
//   windows/fence, windows/pscw                                            epochs without an operation; pscw: half a round of two ranks
#define BENCH_OVER_MPI
#include "../adapter.hpp"

namespace {

constexpr std::size_t largest = 64 << 10;

// A window of every rank, made by `MPI_Win_allocate`.
struct window {
  MPI_Win handle;
  double* base;
  window() {
    MPI_Win_allocate(largest, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &handle);
  }
  ~window() { MPI_Win_free(&handle); }
  window(const window&) = delete;
};

// The first rank acts, the others come to the barrier at once.
template <class Op>
void alone(bench::peers& p, const std::string& name, const window& w, int target, const Op& op) {
  bench::measure(p, name, [&](long n) {
    if (p.rank() != 0) return;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.handle);
    for (long i = 0; i < n; ++i) op();
    MPI_Win_unlock(target, w.handle);
  });
}

void of_one(bench::peers& p, const window& w, int target) {
  static double data[largest / sizeof(double)], result;
  for (const int bytes : {8, 64 << 10})
    alone(p, "windows/put_flush/" + bench::size_name(static_cast<std::size_t>(bytes)), w, target,
          [&] {
            MPI_Put(data, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, w.handle);
            MPI_Win_flush(target, w.handle);
          });
  alone(p, "windows/get_flush/8B", w, target, [&] {
    MPI_Get(&result, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, w.handle);
    MPI_Win_flush(target, w.handle);
  });
  alone(p, "windows/fetch_and_op/8B", w, target, [&] {
    static long one = 1, before;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, w.handle);
    MPI_Win_flush(target, w.handle);
  });
  bench::measure(p, "windows/lock_unlock", [&](long n) {
    if (p.rank() != 0) return;
    for (long i = 0; i < n; ++i) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.handle);
      MPI_Win_unlock(target, w.handle);
    }
  });
}

void of_all(bench::peers& p, const window& w, int target) {
  static double values[1000];
  bench::measure(p, "windows/accumulate/1000_doubles", [&](long n) {
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.handle);
    for (long i = 0; i < n; ++i) {
      MPI_Accumulate(values, 1000, MPI_DOUBLE, target, 0, 1000, MPI_DOUBLE, MPI_SUM, w.handle);
      MPI_Win_flush(target, w.handle);
    }
    MPI_Win_unlock(target, w.handle);
  });
  bench::measure(p, "windows/lock_unlock/contended", [&](long n) {
    for (long i = 0; i < n; ++i) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.handle);
      MPI_Win_unlock(target, w.handle);
    }
  });
  bench::measure(p, "windows/fence", [&](long n) {
    for (long i = 0; i < n; ++i) MPI_Win_fence(0, w.handle);
  });
}

// Two ranks; each is in turn the one that posts.
void post_and_start(bench::peers& p, const window& w) {
  const int other = 1 - p.rank();
  MPI_Group world, partner;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &other, &partner);
  bench::measure(p, "windows/pscw", [&](long n) {
    for (long i = 0; i < n; ++i)
      if (p.rank() == i % 2) {
        MPI_Win_post(partner, 0, w.handle);
        MPI_Win_wait(w.handle);
      } else {
        MPI_Win_start(partner, 0, w.handle);
        MPI_Win_complete(w.handle);
      }
  });
  MPI_Group_free(&partner);
  MPI_Group_free(&world);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    const window w;
    const int target = p.size() - 1;
    of_one(p, w, target);
    of_all(p, w, target);
    if (p.size() == 2) post_and_start(p, w);
  });
}
