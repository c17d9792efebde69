// Functions that are looked up at run time: those of libraries that are loaded on demand, and those of the C library
// that weft replaces.
#pragma once
#include <dlfcn.h>

#include <string_view>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {

// Throws weft::error when the library does not have the function. `name` is the library's name for people.
template <class Function>
void find_function(void* library, std::string_view name, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  if (function == nullptr) throw error(formatted("{} has no function {}", name, symbol));
}

// The next definition of this function behind the caller's (RTLD_NEXT). Null in a program that is linked statically.
template <class Function>
Function* next_definition(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace weft
