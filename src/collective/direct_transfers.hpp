// Data that subgroups read from, and write to, each other's memory, without a question: in a meeting each subgroup tells
// each other one where its memory lies, then all read and write, and in a second meeting each tells each other that it
// has. For subgroups whose processes share a node. docs/protocols/collectives.md says why nobody leaves while others use its memory.
//
// Called on the home worker of the leader.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "collective/subgroups_meeting.hpp"
#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"
#include "weft/peer_access.hpp"

namespace weft::detail {

// What one subgroup tells another: the memory that it has opened to it, in an order that both know.
class opened_memory {
 public:
  static constexpr std::size_t regions_max = small_bytes_max / sizeof(comm::remote_memory);

  opened_memory(communicator_state& c, int subgroup);
  void add(std::span<const std::byte> memory, peer_access peers);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return std::as_bytes(std::span(regions_.data(), count_));
  }

 private:
  communicator_state& c_;
  const int process_;
  std::size_t count_ = 0;
  std::array<comm::remote_memory, regions_max> regions_;
};

class direct_transfers {
 public:
  // Each tells each: with more subgroups the meetings cost more than they save.
  static constexpr std::size_t subgroups_max = 16;
  // From here on a copy by the kernel takes less than two through a ring.
  static constexpr std::size_t part_bytes_min = 16 * 1024;

  direct_transfers(communicator_state& c, const collective_call& call, int rank,
                   const wait_description& what) noexcept
      : c_(c), call_(call), rank_(rank), what_(what) {}

  // Whether all subgroups reach each other's memory: the same answer in all. They meet to find out, the first time.
  [[nodiscard]] bool reach();
  // The first meeting. `open(subgroup, opened_memory&)` opens what that subgroup will read or write. `written`: others
  // write to memory of this subgroup. `meetings_within`: how many times run() will call meet_again().
  template <class Open>
  void meet(const Open& open, bool written, int meetings_within = 0) {
    meetings_left_ = meetings_within;
    try {
      subgroups_meeting now(c_, call_, rank_, what_);
      meetings().opened_in = meetings().sequence;
      for_each_other([&](int subgroup) {
        opened_memory opened(c_, subgroup);
        open(subgroup, opened);
        now.say(subgroup, opened.bytes());
      });
      for_each_other([&](int subgroup) { static_cast<void>(now.hear(subgroup)); });
      // Relaxed: this worker sets it. Nobody begins to write once it is told: see leave().
      if (c_.cut_off.load(std::memory_order_relaxed)) [[unlikely]]
        throw_failed(c_, call_.name);
      note_opened();
      // The leader may go on later, in a fiber of its own: until then nobody here leaves either.
      // Relaxed: nobody here is past this meeting yet.
      std::atomic_ref(c_.at(c_.local()[0]).moving).store(true, std::memory_order_relaxed);
    } catch (const job_stopped&) {
      throw;
    } catch (...) {
      leave(written);
      throw;
    }
  }
  // Between memory here and the bytes at `offset` of the region that the subgroup has opened to this one.
  void read(int subgroup, std::size_t region, std::size_t offset, std::span<std::byte> into);
  void write(int subgroup, std::size_t region, std::size_t offset, std::span<const std::byte> from);
  // A meeting within run(): all have read and written what they do before it. All come, also those that have failed.
  void meet_again();
  // Returns when what was begun to be read and written has been.
  void wait();
  // Waits for reads and writes, and tells the others that they have ended, or throws why they have not: then, too, the
  // others know, and none of them uses memory of this subgroup any more. `work` reads and writes, and calls meet_again()
  // so many times.
  template <class Work>
  void run(const Work& work, int meetings_within = 0) {
    meetings_left_ = meetings_within;
    try {
      work();
      wait();
    } catch (const job_stopped&) {
      throw;
    } catch (const another_has_failed&) {
      leave_run();
      throw_of_another();
    } catch (...) {
      leave_run();
      throw;
    }
    tell_ended(false);
  }
  // Returns when all others have told the same; throws when one of them has failed.
  void end();

 private:
  struct another_has_failed {};

  template <class Visit>
  void for_each_other(const Visit& visit) {
    const int count = static_cast<int>(c_.subgroups.size());
    for (int step = 1; step < count; ++step) visit((c_.here + step) % count);
  }
  [[nodiscard]] subgroup_meetings& meetings() const { return c_.of.subgroups->meetings_of(c_); }
  [[nodiscard]] int process_of(int subgroup) const noexcept {
    return c_.subgroups[static_cast<std::size_t>(subgroup)].process;
  }
  [[nodiscard]] rank_state& leader() const noexcept { return *c_.at(c_.local()[0]).rank; }
  // Nothing: it has not told of so many.
  [[nodiscard]] std::optional<comm::remote_memory> region_of(int subgroup, std::size_t index) const;
  void note_opened() const;
  [[nodiscard]] bool is_dead(int subgroup) const noexcept;
  [[gnu::cold]] void leave(bool written);
  // Starts a get or a put, whose field `there` is for the other side.
  template <class Transfer, class Bytes>
  void start(comm::remote_memory Transfer::*there, int subgroup, std::size_t region,
             std::size_t offset, Bytes bytes);
  // Others use memory of this subgroup until `holds()`. So nothing else ends the wait but the end of the job, by which
  // time all use of memory has ended.
  template <class Holds>
  void wait_for(const Holds& holds);
  void wait_for_own();
  static void on_ended(void* of, const comm::event& happened) noexcept;
  void tell_ended(bool failed);
  [[gnu::cold]] void leave_run();
  [[noreturn, gnu::cold]] void throw_of_another();
  // Until all others have told that they have ended, or are dead. True: none has failed.
  bool wait_for_others();

  communicator_state& c_;
  const collective_call& call_;
  const int rank_;
  const wait_description& what_;
  std::size_t pending_ = 0;
  int meetings_left_ = 0;  // Calls of meet_again() to come.
  bool failed_ = false;
};

}  // namespace weft::detail
