// One source, four libraries: a benchmark written against `peers` is built over weft, over MPICH,
// over Open MPI and over weft's own MPI. Everything is inline and as thin as the library allows, so that what is
// measured is the library.
//
// Programs of oneTBB define BENCH_OVER_TBB: bench/tbb/*.cpp, which have no ranks, only tasks.
//
// Programs of OpenSHMEM define BENCH_OVER_SHMEM: bench/shmem/*.cpp, built with the compiler wrappers of weft and of Open MPI.
//
// bench/NAME_bench.cpp is the weft program; bench/mpi/NAME.cpp defines BENCH_OVER_MPI and includes
// it, and is built with the compiler wrapper of each MPI. Under MPI every process pins itself, in
// the same block map as weft's ranks, whatever its launcher does; launchers are told not to bind.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "report.hpp"

#if defined BENCH_OVER_MPI
#include <mpi.h>
#if defined WEFT_MPI_H && !defined MPI_ABI
#include <weft/loop.h>
#endif
#elif defined BENCH_OVER_SHMEM
#include <shmem.h>
#ifndef WEFT_SHMEM_H
#define OMPI_SKIP_MPICXX  // The wrapper for OpenSHMEM does not link these.
#include <mpi.h>
#endif
#elif defined BENCH_OVER_TBB
#include "tbb/peers.hpp"
#else
#include <weft/weft.hpp>
#endif

namespace bench {

#if defined BENCH_OVER_MPI
inline constexpr bool over_weft = false, has_ranks = true, has_tasks = false;
using request = MPI_Request;

class peers {
 public:
  int rank() const { return rank_; }
  int size() const { return size_; }
  int workers() const { return workers_; }
#if defined OPEN_MPI
  static const char* name() {
    return "openmpi";
  }
#elif defined WEFT_MPI_H
  static const char* name() {
    return "weft-mpi";
  }
#else
  static const char* name() {
    return "mpich";
  }
#endif

  template <class T>
  void send(const T& value, int to) const {
    MPI_Send(&value, sizeof value, MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }
  template <class T>
  T recv(int from) const {
    T value;
    MPI_Recv(&value, sizeof value, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  template <class T>
  T recv_any() const {
    T value;
    MPI_Recv(&value, sizeof value, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
  }
  template <class T>
  void send_span(std::span<const T> out, int to) const {
    MPI_Send(out.data(), bytes(out), MPI_BYTE, to, 0, MPI_COMM_WORLD);
  }
  template <class T>
  void recv_span(std::span<T> in, int from) const {
    MPI_Recv(in.data(), bytes(in), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  template <class T>
  request isend(std::span<const T> out, int to, int tag = 0) const {
    request r;
    MPI_Isend(out.data(), bytes(out), MPI_BYTE, to, tag, MPI_COMM_WORLD, &r);
    return r;
  }
  template <class T>
  request irecv(std::span<T> in, int from, int tag = 0) const {
    request r;
    MPI_Irecv(in.data(), bytes(in), MPI_BYTE, from, tag, MPI_COMM_WORLD, &r);
    return r;
  }
  static void wait_all(std::span<request> requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  // A request that is complete.
  static request nothing() {
    return MPI_REQUEST_NULL;
  }
  void barrier() const {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  double sum(double value) const {
    double result;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return result;
  }
  void sum(std::span<const double> in, std::span<double> out) const {
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  void max(std::span<const double> in, std::span<double> out) const {
    MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
  }
  double bcast(double value, int root) const {
    MPI_Bcast(&value, 1, MPI_DOUBLE, root, MPI_COMM_WORLD);
    return value;
  }
  void bcast(std::span<double> data, int root) const {
    MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, root, MPI_COMM_WORLD);
  }
  void alltoall(std::span<const double> out, std::span<double> in) const {
    const int each = static_cast<int>(out.size()) / size_;
    MPI_Alltoall(out.data(), each, MPI_DOUBLE, in.data(), each, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  // Of parts whose lengths the others do not know before: each tells all how much it gives them, then gives it, in the
  // order of ranks. `gives` is how many elements of `out` each rank gets; `in` has room for what comes.
  void counts_then_data(std::span<const double> out, const std::vector<int>& gives,
                        std::span<double> in) {
    counts_.resize(3 * gives.size());
    const std::span counts(counts_);
    const std::span takes = counts.first(gives.size());
    const std::span out_at = counts.subspan(gives.size(), gives.size());
    const std::span in_at = counts.last(gives.size());
    MPI_Alltoall(gives.data(), 1, MPI_INT, takes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < gives.size(); ++r) {
      out_at[r] = out_at[r - 1] + gives[r - 1];
      in_at[r] = in_at[r - 1] + takes[r - 1];
    }
    MPI_Alltoallv(out.data(), gives.data(), out_at.data(), MPI_DOUBLE, in.data(), takes.data(),
                  in_at.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }
  // Gives the core up for that long while a message may arrive for another rank.
  static void sleep_for(std::chrono::nanoseconds time) {
    usleep(static_cast<useconds_t>(time.count() / 1000));
  }

 private:
  friend int run(int, char**, const std::function<void(peers&)>&);
  template <class T>
  static int bytes(std::span<T> data) {
    return static_cast<int>(data.size_bytes());
  }
  int rank_ = 0, size_ = 1, workers_ = 1;
  std::vector<int> counts_;  // Of counts_then_data(): what each gives here, and where parts begin.
};

inline int run(int argc, char** argv, const std::function<void(peers&)>& body) {
  // The launcher's own numbering is known before MPI_Init, whose memory should already be local.
  const int rank_hint =
      std::atoi(setting("PMI_RANK", setting("OMPI_COMM_WORLD_RANK", "0").c_str()).c_str());
  const int size_hint =
      std::atoi(setting("PMI_SIZE", setting("OMPI_COMM_WORLD_SIZE", "1").c_str()).c_str());
#ifdef WEFT_MPI_H  // Ranks of weft lie on workers, which it has pinned to a core each.
  const int allowed = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#else
  const int allowed = cores_allowed();
#endif
  const int cores = std::min(allowed, std::atoi(setting("BENCH_WORKERS", "1024").c_str()));
#ifndef WEFT_MPI_H
  pin(static_cast<int>(static_cast<long>(rank_hint) * std::min(cores, size_hint) /
                       std::max(size_hint, 1)));
#else
  (void)rank_hint, (void)size_hint;
#endif
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);  // A rank of high priority would starve those that still start.
  raise_priority();
  peers p;
  MPI_Comm_rank(MPI_COMM_WORLD, &p.rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &p.size_);
  p.workers_ = std::min(cores, p.size_);
  if (p.rank_ == 0) print_header();
  body(p);
  lower_priority();
  MPI_Finalize();
  return 0;
}

#elif defined BENCH_OVER_SHMEM
inline constexpr bool over_weft = false, has_ranks = true, has_tasks = false;

// What is asked for everywhere is in OpenSHMEM 1.4, which is what Open MPI has.
class peers {
 public:
  int rank() const { return rank_; }
  int size() const { return size_; }
  int workers() const { return workers_; }
#ifdef WEFT_SHMEM_H
  static const char* name() {
    return "weft-shmem";
  }
#else
  static const char* name() {
    return "oshmem";
  }
#endif
  void barrier() const {
    shmem_barrier_all();
  }
  double sum(double value) {
    double result;
    reduce(&shmem_double_sum_to_all, {&value, 1}, {&result, 1});
    return result;
  }
  void max(std::span<const double> in, std::span<double> out) {
    reduce(&shmem_double_max_to_all, in, out);
  }
  double bcast(double value, int root) {
    sync& with = next_sync();
    values()[0] = value;
    shmem_broadcast64(results(), values(), 1, root, 0, 0, size_, with.broadcast);
    shmem_barrier_all();  // The root need not wait for the others.
    return rank_ == root ? value : results()[0];
  }
  static void sleep_for(std::chrono::nanoseconds time) {
    usleep(static_cast<useconds_t>(time.count() / 1000));
  }

 private:
  friend int run(int, char**, const std::function<void(peers&)>&);
  // Used by turns: the others may still be in the collective before, not in that before it.
  struct sync {
    long reduce[SHMEM_REDUCE_SYNC_SIZE];
    long broadcast[SHMEM_BCAST_SYNC_SIZE];
    double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 16];
  };
  static constexpr std::size_t most = 16;  // Values of one reduction.
  void reduce(void (*how)(double*, const double*, int, int, int, int, double*, long*),
              std::span<const double> in, std::span<double> out) {
    sync& with = next_sync();
    std::copy(in.begin(), in.end(), values());
    how(results(), values(), static_cast<int>(in.size()), 0, 0, size_, with.work, with.reduce);
    std::copy_n(results(), out.size(), out.begin());
  }
  // Symmetric.
  double* values() const {
    return memory_->data[turn_][0];
  }
  double* results() const {
    return memory_->data[turn_][1];
  }
  sync& next_sync() {
    return memory_->syncs[turn_ ^= 1];
  }
  struct symmetric {
    sync syncs[2];
    double data[2][2][most];
  };
  void allocate() {
    memory_ = static_cast<symmetric*>(shmem_malloc(sizeof(symmetric)));
    for (sync& each : memory_->syncs) {
      std::fill(std::begin(each.reduce), std::end(each.reduce), SHMEM_SYNC_VALUE);
      std::fill(std::begin(each.broadcast), std::end(each.broadcast), SHMEM_SYNC_VALUE);
    }
    shmem_barrier_all();
  }
  int rank_ = 0, size_ = 1, workers_ = 1;
  int turn_ = 0;
  symmetric* memory_ = nullptr;
};

inline int run(int, char**, const std::function<void(peers&)>& body) {
#ifdef WEFT_SHMEM_H
  const int allowed = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#else
  const int allowed = cores_allowed();
#endif
  const int cores = std::min(allowed, std::atoi(setting("BENCH_WORKERS", "1024").c_str()));
#ifndef WEFT_SHMEM_H
  const int rank_hint = std::atoi(setting("OMPI_COMM_WORLD_RANK", "0").c_str());
  const int size_hint = std::max(1, std::atoi(setting("OMPI_COMM_WORLD_SIZE", "1").c_str()));
  pin(static_cast<int>(static_cast<long>(rank_hint) * std::min(cores, size_hint) / size_hint));
#endif
  shmem_init();
  peers p;
  p.rank_ = shmem_my_pe();
  p.size_ = shmem_n_pes();
  p.workers_ = std::min(cores, p.size_);
  p.allocate();
  raise_priority();
  if (p.rank_ == 0) print_header();
  body(p);
  lower_priority();
  shmem_barrier_all();
#ifdef WEFT_SHMEM_H
  shmem_finalize();
#else
  // Its shmem_finalize() does not survive (Open MPI 4.1.4, issue 11604); MPI's ends the job as well.
  std::fflush(nullptr);
  MPI_Finalize();
  _exit(0);
#endif
  return 0;
}

#elif !defined BENCH_OVER_TBB
inline constexpr bool over_weft = true, has_ranks = true, has_tasks = true;
using request = weft::request;

class peers {
 public:
  peers(weft::communicator& world, int workers) : world_(world), workers_(workers) {}
  int rank() const { return world_.rank(); }
  int size() const { return world_.size(); }
  int workers() const { return workers_; }
  static const char* name() { return "weft"; }

  template <class T>
  void send(const T& value, int to) {
    world_.send(value, to);
  }
  template <class T>
  T recv(int from) {
    return world_.recv<T>(from);
  }
  template <class T>
  T recv_any() {
    return world_.recv<T>(weft::any_source);
  }
  template <class T>
  void send_span(std::span<const T> out, int to) {
    world_.send(out, to);
  }
  template <class T>
  void recv_span(std::span<T> in, int from) {
    world_.recv(in, from);
  }
  template <class T>
  request isend(std::span<const T> out, int to, int tag = 0) {
    return world_.isend(out, to, tag);
  }
  template <class T>
  request irecv(std::span<T> in, int from, int tag = 0) {
    return world_.irecv(in, from, tag);
  }
  static void wait_all(std::span<request> requests) { weft::wait_all(requests); }
  static request nothing() { return {}; }  // A request that is complete.
  void barrier() { world_.barrier(); }
  double sum(double value) { return world_.allreduce(value, std::plus<>{}); }
  void sum(std::span<const double> in, std::span<double> out) {
    world_.allreduce(in, out, std::plus<>{});
  }
  void max(std::span<const double> in, std::span<double> out) {
    world_.allreduce(in, out, weft::max{});
  }
  double bcast(double value, int root) { return world_.bcast(value, root); }
  void bcast(std::span<double> data, int root) { world_.bcast(data, root); }
  void alltoall(std::span<const double> out, std::span<double> in) { world_.alltoall(out, in); }
  static void sleep_for(std::chrono::nanoseconds time) { weft::sleep_for(time); }
  weft::communicator& world() { return world_; }

 private:
  weft::communicator& world_;
  int workers_;
};

inline int run(int argc, char** argv, const std::function<void(peers&)>& body) {
  raise_priority();
  weft::options options = weft::parse_options(argc, argv);
  const int cores = cores_allowed();
  if (options.ranks == 0) options.ranks = options.workers > 0 ? options.workers : cores;
  if (options.workers == 0) options.workers = std::min(cores, options.ranks);
  print_header();
  return weft::run(options, [&](weft::communicator& world) {
    peers p(world, options.workers);
    body(p);
  });
}
#endif

#ifdef BENCH_OVER_SHMEM
inline constexpr bool over_shmem = true;
#else
inline constexpr bool over_shmem = false;
#endif
#ifdef WEFT_SHMEM_H
inline constexpr bool has_active_messages = true;
#else
inline constexpr bool has_active_messages = false;
#endif

// Loops whose chunks waiting ranks take: body(chunk) for 0 to chunks - 1.
#if !defined BENCH_OVER_MPI && !defined BENCH_OVER_SHMEM && !defined BENCH_OVER_TBB
inline constexpr bool has_loops = true;
template <class Body>
void loop(std::size_t chunks, Body&& body) {
  weft::parallel_for(0, chunks, body, {.grain = 1});
}
#elif defined WEFT_MPI_H
inline constexpr bool has_loops = true;
template <class Body>
void loop(std::size_t chunks, Body&& body) {
  using body_type = std::remove_reference_t<Body>;
  weft_parallel_for_grain(
      0, chunks, 1, 1,
      [](std::size_t first, std::size_t end, void* of) {
        for (std::size_t chunk = first; chunk < end; ++chunk) (*static_cast<body_type*>(of))(chunk);
      },
      &body);
}
#else
inline constexpr bool has_loops = false;
template <class Body>
void loop(std::size_t chunks, Body&& body) {
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}
#endif

#ifndef BENCH_OVER_TBB
// Collective. All ranks call op(rank) at the same time; the sum of what they return, the same on all.
template <class Op>
double sum_of_all(peers& p, Op&& op) {
  p.barrier();
  return p.sum(op(p.rank()));
}
#endif

// As the rank that ends last: it is not known which.
inline constexpr int any_rank = -1;

// Collective. Every rank runs op() after a barrier; returns, the same on all ranks, the nanoseconds from the
// first rank's start to the last one's end. Where it is known who ends last, the others do not look at the
// clock again, which takes half as long as sending a message. A copy of `op` lies beside what else is needed
// after the barrier: with many ranks each line of another frame has to come from afar.
template <class Op>
double time_of(peers& p, Op op, int ends_last = any_rank) {
  // The end, the start, and what rank 0 takes a count for.
  double times[3] = {0, 0, p.rank() == 0 ? counts::ns_each() : 0};
  p.barrier();
  times[1] = -counts::now();
  op();
  if (ends_last == any_rank || ends_last == p.rank()) times[0] = counts::now();
  double last[3];
  p.max(times, last);
  return (last[0] + last[1]) * last[2];
}

// Collective. All cores are idle for a while. Linux stops real-time threads for the rest of a second of which they
// have used 95 % (sched_rt_runtime_us), so work that lasts nearly as long begins after a rest.
inline void rest(peers& p) {
  constexpr double rest_ns = 150e6;
  const double now = clock_ns();
  double last;
  p.max(std::span(&now, 1), std::span(&last, 1));
  const double left_ns = last + rest_ns - clock_ns();
  if (left_ns > 0) peers::sleep_for(std::chrono::nanoseconds(static_cast<long>(left_ns)));
}

// Changes a word of every cache line, which takes the lines from all other caches.
template <class T>
void rewrite(std::span<T> data) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < data.size(); i += line / sizeof(T)) data[i] += 1;
}

inline setup setup_of(const peers& p, const std::string& variant = "") {
  return {p.name() + variant + setting("BENCH_VARIANT", ""), p.size(), p.workers()};
}

// Collective. All ranks run once(iterations), which returns nanoseconds, as often as rank 0
// decides; returns the nanoseconds per iteration of each repetition, on rank 0.
template <class Once>
std::vector<double> samples_of(peers& p, Once&& once, double sample_ms) {
  if (p.rank() != 0) {
    while (const double iterations = p.bcast(0.0, 0)) (void)once(static_cast<long>(iterations));
    return {};
  }
  auto samples = sample(
      [&](long iterations) {
        p.bcast(static_cast<double>(iterations), 0);
        return once(iterations);
      },
      sample_ms);
  p.bcast(0.0, 0);
  return samples;
}

// Collective. Measures op(iterations) and prints a row: nanoseconds per iteration, divided by
// `divisor` (hops of a ring, messages of a window). `ends_last`: see time_of().
template <class Op>
void measure(peers& p, const std::string& name, Op&& op, double divisor = 1, double sample_ms = 10,
             int ends_last = any_rank) {
  if (!wanted(name)) return;
  const auto once = [&](long iterations) {
    return time_of(
        p, [op, iterations] { op(iterations); }, ends_last);
  };
  auto samples = samples_of(p, once, sample_ms);
  if (p.rank() != 0) return;
  for (double& s : samples) s /= divisor;
  print_row(name, setup_of(p), "ns", samples);
}

}  // namespace bench
