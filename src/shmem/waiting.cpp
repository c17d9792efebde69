// Waits of a PE for words of its own memory, and what a report of a deadlock says of them.
#include <array>
#include <optional>

#include "job/accounted_call.hpp"
#include "shmem/core.hpp"

namespace weft::shmem {
namespace {

constexpr const char* comparison_names[] = {"==", "!=", ">", ">=", "<", "<="};

// What a word is called by people: its place in the heap, or its address.
std::string name_of_word(const pe_state& me, const void* word) {
  const auto heap = me.memory->heap();
  const auto* const at = static_cast<const std::byte*>(word);
  if (at >= heap.data() && at < heap.data() + heap.size())
    return formatted("the word at offset {} of the symmetric heap", at - heap.data());
  return formatted("the word at {}", word);
}

struct waited_words final : detail::wait_words {
  const pe_state& me;
  const waited_word& what;
  waited_words(const pe_state& p, const waited_word& w) : me(p), what(w) {}
  [[nodiscard]] std::string text() const override {
    const std::string name = name_of_word(me, what.word);
    if (what.count != 1) return formatted(" for {} words from {} on", what.count, name);
    return formatted(", until {} is {} {}; it is {}", name,
                     comparison_names[what.comparison - SHMEM_CMP_EQ], what.value,
                     what.now(what.word));
  }
};

// A wait in the accounts and in timelines: who wrote the word?
class counted_wait {
 public:
  counted_wait(const pe_state& me, const char* call, const waited_word& what)
      : me_(me), what_(what) {
    accounts::begin_caused_wait(me.number, trace_kind::wait_memory, call);
  }
  ~counted_wait() {
    std::array<std::uint64_t, 64> keys;
    const std::size_t count = std::min(what_.count, keys.size());
    for (std::size_t i = 0; i < count; ++i)
      keys[i] = accounts::key_of_word(
          me_.number,
          me_.memory->name_of(static_cast<const std::byte*>(what_.word) + i * what_.element) / 8);
    accounts::end_caused_wait(
        me_.number, trace_kind::wait_memory,
        what_.is_lock ? accounts::wait_state::lock : accounts::wait_state::late_signal,
        std::span(keys).first(count));
  }
  counted_wait(const counted_wait&) = delete;
  counted_wait& operator=(const counted_wait&) = delete;

 private:
  const pe_state& me_;
  const waited_word& what_;
};

}  // namespace

void check_comparison(int comparison) {
  if (comparison < SHMEM_CMP_EQ || comparison > SHMEM_CMP_LE)
    fail("cmp is {}: pass SHMEM_CMP_EQ, _NE, _GT, _GE, _LT or _LE", comparison);
}

void check_words(pe_state& me, const void* words, std::size_t count, std::size_t element) {
  check_symmetric(me, count == 1 ? "ivar" : "ivars", words, checked_bytes(count, element));
}

void wait_for_memory(pe_state& me, const char* call, const waited_word& what,
                     bool (*over)(const void* subject) noexcept, const void* subject) {
  send_all_gathered(me, call);
  tell_handled(me);
  const waited_words words(me, what);
  wait_description said{call};
  said.context = wait_description::in_words;
  said.subject = static_cast<const detail::wait_words*>(&words);
  std::optional<counted_wait> counted;
  if (tracing() && !detail::goes_on_beside(*me.rank.home) && !over(subject))
    counted.emplace(me, call, what);
  me.memory->wait_until([over, subject]() noexcept { return over(subject); }, said);
  me.looks = 0;
}

std::uint64_t signal_wait_until(const char* call, std::uint64_t* signal_address, int comparison,
                                std::uint64_t value) {
  return wait_until_word(call, signal_address, comparison, value);
}

}  // namespace weft::shmem
