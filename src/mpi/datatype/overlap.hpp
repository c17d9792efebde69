// In a checked job: finds memory that a call may not use. Of what a call both sends from and receives into only bytes in
// a row are compared: layouts may interleave without overlap.
#pragma once
#include "collective/exchange.hpp"
#include "mpi/object/state.hpp"
#include "rank/request_watch.hpp"

namespace weft::mpi {

// Adds a finding when the two overlap.
void note_overlap(state& me, const char* call, const detail::parts& given,
                  const detail::parts& taken);

// Null unless the job is checked and has one process.
[[nodiscard]] inline diagnosis::race_watch* races_of(const state& me) noexcept {
  return me.rank.watch == nullptr ? nullptr : me.rank.watch->races();
}

// Adds a finding when memory that a call without a request reads or writes is that of an active request, or when what it
// writes overlaps itself (rank/request_watch.hpp). What a non-blocking collective uses is noted for it.
void note_use(state& me, const char* call, const detail::segments& memory, bool writes);
void note_use(state& me, const char* call, const detail::parts& all, bool writes);
// Of a non-blocking collective that has not been started, or has taken what was noted for it.
[[gnu::cold]] void forget_uses(state& me) noexcept;
// The call has written to memory that other ranks may reach.
void note_written(state& me, const char* call, const detail::segments& memory);

// The part of a buffer with a contiguous datatype.
[[nodiscard]] inline detail::parts one_part(const void* buffer, MPI_Count count,
                                            const datatype_object& type) {
  detail::parts p{0, 1};
  p.base = static_cast<std::byte*>(const_cast<void*>(buffer));  // It is not written.
  p.bytes = bytes_of(count, type);
  return p;
}

}  // namespace weft::mpi
