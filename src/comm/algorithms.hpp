// The algorithms of collective operations: each writes the steps of this process into a schedule.
// `at(k)` is the k-th process counted from the root, so that trees are written for root 0.
//
// Which of them an operation takes is said in collectives.cpp, and by its caller.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include "comm/schedule.hpp"

namespace weft::comm {

using byte_span = std::span<std::byte>;
using const_byte_span = std::span<const std::byte>;

// Who this process is among how many, and whom a tree begins with.
struct view {
  int rank, size, root;
  [[nodiscard]] int relative() const { return (rank - root + size) % size; }
  [[nodiscard]] int at(int relative) const { return (relative + root) % size; }
};

template <class Bytes>
Bytes block(Bytes all, std::size_t bytes, int index) {
  return all.subspan(static_cast<std::size_t>(index) * bytes, bytes);
}

// Splits into `count` shares of whole elements; the first ones get one more.
struct shares {
  std::size_t elements, element_bytes;
  int count;
  [[nodiscard]] std::size_t begin(int index) const {
    const auto i = static_cast<std::size_t>(index), n = static_cast<std::size_t>(count);
    return (elements / n * i + std::min(i, elements % n)) * element_bytes;
  }
  template <class Bytes>
  [[nodiscard]] Bytes of(Bytes all, int index) const {
    return all.subspan(begin(index), begin(index + 1) - begin(index));
  }
};

// --- One to all, all to one ---
void broadcast_tree(schedule& s, view v, byte_span data);
void broadcast_linear(schedule& s, view v, byte_span data);
// A chain: each passes a segment on while the next one comes.
void broadcast_ring(schedule& s, view v, byte_span data);
// `room` is as large as `data`.
void reduce_tree(schedule& s, view v, byte_span data, byte_span room, const combination& by);
// In the order of the processes: a running result takes each part in turn. `room` holds two.
void reduce_linear(schedule& s, view v, byte_span data, byte_span room, const combination& by);
void gather_linear(schedule& s, view v, const_byte_span mine, byte_span all);
// `room` holds a block for each process, in the order of relative().
void gather_tree(schedule& s, view v, const_byte_span mine, byte_span all, byte_span room);

// --- All to all ---
void dissemination(schedule& s, view v);
// Recursive doubling; those beyond the largest power of two hand their part to a partner first.
void all_reduce_doubling(schedule& s, view v, byte_span data, byte_span room,
                         const combination& by);
void all_reduce_ring(schedule& s, view v, byte_span data, byte_span room, const combination& by);
void all_gather_ring(schedule& s, view v, const_byte_span mine, byte_span all);
void all_gather_linear(schedule& s, view v, const_byte_span mine, byte_span all);
// Bruck's: in each round twice as many blocks go to a process twice as far away. `room` holds a
// block for each process, the own one first.
void all_gather_doubling(schedule& s, view v, const_byte_span mine, byte_span all, byte_span room);
// Process i gets share i. `data` is changed.
void reduce_scatter_ring(schedule& s, view v, byte_span data, byte_span room, byte_span mine,
                         const combination& by);
void reduce_scatter_linear(schedule& s, view v, byte_span data, byte_span room, byte_span mine,
                           const combination& by);
void all_to_all(schedule& s, view v, const_byte_span from, byte_span to, bool one_at_a_time);

// --- Prefixes ---
void scan_linear(schedule& s, view v, byte_span data, byte_span room, const combination& by);
// `room` holds two: what is handed on, and what comes.
void scan_doubling(schedule& s, view v, byte_span data, byte_span room, const combination& by);

}  // namespace weft::comm
