// Calls of functions on other PEs: values, void, structs; many at once; the form that does not wait; in sessions; functions
// that send, and that work in a loop or in tasks of weft's, which other PEs of the process may take.
#include <weft/loop.h>
#include <complex>
#include <shmemx.hpp>
#include <weft/tasks.hpp>

#include "conform.h"

namespace {

struct place {
  int pe;
  double x[3];
};

long counter;
long squares[4096];

long twice(long value) {
  return 2 * value;
}
void count() {
  ++counter;
}

void square(std::size_t begin, std::size_t end, void* of) {
  for (std::size_t i = begin; i < end; ++i) static_cast<long*>(of)[i] = static_cast<long>(i * i);
}

void values() {
  auto sum = shmemx::rpc(
      NEXT, [](int a, long b) { return a + b; }, 3, 4L);
  EXPECT(sum.get() == 7);
  EXPECT(shmemx::rpc<&twice>(NEXT, 21L).get() == 42);
  auto where = shmemx::rpc(
      NEXT,
      [](place from) {
        return place{shmem_my_pe(), {from.x[2], from.x[1], double(from.pe)}};
      },
      place{me, {1, 2, 3}});
  const place got = where.get();
  EXPECT(got.pe == NEXT && got.x[0] == 3 && got.x[1] == 2 && got.x[2] == me);
}

void many() {
  std::vector<shmemx::result<long>> results;
  for (long i = 0; i < 500; ++i)
    results.push_back(shmemx::rpc(
        static_cast<int>(i) % pes, [](long n) { return n * n; }, i));
  for (long i = 0; i < 500; ++i) EXPECT(results[static_cast<std::size_t>(i)].get() == i * i);
  shmemx_am_barrier_all(nullptr);  // Others may still wait for functions here.
  for (int pe = 0; pe < pes; ++pe)
    for (int i = 0; i < 10; ++i)
      if (auto started = shmemx::try_rpc<&count>(pe)) {
        if (i % 2 == 0) started->get();  // Of the others nobody waits.
      } else {
        EXPECT(false);
      }
  shmemx_am_barrier_all(nullptr);
  EXPECT(counter == 10 * pes);
}

void in_functions() {
  // A function calls one back, and does not wait for it.
  shmemx_am_barrier_all(nullptr);  // Others may still wait for functions here.
  counter = 0;
  shmemx_am_barrier_all(nullptr);  // Others may still wait for functions here.
  shmemx::rpc(
      NEXT, [](int source) { (void)shmemx::rpc<&count>(source); }, me)
      .get();
  shmemx_am_barrier_all(nullptr);
  EXPECT(counter == 1);
  const long found = shmemx::rpc(NEXT, [] {
                       weft_parallel_for(0, 4096, &square, squares);
                       long sum = 0;
                       for (const long s : squares) sum += s;
                       return sum;
                     }).get();
  EXPECT(found == 4095L * 4096 * 8191 / 6);
}

// Tasks see the globals of the PE that has spawned them, on whatever worker they run.
weft::future<long> later;
void spawns(void* payload, std::size_t, void*, void*, int) {
  long number = 0;
  std::memcpy(&number, payload, sizeof number);
  later = weft::spawn([number] { return number + counter; });
}

void with_tasks() {
  shmemx_am_barrier_all(nullptr);  // Others may still wait for functions here.
  int id = 0;
  shmemx_am_set_handler_all(&spawns, nullptr, &id);
  counter = 1000 * me;
  shmem_barrier_all();
  // The function waits for its tasks; in the meantime its PE is in a handler, and other PEs of the worker go on.
  const long found = shmemx::rpc(NEXT, [] {
                       std::vector<weft::future<long>> parts;
                       for (long i = 0; i < 64; ++i)
                         parts.push_back(weft::spawn([i] { return i * i + counter; }));
                       long sum = 0;
                       for (auto& part : parts) sum += part.get();
                       return sum;
                     }).get();
  EXPECT(found == 63L * 64 * 127 / 6 + 64 * 1000L * NEXT);
  // A handler whose task outlives it.
  long seven = 7;
  shmemx_am_send_nbi(id, &seven, sizeof seven, NEXT);
  shmemx_am_barrier_all(nullptr);
  EXPECT(later.get() == 7 + 1000 * me);
  // An exception of a task comes out of get(), in the function.
  EXPECT(shmemx::rpc(NEXT, [] {
           auto fails = weft::spawn([]() -> int { throw std::runtime_error("of a task"); });
           try {
             return fails.get();
           } catch (const std::runtime_error&) {
             return 5;
           }
         }).get() == 5);
  shmemx_am_barrier_all(nullptr);
}

// Sums of the complex numbers of both languages.
void with_complex_numbers() {
  static std::complex<double> numbers[2];
  static __complex__ float of_c[2];
  numbers[0] = {1, double(me)};
  __real__ of_c[0] = 1, __imag__ of_c[0] = float(me);
  shmem_barrier_all();
  EXPECT(shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, numbers + 1, numbers, 1) == 0);
  EXPECT(shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, of_c + 1, of_c, 1) == 0);
  const double all = pes * (pes - 1) / 2.0;
  EXPECT(numbers[1].real() == pes && numbers[1].imag() == all);
  EXPECT(double(__real__ of_c[1]) == pes && double(__imag__ of_c[1]) == all);
}

// Calls of a session go together, and in the order in which they were made; nothing waits for ever.
void in_session(shmem_ctx_t ctx) {
  counter = 0;
  shmemx_am_barrier_all(nullptr);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, nullptr, 0);
  std::vector<shmemx::result<long>> results;
  for (int i = 0; i < 300; ++i) {
    if (i % 100 == 99 && ctx == SHMEM_CTX_DEFAULT) {
      // Not gathered, and not in front of what was.
      auto tried = shmemx::try_rpc(NEXT, [] { return counter++; });
      EXPECT(tried.has_value());
      if (tried) results.push_back(std::move(*tried));
      continue;
    }
    results.push_back(shmemx::rpc(ctx, NEXT, [] { return counter++; }));
  }
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT(results[i].get() == long(i));
  EXPECT(shmemx::rpc<&twice>(ctx, NEXT, 4L).get() == 8);
  auto eight = shmemx::rpc<&twice>(ctx, NEXT, 4L);
  while (!eight.ready()) continue;
  shmem_ctx_session_stop(ctx);
  shmemx_am_barrier_all(nullptr);
  EXPECT(counter == 300);
}

}  // namespace

int main() {
  begin();
  bool refused = false;
  try {
    (void)shmemx::rpc<&count>(0);
  } catch (const std::logic_error&) {
    refused = true;
  }
  EXPECT(refused);
  shmemx::rpc_init();
  values();
  many();
  in_functions();
  with_tasks();
  shmemx_am_barrier_all(nullptr);  // Others may still wait for functions here.
  with_complex_numbers();
  in_session(SHMEM_CTX_DEFAULT);
  shmem_ctx_t ctx;
  EXPECT(shmem_ctx_create(0, &ctx) == 0);
  in_session(ctx);
  shmem_ctx_destroy(ctx);
  shmemx_am_barrier_all(nullptr);
  return end();
}
