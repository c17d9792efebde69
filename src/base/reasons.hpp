// Why the system has refused something, with the limit of the process that was reached and how to raise it.
#pragma once
#include <string>

namespace weft {

// The text of an error number: "Too many open files: the limit (ulimit -n) is 16".
[[nodiscard]] std::string reason_with_limit(int error_number);

// Why memory could not be mapped: "the limit on virtual memory (ulimit -v) is 200000 KiB"; empty when there is no
// limit.
[[nodiscard]] std::string limit_of_memory();

}  // namespace weft
