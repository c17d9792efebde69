// Whether code belongs to a copy of a program that one rank has, or is shared by all ranks of the process.
#pragma once
#include <string>

namespace weft {

// Notes that ranks have copies of their own of this file, a program or a library. Called by any thread.
void note_private_file(const std::string& path);
// Whether the code at `address` belongs to such a copy. Called by any thread. Async-signal-safe.
[[nodiscard]] bool is_private_code(const void* address) noexcept;
// Notes that the program or library at `address` is weft's: is_code_of_weft() does not see that by itself.
void note_code_of_weft(const void* address) noexcept;
// Whether the code is weft's: in the file that this function is in, or in the noted one. Async-signal-safe.
[[nodiscard]] bool is_code_of_weft(const void* address) noexcept;
// Whether the code is the C library's or the loader's: these have locks that all ranks of the process take.
// Async-signal-safe.
[[nodiscard]] bool is_code_of_libc(const void* address) noexcept;
// Whether the code is libstdc++'s, which holds no lock while it calls back.
[[nodiscard]] bool is_code_of_cplusplus(const void* address) noexcept;

}  // namespace weft
