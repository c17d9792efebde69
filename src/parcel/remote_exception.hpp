// Exceptions of actions: what of one travels, and what is made of that in the locality that called.
#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "parcel/wire.hpp"
#include "weft/parcels/call.hpp"

namespace weft::detail {

struct failure_description {
  failure_words words;
  std::string type;
  std::string text;
  std::string category;
  // Returns a line for a report.
  [[nodiscard]] std::string line() const;
};
// Describes the exception that is being handled.
[[nodiscard]] failure_description described_exception();

// Makes an exception that is of that type of the standard, and a remote_error. The words are not believed.
[[nodiscard]] std::exception_ptr remote_exception_of(const failure_words& words, std::string type,
                                                     std::string text, std::string_view category,
                                                     locality from, std::string action);

}  // namespace weft::detail
