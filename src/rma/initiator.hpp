// What a rank needs to read, write and update memory of the other ranks of its job, and to wait for what others
// write into its own.
//
// Who is reached how (README.md): ranks of this process, and of other processes of the node where their memory is
// mapped, by loads and stores of the calling thread; all others by messages that the target's worker carries out.
// The first is decided by one table and stands here, inline: no lock, no allocation, no call. The second is far.cpp.
//
// Everything is called by the rank's own thread, or by a thread of the rank that is its worker's attached thread (that is,
// inside worker::shared_section or an attached thread's entrance). Ranks are numbers in the world and have been checked by the
// face. An address that lies in no region, or beyond its end, throws weft::error and nothing is written. Far
// operations throw when the target's process has died.
//
// Order: a put of one word and `set` are release stores, updates acquire and release, reads of waited words acquire.
// Puts of more bytes are copies: they are ordered before a later word by fence() or quiet(), or by put_signal().
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "job/face.hpp"
#include "rank/state.hpp"
#include "rma/context.hpp"
#include "rma/region.hpp"
#include "rma/update.hpp"
#include "sync/memory_watch.hpp"
#include "sync/memory_word.hpp"
#include "sync/published.hpp"

namespace weft::rma {

// Among the faces of a job.
inline constexpr std::size_t face_slot = 1;

class memory;          // memory.hpp: what the ranks of a process share.
class far_operations;  // far.hpp

// A plain word that is put and read as one.
template <class T>
concept whole = std::is_trivially_copyable_v<T> &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

enum class signal_operation : std::uint8_t { set, add };

class initiator final : public detail::face_state {
 public:
  // Of the calling rank. Collective over all ranks of the job: returns when all have called it, and each is reached
  // from then on. `heap_bytes` is the same on all ranks: the heap is region 0, an address range without memory
  // behind it until it is touched. A rank that has attached already gets what it has. Throws weft::error when there
  // is no room for the range, naming its size and the limit.
  static initiator& attach(detail::rank_state& me, std::size_t heap_bytes);
  // Null before attach().
  [[nodiscard]] static initiator* of(const detail::rank_state& me) noexcept {
    return static_cast<initiator*>(me.faces[face_slot].get());
  }

  initiator(detail::rank_state& me, memory& shared, std::size_t heap_bytes);
  ~initiator() override;

  [[nodiscard]] detail::rank_state& rank() const noexcept { return me_; }
  // This rank's heap; zero when it is first touched.
  [[nodiscard]] std::span<std::byte> heap() const noexcept {
    return {reinterpret_cast<std::byte*>(regions_[0].begin), regions_[0].size};
  }
  // Pages of the heap that hold nothing any more go back to the system; their content is lost.
  void discard(std::span<std::byte> pages) noexcept;

  // A further range, as the program's globals. Collective, in the same order on all ranks; `bytes` is the same on
  // all, or the call throws on all. Returns the region's number.
  int expose(void* begin, std::size_t bytes);
  // The writable static memory of the program that the calling rank runs and of its private libraries becomes
  // regions, in the order in which they are loaded; only what all ranks have: one alone in its process has no such
  // libraries. Collective. Ranks of weft::run() in one process share their globals: each reaches the one copy.
  void expose_statics();

  // --- Where an address of this rank lies at another one -----------------------------------------
  // The place that loads and stores from here reach; null: not in this way, or no symmetric address.
  template <class T = void>
  [[nodiscard, gnu::always_inline]] T* direct(const T* symmetric, int rank) const noexcept {
    const region& heap = regions_[0];
    const std::uintptr_t at = heap.distance(symmetric);
    if (at < heap.size) [[likely]] {
      std::byte* const base = heap.bases[rank];
      return base != nullptr ? reinterpret_cast<T*>(base + at) : nullptr;
    }
    return reinterpret_cast<T*>(direct_elsewhere(symmetric, 1, rank));
  }
  // The same of a range, which must lie in one region.
  [[nodiscard, gnu::always_inline]] std::byte* direct(const void* symmetric, std::size_t bytes,
                                                      int rank) const noexcept {
    const region& heap = regions_[0];
    const std::uintptr_t at = heap.distance(symmetric);
    if (at < heap.size && bytes <= heap.size - at) [[likely]] {
      std::byte* const base = heap.bases[rank];
      return base != nullptr ? base + at : nullptr;
    }
    return direct_elsewhere(symmetric, bytes, rank);
  }
  // Whether the range lies in one region of this rank.
  [[nodiscard]] bool is_symmetric(const void* address, std::size_t bytes = 1) const noexcept;
  // Of a symmetric address: the same number on all ranks, and one more for the next byte.
  [[nodiscard]] std::uint64_t name_of(const void* address) const noexcept;
  // Whether any region of that rank is reached by loads and stores (shmem_ptr of its heap is not null).
  [[nodiscard]] bool reaches_heap_of(int rank) const noexcept {
    return regions_[0].bases[rank] != nullptr;
  }
  // From now on somebody may write memory of ranks by stores of the program's own, which tell nobody: all waits of
  // this process and of those whose heaps are mapped here sleep for short times only, and a deadlock is recognised by the job's time limit alone. Called
  // before a pointer of direct() is handed to the program.
  void note_silent_writers();

  // --- Writing -----------------------------------------------------------------------------------
  // `from` may be used again when they return. NBI forms are the same calls.
  template <whole T>
  [[gnu::always_inline]] void put(context& c, T* to, T value, int rank) {
    if (T* const at = direct(to, rank); at != nullptr) [[likely]] {
      store(at, value);
      tell(rank);
    } else {
      put_far(c, to, &value, sizeof value, rank);
    }
  }
  [[gnu::always_inline]] void put(context& c, void* to, const void* from, std::size_t bytes,
                                  int rank) {
    if (std::byte* const at = direct(to, bytes, rank); at != nullptr) [[likely]] {
      copy(at, from, bytes);
      tell(rank);
    } else {
      put_far(c, to, from, bytes, rank);
    }
  }
  // `count` blocks of `bytes`, the first at the address itself, each `stride` bytes behind the one before.
  void put_strided(context& c, void* to, std::ptrdiff_t to_stride, const void* from,
                   std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count, int rank);
  // The signal is seen at the target after the data.
  void put_signal(context& c, void* to, const void* from, std::size_t bytes, std::uint64_t* signal,
                  std::uint64_t value, signal_operation how, int rank) {
    if (bytes != 0) {
      put(c, to, from, bytes, rank);
      // A signal that is a store would overtake data that go as a message.
      if (direct(to, bytes, rank) == nullptr && direct(signal, rank) != nullptr)
        quiet(c, {&rank, 1});
    }
    if (how == signal_operation::set)
      change<update::set>(c, signal, value, rank);
    else
      change<update::add>(c, signal, value, rank);
  }

  // --- Reading -----------------------------------------------------------------------------------
  template <whole T>
  [[nodiscard, gnu::always_inline]] T get(context& c, const T* from, int rank) {
    if (const T* const at = direct(from, rank); at != nullptr) [[likely]]
      return load(at);
    T value;
    get_far(c, &value, from, sizeof value, rank, true);
    return value;
  }
  [[gnu::always_inline]] void get(context& c, void* to, const void* from, std::size_t bytes,
                                  int rank) {
    if (const std::byte* const at = direct(from, bytes, rank); at != nullptr) [[likely]]
      copy(to, at, bytes);
    else
      get_far(c, to, from, bytes, rank, true);
  }
  // The data are there after quiet().
  void get_nbi(context& c, void* to, const void* from, std::size_t bytes, int rank) {
    if (const std::byte* const at = direct(from, bytes, rank); at != nullptr) [[likely]]
      copy(to, at, bytes);
    else
      get_far(c, to, from, bytes, rank, false);
  }
  void get_strided(context& c, void* to, std::ptrdiff_t to_stride, const void* from,
                   std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count, int rank);

  // --- Updates -----------------------------------------------------------------------------------
  // The old value.
  template <update Operation, word T>
  [[gnu::always_inline]] T fetch(context& c, T* at, T operand, int rank, T expected = T()) {
    if (T* const word = direct(at, rank); word != nullptr) [[likely]] {
      const T old = apply<Operation>(word, operand, expected);
      if constexpr (Operation != update::fetch) tell(rank);
      return old;
    }
    T old;
    update_far(c, Operation, number_of<T>(), at, &operand, &expected, &old, rank, true);
    return old;
  }
  // The old value is in `*old` after quiet().
  template <update Operation, word T>
  void fetch_nbi(context& c, T* old, T* at, T operand, int rank, T expected = T()) {
    if (T* const word = direct(at, rank); word != nullptr) [[likely]] {
      *old = apply<Operation>(word, operand, expected);
      if constexpr (Operation != update::fetch) tell(rank);
    } else {
      update_far(c, Operation, number_of<T>(), at, &operand, &expected, old, rank, false);
    }
  }
  template <update Operation, word T>
  [[gnu::always_inline]] void change(context& c, T* at, T operand, int rank) {
    if (T* const word = direct(at, rank); word != nullptr) [[likely]] {
      (void)apply<Operation>(word, operand);
      tell(rank);
    } else {
      update_far(c, Operation, number_of<T>(), at, &operand, nullptr, nullptr, rank, false);
    }
  }

  // --- Completion --------------------------------------------------------------------------------
  // All that this rank has put and updated in the context before is visible to every rank, and what it wanted to get
  // is there.
  [[gnu::always_inline]] void quiet(context& c) {
    if (!c.is_quiet()) [[unlikely]]
      quiet_far(c);
    asymmetric::full_fence();
  }
  // As quiet(), for who meets the others next, in a way that hands over stores, and does not read their memory before.
  [[gnu::always_inline]] void complete(context& c) {
    if (!c.is_quiet()) [[unlikely]]
      quiet_far(c);
  }
  // quiet() of operations to those ranks.
  void quiet(context& c, std::span<const int> ranks);
  // From now on small puts, and updates whose old value nobody wants, that go as messages wait for one another, and go
  // together: when there are many, before other operations of the context at that rank, and with quiet() and the other two.
  void begin_gathering(context& c);
  void end_gathering(context& c);
  void send_gathered(context& c);
  // What is put and updated at a rank afterwards is seen there after what was before.
  [[gnu::always_inline]] void fence(context& c) {
    if (!c.is_quiet()) [[unlikely]]
      fence_far(c);
      // A processor that keeps stores in order needs nothing but a compiler that does; words and updates are releases in
      // any case.
#if defined(__x86_64__)
    asm volatile("" ::: "memory");
#else
    asymmetric::full_fence();
#endif
  }
  // Buffers of operations may be used again: always so when a put returns.
  void complete_locally(context&) noexcept {}

  // --- Waiting -----------------------------------------------------------------------------------
  // A word of own memory, with everything that was put before it and ordered by fence().
  template <whole T>
  [[nodiscard, gnu::always_inline]] static T look(const T* at) noexcept {
    return load(at);
  }
  // Returns when `holds()` is true: a cheap condition on words of own symmetric memory, read by look(). Everything
  // that waits for memory is built on it: one word, all, any or some of several. `what` is said in reports and
  // lives until then; see wait_words in job/face.hpp.
  template <class Holds>
  void wait_until(const Holds& holds, const wait_description& what) {
    if (holds()) return;
    // Those who write silently may come while it sleeps.
    const auto is_silent = [&] { return has_silent_writers_.load(std::memory_order_relaxed) != 0; };
    me_.home->wait_for_memory([&] { return holds() || is_silent(); }, what);
    if (is_silent()) [[unlikely]]
      me_.home->wait_for_memory(holds, what, true);
  }
  // For tests of words that failed: delivers what has come and lets other ranks of the worker run, so that a loop of
  // tests comes to an end.
  void poll() {
    me_.home->yield();
  }

 private:
  friend class memory;
  friend class far_operations;

  template <whole T>
  [[gnu::always_inline]] static void store(T* at, T value) noexcept {
    std::atomic_ref<T> word(*at);
    memory_word<>::store(word, value);
  }
  template <whole T>
  [[nodiscard, gnu::always_inline]] static T load(const T* at) noexcept {
    const std::atomic_ref<T> word(*const_cast<T*>(at));
    return memory_word<>::load(word);
  }
  // Source and target may overlap when they are the same rank's.
  [[gnu::always_inline]] static void copy(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes != 0) std::memmove(to, from, bytes);
  }

  // After a store to that rank's memory.
  [[gnu::always_inline]] void tell(int rank) {
    if (watches_[rank]->is_asleep()) [[unlikely]]
      wake(rank);
  }
  [[gnu::noinline]] void wake(int rank);
  [[nodiscard, gnu::noinline]] std::byte* direct_elsewhere(const void* symmetric, std::size_t bytes,
                                                           int rank) const noexcept;

  [[gnu::noinline]] void put_far(context& c, void* to, const void* from, std::size_t bytes,
                                 int rank);
  // `waits`: until the data are there.
  [[gnu::noinline]] void get_far(context& c, void* to, const void* from, std::size_t bytes,
                                 int rank, bool waits);
  // `old` null: nobody wants it.
  [[gnu::noinline]] void update_far(context& c, update what, number type, void* at,
                                    const void* operand, const void* expected, void* old, int rank,
                                    bool waits);
  [[noreturn, gnu::cold]] void throw_not_symmetric(const void* address, std::size_t bytes,
                                                   const char* what) const;
  [[gnu::noinline]] void quiet_far(context& c);
  [[gnu::noinline]] void fence_far(context& c);

  // What every operation reads, in the first line.
  region regions_[regions_max];
  memory_watch<>* const* watches_ = nullptr;  // By rank: of its worker.
  published<int> region_count_{0};            // Read by the progress worker, too.
  detail::rank_state& me_;
  memory& shared_;
  const std::atomic<std::uint32_t>&
      has_silent_writers_;  // In the arena: other processes raise it, too.
  bool noted_silent_writers_ = false;
  std::unique_ptr<far_operations> far_;  // Null in a job of one process.
};

}  // namespace weft::rma
