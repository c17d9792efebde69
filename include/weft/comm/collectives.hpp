// Collective operations of all processes of a job, over the sends and receives of one device each.
// Non-blocking: each returns a handle, which is tested or waited for. Every process calls the same
// ones in the same order; several may be under way at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::comm {

// How the processes pass the data on; not every operation has every one (docs/comm.md has the
// table). `automatic` looks at the size of the data and the number of processes.
enum class algorithm : std::uint8_t { automatic, linear, tree, ring, doubling };

// Combines elements: into[i] = into[i] ∘ from[i]. Associative; and commutative, except for
// `linear`, which keeps the order of the processes.
struct combination {
  std::size_t element_bytes = 0;
  void (*combine)(void* into, const void* from, std::size_t count) noexcept = nullptr;
};

// The combination of a stateless function object of two T: combination_of<double, std::plus<>>().
template <class T, class Function>
requires std::is_trivially_copyable_v<T> && std::is_empty_v<Function>
[[nodiscard]] constexpr combination combination_of() noexcept {
  return {sizeof(T), [](void* into, const void* from, std::size_t count) noexcept {
            auto* const to = static_cast<T*>(into);
            const auto* const other = static_cast<const T*>(from);
            for (std::size_t i = 0; i < count; ++i) to[i] = Function()(to[i], other[i]);
          }};
}

class schedule;

// One collective operation under way. Destroyed after it is over.
class [[nodiscard]] collective {
 public:
  collective(collective&& other) noexcept;
  collective& operator=(collective&&) = delete;
  ~collective();  // Waits.

  // Makes progress; true when this process's part is over. Called by the device's thread.
  bool test() noexcept;
  outcome wait() noexcept;

 private:
  friend class team;
  explicit collective(schedule* of) noexcept : schedule_(of) {}
  schedule* schedule_;
};

// The processes of a job, each with the device of the same index. Made in the same order by all.
class team {
 public:
  explicit team(device& on);
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  ~team();

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;

  using byte_span = std::span<std::byte>;
  using const_byte_span = std::span<const std::byte>;

  collective barrier(algorithm how = algorithm::automatic);
  collective broadcast(byte_span data, int root, algorithm how = algorithm::automatic);
  // `data` is this process's part, and at the root the result.
  collective reduce(byte_span data, const combination& by, int root,
                    algorithm how = algorithm::automatic);
  collective all_reduce(byte_span data, const combination& by,
                        algorithm how = algorithm::automatic);
  // `all` holds one block of mine.size() bytes for each process; only used at the root.
  collective gather(const_byte_span mine, byte_span all, int root,
                    algorithm how = algorithm::automatic);
  collective all_gather(const_byte_span mine, byte_span all, algorithm how = algorithm::automatic);
  // Block i of `from` goes to process i, block i of `to` comes from it.
  collective all_to_all(const_byte_span from, byte_span to, algorithm how = algorithm::automatic);
  // Combines the blocks i of all into `mine` of process i.
  collective reduce_scatter(const_byte_span from, byte_span mine, const combination& by,
                            algorithm how = algorithm::automatic);
  // Inclusive: combines the parts of the processes up to this one.
  collective scan(byte_span data, const combination& by, algorithm how = algorithm::automatic);

 private:
  friend class schedule;
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace weft::comm
