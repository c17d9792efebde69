// MPI_Pack and MPI_Unpack: bytes in the order of the datatype, without anything added.
#include "mpi/datatype/data.hpp"
#include "mpi/datatype/packed_part.hpp"
#include "mpi/object/profiling.hpp"

namespace weft::mpi {
namespace {

using namespace detail;

// Of the two directions that one takes.
void copy(const segments& to, const segments& from) {
  copy_segments(to, from, 0, to.size());
}
segments as_segments(byte_view data) {
  return segments(data);
}
const segments& as_segments(const segments& data) {
  return data;
}

template <class Position>
void pack(const void* in, MPI_Count count, MPI_Datatype datatype, void* out, MPI_Count size,
          Position* position) {
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const byte_view room = next_part(out, size, position, bytes_of(count, type), "MPI_Pack_size");
  with_data(in, count, type, [&](const auto& data) { copy(segments(room), as_segments(data)); });
}

template <class Position>
void unpack(const void* in, MPI_Count size, Position* position, void* out, MPI_Count count,
            MPI_Datatype datatype) {
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const byte_view data = next_part(in, size, position, bytes_of(count, type), "MPI_Pack_size");
  with_data(out, count, type, [&](const auto& room) { copy(as_segments(room), segments(data)); });
}

template <class Size>
void tell_size(MPI_Count count, MPI_Datatype datatype, Size* size) {
  check_count(count);
  check_not_null(size, "size");
  *size = told_size<Size>(count, checked_datatype(datatype).size);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define PACK(name, number)                                                                   \
  WEFT_MPI_FUNCTION(int, name,                                                               \
                    (const void* inbuf, number incount, MPI_Datatype datatype, void* outbuf, \
                     number outsize, number* position, MPI_Comm comm)) {                     \
    return in_call(                                                                          \
        #name, comm,                                                                         \
        [&](state& me) {                                                                     \
          (void)checked_communicator(me, comm);                                              \
          pack(inbuf, incount, datatype, outbuf, outsize, position);                         \
        },                                                                                   \
        inbuf, incount, datatype, outbuf, outsize, position, comm);                          \
  }
PACK(MPI_Pack, int)
PACK(MPI_Pack_c, MPI_Count)

#define UNPACK(name, number)                                                           \
  WEFT_MPI_FUNCTION(int, name,                                                         \
                    (const void* inbuf, number insize, number* position, void* outbuf, \
                     number outcount, MPI_Datatype datatype, MPI_Comm comm)) {         \
    return in_call(                                                                    \
        #name, comm,                                                                   \
        [&](state& me) {                                                               \
          (void)checked_communicator(me, comm);                                        \
          unpack(inbuf, insize, position, outbuf, outcount, datatype);                 \
        },                                                                             \
        inbuf, insize, position, outbuf, outcount, datatype, comm);                    \
  }
UNPACK(MPI_Unpack, int)
UNPACK(MPI_Unpack_c, MPI_Count)

#define PACK_SIZE(name, number)                                                              \
  WEFT_MPI_FUNCTION(int, name,                                                               \
                    (number incount, MPI_Datatype datatype, MPI_Comm comm, number * size)) { \
    return in_call(                                                                          \
        #name, comm,                                                                         \
        [&](state& me) {                                                                     \
          (void)checked_communicator(me, comm);                                              \
          tell_size(incount, datatype, size);                                                \
        },                                                                                   \
        incount, datatype, comm, size);                                                      \
  }
PACK_SIZE(MPI_Pack_size, int)
PACK_SIZE(MPI_Pack_size_c, MPI_Count)
