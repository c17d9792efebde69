#include "comm/algorithms.hpp"

#include <algorithm>
#include <bit>

namespace weft::comm {

namespace {
// Of a chain: what is passed on while the next one comes.
constexpr std::size_t segment_bytes = 32 * 1024;
}  // namespace

// --- One to all, all to one ---

void broadcast_tree(schedule& s, view v, byte_span data) {
  const int me = v.relative();
  int mask = 1;
  for (; mask < v.size; mask <<= 1)
    if ((me & mask) != 0) {
      s.recv(v.at(me - mask), data);
      s.settle();
      break;
    }
  for (mask >>= 1; mask > 0; mask >>= 1)
    if (me + mask < v.size) s.send(v.at(me + mask), data);
  s.settle();
}

void broadcast_linear(schedule& s, view v, byte_span data) {
  if (v.relative() == 0)
    for (int i = 1; i < v.size; ++i) s.send(v.at(i), data);
  else
    s.recv(v.root, data);
  s.settle();
}

void broadcast_ring(schedule& s, view v, byte_span data) {
  const int me = v.relative();
  for (std::size_t begin = 0; begin < data.size(); begin += segment_bytes) {
    const byte_span part = data.subspan(begin, std::min(segment_bytes, data.size() - begin));
    if (me > 0) {
      s.recv(v.at(me - 1), part);
      s.settle();
    }
    if (me + 1 < v.size) s.send(v.at(me + 1), part);
  }
  s.settle();
}

void reduce_tree(schedule& s, view v, byte_span data, byte_span room, const combination& by) {
  const int me = v.relative();
  for (int mask = 1; mask < v.size; mask <<= 1) {
    if ((me & mask) != 0) {
      s.send(v.at(me - mask), data);
      s.settle();
      return;
    }
    if (me + mask >= v.size) continue;
    s.recv(v.at(me + mask), room);
    s.settle();
    s.combine(by, data, room);
  }
}

void reduce_linear(schedule& s, view v, byte_span data, byte_span room, const combination& by) {
  if (v.rank != v.root) {
    s.send(v.root, data);
    s.settle();
    return;
  }
  const byte_span sum = room.first(data.size()), part = room.subspan(data.size());
  for (int i = 0; i < v.size; ++i) {
    const byte_span to = i == 0 ? sum : part;
    if (i == v.rank)
      s.copy(to, data);
    else
      s.recv(i, to);
    s.settle();
    if (i > 0) s.combine(by, sum, part);
  }
  s.copy(data, sum);
}

void gather_linear(schedule& s, view v, const_byte_span mine, byte_span all) {
  if (v.rank != v.root) {
    s.send(v.root, mine);
  } else {
    for (int i = 0; i < v.size; ++i)
      if (i != v.rank) s.recv(i, block(all, mine.size(), i));
    s.copy(block(all, mine.size(), v.rank), mine);
  }
  s.settle();
}

void gather_tree(schedule& s, view v, const_byte_span mine, byte_span all, byte_span room) {
  const std::size_t bytes = mine.size();
  const int me = v.relative();
  s.copy(room.first(bytes), mine);
  for (int mask = 1; mask < v.size; mask <<= 1) {
    const int have = std::min(mask, v.size - me);
    if ((me & mask) != 0) {
      s.send(v.at(me - mask), room.first(static_cast<std::size_t>(have) * bytes));
      s.settle();
      return;
    }
    if (me + mask >= v.size) continue;
    const int theirs = std::min(mask, v.size - me - mask);
    s.recv(v.at(me + mask), room.subspan(static_cast<std::size_t>(mask) * bytes,
                                         static_cast<std::size_t>(theirs) * bytes));
    s.settle();
  }
  for (int i = 0; i < v.size; ++i) s.copy(block(all, bytes, v.at(i)), block(room, bytes, i));
}

// --- All to all ---

void dissemination(schedule& s, view v) {
  for (int distance = 1; distance < v.size; distance <<= 1) {
    s.send((v.rank + distance) % v.size, {});
    s.recv((v.rank - distance + v.size) % v.size, {});
    s.settle();
  }
}

void all_reduce_doubling(schedule& s, view v, byte_span data, byte_span room,
                         const combination& by) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(v.size)));
  const int extra = v.size - power;
  if (v.rank >= power) {
    s.send(v.rank - power, data);
    s.recv(v.rank - power, room);  // Not into `data`, which is being sent.
    s.settle();
    s.copy(data, room);
    return;
  }
  if (v.rank < extra) {
    s.recv(v.rank + power, room);
    s.settle();
    s.combine(by, data, room);
  }
  for (int mask = 1; mask < power; mask <<= 1) {
    s.send(v.rank ^ mask, data);
    s.recv(v.rank ^ mask, room);
    s.settle();
    s.combine(by, data, room);
  }
  if (v.rank < extra) s.send(v.rank + power, data);
  s.settle();
}

namespace {
// After n - 1 steps around the ring, process i has share (i + ahead) % n of the result; `ahead` is 0
// or 1.
void ring_reduce(schedule& s, view v, byte_span data, byte_span room, const combination& by,
                 const shares& cut, int ahead) {
  const int next = (v.rank + 1) % v.size, previous = (v.rank - 1 + v.size) % v.size;
  for (int i = 0; i < v.size - 1; ++i) {
    const int out = (v.rank + ahead - 1 - i + v.size) % v.size;
    const int in = (out - 1 + v.size) % v.size;
    const byte_span part = room.first(cut.of(data, in).size());
    s.send(next, cut.of(data, out));
    s.recv(previous, part);
    s.settle();
    s.combine(by, cut.of(data, in), part);
  }
}
}  // namespace

void all_reduce_ring(schedule& s, view v, byte_span data, byte_span room, const combination& by) {
  const shares cut{data.size() / by.element_bytes, by.element_bytes, v.size};
  ring_reduce(s, v, data, room, by, cut, 1);
  const int next = (v.rank + 1) % v.size, previous = (v.rank - 1 + v.size) % v.size;
  for (int i = 0; i < v.size - 1; ++i) {
    s.send(next, cut.of(data, (v.rank + 1 - i + v.size) % v.size));
    s.recv(previous, cut.of(data, (v.rank - i + v.size) % v.size));
    s.settle();
  }
}

void all_gather_ring(schedule& s, view v, const_byte_span mine, byte_span all) {
  const std::size_t bytes = mine.size();
  s.copy(block(all, bytes, v.rank), mine);
  for (int i = 0; i < v.size - 1; ++i) {
    s.send((v.rank + 1) % v.size, block(all, bytes, (v.rank - i + v.size) % v.size));
    s.recv((v.rank - 1 + v.size) % v.size, block(all, bytes, (v.rank - i - 1 + v.size) % v.size));
    s.settle();
  }
}

void all_gather_linear(schedule& s, view v, const_byte_span mine, byte_span all) {
  for (int i = 1; i < v.size; ++i) {
    const int to = (v.rank + i) % v.size, from = (v.rank - i + v.size) % v.size;
    s.send(to, mine);
    s.recv(from, block(all, mine.size(), from));
  }
  s.copy(block(all, mine.size(), v.rank), mine);
  s.settle();
}

void all_gather_doubling(schedule& s, view v, const_byte_span mine, byte_span all, byte_span room) {
  const std::size_t bytes = mine.size();
  s.copy(room.first(bytes), mine);
  for (int have = 1; have < v.size; have <<= 1) {
    const auto count = static_cast<std::size_t>(std::min(have, v.size - have)) * bytes;
    s.send((v.rank - have + v.size) % v.size, room.first(count));
    s.recv((v.rank + have) % v.size, room.subspan(static_cast<std::size_t>(have) * bytes, count));
    s.settle();
  }
  for (int i = 0; i < v.size; ++i)
    s.copy(block(all, bytes, (v.rank + i) % v.size), block(room, bytes, i));
}

void reduce_scatter_ring(schedule& s, view v, byte_span data, byte_span room, byte_span mine,
                         const combination& by) {
  ring_reduce(s, v, data, room, by, {data.size() / by.element_bytes, by.element_bytes, v.size}, 0);
  s.copy(mine, block(data, mine.size(), v.rank));
}

void reduce_scatter_linear(schedule& s, view v, byte_span data, byte_span room, byte_span mine,
                           const combination& by) {
  reduce_linear(s, v, data, room, by);
  if (v.rank == 0) {
    for (int i = 1; i < v.size; ++i) s.send(i, block(data, mine.size(), i));
    s.copy(mine, data.first(mine.size()));
  } else {
    s.recv(0, mine);
  }
  s.settle();
}

void all_to_all(schedule& s, view v, const_byte_span from, byte_span to, bool one_at_a_time) {
  const std::size_t bytes = from.size() / static_cast<std::size_t>(v.size);
  s.copy(block(to, bytes, v.rank), block(from, bytes, v.rank));
  for (int i = 1; i < v.size; ++i) {
    const int out = (v.rank + i) % v.size, in = (v.rank - i + v.size) % v.size;
    s.send(out, block(from, bytes, out));
    s.recv(in, block(to, bytes, in));
    if (one_at_a_time) s.settle();
  }
  s.settle();
}

// --- Prefixes ---

void scan_linear(schedule& s, view v, byte_span data, byte_span room, const combination& by) {
  if (v.rank > 0) {
    // The sum of those before stands first, so that their order is kept.
    s.recv(v.rank - 1, room);
    s.settle();
    s.combine(by, room, data);
    s.copy(data, room);
  }
  if (v.rank + 1 < v.size) s.send(v.rank + 1, data);
  s.settle();
}

void scan_doubling(schedule& s, view v, byte_span data, byte_span room, const combination& by) {
  const byte_span passed = room.first(data.size()), came = room.subspan(data.size());
  s.copy(passed, data);
  for (int distance = 1; distance < v.size; distance <<= 1) {
    if (v.rank + distance < v.size) s.send(v.rank + distance, passed);
    if (v.rank >= distance) s.recv(v.rank - distance, came);
    s.settle();
    if (v.rank < distance) continue;
    s.combine(by, data, came);
    s.combine(by, passed, came);
  }
}

}  // namespace weft::comm
