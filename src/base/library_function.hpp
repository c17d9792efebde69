// Functions that are looked up while the program runs: of libraries that are loaded when they are first needed, and of
// the C library where one of weft stands before them.
#pragma once
#include <dlfcn.h>

#include <string_view>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {

// Throws weft::error when the library, which `name` calls for people, does not have it.
template <class Function>
void find_function(void* library, std::string_view name, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, symbol));
  if (function == nullptr) throw error(formatted("{} has no function {}", name, symbol));
}

// The function of this name behind the one that asks. Null in a program that is linked statically.
template <class Function>
Function* next_definition(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace weft
