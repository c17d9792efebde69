// Errors of MPI calls: a check throws `failure` with the error class and the text, and in_call() calls the error
// handler of the communicator. The default handler ends the job with one line: rank, call with its arguments, what is
// wrong, the limit, the remedy.
#pragma once
#include <new>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "collective/peer_failure.hpp"
#include "mpi/mpi.h"

namespace weft::mpi {

struct state;

// An error of an MPI call. The job ends unless the error handler says otherwise.
class failure : public detail::coded_error {
 public:
  // `error_code`: an error class, or a code that the program has added.
  failure(int error_code, const std::string& text, MPI_Comm where = MPI_COMM_NULL)
      : coded_error(text, error_code), where_(where) {}
  // Of a request that reads or writes a file: the file's handler is called.
  failure(int error_code, const std::string& text, MPI_Comm where, MPI_File file)
      : coded_error(text, error_code), where_(where), file_(file) {}
  [[nodiscard]] MPI_Comm where() const noexcept { return where_; }
  [[nodiscard]] MPI_File file() const noexcept { return file_; }

 private:
  MPI_Comm where_;  // The communicator whose handler is called, when the call does not name one.
  MPI_File file_ = MPI_FILE_NULL;  // Goes before `where_`.
};

template <class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail(int error_class,
                                                 fmt::format_string<Values...> pattern,
                                                 const Values&... values) {
  throw failure(error_class, formatted_text(pattern, fmt::make_format_args(values...)));
}

// The name of an error class: "MPI_ERR_RANK"; and what it means.
[[nodiscard]] std::string_view name_of_class(int error_class) noexcept;
// Whether it is a class of the standard or of weft, and none that a program has added.
[[nodiscard]] bool is_predefined_class(int error_class) noexcept;
[[nodiscard]] std::string_view text_of_class(int error_class) noexcept;

// The texts of arguments: as the program writes them, where possible.
[[nodiscard]] std::string text_of(int value);
[[nodiscard]] std::string text_of(long value);
[[nodiscard]] std::string text_of(double value);
[[nodiscard]] std::string text_of(const char* text);
[[nodiscard]] std::string text_of(const void* address);
[[nodiscard]] std::string text_of(MPI_Comm comm);
[[nodiscard]] std::string text_of(MPI_Datatype datatype);
[[nodiscard]] std::string text_of(MPI_Op op);
[[nodiscard]] std::string text_of(MPI_Group group);
[[nodiscard]] std::string text_of(MPI_Info info);
[[nodiscard]] std::string text_of(MPI_File file);
[[nodiscard]] std::string text_of(MPI_Errhandler handler);
[[nodiscard]] std::string text_of(MPI_Request request);
[[nodiscard]] std::string text_of(MPI_Message message);
[[nodiscard]] std::string text_of(MPI_Win win);
[[nodiscard]] std::string text_of(MPI_Session session);
// A callback of the program.
template <class Result, class... Parameters>
[[nodiscard]] std::string text_of(Result (*function)(Parameters...)) {
  return text_of(reinterpret_cast<const void*>(function));
}

template <class... Arguments>
[[gnu::cold, gnu::noinline]] std::string text_of_call(const char* name,
                                                      const Arguments&... arguments) {
  std::string text = std::string(name) + '(';
  std::size_t place = 0;
  ((text += (place++ == 0 ? "" : ", ") + text_of(arguments)), ...);
  return text + ')';
}

// The exception that is being handled, as a failure; rethrows one that is no error of an MPI call.
[[nodiscard, gnu::cold]] failure current_failure();
// Called while an exception is handled: does what the error handler of `where` says, that is ends the job, calls the
// program's function, or returns the error code. Rethrows what is no error of an MPI call.
[[gnu::cold]] int end_in_error(MPI_Comm where, const std::string& call);
// The same with the error handler of a window; of no window the errors are those of MPI_COMM_SELF.
[[gnu::cold]] int end_in_error(MPI_Win where, const std::string& call);
// The same of a call that names a file, perhaps MPI_FILE_NULL.
[[gnu::cold]] int end_in_error(MPI_File where, const std::string& call);
// The same with the error handler of a session; of no session the errors are those of MPI_COMM_SELF.
[[gnu::cold]] int end_in_error(MPI_Session where, const std::string& call);
// The same of a call that names the handler of what it makes.
[[gnu::cold]] int end_in_error(MPI_Errhandler handler, const std::string& call);

// Checks that many calls share.
[[gnu::cold, noreturn]] void fail_null(const char* what);
inline void check_not_null(const void* address, const char* what) {
  if (address == nullptr) [[unlikely]]
    fail_null(what);
}

}  // namespace weft::mpi
