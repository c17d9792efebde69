// The bootstrap of a process that weftrun started. It speaks with weftrun, or with its agent on
// this host, over a socket that it inherits. WEFT_JOB has the number of the descriptor and, after a colon,
// how many ranks the process holds.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace weft {

inline constexpr const char* job_variable = "WEFT_JOB";

// Throws weft::error when the descriptor that `value` of WEFT_JOB names is none of weftrun's.
std::unique_ptr<bootstrap> make_local_bootstrap(const char* value);

// True once this process has taken up a connection to weftrun.
bool has_local_connection() noexcept;

}  // namespace weft
