#include "rma/signs.hpp"

#include <new>

#include "base/limits.hpp"

namespace weft::rma {
namespace {

// The arena holds, behind its head, a line of the process, one for each worker, the locks of each rank, and its marks.
struct alignas(padding_bytes) line {
  std::atomic<std::uint32_t> has_silent_writers;
  memory_watch<> watch;
};

constexpr std::size_t first_lock(std::size_t workers) noexcept {
  return arena::head_bytes + sizeof(line) * (1 + workers);
}
constexpr std::size_t first_mark(std::size_t workers, std::size_t ranks) noexcept {
  return first_lock(workers) + sizeof(element_locks) * ranks;
}
constexpr std::size_t bytes_of(std::size_t workers, std::size_t ranks) noexcept {
  return first_mark(workers, ranks) + ranks * writer_marks * sizeof(writer_mark);
}

}  // namespace

signs::signs(std::size_t workers, std::size_t ranks, bool shared)
    : memory_(bytes_of(workers, ranks), shared),
      workers_(static_cast<std::uint32_t>(workers)),
      ranks_(static_cast<std::uint32_t>(ranks)) {
  for (std::size_t i = 0; i <= workers; ++i)
    new (memory_.at(arena::head_bytes + i * sizeof(line))) line{};
}

std::optional<signs> signs::open(const signs_address& at, std::size_t ranks) noexcept {
  if (at.ranks != ranks || at.workers > workers_max || at.where.bytes < bytes_of(at.workers, ranks))
    return {};
  auto memory = arena::open(at.where);
  if (!memory) return {};
  return signs(std::move(*memory), at.workers, at.ranks);
}

memory_watch<>& signs::watch(std::size_t worker) const noexcept {
  return reinterpret_cast<line*>(memory_.at(arena::head_bytes))[1 + worker].watch;
}

// A mark is zero at first, as the pages of a new arena are.
writer_mark& signs::mark(std::size_t rank, std::uint64_t word) const noexcept {
  constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15;
  auto* const all = reinterpret_cast<writer_mark*>(memory_.at(first_mark(workers_, ranks_)));
  return all[rank * writer_marks + (word * spread >> 32) % writer_marks];
}

// Memory of zeros is locks that nobody has.
element_locks& signs::locks(std::size_t rank) const noexcept {
  return reinterpret_cast<element_locks*>(memory_.at(first_lock(workers_)))[rank];
}

std::atomic<std::uint32_t>& signs::has_silent_writers() const noexcept {
  return reinterpret_cast<line*>(memory_.at(arena::head_bytes))->has_silent_writers;
}

}  // namespace weft::rma
