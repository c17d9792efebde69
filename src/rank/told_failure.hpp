// What ranks are told of a collective that has failed on another one.
#pragma once
#include <string>

#include "rank/state.hpp"
#include "weft/error.hpp"

namespace weft::detail {

// A failure with a number above 0 by which a face knows its kind: the others get that, too.
class coded_error : public error {
 public:
  coded_error(const std::string& text, int code) : error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// Of the exception that is handled now, on `rank` in `call`: for note_failure() and break_communicator(). Each
// reader names the rank as its own face does.
[[nodiscard]] std::string told_failure(const communicator_state& c, int rank,
                                       const collective_call& call);

}  // namespace weft::detail
