// Point-to-point between ranks: latency by size, message rate and bandwidth in windows, all pairs
// of a full machine at once. With two ranks the pair is 0 and 1; with one worker they share it.
#include <array>

#include "adapter.hpp"

namespace {

// The loops of short messages have the peers in variables of their own, as a program would: else each call waits
// for the loads that lead there from the closure.

// 8 bytes as a value: the size is known where the call is compiled.
void latency_of_value(bench::peers& p, const std::string& name, int partner, bool first) {
  bench::measure(
      p, name,
      [p, partner, first](long n) {
        bench::peers with = p;
        const int there = partner;
        std::uint64_t value = 1;
        for (long i = 0; i < n; ++i) {
          if (first) {
            with.send(value, there);
            value = with.recv<std::uint64_t>(there);
          } else {
            value = with.recv<std::uint64_t>(there);
            with.send(value, there);
          }
        }
      },
      2);
}

void latency(bench::peers& p, std::size_t bytes) {
  std::vector<std::byte> out(bytes), in(bytes);
  const std::span<const std::byte> out_span = out;
  bench::measure(
      p, "p2p/one_way/" + bench::size_name(bytes),
      [&](long n) {
        for (long i = 0; i < n; ++i) {
          if (p.rank() == 0) p.send_span(out_span, 1);
          p.recv_span(std::span(in), 1 - p.rank());
          if (p.rank() == 1) p.send_span(out_span, 0);
        }
      },
      2);
}

// As latency(), but each sends what it has just changed: with the same data again and again, the lines
// stay in both caches and only what is written into moves. The time covers the rewriting, which
// p2p/rewriting has alone, where no other cache has the lines.
void latency_of_fresh(bench::peers& p, std::size_t bytes) {
  const std::string size = bench::size_name(bytes);
  std::vector<std::uint64_t> out(bytes / sizeof(std::uint64_t)), in(out.size());
  const auto send = [&](int to) {
    bench::rewrite(std::span(out));
    p.send_span(std::span<const std::uint64_t>(out), to);
  };
  bench::measure(
      p, "p2p/one_way/" + size + "/fresh",
      [&](long n) {
        for (long i = 0; i < n; ++i) {
          if (p.rank() == 0) send(1);
          p.recv_span(std::span(in), 1 - p.rank());
          if (p.rank() == 1) send(0);
        }
      },
      2);
  bench::measure(p, "p2p/rewriting/" + size, [&](long n) {
    for (long i = 0; i < n; ++i) {
      bench::rewrite(std::span(out));
      asm volatile("" : : "r"(out.data()) : "memory");  // Each time anew.
    }
  });
}

// Windows of 64 messages from 0 to 1, each window answered by one word. Every message has memory of
// its own, so large ones come from beyond the cache.
void window(bench::peers& p, std::size_t bytes) {
  constexpr std::size_t count = 64;
  const std::string name = "p2p/window64/" + bench::size_name(bytes);
  if (!bench::wanted(name)) return;
  std::vector<std::byte> memory(count * bytes, std::byte{1});
  std::array<bench::request, count> requests;
  bench::measure(
      p, name,
      [&](long n) {
        bench::peers with = p;
        const bool sends = with.rank() == 0;
        const std::span all(memory);
        const std::size_t each = bytes;
        for (long i = 0; i < n; ++i) {
          for (std::size_t m = 0; m < count; ++m) {
            const auto part = all.subspan(m * each, each);
            if (sends)
              requests[m] = with.isend(std::span<const std::byte>(part), 1);
            else
              requests[m] = with.irecv(part, 0);
          }
          with.wait_all(requests);
          if (sends)
            (void)with.recv<std::uint64_t>(1);
          else
            with.send(std::uint64_t{0}, 0);
        }
      },
      count, 20);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    const int half = p.size() / 2;
    if (p.size() == 2 && p.workers() == 1) {
      latency_of_value(p, "p2p/one_way/8B/same_core", 1 - p.rank(), p.rank() == 0);
    } else if (p.size() == 2) {
      latency_of_value(p, "p2p/one_way/8B", 1 - p.rank(), p.rank() == 0);
      for (const std::size_t bytes : {64u, 512u, 1u << 10, 4u << 10, 8u << 10, 16u << 10, 64u << 10,
                                      256u << 10, 1u << 20, 4u << 20})
        latency(p, bytes);
      for (const std::size_t bytes : {64u << 10, 1u << 20}) latency_of_fresh(p, bytes);
      window(p, 8);
      window(p, 1 << 20);
    } else if (p.size() % 2 == 0) {
      // Block map: the partner half of the ranks away is on another core, the neighbour mostly not.
      latency_of_value(p, "p2p/all_pairs/8B/across", (p.rank() + half) % p.size(), p.rank() < half);
      latency_of_value(p, "p2p/all_pairs/8B/neighbours", p.rank() ^ 1, p.rank() % 2 == 0);
    }
  });
}
