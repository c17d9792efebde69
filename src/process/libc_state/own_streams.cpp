#include "process/libc_state/own_streams.hpp"

#include <ext/stdio_sync_filebuf.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <ostream>
#include <utility>

namespace weft::process {
namespace {

using narrow_buffer = __gnu_cxx::stdio_sync_filebuf<char>;
using wide_buffer = __gnu_cxx::stdio_sync_filebuf<wchar_t>;

// Two slots are the buffers', with those of narrow and wide characters in a slot each.
constexpr std::array<std::string_view, 6> names{"_ZSt4cout",  "_ZSt4cerr",  "_ZSt4clog",
                                                "_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog"};
constexpr std::size_t buffers = names.size();
static_assert(buffers + 2 == own_streams::slots);
static_assert(sizeof(std::ostream) <= own_streams::slot_bytes &&
              sizeof(std::wostream) <= own_streams::slot_bytes);
static_assert(2 * sizeof(narrow_buffer) <= own_streams::slot_bytes &&
              2 * sizeof(wide_buffer) <= own_streams::slot_bytes);

// Output, errors, and log, which has the buffer of errors.
template <class Stream, class Buffer>
void construct(std::byte* streams, std::byte* buffer) {
  auto* const output = new (buffer) Buffer(stdout);
  auto* const errors = new (buffer + sizeof(Buffer)) Buffer(stderr);
  auto* const out = new (streams) Stream(output);
  auto* const err = new (streams + own_streams::slot_bytes) Stream(errors);
  new (streams + 2 * own_streams::slot_bytes) Stream(errors);
  err->setf(std::ios_base::unitbuf);
  err->tie(out);
}

}  // namespace

std::optional<std::uint64_t> own_streams::offset_of(std::string_view symbol) noexcept {
  const auto* const found = std::ranges::find(names, symbol);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - names.begin()) * slot_bytes;
}

void own_streams::begin() {
  if (std::exchange(has_begun_, true)) return;
  construct<std::ostream, narrow_buffer>(bytes_.data(), bytes_.data() + buffers * slot_bytes);
  construct<std::wostream, wide_buffer>(bytes_.data() + 3 * slot_bytes,
                                        bytes_.data() + (buffers + 1) * slot_bytes);
}

}  // namespace weft::process
