// What the ranks of one process share of a job's memory: the signs of this process and of those that are mapped here, the
// tables of regions, and the names of messages for the others. Each process and job has one, made with the job.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "job/face.hpp"
#include "rank/state.hpp"
#include "rma/element_update.hpp"
#include "rma/initiator.hpp"
#include "rma/region.hpp"
#include "rma/shared_parts.hpp"
#include "rma/signs.hpp"
#include "runtime/network.hpp"
#include "sync/published.hpp"

namespace weft::rma {

class memory final : public detail::face_job {
 public:
  memory(detail::job& j, detail::handler_numbers& numbers);
  ~memory() override;
  [[nodiscard]] static memory& of(const detail::rank_state& me) noexcept {
    return static_cast<memory&>(*me.of->faces[face_slot]);
  }

  // --- A rank calls these when it attaches, and when it makes or releases a region -----------------
  // The first call makes the signs of this process; throws weft::error when there is no room for them.
  void begin();
  void add(initiator& one);
  void remove(const initiator& one) noexcept;
  [[nodiscard]] const signs& own_signs() const noexcept { return *own_; }
  // Whether ranks of this process reach signs of that one; the first call maps them.
  [[nodiscard]] bool meet(int process, const signs_address& at);
  // Adds a table for so many ranks of the process.
  [[nodiscard]] region_table& add_table(int users);
  // One of its users has released the region. The last call ends the table.
  void drop(region_table& table) noexcept;
  // Whether this process has room for parts of so many bytes for each of its ranks.
  [[nodiscard]] bool has_room(std::size_t bytes_of_each) const noexcept;

  // Returns the memory into which globals are moved, with so many bytes for each rank of the process; the first call makes
  // it. Null: no other process could map it.
  [[nodiscard]] std::shared_ptr<shared_parts> parts_for_globals(std::size_t bytes_of_each);
  // Moves a segment of the rank's globals there, behind `room` bytes of others of the rank. Returns how far it lies behind
  // the arena's begin. 0: it stays where it is, and others reach it by messages.
  [[nodiscard]] std::uint64_t move_globals(const detail::rank_state& me,
                                           std::span<std::byte> segment, std::size_t room);

  // --- Any rank's worker calls these --------------------------------------------------------------
  [[nodiscard]] detail::job& job() const noexcept { return job_; }
  [[nodiscard]] network* between() const noexcept { return between_; }
  // The sign of each rank's worker, by rank of the job.
  [[nodiscard]] memory_watch<>* const* watches() const noexcept { return watches_.data(); }
  // Null: the rank has not attached.
  [[nodiscard]] initiator* initiator_of(const detail::job_rank& rank) const noexcept {
    return initiators_[static_cast<std::size_t>(rank.number)].value();
  }
  [[nodiscard]] comm::address address_of(int rank) const noexcept {
    const detail::rank_place& there = job_.places[static_cast<std::size_t>(rank)];
    return {there.process, there.worker};
  }
  // Whether stores of this process reach regions of that rank, where they are mapped.
  [[nodiscard]] bool may_reach(int rank) const noexcept {
    return signs_of_[static_cast<std::size_t>(rank)] != nullptr;
  }
  // Changes elements of that rank's memory, which begin at `at`, so many bytes behind the begin of a part. Called by `here`,
  // or by the progress worker in its place. The rank's signs are reached.
  void change_elements(worker& here, int rank, std::uint64_t offset, std::byte* at,
                       const element_update& what, const std::byte* operand, std::byte* old,
                       std::size_t count) noexcept {
    locks_of_[static_cast<std::size_t>(rank)]->change(
        own_number_in_lock(), offset, at, what, operand, old, count, dead_holder{*this, here});
  }
  void change_element(worker& here, int rank, std::uint64_t offset, std::byte* at,
                      const element_update& what, const std::byte* operand,
                      std::byte* old) noexcept {
    locks_of_[static_cast<std::size_t>(rank)]->change_one(own_number_in_lock(), offset, at, what,
                                                          operand, old, dead_holder{*this, here});
  }
  // Null where no mark of that rank is reached.
  [[nodiscard]] writer_mark* mark_of(int rank, std::uint64_t word) const noexcept;
  // Says so in this process and in all whose signs are mapped here. Returns their ranks, which the caller wakes then.
  [[nodiscard]] std::vector<int> note_silent_writers();

  // The names of messages between processes; what they say stands in far.cpp.
  struct names {
    comm::handler_id put, get, update, flush, answer, look, gathered, elements;
  };
  [[nodiscard]] const names& messages() const noexcept { return names_; }

  bool end_operations_with_dead(worker& here) override;

 private:
  // A process's number counts from 1 in a lock.
  [[nodiscard]] std::uint32_t own_number_in_lock() const noexcept {
    return static_cast<std::uint32_t>(job_.process) + 1;
  }
  // Whether the process that has a lock has died.
  struct dead_holder {
    const memory& of;
    worker& here;
    [[nodiscard]] bool operator()(std::uint32_t holder) const noexcept {
      return of.is_gone(here, static_cast<int>(holder) - 1);
    }
  };
  // A process that has died with a lock will not give it.
  [[nodiscard]] bool is_gone(worker& here, int process) const noexcept;

  detail::job& job_;
  network* const between_;
  names names_;
  std::vector<std::size_t>
      indices_;  // Each rank's index among those of its process, by rank of the job.
  std::vector<memory_watch<>*> watches_;
  std::vector<const signs*> signs_of_;    // Those of each rank's process; null: not reached.
  std::vector<element_locks*> locks_of_;  // Each rank's, among them.
  memory_watch<> never_asleep_;           // Stands for ranks that stores do not reach.
  std::vector<published<initiator*>> initiators_;  // Those of this process, by rank of the job.

  std::mutex lock_;  // Guards what follows.
  std::optional<signs> own_;
  std::map<int, std::optional<signs>>
      others_;  // A process whose signs cannot be mapped has nothing.
  std::list<region_table> tables_;
  std::shared_ptr<shared_parts> globals_;
  std::size_t globals_bytes_ = 0;  // Each rank has so many.
  // Segments of this process that have been moved, by address: how far they lie behind the arena's begin.
  std::map<const std::byte*, std::uint64_t> moved_;
};

}  // namespace weft::rma
