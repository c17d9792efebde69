// Loops of the MPI forms of programs in apps: by weft's MPI chunks that waiting ranks take, with -fopenmp parts for threads, else parts
// for nobody but the rank.
#pragma once
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>
#ifdef WEFT_MPI_H
#include <weft/loop.h>
#endif

#include "front/plain_loops.hpp"

namespace bench {

#if defined WEFT_MPI_H
inline constexpr bool can_share = true;
inline constexpr const char* sharers = "tasks";
#elif defined _OPENMP
inline constexpr bool can_share = true;
inline constexpr const char* sharers = "openmp";
#else
inline constexpr bool can_share = false;
inline constexpr const char* sharers = "no";
#endif

inline const char* peer_name() {
#if defined WEFT_MPI_H
  return "weft-mpi";
#elif defined OPEN_MPI
  return "openmpi";
#else
  return "mpich";
#endif
}

class shared_loops {
 public:
  explicit shared_loops(bool shared) : shared_(shared && can_share) {}
  [[nodiscard]] const char* who() const { return shared_ ? sharers : "no"; }

  template <class Body>
  void for_ranges(std::size_t count, std::size_t grain, Body&& body) const {
    if (!shared_) return front::plain_loops{}.for_ranges(count, grain, body);
    for_chunks(count, grain,
               [&](std::size_t, std::size_t begin, std::size_t end) { body(begin, end); });
  }
  template <class T, class Body>
  [[nodiscard]] T sum_over_ranges(std::size_t count, std::size_t grain, Body&& body) const {
    if (!shared_) return front::plain_loops{}.sum_over_ranges<T>(count, grain, body);
    std::vector<T> parts((count + grain - 1) / grain);
    for_chunks(count, grain, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      parts[chunk] = body(begin, end);
    });
    T sum{};
    for (const T& part : parts) sum = sum + part;
    return sum;
  }

 private:
  template <class Body>
  void for_chunks(std::size_t count, std::size_t grain, const Body& body) const {
    struct call {
      const Body& body;
      std::size_t count, grain;
      void run(std::size_t chunk) const {
        body(chunk, chunk * grain, std::min(count, (chunk + 1) * grain));
      }
    } const of{body, count, grain};
    const std::size_t chunks = (count + grain - 1) / grain;
#if defined WEFT_MPI_H
    weft_parallel_for_grain(
        0, chunks, 1, 1,
        [](std::size_t first, std::size_t end, void* argument) {
          for (std::size_t chunk = first; chunk < end; ++chunk)
            static_cast<const call*>(argument)->run(chunk);
        },
        const_cast<call*>(&of));
#else
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic)
#endif
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) of.run(chunk);
#endif
  }

  bool shared_;
};

}  // namespace bench
