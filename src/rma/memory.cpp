#include "rma/memory.hpp"

#include <algorithm>

#include "remote/port.hpp"
#include "rma/far.hpp"
#include "rma/shared_statics.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

std::unique_ptr<detail::face_job> begin_process(detail::job& j, detail::handler_numbers& handlers) {
  return std::make_unique<memory>(j, handlers);
}
constexpr detail::face as_face{face_slot, "memory", {}, &begin_process};
[[maybe_unused]] const std::size_t registered = detail::register_face(as_face);

}  // namespace

memory::memory(detail::job& j, detail::handler_numbers& numbers)
    : job_(j),
      between_(numbers.between()),
      watches_(j.places.size(), &never_asleep_),
      signs_of_(j.places.size(), nullptr),
      locks_of_(j.places.size(), nullptr),
      initiators_(j.places.size()) {
  std::map<int, std::size_t> next;
  for (const detail::rank_place& place : j.places) indices_.push_back(next[place.process]++);
  if (between_ != nullptr) names_ = far_operations::add_handlers(numbers, *this);
}

memory::~memory() {
  if (!moved_.empty()) forget_statics_in(globals_->own().address().descriptor);
}

void memory::begin() {
  const std::lock_guard hold(lock_);
  if (own_) return;
  own_.emplace(static_cast<std::size_t>(job_.workers->worker_count()), job_.ranks.size(),
               between_ != nullptr);
  if (between_ != nullptr) between_->start_progress();
  for (const auto& r : job_.ranks) {
    const auto number = static_cast<std::size_t>(r->number);
    signs_of_[number] = &*own_;
    locks_of_[number] = &own_->locks(indices_[number]);
    watches_[number] = &own_->watch(static_cast<std::size_t>(r->home->index()));
  }
}

bool memory::meet(int process, const signs_address& at) {
  if (process == job_.process) return true;
  const auto node_of = [&](int p) { return job_.node_of_process[static_cast<std::size_t>(p)]; };
  if (node_of(process) != node_of(job_.process)) return false;
  const std::lock_guard hold(lock_);
  const auto [found, is_new] = others_.try_emplace(process);
  std::optional<signs>& there = found->second;
  if (!is_new) return there.has_value();
  // How many ranks it has follows from what this process knows; the number of its workers alone is the other's.
  const auto ranks = std::ranges::count(job_.places, process, &detail::rank_place::process);
  if (auto opened = signs::open(at, static_cast<std::size_t>(ranks)))
    there.emplace(std::move(*opened));
  if (!there) return false;
  if (own_->has_silent_writers().load(std::memory_order_relaxed) != 0)
    there->has_silent_writers().store(1, std::memory_order_relaxed);
  for (std::size_t rank = 0; rank < job_.places.size(); ++rank) {
    const detail::rank_place& place = job_.places[rank];
    if (place.process != process || static_cast<std::size_t>(place.worker) >= there->workers())
      continue;
    signs_of_[rank] = &*there;
    locks_of_[rank] = &there->locks(indices_[rank]);
    watches_[rank] = &there->watch(static_cast<std::size_t>(place.worker));
  }
  return true;
}

region_table& memory::add_table(int users) {
  const std::lock_guard hold(lock_);
  region_table& made = tables_.emplace_back();
  made.users = users;
  return made;
}

void memory::drop(region_table& table) noexcept {
  const std::lock_guard hold(lock_);
  if (--table.users != 0) return;
  tables_.remove_if([&](const region_table& one) { return &one == &table; });
}

bool memory::has_room(std::size_t bytes_of_each) const noexcept {
  std::size_t arenas = 1;  // The processes of a node map each other's.
  if (const auto& nodes = job_.node_of_process; between_ != nullptr && !nodes.empty())
    arenas = static_cast<std::size_t>(
        std::ranges::count(nodes, nodes[static_cast<std::size_t>(job_.process)]));
  const std::size_t bytes = arena::alignment + job_.ranks.size() * part_stride(bytes_of_each);
  return arena::has_room(bytes, between_ != nullptr, arenas);
}

std::shared_ptr<shared_parts> memory::parts_for_globals(std::size_t bytes_of_each) {
  const std::lock_guard hold(lock_);
  if (globals_ != nullptr) return globals_;
  const auto& nodes = job_.node_of_process;
  const bool is_alone =
      between_ == nullptr || nodes.empty() ||
      std::ranges::count(nodes, nodes[static_cast<std::size_t>(job_.process)]) < 2;
  // Others cannot be sure of an arena without a cookie.
  if (is_alone || own_->address().where.process == 0 || bytes_of_each == 0) return nullptr;
  try {
    globals_ = std::make_shared<shared_parts>(
        arena(arena::head_bytes + job_.ranks.size() * bytes_of_each, true));
    globals_bytes_ = bytes_of_each;
  } catch (const error&) {  // There is no room: others reach globals by messages.
  }
  return globals_;
}

std::uint64_t memory::move_globals(const detail::rank_state& me, std::span<std::byte> segment,
                                   std::size_t room) {
  const std::lock_guard hold(lock_);
  if (const auto found = moved_.find(segment.data()); found != moved_.end()) return found->second;
  // Threads that ranks have made may write there meanwhile.
  if (globals_ == nullptr || globals_->own().address().process == 0 ||
      job_.workers->has_attached_threads() || room + bytes_of_pages(segment) > globals_bytes_)
    return 0;
  const std::uint64_t first_page =
      arena::head_bytes + indices_[static_cast<std::size_t>(me.number)] * globals_bytes_ + room;
  // Threads that it makes later fork for the rank, too.
  const detail::job_rank* const owner = me.statics.empty() ? nullptr : &me;
  if (!move_statics(segment, globals_->own().address().descriptor, first_page, owner)) return 0;
  const std::uint64_t at = first_page + offset_in_page(segment.data());
  moved_.emplace(segment.data(), at);
  return at;
}

void memory::add(initiator& one) {
  // A message for the rank may come as soon as the rank has told anybody of a part.
  initiators_[static_cast<std::size_t>(one.rank().number)].publish(&one);
}
void memory::remove(const initiator& one) noexcept {
  initiators_[static_cast<std::size_t>(one.rank().number)].reset(nullptr);
}

writer_mark* memory::mark_of(int rank, std::uint64_t word) const noexcept {
  const auto number = static_cast<std::size_t>(rank);
  const signs* const there = signs_of_[number];
  return there != nullptr ? &there->mark(indices_[number], word) : nullptr;
}

bool memory::is_gone(worker& here, int process) const noexcept {
  return between_ != nullptr && process != job_.process && process >= 0 &&
         !remote::port::of(here).is_alive(process);
}

std::vector<int> memory::note_silent_writers() {
  const std::lock_guard hold(lock_);
  own_->has_silent_writers().store(1, std::memory_order_relaxed);
  for (const auto& [process, other] : others_)
    if (other) other->has_silent_writers().store(1, std::memory_order_relaxed);
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < signs_of_.size(); ++rank)
    if (signs_of_[rank] != nullptr) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

bool memory::end_operations_with_dead(worker& here) {
  bool any = false;
  for (const auto& r : job_.ranks) {
    if (r->home != &here) continue;
    initiator* const one = initiator_of(*r);
    if (one != nullptr && one->far_ != nullptr) any |= one->far_->end_operations_with_dead();
  }
  return any;
}

}  // namespace weft::rma
