// OpenSHMEM, by the same calls of weft and of a rival. With two PEs, of which PE 0 acts where one alone does:
//
//   shmem/put_quiet/8B             a word, complete at the target
//   shmem/put/8B                   a word of a stream, with one quiet at the end
//   shmem/put/SIZE                 a block, complete at the target; shmem/get/SIZE
//   shmem/get/8B                   a word
//   shmem/OPERATION/8B             atomic: fetch, fetch_add, compare_swap, and add with one quiet at the end
//   shmem/ping_pong/8B             half a round trip of words that both wait for; /static: globals in place of the heap
//   shmem/ping_pong/SIZE           a block, then the word behind a fence
//   shmem/barrier, shmem/sync, shmem/sum/8B, /64KiB, shmem/broadcast/8B
//
// Active messages, which no rival has: half a round trip, which the sender spends in shmemx_am_wait (am) or in a loop
// of shmemx_am_poll (am/poll), and one of a stream of messages to a PE that polls (am_rate), also in a session.
// With more PEs: ping-pongs of all pairs at once, and the collectives.
#define BENCH_OVER_SHMEM
#include "../adapter.hpp"

#ifdef WEFT_SHMEM_H
#include <shmemx.h>
#endif

namespace {

constexpr std::size_t largest = std::size_t{1} << 20;
long static_words[64];  // A word a line.

struct memory {
  long* words = static_cast<long*>(shmem_align(64, 64 * sizeof(long)));
  char* block = static_cast<char*>(shmem_align(64, largest));
  std::vector<char> own = std::vector<char>(largest, 1);
};

// PE 0 measures alone, the others wait in a barrier. `act(n)` does it n times.
template <class Act>
void alone(bench::peers& p, const std::string& name, const Act& act) {
  if (!bench::wanted(name)) return;
  p.barrier();
  if (p.rank() == 0)
    bench::print_row(name, bench::setup_of(p), "ns", bench::sample([&](long n) {
                       const double start = bench::clock_ns();
                       act(n);
                       return bench::clock_ns() - start;
                     }));
  p.barrier();
}

void words(bench::peers& p, memory& m) {
  long* const there = m.words + 8;
  alone(p, "shmem/put_quiet/8B", [=](long n) {
    for (long i = 0; i < n; ++i) {
      shmem_long_p(there, i, 1);
      shmem_quiet();
    }
  });
  alone(p, "shmem/put/8B", [=](long n) {
    for (long i = 0; i < n; ++i) shmem_long_p(there, i, 1);
    shmem_quiet();
  });
  alone(p, "shmem/put/8B/static", [=](long n) {
    for (long i = 0; i < n; ++i) shmem_long_p(static_words + 8, i, 1);
    shmem_quiet();
  });
  alone(p, "shmem/get/8B", [=](long n) {
    long sum = 0;
    for (long i = 0; i < n; ++i) sum += shmem_long_g(there, 1);
    asm volatile("" ::"r"(sum));
  });
  alone(p, "shmem/fetch/8B", [=](long n) {
    for (long i = 0; i < n; ++i) (void)shmem_long_atomic_fetch(there, 1);
  });
  alone(p, "shmem/fetch_add/8B", [=](long n) {
    for (long i = 0; i < n; ++i) (void)shmem_long_atomic_fetch_add(there, 1, 1);
  });
  alone(p, "shmem/compare_swap/8B", [=](long n) {
    for (long i = 0; i < n; ++i) (void)shmem_long_atomic_compare_swap(there, 0, 0, 1);
  });
  alone(p, "shmem/add/8B", [=](long n) {
    for (long i = 0; i < n; ++i) shmem_long_atomic_add(there, 1, 1);
    shmem_quiet();
  });
}

void blocks(bench::peers& p, memory& m) {
  char *const there = m.block, *const own = m.own.data();
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 10, std::size_t{8} << 10,
                                  std::size_t{64} << 10, std::size_t{1} << 20}) {
    const std::string size = bench::size_name(bytes);
    alone(p, "shmem/put/" + size, [=](long n) {
      for (long i = 0; i < n; ++i) {
        shmem_putmem(there, own, bytes, 1);
        shmem_quiet();
      }
    });
    alone(p, "shmem/get/" + size, [=](long n) {
      for (long i = 0; i < n; ++i) shmem_getmem(own, there, bytes, 1);
    });
  }
}

// Words that grow, so that none need be reset: each PE puts to its partner and waits for what comes from there.
void ping_pong(bench::peers& p, const std::string& name, long* word, bool first, int partner) {
  long round = *word;
  bench::measure(
      p, name,
      [&round, word, first, partner](long n) {
        long now = round;
        for (long i = 0; i < n; ++i) {
          ++now;
          if (first) shmem_long_p(word, now, partner);
          shmem_long_wait_until(word, SHMEM_CMP_GE, now);
          if (!first) shmem_long_p(word, now, partner);
        }
        round = now;
      },
      2);
}

void ping_pong_of_blocks(bench::peers& p, memory& m) {
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{64} << 10}) {
    char *const block = m.block, *const own = m.own.data();
    long* const word = m.words + 16;
    long round = *word;
    const int partner = 1 - p.rank();
    const auto put = [=](long now) {
      shmem_putmem(block, own, bytes, partner);
      shmem_fence();
      shmem_long_p(word, now, partner);
    };
    bench::measure(
        p, "shmem/ping_pong/" + bench::size_name(bytes),
        [&round, word, put, partner](long n) {
          for (long i = 0; i < n; ++i) {
            ++round;
            if (partner == 1) put(round);
            shmem_long_wait_until(word, SHMEM_CMP_GE, round);
            if (partner == 0) put(round);
          }
        },
        2);
  }
}

void collectives(bench::peers& p, memory& m) {
  constexpr int most = 64 << 10;
  bench::measure(p, "shmem/barrier", [](long n) {
    for (long i = 0; i < n; ++i) shmem_barrier_all();
  });
  bench::measure(p, "shmem/sync", [](long n) {
    for (long i = 0; i < n; ++i) shmem_sync_all();
  });
  // By turns, since a PE may be one collective ahead.
  constexpr int turns = 2;
  static long syncs[turns][SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE];
  for (auto& each : syncs) std::fill(std::begin(each), std::end(each), SHMEM_SYNC_VALUE);
  auto* const data = reinterpret_cast<double*>(m.block);
  auto* const work =
      static_cast<double*>(shmem_malloc(turns * (most + SHMEM_REDUCE_MIN_WRKDATA_SIZE)));
  std::fill_n(data, 2 * most / sizeof(double), 1.0);
  p.barrier();
  const int size = p.size();
  for (const int bytes : {8, most}) {
    const int count = bytes / static_cast<int>(sizeof(double));
    bench::measure(p, "shmem/sum/" + bench::size_name(static_cast<std::size_t>(bytes)),
                   [=](long n) {
                     for (long i = 0; i < n; ++i) {
                       double* const result = data + (i & 1) * count + count;
                       shmem_double_sum_to_all(result, data, count, 0, 0, size,
                                               work + (i & 1) * (count / 2 + 1), syncs[i & 1]);
                     }
                   });
  }
  bench::measure(p, "shmem/broadcast/8B", [=](long n) {
    for (long i = 0; i < n; ++i) {
      shmem_broadcast64(data + 8, data, 1, static_cast<int>(i % size), 0, 0, size,
                        syncs[i & 1] + SHMEM_REDUCE_SYNC_SIZE);
      if ((i & 1) != 0) shmem_sync_all();  // No root may come round to a pSync that is in use.
    }
  });
  shmem_free(work);
}

#ifdef WEFT_SHMEM_H
struct counted {
  long messages = 0;
};
void count(void*, std::size_t, void* args_r, void*, int) {
  ++static_cast<counted*>(args_r)->messages;
}

void active_messages(bench::peers& p, memory& m) {
  counted seen;
  int id;
  shmemx_am_set_handler_all(&count, &seen, &id);
  const int partner = 1 - p.rank();
  char* const own = m.own.data();
  for (const std::size_t bytes :
       {8u, 64u, 512u, 1u << 10, 2u << 10, 4u << 10, 8u << 10, 16u << 10, 32u << 10}) {
    for (const bool polls : {false, true}) {
      bench::measure(
          p, "shmem/am/" + bench::size_name(bytes) + (polls ? "/poll" : ""),
          [&seen, id, partner, own, bytes, polls](long n) {
            const auto await = [&](long until) {
              while (seen.messages < until)
                if (polls)
                  shmemx_am_poll(nullptr);
                else
                  shmemx_am_wait(nullptr);
            };
            for (long i = 0; i < n; ++i) {
              const long next = seen.messages + 1;
              if (partner == 1) shmemx_am_send_nbi(id, own, bytes, partner);
              await(next);
              if (partner == 0) shmemx_am_send_nbi(id, own, bytes, partner);
            }
          },
          2);
    }
  }
  // The paper's figure 3: one PE sends many, the other handles them; the time ends when all have been handled. Then in a
  // session, which gathers.
  shmem_ctx_t session;
  if (shmem_ctx_create(0, &session) != 0) return;
  for (const shmem_ctx_t context : {SHMEM_CTX_DEFAULT, session}) {
    if (context == session) shmem_ctx_session_start(session, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
    for (const std::size_t bytes : {8u, 64u, 1u << 10, 8u << 10, 32u << 10})
      if (context != session || bytes <= 64)
        bench::measure(
            p, "shmem/am_rate/" + bench::size_name(bytes) + (context == session ? "/session" : ""),
            [&seen, id, partner, own, bytes, context](long n) {
              const long end = seen.messages + n;
              if (partner == 1) {
                for (long i = 0; i < n; ++i)
                  shmemx_ctx_am_send_nbi(context, id, own, bytes, partner);
                shmemx_am_quiet(nullptr);
                return;
              }
              while (seen.messages < end) shmemx_am_poll(nullptr);
            });
  }
  shmem_ctx_destroy(session);
  p.barrier();
}
#else
void active_messages(bench::peers&, memory&) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    memory m;
    std::fill_n(m.words, 64, 0L);
    p.barrier();
    if (p.size() == 2) {
      words(p, m);
      blocks(p, m);
      ping_pong(p, "shmem/ping_pong/8B", m.words, p.rank() == 0, 1 - p.rank());
      ping_pong(p, "shmem/ping_pong/8B/static", static_words, p.rank() == 0, 1 - p.rank());
      ping_pong_of_blocks(p, m);
      active_messages(p, m);
    } else if (p.size() % 2 == 0) {
      const int half = p.size() / 2;
      ping_pong(p, "shmem/all_pairs/8B/across", m.words, p.rank() < half,
                (p.rank() + half) % p.size());
    }
    collectives(p, m);
  });
}
