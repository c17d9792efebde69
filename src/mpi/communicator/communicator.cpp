// Communicators: their sizes and ranks, new ones out of others, their ends, names and hints. Inter-communicators are made
// in intercommunicator.cpp.
#include "mpi/object/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "collective/collectives.hpp"
#include "collective/new_communicators.hpp"
#include "mpi/communicator/written_handle.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/session.hpp"
#include "mpi/object/state.hpp"
#include "mpi/point_to_point/transfer.hpp"

namespace weft::mpi {

using namespace detail;

communicator_object& checked_intracommunicator(state& me, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  if (c.is_inter())
    fail(MPI_ERR_COMM, "{} is an inter-communicator: the call needs one of a single group",
         text_of(comm));
  return c;
}

void check_root(const communicator_object& c, int root) {
  if (root < 0 || root >= c.peers_count) [[unlikely]]
    fail(MPI_ERR_ROOT, "root {}: {}{}", root, ranks_of(c),
         c.is_inter() ? "; in its own group the root passes MPI_ROOT, the others MPI_PROC_NULL"
                      : "");
}

MPI_Comm add_communicator(state& me, std::optional<weft::communicator> made,
                          const communicator_object& parent) {
  if (!made) return MPI_COMM_NULL;
  communicator_object& c = me.communicators.make(std::move(*made));
  c.session = parent.session;
  set_error_handler(me, c, parent.handler);
  return handle_of(c);
}

std::shared_ptr<communicator_object> with_own_context(state& me, const communicator_object& c,
                                                      const char* call) {
  // It comes from the rank's pool: reports find a communicator there by its context.
  const std::shared_ptr<communicator_object> made(
      &me.communicators.make(*split(*c.shared, c.own, 0, 0, call)),
      [&me](communicator_object* gone) { me.communicators.free(*gone); });
  if (me.births != nullptr) me.births->ended(object_kind::communicator, made.get());
  made->name = c.name;
  made->set_peers(c.peers_first, c.peers_count, c.locals_first);
  made->topology = c.topology;
  made->session = c.session;
  made->has_handle = false;
  return made;
}

namespace {

// Puts `made` into the rank's pool, with the groups, the topology and the error handler of `parent`.
communicator_object& add_copy(state& me, weft::communicator made,
                              const communicator_object& parent) {
  communicator_object& c = me.communicators.make(std::move(made));
  c.set_peers(parent.peers_first, parent.peers_count, parent.locals_first);
  c.topology = parent.topology;
  c.session = parent.session;
  set_error_handler(me, c, parent.handler);
  return c;
}

// Frees the retired communicators that no request and no message of MPI_Mprobe names any more.
void free_retired(state& me) {
  for (communicator_object* c : me.retired) c->needed = false;
  const auto need = [](const auto& referring) {
    auto* const c = find_object<communicator_object>(referring.where, object_kind::retired);
    if (c != nullptr) c->needed = true;
  };
  me.requests.each(need);
  me.messages.each(need);
  std::erase_if(me.retired, [&](communicator_object* c) {
    if (c->needed) return false;
    set_error_handler(me, *c, MPI_ERRORS_ARE_FATAL);
    me.communicators.free(*c);
    return true;
  });
}

// Ends the program's handle at once. The communicator is retired: it stays until the requests and messages that name it
// have ended.
void end_communicator(state& me, MPI_Comm& comm) {
  communicator_object& c = checked_communicator(me, comm);
  if (is_predefined(comm)) fail(MPI_ERR_COMM, "{} cannot be freed", text_of(comm));
  delete_attributes(me, comm, c);
  me.own_buffers.erase(c.shared->context);
  if (me.births != nullptr) me.births->ended(object_kind::communicator, &c);
  c.kind = object_kind::retired;
  me.retired.push_back(&c);
  free_retired(me);
  comm = MPI_COMM_NULL;
}

// MPI_Comm_disconnect: returns when all operations that this rank has started on the communicator are complete. The
// program still waits for the requests itself. A request that was found complete is not looked at again.
void wait_for_rest(state& me, MPI_Comm comm, const communicator_object& c) {
  const auto is_open = [&](const request_object& r) {
    return r.where == comm && r.active && r.what != request_object::type::generalized &&
           !r.complete();
  };
  // Handles, no pointers: other threads of the rank may free the requests during the wait.
  std::vector<MPI_Request> open;
  me.requests.each([&](request_object& r) {
    if (is_open(r)) open.push_back(handle_of(r));
  });
  const auto none_is_open = [&] {
    for (; !open.empty(); open.pop_back())
      if (const auto* const r = find_object<request_object>(open.back());
          r != nullptr && is_open(*r))
        return false;
    return !has_buffered(me, c.shared->context);
  };
  me.rank.home->wait_until(none_is_open, {"MPI_Comm_disconnect", c.shared->context});
}

// The new communicator has the hints of the call; those of its parent are not copied (MPI 4.1 section 7.4.2).
void duplicate(state& me, MPI_Comm comm, info_entries hints, MPI_Comm* newcomm, const char* call) {
  check_not_null(newcomm, "newcomm");
  communicator_object& parent = checked_communicator(me, comm);
  *newcomm = MPI_COMM_NULL;
  communicator_object& made = add_copy(me, *split(*parent.shared, parent.own, 0, 0, call), parent);
  made.hints = std::move(hints);
  MPI_Comm handle = handle_of(made);
  try {
    copy_attributes(me, comm, parent, made);
  } catch (...) {
    end_communicator(me, handle);
    throw;
  }
  *newcomm = handle;
}

// An integer for a handle as another binary interface has it: `null`, or the marks of its kind and Fortran's integer.
struct marked_integer {
  int* to;
  int null;
  unsigned marks;
};

// Writes a handle into the program's variable: a handle of C, an integer of Fortran, or one with marks.
void give(state& me, MPI_Comm handle, const marked_integer& variable) {
  if (handle == MPI_COMM_NULL) {
    *variable.to = variable.null;
    return;
  }
  MPI_Fint number = 0;
  give(me, handle, &number);
  *variable.to = static_cast<int>(variable.marks | static_cast<unsigned>(number));
}
bool is_variable(const void* newcomm) noexcept {
  return newcomm != nullptr;
}
bool is_variable(const marked_integer& newcomm) noexcept {
  return newcomm.to != nullptr;
}

// MPI_Comm_idup. The program's copy functions run now, in the call. The communicator is made on the fiber of the
// collective, when all ranks have called; `*newcomm` is written there, before the request is complete.
template <class Variable>
void start_duplicate(state& me, MPI_Comm comm, info_entries hints, Variable newcomm,
                     MPI_Request* request, const char* call) {
  if (!is_variable(newcomm)) fail(MPI_ERR_ARG, "newcomm is a null pointer");
  check_not_null(request, "request");
  communicator_object& parent = checked_communicator(me, comm);
  give(me, MPI_COMM_NULL, newcomm);
  // A copy of what is needed of the parent, which the program may free before the fiber runs.
  auto model = std::make_shared<communicator_object>(parent.ranks);
  model->set_peers(parent.peers_first, parent.peers_count, parent.locals_first);
  model->topology = parent.topology;
  model->session = parent.session;
  model->hints = std::move(hints);
  set_error_handler(me, *model, parent.handler);
  copy_attributes(me, comm, parent, *model);
  const diagnosis::call_list place =
      me.births != nullptr ? diagnosis::calls_here() : diagnosis::call_list();
  *request = add_request(
      me, comm,
      start_collective(parent.ranks.shared_state(), parent.own,
                       [&me, model, newcomm, call, place] {
                         communicator_object& made =
                             add_copy(me, *split(*model->shared, model->own, 0, 0, call), *model);
                         if (me.births != nullptr)
                           me.births->born(object_kind::communicator, &made, place);
                         made.attributes = std::move(model->attributes);
                         made.hints = std::move(model->hints);
                         set_error_handler(me, *model, MPI_ERRORS_ARE_FATAL);
                         give(me, handle_of(made), newcomm);
                       }),
      call);
}

}  // namespace

MPI_Comm split_by_color(state& me, communicator_object& c, int color, int key, const char* call) {
  if (color < 0 && color != MPI_UNDEFINED)
    fail(MPI_ERR_ARG, "color {}: colors are 0 or more, or MPI_UNDEFINED", color);
  const int mine = color == MPI_UNDEFINED ? undefined_color : color;
  if (!c.is_inter()) return add_communicator(me, split(*c.shared, c.own, mine, key, call), c);
  // The ranks below of an inter-communicator are those of one group and then those of the other. So each rank sorts its own
  // group by key itself, and passes its place below as the key.
  struct wish {
    int color, key;
  };
  const std::vector<wish> wishes = c.ranks.allgather(wish{mine, key});
  int place = c.locals_first;
  for (int r = c.locals_first; r < c.locals_first + c.locals_count(); ++r) {
    const wish& other = wishes[static_cast<std::size_t>(r)];
    if (other.color == mine && (other.key < key || (other.key == key && r < c.own))) ++place;
  }
  return add_intercommunicator(me, split(*c.shared, c.own, mine, place, call), c);
}

namespace {

MPI_Comm create_from_group(state& me, communicator_object& c, MPI_Group group, const char* call) {
  const std::vector<int>& wanted = checked_group(me, group).ranks;
  const std::vector<int> places = places_in(local_ranks(c), wanted);
  if (std::find(places.begin(), places.end(), static_cast<int>(MPI_UNDEFINED)) != places.end())
    fail(MPI_ERR_GROUP, "the group has ranks that the communicator has not");
  if (!c.is_inter()) return add_communicator(me, create(*c.shared, c.own, places, call), c);
  const auto at = std::find(places.begin(), places.end(), c.rank());
  const auto place = static_cast<int>(at - places.begin());
  return add_intercommunicator(me,
                               split(*c.shared, c.own, at != places.end() ? 0 : undefined_color,
                                     c.locals_first + place, call),
                               c);
}

MPI_Comm create_from_group(state& me, MPI_Group group, const char* stringtag, info_entries hints,
                           MPI_Errhandler handler, const char* call) {
  const group_object& g = group_with_caller(me, group);
  const std::uint32_t session = g.session;
  communicator_object& c = me.communicators.make(create_named(
      me.rank, me.named, std::vector<int>(g.ranks), checked_name("of a group", stringtag), call));
  c.session = session;
  c.hints = std::move(hints);
  set_error_handler(me, c, handler);
  return handle_of(c);
}

int compare(const communicator_object& a, const communicator_object& b) {
  if (&a == &b) return MPI_IDENT;
  if (a.is_inter() != b.is_inter()) return MPI_UNEQUAL;
  std::vector<int> locals[] = {local_ranks(a), local_ranks(b)};
  std::vector<int> remotes[] = {remote_ranks(a), remote_ranks(b)};
  if (locals[0] == locals[1] && remotes[0] == remotes[1]) return MPI_CONGRUENT;
  for (auto* lists : {locals, remotes})
    for (int i = 0; i < 2; ++i) std::sort(lists[i].begin(), lists[i].end());
  return locals[0] == locals[1] && remotes[0] == remotes[1] ? MPI_SIMILAR : MPI_UNEQUAL;
}

}  // namespace

const group_object& group_with_caller(state& me, MPI_Group group) {
  const group_object& g = checked_group(me, group);
  if (std::ranges::find(g.ranks, me.rank.number) == g.ranks.end())
    fail(MPI_ERR_GROUP, "the group has {} ranks, and the caller is none of them",
         static_cast<long>(g.ranks.size()));
  return g;
}

std::string checked_name(const char* kind, const char* stringtag) {
  check_not_null(stringtag, "stringtag");
  const std::size_t size = std::strlen(stringtag);
  if (size >= MPI_MAX_STRINGTAG_LEN)
    fail(MPI_ERR_ARG, "the stringtag has {} characters: at most {} fit", size,
         MPI_MAX_STRINGTAG_LEN - 1);
  return formatted("{}: {}", kind, stringtag);
}

left_communicators end_communicators_of(state& me, std::uint32_t session) {
  left_communicators left;
  std::vector<MPI_Comm> theirs;
  me.communicators.each([&](communicator_object& c) {
    if (c.session != session) return;
    if (c.has_handle)
      theirs.push_back(handle_of(c));
    else
      ++left.without;
  });
  left.with_handle = theirs.size();
  for (MPI_Comm comm : theirs) end_communicator(me, comm);
  return left;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Comm_rank, (MPI_Comm comm, int* rank)) {
  return in_call(
      "MPI_Comm_rank", comm,
      [&](state& me) {
        check_not_null(rank, "rank");
        *rank = checked_communicator(me, comm).rank();
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_size, (MPI_Comm comm, int* size)) {
  return in_call(
      "MPI_Comm_size", comm,
      [&](state& me) {
        check_not_null(size, "size");
        *size = checked_communicator(me, comm).locals_count();
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int* result)) {
  return in_call(
      "MPI_Comm_compare", comm1,
      [&](state& me) {
        check_not_null(result, "result");
        *result = compare(checked_communicator(me, comm1), checked_communicator(me, comm2));
      },
      comm1, comm2);
}

// --- Communicators made of others --------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_dup", comm, [&](state& me) { duplicate(me, comm, {}, newcomm, "MPI_Comm_dup"); },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_dup_with_info", comm,
      [&](state& me) {
        duplicate(me, comm, checked_hints(me, info), newcomm, "MPI_Comm_dup_with_info");
      },
      comm, info);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_idup, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request)) {
  return in_call(
      "MPI_Comm_idup", comm,
      [&](state& me) { start_duplicate(me, comm, {}, newcomm, request, "MPI_Comm_idup"); }, comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_idup_with_info,
                  (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request)) {
  return in_call(
      "MPI_Comm_idup_with_info", comm,
      [&](state& me) {
        start_duplicate(me, comm, checked_hints(me, info), newcomm, request,
                        "MPI_Comm_idup_with_info");
      },
      comm, info);
}

// MPI_Comm_idup for Fortran. The stub cannot convert the handle: it is written after the stub has returned.
extern "C" int weft_fortran_idup(MPI_Comm comm, MPI_Info info, MPI_Fint* newcomm,
                                 MPI_Request* request) {
  return in_call(
      "MPI_Comm_idup", comm,
      [&](state& me) {
        start_duplicate(me, comm, checked_hints(me, info), newcomm, request, "MPI_Comm_idup");
      },
      comm, info);
}

// The same for libmpi.so.12 (abi/mpich).
extern "C" int weft_marked_idup(MPI_Comm comm, MPI_Info info, int* newcomm, int null,
                                unsigned marks, MPI_Request* request) {
  return in_call(
      "MPI_Comm_idup", comm,
      [&](state& me) {
        start_duplicate(me, comm, checked_hints(me, info), marked_integer{newcomm, null, marks},
                        request, "MPI_Comm_idup");
      },
      comm, info);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_split", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        *newcomm = split_by_color(me, checked_communicator(me, comm), color, key, "MPI_Comm_split");
      },
      comm, color, key);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_create", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        *newcomm = create_from_group(me, checked_communicator(me, comm), group, "MPI_Comm_create");
      },
      comm, group);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_create_group,
                  (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_create_group", comm,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        communicator_object& c = checked_intracommunicator(me, comm);
        check_tag(tag);
        const std::vector<int> places = places_in(local_ranks(c), checked_group(me, group).ranks);
        if (std::find(places.begin(), places.end(), static_cast<int>(MPI_UNDEFINED)) !=
            places.end())
          fail(MPI_ERR_GROUP, "the group has ranks that the communicator has not");
        *newcomm = MPI_COMM_NULL;
        if (std::find(places.begin(), places.end(), c.rank()) == places.end()) return;
        *newcomm = add_communicator(
            me, create_group(*c.shared, c.own, places, tag, "MPI_Comm_create_group"), c);
      },
      comm, group, tag);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_create_from_group,
                  (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                   MPI_Comm* newcomm)) {
  return in_call(
      "MPI_Comm_create_from_group", errhandler,
      [&](state& me) {
        check_not_null(newcomm, "newcomm");
        check_handler_of_communicators(errhandler);
        info_entries hints = checked_hints(me, info);
        *newcomm = MPI_COMM_NULL;
        if (group == MPI_GROUP_EMPTY) return;  // Of nobody, and with nobody.
        *newcomm = create_from_group(me, group, stringtag, std::move(hints), errhandler,
                                     "MPI_Comm_create_from_group");
      },
      group, stringtag, info, errhandler);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_free, (MPI_Comm * comm)) {
  return in_call(
      "MPI_Comm_free", comm == nullptr ? MPI_COMM_SELF : *comm,
      [&](state& me) {
        check_not_null(comm, "comm");
        end_communicator(me, *comm);
        look_for_other_jobs(me);
      },
      comm == nullptr ? MPI_COMM_NULL : *comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_disconnect, (MPI_Comm * comm)) {
  return in_call(
      "MPI_Comm_disconnect", comm == nullptr ? MPI_COMM_SELF : *comm,
      [&](state& me) {
        check_not_null(comm, "comm");
        communicator_object& c = checked_communicator(me, *comm);
        if (!is_predefined(*comm)) {
          wait_for_rest(me, *comm, c);
          weft::detail::meet(*c.shared, c.own, "MPI_Comm_disconnect");
        }
        end_communicator(me, *comm);
        look_for_other_jobs(me);
      },
      comm == nullptr ? MPI_COMM_NULL : *comm);
}

// --- Names and hints -------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Comm_set_name, (MPI_Comm comm, const char* comm_name)) {
  return in_call(
      "MPI_Comm_set_name", comm,
      [&](state& me) {
        check_not_null(comm_name, "comm_name");
        checked_communicator(me, comm).name =
            std::string(comm_name).substr(0, MPI_MAX_OBJECT_NAME - 1);
      },
      comm, comm_name);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_get_name, (MPI_Comm comm, char* comm_name, int* resultlen)) {
  return in_call(
      "MPI_Comm_get_name", comm,
      [&](state& me) {
        check_not_null(comm_name, "comm_name");
        check_not_null(resultlen, "resultlen");
        // MPI_COMM_NULL has a name, too.
        const std::string name =
            comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : checked_communicator(me, comm).name;
        std::memcpy(comm_name, name.c_str(), name.size() + 1);
        *resultlen = static_cast<int>(name.size());
      },
      comm);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_set_info, (MPI_Comm comm, MPI_Info info)) {
  return in_call(
      "MPI_Comm_set_info", comm,
      [&](state& me) {
        communicator_object& c = checked_communicator(me, comm);
        info_object all;
        all.entries = c.hints;
        for (const auto& [key, value] : checked_hints(me, info)) all.set(key, value);
        c.hints = std::move(all.entries);
      },
      comm, info);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_get_info, (MPI_Comm comm, MPI_Info* info_used)) {
  return in_call(
      "MPI_Comm_get_info", comm,
      [&](state& me) {
        check_not_null(info_used, "info_used");
        const communicator_object& c = checked_communicator(me, comm);
        info_object& made = me.infos.make();
        made.entries = c.hints;
        tell_memory_kinds(me, c.session, made);
        *info_used = handle_of(made);
      },
      comm);
}
