#include "rma/initiator.hpp"

#include <utility>

#include "base/format.hpp"
#include "rma/far.hpp"
#include "rma/memory.hpp"
#include "weft/communicator.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

constexpr std::size_t page_bytes = 4096;

communicator world_of(const detail::rank_state& me) {
  return communicator(me.shared->world, me.number);
}

}  // namespace

initiator::initiator(detail::rank_state& me, memory& shared, std::size_t heap_bytes)
    : watches_(shared.watches()),
      me_(me),
      shared_(shared),
      has_silent_writers_(shared.own().has_silent_writers()) {
  std::byte** const bases = shared.bases(0);
  regions_[0] = {reinterpret_cast<std::uintptr_t>(bases[me.number]), heap_bytes, bases};
  region_count_.publish(1);
  if (shared.between() != nullptr) far_ = std::make_unique<far_operations>(*this, shared);
  me.home->set_memory_watch(*watches_[me.number]);
  shared.add(*this);
}

initiator::~initiator() {
  shared_.remove(*this);
}

initiator& initiator::attach(detail::rank_state& me, std::size_t heap_bytes) {
  if (initiator* const existing = of(me); existing != nullptr) return *existing;
  heap_bytes = (heap_bytes + page_bytes - 1) / page_bytes * page_bytes;
  memory& shared = memory::of(me);
  shared.make_arena(heap_bytes);
  const communicator world = world_of(me);
  if (shared.between() != nullptr) {
    const arena_address mine = shared.own().address();
    std::vector<std::uint64_t> own_words(sizeof mine / sizeof(std::uint64_t));
    static_assert(sizeof mine % sizeof(std::uint64_t) == 0);
    std::memcpy(own_words.data(), &mine, sizeof mine);
    std::vector<std::uint64_t> words(own_words.size() * me.of->places.size());
    world.allgather(own_words, words);
    std::vector<arena_address> of_ranks(me.of->places.size());
    std::memcpy(static_cast<void*>(of_ranks.data()), words.data(),
                words.size() * sizeof(std::uint64_t));
    shared.open_others(me, of_ranks);
  }
  auto made = std::make_unique<initiator>(me, shared, heap_bytes);
  initiator& one = *made;
  me.faces[face_slot] = std::move(made);
  world.barrier();
  return one;
}

int initiator::expose(void* begin, std::size_t bytes) {
  if (region_count_.hint() == static_cast<int>(regions_max))
    throw error(
        formatted("rank {} exposes more than {} ranges of memory", me_.number, regions_max));
  const int number = region_count_.hint();
  const communicator world = world_of(me_);
  const std::vector<std::uint64_t> sizes = world.allgather(std::uint64_t{bytes});
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    if (sizes[rank] != bytes)
      throw error(formatted(
          "rank {} exposes {} bytes of memory as region {} and rank {} exposes {}: all must run the same program",
          me_.number, bytes, number, rank, sizes[rank]));
  std::byte** const bases = shared_.bases(number);
  bases[me_.number] = static_cast<std::byte*>(begin);
  regions_[number] = {reinterpret_cast<std::uintptr_t>(begin), bytes, bases};
  region_count_.publish(number + 1);
  world.barrier();
  return number;
}

void initiator::discard(std::span<std::byte> pages) noexcept {
  shared_.own().discard(pages);
}

std::byte* initiator::direct_elsewhere(const void* symmetric, std::size_t bytes,
                                       int rank) const noexcept {
  for (int i = 1; i < region_count_.hint(); ++i) {
    const region& r = regions_[i];
    if (!r.has(symmetric, bytes)) continue;
    std::byte* const base = r.bases[rank];
    return base != nullptr ? base + r.distance(symmetric) : nullptr;
  }
  return nullptr;
}

bool initiator::is_symmetric(const void* address, std::size_t bytes) const noexcept {
  for (int i = 0; i < region_count_.hint(); ++i)
    if (regions_[i].has(address, bytes)) return true;
  return false;
}

std::uint64_t initiator::name_of(const void* address) const noexcept {
  constexpr int region_shift = 56;
  for (int i = 0; i < region_count_.hint(); ++i)
    if (regions_[i].has(address, 1))
      return static_cast<std::uint64_t>(i) << region_shift | regions_[i].distance(address);
  return ~std::uint64_t{0};
}

void initiator::throw_not_symmetric(const void* address, std::size_t bytes,
                                    const char* what) const {
  for (int i = 0; i < region_count_.hint(); ++i)
    if (const region& r = regions_[i]; r.has(address, 1))
      throw error(formatted(
          "rank {}: {} of {} bytes at {} ends behind symmetric memory, of which {} bytes are left there",
          me_.number, what, bytes, address, r.size - r.distance(address)));
  throw error(formatted(
      "rank {}: {} at {}, which is no symmetric memory: use memory of the symmetric heap, a "
      "global or a static variable",
      me_.number, what, address));
}

// The flags are words that sleepers look at: so these are told as by any writer, and sleep for short times then.
void initiator::note_silent_writers() {
  if (std::exchange(noted_silent_writers_, true)) return;
  shared_.note_silent_writers();
  for (int rank = 0; rank < static_cast<int>(me_.of->places.size()); ++rank) tell(rank);
}

// --- Out of line ---------------------------------------------------------------------------------

void initiator::wake(int rank) {
  const detail::rank_place& there = me_.of->places[static_cast<std::size_t>(rank)];
  if (there.rank != nullptr) return there.rank->home->notify();
  // One writer is enough: the message comes in any case, and the worker looks at all its words then. Within the
  // process the flag stays, since the worker may be about to park for another word than was written: nobody would
  // wake it when that one is.
  if (!watches_[rank]->take()) return;
  const shared_section in(*me_.home);  // A put by the fast path has come here without it.
  far_->wake(rank);
}

void initiator::put_far(context& c, void* to, const void* from, std::size_t bytes, int rank) {
  if (bytes == 0) return;
  if (far_ == nullptr) throw_not_symmetric(to, bytes, "put");
  far_->put(c, to, from, bytes, rank);
}
void initiator::get_far(context& c, void* to, const void* from, std::size_t bytes, int rank,
                        bool waits) {
  if (bytes == 0) return;
  if (far_ == nullptr) throw_not_symmetric(from, bytes, "get");
  far_->get(c, to, from, bytes, rank, waits);
}
void initiator::update_far(context& c, update what, number type, void* at, const void* operand,
                           const void* expected, void* old, int rank, bool waits) {
  if (far_ == nullptr)
    throw_not_symmetric(at, type == number::bits32 || type == number::float32 ? 4 : 8, "update");
  far_->change(c, what, type, at, operand, expected, old, rank, waits);
}
void initiator::quiet_far(context& c) {
  if (far_ != nullptr)
    far_->quiet(c);
  else
    c.is_busy_ = false;
}
void initiator::fence_far(context& c) {
  if (far_ != nullptr) far_->fence(c);
}
void initiator::begin_gathering(context& c) {
  if (far_ != nullptr && c.gathers_ == nullptr) {
    c.gathers_ = std::make_unique<context::gathered>();
    c.gathers_->of_rank.resize(me_.of->places.size());
  }
}
void initiator::end_gathering(context& c) {
  send_gathered(c);
  c.gathers_ = nullptr;
}
void initiator::send_gathered(context& c) {
  if (c.gathers_ != nullptr) far_->send_gathered(c);
}
void initiator::quiet(context& c, std::span<const int> ranks) {
  if (!c.is_quiet() && far_ != nullptr) far_->quiet(c, ranks);
  asymmetric::full_fence();
}

// Blocks of a word are words on the way, too.
void initiator::put_strided(context& c, void* to, std::ptrdiff_t to_stride, const void* from,
                            std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count,
                            int rank) {
  auto* at = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < count; ++i, at += to_stride, source += from_stride)
    put(c, at, source, bytes, rank);
}
void initiator::get_strided(context& c, void* to, std::ptrdiff_t to_stride, const void* from,
                            std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count,
                            int rank) {
  auto* at = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  for (std::size_t i = 0; i < count; ++i, at += to_stride, source += from_stride)
    get_nbi(c, at, source, bytes, rank);
  // Of those that are fetched, the call returns when they are there.
  if (!c.is_quiet()) quiet_far(c);
}

}  // namespace weft::rma
