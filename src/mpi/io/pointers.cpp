// Individual and shared file pointers, in etypes of the view.
#include "mpi/io/access.hpp"

namespace weft::mpi {

std::uint64_t end_position(state& me, file_state& f, const char* call) {
  std::uint64_t bytes = 0;
  run_on_file(me, f, call, [&] { return f.file->size(bytes); });
  const std::uint64_t data = f.view->data_before(bytes);
  return (data + f.view->element_bytes() - 1) / f.view->element_bytes();
}

std::uint64_t position_after_seek(state& me, file_state& f, MPI_Offset offset, int whence,
                                  std::uint64_t current, const char* call) {
  std::uint64_t from = 0;
  switch (whence) {
    case MPI_SEEK_SET:
      break;
    case MPI_SEEK_CUR:
      from = current;
      break;
    case MPI_SEEK_END:
      from = end_position(me, f, call);
      break;
    default:
      fail(MPI_ERR_ARG, "whence is {}, which is none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END",
           whence);
  }
  MPI_Offset to = 0;
  if (__builtin_add_overflow(static_cast<MPI_Offset>(from), offset, &to) || to < 0)
    fail(MPI_ERR_ARG, "offset {} from {} on leads to before the begin of the view",
         static_cast<long>(offset), from);
  return static_cast<std::uint64_t>(to);
}

namespace {

void refuse_sequential(const file_state& f) {
  if ((f.amode & MPI_MODE_SEQUENTIAL) != 0)
    fail(MPI_ERR_UNSUPPORTED_OPERATION,
         "the file is open with MPI_MODE_SEQUENTIAL: only the functions with a shared pointer go");
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_File_seek, (MPI_File fh, MPI_Offset offset, int whence)) {
  return in_file_call(
      "MPI_File_seek", fh,
      [&](state& me, file_state& f) {
        refuse_sequential(f);
        f.position = position_after_seek(me, f, offset, whence, f.position, "MPI_File_seek");
      },
      static_cast<long>(offset), whence);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_position, (MPI_File fh, MPI_Offset* offset)) {
  return in_file_call("MPI_File_get_position", fh, [&](state&, file_state& f) {
    check_not_null(offset, "offset");
    refuse_sequential(f);
    *offset = static_cast<MPI_Offset>(f.position);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_get_byte_offset,
                  (MPI_File fh, MPI_Offset offset, MPI_Offset* disp)) {
  return in_file_call(
      "MPI_File_get_byte_offset", fh,
      [&](state&, file_state& f) {
        check_not_null(disp, "disp");
        if (offset < 0) fail(MPI_ERR_ARG, "offset {} is negative", static_cast<long>(offset));
        *disp = static_cast<MPI_Offset>(
            f.view->offset_of(static_cast<std::uint64_t>(offset) * f.view->element_bytes()));
      },
      static_cast<long>(offset));
}

WEFT_MPI_FUNCTION(int, MPI_File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence)) {
  return in_file_call(
      "MPI_File_seek_shared", fh,
      [&](state& me, file_state& f) {
        const file_turn turn(me, f, "MPI_File_seek_shared");
        agree_on(f.ranks(), {}, static_cast<std::uint64_t>(whence), "whence");
        agree_on(f.ranks(), {}, static_cast<std::uint64_t>(offset), "the offset");
        contribution_of_rank mine;
        if (f.own() == 0)
          mine.note([&] {
            std::uint64_t current = 0;
            run_on_file(me, f, "MPI_File_seek_shared", [&] { return f.pointer->get(current); });
            const std::uint64_t to =
                position_after_seek(me, f, offset, whence, current, "MPI_File_seek_shared");
            run_on_file(me, f, "MPI_File_seek_shared", [&] { return f.pointer->set(to); });
          });
        agree(f.ranks(), mine);
      },
      static_cast<long>(offset), whence);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_position_shared, (MPI_File fh, MPI_Offset* offset)) {
  return in_file_call("MPI_File_get_position_shared", fh, [&](state& me, file_state& f) {
    check_not_null(offset, "offset");
    std::uint64_t position = 0;
    run_on_file(me, f, "MPI_File_get_position_shared", [&] { return f.pointer->get(position); });
    *offset = static_cast<MPI_Offset>(position);
  });
}
