// What an MPI_Session stands for. A session is this rank's own affair: nobody else knows of it.
#pragma once
#include <cstdint>
#include <string>

#include "mpi/object/handles.hpp"
#include "mpi/object/info.hpp"

namespace weft::mpi {

struct state;

// A buffer of MPI_Buffer_attach and its kin. Its memory is not used; buffered sends that wait are counted against its size.
struct attached_buffer {
  void* address = nullptr;
  MPI_Count size = 0;
  [[nodiscard]] bool is_attached() const noexcept {
    return size != 0 || address == MPI_BUFFER_AUTOMATIC;
  }
};

// Objects name the session that they come of by its number; those of MPI_Init have this one.
inline constexpr std::uint32_t no_session = 0;

struct session_object : object {
  using handle = MPI_Session;
  static constexpr object_kind own_kind = object_kind::session;

  std::uint32_t number = no_session;  // Of each session another.
  int thread_level = MPI_THREAD_SINGLE;
  std::string memory_kinds;
  MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
  attached_buffer buffer;
};

[[nodiscard]] session_object& checked_session(MPI_Session session);
// The session with this number; null when it has been finalised, and for no_session.
[[nodiscard]] session_object* find_session(state& me, std::uint32_t number);
// Sets the info key mpi_memory_alloc_kinds: the kinds of memory that objects of a session, or of MPI_Init, take. MPI 5.0,
// section 11.4.3.
void tell_memory_kinds(state& me, std::uint32_t session, info_object& info);

}  // namespace weft::mpi
