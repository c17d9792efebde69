#include "mpi/object/state.hpp"

#include <limits>

#include "base/format.hpp"
#include "job/caller.hpp"
#include "process/life/late_rank.hpp"
#include "weft/error.hpp"

namespace weft::mpi {
namespace {

constexpr detail::face as_face{face_slot, "MPI"};
[[maybe_unused]] const std::size_t registered = detail::register_face(as_face);

}  // namespace

state::state(detail::rank_state& r)
    : rank(r), births(r.of->checks != nullptr ? std::make_unique<birth_list>() : nullptr) {
  communicators.note_births(births.get());
  datatypes.note_births(births.get());
  groups.note_births(births.get());
  operations.note_births(births.get());
  infos.note_births(births.get());
  error_handlers.note_births(births.get());
  windows.note_births(births.get());
  files.note_births(births.get());
  for (request_object* shared : {&done, &received_from_nobody}) {
    shared->kind = object_kind::request;
    shared->shared = true;
    shared->own_work.complete = true;
  }
  received_from_nobody.what = request_object::type::receive;
  received_from_nobody.from_nobody = true;
}

state::~state() {
  if (tools_started != 0) end_events_of(*this);  // Without MPI_T_finalize.
}

void state::cut_short() noexcept {
  drop_requests(*this);
}

const communicator_object* state::find_by_context(std::uint32_t context) {
  const communicator_object* found = nullptr;
  const auto look = [&](const communicator_object& c) {
    if (c.shared->context == context) found = &c;
  };
  if (world) look(*world);
  if (self) look(*self);
  communicators.each(look);
  for (const communicator_object* c : retired) look(*c);
  return found;
}

std::string state::name_of_communicator(std::uint32_t context) {
  const communicator_object* const c = find_by_context(context);
  if (c == nullptr) return "a communicator without a handle";
  return (c->name.empty() ? formatted("a communicator without a name ({})", context)
                          : printable(c->name)) +
         (c->kind == object_kind::retired ? ", freed" : "");
}

std::string state::name_of_peer(std::uint32_t context, int peer) {
  const communicator_object* const c = find_by_context(context);
  if (c == nullptr || !c->is_inter()) return formatted("{}", peer);
  const int remote = peer - c->peers_first;
  return remote >= 0 && remote < c->peers_count
             ? formatted("{} of the remote group", remote)
             : formatted("{} of the local group", peer - c->locals_first);
}

std::string state::name_of_source(std::uint32_t context, int source) {
  return formatted("rank {} of {}", name_of_peer(context, source), name_of_communicator(context));
}

state* find_state() {
  const worker* const here = worker::current();
  if (here == nullptr) {
    if (origin_of_this_thread().identity == nullptr && !process::adopt_thread_of_late_rank())
      return nullptr;
    const thread_origin& origin = origin_of_this_thread();
    if (origin.way_in->is_closed()) return nullptr;
    return static_cast<state*>(
        static_cast<detail::rank_state*>(origin.identity)->faces[face_slot].get());
  }
  if (worker::caller() == nullptr) return nullptr;
  auto& rank = *static_cast<detail::rank_state*>(worker::caller());
  auto& face = rank.faces[face_slot];
  if (face == nullptr) face = std::make_unique<state>(rank);
  return static_cast<state*>(face.get());
}

state& calling_at_any_time(const char* call) {
  const thread_origin& origin = origin_of_this_thread();
  if (worker::current() == nullptr && origin.identity != nullptr)
    fail(MPI_ERR_OTHER,
         "a thread that rank {} has made called: ask for MPI_THREAD_MULTIPLE in "
         "MPI_Init_thread",
         origin.number);
  if (state* const me = find_state(); me != nullptr) return *me;
  if (worker::current() == nullptr) process::begin_late_rank();
  if (state* const me = find_state(); me != nullptr) return *me;
  if (worker::current() == nullptr && is_forked_child())
    fail(MPI_ERR_OTHER, "a forked child is no rank: call MPI in its parent");
  if (worker::current() == nullptr)
    fail(
        MPI_ERR_OTHER,
        "this thread is no rank's, nor one that a rank has made: call MPI in the ranks of the job, "
        "and before MPI_Finalize");
  detail::throw_not_a_rank(call);
}

void refuse_call(const char* call) {
  const state* const found = find_state();
  const bool had_sessions = found != nullptr && found->sessions_made != 0;
  if (found != nullptr && found->finalized)
    fail(MPI_ERR_OTHER, "MPI has been finalised: call {} after everything else",
         had_sessions ? "MPI_Finalize, or MPI_Session_finalize of the last session,"
                      : "MPI_Finalize");
  const state& me = calling_at_any_time(call);
  if (had_sessions && me.sessions.live() == 0)
    fail(MPI_ERR_OTHER, "no session is left: call MPI_Session_init or MPI_Init first");
  if (!me.initialized) fail(MPI_ERR_OTHER, "MPI is not initialised yet: call MPI_Init first");
  throw rank_failure(formatted("{}: the job ends after an error", call), 1);
}

void state::ended() {
  if (const std::size_t left = sessions.live(); left != 0)
    throw rank_failure(formatted("the program ended with {} session{} that {} not finalised: call "
                                 "MPI_Session_finalize for each, or MPI_Abort",
                                 left, left == 1 ? "" : "s", left == 1 ? "is" : "are"),
                       1);
  if (initialized && !finalized)
    throw rank_failure(
        "the program ended after MPI_Init without MPI_Finalize: call it in every rank "
        "before the end, or MPI_Abort",
        1);
}

void fail_communicator(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    fail(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL: this rank is no member of it");
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF)
    fail(MPI_ERR_COMM,
         "{} is there from MPI_Init to MPI_Finalize: in a session make a communicator of a group, "
         "by MPI_Comm_create_from_group",
         text_of(comm));
  fail(MPI_ERR_COMM, "{} is no communicator, or has been freed", text_of(comm));
}

void fail_window(MPI_Win win) {
  if (win == MPI_WIN_NULL) fail(MPI_ERR_WIN, "the window is MPI_WIN_NULL");
  fail(MPI_ERR_WIN, "{} is no window, or has been freed", text_of(win));
}

void fail_revoked(MPI_Comm where) {
  throw failure(MPIX_ERR_REVOKED,
                "the communicator is revoked: call MPIX_Comm_shrink, and go on with what it makes",
                where);
}

std::string ranks_of(const communicator_object& c) {
  return formatted("ranks of {} are 0 to {}",
                   c.is_inter()     ? "the remote group"
                   : c.name.empty() ? "the communicator"
                                    : printable(c.name),
                   c.peers_count - 1);
}

void fail_peer(const communicator_object& c, int rank, const char* what) {
  if (c.is_revoked()) fail_revoked();
  fail(MPI_ERR_RANK, "{} rank {}: {}, and MPI_PROC_NULL is nobody", what, rank, ranks_of(c));
}

void fail_tag(int tag) {
  fail(MPI_ERR_TAG, "tag {}: pass one from 0 to 2147483647, or to receives MPI_ANY_TAG", tag);
}

void fail_count(long count) {
  // What an int cannot hold has usually become a large negative number.
  constexpr long overflow_max = -1'000'000;
  const bool may_be_overflow = count <= overflow_max && count >= std::numeric_limits<int>::min();
  fail(MPI_ERR_COUNT, "count {} is negative: pass 0 or more{}", count,
       may_be_overflow ? "; what an int cannot hold goes to the function whose name ends in _c"
                       : "");
}

void fail_size(MPI_Count count, const datatype_object& type) {
  fail(MPI_ERR_COUNT, "count {} of elements of {} bytes is beyond all memory", count, type.size);
}

void fail_datatype(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    fail(
        MPI_ERR_TYPE,
        "the datatype is MPI_DATATYPE_NULL: it has not been made yet, or MPI_Type_free has set it so");
  fail(MPI_ERR_TYPE, "{} is no datatype, or has been freed", text_of(type));
}

void fail_uncommitted(MPI_Datatype type) {
  if (const auto& t = checked_datatype(type); t.sections != nullptr)
    fail(MPI_ERR_BUFFER, "{}", t.name);
  fail(MPI_ERR_TYPE, "{} is not committed: call MPI_Type_commit first", text_of(type));
}

}  // namespace weft::mpi
