// MPI_Pack_external and MPI_Unpack_external: "external32", the representation that all machines share
// (MPI 4.1 section 14.5.2). Data are packed in the order of the datatype first, and their basic
// elements, whose sequence the datatype knows, are converted one by one.
#include "mpi/datatype/external.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "mpi/datatype/data.hpp"
#include "mpi/datatype/datatype_elements.hpp"
#include "mpi/datatype/packed_part.hpp"
#include "mpi/object/profiling.hpp"

namespace weft::mpi {
namespace {

using namespace detail;

// How a basic datatype is stored: as `units` numbers of so many bytes, here and there.
struct representation {
  std::size_t units = 1;
  std::size_t here = 0;
  std::size_t there = 0;
};

bool is_any_of(const datatype_object& type, std::initializer_list<MPI_Datatype> list) {
  return std::ranges::any_of(list, [&](MPI_Datatype t) { return find_predefined(t) == &type; });
}

representation representation_of(const datatype_object& basic) {
  if (is_any_of(basic, {MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
                        MPI_CXX_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX4,
                        MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32, MPI_C_LONG_DOUBLE_COMPLEX,
                        MPI_CXX_LONG_DOUBLE_COMPLEX}))
    return {2, basic.size / 2, basic.size / 2};
  if (is_any_of(basic, {MPI_LONG, MPI_UNSIGNED_LONG})) return {1, basic.size, 4};
  if (is_any_of(basic, {MPI_WCHAR})) return {1, basic.size, 2};
  return {1, basic.size, basic.size};
}

// Long doubles are those of IEEE with 128 bits there.
bool is_long_double(const datatype_object& basic) {
  return is_any_of(basic,
                   {MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX});
}
__extension__ typedef __float128 quad;

// One number, whose least significant byte comes first here and last there. Bytes that one side
// lacks are zero, or lost.
void to_external(std::byte* out, const std::byte* in, const representation& r, bool long_double) {
  std::byte number[16] = {};
  if (long_double) {
    long double value;
    std::memcpy(&value, in, sizeof value);
    const quad wide = value;
    std::memcpy(number, &wide, sizeof wide);
  } else {
    std::memcpy(number, in, r.here);
  }
  std::reverse_copy(number, number + r.there, out);
}
void from_external(std::byte* out, const std::byte* in, const representation& r, bool is_signed,
                   bool long_double) {
  std::byte number[16] = {};
  std::reverse_copy(in, in + r.there, number);
  if (is_signed && (number[r.there - 1] & std::byte{0x80}) != std::byte{0})
    std::fill(number + r.there, number + sizeof number, std::byte{0xff});
  if (long_double) {
    quad wide;
    std::memcpy(&wide, number, sizeof wide);
    const auto value = static_cast<long double>(wide);
    std::memcpy(number, &value, sizeof value);
  }
  std::memcpy(out, number, r.here);
}

// Runs over the basic elements of `count` elements, both representations side by side.
struct conversion {
  std::byte* here;
  std::byte* there;
  bool out;  // From here to there.

  void basic(const datatype_object& type) {
    const representation r = representation_of(type);
    const bool long_double = is_long_double(type);
    for (std::size_t i = 0; i < r.units; ++i) {
      if (out)
        to_external(there, here, r, long_double);
      else
        from_external(here, there, r, is_any_of(type, {MPI_LONG}), long_double);
      here += r.here;
      there += r.there;
    }
  }
  void elements(const datatype_object& type, std::uint64_t count) {
    if (type.size == 0) return;
    for (std::uint64_t i = 0; i < count; ++i)
      if (type.basic_count == 1 && type.made == nullptr)
        basic(type);
      else
        whole(type);
  }
  void whole(const datatype_object& type) {
    const std::byte* const end = here + type.size;
    while (here < end)
      for (const part& p : parts_of(type)) elements(*p.type, p.count);
  }
};

std::size_t external_size(const datatype_object& type) {
  if (type.size == 0) return 0;
  if (type.basic_count == 1 && type.made == nullptr) {
    const representation r = representation_of(type);
    return r.units * r.there;
  }
  std::size_t one_round = 0;
  std::size_t here = 0;
  for (const part& p : parts_of(type)) {
    one_round += external_size(*p.type) * p.count;
    here += p.type->size * p.count;
  }
  return one_round * (type.size / here);
}

void check_representation(const char* name) {
  check_not_null(name, "datarep");
  if (std::string_view(name) != "external32")
    fail(MPI_ERR_ARG, "data representation \"{}\": only \"external32\" is known", printable(name));
}

constexpr const char* asks_size = "MPI_Pack_external_size";

template <class Position>
void pack(const char* name, const void* in, MPI_Count count, MPI_Datatype datatype, void* out,
          MPI_Count size, Position* position) {
  check_representation(name);
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const auto elements = static_cast<std::size_t>(count);
  const std::size_t bytes = bytes_of(count, type);
  std::byte* const to =
      next_part(out, size, position, external_size(type) * elements, asks_size).data();
  const auto packed = std::make_unique<std::byte[]>(bytes);
  with_data(in, count, type, [&](const auto& data) { copy_out(packed.get(), data); });
  conversion{packed.get(), to, true}.elements(type, elements);
}

template <class Position>
void unpack(const char* name, const void* in, MPI_Count size, Position* position, void* out,
            MPI_Count count, MPI_Datatype datatype) {
  check_representation(name);
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const auto elements = static_cast<std::size_t>(count);
  const std::size_t bytes = bytes_of(count, type);
  std::byte* const from =
      next_part(in, size, position, external_size(type) * elements, asks_size).data();
  const auto packed = std::make_unique<std::byte[]>(bytes);
  conversion{packed.get(), from, false}.elements(type, elements);
  const byte_view data(packed.get(), bytes);
  operation whole;  // Of a receive into the program's memory.
  with_data(out, count, type, [&](const auto& room) {
    set_memory(whole, room);
    fill(whole, data);
  });
}

template <class Size>
void tell_size(const char* name, MPI_Count count, MPI_Datatype datatype, Size* size) {
  check_representation(name);
  check_count(count);
  check_not_null(size, "size");
  *size = told_size<Size>(count, external_size(checked_datatype(datatype)));
}

}  // namespace

std::size_t external32_size(const datatype_object& type) {
  return external_size(type);
}
void to_external32(std::byte* there, const std::byte* here, const datatype_object& type,
                   std::size_t elements) {
  conversion{const_cast<std::byte*>(here), there, true}.elements(type, elements);
}
void from_external32(std::byte* here, const std::byte* there, const datatype_object& type,
                     std::size_t elements) {
  conversion{here, const_cast<std::byte*>(there), false}.elements(type, elements);
}

}  // namespace weft::mpi

using namespace weft::mpi;

#define PACK(name, number, size)                                                             \
  WEFT_MPI_FUNCTION(int, name,                                                               \
                    (const char* datarep, const void* inbuf, number incount,                 \
                     MPI_Datatype datatype, void* outbuf, size outsize, size* position)) {   \
    return in_call(                                                                          \
        #name, MPI_COMM_SELF,                                                                \
        [&](state&) { pack(datarep, inbuf, incount, datatype, outbuf, outsize, position); }, \
        datarep, inbuf, incount, datatype, outbuf, outsize, position);                       \
  }
PACK(MPI_Pack_external, int, MPI_Aint)
PACK(MPI_Pack_external_c, MPI_Count, MPI_Count)

#define UNPACK(name, number, size)                                                             \
  WEFT_MPI_FUNCTION(int, name,                                                                 \
                    (const char* datarep, const void* inbuf, size insize, size* position,      \
                     void* outbuf, number outcount, MPI_Datatype datatype)) {                  \
    return in_call(                                                                            \
        #name, MPI_COMM_SELF,                                                                  \
        [&](state&) { unpack(datarep, inbuf, insize, position, outbuf, outcount, datatype); }, \
        datarep, inbuf, insize, position, outbuf, outcount, datatype);                         \
  }
UNPACK(MPI_Unpack_external, int, MPI_Aint)
UNPACK(MPI_Unpack_external_c, MPI_Count, MPI_Count)

#define PACK_SIZE(name, number, size)                                                            \
  WEFT_MPI_FUNCTION(int, name,                                                                   \
                    (const char* datarep, number incount, MPI_Datatype datatype, size* bytes)) { \
    return in_call(                                                                              \
        #name, MPI_COMM_SELF, [&](state&) { tell_size(datarep, incount, datatype, bytes); },     \
        datarep, incount, datatype, bytes);                                                      \
  }
PACK_SIZE(MPI_Pack_external_size, int, MPI_Aint)
PACK_SIZE(MPI_Pack_external_size_c, MPI_Count, MPI_Count)
