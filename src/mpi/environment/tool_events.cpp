// Events of the tools interface: messages that come before their receives, waits that begin and end. What happens is kept for each
// registration, and given to its callback when the rank waits or calls the interface; what finds no room is counted, and the
// handler of dropped events told. Callbacks run on the rank's own fiber, without a lock.
#include <array>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/environment/tools.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "trace/tool_events.hpp"

namespace weft::mpi {
namespace {

struct element {
  const char* text;
  int (*of)(const told_event&);
};
struct event_type {
  const char* name;
  const char* text;
  told_kind what;
  std::array<element, 2> elements;
};
// Every element is an int.
constexpr std::array<event_type, 3> types{
    {{"weft_message_unexpected",
      "a message has come before its receive: its source in the communicator, and its tag",
      told_kind::message_unexpected,
      {{{"source", [](const told_event& e) { return e.peer; }},
        {"tag", [](const told_event& e) { return e.tag; }}}}},
     {"weft_wait_begun",
      "the rank begins to wait: for what (0 a receive, 1 a send, 2 a collective, 15 memory, 16 a "
      "task), and for which rank of the job, -1 where that is not known",
      told_kind::wait_begun,
      {{{"kind", [](const told_event& e) { return static_cast<int>(e.wait); }},
        {"peer", [](const told_event& e) { return e.peer; }}}}},
     {"weft_wait_ended",
      "a wait of the rank is over: kind as that of its begin, and -1",
      told_kind::wait_ended,
      {{{"kind", [](const told_event& e) { return static_cast<int>(e.wait); }},
        {"peer", [](const told_event&) { return -1; }}}}}}};
static_assert(static_cast<int>(trace_kind::wait_collective) == 2 &&
              static_cast<int>(trace_kind::wait_memory) == 15 &&
              static_cast<int>(trace_kind::wait_task) == 16);

// Events that a registration keeps until they are given.
constexpr std::size_t events_kept_max = 1024;

struct kept {
  told_event event;
  std::uint64_t at_ns;
};
constexpr std::array levels{MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                            MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
struct registration {
  const state* of;
  std::size_t type;
  struct callback {
    MPI_T_event_cb_function* function = nullptr;
    void* data = nullptr;
  };
  std::array<callback, levels.size()> callbacks;
  MPI_T_event_dropped_cb_function* dropped_handler = nullptr;
  std::deque<kept> waiting;
  MPI_Count dropped = 0;
};

struct all_registrations {
  std::mutex lock;
  std::map<std::uintptr_t, registration> by_handle;
  std::uintptr_t last = 16;
};
all_registrations& registrations() {
  static auto& made = *new all_registrations;  // Never destroyed: a rank may end at exit.
  return made;
}
// A handle that is freed in a callback: its free function is called when callbacks have ended.
struct freed_handle {
  MPI_T_event_registration handle;
  void* data;
  MPI_T_event_free_cb_function* function;
};
// The ranks that run callbacks: what happens meanwhile waits. Ranks of a worker share the thread, and a callback may wait.
std::map<const state*, std::vector<freed_handle>>& delivering() {  // With the lock.
  static auto& made = *new std::map<const state*, std::vector<freed_handle>>;
  return made;
}

std::size_t level_of(MPI_T_cb_safety safety) {
  return static_cast<std::size_t>(std::ranges::find(levels, safety) - levels.begin());
}
// The callback for a place that demands this level, or more; none: null.
const registration::callback* callback_for(const registration& r, std::size_t least) {
  for (std::size_t l = least; l < levels.size(); ++l)
    if (r.callbacks[l].function != nullptr) return &r.callbacks[l];
  return nullptr;
}

// Gives the rank's callbacks what waits for them, oldest first. `least`: the level that this place demands.
void deliver(state& me, MPI_T_cb_safety least) {
  all_registrations& all = registrations();
  const std::size_t level = level_of(least);
  std::vector<freed_handle> freed;
  {
    const std::lock_guard hold(all.lock);
    if (!delivering().try_emplace(&me).second) return;
  }
  for (;;) {
    kept next;
    MPI_Count dropped = 0;
    registration::callback call;
    MPI_T_event_dropped_cb_function* tell_dropped = nullptr;
    std::uintptr_t handle = 0;
    {
      const std::lock_guard hold(all.lock);
      registration* oldest = nullptr;
      for (auto& [number, r] : all.by_handle) {
        if (r.of != &me || r.waiting.empty() || callback_for(r, level) == nullptr) continue;
        if (oldest != nullptr && oldest->waiting.front().at_ns <= r.waiting.front().at_ns) continue;
        oldest = &r;
        handle = number;
      }
      if (oldest == nullptr) {
        freed = std::move(delivering()[&me]);
        delivering().erase(&me);
        break;
      }
      next = oldest->waiting.front();
      oldest->waiting.pop_front();
      call = *callback_for(*oldest, level);
      if (oldest->dropped != 0 && oldest->waiting.empty()) {  // Those that were kept came before.
        dropped = std::exchange(oldest->dropped, 0);
        tell_dropped = oldest->dropped_handler;
      }
    }
    const auto registered = reinterpret_cast<MPI_T_event_registration>(handle);
    call.function(reinterpret_cast<MPI_T_event_instance>(&next), registered, least, call.data);
    if (dropped != 0 && tell_dropped != nullptr)
      tell_dropped(dropped, registered, 0, least, call.data);
  }
  for (const freed_handle& f : freed) f.function(f.handle, least, f.data);
}

void hear(const told_event& e) noexcept {
  all_registrations& all = registrations();
  state* const own = find_state();
  {
    const std::lock_guard hold(all.lock);
    const std::uint64_t now = now_ns();
    for (auto& [handle, r] : all.by_handle) {
      // Other jobs of the process have ranks of the same number.
      if (types[r.type].what != e.what || r.of->rank.number != e.rank ||
          (own != nullptr && r.of->rank.of != own->rank.of) || callback_for(r, 0) == nullptr)
        continue;
      if (r.waiting.size() == events_kept_max)
        ++r.dropped;
      else
        r.waiting.push_back({e, now});
    }
  }
  // Of a message it is told on any fiber of the worker.
  if (e.what != told_kind::message_unexpected && own != nullptr && own->rank.number == e.rank)
    deliver(*own, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
}

template <class Body>
int in_event_call(const Body& body) {
  state* const me = find_state();
  if (me == nullptr || me->tools_started == 0) return MPI_T_ERR_NOT_INITIALIZED;
  deliver(*me, MPI_T_CB_REQUIRE_NONE);
  const std::lock_guard hold(registrations().lock);
  return body(*me);
}
template <class Body>
int with_registration(MPI_T_event_registration handle, const Body& body) {
  return in_event_call([&](state& me) {
    const auto at = registrations().by_handle.find(value_of(handle));
    if (at == registrations().by_handle.end() || at->second.of != &me)
      return static_cast<int>(MPI_T_ERR_INVALID_HANDLE);
    return body(me, at->second);
  });
}
// An instance lives while its callback runs.
const kept* instance_of(MPI_T_event_instance handle) {
  return reinterpret_cast<const kept*>(handle);
}
const event_type& type_of(const kept& instance) {
  return types[static_cast<std::size_t>(instance.event.what)];
}
int give_info(state& me, MPI_Info* info) {
  if (info == nullptr) return MPI_T_ERR_INVALID;
  *info = handle_of(me.infos.make());  // There are no hints.
  return MPI_SUCCESS;
}
void listen_or_not() {  // With the lock.
  listen_as_tool(registrations().by_handle.empty() ? nullptr : &hear);
}

}  // namespace

std::size_t event_types() noexcept {
  return types.size();
}

void end_events_of(state& me) {
  const std::lock_guard hold(registrations().lock);
  std::erase_if(registrations().by_handle, [&](const auto& one) { return one.second.of == &me; });
  listen_or_not();
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_T_event_get_num, (int* num_events)) {
  return in_event_call([&](state&) { return give(num_events, types.size()); });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_get_index, (const char* name, int* event_index)) {
  return in_event_call([&](state&) {
    for (std::size_t i = 0; i < types.size(); ++i)
      if (name != nullptr && std::strcmp(types[i].name, name) == 0) return give(event_index, i);
    return static_cast<int>(MPI_T_ERR_INVALID_NAME);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_get_info,
                  (int event_index, char* name, int* name_len, int* verbosity,
                   MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                   int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                   int* desc_len, int* bind)) {
  return in_event_call([&](state& me) {
    if (!has_index(types, event_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    const event_type& t = types[static_cast<std::size_t>(event_index)];
    give_text(t.name, name, name_len);
    give_text(t.text, desc, desc_len);
    give_if(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
    // In `num_elements` comes the room, and goes the number.
    const int room = num_elements != nullptr ? *num_elements : 0;
    for (int i = 0; i < room && i < static_cast<int>(t.elements.size()); ++i) {
      if (array_of_datatypes != nullptr) array_of_datatypes[i] = MPI_INT;
      if (array_of_displacements != nullptr)
        array_of_displacements[i] = i * static_cast<MPI_Aint>(sizeof(int));
    }
    give_if(num_elements, t.elements.size());
    if (enumtype != nullptr) *enumtype = MPI_T_ENUM_NULL;
    if (info != nullptr) (void)give_info(me, info);
    give_if(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    return static_cast<int>(MPI_SUCCESS);
  });
}

// --- Registrations -------------------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_event_handle_alloc,
                  (int event_index, void*, MPI_Info info,
                   MPI_T_event_registration* event_registration)) {
  (void)info;
  return in_event_call([&](state& me) {
    if (!has_index(types, event_index)) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    if (event_registration == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    all_registrations& all = registrations();
    registration& made = all.by_handle[++all.last];
    made.of = &me;
    made.type = static_cast<std::size_t>(event_index);
    *event_registration = reinterpret_cast<MPI_T_event_registration>(all.last);
    listen_or_not();
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_handle_free,
                  (MPI_T_event_registration event_registration, void* user_data,
                   MPI_T_event_free_cb_function free_cb_function)) {
  bool is_in_callback = false;
  const int error = with_registration(event_registration, [&](state& me, registration&) {
    registrations().by_handle.erase(value_of(event_registration));
    listen_or_not();
    const auto running = delivering().find(&me);
    is_in_callback = running != delivering().end();
    if (is_in_callback && free_cb_function != nullptr)
      running->second.push_back({event_registration, user_data, free_cb_function});
    return static_cast<int>(MPI_SUCCESS);
  });
  // No callback of it runs any more.
  if (error == MPI_SUCCESS && free_cb_function != nullptr && !is_in_callback)
    free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
  return error;
}
WEFT_MPI_FUNCTION(int, MPI_T_event_handle_set_info,
                  (MPI_T_event_registration event_registration, MPI_Info info)) {
  (void)info;
  return with_registration(event_registration,
                           [](state&, registration&) { return static_cast<int>(MPI_SUCCESS); });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_handle_get_info,
                  (MPI_T_event_registration event_registration, MPI_Info* info_used)) {
  return with_registration(event_registration,
                           [&](state& me, registration&) { return give_info(me, info_used); });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_register_callback,
                  (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                   MPI_Info info, void* user_data, MPI_T_event_cb_function event_cb_function)) {
  (void)info;
  return with_registration(event_registration, [&](state&, registration& r) {
    const std::size_t level = level_of(cb_safety);
    if (level == levels.size()) return static_cast<int>(MPI_T_ERR_INVALID);
    r.callbacks[level] = {event_cb_function, user_data};
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_callback_set_info,
                  (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                   MPI_Info info)) {
  (void)info;
  return with_registration(event_registration, [&](state&, registration& r) {
    const std::size_t level = level_of(cb_safety);
    const bool has = level != levels.size() && r.callbacks[level].function != nullptr;
    return has ? static_cast<int>(MPI_SUCCESS) : static_cast<int>(MPI_T_ERR_INVALID);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_callback_get_info,
                  (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                   MPI_Info* info_used)) {
  return with_registration(event_registration, [&](state& me, registration& r) {
    const std::size_t level = level_of(cb_safety);
    if (level == levels.size() || r.callbacks[level].function == nullptr)
      return static_cast<int>(MPI_T_ERR_INVALID);
    return give_info(me, info_used);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_event_set_dropped_handler,
                  (MPI_T_event_registration event_registration,
                   MPI_T_event_dropped_cb_function dropped_cb_function)) {
  return with_registration(event_registration, [&](state&, registration& r) {
    r.dropped_handler = dropped_cb_function;
    return static_cast<int>(MPI_SUCCESS);
  });
}

// --- Instances: in callbacks alone -----------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_event_read,
                  (MPI_T_event_instance event_instance, int element_index, void* buffer)) {
  const kept* const one = instance_of(event_instance);
  if (one == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  const auto& elements = type_of(*one).elements;
  if (!has_index(elements, element_index)) return MPI_T_ERR_INVALID_INDEX;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  const int value = elements[static_cast<std::size_t>(element_index)].of(one->event);
  std::memcpy(buffer, &value, sizeof value);
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_event_copy, (MPI_T_event_instance event_instance, void* buffer)) {
  const kept* const one = instance_of(event_instance);
  if (one == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  auto* to = static_cast<std::byte*>(buffer);
  for (const element& e : type_of(*one).elements) {
    const int value = e.of(one->event);
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_event_get_timestamp,
                  (MPI_T_event_instance event_instance, MPI_Count* event_timestamp)) {
  const kept* const one = instance_of(event_instance);
  if (one == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (event_timestamp == nullptr) return MPI_T_ERR_INVALID;
  *event_timestamp = static_cast<MPI_Count>(one->at_ns);
  return MPI_SUCCESS;
}
WEFT_MPI_FUNCTION(int, MPI_T_event_get_source,
                  (MPI_T_event_instance event_instance, int* source_index)) {
  return instance_of(event_instance) == nullptr ? static_cast<int>(MPI_T_ERR_INVALID_HANDLE)
                                                : give(source_index, 0);
}

// --- The source: one ---------------------------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_T_source_get_num, (int* num_sources)) {
  return in_event_call([&](state&) { return give(num_sources, 1); });
}
WEFT_MPI_FUNCTION(int, MPI_T_source_get_info,
                  (int source_index, char* name, int* name_len, char* desc, int* desc_len,
                   MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                   MPI_Info* info)) {
  return in_event_call([&](state& me) {
    if (source_index != 0) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    give_text("weft_rank", name, name_len);
    give_text("what happens to the calling rank, by the clock of its host", desc, desc_len);
    // A callback without demands is called later than others: only each registration has its events in order.
    if (ordering != nullptr) *ordering = MPI_T_SOURCE_UNORDERED;
    give_if(ticks_per_second, 1'000'000'000);
    give_if(max_ticks, std::numeric_limits<MPI_Count>::max());
    if (info != nullptr) (void)give_info(me, info);
    return static_cast<int>(MPI_SUCCESS);
  });
}
WEFT_MPI_FUNCTION(int, MPI_T_source_get_timestamp, (int source_index, MPI_Count* timestamp)) {
  return in_event_call([&](state&) {
    if (source_index != 0) return static_cast<int>(MPI_T_ERR_INVALID_INDEX);
    if (timestamp == nullptr) return static_cast<int>(MPI_T_ERR_INVALID);
    *timestamp = static_cast<MPI_Count>(weft::now_ns());
    return static_cast<int>(MPI_SUCCESS);
  });
}
