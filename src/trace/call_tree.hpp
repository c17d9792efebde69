// The paths of calls that a process has seen, as a tree: of two paths that begin alike the beginning is one. Each has a number,
// which events carry in place of the path.
#pragma once
#include <cstdint>

namespace weft::call_tree {

// The last call of a path, and the number of the path that led to its caller; 0: none is known.
struct call {
  std::uintptr_t address = 0;
  std::uint32_t caller = 0;
};

// The number of the path that ends with this call; 0: the tree is full. Any thread.
[[nodiscard]] std::uint32_t add(const call& last);
// The last call of the path that has this number.
[[nodiscard]] call at(std::uint32_t path) noexcept;

}  // namespace weft::call_tree
