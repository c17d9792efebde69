// What an MPI_Errhandler stands for, and the error classes and codes that the program adds.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "mpi/object/handles.hpp"

namespace weft::mpi {

struct state;
struct communicator_object;
struct window_object;
struct session_object;

struct error_handler_object : object {
  using handle = MPI_Errhandler;
  static constexpr object_kind own_kind = object_kind::error_handler;

  object_kind of = object_kind::communicator;  // Errors of these objects.
  // Calls the program's function. `object` points to the object's handle; the function may change the code.
  std::function<void(void* object, int* code)> call;
  MPIX_Destructor_function* destructor = nullptr;  // Called when the last holder is gone.
  void* extra_state = nullptr;
  int holders = 1;  // References: the program's handle, and objects that it is attached to.
};

// Makes one of a function of the standard's form.
template <class Handle>
void set_function(error_handler_object& made, object_kind of,
                  void (*function)(Handle*, int*, ...)) {
  made.of = of;
  made.call = [function](void* object, int* code) { function(static_cast<Handle*>(object), code); };
}
// Makes one of a function that gets the program's pointer, and neither changes the handle nor the code.
template <class Handle>
void set_function(error_handler_object& made, object_kind of, void (*function)(Handle, int, void*),
                  MPIX_Destructor_function* destructor, void* extra_state) {
  made.of = of;
  made.call = [function, extra_state](void* object, const int* code) {
    function(*static_cast<Handle*>(object), *code, extra_state);
  };
  made.destructor = destructor;
  made.extra_state = extra_state;
}

struct added_codes {
  struct code {
    int error_class = MPI_ERR_UNKNOWN;  // The code itself when it is a class.
    std::string text;
  };
  std::map<int, code> by_number;
  int last_used = MPI_ERR_LASTCODE;
};

// Calls the program's own error handler of `c`. Returns what the MPI call returns then.
int call_error_handler(state& me, communicator_object& c, int code);
int call_error_handler(window_object& w, int code);
int call_error_handler(session_object& s, int code);
// Calls one of the program for an object that could not be made: it gets the null handle.
int call_error_handler_for_nothing(MPI_Errhandler handler, int code);

// The same for a file; the handle may be MPI_FILE_NULL. What the handler makes of the code is what the call returns.
int call_error_handler(MPI_Errhandler handler, MPI_File file, int code);

// The standard's handlers for all objects.
[[nodiscard]] bool is_standard_handler(MPI_Errhandler handler) noexcept;
// Each throws for what is no handler, and for one of other objects.
void check_handler_of_communicators(MPI_Errhandler handler);
void check_handler_of_windows(MPI_Errhandler handler);
void check_handler_of_files(MPI_Errhandler handler);
void check_handler_of_sessions(MPI_Errhandler handler);
// Add and drop a reference to a handler of the program; the standard's have no count.
void hold(MPI_Errhandler handler);
void release(state& me, MPI_Errhandler handler);

// From now on errors of `c` go to this handler.
void set_error_handler(state& me, communicator_object& c, MPI_Errhandler handler);
void set_error_handler(state& me, window_object& w, MPI_Errhandler handler);
void set_error_handler(state& me, session_object& s, MPI_Errhandler handler);

// The value of the attribute MPI_LASTUSEDCODE.
[[nodiscard]] int last_used_code(state& me);

}  // namespace weft::mpi
