// What weft keeps in an MPI_Status beside the members that programs see.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/mpi.h"
#include "weft/communicator.hpp"

namespace weft::mpi {

// The words of MPI_internal that hold the bytes of the message, and whether it was cancelled.
inline constexpr std::size_t status_bytes_word = 0;
inline constexpr std::size_t status_cancelled_word = 2;

[[nodiscard]] inline std::uint64_t bytes_of_status(const MPI_Status& s) noexcept {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, &s.MPI_internal[status_bytes_word], sizeof bytes);
  return bytes;
}
inline void set_status_bytes(MPI_Status& s, std::uint64_t bytes) noexcept {
  std::memcpy(&s.MPI_internal[status_bytes_word], &bytes, sizeof bytes);
}

// Sets all members but MPI_ERROR: only calls that complete several requests set that, and empty statuses have it. The
// status may be MPI_STATUS_IGNORE.
inline void set_status(MPI_Status* s, int source, int tag, std::uint64_t bytes,
                       bool cancelled = false) noexcept {
  if (s == MPI_STATUS_IGNORE) return;
  s->MPI_SOURCE = source;
  s->MPI_TAG = tag;
  set_status_bytes(*s, bytes);
  s->MPI_internal[status_cancelled_word] = cancelled ? 1 : 0;
}
// The status of MPI_REQUEST_NULL, of an inactive request, and of a send.
inline void set_empty_status(MPI_Status* s) noexcept {
  set_status(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = MPI_SUCCESS;
}
// The status of a message to or from MPI_PROC_NULL.
inline void set_null_status(MPI_Status* s) noexcept {
  set_status(s, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

}  // namespace weft::mpi
