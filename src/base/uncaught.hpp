// Sees an exception that a call will not catch while the stack still stands: before any destructor
// runs, which might throw, hang or end the process and take the reason with it.
#pragma once
#include <exception>
#include <string>
#include <typeinfo>

namespace weft {

struct exception_watch {
  void (*call)(void* argument);
  void* argument;
  // Called where the exception was thrown. `e` is null when it is no std::exception; `type` is what
  // was thrown. May wait for nothing.
  void (*seen)(void* argument, const std::exception* e, const std::type_info& type);
};

// Runs watch.call(watch.argument) and lets its exceptions pass. Where the processor is not known
// nothing is seen: whoever catches the exception must be able to do without.
void call_watched(const exception_watch& watch);

// What an exception says, without the ends of lines behind it; of one that says nothing, its type.
[[nodiscard]] std::string text_of(const std::exception& e);

}  // namespace weft
