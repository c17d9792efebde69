// WEFT_ASSERT(condition): a bug in weft itself. Always on, one condition each; prints place and
// expression and aborts. Misuse by a program is a weft::error, never an assertion.
#pragma once

namespace weft {

[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* expression,
                                                             const char* file, int line) noexcept;

}  // namespace weft

#define WEFT_ASSERT(condition) \
  ((condition) ? void() : ::weft::assertion_failed(#condition, __FILE__, __LINE__))
