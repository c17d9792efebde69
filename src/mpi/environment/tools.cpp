// The tools interface, MPI_T. Control variables are weft's settings, which the program reads; performance variables are what
// --stats counts of the calling rank and of its worker, always; categories put both in order. Events are in
// tool_events.cpp. The functions return their errors and call no error handler.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "mpi/environment/tools.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

// --- Variables ---------------------------------------------------------------------------------------------------------

struct performance_variable {
  const char* name;
  const char* text;
  int of_class;  // A counter or an aggregate is counted from when its handle was made or reset; a level is what it is.
  std::uint64_t (*now)(const state&);
  [[nodiscard]] bool counts() const noexcept { return of_class != MPI_T_PVAR_CLASS_LEVEL; }
};

template <std::uint64_t detail::rank_counts::*Counter>
std::uint64_t of_rank(const state& me) {
  return me.rank.counts.*Counter;
}
template <std::uint64_t worker::statistics::*Counter>
std::uint64_t of_worker(const state& me) {
  return me.rank.home->counts().*Counter;
}

constexpr std::size_t of_messages_count = 8;
constexpr std::array<performance_variable, 13> performance_variables{{
    {"weft_messages_sent", "messages that the rank has sent", MPI_T_PVAR_CLASS_COUNTER,
     &of_rank<&detail::rank_counts::sent>},
    {"weft_bytes_sent", "bytes in these", MPI_T_PVAR_CLASS_AGGREGATE,
     &of_rank<&detail::rank_counts::sent_bytes>},
    {"weft_messages_received", "messages that the rank has received", MPI_T_PVAR_CLASS_COUNTER,
     &of_rank<&detail::rank_counts::received>},
    {"weft_bytes_received", "bytes in these", MPI_T_PVAR_CLASS_AGGREGATE,
     &of_rank<&detail::rank_counts::received_bytes>},
    {"weft_messages_unexpected", "messages that came before their receive was posted",
     MPI_T_PVAR_CLASS_COUNTER, &of_rank<&detail::rank_counts::unexpected>},
    {"weft_collectives", "collectives that the rank has called", MPI_T_PVAR_CLASS_COUNTER,
     &of_rank<&detail::rank_counts::collectives>},
    {"weft_unexpected_bytes", "bytes that messages take which wait for their receives",
     MPI_T_PVAR_CLASS_LEVEL,
     [](const state& me) { return std::uint64_t{me.rank.lists.waiting_bytes()}; }},
    {"weft_requests", "requests of the rank that have not been freed", MPI_T_PVAR_CLASS_LEVEL,
     [](const state& me) { return std::uint64_t{me.requests.live()}; }},
    {"weft_switches", "switches between ranks and tasks of the rank's worker",
     MPI_T_PVAR_CLASS_COUNTER, &of_worker<&worker::statistics::switches>},
    {"weft_parks", "times that the worker has slept", MPI_T_PVAR_CLASS_COUNTER,
     &of_worker<&worker::statistics::parks>},
    {"weft_steals", "chunks that the worker has taken of others' loops", MPI_T_PVAR_CLASS_COUNTER,
     &of_worker<&worker::statistics::steals>},
    {"weft_failed_steals", "looks for such chunks that found none", MPI_T_PVAR_CLASS_COUNTER,
     &of_worker<&worker::statistics::failed_steals>},
    {"weft_moves", "moves of the worker to another thread", MPI_T_PVAR_CLASS_COUNTER,
     &of_worker<&worker::statistics::moves>},
}};

struct category {
  const char* name;
  const char* text;
  bool has_settings;
  bool has_events;
  std::size_t first, end;  // Of the performance variables.
};
constexpr std::array<category, 3> categories{
    {{"weft_settings", "the settings of the job", true, false, 0, 0},
     {"weft_messages", "messages, requests and collectives of the rank", false, true, 0,
      of_messages_count},
     {"weft_workers", "the worker that runs the rank", false, false, of_messages_count,
      performance_variables.size()}}};

// --- What a rank has made ------------------------------------------------------------------------------------------------

struct performance_handle {
  std::uintptr_t session;
  std::size_t index;
  std::uint64_t base;  // A counter's value when it began to count for this handle.
};

struct tool {
  std::map<std::uintptr_t, std::size_t> settings_read;  // Handles of control variables.
  std::map<std::uintptr_t, performance_handle> handles;
  std::uintptr_t last = 16;  // Above the predefined handles.
};

// By rank: emptied when a rank starts the interface.
struct tools_of_ranks {
  std::mutex lock;
  std::map<const state*, tool> all;
};
tools_of_ranks& tools() {
  static tools_of_ranks made;
  return made;
}

// The frame of all functions but the first two: `body` gets the rank's state and what its tools have made.
template <class Body>
int in_tool_call(const Body& body) {
  state* const me = find_state();
  if (me == nullptr) return MPI_T_ERR_NOT_INITIALIZED;
  tools_of_ranks& t = tools();
  const std::lock_guard hold(t.lock);
  if (me->tools_started == 0) return MPI_T_ERR_NOT_INITIALIZED;
  return body(*me, t.all[me]);
}

// Calls use(handle) for the handle, or for each of the session. Those that are counted only are `counters_only`.
template <class Use>
int with_handles(const state& me, tool& mine, MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                 const Use& use) {
  if (handle != MPI_T_PVAR_ALL_HANDLES) {
    const auto at = mine.handles.find(value_of(handle));
    if (at == mine.handles.end()) return MPI_T_ERR_INVALID_HANDLE;
    if (at->second.session != value_of(session)) return MPI_T_ERR_INVALID_SESSION;
    return use(at->second);
  }
  if (!me.tools_sessions.contains(value_of(session))) return MPI_T_ERR_INVALID_SESSION;
  for (auto& [value, one] : mine.handles)
    if (one.session == value_of(session)) (void)use(one);
  return MPI_SUCCESS;
}

std::uint64_t value_of_variable(const state& me, const performance_handle& h) {
  return performance_variables[h.index].now(me) - h.base;
}
int set_value(const state& me, performance_handle& h, std::uint64_t value) {
  const performance_variable& v = performance_variables[h.index];
  if (!v.counts()) return MPI_T_ERR_PVAR_NO_WRITE;
  h.base = v.now(me) - value;
  return MPI_SUCCESS;
}
int read_value(const state& me, const performance_handle& h, void* to) {
  if (to == nullptr) return MPI_T_ERR_INVALID;
  const std::uint64_t value = value_of_variable(me, h);
  std::memcpy(to, &value, sizeof value);
  return MPI_SUCCESS;
}

// Every variable counts always: none is started and stopped by itself.
int start_or_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return in_tool_call([&](const state& me, tool& mine) {
    return with_handles(me, mine, session, handle, [](const performance_handle&) {
      return static_cast<int>(MPI_T_ERR_PVAR_NO_STARTSTOP);
    });
  });
}

int none(int* number) {
  return in_tool_call([&](const state&, tool&) { return give(number, 0); });
}

// Writes up to `room` numbers from `first` on.
int give_numbers(int room, int* to, std::size_t first, std::size_t end) {
  if (room > 0 && to == nullptr) return MPI_T_ERR_INVALID;
  for (int i = 0; i < room && first < end; ++i, ++first) to[i] = static_cast<int>(first);
  return MPI_SUCCESS;
}

}  // namespace

void give_text(std::string_view text, char* to, int* length) {
  if (length == nullptr) return;
  if (to != nullptr && *length > 0) {
    const std::size_t size = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(to, text.data(), size);
    to[size] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

}  // namespace weft::mpi

using namespace weft::mpi;
using weft::setting;
using weft::settings;

WEFT_MPI_FUNCTION(int, MPI_T_init_thread, (int required, int* provided)) {
  state* const me = find_state();
  if (me == nullptr) return MPI_T_ERR_CANNOT_INIT;
  if (provided == nullptr) return MPI_T_ERR_INVALID;
  const std::lock_guard hold(tools().lock);
  if (me->tools_started++ == 0) tools().all[me] = {};
  *provided = required;  // Any level: what ranks and threads share has a lock.
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_finalize, ()) {
  state* const me = find_state();
  if (me == nullptr) return MPI_T_ERR_NOT_INITIALIZED;
  const std::lock_guard hold(tools().lock);
  if (me->tools_started == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (--me->tools_started == 0) {
    tools().all.erase(me);
    me->tools_sessions.clear();
    end_events_of(*me);
  }
  return MPI_SUCCESS;
}

// --- Control variables -----------------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_cvar_get_num, (int* num_cvar)) {
  return in_tool_call([&](const state&, tool&) { return give(num_cvar, settings().size()); });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_get_info,
                  (int cvar_index, char* name, int* name_len, int* verbosity,
                   MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                   int* bind, int* scope)) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(settings(), cvar_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const setting& row = settings()[static_cast<std::size_t>(cvar_index)];
    give_text(row.environment_name(), name, name_len);
    give_if(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
    if (datatype != nullptr) *datatype = MPI_CHAR;
    if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
    give_text(std::string(row.help) + " (" + row.allowed + ")", desc, desc_len);
    give_if(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    give_if(scope, static_cast<int>(MPI_T_SCOPE_CONSTANT));
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_get_index, (const char* name, int* cvar_index)) {
  return in_tool_call([&](const state&, tool&) {
    const auto found = std::ranges::find_if(settings(), [&](const setting& row) {
      return name != nullptr && row.environment_name() == name;
    });
    if (found == settings().end()) return static_cast<int>(MPI_T_ERR_INVALID_NAME);
    return give(cvar_index, static_cast<std::size_t>(found - settings().begin()));
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_handle_alloc,
                  (int cvar_index, void*, MPI_T_cvar_handle* handle, int* count)) {
  return in_tool_call([&](const state& me, tool& mine) {
    if (!has_index(settings(), cvar_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    if (handle == nullptr || count == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    const auto index = static_cast<std::size_t>(cvar_index);
    mine.settings_read[++mine.last] = index;
    *handle = reinterpret_cast<MPI_T_cvar_handle>(mine.last);
    return give(count, settings()[index].text(me.rank.of->how).size() + 1);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_handle_free, (MPI_T_cvar_handle * handle)) {
  return in_tool_call([&](const state&, tool& mine) {
    if (handle == nullptr || mine.settings_read.erase(value_of(*handle)) == 0)
      return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_read, (MPI_T_cvar_handle handle, void* buf)) {
  return in_tool_call([&](const state& me, tool& mine) {
    const auto at = mine.settings_read.find(value_of(handle));
    if (at == mine.settings_read.end()) return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    if (buf == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    const std::string text = settings()[at->second].text(me.rank.of->how);
    std::memcpy(buf, text.c_str(), text.size() + 1);
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_cvar_write, (MPI_T_cvar_handle handle, const void*)) {
  return in_tool_call([&](const state&, tool& mine) {
    return mine.settings_read.contains(value_of(handle))
               ? static_cast<int>(MPI_T_ERR_CVAR_SET_NEVER)
               : static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
  });
}

// --- Performance variables -------------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_pvar_get_num, (int* num_pvar)) {
  return in_tool_call(
      [&](const state&, tool&) { return give(num_pvar, performance_variables.size()); });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_get_info,
                  (int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                   MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                   int* bind, int* readonly, int* continuous, int* atomic)) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(performance_variables, pvar_index))
      return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const performance_variable& v = performance_variables[static_cast<std::size_t>(pvar_index)];
    give_text(v.name, name, name_len);
    give_if(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
    give_if(var_class, v.of_class);
    if (datatype != nullptr) *datatype = MPI_UNSIGNED_LONG_LONG;
    if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
    give_text(v.text, desc, desc_len);
    give_if(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    give_if(readonly, v.counts() ? 0 : 1);
    give_if(continuous, 1);
    give_if(atomic, 0);
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_get_index, (const char* name, int var_class, int* pvar_index)) {
  return in_tool_call([&](const state&, tool&) {
    const auto found =
        std::ranges::find_if(performance_variables, [&](const performance_variable& v) {
          return name != nullptr && std::strcmp(v.name, name) == 0 && v.of_class == var_class;
        });
    if (found == performance_variables.end()) return static_cast<int>(MPI_T_ERR_INVALID_NAME);
    return give(pvar_index, static_cast<std::size_t>(found - performance_variables.begin()));
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_session_create, (MPI_T_pvar_session * session)) {
  if (session == nullptr)
    return find_state() == nullptr ? MPI_T_ERR_NOT_INITIALIZED : MPI_T_ERR_INVALID;
  state* const me = find_state();
  return in_tool_call([&](const state&, tool&) {
    me->tools_sessions.insert(++me->last_tools_session);
    *session = reinterpret_cast<MPI_T_pvar_session>(me->last_tools_session);
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_session_free, (MPI_T_pvar_session * session)) {
  state* const me = find_state();
  return in_tool_call([&](const state&, tool& mine) {
    if (session == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    if (me->tools_sessions.erase(value_of(*session)) == 0)
      return static_cast<int>(MPI_T_ERR_INVALID_SESSION);
    std::erase_if(mine.handles,
                  [&](const auto& h) { return h.second.session == value_of(*session); });
    *session = MPI_T_PVAR_SESSION_NULL;
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_handle_alloc,
                  (MPI_T_pvar_session session, int pvar_index, void*, MPI_T_pvar_handle* handle,
                   int* count)) {
  return in_tool_call([&](const state& me, tool& mine) {
    if (!has_index(performance_variables, pvar_index))
      return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    if (!me.tools_sessions.contains(value_of(session)))
      return static_cast<int>(MPI_T_ERR_INVALID_SESSION);
    if (handle == nullptr || count == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    const auto index = static_cast<std::size_t>(pvar_index);
    const performance_variable& v = performance_variables[index];
    mine.handles[++mine.last] = {value_of(session), index, v.counts() ? v.now(me) : 0};
    *handle = reinterpret_cast<MPI_T_pvar_handle>(mine.last);
    return give(count, 1);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_handle_free,
                  (MPI_T_pvar_session session, MPI_T_pvar_handle* handle)) {
  return in_tool_call([&](const state&, tool& mine) {
    const auto at = handle == nullptr ? mine.handles.end() : mine.handles.find(value_of(*handle));
    if (at == mine.handles.end()) return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    if (at->second.session != value_of(session)) return static_cast<int>(MPI_T_ERR_INVALID_SESSION);
    mine.handles.erase(at);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return start_or_stop(session, handle);
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return start_or_stop(session, handle);
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_read,
                  (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf)) {
  return in_tool_call([&](const state& me, tool& mine) {
    if (handle == MPI_T_PVAR_ALL_HANDLES) return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    return with_handles(me, mine, session, handle,
                        [&](const performance_handle& h) { return read_value(me, h, buf); });
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_write,
                  (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf)) {
  return in_tool_call([&](const state& me, tool& mine) {
    if (handle == MPI_T_PVAR_ALL_HANDLES) return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    return with_handles(me, mine, session, handle, [&](performance_handle& h) {
      if (buf == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
      std::uint64_t value = 0;
      std::memcpy(&value, buf, sizeof value);
      return set_value(me, h, value);
    });
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle)) {
  return in_tool_call([&](const state& me, tool& mine) {
    return with_handles(me, mine, session, handle,
                        [&](performance_handle& h) { return set_value(me, h, 0); });
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_pvar_readreset,
                  (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf)) {
  return in_tool_call([&](const state& me, tool& mine) {
    if (handle == MPI_T_PVAR_ALL_HANDLES) return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    return with_handles(me, mine, session, handle, [&](performance_handle& h) {
      const int error = read_value(me, h, buf);
      return error != MPI_SUCCESS ? error : set_value(me, h, 0);
    });
  });
}

// --- Categories ------------------------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_category_get_num, (int* num_cat)) {
  return in_tool_call([&](const state&, tool&) { return give(num_cat, categories.size()); });
}
WEFT_MPI_FUNCTION(int, MPI_T_category_changed, (int* update_number)) {
  return none(update_number);
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_info,
                  (int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                   int* num_cvars, int* num_pvars, int* num_categories)) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(categories, cat_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const category& c = categories[static_cast<std::size_t>(cat_index)];
    give_text(c.name, name, name_len);
    give_text(c.text, desc, desc_len);
    give_if(num_cvars, c.has_settings ? settings().size() : 0);
    give_if(num_pvars, c.end - c.first);
    give_if(num_categories, 0);
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_num_events, (int cat_index, int* num_events)) {
  return in_tool_call([&](const state&, tool&) {
    return has_index(categories, cat_index)
               ? give(num_events, categories[static_cast<std::size_t>(cat_index)].has_events
                                      ? event_types()
                                      : 0)
               : static_cast<int>(MPI_T_ERR_INVALID_INDEX);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_index, (const char* name, int* cat_index)) {
  return in_tool_call([&](const state&, tool&) {
    const auto found = std::ranges::find_if(categories, [&](const category& c) {
      return name != nullptr && std::strcmp(c.name, name) == 0;
    });
    if (found == categories.end()) return static_cast<int>(MPI_T_ERR_INVALID_NAME);
    return give(cat_index, static_cast<std::size_t>(found - categories.begin()));
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_cvars, (int cat_index, int len, int indices[])) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(categories, cat_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const category& c = categories[static_cast<std::size_t>(cat_index)];
    return give_numbers(len, indices, 0, c.has_settings ? settings().size() : 0);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_category_get_pvars, (int cat_index, int len, int indices[])) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(categories, cat_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const category& c = categories[static_cast<std::size_t>(cat_index)];
    return give_numbers(len, indices, c.first, c.end);
  });
}

WEFT_MPI_FUNCTION(int, MPI_T_category_get_events, (int cat_index, int len, int indices[])) {
  return in_tool_call([&](const state&, tool&) {
    if (!has_index(categories, cat_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const bool has = categories[static_cast<std::size_t>(cat_index)].has_events;
    return give_numbers(len, indices, 0, has ? event_types() : 0);
  });
}

// --- What there is none of: categories in categories, enumerations ---------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_category_get_categories, (int cat_index, int, int[])) {
  return in_tool_call([&](const state&, tool&) {
    return has_index(categories, cat_index) ? static_cast<int>(MPI_SUCCESS)
                                            : static_cast<int>(MPI_T_ERR_INVALID_INDEX);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_enum_get_info, (MPI_T_enum, int*, char*, int*)) {
  return in_tool_call(
      [&](const state&, tool&) { return static_cast<int>(MPI_T_ERR_INVALID_HANDLE); });
}
WEFT_MPI_FUNCTION(int, MPI_T_enum_get_item, (MPI_T_enum, int, int*, char*, int*)) {
  return in_tool_call(
      [&](const state&, tool&) { return static_cast<int>(MPI_T_ERR_INVALID_HANDLE); });
}
