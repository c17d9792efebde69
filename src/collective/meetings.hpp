// Where the subgroups of a communicator meet: what one says to another in a meeting is an active message
// to the leader's worker, which keeps it until the leader looks. Like a dropbox it has two places,
// used in turn: a subgroup begins meeting s + 2 after all have begun s + 1, and so have read what it said
// in s. A message may come before this process has made the communicator.
//
// Everything is called on the leader's worker.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rank/communicator_state.hpp"

namespace weft::detail {

// A call as it travels, so that those that differ are found.
struct call_on_wire {
  char name[32] = {};
  std::uint64_t bytes = 0;
  std::uint64_t history = 0;
  std::int32_t root = no_root;
  std::int32_t rank = -1;
  std::uint32_t same_size = 1;
  combination combines;
  std::uint16_t unused = 0;
};
[[nodiscard]] call_on_wire on_wire(const collective_call& call, int rank) noexcept;
// Compares that of another subgroup with the call of `rank` here; throws when they differ.
void check_call(communicator_state& c, call_on_wire& theirs, int rank, const collective_call& mine);

// Meetings are counted modulo 2^32.
struct meeting_slot {
  std::uint32_t sequence = 0;
  std::uint64_t digest = 0;  // Of the call.
  alignas(64) std::byte data[small_bytes_max];
};

struct subgroup_meetings {
  struct other {
    int process = 0;
    std::array<meeting_slot, 2> said;
  };
  struct begun {
    std::uint32_t sequence = 0;
    collective_call call;
    int rank = -1;
  };
  // Of a meeting without data: to a subgroup, or from one.
  struct step {
    int subgroup = -1;
    const peer* to = nullptr;  // Its leader.
    comm::am word{};           // For it.
    other* from = nullptr;
  };
  // What a subgroup says when it is asked for its call: the name is empty when it has forgotten it.
  struct call_answer {
    int process = -1;  // That was asked.
    std::uint32_t sequence = 0;
    call_on_wire call;
  };

  [[nodiscard]] other& of(int process);
  // Null when nothing has been said by that process, nor was waited for.
  [[nodiscard]] other* find(int process) noexcept {
    for (const auto& each : others_)  // As many as the logarithm of the subgroups.
      if (each->process == process) return each.get();
    return nullptr;
  }
  // One number for the call; made anew only for another one.
  [[nodiscard]] std::uint64_t digest_of(const collective_call& call) noexcept {
    if (call.is_surely(digested_) && call.same_size == digested_.same_size) [[likely]]
      return digest_;
    return make_digest(call);
  }

  rank_state* leader = nullptr;  // Of the subgroup here; null until this process has met there.
  std::uint32_t sequence = 0;
  std::array<begun, 2> mine;
  std::vector<step> steps;  // The same in each; none before the first.
  call_answer answer;
  bool is_known = false;  // This process has made the communicator.

  template <class Refuse>
  void forget_others(const communicator_state& c, const Refuse& refuse) {
    std::erase_if(others_, [&](const auto& each) {
      if (c.has_ranks_in(each->process)) return false;
      refuse(each->process);
      return true;
    });
  }

 private:
  [[gnu::noinline]] std::uint64_t make_digest(const collective_call& call) noexcept;

  std::vector<std::unique_ptr<other>> others_;
  collective_call digested_{nullptr, no_root, true, 0};
  std::uint64_t digest_ = 0;
};

// Of a communicator and who leads its subgroup.
[[nodiscard]] constexpr std::uint64_t meeting_name(std::uint32_t context, int leader) noexcept {
  return std::uint64_t{context} << 32 | static_cast<std::uint32_t>(leader);
}

// Those of one worker.
class meeting_table {
 public:
  // Null when there is none.
  [[nodiscard]] subgroup_meetings* find(std::uint64_t name) noexcept {
    return is_last(name) ? last_ : look_up(name);
  }
  // Made when there is none; null when too many are unknown here.
  [[nodiscard]] subgroup_meetings* find_or_make(std::uint64_t name, int worker,
                                                communicator_list& listed) {
    return is_last(name) ? last_ : look_up_or_make(name, worker, listed);
  }
  // Calls `refuse(process)` for those who had something to say and are of no subgroup.
  template <class Refuse>
  void know(subgroup_meetings& one, const communicator_state& c, const Refuse& refuse) {
    if (std::exchange(one.is_known, true)) return;
    --unknown_;
    one.forget_others(c, refuse);
  }

 private:
  [[nodiscard]] bool is_last(std::uint64_t name) const noexcept {
    return last_ != nullptr && last_name_ == name;
  }
  [[nodiscard]] subgroup_meetings* look_up(std::uint64_t name) noexcept;
  [[nodiscard]] subgroup_meetings* look_up_or_make(std::uint64_t name, int worker,
                                                   communicator_list& listed);
  void forget_ended(int worker, communicator_list& listed);

  std::unordered_map<std::uint64_t, std::unique_ptr<subgroup_meetings>> by_name_;
  std::uint64_t last_name_ = 0;
  subgroup_meetings* last_ = nullptr;
  std::size_t unknown_ = 0;
};

}  // namespace weft::detail
