// Error handlers; error classes, codes and strings.
#include "mpi/object/error_handler.hpp"

#include <cstring>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

void check_handler(MPI_Errhandler h) {
  if (is_standard_handler(h) || find_object<error_handler_object>(h) != nullptr) return;
  if (h == MPI_ERRHANDLER_NULL)
    fail(MPI_ERR_ERRHANDLER, "the error handler is MPI_ERRHANDLER_NULL");
  fail(MPI_ERR_ERRHANDLER, "{} is no error handler, or has been freed", text_of(h));
}

// `of`: the right objects; `maker`: what makes a handler for them.
void check_handler_of(MPI_Errhandler h, object_kind of, const char* maker) {
  check_handler(h);
  const auto* const object = find_object<error_handler_object>(h);
  if (object == nullptr || object->of == of) return;
  fail(MPI_ERR_ERRHANDLER, "{} is one of other objects: make it with {}", text_of(h), maker);
}

// Calls a handler of the program that is for these objects. It stays while it runs, and what its function uses, whatever that
// frees.
void call_if_of(MPI_Errhandler handler, object_kind of, void* object, int& code) {
  const auto* const h = find_object<error_handler_object>(handler);
  if (h == nullptr || h->of != of) return;
  state& me = *find_state();  // A rank's call has failed.
  hold(handler);
  h->call(object, &code);
  release(me, handler);
}

// Throws when the program has not added this code, or when a class is wanted and it is none.
added_codes::code& added(state& me, int code, bool is_class) {
  const auto at = me.codes.by_number.find(code);
  if (at == me.codes.by_number.end() || (is_class && at->second.error_class != code))
    fail(MPI_ERR_ARG, "{} is no error {} that this program has added", code,
         is_class ? "class" : "code");
  return at->second;
}

bool is_class(state& me, int number) {
  if (is_predefined_class(number)) return true;
  const auto at = me.codes.by_number.find(number);
  return at != me.codes.by_number.end() && at->second.error_class == number;
}

// The text of a code: the standard's classes have one of weft's, the program's codes have its own. Throws for any other number.
std::string text_of_code(state* me, int code) {
  if (is_predefined_class(code))
    return std::string(name_of_class(code)) + ": " + std::string(text_of_class(code));
  if (me != nullptr) {
    const auto at = me->codes.by_number.find(code);
    if (at != me->codes.by_number.end()) return at->second.text;
  }
  fail(MPI_ERR_ARG, "{} is no error code", code);
}

// text_of_code(), and behind it what was wrong in the rank's last call that returned this code, cut to MPI_MAX_ERROR_STRING.
std::string text_with_details(state* me, int code) {
  std::string text = text_of_code(me, code);
  if (me != nullptr && code != MPI_SUCCESS && me->last_failure.code == code &&
      is_predefined_class(code))
    text += ": " + me->last_failure.text;
  if (text.size() >= MPI_MAX_ERROR_STRING) text.resize(MPI_MAX_ERROR_STRING - 1);
  return text;
}

// The frame of MPI_Error_class and MPI_Error_string, which may be called before MPI_Init and after MPI_Finalize. `body` gets
// a null pointer where there is no rank.
template <class Body>
int in_any_call(const char* name, const Body& body) {
  try {
    body(find_state());
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return end_in_error(MPI_COMM_SELF, name);
  }
}

}  // namespace

bool is_standard_handler(MPI_Errhandler h) noexcept {
  return h == MPI_ERRORS_ARE_FATAL || h == MPI_ERRORS_ABORT || h == MPI_ERRORS_RETURN;
}

void check_handler_of_communicators(MPI_Errhandler h) {
  check_handler_of(h, object_kind::communicator, "MPI_Comm_create_errhandler");
}
void check_handler_of_windows(MPI_Errhandler h) {
  check_handler_of(h, object_kind::window, "MPI_Win_create_errhandler");
}
void check_handler_of_files(MPI_Errhandler h) {
  check_handler_of(h, object_kind::file, "MPI_File_create_errhandler");
}

void check_handler_of_sessions(MPI_Errhandler h) {
  check_handler_of(h, object_kind::session, "MPI_Session_create_errhandler");
}

void hold(MPI_Errhandler h) {
  if (auto* const object = find_object<error_handler_object>(h); object != nullptr)
    ++object->holders;
}
void release(state& me, MPI_Errhandler h) {
  auto* const object = find_object<error_handler_object>(h);
  if (object == nullptr || --object->holders != 0) return;
  auto* const destructor = object->destructor;
  void* const extra_state = object->extra_state;
  me.error_handlers.free(*object);
  if (destructor != nullptr) destructor(extra_state);
}

int call_error_handler(MPI_Errhandler handler, MPI_File file, int code) {
  int passed = code;
  call_if_of(handler, object_kind::file, &file, passed);
  return passed;
}

int call_error_handler(state& me, communicator_object& c, int code) {
  MPI_Comm handle = &c == &*me.world  ? MPI_COMM_WORLD
                    : &c == &*me.self ? MPI_COMM_SELF
                                      : handle_of(c);
  int passed = code;
  call_if_of(c.handler, object_kind::communicator, &handle, passed);
  return code;
}

int call_error_handler(window_object& w, int code) {
  MPI_Win handle = handle_of(w);
  int passed = code;
  call_if_of(w.handler, object_kind::window, &handle, passed);
  return code;
}

int call_error_handler(session_object& s, int code) {
  MPI_Session handle = handle_of(s);
  int passed = code;
  call_if_of(s.handler, object_kind::session, &handle, passed);
  return code;
}

int call_error_handler_for_nothing(MPI_Errhandler handler, int code) {
  MPI_Comm no_communicator = MPI_COMM_NULL;
  MPI_Session none = MPI_SESSION_NULL;
  int passed = code;
  call_if_of(handler, object_kind::communicator, &no_communicator, passed);
  call_if_of(handler, object_kind::session, &none, passed);
  return code;
}

void set_error_handler(state& me, session_object& s, MPI_Errhandler handler) {
  hold(handler);
  release(me, s.handler);
  s.handler = handler;
}

void set_error_handler(state& me, communicator_object& c, MPI_Errhandler handler) {
  hold(handler);
  release(me, c.handler);
  c.handler = handler;
}

void set_error_handler(state& me, window_object& w, MPI_Errhandler handler) {
  hold(handler);
  release(me, w.handler);
  w.handler = handler;
}

int last_used_code(state& me) {
  return me.codes.last_used;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_create_errhandler,
                  (MPI_Comm_errhandler_function * comm_errhandler_fn, MPI_Errhandler* errhandler)) {
  return in_call("MPI_Comm_create_errhandler", MPI_COMM_SELF, [&](state& me) {
    check_not_null(errhandler, "errhandler");
    check_not_null(reinterpret_cast<const void*>(comm_errhandler_fn), "comm_errhandler_fn");
    error_handler_object& made = me.error_handlers.make();
    set_function(made, object_kind::communicator, comm_errhandler_fn);
    *errhandler = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler)) {
  return in_call(
      "MPI_Comm_set_errhandler", comm,
      [&](state& me) {
        communicator_object& c = checked_communicator(me, comm);
        check_handler_of_communicators(errhandler);
        set_error_handler(me, c, errhandler);
      },
      comm, errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler)) {
  return in_call(
      "MPI_Comm_get_errhandler", comm,
      [&](state& me) {
        check_not_null(errhandler, "errhandler");
        const communicator_object& c = checked_communicator(me, comm);
        hold(c.handler);  // The program frees what it gets.
        *errhandler = c.handler;
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_call_errhandler, (MPI_Comm comm, int errorcode)) {
  return in_call(
      "MPI_Comm_call_errhandler", comm,
      [&](state& me) {
        communicator_object& c = checked_communicator(me, comm);
        if (c.handler == MPI_ERRORS_RETURN) return;
        if (is_predefined(c.handler))
          throw failure(errorcode, "the program says: " + text_of_code(&me, errorcode));
        (void)call_error_handler(me, c, errorcode);
      },
      comm, errorcode);
}

WEFT_MPI_FUNCTION(int, MPI_Win_create_errhandler,
                  (MPI_Win_errhandler_function * win_errhandler_fn, MPI_Errhandler* errhandler)) {
  return in_call("MPI_Win_create_errhandler", MPI_COMM_SELF, [&](state& me) {
    check_not_null(errhandler, "errhandler");
    check_not_null(reinterpret_cast<const void*>(win_errhandler_fn), "win_errhandler_fn");
    error_handler_object& made = me.error_handlers.make();
    set_function(made, object_kind::window, win_errhandler_fn);
    *errhandler = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler)) {
  return in_call(
      "MPI_Win_set_errhandler", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        check_handler_of_windows(errhandler);
        set_error_handler(me, w, errhandler);
      },
      win, errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler)) {
  return in_call(
      "MPI_Win_get_errhandler", win,
      [&](state&) {
        check_not_null(errhandler, "errhandler");
        const window_object& w = checked_window(win);
        hold(w.handler);  // The program frees what it gets.
        *errhandler = w.handler;
      },
      win);
}

WEFT_MPI_FUNCTION(int, MPI_Win_call_errhandler, (MPI_Win win, int errorcode)) {
  return in_call(
      "MPI_Win_call_errhandler", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        if (w.handler == MPI_ERRORS_RETURN) return;
        if (is_predefined(w.handler))
          throw failure(errorcode, "the program says: " + text_of_code(&me, errorcode));
        (void)call_error_handler(w, errorcode);
      },
      win, errorcode);
}

// Before there is a session: MPI_Session_init takes one.
WEFT_MPI_FUNCTION(int, MPI_Session_create_errhandler,
                  (MPI_Session_errhandler_function * session_errhandler_fn,
                   MPI_Errhandler* errhandler)) {
  return in_call_at_any_time("MPI_Session_create_errhandler", [&](state& me) {
    check_not_null(errhandler, "errhandler");
    check_not_null(reinterpret_cast<const void*>(session_errhandler_fn), "session_errhandler_fn");
    error_handler_object& made = me.error_handlers.make();
    set_function(made, object_kind::session, session_errhandler_fn);
    *errhandler = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Session_set_errhandler,
                  (MPI_Session session, MPI_Errhandler errhandler)) {
  return in_call(
      "MPI_Session_set_errhandler", session,
      [&](state& me) {
        session_object& s = checked_session(session);
        check_handler_of_sessions(errhandler);
        set_error_handler(me, s, errhandler);
      },
      session, errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Session_get_errhandler,
                  (MPI_Session session, MPI_Errhandler* errhandler)) {
  return in_call(
      "MPI_Session_get_errhandler", session,
      [&](state&) {
        check_not_null(errhandler, "errhandler");
        const session_object& s = checked_session(session);
        hold(s.handler);  // The program frees what it gets.
        *errhandler = s.handler;
      },
      session);
}

WEFT_MPI_FUNCTION(int, MPI_Session_call_errhandler, (MPI_Session session, int errorcode)) {
  return in_call(
      "MPI_Session_call_errhandler", session,
      [&](state& me) {
        session_object& s = checked_session(session);
        if (s.handler == MPI_ERRORS_RETURN) return;
        if (is_predefined(s.handler))
          throw failure(errorcode, "the program says: " + text_of_code(&me, errorcode));
        (void)call_error_handler(s, errorcode);
      },
      session, errorcode);
}

// Those of sessions also before there is one, as MPI_Session_create_errhandler.
#define WITH_STATE(name, function_type, kind, call)                                            \
  WEFT_MPI_FUNCTION(int, name,                                                                 \
                    (function_type * function, MPIX_Destructor_function * destructor_fn,       \
                     void* extra_state, MPI_Errhandler* errhandler)) {                         \
    return call([&](state& me) {                                                               \
      check_not_null(errhandler, "errhandler");                                                \
      check_not_null(reinterpret_cast<const void*>(function), "the error handler's function"); \
      error_handler_object& made = me.error_handlers.make();                                   \
      set_function(made, object_kind::kind, function, destructor_fn, extra_state);             \
      *errhandler = handle_of(made);                                                           \
    });                                                                                        \
  }
#define CALL(name, handle) [](const auto& body) { return in_call(name, handle, body); }
WITH_STATE(MPIX_Comm_create_errhandler_x, MPIX_Comm_errhandler_function_x, communicator,
           CALL("MPIX_Comm_create_errhandler_x", MPI_COMM_SELF))
WITH_STATE(MPIX_Win_create_errhandler_x, MPIX_Win_errhandler_function_x, window,
           CALL("MPIX_Win_create_errhandler_x", MPI_COMM_SELF))
WITH_STATE(MPIX_File_create_errhandler_x, MPIX_File_errhandler_function_x, file,
           CALL("MPIX_File_create_errhandler_x", MPI_COMM_SELF))
WITH_STATE(MPIX_Session_create_errhandler_x, MPIX_Session_errhandler_function_x, session,
           [](const auto& body) {
             return in_call_at_any_time("MPIX_Session_create_errhandler_x", body);
           })

WEFT_MPI_FUNCTION(int, MPI_Errhandler_free, (MPI_Errhandler * errhandler)) {
  return in_call_at_any_time(
      "MPI_Errhandler_free",
      [&](state& me) {
        check_not_null(errhandler, "errhandler");
        check_handler(*errhandler);
        if (me.births != nullptr)
          me.births->ended(object_kind::error_handler,
                           find_object<error_handler_object>(*errhandler));
        release(me, *errhandler);
        *errhandler = MPI_ERRHANDLER_NULL;
      },
      errhandler == nullptr ? MPI_ERRHANDLER_NULL : *errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Error_class, (int errorcode, int* errorclass)) {
  return in_any_call("MPI_Error_class", [&](state* me) {
    check_not_null(errorclass, "errorclass");
    (void)text_of_code(me, errorcode);  // Throws when there is no such code.
    *errorclass =
        is_predefined_class(errorcode) ? errorcode : me->codes.by_number.at(errorcode).error_class;
  });
}

WEFT_MPI_FUNCTION(int, MPI_Error_string, (int errorcode, char* string, int* resultlen)) {
  return in_any_call("MPI_Error_string", [&](state* me) {
    check_not_null(string, "string");
    check_not_null(resultlen, "resultlen");
    const std::string text = text_with_details(me, errorcode);
    std::memcpy(string, text.c_str(), text.size() + 1);
    *resultlen = static_cast<int>(text.size());
  });
}

WEFT_MPI_FUNCTION(int, MPI_Add_error_class, (int* errorclass)) {
  return in_call_at_any_time("MPI_Add_error_class", [&](state& me) {
    check_not_null(errorclass, "errorclass");
    *errorclass = ++me.codes.last_used;
    me.codes.by_number[*errorclass] = {*errorclass, ""};
  });
}

WEFT_MPI_FUNCTION(int, MPI_Add_error_code, (int errorclass, int* errorcode)) {
  return in_call_at_any_time(
      "MPI_Add_error_code",
      [&](state& me) {
        check_not_null(errorcode, "errorcode");
        if (!is_class(me, errorclass)) fail(MPI_ERR_ARG, "{} is no error class", errorclass);
        *errorcode = ++me.codes.last_used;
        me.codes.by_number[*errorcode] = {errorclass, ""};
      },
      errorclass);
}

WEFT_MPI_FUNCTION(int, MPI_Add_error_string, (int errorcode, const char* string)) {
  return in_call_at_any_time(
      "MPI_Add_error_string",
      [&](state& me) {
        check_not_null(string, "string");
        if (std::strlen(string) >= MPI_MAX_ERROR_STRING)
          fail(MPI_ERR_ARG, "the string has {} characters: at most {} fit", std::strlen(string),
               MPI_MAX_ERROR_STRING - 1);
        added(me, errorcode, false).text = string;
      },
      errorcode, string);
}

WEFT_MPI_FUNCTION(int, MPI_Remove_error_class, (int errorclass)) {
  return in_call_at_any_time(
      "MPI_Remove_error_class",
      [&](state& me) {
        const auto& of_class = added(me, errorclass, true);
        for (const auto& [number, code] : me.codes.by_number)
          if (number != errorclass && code.error_class == errorclass)
            fail(MPI_ERR_OTHER, "class {} still has code {}: remove it first", errorclass, number);
        if (!of_class.text.empty())
          fail(MPI_ERR_OTHER,
               "class {} still has a string: remove it first, with MPI_Remove_error_string",
               errorclass);
        me.codes.by_number.erase(errorclass);
      },
      errorclass);
}

WEFT_MPI_FUNCTION(int, MPI_Remove_error_code, (int errorcode)) {
  return in_call_at_any_time(
      "MPI_Remove_error_code",
      [&](state& me) {
        const auto& code = added(me, errorcode, false);
        if (code.error_class == errorcode)
          fail(MPI_ERR_ARG, "{} is a class: remove it with MPI_Remove_error_class", errorcode);
        if (!code.text.empty())
          fail(MPI_ERR_OTHER,
               "code {} still has a string: remove it first, with MPI_Remove_error_string",
               errorcode);
        me.codes.by_number.erase(errorcode);
      },
      errorcode);
}

WEFT_MPI_FUNCTION(int, MPI_Remove_error_string, (int errorcode)) {
  return in_call_at_any_time(
      "MPI_Remove_error_string", [&](state& me) { added(me, errorcode, false).text.clear(); },
      errorcode);
}
