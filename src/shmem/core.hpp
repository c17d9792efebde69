// What the shells of OpenSHMEM's functions call: a few dozen functions without types, and the fast paths, which
// need them. `call` is the function's name, for errors and reports. Called by the PE that it is about, on its
// worker, or by a thread that the PE has made.
#pragma once
#include <bit>
#include <complex>
#include <cstring>
#include <functional>
#include <type_traits>

#include "shmem/state.hpp"
#include "weft/reduction.hpp"

namespace weft::shmem {

// --- Set-up, queries, memory ------------------------------------------------------------------------
void init(const char* call, int level);
int init_thread(const char* call, int requested, int* provided);
void query_thread(const char* call, int* provided);
void start(const char* call, int pes);
void finalize(const char* call);
void global_exit(const char* call, int status);
int my_pe(const char* call);
int n_pes(const char* call);
int pe_accessible(const char* call, int pe);
int addr_accessible(const char* call, const void* address, int pe);
void* pointer_to(const char* call, const void* address, int pe);
void* team_pointer_to(const char* call, shmem_team_t team, const void* address, int pe);
void get_version(int* major, int* minor);
void get_name(char* name);
void query_initialized(int* initialized);
inline void ignore(int) {}

void* allocate(const char* call, std::size_t bytes, std::size_t alignment, long hints);
void* allocate_aligned(const char* call, std::size_t alignment, std::size_t bytes);
void* allocate_zeroed(const char* call, std::size_t count, std::size_t element);
void* reallocate(const char* call, void* block, std::size_t bytes);
void deallocate(const char* call, void* block);

// --- Teams and contexts ------------------------------------------------------------------------------
int team_my_pe(const char* call, shmem_team_t team);
int team_n_pes(const char* call, shmem_team_t team);
int team_get_config(const char* call, shmem_team_t team, long mask, shmem_team_config_t* config);
int team_translate_pe(const char* call, shmem_team_t from, int pe, shmem_team_t to);
int team_split_strided(const char* call, shmem_team_t parent, int start, int stride, int size,
                       const shmem_team_config_t* config, long mask, shmem_team_t* made);
int team_split_2d(const char* call, shmem_team_t parent, int xrange,
                  const shmem_team_config_t* xaxis_config, long xaxis_mask,
                  shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
                  long yaxis_mask, shmem_team_t* yaxis_team);
void team_destroy(const char* call, shmem_team_t team);
int context_create(const char* call, shmem_team_t team, long options, shmem_ctx_t* made);
void context_destroy(const char* call, shmem_ctx_t context);
int context_get_team(const char* call, shmem_ctx_t context, shmem_team_t* team);
void session_start(const char* call, shmem_ctx_t context, long options,
                   const shmem_ctx_session_config_t* config, long mask);
void session_stop(const char* call, shmem_ctx_t context);

// --- Memory of other PEs -------------------------------------------------------------------------------
enum class completion { blocking, deferred };
void put_slowly(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, int pe);
void get_slowly(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, int pe, completion when);
void put_strided(const char* call, shmem_ctx_t context, void* dest, const void* source,
                 std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t block,
                 std::size_t blocks, std::size_t element, int pe);
void get_strided(const char* call, shmem_ctx_t context, void* dest, const void* source,
                 std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t block,
                 std::size_t blocks, std::size_t element, int pe);
void put_signal(const char* call, shmem_ctx_t context, void* dest, const void* source,
                std::size_t count, std::size_t element, std::uint64_t* signal_address,
                std::uint64_t signal, int operation, int pe);
void put_signal_nbi(const char* call, shmem_ctx_t context, void* dest, const void* source,
                    std::size_t count, std::size_t element, std::uint64_t* signal_address,
                    std::uint64_t signal, int operation, int pe);
void signal_update(const char* call, shmem_ctx_t context, std::uint64_t* signal_address,
                   std::uint64_t signal, int operation, int pe);
std::uint64_t signal_fetch(const char* call, const std::uint64_t* signal_address);
void fence(const char* call, shmem_ctx_t context);
void quiet(const char* call, shmem_ctx_t context);
void pe_quiet(const char* call, shmem_ctx_t context, const int* pes, std::size_t count);

// Wakes the worker of that PE, which has been found asleep after a store to its copy of this word.
[[gnu::noinline, gnu::cold]] void wake(pe_state& me, const void* written, int pe);
// Called after a store to it, by loads and stores.
[[gnu::always_inline]] inline void tell(pe_state& me, const void* written, int pe) {
  if (me.memory->is_asleep(pe)) [[unlikely]]
    wake(me, written, pe);
}
[[gnu::always_inline]] inline void put(const char* call, shmem_ctx_t context, void* dest,
                                       const void* source, std::size_t count, std::size_t element,
                                       int pe) {
  if (pe_state* const me = usable_state();
      me != nullptr && context == SHMEM_CTX_DEFAULT && source != nullptr) [[likely]]
    if (std::byte* const there = me->reached(dest, count, element, pe); there != nullptr)
        [[likely]] {
      rma::initiator::put_at(there, source, count * element);
      return tell(*me, dest, pe);
    }
  detail::note_call_site(__builtin_return_address(0));
  put_slowly(call, context, dest, source, count, element, pe);
}
[[gnu::always_inline]] inline void put_nbi(const char* call, shmem_ctx_t context, void* dest,
                                           const void* source, std::size_t count,
                                           std::size_t element, int pe) {
  put(call, context, dest, source, count, element, pe);
}
[[gnu::always_inline]] inline void get(const char* call, shmem_ctx_t context, void* dest,
                                       const void* source, std::size_t count, std::size_t element,
                                       int pe) {
  if (pe_state* const me = usable_state(); me != nullptr && context == SHMEM_CTX_DEFAULT &&
                                           dest != nullptr && --me->looks_left > 0) [[likely]]
    if (const std::byte* const there = me->reached(source, count, element, pe); there != nullptr)
        [[likely]]
      return rma::initiator::get_at(there, dest, count * element);
  detail::note_call_site(__builtin_return_address(0));
  get_slowly(call, context, dest, source, count, element, pe, completion::blocking);
}
[[gnu::always_inline]] inline void get_nbi(const char* call, shmem_ctx_t context, void* dest,
                                           const void* source, std::size_t count,
                                           std::size_t element, int pe) {
  if (pe_state* const me = usable_state(); me != nullptr && context == SHMEM_CTX_DEFAULT &&
                                           dest != nullptr && --me->looks_left > 0) [[likely]]
    if (const std::byte* const there = me->reached(source, count, element, pe); there != nullptr)
        [[likely]]
      return rma::initiator::get_at(there, dest, count * element);
  detail::note_call_site(__builtin_return_address(0));
  get_slowly(call, context, dest, source, count, element, pe, completion::deferred);
}
template <class T>
[[gnu::always_inline]] inline void put_value(const char* call, shmem_ctx_t context, T* dest,
                                             T value, int pe) {
  if constexpr (rma::whole<T>)
    if (pe_state* const me = usable_state(); me != nullptr && context == SHMEM_CTX_DEFAULT)
        [[likely]]
      if (std::byte* const there = me->reached(dest, 1, sizeof(T), pe); there != nullptr)
          [[likely]] {
        rma::initiator::put_at(reinterpret_cast<T*>(there), value);
        return tell(*me, dest, pe);
      }
  detail::note_call_site(__builtin_return_address(0));
  put_slowly(call, context, dest, &value, 1, sizeof(T), pe);
}
template <class T>
[[gnu::always_inline, nodiscard]] inline T get_value(const char* call, shmem_ctx_t context,
                                                     const T* source, int pe) {
  if constexpr (rma::whole<T>)
    if (pe_state* const me = usable_state();
        me != nullptr && context == SHMEM_CTX_DEFAULT && --me->looks_left > 0) [[likely]]
      if (const std::byte* const there = me->reached(source, 1, sizeof(T), pe); there != nullptr)
          [[likely]]
        return rma::initiator::get_at(reinterpret_cast<const T*>(there));
  detail::note_call_site(__builtin_return_address(0));
  T value;
  get_slowly(call, context, &value, source, 1, sizeof(T), pe, completion::blocking);
  return value;
}

// --- Atomic operations ----------------------------------------------------------------------------------
inline constexpr auto op_add = rma::update::add;
inline constexpr auto op_and = rma::update::bit_and;
inline constexpr auto op_or = rma::update::bit_or;
inline constexpr auto op_xor = rma::update::bit_xor;

template <class T>
[[nodiscard]] inline bool is_aligned(const T* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0;
}
// Returns where an update of this word goes; throws when its arguments are wrong. `writes`: it may change the word.
struct checked_word {
  rma::context& operations;
  rma::location at;
};
[[nodiscard]] checked_word checked_update(pe_state& me, shmem_ctx_t context, const void* word,
                                          std::size_t bytes, bool writes, int pe, bool is_floating);
// In a checked job: the update has returned what was there, and those before it have told what they knew.
void note_updated(const pe_state& me, const void* word, std::size_t bytes, int pe,
                  bool is_floating);
// In a checked job: the old value comes to `fetch` later.
void note_fetch(const char* call, const rma::context& operations, const void* fetch,
                std::size_t bytes, int pe);
[[noreturn, gnu::cold]] void refuse_null_fetch(const char* call);
// A program may call an update that returns the old value again and again, until that is another.
enum class old_value { unknown, returned };
template <old_value Old, bool Writes, class T, class Update>
[[gnu::noinline]] T update_slowly(const char* call, shmem_ctx_t context, const T* at, int pe,
                                  const Update& update) {
  return in_call(call, [&](pe_state& me) {
    const checked_word word =
        checked_update(me, context, at, sizeof(T), Writes, pe, std::is_floating_point_v<T>);
    if constexpr (Old == old_value::returned) note_look(me);
    const T old = update(*me.memory, word.operations, word.at);
    if constexpr (Old == old_value::returned)
      note_updated(me, at, sizeof(T), word.at.rank, std::is_floating_point_v<T>);
    return old;
  });
}
// `near(me, word)` carries it out where loads and stores reach the word, `update(memory, context, location)` anywhere.
template <old_value Old, bool Writes = true, class T, class Near, class Update>
[[gnu::always_inline]] inline T update_word(const char* call, shmem_ctx_t context, const T* at,
                                            int pe, const Near& near, const Update& update) {
  if (pe_state* const me = usable_state();
      me != nullptr && context == SHMEM_CTX_DEFAULT && is_aligned(at) &&
      (Old == old_value::unknown || --me->looks_left > 0)) [[likely]]
    if (std::byte* const there = me->reached(at, 1, sizeof(T), pe); there != nullptr) [[likely]]
      return near(*me, reinterpret_cast<T*>(there));
  return update_slowly<Old, Writes>(call, context, at, pe, update);
}
// `word` is where loads and stores reach `dest` at that PE.
template <rma::update Op, class T>
[[gnu::always_inline]] inline T update_near(pe_state& me, T* word, T value, const T* dest, int pe,
                                            T condition = T()) {
  const T old = rma::apply<Op>(word, value, condition);
  if constexpr (Op != rma::update::fetch) tell(me, dest, pe);
  return old;
}
template <rma::update Op, class T>
inline T atomic_fetch_op(const char* call, shmem_ctx_t context, T* dest, T value, int pe) {
  return update_word<old_value::returned, Op != rma::update::fetch>(
      call, context, dest, pe,
      [=](pe_state& me, T* word) { return update_near<Op>(me, word, value, dest, pe); },
      [=](rma::initiator& memory, rma::context& c, const rma::location& there) {
        return memory.fetch<Op>(c, there, value);
      });
}
template <rma::update Op, class T>
inline void atomic_op(const char* call, shmem_ctx_t context, T* dest, T value, int pe) {
  (void)update_word<old_value::unknown>(
      call, context, dest, pe,
      [=](pe_state& me, T* word) {
        (void)update_near<Op>(me, word, value, dest, pe);
        return T();
      },
      [=](rma::initiator& memory, rma::context& c, const rma::location& there) {
        memory.change<Op>(c, there, value);
        return T();
      });
}
template <class T>
inline T atomic_swap(const char* call, shmem_ctx_t context, T* dest, T value, int pe) {
  return atomic_fetch_op<rma::update::swap>(call, context, dest, value, pe);
}
template <class T>
inline void atomic_set(const char* call, shmem_ctx_t context, T* dest, T value, int pe) {
  atomic_op<rma::update::set>(call, context, dest, value, pe);
}
template <class T>
inline T atomic_compare_swap(const char* call, shmem_ctx_t context, T* dest, T condition, T value,
                             int pe) {
  constexpr auto op = rma::update::compare_swap;
  return update_word<old_value::returned>(
      call, context, dest, pe,
      [=](pe_state& me, T* word) { return update_near<op>(me, word, value, dest, pe, condition); },
      [=](rma::initiator& memory, rma::context& c, const rma::location& there) {
        return memory.fetch<op>(c, there, value, condition);
      });
}
template <class T>
inline T atomic_fetch(const char* call, shmem_ctx_t context, const T* source, int pe) {
  return atomic_fetch_op<rma::update::fetch>(call, context, const_cast<T*>(source), T(), pe);
}
template <rma::update Op, class T>
inline void atomic_fetch_op_nbi(const char* call, shmem_ctx_t context, T* fetch, T* dest, T value,
                                int pe, T condition = T()) {
  (void)update_word<old_value::returned, Op != rma::update::fetch>(
      call, context, dest, pe,
      [=](pe_state& me, T* word) {
        if (fetch == nullptr) [[unlikely]]
          refuse_null_fetch(call);
        return *fetch = update_near<Op>(me, word, value, dest, pe, condition);
      },
      [=](rma::initiator& memory, rma::context& c, const rma::location& there) {
        check_place("fetch", fetch);
        note_fetch(call, c, fetch, sizeof(T), pe);
        memory.fetch_nbi<Op>(c, fetch, there, value, condition);
        return T();
      });
}
template <class T>
inline void atomic_fetch_nbi(const char* call, shmem_ctx_t context, T* fetch, const T* source,
                             int pe) {
  atomic_fetch_op_nbi<rma::update::fetch>(call, context, fetch, const_cast<T*>(source), T(), pe);
}
template <class T>
inline void atomic_swap_nbi(const char* call, shmem_ctx_t context, T* fetch, T* dest, T value,
                            int pe) {
  atomic_fetch_op_nbi<rma::update::swap>(call, context, fetch, dest, value, pe);
}
template <class T>
inline void atomic_compare_swap_nbi(const char* call, shmem_ctx_t context, T* fetch, T* dest,
                                    T condition, T value, int pe) {
  atomic_fetch_op_nbi<rma::update::compare_swap>(call, context, fetch, dest, value, pe, condition);
}

// --- Waiting for memory of one's own ----------------------------------------------------------------------
template <class T>
[[nodiscard]] inline T look_at(const T* word) noexcept {
  return rma::initiator::look(word);
}
template <class T>
[[nodiscard]] inline bool holds(T found, int comparison, T value) noexcept {
  switch (comparison) {
    case SHMEM_CMP_EQ:
      return found == value;
    case SHMEM_CMP_NE:
      return found != value;
    case SHMEM_CMP_GT:
      return found > value;
    case SHMEM_CMP_GE:
      return found >= value;
    case SHMEM_CMP_LT:
      return found < value;
    case SHMEM_CMP_LE:
      return found <= value;
    default:  // check_comparison() refuses it.
      return false;
  }
}
void check_comparison(int comparison);
// Returns when `over(subject)` is true, which others of this or another worker make so.
// Reports name the words, and what a single one is to be.
struct waited_word {
  const void* word;
  std::size_t count;
  int comparison;
  long long value;
  long long (*now)(const void* word) noexcept;
  std::size_t element = sizeof(long);
  bool is_lock = false;
  const detail::wait_words* said = nullptr;  // Replaces what stands above.
};
// What a symmetric word is called by people: the variable, or its place in the heap.
[[nodiscard]] std::string name_of_word(const pe_state& me, const void* word);
template <class T>
[[nodiscard]] inline long long value_of_word(const void* word) noexcept {
  return static_cast<long long>(look_at(static_cast<const T*>(word)));
}
struct waited_words final : detail::wait_words {
  const pe_state& me;
  const waited_word& what;
  waited_words(const pe_state& p, const waited_word& w) : me(p), what(w) {}
  [[nodiscard]] std::string text() const override;
};
void wait_for_memory(pe_state& me, const char* call, const waited_word& what,
                     bool (*over)(const void* subject) noexcept, const void* subject);
void check_words(pe_state& me, const void* words, std::size_t count, std::size_t element);
// In a checked job: the PE has seen there what others have written, and goes on.
void note_seen(const pe_state& me, const void* words, std::size_t bytes);

// Returns what was found there: the word may have changed again.
template <class T>
inline T wait_until_word(const char* call, T* word, int comparison, T value) {
  if (pe_state* const me = usable_state(); me != nullptr && word != nullptr) {
    T found = look_at(word);
    if (holds(found, comparison, value)) return found;
    // Few frames lie between here and the next fiber: the processor mispredicts the return from each.
    if (me->may_wait_at_once() && comparison >= SHMEM_CMP_EQ && comparison <= SHMEM_CMP_LE &&
        me->reached(word, 1, sizeof(T), me->number) != nullptr) [[likely]] {
      const waited_word what{
          word, 1, comparison, static_cast<long long>(value), &value_of_word<T>, sizeof(T)};
      const waited_words words(*me, what);
      wait_description said{call};
      said.context = wait_description::in_words;
      said.subject = static_cast<const detail::wait_words*>(&words);
      bool is_found = false;
      const auto is_over = [&]() noexcept {
        if (is_found) return true;
        found = look_at(word);
        return is_found = holds(found, comparison, value);
      };
      on_fast_path(call, [&] { me->memory->wait_until(is_over, said); });
      me->looks_left = looks_in_a_row_max;
      return found;
    }
  }
  return in_call(call, [&](pe_state& me) {
    check_comparison(comparison);
    check_words(me, word, 1, sizeof(T));
    struct subject {
      const T* word;
      int comparison;
      T value;
      mutable T found;
      mutable bool is_found = false;
    } const s{word, comparison, value, T()};
    wait_for_memory(
        me, call,
        {word, 1, comparison, static_cast<long long>(value), &value_of_word<T>, sizeof(T)},
        [](const void* of) noexcept {
          const auto& what = *static_cast<const subject*>(of);
          if (what.is_found) return true;
          what.found = look_at(what.word);
          return what.is_found = holds(what.found, what.comparison, what.value);
        },
        &s);
    return s.found;
  });
}
template <class T>
inline int test_word(const char* call, T* word, int comparison, T value) {
  return in_call(call, [&](pe_state& me) {
    check_comparison(comparison);
    check_words(me, word, 1, sizeof(T));
    const auto is_seen = [&] {
      if (!holds(look_at(word), comparison, value)) return false;
      note_seen(me, word, sizeof(T));
      return true;
    };
    if (is_seen()) return 1;
    me.looks_left = 0;
    note_look(me);
    return is_seen() ? 1 : 0;
  });
}

// Several words: what is awaited of each, and which are left out.
template <class T, class Value>
struct words_to_hold {
  const T* words;
  std::size_t first;  // any() begins there: each word has its turn.
  std::size_t count;
  const int* status;
  int comparison;
  Value value;  // One for all, or one for each.
  // sees_any() keeps what it has seen first: the word may have changed again.
  mutable std::size_t seen = SIZE_MAX;
  [[nodiscard]] waited_word said() const noexcept {
    return {words, count, comparison, 0, &value_of_word<T>, sizeof(T)};
  }
  [[nodiscard]] bool is_left_out(std::size_t i) const noexcept {
    return status != nullptr && status[i] != 0;
  }
  [[nodiscard]] bool holds_at(std::size_t i) const noexcept {
    if constexpr (std::is_pointer_v<Value>)
      return holds(look_at(words + i), comparison, value[i]);
    else
      return holds(look_at(words + i), comparison, value);
  }
  [[nodiscard]] bool is_empty() const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (!is_left_out(i)) return false;
    return true;
  }
  [[nodiscard]] bool all() const noexcept {
    for (std::size_t i = 0; i < count; ++i)
      if (!is_left_out(i) && !holds_at(i)) return false;
    return true;
  }
  // The PE goes on with what it has found.
  template <class Found>
  [[nodiscard]] Found seen_by(const pe_state& me, Found found) const {
    note_seen(me, words, count * sizeof(T));
    return found;
  }
  // SIZE_MAX: none.
  [[nodiscard]] std::size_t any() const noexcept {
    for (std::size_t i = first; i < count; ++i)
      if (!is_left_out(i) && holds_at(i)) return i;
    for (std::size_t i = 0; i < first; ++i)
      if (!is_left_out(i) && holds_at(i)) return i;
    return SIZE_MAX;
  }
  [[nodiscard]] bool sees_any() const noexcept {
    if (seen == SIZE_MAX) seen = any();
    return seen != SIZE_MAX;
  }
  [[nodiscard]] std::size_t some(std::size_t* indices) const noexcept {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (!is_left_out(i) && holds_at(i)) indices[found++] = i;
    return found;
  }
};
template <class T, class Value>
[[nodiscard]] words_to_hold<T, Value> checked_words(pe_state& me, T* words, std::size_t count,
                                                    const int* status, int comparison,
                                                    Value value) {
  check_comparison(comparison);
  check_words(me, words, count, sizeof(T));
  const std::size_t first = count != 0 ? me.next_of_any++ % count : 0;
  return {words, first, count, status, comparison, value};
}
template <class T, class Value>
inline void wait_until_all(const char* call, T* words, std::size_t count, const int* status,
                           int comparison, Value value) {
  in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    wait_for_memory(
        me, call, w.said(),
        [](const void* of) noexcept { return static_cast<decltype(&w)>(of)->all(); }, &w);
  });
}
template <class T, class Value>
inline std::size_t wait_until_any(const char* call, T* words, std::size_t count, const int* status,
                                  int comparison, Value value) {
  return in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    if (w.is_empty()) return static_cast<std::size_t>(SIZE_MAX);
    wait_for_memory(
        me, call, w.said(),
        [](const void* of) noexcept { return static_cast<decltype(&w)>(of)->sees_any(); }, &w);
    return w.seen;
  });
}
template <class T, class Value>
inline std::size_t wait_until_some(const char* call, T* words, std::size_t count,
                                   std::size_t* indices, const int* status, int comparison,
                                   Value value) {
  return in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    check_place("indices", indices);
    if (w.is_empty()) return std::size_t{0};
    wait_for_memory(
        me, call, w.said(),
        [](const void* of) noexcept { return static_cast<decltype(&w)>(of)->sees_any(); }, &w);
    if (const std::size_t found = w.some(indices); found != 0) return found;
    indices[0] = w.seen;
    return std::size_t{1};
  });
}
template <class T, class Value>
inline int test_all(const char* call, T* words, std::size_t count, const int* status,
                    int comparison, Value value) {
  return in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    if (w.all()) return w.seen_by(me, 1);
    me.looks_left = 0;
    note_look(me);
    return w.all() ? w.seen_by(me, 1) : 0;
  });
}
template <class T, class Value>
inline std::size_t test_any(const char* call, T* words, std::size_t count, const int* status,
                            int comparison, Value value) {
  return in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    if (const std::size_t found = w.any(); found != SIZE_MAX) return w.seen_by(me, found);
    me.looks_left = 0;
    note_look(me);
    const std::size_t found = w.any();
    return found != SIZE_MAX ? w.seen_by(me, found) : found;
  });
}
template <class T, class Value>
inline std::size_t test_some(const char* call, T* words, std::size_t count, std::size_t* indices,
                             const int* status, int comparison, Value value) {
  return in_call(call, [&](pe_state& me) {
    const auto w = checked_words(me, words, count, status, comparison, value);
    check_place("indices", indices);
    if (const std::size_t found = w.some(indices); found != 0) return w.seen_by(me, found);
    me.looks_left = 0;
    note_look(me);
    const std::size_t found = w.some(indices);
    return found != 0 ? w.seen_by(me, found) : found;
  });
}
std::uint64_t signal_wait_until(const char* call, std::uint64_t* signal_address, int comparison,
                                std::uint64_t value);

// --- Collectives --------------------------------------------------------------------------------------------
void barrier_all(const char* call);
void sync_all(const char* call);
int team_sync(const char* call, shmem_team_t team);
void set_barrier(const char* call, int start, int log_stride, int size);
void set_sync(const char* call, int start, int log_stride, int size);
int team_alltoall(const char* call, shmem_team_t team, void* dest, const void* source,
                  std::size_t count, std::size_t element);
int team_alltoalls(const char* call, shmem_team_t team, void* dest, const void* source,
                   std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride, std::size_t count,
                   std::size_t element);
int team_broadcast(const char* call, shmem_team_t team, void* dest, const void* source,
                   std::size_t count, std::size_t element, int root);
int team_collect(const char* call, shmem_team_t team, void* dest, const void* source,
                 std::size_t count, std::size_t element);
int team_fcollect(const char* call, shmem_team_t team, void* dest, const void* source,
                  std::size_t count, std::size_t element);
void set_alltoall(const char* call, void* dest, const void* source, std::size_t count,
                  std::size_t element, int start, int log_stride, int size);
void set_alltoalls(const char* call, void* dest, const void* source, std::ptrdiff_t dest_stride,
                   std::ptrdiff_t source_stride, std::size_t count, std::size_t element, int start,
                   int log_stride, int size);
void set_broadcast(const char* call, void* dest, const void* source, std::size_t count,
                   std::size_t element, int root, int start, int log_stride, int size);
void set_collect(const char* call, void* dest, const void* source, std::size_t count,
                 std::size_t element, int start, int log_stride, int size);
void set_fcollect(const char* call, void* dest, const void* source, std::size_t count,
                  std::size_t element, int start, int log_stride, int size);

int reduce_in_team(const char* call, shmem_team_t team, void* dest, const void* source,
                   const reduction& how);
void reduce_in_set(const char* call, void* dest, const void* source, const reduction& how,
                   int start, int log_stride, int size);
int scan_in_team(const char* call, shmem_team_t team, void* dest, const void* source,
                 const reduction& how, bool inclusive);
template <class Op, class T>
inline int team_reduce(const char* call, shmem_team_t team, T* dest, const T* source,
                       std::size_t count) {
  constexpr Op op{};
  return reduce_in_team(call, team, dest, source, make_reduction<T>(op, count));
}
template <class Op, class T>
inline void set_reduce(const char* call, T* dest, const T* source, int count, int start,
                       int log_stride, int size) {
  constexpr Op op{};
  reduce_in_set(call, dest, source, make_reduction<T>(op, static_cast<std::size_t>(count)), start,
                log_stride, size);
}
template <class T>
inline int team_scan(const char* call, shmem_team_t team, T* dest, const T* source,
                     std::size_t count, bool inclusive) {
  constexpr std::plus<> op{};
  return scan_in_team(call, team, dest, source, make_reduction<T>(op, count), inclusive);
}

// --- Locks ------------------------------------------------------------------------------------------------------
void set_lock(const char* call, long* lock);
void clear_lock(const char* call, long* lock);
int test_lock(const char* call, long* lock);

// --- Active messages --------------------------------------------------------------------------------------------
void am_set_handler(const char* call, shmemx_am_handler_t handler, void* args_r, int* id);
void am_set_handler_all(const char* call, shmemx_am_handler_t handler, void* args_r, int* id);
void am_send(const char* call, shmem_ctx_t context, int id, const void* payload, std::size_t length,
             int pe);
int am_try_send(const char* call, int id, const void* payload, std::size_t length, int pe);
int am_poll(const char* call, void* args_p);
void am_wait(const char* call, void* args_p);
void am_reply(const char* call, const void* data, std::size_t length);
std::size_t am_call(const char* call, int id, const void* payload, std::size_t length, int pe,
                    void* reply, std::size_t reply_max, void* args_p);
void am_quiet(const char* call, void* args_p);
void am_barrier_all(const char* call, void* args_p);
std::size_t am_payload_max(const char* call);

}  // namespace weft::shmem
