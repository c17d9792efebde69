// Waits of a PE for words of its own memory, and what a report of a deadlock says of them.
#include <algorithm>
#include <mutex>

#include "base/stack_trace.hpp"
#include "job/accounted_call.hpp"
#include "profile/counted_wait.hpp"
#include "shmem/core.hpp"
#include "shmem/race_notes.hpp"

namespace weft::shmem {
namespace {

constexpr const char* comparison_names[] = {"==", "!=", ">", ">=", "<", "<="};

// Whoever wrote one of the words has left a cause under its key.
profile::some_keys keys_of(const pe_state& me, const waited_word& what) {
  profile::some_keys keys;
  keys.count = std::min(what.count, keys.most);
  for (std::size_t i = 0; i < keys.count; ++i)
    keys.all[i] = profile::key_of_word(
        me.number,
        me.symmetric.name_of(static_cast<const std::byte*>(what.word) + i * what.element) / 8);
  return keys;
}

}  // namespace

std::string waited_words::text() const {
  const std::string name = name_of_word(me, what.word);
  if (what.count != 1) return formatted(" for {} words from {} on", what.count, name);
  const int writer = me.memory->last_writer(me.symmetric.at(what.word, me.number));
  return formatted(", until {} is {} {}; it is {}{}", name,
                   comparison_names[what.comparison - SHMEM_CMP_EQ], what.value,
                   what.now(what.word),
                   writer < 0 ? "" : formatted(", as PE {} has written", writer));
}

std::string name_of_word(const pe_state& me, const void* word) {
  const auto heap = me.symmetric.heap();
  const auto* const at = static_cast<const std::byte*>(word);
  if (at >= heap.data() && at < heap.data() + heap.size())
    return formatted("the word at offset {} of the symmetric heap", at - heap.data());
  // The first report makes it, since it reads the program's file. Workers report at the same time.
  static std::mutex lock;
  const std::lock_guard hold(lock);
  static symbol_table symbols;
  const std::string name = symbols.variable_at(reinterpret_cast<std::uintptr_t>(word));
  return name.empty() ? formatted("the word at {}", word) : name;
}

void check_comparison(int comparison) {
  if (comparison < SHMEM_CMP_EQ || comparison > SHMEM_CMP_LE)
    fail("cmp is {}: pass SHMEM_CMP_EQ, _NE, _GT, _GE, _LT or _LE", comparison);
}

void check_words(pe_state& me, const void* words, std::size_t count, std::size_t element) {
  check_symmetric(me, count == 1 ? "ivar" : "ivars", words, checked_bytes(count, element));
}

void note_seen(const pe_state& me, const void* words, std::size_t bytes) {
  note_learnt(me, memory_range::of(words, bytes));
}

void wait_for_memory(pe_state& me, const char* call, const waited_word& what,
                     bool (*over)(const void* subject) noexcept, const void* subject) {
  send_all_gathered(me, call);
  tell_handled(me);
  const waited_words words(me, what);
  wait_description said{call};
  said.context = wait_description::in_words;
  said.subject = what.said != nullptr ? what.said : static_cast<const detail::wait_words*>(&words);
  const auto whose = [&] {
    return detail::goes_on_beside(*me.rank.home) || over(subject) ? profile::no_rank : me.number;
  };
  const profile::counted_wait counted(
      whose, call,
      profile::awaited_cause{
          trace_kind::wait_memory,
          what.is_lock ? profile::wait_state::lock : profile::wait_state::late_signal,
          [&] { return keys_of(me, what); }});
  me.memory->wait_until([over, subject]() noexcept { return over(subject); }, said);
  if (!what.is_lock) note_seen(me, what.word, what.count * what.element);
  me.looks_left = looks_in_a_row_max;
}

std::uint64_t signal_wait_until(const char* call, std::uint64_t* signal_address, int comparison,
                                std::uint64_t value) {
  return wait_until_word(call, signal_address, comparison, value);
}

}  // namespace weft::shmem
