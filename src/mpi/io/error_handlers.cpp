// Error handlers of files. That of MPI_FILE_NULL is what new files begin with.
#include "mpi/object/error_handler.hpp"

#include "mpi/io/file_state.hpp"

namespace weft::mpi {
namespace {

// The handler of a file, or that of MPI_FILE_NULL.
MPI_Errhandler& handler_of(state& me, MPI_File file) {
  return file == MPI_FILE_NULL ? me.handler_of_no_file : checked_file(file).handler;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_File_create_errhandler,
                  (MPI_File_errhandler_function * file_errhandler_fn, MPI_Errhandler* errhandler)) {
  return in_call("MPI_File_create_errhandler", MPI_FILE_NULL, [&](state& me) {
    check_not_null(errhandler, "errhandler");
    check_not_null(reinterpret_cast<const void*>(file_errhandler_fn), "file_errhandler_fn");
    error_handler_object& made = me.error_handlers.make();
    set_function(made, object_kind::file, file_errhandler_fn);
    *errhandler = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler)) {
  return in_call("MPI_File_set_errhandler", file, [&](state& me) {
    MPI_Errhandler& of_file = handler_of(me, file);
    check_handler_of_files(errhandler);
    hold(errhandler);
    release(me, of_file);
    of_file = errhandler;
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler)) {
  return in_call("MPI_File_get_errhandler", file, [&](state& me) {
    check_not_null(errhandler, "errhandler");
    const MPI_Errhandler of_file = handler_of(me, file);
    hold(of_file);  // The program frees what it gets.
    *errhandler = of_file;
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_call_errhandler, (MPI_File fh, int errorcode)) {
  return in_call("MPI_File_call_errhandler", fh, [&](state& me) {
    const MPI_Errhandler of_file = handler_of(me, fh);
    if (of_file == MPI_ERRORS_RETURN) return;
    if (is_predefined(of_file)) throw failure(errorcode, "the program says so");
    (void)call_error_handler(of_file, fh, errorcode);
  });
}
