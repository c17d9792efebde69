// The file that the kernel has started as this process: where ranks share it, weft-host.
#pragma once
#include <string>

namespace weft {

// Its absolute path; empty when the kernel does not say. By the system call, since programs of ranks that ask the C library
// are told of their own file.
[[nodiscard]] std::string own_executable();

}  // namespace weft
