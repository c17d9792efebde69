// What a rank needs to read, write and update memory of other ranks, and to wait for what others write into its own.
//
// Ranks of this process, and of other processes of the node where their memory is mapped, are reached by loads and stores
// of the calling thread; all others by messages that the target's worker carries out (README.md). The tables of a region
// decide which; the first way stands here, inline: no lock, no allocation, no call. The second is far.cpp.
//
// The rank's own thread calls everything, or a thread of the rank that is its worker's attached thread (that is, inside
// worker::shared_section or an attached thread's entrance). An operation names a location (region.hpp), whose rank the face
// has checked. A location that the part does not have throws weft::error and nothing is written. Operations by messages
// throw when the target's process has died.
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
#include "rma/element_update.hpp"
#include "rma/exposed_memory.hpp"
#include "rma/region.hpp"
#include "rma/update.hpp"
#include "sync/memory_watch.hpp"
#include "sync/memory_word.hpp"

namespace weft {
class communicator;
}

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
  // Returns the initiator of the calling rank; the first call makes it.
  static initiator& attach(detail::rank_state& me);
  // Null before attach().
  [[nodiscard]] static initiator* of(const detail::rank_state& me) noexcept {
    return static_cast<initiator*>(me.faces[face_slot].get());
  }

  initiator(detail::rank_state& me, memory& shared);
  ~initiator() override;

  [[nodiscard]] detail::rank_state& rank() const noexcept { return me_; }

  // --- Regions are made and released by all ranks of a group (making.cpp) -------------------------
  // All ranks of the group call each of these, in the same order. When the call returns, the parts of all are reached. A
  // call that fails throws weft::error on all ranks. `unit`: displacements at this rank's part count in so many bytes.
  //
  // weft provides the memory: it is zero, takes pages when it is touched, and the other processes of the node map it. Ranks
  // may ask for different sizes.
  const region& allocate(const communicator& group, std::size_t bytes, std::size_t unit = 1);
  // The same, and the parts lie one behind the other, without a gap, in memory that all ranks of the group reach by loads and
  // stores. Fails where they live on several nodes.
  const region& allocate_in_a_row(const communicator& group, std::size_t bytes,
                                  std::size_t unit = 1);
  // Each rank's part is what it attaches to `ranges` as time goes on: offsets are addresses of that rank. `ranges` lives
  // until the region is released.
  const region& expose_attached(const communicator& group, const attached_memory& ranges,
                                std::size_t unit = 1);
  // The program provides the memory, and keeps it until the region is released.
  const region& expose(const communicator& group, void* begin, std::size_t bytes,
                       std::size_t unit = 1);
  // The regions are the writable static memory of the program that the calling rank runs and of its private libraries, in
  // the order in which they are loaded, as many as all ranks have. Ranks of weft::run() in one process share their globals:
  // each reaches the one copy. No other thread of the rank's may write them meanwhile. The group is all ranks of the job.
  std::vector<const region*> expose_globals(const communicator& group);
  // Ends a region in which nothing is under way. A message for it that comes later is refused. The reference is not valid any
  // more.
  void release(const communicator& group, const region& gone);
  // Returns the size of the largest parts that all ranks have room for: `wanted` bytes, or that halved until there is room;
  // `least` at least, for which there may be none.
  [[nodiscard]] std::size_t bytes_at_most(const communicator& group, std::size_t wanted,
                                          std::size_t least);
  // Adds the calling rank's side of a region whose table is complete; `number` is reserved in exposed().
  const region& add(region_table& table, int rank, std::span<std::byte> own, std::uint32_t number);
  [[nodiscard]] exposed_memory& exposed() noexcept { return exposed_; }

  // --- For reports -------------------------------------------------------------------------------
  // This rank has written the bytes there. By itself it notes only those writes that find the other asleep.
  void note_writer(const location& where, std::size_t bytes) noexcept;
  // Returns who has written the word of this rank last, as far as that has been noted; -1: nobody.
  [[nodiscard]] int last_writer(const location& own) const noexcept;

  // A face calls it before it hands a pointer of region::reached() to the program, whose stores tell nobody. Afterwards all
  // waits of this process and of those whose memory is mapped here sleep for short times only, and the job's time limit alone
  // recognises a deadlock.
  void note_silent_writers();

  // --- Writing -----------------------------------------------------------------------------------
  // `from` may be used again when they return. NBI forms are the same calls.
  template <whole T>
  [[gnu::always_inline]] void put(context& c, const location& to, T value) {
    if (std::byte* const at = to.in->reached(to, sizeof value); at != nullptr) [[likely]] {
      store(reinterpret_cast<T*>(at), value);
      tell(to);
    } else {
      put_far(c, to, &value, sizeof value);
    }
  }
  [[gnu::always_inline]] void put(context& c, const location& to, const void* from,
                                  std::size_t bytes) {
    if (std::byte* const at = to.in->reached(to, bytes); at != nullptr) [[likely]] {
      copy(at, from, bytes);
      tell(to);
    } else {
      put_far(c, to, from, bytes);
    }
  }
  // A face that has found the pointer itself calls these. After a store to a rank's part it asks is_asleep(), with the
  // rank's number in the job, and calls wake() with the location when that is so.
  template <whole T>
  [[gnu::always_inline]] static void put_at(T* there, T value) noexcept {
    store(there, value);
  }
  [[gnu::always_inline]] static void put_at(std::byte* there, const void* from,
                                            std::size_t bytes) noexcept {
    std::memmove(there, from, bytes);
  }
  // Whether the worker of that rank sleeps until its memory changes.
  [[nodiscard, gnu::always_inline]] bool is_asleep(int rank) const noexcept {
    return watches_[rank]->is_asleep();
  }
  [[gnu::noinline]] void wake(const location& written);
  // `count` blocks of `bytes`, the first at the location itself, each `stride` bytes behind the one before.
  void put_strided(context& c, const location& to, std::ptrdiff_t to_stride, const void* from,
                   std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count);
  // The signal is seen at the target after the data. Both are of one rank; without bytes there is no `to`.
  void put_signal(context& c, const location& to, const void* from, std::size_t bytes,
                  const location& signal, std::uint64_t value, signal_operation how) {
    if (std::byte* const at = bytes != 0 ? to.in->reached(to, bytes) : nullptr; at != nullptr) {
      copy(at, from, bytes);  // The signal, which follows, wakes the target.
    } else if (bytes != 0) {
      put_far(c, to, from, bytes);
      // A signal that is a store would overtake data that go as a message.
      const int rank = to.in->number_in_job(to.rank);
      if (signal.in->reached(signal, sizeof value) != nullptr) quiet(c, {&rank, 1});
    }
    if (how == signal_operation::set)
      change<update::set>(c, signal, value);
    else
      change<update::add>(c, signal, value);
  }

  // --- Reading -----------------------------------------------------------------------------------
  template <whole T>
  [[nodiscard, gnu::always_inline]] T get(context& c, const location& from) {
    if (const std::byte* const at = from.in->reached(from, sizeof(T)); at != nullptr) [[likely]]
      return load(reinterpret_cast<const T*>(at));
    T value;
    get_far(c, &value, from, sizeof value, true);
    return value;
  }
  [[gnu::always_inline]] void get(context& c, void* to, const location& from, std::size_t bytes) {
    if (const std::byte* const at = from.in->reached(from, bytes); at != nullptr) [[likely]]
      copy(to, at, bytes);
    else
      get_far(c, to, from, bytes, true);
  }
  template <whole T>
  [[nodiscard, gnu::always_inline]] static T get_at(const T* there) noexcept {
    return load(there);
  }
  [[gnu::always_inline]] static void get_at(const std::byte* there, void* to,
                                            std::size_t bytes) noexcept {
    std::memmove(to, there, bytes);
  }
  // The data are there after quiet().
  void get_nbi(context& c, void* to, const location& from, std::size_t bytes) {
    if (const std::byte* const at = from.in->reached(from, bytes); at != nullptr) [[likely]]
      copy(to, at, bytes);
    else
      get_far(c, to, from, bytes, false);
  }
  void get_strided(context& c, void* to, std::ptrdiff_t to_stride, const location& from,
                   std::ptrdiff_t from_stride, std::size_t bytes, std::size_t count);

  // --- Updates -----------------------------------------------------------------------------------
  // The old value.
  template <update Operation, word T>
  [[gnu::always_inline]] T fetch(context& c, const location& at, T operand, T expected = T()) {
    if (std::byte* const there = at.in->reached(at, sizeof(T)); there != nullptr) [[likely]] {
      const T old = apply<Operation>(reinterpret_cast<T*>(there), operand, expected);
      if constexpr (Operation != update::fetch) tell(at);
      return old;
    }
    T old;
    update_far(c, Operation, number_of<T>(), at, &operand, &expected, &old, true);
    return old;
  }
  // The old value is in `*old` after quiet().
  template <update Operation, word T>
  void fetch_nbi(context& c, T* old, const location& at, T operand, T expected = T()) {
    if (std::byte* const there = at.in->reached(at, sizeof(T)); there != nullptr) [[likely]] {
      *old = apply<Operation>(reinterpret_cast<T*>(there), operand, expected);
      if constexpr (Operation != update::fetch) tell(at);
    } else {
      update_far(c, Operation, number_of<T>(), at, &operand, &expected, old, false);
    }
  }
  template <update Operation, word T>
  [[gnu::always_inline]] void change(context& c, const location& at, T operand) {
    if (std::byte* const there = at.in->reached(at, sizeof(T)); there != nullptr) [[likely]] {
      (void)apply<Operation>(reinterpret_cast<T*>(there), operand);
      tell(at);
    } else {
      update_far(c, Operation, number_of<T>(), at, &operand, nullptr, nullptr, false);
    }
  }

  // `count` elements that begin at `at`, each updated by its operand, and what stood there before to `old` where that is not
  // null. All calls of this are atomic to each other, element by element, whatever the update is; they are not to updates of
  // words by fetch() and change(). The old elements are there on return when `waits`, else after quiet().
  [[gnu::noinline]] void change_elements(context& c, const location& at, const element_update& what,
                                         const void* operand, void* old, std::size_t count,
                                         bool waits);
  // The same for a face that has found the pointer itself, by region::reached_or_attached().
  [[gnu::noinline]] void change_elements_at(std::byte* there, const location& at,
                                            const element_update& what, const void* operand,
                                            void* old, std::size_t count);
  // The same of one element.
  [[gnu::noinline]] void change_element_at(std::byte* there, const location& at,
                                           const element_update& what, const void* operand,
                                           void* old);

  // --- Completion --------------------------------------------------------------------------------
  // All that this rank has put and updated in the context before is visible to every rank, and what it wanted to get
  // is there.
  [[gnu::always_inline]] void quiet(context& c) {
    if (!c.is_quiet()) [[unlikely]]
      quiet_far(c);
    asymmetric::full_fence();
  }
  // This is quiet() for a rank that meets the others next, in a way that hands over stores, and does not read their memory
  // before.
  [[gnu::always_inline]] void complete(context& c) {
    if (!c.is_quiet()) [[unlikely]]
      quiet_far(c);
  }
  // This is quiet() for a rank that next updates a word at each rank whose memory it has used: there a processor's update is a
  // full fence, too.
  [[gnu::always_inline]] void quiet_before_update(context& c) {
#if defined(__x86_64__)
    complete(c);
#else
    quiet(c);
#endif
  }
  // quiet() of operations to those ranks, which are numbers in the job.
  void quiet(context& c, std::span<const int> ranks);
  // Gathers small puts, and updates whose old value nobody wants, that go as messages: they go together when there are
  // many, before other operations of the context at that rank, and with quiet() and the other two.
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

  // --- Waiting -----------------------------------------------------------------------------------
  // Reads a word of own memory, with everything that was put before it and ordered by fence().
  template <whole T>
  [[nodiscard, gnu::always_inline]] static T look(const T* at) noexcept {
    return load(at);
  }
  // Returns when `holds()` is true: a cheap condition on words of own regions, read by look(). Everything
  // that waits for memory is built on it: one word, all, any or some of several. `what` is said in reports and
  // lives until then; see wait_words in job/face.hpp.
  template <class Holds>
  void wait_until(const Holds& holds, const wait_description& what) {
    if (holds()) return;
    // Silent writers may come while it sleeps.
    const auto is_silent = [&] { return has_silent_writers_.load(std::memory_order_relaxed) != 0; };
    me_.home->wait_for_memory([&] { return holds() || is_silent(); }, what);
    if (is_silent()) [[unlikely]]
      me_.home->wait_for_memory(holds, what, true);
  }
  // Delivers what has come and lets other ranks of the worker run, so that a loop of tests that fail comes to an end.
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

  // Called after a store.
  [[gnu::always_inline]] void tell(const location& written) {
    if (is_asleep(written.in->number_in_job(written.rank))) [[unlikely]]
      wake(written);
  }
  [[gnu::noinline]] void wake_worker(int rank);

  [[gnu::noinline]] void put_far(context& c, const location& to, const void* from,
                                 std::size_t bytes);
  // `waits`: until the data are there.
  [[gnu::noinline]] void get_far(context& c, void* to, const location& from, std::size_t bytes,
                                 bool waits);
  // `old` null: nobody wants it.
  [[gnu::noinline]] void update_far(context& c, update what, number type, const location& at,
                                    const void* operand, const void* expected, void* old,
                                    bool waits);
  // The part does not have the bytes.
  [[noreturn, gnu::cold]] void throw_not_there(const location& where, std::size_t bytes,
                                               const char* what) const;
  [[gnu::noinline]] void quiet_far(context& c);
  [[gnu::noinline]] void fence_far(context& c);

  struct new_part;  // making.cpp
  const region& make(const communicator& group, new_part what);

  memory_watch<>* const* watches_ = nullptr;  // The sign of each rank's worker, by rank of the job.
  detail::rank_state& me_;
  memory& shared_;
  // It lies among the signs: other processes raise it, too.
  const std::atomic<std::uint32_t>& has_silent_writers_;
  bool noted_silent_writers_ = false;
  exposed_memory exposed_;
  std::vector<std::unique_ptr<region>> regions_;
  std::vector<const region*> globals_;   // Once they are exposed.
  std::unique_ptr<far_operations> far_;  // Null in a job of one process.
};

}  // namespace weft::rma
