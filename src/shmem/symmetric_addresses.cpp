#include "shmem/symmetric_addresses.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::shmem {
namespace {

std::uintptr_t distance(const rma::region& in, const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) -
         reinterpret_cast<std::uintptr_t>(in.own().data());
}
bool lies_in(const rma::region& in, const void* address, std::size_t bytes) noexcept {
  const std::uintptr_t at = distance(in, address);
  return at < in.own().size() && bytes <= in.own().size() - at;
}

void check_same(const rma::region& one, const char* what, const char* remedy) {
  if (one.is_uniform()) return;
  for (int pe = 0; pe < one.size(); ++pe)
    if (one.extent_of(pe).bytes != one.own().size())
      throw error(formatted("PE {} has {} bytes of {} and PE {} has {}: {}", one.rank(),
                            one.own().size(), what, pe, one.extent_of(pe).bytes, remedy));
}

}  // namespace

void symmetric_addresses::set(const rma::region& heap, std::vector<const rma::region*> globals) {
  check_same(heap, "symmetric heap", "all must ask for the same");
  for (const rma::region* const one : globals)
    check_same(*one, "globals", "all must run the same program");
  heap_ = &heap;
  heap_begin_ = reinterpret_cast<std::uintptr_t>(heap.own().data());
  heap_bytes_ = heap.own().size();
  heap_bases_ = heap.bases();
  globals_ = std::move(globals);
}

rma::location symmetric_addresses::find_global(const void* address, std::size_t bytes,
                                               int pe) const noexcept {
  for (const rma::region* const one : globals_)
    if (lies_in(*one, address, bytes)) return {one, pe, distance(*one, address)};
  return {nullptr, pe, 0};
}

std::byte* symmetric_addresses::reached_global(const void* address, std::size_t bytes,
                                               int pe) const noexcept {
  for (const rma::region* const one : globals_) {
    if (!lies_in(*one, address, bytes)) continue;
    std::byte* const base = one->bases()[pe];
    return base != nullptr ? base + distance(*one, address) : nullptr;
  }
  return nullptr;
}

std::uint64_t symmetric_addresses::name_of(const void* address) const noexcept {
  // Numbers of parts differ between PEs: other regions have numbers, too.
  constexpr int offset_bits = 48;
  const rma::location found = find(address, 1, 0);
  if (found.in == nullptr) return ~std::uint64_t{0};
  const auto at = std::ranges::find(globals_, found.in);
  const auto index =
      found.in == heap_ ? std::uint64_t{0} : static_cast<std::uint64_t>(at - globals_.begin()) + 1;
  return index << offset_bits | found.offset;
}

}  // namespace weft::shmem
