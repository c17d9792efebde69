// Calls of functions on other PEs: values, void, structs; many at once; the form that does not wait; functions that send,
// and that work in a loop of weft's, whose chunks other PEs of the process may take.
#include <weft/task.h>
#include <shmemx.hpp>

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
  shmemx_am_barrier_all(nullptr);
  return end();
}
