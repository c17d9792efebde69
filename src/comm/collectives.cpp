// The algorithms of collective operations, each as a schedule of this process. `at(k)` is the k-th
// process counted from the root, so that trees are written for root 0.
#include "weft/comm/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "comm/schedule.hpp"
#include "comm/spin_lock.hpp"
#include "weft/error.hpp"

namespace weft::comm {

namespace {

using octets = std::span<std::byte>;
using const_octets = std::span<const std::byte>;

// From this size on, bandwidth counts more than the number of rounds.
constexpr std::size_t long_bytes_min = 64 * 1024;
constexpr std::size_t segment_bytes = 32 * 1024;

[[nodiscard]] constexpr std::string_view name_of(algorithm how) {
  constexpr std::array<std::string_view, 5> names{"automatic", "linear", "tree", "ring",
                                                  "doubling"};
  return names[static_cast<std::size_t>(how)];
}

[[noreturn]] void refuse(const char* operation, algorithm how) {
  throw error(formatted("{} has no algorithm \"{}\"; docs/comm.md lists those it has", operation,
                        name_of(how)));
}

template <class Octets>
Octets block(Octets all, std::size_t bytes, int index) {
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
  template <class Octets>
  [[nodiscard]] Octets of(Octets all, int index) const {
    return all.subspan(begin(index), begin(index + 1) - begin(index));
  }
};

// --- One to all, all to one ---

struct view {
  int rank, size, root;
  [[nodiscard]] int relative() const { return (rank - root + size) % size; }
  [[nodiscard]] int at(int relative) const { return (relative + root) % size; }
};

void broadcast_tree(schedule& s, view v, octets data) {
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

void broadcast_linear(schedule& s, view v, octets data) {
  if (v.relative() == 0)
    for (int i = 1; i < v.size; ++i) s.send(v.at(i), data);
  else
    s.recv(v.root, data);
  s.settle();
}

// A chain: each passes a segment on while the next one comes.
void broadcast_ring(schedule& s, view v, octets data) {
  const int me = v.relative();
  for (std::size_t begin = 0; begin < data.size(); begin += segment_bytes) {
    const octets part = data.subspan(begin, std::min(segment_bytes, data.size() - begin));
    if (me > 0) {
      s.recv(v.at(me - 1), part);
      s.settle();
    }
    if (me + 1 < v.size) s.send(v.at(me + 1), part);
  }
  s.settle();
}

// `room` is as large as `data`.
void reduce_tree(schedule& s, view v, octets data, octets room, const combination& by) {
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

// In the order of the processes: a running result takes each part in turn. `room` holds two.
void reduce_linear(schedule& s, view v, octets data, octets room, const combination& by) {
  if (v.rank != v.root) {
    s.send(v.root, data);
    s.settle();
    return;
  }
  const octets sum = room.first(data.size()), part = room.subspan(data.size());
  for (int i = 0; i < v.size; ++i) {
    const octets to = i == 0 ? sum : part;
    if (i == v.rank)
      s.copy(to, data);
    else
      s.recv(i, to);
    s.settle();
    if (i > 0) s.combine(by, sum, part);
  }
  s.copy(data, sum);
}

void gather_linear(schedule& s, view v, const_octets mine, octets all) {
  if (v.rank != v.root) {
    s.send(v.root, mine);
  } else {
    for (int i = 0; i < v.size; ++i)
      if (i != v.rank) s.recv(i, block(all, mine.size(), i));
    s.copy(block(all, mine.size(), v.rank), mine);
  }
  s.settle();
}

// `room` holds a block for each process, in the order of relative().
void gather_tree(schedule& s, view v, const_octets mine, octets all, octets room) {
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

// Recursive doubling; those beyond the largest power of two hand their part to a partner first.
void all_reduce_doubling(schedule& s, view v, octets data, octets room, const combination& by) {
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

// After n - 1 steps around the ring, process i has share (i + 1) % n of the result.
void ring_reduce(schedule& s, view v, octets data, octets room, const combination& by,
                 const shares& cut) {
  const int next = (v.rank + 1) % v.size, previous = (v.rank - 1 + v.size) % v.size;
  for (int i = 0; i < v.size - 1; ++i) {
    const int out = (v.rank - i + v.size) % v.size, in = (v.rank - i - 1 + 2 * v.size) % v.size;
    const octets part = room.first(cut.of(data, in).size());
    s.send(next, cut.of(data, out));
    s.recv(previous, part);
    s.settle();
    s.combine(by, cut.of(data, in), part);
  }
}

void all_reduce_ring(schedule& s, view v, octets data, octets room, const combination& by) {
  const shares cut{data.size() / by.element_bytes, by.element_bytes, v.size};
  ring_reduce(s, v, data, room, by, cut);
  const int next = (v.rank + 1) % v.size, previous = (v.rank - 1 + v.size) % v.size;
  for (int i = 0; i < v.size - 1; ++i) {
    s.send(next, cut.of(data, (v.rank + 1 - i + v.size) % v.size));
    s.recv(previous, cut.of(data, (v.rank - i + v.size) % v.size));
    s.settle();
  }
}

void all_gather_ring(schedule& s, view v, const_octets mine, octets all) {
  const std::size_t bytes = mine.size();
  s.copy(block(all, bytes, v.rank), mine);
  for (int i = 0; i < v.size - 1; ++i) {
    s.send((v.rank + 1) % v.size, block(all, bytes, (v.rank - i + v.size) % v.size));
    s.recv((v.rank - 1 + v.size) % v.size, block(all, bytes, (v.rank - i - 1 + v.size) % v.size));
    s.settle();
  }
}

void all_gather_linear(schedule& s, view v, const_octets mine, octets all) {
  for (int i = 1; i < v.size; ++i) {
    const int to = (v.rank + i) % v.size, from = (v.rank - i + v.size) % v.size;
    s.send(to, mine);
    s.recv(from, block(all, mine.size(), from));
  }
  s.copy(block(all, mine.size(), v.rank), mine);
  s.settle();
}

// Bruck's: in each round twice as many blocks go to a process twice as far away. `room` holds a
// block for each process, the own one first.
void all_gather_doubling(schedule& s, view v, const_octets mine, octets all, octets room) {
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

void all_to_all(schedule& s, view v, const_octets from, octets to, bool one_at_a_time) {
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

void scan_linear(schedule& s, view v, octets data, octets room, const combination& by) {
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

// `room` holds two: what is handed on, and what comes.
void scan_doubling(schedule& s, view v, octets data, octets room, const combination& by) {
  const octets passed = room.first(data.size()), came = room.subspan(data.size());
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

}  // namespace

// --- The team ---

class team::state {
 public:
  explicit state(device& on) : device_(on), engine_(on.owner()) {}

  // fill(schedule, view) writes the steps; what it throws leaves nothing behind.
  template <class Fill>
  collective run(int root, Fill&& fill) {
    if (root < 0 || root >= device_.owner().process_count())
      throw error(
          formatted("root {} is no process: there are {}", root, device_.owner().process_count()));
    schedule& used = free_schedule();
    used.reset(number_++);
    fill(used, view{device_.owner().process(), device_.owner().process_count(), root});
    used.is_free = false;
    used.advance();
    return collective(&used);
  }
  [[nodiscard]] const runtime& owner() const noexcept { return device_.owner(); }

 private:
  schedule& free_schedule() {
    for (auto& each : schedules_)
      if (each->is_free) return *each;
    return *schedules_.emplace_back(std::make_unique<schedule>(device_, engine_.index()));
  }

  device& device_;
  matching_engine engine_;
  std::vector<std::unique_ptr<schedule>> schedules_;
  std::uint64_t number_ = 0;
};

team::team(device& on) : state_(std::make_unique<state>(on)) {}
team::~team() = default;
int team::rank() const noexcept {
  return state_->owner().process();
}
int team::size() const noexcept {
  return state_->owner().process_count();
}

collective::collective(collective&& other) noexcept
    : schedule_(std::exchange(other.schedule_, nullptr)) {}
collective::~collective() {
  if (schedule_ != nullptr) (void)wait();
}
bool collective::test() noexcept {
  if (schedule_->advance()) return true;
  schedule_->on().progress();
  return schedule_->advance();
}
outcome collective::wait() noexcept {
  back_off patience;  // Another process may need this core to go on.
  while (!test()) patience.wait();
  const outcome result = schedule_->result();
  std::exchange(schedule_, nullptr)->is_free = true;
  return result;
}

collective team::barrier(algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    switch (how) {
      case algorithm::automatic:
      case algorithm::doubling:
        dissemination(s, v);
        break;
      case algorithm::tree: {
        const combination nothing{1, [](void*, const void*, std::size_t) noexcept {}};
        reduce_tree(s, v, {}, {}, nothing);
        broadcast_tree(s, v, {});
        break;
      }
      default:
        refuse("barrier", how);
    }
  });
}

collective team::broadcast(octets data, int root, algorithm how) {
  return state_->run(root, [&](schedule& s, view v) {
    if (how == algorithm::automatic)
      how = data.size() >= 4 * long_bytes_min && v.size > 2 ? algorithm::ring : algorithm::tree;
    switch (how) {
      case algorithm::tree:
        broadcast_tree(s, v, data);
        break;
      case algorithm::linear:
        broadcast_linear(s, v, data);
        break;
      case algorithm::ring:
        broadcast_ring(s, v, data);
        break;
      default:
        refuse("broadcast", how);
    }
  });
}

collective team::reduce(octets data, const combination& by, int root, algorithm how) {
  return state_->run(root, [&](schedule& s, view v) {
    const octets room = s.scratch(2 * data.size());
    switch (how) {
      case algorithm::automatic:
      case algorithm::tree:
        reduce_tree(s, v, data, room.first(data.size()), by);
        break;
      case algorithm::linear:
        reduce_linear(s, v, data, room, by);
        break;
      default:
        refuse("reduce", how);
    }
  });
}

collective team::all_reduce(octets data, const combination& by, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    const octets room = s.scratch(2 * data.size());
    if (how == algorithm::automatic)
      how = data.size() >= long_bytes_min ? algorithm::ring : algorithm::doubling;
    switch (how) {
      case algorithm::doubling:
        all_reduce_doubling(s, v, data, room.first(data.size()), by);
        break;
      case algorithm::ring:
        all_reduce_ring(s, v, data, room, by);
        break;
      case algorithm::tree:
        reduce_tree(s, v, data, room.first(data.size()), by);
        broadcast_tree(s, v, data);
        break;
      case algorithm::linear:
        reduce_linear(s, v, data, room, by);
        broadcast_linear(s, v, data);
        break;
      case algorithm::automatic:
        break;
    }
  });
}

collective team::gather(const_octets mine, octets all, int root, algorithm how) {
  return state_->run(root, [&](schedule& s, view v) {
    if (how == algorithm::automatic)
      how = mine.size() <= 1024 && v.size > 8 ? algorithm::tree : algorithm::linear;
    switch (how) {
      case algorithm::linear:
        gather_linear(s, v, mine, all);
        break;
      case algorithm::tree:
        gather_tree(s, v, mine, all, s.scratch(mine.size() * static_cast<std::size_t>(v.size)));
        break;
      default:
        refuse("gather", how);
    }
  });
}

collective team::all_gather(const_octets mine, octets all, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    if (how == algorithm::automatic)
      how = mine.size() >= 1024 ? algorithm::ring : algorithm::doubling;
    switch (how) {
      case algorithm::ring:
        all_gather_ring(s, v, mine, all);
        break;
      case algorithm::doubling:
        all_gather_doubling(s, v, mine, all,
                            s.scratch(mine.size() * static_cast<std::size_t>(v.size)));
        break;
      case algorithm::linear:
        all_gather_linear(s, v, mine, all);
        break;
      default:
        refuse("all_gather", how);
    }
  });
}

collective team::all_to_all(const_octets from, octets to, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    switch (how) {
      case algorithm::automatic:
      case algorithm::linear:
        comm::all_to_all(s, v, from, to, false);
        break;
      case algorithm::ring:
        comm::all_to_all(s, v, from, to, true);
        break;
      default:
        refuse("all_to_all", how);
    }
  });
}

collective team::reduce_scatter(const_octets from, octets mine, const combination& by,
                                algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    const octets room = s.scratch(3 * from.size());
    const octets data = room.first(from.size()), rest = room.subspan(from.size());
    s.copy(data, from);
    switch (how) {
      case algorithm::automatic:
      case algorithm::ring: {
        // The ring ends with share (rank + 1) % n, so begin as if this were the process before.
        const shares cut{from.size() / by.element_bytes, by.element_bytes, v.size};
        for (int i = 0; i < v.size - 1; ++i) {
          const int out = (v.rank - i - 1 + v.size) % v.size;
          const int in = (v.rank - i - 2 + 2 * v.size) % v.size;
          const octets part = rest.first(cut.of(data, in).size());
          s.send((v.rank + 1) % v.size, cut.of(data, out));
          s.recv((v.rank - 1 + v.size) % v.size, part);
          s.settle();
          s.combine(by, cut.of(data, in), part);
        }
        s.copy(mine, block(data, mine.size(), v.rank));
        break;
      }
      case algorithm::linear:
        reduce_linear(s, v, data, rest, by);
        if (v.rank == 0) {
          for (int i = 1; i < v.size; ++i) s.send(i, block(data, mine.size(), i));
          s.copy(mine, data.first(mine.size()));
        } else {
          s.recv(0, mine);
        }
        s.settle();
        break;
      default:
        refuse("reduce_scatter", how);
    }
  });
}

collective team::scan(octets data, const combination& by, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    const octets room = s.scratch(2 * data.size());
    switch (how) {
      case algorithm::automatic:
      case algorithm::doubling:
        scan_doubling(s, v, data, room, by);
        break;
      case algorithm::linear:
        scan_linear(s, v, data, room.first(data.size()), by);
        break;
      default:
        refuse("scan", how);
    }
  });
}

}  // namespace weft::comm
