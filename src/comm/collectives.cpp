// A team's collective operations: the schedules that it keeps, and which algorithm each takes.
#include "weft/comm/collectives.hpp"

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "comm/algorithms.hpp"
#include "comm/far_memory.hpp"
#include "comm/spin_lock.hpp"
#include "weft/error.hpp"

namespace weft::comm {

namespace {

// From this size on, bandwidth counts more than the number of rounds.
constexpr std::size_t long_bytes_min = 64 * 1024;

[[nodiscard]] constexpr std::string_view name_of(algorithm how) {
  constexpr std::array<std::string_view, 5> names{"automatic", "linear", "tree", "ring",
                                                  "doubling"};
  return names[static_cast<std::size_t>(how)];
}

[[noreturn]] void refuse(const char* operation, algorithm how) {
  throw error(formatted("{} has no algorithm \"{}\"; docs/comm.md lists those it has", operation,
                        name_of(how)));
}

// `room` holds a block for each process.
void check_blocks(const char* operation, std::size_t room, std::size_t block_bytes, view v) {
  const std::size_t needed = block_bytes * static_cast<std::size_t>(v.size);
  if (room < needed)
    throw error(
        formatted("{} got {} bytes for the blocks of all; {} processes with {} bytes each need {}",
                  operation, room, v.size, block_bytes, needed));
}

void check_elements(const char* operation, std::size_t bytes, const combination& by) {
  if (by.element_bytes == 0 || by.combine == nullptr)
    throw error(formatted("{} got an empty combination; combination_of<T, Function>() makes one",
                          operation));
  if (bytes % by.element_bytes != 0)
    throw error(formatted("{} of {} bytes: give a multiple of {}, the size of an element",
                          operation, bytes, by.element_bytes));
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
  // Of an operation that combines data, which the processor does.
  void require_near(const char* operation, const_byte_span data) const {
    if (is_far(owner().options().accelerator, data.data()))
      throw error(
          formatted("{} combines {} bytes that lie in the memory of an accelerator ({}): "
                    "copy them to the processor's first",
                    operation, data.size(), owner().options().accelerator->name()));
  }

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

collective team::broadcast(byte_span data, int root, algorithm how) {
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

collective team::reduce(byte_span data, const combination& by, int root, algorithm how) {
  state_->require_near("reduce", data);
  return state_->run(root, [&](schedule& s, view v) {
    check_elements("reduce", data.size(), by);
    const byte_span room = s.scratch(2 * data.size());
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

collective team::all_reduce(byte_span data, const combination& by, algorithm how) {
  state_->require_near("all_reduce", data);
  return state_->run(0, [&](schedule& s, view v) {
    check_elements("all_reduce", data.size(), by);
    const byte_span room = s.scratch(2 * data.size());
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

collective team::gather(const_byte_span mine, byte_span all, int root, algorithm how) {
  return state_->run(root, [&](schedule& s, view v) {
    if (v.rank == v.root) check_blocks("gather", all.size(), mine.size(), v);
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

collective team::all_gather(const_byte_span mine, byte_span all, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    check_blocks("all_gather", all.size(), mine.size(), v);
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

collective team::all_to_all(const_byte_span from, byte_span to, algorithm how) {
  return state_->run(0, [&](schedule& s, view v) {
    if (from.size() % static_cast<std::size_t>(v.size) != 0)
      throw error(
          formatted("all_to_all of {} bytes: give a block of equal size for each of {} processes",
                    from.size(), v.size));
    check_blocks("all_to_all", to.size(), from.size() / static_cast<std::size_t>(v.size), v);
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

collective team::reduce_scatter(const_byte_span from, byte_span mine, const combination& by,
                                algorithm how) {
  state_->require_near("reduce_scatter", from);
  state_->require_near("reduce_scatter", mine);
  return state_->run(0, [&](schedule& s, view v) {
    check_elements("reduce_scatter", mine.size(), by);
    check_blocks("reduce_scatter", from.size(), mine.size(), v);
    const byte_span room = s.scratch(3 * from.size());
    const byte_span data = room.first(from.size()), rest = room.subspan(from.size());
    s.copy(data, from);
    switch (how) {
      case algorithm::automatic:
      case algorithm::ring:
        reduce_scatter_ring(s, v, data, rest, mine, by);
        break;
      case algorithm::linear:
        reduce_scatter_linear(s, v, data, rest, mine, by);
        break;
      default:
        refuse("reduce_scatter", how);
    }
  });
}

collective team::scan(byte_span data, const combination& by, algorithm how) {
  state_->require_near("scan", data);
  return state_->run(0, [&](schedule& s, view v) {
    check_elements("scan", data.size(), by);
    const byte_span room = s.scratch(2 * data.size());
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
