// Starting ranks, and what a rank may ask of its runtime.
#pragma once
#include <cstdint>
#include <type_traits>
#include <vector>

#include "weft/communicator.hpp"
#include "weft/options.hpp"
#include "weft/sleep.hpp"

namespace weft {

namespace detail {
// Refers to what a rank runs: a function object, called at the same time by all ranks.
struct body_of_ranks {
  void* object;
  void (*call)(void* object, communicator& world);
};
template <class Body>
[[nodiscard]] body_of_ranks refer_to_body(Body& body) noexcept {
  static_assert(std::is_invocable_v<Body&, communicator&>,
                "weft: what ranks run is called with their world: give weft::run() a function of a "
                "weft::communicator&");
  return {const_cast<void*>(static_cast<const volatile void*>(&body)),
          [](void* object, communicator& world) {
            if constexpr (std::is_invocable_v<Body&, communicator&>)
              static_cast<void>((*static_cast<Body*>(object))(world));
          }};
}
int run(int& argc, char** argv, body_of_ranks body);
int run(const options& how, body_of_ranks body);
}  // namespace detail

// Runs `body(world)`, world being a communicator&, once per rank and returns when all have ended: 0, or 1 after a failure,
// whose message has then been printed. The form with argv takes the --weft-* words out of it first; wrong ones
// end in a message and status 2. Called by an ordinary thread; several runs may be active at once.
template <class Body>
int run(int& argc, char** argv, Body&& body) {
  return detail::run(argc, argv, detail::refer_to_body(body));
}
template <class Body>
int run(const options& how, Body&& body) {
  return detail::run(how, detail::refer_to_body(body));
}

// The calling rank in the world; inside a stolen chunk, the rank that owns the loop. -1 outside.
[[nodiscard]] int this_rank() noexcept;
[[nodiscard]] int world_size() noexcept;
// All ranks of the job, as the calling rank sees them: for code that no body hands them to.
[[nodiscard]] communicator this_world();

// Lets the other ranks of this worker run. Any loop that waits for memory to change calls it; not one in a chunk,
// which may not wait: it throws there.
void yield();

namespace detail {
[[gnu::cold, noreturn]] void refuse_rank_local(std::size_t ranks);
}

// One T for each rank of the job, where a global or a thread_local would be shared between ranks.
// Made outside of run() or by one rank for all, for as many ranks as the job has. `get()` is the calling
// rank's, in a chunk its owner's; it throws outside of ranks, and where it was made for fewer.
template <class T>
class rank_local {
 public:
  explicit rank_local(std::size_t ranks, const T& initial = T{}) : values_(ranks, slot{initial}) {}
  [[nodiscard]] T& get() {
    // Outside of ranks -1, which is beyond all.
    const auto rank = static_cast<std::size_t>(this_rank());
    if (rank >= values_.size()) [[unlikely]]
      detail::refuse_rank_local(values_.size());
    return values_[rank].value;
  }

 private:
  struct alignas(128) slot {
    T value;
  };
  std::vector<slot> values_;
};

}  // namespace weft
