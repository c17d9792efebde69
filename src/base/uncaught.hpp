// Reports an exception that a call will not catch before the stack unwinds: a destructor may throw, hang or end the
// process, and the reason would be lost.
#pragma once
#include <exception>
#include <string>
#include <typeinfo>

namespace weft {

struct exception_watch {
  void (*call)(void* argument);
  void* argument;
  // Called where the exception was thrown. `e` is null when it is no std::exception; `type` is the type that was
  // thrown. It waits for nothing.
  void (*seen)(void* argument, const std::exception* e, const std::type_info& type);
};

// Runs watch.call(watch.argument) and lets its exceptions pass. On unknown processors `seen` is not called: the
// catcher of the exception must be able to do without.
void call_watched(const exception_watch& watch);

// The text of an exception without trailing newlines; its type when the text is empty.
[[nodiscard]] std::string text_of(const std::exception& e);

}  // namespace weft
