// How a function returns in whose own frame flows of control switch, such as the call that waits.
//
// The processor keeps the addresses of calls and takes the latest for the next return. After a switch
// that is the call of the flow that left, so the return to the caller of the one that goes on is
// predicted wrongly, unless both stand at the same place: 5 ns. Where a jump goes it predicts from
// where such jumps went before, and that it does well. So a function marked
// WEFT_RETURNS_BY_JUMP leaves by a jump when there was a switch, and by a return, as the processor
// expects, when there was none.
#pragma once

#if defined(__x86_64__) && !defined(__CET__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(gnu::function_return)
#define WEFT_MARKS_SWITCHES
#endif
#endif

#if defined(WEFT_MARKS_SWITCHES)
#define WEFT_RETURNS_BY_JUMP [[gnu::function_return("thunk-extern")]]
// Since the thread's last return of that kind. A name for assembly: returning.cpp.
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
