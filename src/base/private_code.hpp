// Whose code a function is: a program's, of which each rank has a copy of its own, or one that all ranks of the
// process share.
#pragma once
#include <string>

namespace weft {

// Called by any thread: of this file, a program or a library, ranks have copies of their own.
void note_private_file(const std::string& path);
// Called by any thread: whether the code at `address` is of such a copy. Async-signal-safe. About 50 ns.
[[nodiscard]] bool is_private_code(const void* address) noexcept;
// The program that is in this place is weft's, which its library does not see by itself.
void note_code_of_weft(const void* address) noexcept;
// Whether it is weft's own: of the library or program that this function is in, or the noted one. Async-signal-safe.
[[nodiscard]] bool is_code_of_weft(const void* address) noexcept;
// Whether it is the C library's, or the loader's, which have locks that all ranks of the process take. Async-signal-safe.
[[nodiscard]] bool is_code_of_libc(const void* address) noexcept;
// Whether it is of C++'s own library, which does for its callers what they ask for and keeps no lock meanwhile.
[[nodiscard]] bool is_code_of_cplusplus(const void* address) noexcept;

}  // namespace weft
