#include "rma/memory.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "rma/far.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

std::unique_ptr<detail::face_job> begin(detail::job& j, detail::face_handlers& handlers) {
  return std::make_unique<memory>(j, handlers);
}
constexpr detail::face as_face{face_slot, "memory", {}, &begin};
[[maybe_unused]] const bool registered = detail::register_face(as_face);

}  // namespace

memory::memory(detail::job& j, detail::face_handlers& handlers)
    : job_(j),
      between_(handlers.between()),
      watches_(j.places.size(), &nobody_),
      initiators_(j.places.size()) {
  std::map<int, std::size_t> next;
  for (const detail::rank_place& place : j.places) places_.push_back(next[place.process]++);
  if (between_ != nullptr) names_ = far_operations::add_handlers(handlers, *this);
}

void memory::make_arena(std::size_t heap_bytes) {
  const std::lock_guard hold(lock_);
  if (own_) {
    if (own_->address().layout.heap_bytes != heap_bytes)
      throw error(formatted(
          "ranks ask for symmetric heaps of {} and of {} bytes: all must ask for the same",
          own_->address().layout.heap_bytes, heap_bytes));
    return;
  }
  own_.emplace(arena_layout{static_cast<std::uint32_t>(job_.workers->worker_count()),
                            static_cast<std::uint32_t>(job_.ranks.size()), heap_bytes},
               between_ != nullptr);
  if (between_ != nullptr) between_->start_progress();
  bases_[0] = std::make_unique<std::byte*[]>(job_.places.size());
  for (const auto& r : job_.ranks) {
    const auto number = static_cast<std::size_t>(r->number);
    bases_[0][number] = own_->heap(places_[number]);
    watches_[number] = &own_->watch(static_cast<std::size_t>(r->home->index()));
  }
}

void memory::open_others(const detail::rank_state& me, const std::vector<arena_address>& of_ranks) {
  const std::lock_guard hold(lock_);
  if (std::exchange(has_opened_others_, true)) return;
  const auto node_of = [&](int process) {
    return job_.node_of_process[static_cast<std::size_t>(process)];
  };
  std::map<int, const arena*> of_process;
  others_.reserve(job_.node_of_process.size());
  for (std::size_t rank = 0; rank < job_.places.size(); ++rank) {
    const detail::rank_place& there = job_.places[rank];
    if (there.process == job_.process || node_of(there.process) != node_of(job_.process)) continue;
    if (!of_process.contains(there.process)) {
      const arena_address& at = of_ranks[rank];
      const arena*& mapped = of_process[there.process];
      // What it must be follows from what this process knows; the number of its workers alone is the other's.
      const auto ranks =
          std::ranges::count(job_.places, there.process, &detail::rank_place::process);
      if (at.layout.heap_bytes != own_->address().layout.heap_bytes)
        throw error(formatted(
            "rank {} asks for a symmetric heap of {} bytes and rank {} for one of {}: all must "
            "ask for the same",
            me.number, own_->address().layout.heap_bytes, rank, at.layout.heap_bytes));
      if (at.layout.ranks != static_cast<std::uint32_t>(ranks) || at.layout.workers > workers_max)
        continue;
      if (auto opened = arena::open(at)) mapped = &others_.emplace_back(std::move(*opened));
    }
    const arena* const where = of_process[there.process];
    if (where == nullptr ||
        static_cast<std::uint32_t>(there.worker) >= where->address().layout.workers)
      continue;
    bases_[0][rank] = where->heap(places_[rank]);
    watches_[rank] = &where->watch(static_cast<std::size_t>(there.worker));
  }
}

void memory::add(initiator& one) {
  // What a message for it needs is there; it comes after the barrier of attach(), but from whom is not known.
  initiators_[static_cast<std::size_t>(one.rank().number)].publish(&one);
}
void memory::remove(const initiator& one) noexcept {
  initiators_[static_cast<std::size_t>(one.rank().number)].reset(nullptr);
}

std::byte** memory::bases(int number) {
  const std::lock_guard hold(lock_);
  auto& table = bases_[static_cast<std::size_t>(number)];
  if (table == nullptr) table = std::make_unique<std::byte*[]>(job_.places.size());
  return table.get();
}

void memory::note_silent_writers() noexcept {
  own_->has_silent_writers().store(1, std::memory_order_relaxed);
  for (const arena& other : others_) other.has_silent_writers().store(1, std::memory_order_relaxed);
}

bool memory::end_operations_with_dead(worker& here) {
  bool any = false;
  for (const auto& r : job_.ranks) {
    if (r->home != &here) continue;
    initiator* const one = initiator_of(static_cast<std::uint64_t>(r->number));
    if (one != nullptr && one->far_ != nullptr) any |= one->far_->end_operations_with_dead();
  }
  return any;
}

}  // namespace weft::rma
