// Throwing has two phases: the unwinder first asks the personality routine of each frame whether it
// handles the exception, and only then runs destructors. The frame below handles nothing; it only
// looks, in the first phase. C++ offers no way to give a function such a routine, so the frame is
// ten instructions of assembler.
#include "base/uncaught.hpp"

#include <unwind.h>

#include <cstddef>
#include <cstring>
#include <typeinfo>

#include "base/stack_trace.hpp"
#include "weft/error.hpp"

#if defined(__x86_64__) || defined(__aarch64__)
#define WEFT_WATCHES_EXCEPTIONS 1
#endif

namespace weft {
namespace {

// What precedes the unwinder's header of a C++ exception (Itanium C++ ABI: Exception Handling,
// 2.2.1); only the first field is used.
struct alignas(_Unwind_Exception) thrown_header {
  const std::type_info* type;  // Of a dependent exception: the object of the primary one.
  void (*destructor)(void*);
  void (*unexpected)();
  void (*terminate)();
  void* next;
  int handler_count;
  int handler_switch_value;
  const unsigned char* action_record;
  const unsigned char* language_data;
  void* catch_temporary;
  void* adjusted;
};

const thrown_header& header_of(const void* unwind_header) {
  return *reinterpret_cast<const thrown_header*>(static_cast<const std::byte*>(unwind_header) -
                                                 sizeof(thrown_header));
}

// What it throws itself would end the process inside the unwinder.
void look(const exception_watch& watch, const _Unwind_Exception& e) noexcept {
  // Eight letters: vendor, "C++", and 0 for a primary exception or 1 for one that was rethrown from
  // an exception_ptr and refers to its primary.
  char kind[sizeof e.exception_class];
  std::memcpy(kind, &e.exception_class, sizeof kind);
  if (std::memcmp(kind + 1, "++C", 3) != 0) return;  // Of another language; big end last.
  const void* object = &e + 1;
  if (kind[0] == 1) {
    object = header_of(&e).type;
    if (object == nullptr) return;
  }
  const std::type_info* const type =
      header_of(static_cast<const std::byte*>(object) - sizeof(_Unwind_Exception)).type;
  void* base = const_cast<void*>(object);
  const bool standard = typeid(std::exception).__do_catch(type, &base, 1);
  try {
    watch.seen(watch.argument, standard ? static_cast<const std::exception*>(base) : nullptr,
               *type);
  } catch (...) {  // No memory for the text: who catches the exception tells it.
  }
}

}  // namespace

#if defined(WEFT_WATCHES_EXCEPTIONS)

extern "C" {

// Where the frame below keeps its watch, counted from its stack pointer.
#if defined(__x86_64__)
inline constexpr std::size_t watch_offset = 0;
#else
inline constexpr std::size_t watch_offset = 16;
#endif

[[gnu::visibility("hidden"), gnu::used]] _Unwind_Reason_Code weft_watch_exception(
    int, _Unwind_Action phase, _Unwind_Exception_Class, _Unwind_Exception* e,
    _Unwind_Context* context) {
  if ((phase & _UA_SEARCH_PHASE) != 0) {
    const exception_watch* watch;
    std::memcpy(&watch, reinterpret_cast<const std::byte*>(_Unwind_GetCFA(context)) + watch_offset,
                sizeof watch);
    look(*watch, *e);
  }
  return _URC_CONTINUE_UNWIND;
}

[[gnu::visibility("hidden")]] void weft_call_watched(void (*call)(void*), void* argument,
                                                     const exception_watch* watch);
}

#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .globl weft_call_watched
  .hidden weft_call_watched
  .type weft_call_watched, @function
weft_call_watched:
  .cfi_startproc
  .cfi_personality 0x1b, weft_watch_exception
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  movq %rdi, %rax
  movq %rsi, %rdi
  call *%rax
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size weft_call_watched, . - weft_call_watched
  .popsection
)");
#else
asm(R"(
  .pushsection .text
  .globl weft_call_watched
  .hidden weft_call_watched
  .type weft_call_watched, %function
weft_call_watched:
  .cfi_startproc
  .cfi_personality 0x1b, weft_watch_exception
  stp x29, x30, [sp, -32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  mov x29, sp
  str x2, [sp, 16]
  mov x3, x0
  mov x0, x1
  blr x3
  ldp x29, x30, [sp], 32
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
  .size weft_call_watched, . - weft_call_watched
  .popsection
)");
#endif

void call_watched(const exception_watch& watch) {
  weft_call_watched(watch.call, watch.argument, &watch);
}

#else

void call_watched(const exception_watch& watch) {
  watch.call(watch.argument);
}

#endif

std::string text_of(const std::exception& e) {
  if (const auto* const more = dynamic_cast<const explained_exception*>(&e); more != nullptr)
    return more->explanation();
  const char* const what = e.what();
  std::string text = what == nullptr ? "" : what;
  text.erase(text.find_last_not_of('\n') + 1);
  if (text.empty())
    text = "an exception of type " + demangled(typeid(e).name()) + ", whose what() is empty";
  return text;
}

}  // namespace weft
