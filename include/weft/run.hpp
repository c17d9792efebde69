// Starting ranks, and what a rank may ask of its runtime.
#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "weft/communicator.hpp"
#include "weft/options.hpp"

namespace weft {

// Runs `body` once per rank and returns when all have ended: 0, or 1 after a failure, whose message
// has then been printed. The form with argv takes the --weft-* words out of it first; wrong ones
// end in a message and status 2. Called by an ordinary thread; several runs may be active at once.
int run(int& argc, char** argv, const std::function<void(communicator&)>& body);
int run(const options& how, const std::function<void(communicator&)>& body);

// The calling rank in the world; inside a stolen chunk, the rank that owns the loop. -1 outside.
[[nodiscard]] int this_rank() noexcept;
[[nodiscard]] int world_size() noexcept;
// All ranks of the job, as the calling rank sees them: for code that no body hands them to.
[[nodiscard]] communicator this_world();

// Lets the other ranks of this worker run. Any loop that waits for memory to change calls it; not one in a chunk,
// which may not wait: it throws there.
void yield();
// The rank sleeps, its worker does not: other ranks run meanwhile.
void sleep_for(std::chrono::nanoseconds duration);

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
