// What a process shows to all who write memory of its ranks: whether a worker sleeps until memory changes, and whether
// somebody stores without weft. They lie in an arena, so writers in other processes of the node see them, too.
// They also hold the locks for updates of elements (element_locks.hpp), and who has written a word last, for reports.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "rma/arena.hpp"
#include "rma/element_locks.hpp"
#include "sync/memory_watch.hpp"

namespace weft::rma {

// A mark says who has written a word of a rank last, for reports. Two words may share it; it speaks of the later write.
// Relaxed: a report may come too early for a write that is under way.
struct writer_mark {
  std::atomic<std::uint64_t> word;    // The word's name, and one; 0: none.
  std::atomic<std::uint64_t> writer;  // The rank's number in the job.
};
// Each rank has so many marks.
inline constexpr std::size_t writer_marks = 512;

struct signs_address {
  arena_address where;
  std::uint32_t workers = 0;
  std::uint32_t ranks = 0;
};

class signs {
 public:
  // Makes the signs of this process.
  signs(std::size_t workers, std::size_t ranks, bool shared);
  // Maps the signs of another process of the node, which has so many ranks. Returns nothing where that is not possible.
  [[nodiscard]] static std::optional<signs> open(const signs_address& at,
                                                 std::size_t ranks) noexcept;

  [[nodiscard]] signs_address address() const noexcept {
    return {memory_.address(), workers_, ranks_};
  }
  [[nodiscard]] std::size_t workers() const noexcept { return workers_; }
  [[nodiscard]] memory_watch<>& watch(std::size_t worker) const noexcept;
  // The mark for a word of the rank that has this index among those of its process.
  [[nodiscard]] writer_mark& mark(std::size_t rank, std::uint64_t word) const noexcept;
  // The locks for memory of that rank.
  [[nodiscard]] element_locks& locks(std::size_t rank) const noexcept;
  // When it is not 0, somebody may store into memory of the ranks without telling. Relaxed: whoever raises it wakes the
  // sleepers then.
  [[nodiscard]] std::atomic<std::uint32_t>& has_silent_writers() const noexcept;

 private:
  signs(arena memory, std::uint32_t workers, std::uint32_t ranks) noexcept
      : memory_(std::move(memory)), workers_(workers), ranks_(ranks) {}

  arena memory_;
  std::uint32_t workers_;
  std::uint32_t ranks_;
};

}  // namespace weft::rma
