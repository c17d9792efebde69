// Globals of a rank as pages that other processes map: the pages of the program's writable segment are replaced by pages
// of the arena, at the same addresses. What only the loader writes (RELRO) stays as it is, and others see a copy of it.
//
// A process that the program forks must not write into its parent's globals: fork() gives the child pages of its own
// with what the rank's globals held when it was called. A child of vfork() or posix_spawn() shares all memory anyhow; one
// of a bare clone system call is not seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::rma {

// Bytes of whole pages in which the range lies.
[[nodiscard]] std::size_t bytes_of_pages(std::span<const std::byte> range) noexcept;
[[nodiscard]] std::size_t offset_in_page(const void* address) noexcept;

// Moves a writable segment of a loaded program or library into the file, from that offset on; `owner` is the rank whose
// forks are watched, null: any. False: the kernel refuses, or the segment holds state of weft's own, and nothing has
// changed. Called while no other thread writes the segment.
[[nodiscard]] bool move_statics(std::span<std::byte> segment, int file, std::uint64_t offset,
                                const void* owner) noexcept;
// The file is about to be closed: children that are forked later share what lies in it.
void forget_statics_in(int file) noexcept;

}  // namespace weft::rma
