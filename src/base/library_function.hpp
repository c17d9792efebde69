// Functions of libraries that are loaded when they are first needed.
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

}  // namespace weft
