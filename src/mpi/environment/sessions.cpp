// Sessions: begin and end. They may overlap each other and MPI_Init's life in any order; MPI is open in a rank while one of
// them is. Neither call communicates.
#include "mpi/object/session.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/checks.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"
#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {
namespace {

constexpr std::array<std::pair<const char*, int>, 4> levels{
    {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
     {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
     {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
     {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}}};

const std::string* find_hint(const info_entries& hints, std::string_view key) {
  const auto at = std::ranges::find(hints, key, [](const auto& e) { return e.first; });
  return at == hints.end() ? nullptr : &at->second;
}

int wanted_level(const info_entries& hints) {
  const std::string* const wanted = find_hint(hints, "thread_level");
  if (wanted == nullptr) return MPI_THREAD_SINGLE;
  for (const auto& [name, level] : levels)
    if (*wanted == name) return level;
  fail(MPI_ERR_INFO_VALUE,
       "thread_level is {}, which is none of MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
       "MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE",
       text_of(wanted->c_str()));
}

// Another rank of the worker may be in the middle of a call, which has begun without the hand-off lock and does not give it
// up at its end.
bool may_share(const state& me) {
  const worker& here = *me.rank.home;
  if (here.is_shared()) return true;
  return std::ranges::none_of(me.rank.of->by_number, [&](const detail::job_rank* r) {
    if (r == nullptr || r == &me.rank || r->home != &here) return false;
    for (std::size_t slot = 0; slot < r->faces.size(); ++slot) {
      if (r->faces[slot] == nullptr) continue;
      if (slot != face_slot || static_cast<const state&>(*r->faces[slot]).is_open()) return true;
    }
    return false;
  });
}

// Returns the level that the session gets. On a thread that the rank has made there is nothing more to open.
int open_to_threads(state& me, int wanted) {
  if (!called_by_own_thread()) return std::min(wanted, me.highest_thread_level);
  if (wanted < MPI_THREAD_SERIALIZED) return wanted;
  if (!may_share(me)) return MPI_THREAD_FUNNELED;
  me.rank.home->share();
  return wanted;
}

constexpr const char* kinds_key = "mpi_memory_alloc_kinds";
constexpr std::string_view default_kinds = "mpi,system";

// Takes the text up to `end`, without blanks around it, and the sign there off `rest`.
std::string take_word(std::string_view& rest, char end) {
  const std::size_t size = std::min(rest.find(end), rest.size());
  std::string_view word = rest.substr(0, size);
  rest.remove_prefix(std::min(size + 1, rest.size()));
  while (word.starts_with(' ')) word.remove_prefix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  return std::string(word);
}

// The kind, which may have restrictors (KIND:RESTRICTOR:...), without blanks, where weft's functions give memory of it; else
// nothing.
std::string known_kind(std::string_view kind) {
  constexpr std::array<std::string_view, 3> restrictors{"alloc_mem", "win_allocate",
                                                        "win_allocate_shared"};
  std::string text;
  for (bool is_last = false; !is_last;) {
    is_last = kind.find(':') == kind.npos;
    const std::string word = take_word(kind, ':');
    const bool is_known = text.empty() ? word == "mpi" || (word == "system" && is_last)
                                       : std::ranges::find(restrictors, word) != restrictors.end();
    if (!is_known) return {};
    if (!text.empty()) text += ':';
    text += word;
  }
  return text;
}

// Of the kinds that the program asks for those that are known, in its order; and the two that are always there.
std::string memory_kinds(const info_entries& hints) {
  std::vector<std::string> kinds;
  const auto add_all = [&](std::string_view rest) {
    while (!rest.empty())
      if (std::string kind = known_kind(take_word(rest, ','));
          !kind.empty() && std::ranges::find(kinds, kind) == kinds.end())
        kinds.push_back(std::move(kind));
  };
  if (const std::string* const asked = find_hint(hints, kinds_key); asked != nullptr)
    add_all(*asked);
  add_all(default_kinds);
  std::string text;
  for (const std::string& kind : kinds) {
    if (!text.empty()) text += ',';
    text += kind;
  }
  return text;
}

void begin(state& me, MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  check_not_null(session, "session");
  *session = MPI_SESSION_NULL;
  check_handler_of_sessions(handler);
  const info_entries hints = checked_hints(me, info);
  const int wanted = wanted_level(hints);
  const bool was_open = me.is_open();
  const bool was_shared = me.rank.home->is_shared();
  make_predefined_communicators(me);
  session_object& s = me.sessions.make();
  s.number = ++me.sessions_made;
  s.thread_level = open_to_threads(me, wanted);
  s.memory_kinds = memory_kinds(hints);
  set_error_handler(me, s, handler);
  me.highest_thread_level = std::max(me.highest_thread_level, s.thread_level);
  me.open.store(true, std::memory_order_relaxed);
  worker& here = *me.rank.home;
  if (!was_open) me.usable = me.rank.of->checks == nullptr;
  me.rank.tell_faces_if_shared();
  // From here on the rank gives the hand-off lock up outside of calls. A call that comes before may hold it still: that of
  // another rank has brought this one to run.
  if (called_by_own_thread() && here.is_shared() && (!was_open || !was_shared)) here.leave_shared();
  *session = handle_of(s);
}

void tell_left(state& me, std::uint32_t session, const left_communicators& left) {
  if (me.rank.of->checks == nullptr) return;
  const auto tell = [&](std::size_t count, const char* one, const char* many, const char* remedy) {
    if (count != 0)
      me.rank.of->checks->add(
          {diagnosis::finding::kind::warning,
           formatted("rank {} called MPI_Session_finalize with {} {} of session {} not freed: {}",
                     me.rank.number, count, count == 1 ? one : many, session, remedy),
           {}});
  };
  tell(left.with_handle, "communicator", "communicators",
       "call MPI_Comm_free or MPI_Comm_disconnect");
  tell(left.without, "window, file or persistent collective",
       "windows, files or persistent collectives",
       "call MPI_Win_free, MPI_File_close or MPI_Request_free");
}

void end(state& me, MPI_Session* session) {
  check_not_null(session, "session");
  session_object& s = checked_session(*session);
  const char* const call = "MPI_Session_finalize";
  const std::uint32_t number = s.number;
  const bool is_last = me.sessions.live() == 1 && !me.has_world();
  const auto concerned = is_last ? std::optional<std::uint32_t>() : std::optional(number);
  if (is_last) finish_poll_hooks(me);
  finish_requests(me, call, WEFT_WAIT_NAMES("MPI_Session_finalize"), concerned);
  finish_buffered(me, "MPI_Session_finalize (buffered sends)", concerned);
  tell_left(me, number, end_communicators_of(me, number));
  if (is_last) tell_of_rest(me, call);
  set_error_handler(me, s, MPI_ERRORS_ARE_FATAL);
  me.sessions.free(s);
  *session = MPI_SESSION_NULL;
}

const char* name_of_level(int level) {
  return std::ranges::find(levels, level, [](const auto& l) { return l.second; })->first;
}

}  // namespace

session_object& checked_session(MPI_Session session) {
  if (auto* const s = find_object<session_object>(session); s != nullptr) return *s;
  if (session == MPI_SESSION_NULL) fail(MPI_ERR_SESSION, "the session is MPI_SESSION_NULL");
  fail(MPI_ERR_SESSION, "{} is no session, or has been finalised", text_of(session));
}

session_object* find_session(state& me, std::uint32_t number) {
  session_object* found = nullptr;
  if (number != no_session)
    me.sessions.each([&](session_object& s) {
      if (s.number == number) found = &s;
    });
  return found;
}

void tell_memory_kinds(state& me, std::uint32_t session, info_object& info) {
  const session_object* const s = find_session(me, session);
  info.set(kinds_key, s != nullptr ? s->memory_kinds : std::string(default_kinds));
}

}  // namespace weft::mpi

using namespace weft::mpi;

// Its errors go to the handler that it is given, whether MPI is open or not.
WEFT_MPI_FUNCTION(int, MPI_Session_init,
                  (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session)) {
  const entrance in;
  try {
    begin(in.checked_at_any_time("MPI_Session_init"), info, errhandler, session);
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return end_in_error(errhandler, text_of_call("MPI_Session_init", info, errhandler));
  } catch (const weft::job_stopped&) {
    pass_on_stop();
    return MPI_ERR_OTHER;  // Not reached.
  }
}

WEFT_MPI_FUNCTION(int, MPI_Session_finalize, (MPI_Session * session)) {
  const int code = in_call(
      "MPI_Session_finalize", session == nullptr ? MPI_SESSION_NULL : *session,
      [&](state& me) { end(me, session); }, session == nullptr ? MPI_SESSION_NULL : *session);
  // Behind in_call(), which still needs the rank's state.
  if (state* const me = find_state();
      me != nullptr && me->is_open() && me->sessions.live() == 0 && !me->has_world())
    me->close();
  return code;
}

WEFT_MPI_FUNCTION(int, MPI_Session_get_info, (MPI_Session session, MPI_Info* info_used)) {
  return in_call(
      "MPI_Session_get_info", session,
      [&](state& me) {
        check_not_null(info_used, "info_used");
        const session_object& s = checked_session(session);
        info_object& made = me.infos.make();
        made.set("thread_level", name_of_level(s.thread_level));
        made.set(kinds_key, s.memory_kinds);
        *info_used = handle_of(made);
      },
      session);
}
