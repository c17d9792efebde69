#include "mpi/object/errors.hpp"

#include <cstdarg>
#include <exception>

#include "job/rank_body.hpp"
#include "mpi/object/error_handler.hpp"
#include "mpi/object/state.hpp"
#include "process/life/late_rank.hpp"

namespace weft::mpi {
namespace {

struct class_row {
  int number;
  std::string_view name;
  std::string_view text;
};
#define ROW(name, text) \
  { name, #name, text }
constexpr class_row classes[] = {
    ROW(MPI_SUCCESS, "no error"),
    ROW(MPI_ERR_BUFFER, "invalid buffer"),
    ROW(MPI_ERR_COUNT, "invalid count"),
    ROW(MPI_ERR_TYPE, "invalid datatype"),
    ROW(MPI_ERR_TAG, "invalid tag"),
    ROW(MPI_ERR_COMM, "invalid communicator"),
    ROW(MPI_ERR_RANK, "invalid rank"),
    ROW(MPI_ERR_REQUEST, "invalid request"),
    ROW(MPI_ERR_ROOT, "invalid root"),
    ROW(MPI_ERR_GROUP, "invalid group"),
    ROW(MPI_ERR_OP, "invalid operation"),
    ROW(MPI_ERR_TOPOLOGY, "invalid topology"),
    ROW(MPI_ERR_DIMS, "invalid dimensions"),
    ROW(MPI_ERR_ARG, "invalid argument"),
    ROW(MPI_ERR_UNKNOWN, "unknown error"),
    ROW(MPI_ERR_TRUNCATE, "message longer than its receive"),
    ROW(MPI_ERR_OTHER, "error without a class of its own"),
    ROW(MPI_ERR_INTERN, "error inside the library"),
    ROW(MPI_ERR_PENDING, "request not complete yet"),
    ROW(MPI_ERR_IN_STATUS, "the statuses have the error codes"),
    ROW(MPI_ERR_ACCESS, "permission denied"),
    ROW(MPI_ERR_AMODE, "invalid access mode"),
    ROW(MPI_ERR_ASSERT, "invalid assertion"),
    ROW(MPI_ERR_BAD_FILE, "invalid file name"),
    ROW(MPI_ERR_BASE, "invalid base address"),
    ROW(MPI_ERR_CONVERSION, "error in a conversion function"),
    ROW(MPI_ERR_DISP, "invalid displacement"),
    ROW(MPI_ERR_DUP_DATAREP, "data representation already defined"),
    ROW(MPI_ERR_FILE_EXISTS, "the file exists"),
    ROW(MPI_ERR_FILE_IN_USE, "the file is open"),
    ROW(MPI_ERR_FILE, "invalid file"),
    ROW(MPI_ERR_INFO_KEY, "info key too long or empty"),
    ROW(MPI_ERR_INFO_NOKEY, "no such info key"),
    ROW(MPI_ERR_INFO_VALUE, "info value too long"),
    ROW(MPI_ERR_INFO, "invalid info"),
    ROW(MPI_ERR_IO, "input or output failed"),
    ROW(MPI_ERR_KEYVAL, "invalid key of attributes"),
    ROW(MPI_ERR_LOCKTYPE, "invalid lock type"),
    ROW(MPI_ERR_NAME, "service name not published"),
    ROW(MPI_ERR_NO_MEM, "out of memory"),
    ROW(MPI_ERR_NOT_SAME, "arguments differ between ranks"),
    ROW(MPI_ERR_NO_SPACE, "no space on the device"),
    ROW(MPI_ERR_NO_SUCH_FILE, "no such file"),
    ROW(MPI_ERR_PORT, "invalid port name"),
    ROW(MPI_ERR_QUOTA, "quota exceeded"),
    ROW(MPI_ERR_READ_ONLY, "read-only file or file system"),
    ROW(MPI_ERR_RMA_ATTACH, "memory cannot be attached"),
    ROW(MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"),
    ROW(MPI_ERR_RMA_RANGE, "target memory is not part of the window"),
    ROW(MPI_ERR_RMA_SHARED, "memory cannot be shared"),
    ROW(MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"),
    ROW(MPI_ERR_SERVICE, "invalid service name"),
    ROW(MPI_ERR_SIZE, "invalid size"),
    ROW(MPI_ERR_SPAWN, "processes cannot be started"),
    ROW(MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"),
    ROW(MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"),
    ROW(MPI_ERR_WIN, "invalid window"),
    ROW(MPI_ERR_RMA_FLAVOR, "wrong kind of window"),
    ROW(MPI_ERR_PROC_ABORTED, "a process has ended early"),
    ROW(MPI_ERR_VALUE_TOO_LARGE, "value too large for its type"),
    ROW(MPI_ERR_SESSION, "invalid session"),
    ROW(MPI_ERR_ERRHANDLER, "invalid error handler"),
    ROW(MPI_ERR_ABI, "wrong use of the binary interface"),
};
#undef ROW
static_assert(std::size(classes) == MPI_ERR_ABI + 1);

constexpr class_row classes_of_failures[] = {
    {MPIX_ERR_PROC_FAILED_PENDING, "MPIX_ERR_PROC_FAILED_PENDING",
     "a process has died, and the receive may still get a message of another one"},
    {MPIX_ERR_REVOKED, "MPIX_ERR_REVOKED", "the communicator is revoked"},
};

const class_row* find_class(int number) noexcept {
  for (const class_row& row : classes_of_failures)
    if (row.number == number) return &row;
  return number >= 0 && number <= MPI_ERR_ABI ? &classes[number] : nullptr;
}

template <class Handle>
std::string text_of_handle(Handle h, std::string_view type) {
  return formatted("{} 0x{:x}", type, value_of(h));
}

}  // namespace

std::string_view name_of_class(int error_class) noexcept {
  const class_row* const row = find_class(error_class);
  return row != nullptr ? row->name : "an error class of the program's own";
}

bool is_predefined_class(int error_class) noexcept {
  return find_class(error_class) != nullptr;
}

std::string_view text_of_class(int error_class) noexcept {
  const class_row* const row = find_class(error_class);
  return row != nullptr ? row->text : "";
}

void fail_null(const char* what) {
  fail(MPI_ERR_ARG, "{} is a null pointer: pass the address of a variable", what);
}

// --- Arguments as text ---------------------------------------------------------------------------

std::string text_of(int value) {
  switch (value) {
    case MPI_ANY_SOURCE:
      return "-1";  // Not its name: the argument may be another one that is -1.
    case MPI_ANY_TAG:
      return "MPI_ANY_TAG";
    case MPI_PROC_NULL:
      return "MPI_PROC_NULL";
    case MPI_ROOT:
      return "MPI_ROOT";
    case MPI_UNDEFINED:
      return "MPI_UNDEFINED";
    default:
      return std::to_string(value);
  }
}
std::string text_of(long value) {
  return std::to_string(value);
}
std::string text_of(double value) {
  return formatted("{}", value);
}
std::string text_of(const char* text) {
  return text == nullptr ? "NULL" : '"' + printable(text) + '"';
}
std::string text_of(const void* address) {
  if (address == nullptr) return "NULL";
  if (address == MPI_IN_PLACE) return "MPI_IN_PLACE";
  return formatted("{}", address);
}

std::string text_of(MPI_Comm comm) {
  if (comm == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  if (comm == MPI_COMM_SELF) return "MPI_COMM_SELF";
  if (comm == MPI_COMM_NULL) return "MPI_COMM_NULL";
  const auto* const c = find_object<communicator_object>(comm);
  if (c != nullptr && !c->name.empty()) return "communicator " + printable(c->name);
  return text_of_handle(comm, "communicator");
}

std::string text_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return "MPI_DATATYPE_NULL";
  const datatype_object* t = find_predefined(type);
  if (t == nullptr) t = find_object<datatype_object>(type);
  if (t != nullptr && !t->name.empty()) return printable(t->name);
  return text_of_handle(type, "datatype");
}

std::string text_of(MPI_Op op) {
  struct row {
    MPI_Op op;
    const char* name;
  };
#define ROW(op) \
  { op, #op }
  static const row rows[] = {ROW(MPI_OP_NULL), ROW(MPI_SUM),     ROW(MPI_MIN),  ROW(MPI_MAX),
                             ROW(MPI_PROD),    ROW(MPI_BAND),    ROW(MPI_BOR),  ROW(MPI_BXOR),
                             ROW(MPI_LAND),    ROW(MPI_LOR),     ROW(MPI_LXOR), ROW(MPI_MINLOC),
                             ROW(MPI_MAXLOC),  ROW(MPI_REPLACE), ROW(MPI_NO_OP)};
#undef ROW
  for (const row& r : rows)
    if (r.op == op) return r.name;
  return text_of_handle(op, "operation");
}

std::string text_of(MPI_Group group) {
  if (group == MPI_GROUP_NULL) return "MPI_GROUP_NULL";
  if (group == MPI_GROUP_EMPTY) return "MPI_GROUP_EMPTY";
  return text_of_handle(group, "group");
}
std::string text_of(MPI_Info info) {
  if (info == MPI_INFO_NULL) return "MPI_INFO_NULL";
  if (info == MPI_INFO_ENV) return "MPI_INFO_ENV";
  return text_of_handle(info, "info");
}
std::string text_of(MPI_File file) {
  if (file == MPI_FILE_NULL) return "MPI_FILE_NULL";
  const auto* const f = find_object<file_object>(file);
  return f != nullptr ? "file \"" + printable(f->name) + '"' : text_of_handle(file, "file");
}
std::string text_of(MPI_Errhandler handler) {
  if (handler == MPI_ERRHANDLER_NULL) return "MPI_ERRHANDLER_NULL";
  if (handler == MPI_ERRORS_ARE_FATAL) return "MPI_ERRORS_ARE_FATAL";
  if (handler == MPI_ERRORS_ABORT) return "MPI_ERRORS_ABORT";
  if (handler == MPI_ERRORS_RETURN) return "MPI_ERRORS_RETURN";
  return text_of_handle(handler, "error handler");
}
std::string text_of(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return "MPI_REQUEST_NULL";
  return text_of_handle(request, "request");
}
std::string text_of(MPI_Win win) {
  if (win == MPI_WIN_NULL) return "MPI_WIN_NULL";
  const auto* const w = find_object<window_object>(win);
  if (w != nullptr && !w->name.empty()) return "window " + printable(w->name);
  return text_of_handle(win, "window");
}
std::string text_of(MPI_Session session) {
  if (session == MPI_SESSION_NULL) return "MPI_SESSION_NULL";
  const auto* const s = find_object<session_object>(session);
  return s != nullptr ? formatted("session {}", s->number) : text_of_handle(session, "session");
}
std::string text_of(MPI_Message message) {
  if (message == MPI_MESSAGE_NULL) return "MPI_MESSAGE_NULL";
  if (message == MPI_MESSAGE_NO_PROC) return "MPI_MESSAGE_NO_PROC";
  return text_of_handle(message, "message");
}

// --- The end of a call that failed ----------------------------------------------------------------

namespace {

// The error class of a coded_error: `code` is one of `rank`'s own, or already one of MPI.
int class_of(int code) noexcept {
  switch (code) {
    case detail::no_code:
      return MPI_ERR_OTHER;
    case detail::lengths_differ:
      return MPI_ERR_TRUNCATE;
    case detail::calls_differ:
      return MPI_ERR_NOT_SAME;
    case detail::no_memory:
      return MPI_ERR_NO_MEM;
    case detail::process_died:
      return MPIX_ERR_PROC_FAILED;
    case detail::revoked:
      return MPIX_ERR_REVOKED;
    default:  // A code of MPI. Another process may have sent it: a negative one is not believed.
      return code > 0 ? code : MPI_ERR_OTHER;
  }
}

[[noreturn]] void end_job(state* me, const failure& why, const std::string& call) {
  const std::string text = formatted("{}: {} ({})", call, why.what(), name_of_class(why.code()));
  if (!called_by_own_thread()) end_foreign_thread(text);
  // Further calls of the rank fail, should the program catch the exception (`catch (...)`) and go on.
  if (me != nullptr) {
    me->close();
    // Now: what unwinds on the way to the rank's outermost frame, through calls that called the program, may hang or fail.
    detail::tell_failure_of(me->rank, text);
  }
  throw rank_failure(text, 1);
}

// The communicator whose error handler is called. An error of no communicator belongs to MPI_COMM_SELF since MPI 4, and
// belonged to MPI_COMM_WORLD before: MPI_COMM_SELF gets it when the program has set a handler there, else MPI_COMM_WORLD.
communicator_object& concerned(state& me, MPI_Comm where) {
  if (!is_predefined(where))
    if (auto* const c = find_referred(me, where); c != nullptr) return *c;
  const bool own = where != MPI_COMM_WORLD && me.self->handler != MPI_ERRORS_ARE_FATAL;
  return own ? *me.self : *me.world;
}

}  // namespace

failure current_failure() {
  try {
    throw;
  } catch (const rank_failure&) {
    throw;
  } catch (const failure& f) {
    return f;
  } catch (const error& e) {
    return {class_of(detail::code_of(e)), e.what()};
  } catch (const std::bad_alloc&) {
    return {MPI_ERR_NO_MEM, "there is no memory for it"};
  }
}

namespace {

int end_of_call(MPI_Win where, const std::string& call) {
  const failure why = current_failure();
  state* const me = find_state();
  if (me == nullptr || !me->is_open()) end_job(me, why, call);
  me->last_failure = {why.code(), why.what()};
  window_object& w = *find_object<window_object>(where);
  if (w.handler == MPI_ERRORS_RETURN) return why.code();
  if (is_predefined(w.handler)) end_job(me, why, call);
  return call_error_handler(w, why.code());
}

// What the handler of the file says: that of MPI_FILE_NULL when it is no file.
int end_of_file_call(state& me, const failure& why, MPI_File file, const std::string& call) {
  const auto* const f = find_object<file_object>(file);
  const MPI_Errhandler handler = f != nullptr ? f->handler : me.handler_of_no_file;
  if (handler == MPI_ERRORS_RETURN) return why.code();
  if (is_predefined(handler)) end_job(&me, why, call);
  return call_error_handler(handler, f != nullptr ? file : MPI_FILE_NULL, why.code());
}

int end_of_call(MPI_Comm where, const std::string& call) {
  const failure why = current_failure();
  state* const me = find_state();
  if (me == nullptr || !me->is_open()) end_job(me, why, call);
  me->last_failure = {why.code(), why.what()};
  if (why.file() != MPI_FILE_NULL) return end_of_file_call(*me, why, why.file(), call);
  communicator_object& c = concerned(*me, why.where() != MPI_COMM_NULL ? why.where() : where);
  if (c.handler == MPI_ERRORS_RETURN) return why.code();
  if (is_predefined(c.handler)) end_job(me, why, call);
  return call_error_handler(*me, c, why.code());
}
int end_of_call(MPI_File where, const std::string& call) {
  const failure why = current_failure();
  state* const me = find_state();
  if (me == nullptr || !me->is_open()) end_job(me, why, call);
  me->last_failure = {why.code(), why.what()};
  return end_of_file_call(*me, why, where, call);
}

int end_of_call(MPI_Session where, const std::string& call) {
  const failure why = current_failure();
  state* const me = find_state();
  if (me == nullptr || !me->is_open()) end_job(me, why, call);
  me->last_failure = {why.code(), why.what()};
  session_object& s = *find_object<session_object>(where);
  if (s.handler == MPI_ERRORS_RETURN) return why.code();
  if (is_predefined(s.handler)) end_job(me, why, call);
  return call_error_handler(s, why.code());
}
// Where the rank has no session yet the handler is called, too.
int end_of_call(MPI_Errhandler handler, const std::string& call) {
  const failure why = current_failure();
  state* const me = find_state();
  if (me == nullptr || is_predefined(handler) != (handler == MPI_ERRORS_RETURN))
    end_job(me, why, call);
  me->last_failure = {why.code(), why.what()};
  if (handler == MPI_ERRORS_RETURN) return why.code();
  return call_error_handler_for_nothing(handler, why.code());
}

template <class Handle>
int end_anywhere(Handle where, const std::string& call) {
  if (!process::is_late_rank()) return end_of_call(where, call);
  try {
    return end_of_call(where, call);
  } catch (...) {
    process::leave_late_rank(std::current_exception());
    throw;
  }
}

}  // namespace

int end_in_error(MPI_Comm where, const std::string& call) {
  return end_anywhere(where, call);
}

int end_in_error(MPI_Win where, const std::string& call) {
  if (find_object<window_object>(where) == nullptr) return end_in_error(MPI_COMM_SELF, call);
  return end_anywhere(where, call);
}

int end_in_error(MPI_Session where, const std::string& call) {
  if (find_object<session_object>(where) == nullptr) return end_in_error(MPI_COMM_SELF, call);
  return end_anywhere(where, call);
}

int end_in_error(MPI_Errhandler handler, const std::string& call) {
  if (!is_standard_handler(handler) && find_object<error_handler_object>(handler) == nullptr)
    return end_in_error(MPI_COMM_SELF, call);
  return end_anywhere(handler, call);
}

int end_in_error(MPI_File where, const std::string& call) {
  return end_anywhere(where, call);
}

}  // namespace weft::mpi
