// A reply table lists who waits for answers of other processes. A question carries a name, and the answer brings it back: the index of an
// entry and its generation. A name that a peer sends is looked up, never followed as a pointer, and is good once: the next
// use of the entry is another generation. An answer of a process that was not asked finds nothing.
//
// A table is used by one worker.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::remote {

// `Name` is the type of names. Of its bits the lowest `IndexBits` are the index, those above it, `GenerationBits`, the
// generation. No name is 0.
template <std::movable Waiter, std::unsigned_integral Name = std::uint64_t, int IndexBits = 32,
          int GenerationBits = 32>
class reply_table {
  static_assert(IndexBits + GenerationBits <= static_cast<int>(sizeof(Name) * 8));

 public:
  static constexpr std::size_t entries_max = (std::uint64_t{1} << IndexBits) - 1;

  // Returns the waiter's name; 0 when entries_max are waiting. The number of a process is not negative.
  [[nodiscard]] Name add(Waiter waiter, int process) {
    if (first_free_ == none) [[unlikely]]
      if (!add_entry()) return 0;
    entry& e = entries_[first_free_];
    first_free_ = e.next_free;
    e.waiter = std::move(waiter);
    e.process = process;
    return e.name;
  }
  // The waiter of this name for an answer of that process; null when there is none.
  [[nodiscard]] Waiter* find(Name name, int process) noexcept {
    const std::uint64_t index = index_in(name);
    if (index >= entries_.size()) return nullptr;
    entry& e = entries_[index];
    return e.name == name && e.process == process ? &e.waiter : nullptr;
  }
  // Takes that waiter out; nothing when there is none.
  [[nodiscard]] std::optional<Waiter> take(Name name, int process) noexcept {
    if (find(name, process) == nullptr) return std::nullopt;
    return take_at(static_cast<std::uint32_t>(index_in(name)));
  }
  // Takes out the waiter of a name that is in use.
  Waiter take(Name name) noexcept { return take_at(static_cast<std::uint32_t>(index_in(name))); }
  // The name of the first waiter for which `is(waiter)` holds; 0 when there is none.
  template <class Is>
  [[nodiscard]] Name find_if(const Is& is) const noexcept {
    for (const entry& e : entries_)
      if (e.process != nobody && is(e.waiter)) return e.name;
    return 0;
  }
  // Takes out all who wait for a process for which `is_lost(process)` holds, and calls `end(waiter)` for each, which may
  // add others. Returns whether there were any.
  template <class IsLost, class End>
  bool end_lost(const IsLost& is_lost, const End& end) {
    bool any = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].process == nobody || !is_lost(entries_[i].process)) continue;
      end(take_at(static_cast<std::uint32_t>(i)));
      any = true;
    }
    return any;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr int nobody = -1;
  static constexpr std::uint64_t index_mask = (std::uint64_t{1} << IndexBits) - 1;
  static constexpr std::uint64_t generation_mask = (std::uint64_t{1} << GenerationBits) - 1;

  struct entry {
    Waiter waiter{};
    int process = nobody;  // Then the entry is free.
    std::uint32_t next_free = none;
    Name name = 0;  // While the entry is free, its next one.
  };

  [[nodiscard]] static std::uint64_t index_in(Name name) noexcept { return name & index_mask; }
  // Generations go round, and leave out 0.
  [[nodiscard]] static Name name_of(std::uint64_t generation, std::uint64_t index) noexcept {
    generation &= generation_mask;
    if (generation == 0) generation = 1;
    return static_cast<Name>(generation << IndexBits | index);
  }
  [[gnu::noinline]] bool add_entry() {
    if (entries_.size() == entries_max) return false;
    first_free_ = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back().name = name_of(1, first_free_);
    return true;
  }
  [[nodiscard]] Waiter take_at(std::uint32_t index) noexcept {
    entry& e = entries_[index];
    Waiter taken = std::exchange(e.waiter, Waiter{});
    e.process = nobody;
    e.name = name_of((std::uint64_t{e.name} >> IndexBits) + 1, index);
    e.next_free = std::exchange(first_free_, index);
    return taken;
  }

  std::vector<entry> entries_;
  std::uint32_t first_free_ = none;
};

}  // namespace weft::remote
