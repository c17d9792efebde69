// How a function returns in whose own frame a switch happened, such as a call that waits.
//
// The processor predicts a return by the latest call. After a switch that is a call of the flow that left, so the
// return to the caller of the flow that goes on is mispredicted, unless both are at the same place: 5 ns. It predicts
// an indirect jump by where such jumps went before, which works well here. So a function marked WEFT_RETURNS_BY_JUMP
// leaves by a jump when there was a switch, and by a return when there was none.
#pragma once

#if defined(__x86_64__) && !defined(__CET__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(gnu::function_return)
#define WEFT_MARKS_SWITCHES
#endif
#endif

#if defined(WEFT_MARKS_SWITCHES)
#define WEFT_RETURNS_BY_JUMP [[gnu::function_return("thunk-extern")]]
// Whether the thread has switched since its last return of that kind. The assembly in returning.cpp reads it by this
// name.
extern "C" {
[[gnu::tls_model("initial-exec"),
  gnu::visibility("hidden")]] extern thread_local constinit bool weft_has_switched;
}
#else
#define WEFT_RETURNS_BY_JUMP
#endif

namespace weft {

inline void note_switch() noexcept {
#if defined(WEFT_MARKS_SWITCHES)
  weft_has_switched = true;
#endif
}

}  // namespace weft
