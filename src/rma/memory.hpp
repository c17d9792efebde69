// What the ranks of one process share of a job's memory: where the regions of all ranks lie that are reached from
// here, and the messages for the others. One per process and job; made with the job, empty until a rank attaches.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "job/face.hpp"
#include "rank/state.hpp"
#include "rma/arena.hpp"
#include "rma/initiator.hpp"
#include "runtime/network.hpp"
#include "sync/published.hpp"

namespace weft::rma {

class memory final : public detail::face_job {
 public:
  memory(detail::job& j, detail::face_handlers& handlers);
  [[nodiscard]] static memory& of(const detail::rank_state& me) noexcept {
    return static_cast<memory&>(*me.of->faces[face_slot]);
  }

  // --- Called by each rank of this process when it attaches ---------------------------------------
  // The first makes the arena; throws weft::error, also when ranks want different sizes.
  void make_arena(std::size_t heap_bytes);
  // All arenas, by rank of the job. The first rank of this process maps those of the node.
  void open_others(const detail::rank_state& me, const std::vector<arena_address>& of_ranks);
  [[nodiscard]] const arena& own() const noexcept { return *own_; }
  // A place in the heaps of the process: the number of the rank among those of the process.
  [[nodiscard]] std::size_t place_of(int rank) const noexcept {
    return places_[static_cast<std::size_t>(rank)];
  }
  void add(initiator& one);
  void remove(const initiator& one) noexcept;
  // Where region `number` of each rank lies; made when it is first asked for.
  [[nodiscard]] std::byte** bases(int number);
  [[nodiscard]] memory_watch<>* const* watches() const noexcept { return watches_.data(); }

  // --- Called by any rank's worker ----------------------------------------------------------------
  [[nodiscard]] detail::job& job() const noexcept { return job_; }
  [[nodiscard]] network* between() const noexcept { return between_; }
  // Null: of another process, or it has not attached.
  [[nodiscard]] initiator* initiator_of(std::uint64_t rank) const noexcept {
    return rank < initiators_.size() ? initiators_[rank].value() : nullptr;
  }
  [[nodiscard]] comm::address address_of(int rank) const noexcept {
    const detail::rank_place& there = job_.places[static_cast<std::size_t>(rank)];
    return {there.process, there.worker};
  }
  // In this process and in all whose heaps are mapped here. Whoever sleeps there has to be woken afterwards.
  void note_silent_writers() noexcept;

  // The names of messages between processes; what they say stands in far.cpp.
  struct names {
    comm::handler_id put, get, update, flush, answer, look, gathered;
  };
  [[nodiscard]] const names& messages() const noexcept { return names_; }

  bool end_operations_with_dead(worker& here) override;

 private:
  detail::job& job_;
  network* const between_;
  names names_;
  std::vector<std::size_t> places_;  // By rank of the job, in its own process.
  std::mutex lock_;
  std::optional<arena> own_;
  std::vector<arena> others_;
  bool has_opened_others_ = false;
  std::array<std::unique_ptr<std::byte*[]>, regions_max> bases_;
  std::vector<memory_watch<>*> watches_;
  memory_watch<> nobody_;  // Of ranks that are not reached by stores: never asleep.
  std::vector<published<initiator*>> initiators_;  // By rank of the job.
};

}  // namespace weft::rma
