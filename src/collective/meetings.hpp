// Where the subgroups of a communicator meet. In a meeting a leader sends active messages to the workers of other
// leaders. The receiving worker keeps each in a slot until its leader looks. There are two slots for each sender, used
// by turns: a subgroup begins meeting s + 2 after all have begun s + 1, and so have read slot s. A message may come
// before this process has made the communicator.
//
// Everything is called on the leader's worker.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rank/communicator_state.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::detail {

// A collective_call as it travels between subgroups, which compare their calls.
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
// Compares the call of another subgroup with the call of `rank` here; throws weft::error when they differ.
void check_call(communicator_state& c, call_on_wire& theirs, int rank, const collective_call& mine);

// What one subgroup sent in one meeting.
struct meeting_slot {
  std::uint32_t sequence = 0;  // The number of the meeting, modulo 2^32.
  std::uint32_t size = 0;      // Of the data.
  std::uint64_t digest = 0;    // digest_of() its call.
  alignas(64) std::byte data[small_bytes_max];
};

struct subgroup_meetings {
  struct other {
    int process = 0;
    std::uint32_t opened_bytes = 0;  // Said in the meeting `opened_in`.
    std::array<meeting_slot, 2> said;
  };
  struct begun {
    std::uint32_t sequence = 0;
    collective_call call;
    int rank = -1;
  };
  // One step of a meeting without data: a message to a subgroup, or one from it.
  struct step {
    int subgroup = -1;
    const peer* to = nullptr;  // Set in a step that sends: the leader there.
    comm::am word{};           // The message to it.
    other* from = nullptr;     // Set in a step that receives.
  };

  [[nodiscard]] other& of(int process);
  // Null when no message of that process has come, and none was waited for.
  [[nodiscard]] other* find(int process) noexcept {
    // The logarithm of the number of subgroups, or a few that tell each other directly.
    for (const auto& each : others_)
      if (each->process == process) return each.get();
    return nullptr;
  }
  // A hash of the call, to be compared in meetings. The last one is kept: most calls are the same as the one before.
  [[nodiscard]] std::uint64_t digest_of(const collective_call& call) noexcept {
    if (call.is_surely(digested_) && call.same_size == digested_.same_size) [[likely]]
      return digest_;
    return make_digest(call);
  }

  rank_state* leader = nullptr;  // The leader here; null before its first meeting.
  std::uint32_t sequence = 0;    // The last meeting that it began.
  std::array<begun, 2> mine;     // Its last two meetings, for subgroups that ask.
  std::vector<step> steps;       // The same in each meeting; made in the first.
  bool is_known = false;         // This process has made the communicator.
  std::optional<bool>
      reaches;  // Whether all subgroups reach each other's memory; nothing: not asked yet.
  std::vector<comm::registered_memory> open;  // To other subgroups, for direct_transfers.
  std::uint32_t opened_in = 0;                // The meeting in which all told where it lies.

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

// The key of a communicator's meetings: its context and the number in the world of the leader here.
[[nodiscard]] constexpr std::uint64_t meeting_name(std::uint32_t context, int leader) noexcept {
  return std::uint64_t{context} << 32 | static_cast<std::uint32_t>(leader);
}

// The meetings of all communicators whose leaders are at home on one worker.
class meeting_table {
 public:
  // Null when there is none.
  [[nodiscard]] subgroup_meetings* find(std::uint64_t name) noexcept {
    return is_last(name) ? last_ : look_up(name);
  }
  // Makes it when there is none. Null when too many communicators that this process does not know have messages
  // already.
  [[nodiscard]] subgroup_meetings* find_or_make(std::uint64_t name, int worker,
                                                communicator_list& listed) {
    return is_last(name) ? last_ : look_up_or_make(name, worker, listed);
  }
  // This process has made the communicator of `one`: drops what came from processes without ranks in it, and calls
  // `refuse(process)` for each.
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
