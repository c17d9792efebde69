// What ranks are told of a collective that has failed on another one.
#pragma once
#include <exception>
#include <string>

#include "weft/error.hpp"

namespace weft::detail {

struct collective_call;
struct communicator_state;

// Kinds of failure that a face tells apart; numbers above 0 are its own.
enum failure_code : int {
  no_code = 0,
  lengths_differ = -1,  // A rank gives more or fewer bytes than another one takes.
  calls_differ = -2,    // Ranks of a communicator call different collectives.
  no_memory = -3,
  process_died = -4,
  revoked = -5,  // The communicator is revoked.
};

// A failure of such a kind: the others get it with the same code.
class coded_error : public error {
 public:
  coded_error(const std::string& text, int code) : error(text), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// The code of any exception: process_died for what a message to a dead process throws.
[[nodiscard]] int code_of(const std::exception& e) noexcept;

// Of the exception that is handled now, on `rank` in `call`: for note_failure() and break_communicator(). Each
// reader names the rank as its own face does.
[[nodiscard]] std::string peer_failure(const communicator_state& c, int rank,
                                       const collective_call& call);
// The same, of calls that differ: `text` names the ranks.
[[nodiscard]] std::string encoded_mismatch(const std::string& text);

}  // namespace weft::detail
