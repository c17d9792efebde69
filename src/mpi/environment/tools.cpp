// The tools interface, MPI_T. weft has no control variables, performance variables, categories, events and sources of
// events, which the standard allows: the functions that count them return 0, and those that take one return that it does
// not exist. A session of performance variables can be made, and has none. The functions of MPI_T return their errors and
// call no error handler.
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace {

using weft::mpi::state;

// `error`, or MPI_T_ERR_NOT_INITIALIZED while the rank has called MPI_T_finalize as often as MPI_T_init_thread.
int unless_started(int error) {
  const state* const me = weft::mpi::find_state();
  return me == nullptr || me->tools_started == 0 ? static_cast<int>(MPI_T_ERR_NOT_INITIALIZED)
                                                 : error;
}

// The answer of the functions that count: 0.
int none(int* number) {
  if (number == nullptr) return unless_started(MPI_T_ERR_INVALID);
  const int error = unless_started(MPI_SUCCESS);
  if (error == MPI_SUCCESS) *number = 0;
  return error;
}

bool has(MPI_T_pvar_session session) {
  return weft::mpi::find_state()->tools_sessions.contains(weft::mpi::value_of(session));
}

// The answer of the functions that start, stop or reset variables of a session: all of them, which are none.
int all_of_none(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  const int error = unless_started(MPI_SUCCESS);
  if (error != MPI_SUCCESS) return error;
  if (!has(session)) return MPI_T_ERR_INVALID_SESSION;
  return handle == MPI_T_PVAR_ALL_HANDLES ? static_cast<int>(MPI_SUCCESS)
                                          : static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
}

}  // namespace

WEFT_MPI_FUNCTION(int, MPI_T_init_thread, (int required, int* provided)) {
  state* const me = weft::mpi::find_state();
  if (me == nullptr) return MPI_T_ERR_CANNOT_INIT;
  if (provided == nullptr) return MPI_T_ERR_INVALID;
  ++me->tools_started;
  *provided = required;  // Any level: threads share nothing here but a count of the rank.
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_finalize, ()) {
  const int error = unless_started(MPI_SUCCESS);
  if (error == MPI_SUCCESS) --weft::mpi::find_state()->tools_started;
  return error;
}

WEFT_MPI_FUNCTION(int, MPI_T_cvar_get_num, (int* num_cvar)) {
  return none(num_cvar);
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_get_num, (int* num_pvar)) {
  return none(num_pvar);
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_num, (int* num_cat)) {
  return none(num_cat);
}
WEFT_MPI_FUNCTION(int, MPI_T_category_changed, (int* update_number)) {
  return none(update_number);
}
WEFT_MPI_FUNCTION(int, MPI_T_event_get_num, (int* num_events)) {
  return none(num_events);
}
WEFT_MPI_FUNCTION(int, MPI_T_source_get_num, (int* num_sources)) {
  return none(num_sources);
}

WEFT_MPI_FUNCTION(int, MPI_T_pvar_session_create, (MPI_T_pvar_session * session)) {
  if (session == nullptr) return unless_started(MPI_T_ERR_INVALID);
  const int error = unless_started(MPI_SUCCESS);
  if (error != MPI_SUCCESS) return error;
  state& me = *weft::mpi::find_state();
  me.tools_sessions.insert(++me.last_tools_session);
  *session = reinterpret_cast<MPI_T_pvar_session>(me.last_tools_session);
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_session_free, (MPI_T_pvar_session * session)) {
  if (session == nullptr) return unless_started(MPI_T_ERR_INVALID);
  const int error = unless_started(MPI_SUCCESS);
  if (error != MPI_SUCCESS) return error;
  if (!has(*session)) return MPI_T_ERR_INVALID_SESSION;
  weft::mpi::find_state()->tools_sessions.erase(weft::mpi::value_of(*session));
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return all_of_none(session, handle);
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return all_of_none(session, handle);
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return all_of_none(session, handle);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define WEFT_MPI_NO_SUCH(error, name, parameters) \
  WEFT_MPI_FUNCTION(int, name, parameters) {      \
    return unless_started(error);                 \
  }
WEFT_MPI_TOOLS(WEFT_MPI_NO_SUCH)
