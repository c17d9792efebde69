// Why a rank waits, by the names that the field has given them: all that is known of a state stands in one row of
// wait_states.inc. The enumeration is made of the rows, so that a state without a row, or a row without a field, does not compile.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::profile {

enum class wait_state : std::uint8_t {
#define WEFT_WAIT_STATE(state, ...) state,
#include "profile/wait_states.inc"
#undef WEFT_WAIT_STATE
};

// A field without a default: a row must give it.
template <class T>
struct required {
  T value;
  // Implicit: rows give plain values.
  consteval required(T given) : value(given) {}
};

struct wait_state_row {
  required<const char*> name;    // Reports and files for other programs have it.
  required<const char*> waits;   // Who waits, in Markdown.
  required<const char*> until;   // What ends the wait, in Markdown.
  required<bool> blames;         // Whether another rank has caused it.
  required<const char*> advice;  // What to do about it, or no_advice.
};
inline constexpr const char* no_advice = "";

inline constexpr std::array wait_states{
#define WEFT_WAIT_STATE(state, ...) wait_state_row{__VA_ARGS__},
#include "profile/wait_states.inc"
#undef WEFT_WAIT_STATE
};
inline constexpr int wait_state_count = wait_states.size();

[[nodiscard]] constexpr const wait_state_row& row_of(wait_state state) noexcept {
  return wait_states[static_cast<std::size_t>(state)];
}

// Texts are there, names differ, and an advice says who waits, and for whom where the state blames somebody.
consteval bool wait_states_are_complete() {
  for (const wait_state_row& one : wait_states) {
    const std::string_view name = one.name.value, advice = one.advice.value;
    if (name.empty() || *one.waits.value == '\0' || *one.until.value == '\0') return false;
    if (!advice.empty() && !advice.starts_with("{waits}")) return false;
    if (!advice.empty() && one.blames.value != (advice.find("{cause}") != advice.npos))
      return false;
    int of_this_name = 0;
    for (const wait_state_row& other : wait_states) of_this_name += name == other.name.value;
    if (of_this_name != 1) return false;
  }
  return true;
}
static_assert(wait_states_are_complete());

}  // namespace weft::profile
