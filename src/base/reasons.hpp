// Why the system has refused something, with the limit of the process that was reached and how to raise it.
#pragma once
#include <string>

namespace weft {

// Of an error number: "Too many open files: the limit (ulimit -n) is 16".
[[nodiscard]] std::string reason_with_limit(int error_number);

// Of memory that could not be mapped: "the limit on virtual memory (ulimit -v) is 200000 KiB"; empty where there is none.
[[nodiscard]] std::string limit_of_memory();

}  // namespace weft
