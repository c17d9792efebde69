// What comm_bench.cpp measures between two processes, over MPI: the same rows where MPI has the same, and
// messages that are sent and received where it has no active messages. Puts and gets are those of windows,
// which weft's own MPI does not have, nor Open MPI over tcp alone: BENCH_WINDOWS=0 leaves them out.
#define BENCH_OVER_MPI
#include "../adapter.hpp"

namespace {

// One way, there and back.
void latency(bench::peers& p, const std::string& what, std::span<std::byte> memory,
             std::size_t size) {
  const std::span<std::byte> part = memory.first(size);
  bench::measure(
      p, what + bench::size_name(size),
      [&](long n) {
        for (long i = 0; i < n; ++i) {
          if (p.rank() == 0) p.send_span(std::span<const std::byte>(part), 1);
          p.recv_span(part, 1 - p.rank());
          if (p.rank() == 1) p.send_span(std::span<const std::byte>(part), 0);
        }
      },
      2);
}

// One after the other, 64 under way at a time; the last one is answered.
void rate(bench::peers& p, std::span<std::byte> memory, std::size_t size) {
  constexpr std::size_t window = 64;
  const std::span<std::byte> part = memory.first(size);
  std::vector<bench::request> requests(window, bench::peers::nothing());
  bench::measure(p, "comm/rate/" + bench::size_name(size), [&](long n) {
    for (long i = 0; i < n; ++i) {
      bench::request& next = requests[static_cast<std::size_t>(i) % window];
      MPI_Wait(&next, MPI_STATUS_IGNORE);
      next = p.rank() == 0 ? p.isend(std::span<const std::byte>(part), 1) : p.irecv(part, 0);
    }
    p.wait_all(requests);
    if (p.rank() == 0)
      (void)p.recv<char>(1);
    else
      p.send(char{0}, 0);
  });
}

#ifndef WEFT_MPI_H
class window {
 public:
  explicit window(std::span<std::byte> memory) {
    MPI_Win_create(memory.data(), static_cast<MPI_Aint>(memory.size()), 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;
  ~window() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  // Sixteen at a time; at the end all are in the other's memory.
  void put_rate(bench::peers& p, std::span<std::byte> from, std::size_t size) {
    const int bytes = static_cast<int>(size);
    bench::measure(p, "comm/put/" + bench::size_name(size), [&](long n) {
      for (long i = 0; p.rank() == 0 && i < n; ++i) {
        MPI_Put(from.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window_);
        if (i % 16 == 15) MPI_Win_flush_local(1, window_);
      }
      if (p.rank() == 0) MPI_Win_flush(1, window_);
    });
  }
  void get_latency(bench::peers& p, std::span<std::byte> to, std::size_t size) {
    const int bytes = static_cast<int>(size);
    bench::measure(p, "comm/get/" + bench::size_name(size), [&](long n) {
      for (long i = 0; p.rank() == 0 && i < n; ++i) {
        MPI_Get(to.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window_);
        MPI_Win_flush(1, window_);
      }
    });
  }

 private:
  MPI_Win window_;
};
#endif

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    std::vector<std::byte> whole(16 << 20, std::byte{1});
    const std::span<std::byte> memory(whole);
    for (const std::size_t size : {8, 64, 128, 256, 512, 1 << 10, 2 << 10, 3 << 10, 4 << 10,
                                   6 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20})
      latency(p, "comm/am/", memory, size);
    for (const std::size_t size : {8, 1 << 10, 8 << 10}) rate(p, memory, size);
    for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20})
      latency(p, "comm/send_recv/", memory, size);
#ifndef WEFT_MPI_H
    if (bench::setting("BENCH_WINDOWS", "1") == "0") return;
    std::vector<std::byte> exposed(16 << 20);
    window theirs(exposed);
    for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20}) theirs.put_rate(p, memory, size);
    for (const std::size_t size : {8, 64 << 10, 1 << 20}) theirs.get_latency(p, memory, size);
#endif
  });
}
