// The life of requests. Each wait for any number of them is one completion counter.
#include "mpi/object/request.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/control_messages.hpp"
#include "diagnosis/checks.hpp"
#include "mpi/object/state.hpp"
#include "mpi/object/status.hpp"
#include "mpi/point_to_point/partitioned.hpp"
#include "mpi/point_to_point/transfer.hpp"
#include "mpi/point_to_point/type_ledger.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"
#include "rank/request_watch.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

wait_description describe(const request_object& r, const wait_names& call) {
  const operation& op = r.complete() ? *r.work : r.open_work();
  if (&op != r.work) return {call.send, op.match.context, op.peer, op.match.tag, op.bytes};
  const bool parts = r.is_partitioned();
  switch (r.what) {
    case request_object::type::collective: {
      communicator_state* const c = static_cast<const kept_operation&>(op).communicator.get();
      // To another process: the fiber that sends says to whom.
      return {parts ? call.partitioned_send : call.collective, c->context, -1, -1, 0, c};
    }
    case request_object::type::receive:
      return {parts ? call.partitioned_receive : call.receive, op.match.context, op.match.source,
              op.match.tag, op.bytes};
    case request_object::type::send:
      return {parts ? call.partitioned_send : call.send, op.match.context, op.peer, op.match.tag,
              op.bytes};
    case request_object::type::generalized:
      break;
  }
  return {call.generalized};
}

// Describes a wait for one of several requests.
wait_description describe_one(const request_object& r, const wait_names& call, std::size_t requests,
                              bool needs_one) {
  wait_description what = describe(r, call);
  what.requests = static_cast<std::uint32_t>(requests);
  what.needs_one = needs_one;
  return what;
}

bool is_withdrawn_send(const request_object& r) noexcept {
  return r.what == request_object::type::send && r.work->result.source == withdrawn_source;
}

// Two threads may not wait for one request (MPI 4.1, 11.6.2), and one wait does not count it twice: that would never
// end.
[[noreturn, gnu::cold, gnu::noinline]] void fail_counted() {
  fail(
      MPI_ERR_REQUEST,
      "a request is waited for already: another thread waits for it, or it stands twice in the list");
}
[[gnu::always_inline]] inline void count_at(operation& op, completion_counter& c) {
  if (op.counter != nullptr) [[unlikely]]
    fail_counted();
  op.counter = &c;
}

void stop_counting(operation& op, const completion_counter& c) noexcept {
  if (op.counter == &c) op.counter = nullptr;
}
void stop_counting(request_object& r, const completion_counter& c) noexcept {
  if (r.work != nullptr) stop_counting(*r.work, c);
  if (r.details != nullptr && r.details->sending) stop_counting(*r.details->sending, c);
}

// While it lives, completions of the requests count here. In a wait for some of them each may stand more than once.
struct counting {
  std::span<request_object* const> requests;
  const completion_counter& here;
  counting(std::span<request_object* const> all, completion_counter& c) : requests(all), here(c) {
    for (request_object* r : requests) {
      if (r == nullptr || r->has_ended()) continue;
      operation& op = r->open_work();
      if (op.counter != nullptr && op.counter != &c) {
        stop();
        fail_counted();
      }
      op.counter = &c;
    }
  }
  ~counting() { stop(); }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;

 private:
  void stop() noexcept {
    for (request_object* r : requests)
      if (r != nullptr) stop_counting(*r, here);
  }
};

// A wait that is cut short leaves operations behind that count into its frame. Of one that is not, all
// have counted.
struct cut_short_guard {
  std::span<const MPI_Request> handles;
  const completion_counter& here;
  bool waits = true;
  ~cut_short_guard() {
    if (!waits) return;
    for (const MPI_Request handle : handles)
      if (auto* const r = find_object<request_object>(handle); r != nullptr)
        stop_counting(*r, here);
  }
};

// The exception of a collective that failed, as one of MPI's.
void rethrow_of_collective(request_object& r) {
  try {
    r.details->started.wait();
  } catch (...) {
    const failure why = current_failure();
    throw failure(why.code(), why.what(), why.where() != MPI_COMM_NULL ? why.where() : r.where,
                  why.file());
  }
}

// "to rank 1 of MPI_COMM_WORLD, tag 5, 4 bytes"; "on MPI_COMM_WORLD".
std::string text_of_purpose(state& me, const request_object& r) {
  const communicator_object* const c = find_referred(me, r.where);
  const std::string where = c == nullptr ? "a communicator without a handle"
                                         : me.name_of_communicator(c->shared->context);
  if (r.what == request_object::type::collective) return " on " + where;
  if (r.what == request_object::type::generalized) return "";
  const operation& op = r.complete() ? *r.work : r.open_work();
  const bool sends = op.what == operation::kind::send;
  const int peer = sends ? op.peer : op.match.source;
  return formatted(" {} {}, tag {}{}", sends ? "to" : "from",
                   peer == proc_null    ? "MPI_PROC_NULL"
                   : peer == any_source ? "any rank of " + where
                                        : formatted("rank {} of {}", peer - r.peers_first, where),
                   tag_name(op.match.tag), op.bytes == 0 ? "" : formatted(", {} bytes", op.bytes));
}

void tell_left_over(state& me, const request_object& first, std::size_t count, const char* call) {
  const request_watch::entry* const start = me.rank.watch->find(*first.work);
  me.rank.of->checks->add(
      {diagnosis::finding::kind::error,
       formatted("rank {} called {} with {} request{} neither waited for nor freed; the "
                 "first: {}{}, started in {}, {}: complete it by MPI_Wait or MPI_Test",
                 me.rank.number, call, count, count == 1 ? "" : "s", start->call,
                 text_of_purpose(me, first), diagnosis::place_mark,
                 first.complete() ? "complete" : "not complete"),
       {start->calls}});
}

// Whether finish_requests() ends this request.
bool is_concerned(state& me, const request_object& r, std::optional<std::uint32_t> session) {
  if (!session) return true;
  const communicator_object* const c = find_referred(me, r.where);
  return (c == nullptr ? no_session : c->session) == *session;
}

// Persistent requests that have ended well, but were not freed.
void tell_inactive(state& me, std::optional<std::uint32_t> session, const char* call) {
  std::map<diagnosis::call_list, std::pair<const char*, std::size_t>> by_place;
  me.requests.each([&](const request_object& r) {
    const diagnosis::call_list* const place =
        r.persistent() && !r.active ? me.births->place_of(object_kind::request, &r) : nullptr;
    if (place == nullptr || !is_concerned(me, r, session)) return;
    auto& [made_by, count] = by_place[*place];
    made_by = r.details->made_by;
    ++count;
  });
  for (const auto& [place, made] : by_place)
    me.rank.of->checks->add(
        {diagnosis::finding::kind::warning,
         formatted("rank {} called {} with {} inactive request{} of {} not freed, made "
                   "in {}: call MPI_Request_free",
                   me.rank.number, call, made.second, made.second == 1 ? "" : "s", made.first,
                   diagnosis::place_mark),
         {place}});
}

}  // namespace

void tell_status(const request_object& r, MPI_Status* status) noexcept {
  if (status == MPI_STATUS_IGNORE) return;
  if (r.from_nobody)
    set_null_status(status);
  else if (r.what == request_object::type::receive && !r.cancelled)
    set_status(status, r.work->result.source - r.peers_first, r.work->result.tag,
               std::min(r.work->result.bytes, r.work->bytes));
  else if (r.details != nullptr && r.details->moved_bytes != nullptr)
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, *r.details->moved_bytes);
  else
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, r.cancelled || is_withdrawn_send(r));
}

void watch_call(const state& me, const operation& op, const char* call) {
  me.rank.watch->started(*me.rank.of->checks, op);
  const std::string_view name = call;
  // The program fills in the parts of a partitioned message while it is started.
  if (name == "MPI_Psend_init" || name == "MPI_Precv_init")
    me.rank.watch->name(op, call);
  else
    me.rank.watch->use_memory(op, call);
}

MPI_Request own_request_of_nothing(state& me, const request_object& shared, const route& r,
                                   MPI_Comm comm, const char* call) {
  request_object& made = make_request(me, r.comm->peers_first, comm, shared.what);
  made.from_nobody = shared.from_nobody;
  describe_nothing(made, me, r);
  watch_call(me, made.own_work, call);
  return handle_of(made);
}

MPI_Request add_request(state& me, MPI_Comm comm, weft::request started, const char* call) {
  if (started.started() == nullptr) return handle_of(me.done);
  request_object& r = me.requests.make();
  r.what = request_object::type::collective;
  r.where = comm;
  r.needed_details(me.details).started = std::move(started);
  r.work = r.details->started.started();
  if (me.rank.watch != nullptr) [[unlikely]]
    me.rank.watch->started_collective(*r.work, call);
  return handle_of(r);
}

MPI_Request add_persistent(state& me, MPI_Comm comm, std::function<weft::request()> start,
                           const char* call) {
  request_object& r = me.requests.make();
  r.what = request_object::type::collective;
  r.active = false;
  r.where = comm;
  r.work = nullptr;
  request_details& d = r.needed_details(me.details);
  d.persistent = true;
  d.made_by = call;
  d.start_collective = std::move(start);
  if (me.births != nullptr) me.births->born(object_kind::request, &r);
  return handle_of(r);
}

request_object& checked_request(MPI_Request request) {
  if (auto* const r = find_object<request_object>(request); r != nullptr) [[likely]]
    return *r;
  if (request == MPI_REQUEST_NULL) fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
  fail(MPI_ERR_REQUEST, "{} is no request, or is complete and was freed", text_of(request));
}

// In a checked job, before a wait: the program may have written to memory that nothing has been received into yet.
[[gnu::noinline]] static void look_before_wait(state& me, const request_object& r) {
  if (r.what == request_object::type::receive && r.own_work.posted_in != nullptr &&
      !r.is_partitioned())
    me.rank.watch->look_at_unmatched(*me.rank.of->checks, r.own_work);
}

void wait_for(state& me, std::span<request_object* const> pending, std::size_t count,
              const wait_names& call) {
  if (me.rank.watch != nullptr) [[unlikely]]
    for (const request_object* r : pending)
      if (r != nullptr) look_before_wait(me, *r);
  std::size_t may_stay_open = 0;
  for (bool first = true;; first = false) {
    const request_object* last = nullptr;
    std::size_t open = 0;
    for (const request_object* r : pending)
      if (r != nullptr && !r->has_ended()) {
        ++open;
        last = r;
      }
    // An exchange is counted when one half of it is complete, and may need another wait.
    if (first) may_stay_open = open - std::min(open, count);
    if (open <= may_stay_open) return;
    me.rank.home->check_stopped();
    completion_counter c;
    c.pending = static_cast<std::uint32_t>(open - may_stay_open);
    const counting guard(pending, c);
    trace_wait(
        last->what == request_object::type::send ? trace_kind::wait_send : trace_kind::wait_recv,
        me.rank, c, describe_one(*last, call, open, c.pending < open),
        last->open_work().peer_worker);
  }
}

// After a first wait for all: of exchanges the other half may be open. A receive that a failure has interrupted has ended.
[[gnu::noinline]] static void wait_for_rest(state& me, std::span<const MPI_Request> handles,
                                            const wait_names& call) {
  // One after the other: a list of them would take memory.
  for (const MPI_Request handle : handles)
    if (request_object* const one = active_request(handle); one != nullptr && !one->has_ended())
      wait_for(me, {&one, 1}, 1, call);
}

void wait_for_all(state& me, std::span<const MPI_Request> handles, const wait_names& call) {
  const MPI_Request gone = handle_of(me.done);
  completion_counter c;
  cut_short_guard guard{handles, c};
  bool again = false;
  const request_object* last = nullptr;
  std::uint32_t pending = 0;
  for (const MPI_Request handle : handles) {
    if (handle == gone) continue;
    request_object* const r = active_request(handle);
    if (r == nullptr) continue;
    if (r->is_plain()) [[likely]] {
      if (r->own_work.complete) continue;
      count_at(r->own_work, c);
    } else {
      if (r->complete()) continue;
      if (r->is_interrupted()) r->own_work.failed = false;  // The program has been told.
      count_at(r->open_work(), c);
      // An exchange is counted when one half of it is complete, and may need another wait.
      again = again || r->details->exchange;
    }
    ++pending;
    last = r;
  }
  if (last != nullptr) {
    if (me.rank.watch != nullptr) [[unlikely]]
      for (const MPI_Request handle : handles)
        if (const auto* const r = find_object<request_object>(handle); r != nullptr)
          look_before_wait(me, *r);
    c.pending = pending;  // Nobody has run since the first was told where to count.
    me.rank.home->check_stopped();
    trace_wait(
        last->what == request_object::type::send ? trace_kind::wait_send : trace_kind::wait_recv,
        me.rank, c, describe_one(*last, call, pending, false), last->open_work().peer_worker);
  }
  guard.waits = false;
  if (again) [[unlikely]]
    wait_for_rest(me, handles, call);
}

void interrupt_if_lost(state& me, request_object& r) {
  if (r.what != request_object::type::receive || r.work != &r.own_work) return;
  operation& op = r.own_work;
  if (op.complete || op.match.source != any_source || op.posted_in == nullptr) return;
  if (loss_of(me.rank, op.match) == loss::unacknowledged) weft::detail::fail(op);
}

namespace {

// The request goes on.
[[noreturn, gnu::cold]] void fail_pending(request_object& r) {
  r.own_work.failed = false;
  throw failure(
      MPIX_ERR_PROC_FAILED_PENDING,
      formatted(
          "a receive from any rank, tag {}, still waits: a rank that its message may come from "
          "is dead; call MPIX_Comm_failure_ack to wait for those that live",
          tag_name(r.own_work.match.tag)),
      r.where);
}

// One that failed, is persistent, or no message.
[[gnu::noinline]] void conclude_rare(state& me, request_object& r, MPI_Request& handle,
                                     MPI_Status* status) {
  if (!r.active) {
    set_empty_status(status);
    return;
  }
  if (r.is_interrupted()) fail_pending(r);
  // Whatever is thrown, the request has had its end.
  struct ending {
    state& me;
    request_object& r;
    MPI_Request& handle;
    ~ending() {
      if (r.persistent()) {
        r.active = false;
        return;
      }
      handle = MPI_REQUEST_NULL;
      if (!r.shared) me.requests.free(r);
    }
  } const ended{me, r, handle};
  if (r.what == request_object::type::generalized) return conclude_generalized(r, status);
  tell_status(r, status);
  if (r.is_partitioned()) correct_tag(r, status);
  if (r.what == request_object::type::collective) {
    if (r.work != nullptr) rethrow_of_collective(r);
  } else if (is_bad(*r.work)) [[unlikely]] {
    fail_message(*r.work, r.peers_first, r.where);
  } else if (r.details->sending && is_bad(*r.details->sending)) {
    fail_message(*r.details->sending, r.peers_first, r.where);
  }
}

}  // namespace

// In a checked job.
[[gnu::noinline]] static void look_at_end(state& me, const request_object& r) {
  watch_end(*r.work);
  if (r.details != nullptr && r.details->sending) watch_end(*r.details->sending);
  if (r.what == request_object::type::receive) note_concluded(me, *r.work);
}

// Likewise, of one that the program has waited for.
[[gnu::noinline]] static void look_at_conclusion(state& me, const request_object& r) {
  me.rank.watch->waited_for(*me.rank.of->checks, *r.work);
  if (r.details != nullptr && r.details->sending)
    me.rank.watch->waited_for(*me.rank.of->checks, *r.details->sending);
  look_at_end(me, r);
  diagnosis::race_watch* const races = me.rank.watch->races();
  if (races == nullptr || r.from_nobody) return;
  if (r.is_partitioned() || r.what == request_object::type::generalized) {
    races->take_all(me.rank.number);
  } else if (r.what == request_object::type::send && r.work->mode == send_mode::synchronous) {
    const communicator_object* const c = find_referred(me, r.where);
    if (c == nullptr)
      races->take_all(me.rank.number);
    else
      races->take_from(me.rank.number, c->shared->to(r.work->peer).number);
  }
}

void conclude(state& me, request_object& r, MPI_Request& handle, MPI_Status* status) {
  // A message with nothing unusual about it.
  if (me.rank.watch != nullptr) [[unlikely]]
    if (r.active && r.work != nullptr && !r.is_interrupted()) look_at_conclusion(me, r);
  if (r.details == nullptr && !is_bad(*r.work)) [[likely]] {
    tell_status(r, status);
    handle = MPI_REQUEST_NULL;
    if (!r.shared) me.requests.free(r);
    return;
  }
  conclude_rare(me, r, handle, status);
}

[[gnu::cold, gnu::noinline]] static void check_not_revoked(state& me, const request_object& r) {
  const communicator_object* const c = find_referred(me, r.where);
  if (c != nullptr && c->is_revoked() && !r.from_nobody) fail_revoked(r.where);
}

void start(state& me, request_object& r) {
  if (!r.persistent())
    fail(MPI_ERR_REQUEST, "the request is not persistent: it was started when it was made");
  if (r.active)
    fail(MPI_ERR_REQUEST, "the request is active: wait for it before it is started again");
  me.rank.home->begin_call();
  // Relaxed: what is started sooner is ended by the mail.
  if (me.rank.shared->communicators->any_revoked.load(std::memory_order_relaxed)) [[unlikely]]
    check_not_revoked(me, r);
  request_details& d = *r.details;
  r.cancelled = false;
  if (d.partitions != nullptr) return start_partitioned(me, r);
  if (r.what == request_object::type::collective) {
    d.started = d.start_collective();
    r.work = d.started.started();
    r.active = true;
    if (me.rank.watch != nullptr) [[unlikely]]
      me.rank.watch->name(*r.work, d.made_by);
    return;
  }
  operation& op = r.own_work;
  const peer* const to =
      r.what == request_object::type::send && !r.from_nobody ? &d.group->to(op.peer) : nullptr;
  // Refused where there is no room: then the request stays inactive.
  if (d.buffered && to != nullptr) {
    if (keeps_ledger(me)) [[unlikely]]
      note_started(me, op, to->number);
    try {
      send_buffered(me, *to, op.peer, op.match, op.layout, {op.data, op.bytes});
    } catch (...) {
      if (keeps_ledger(me)) note_lost(me, to->number, op.match);
      throw;
    }
  }
  op.complete = r.from_nobody || d.buffered;
  op.failed = false;
  op.result = {};
  op.counter = nullptr;
  r.active = true;
  watch(me, op, d.made_by);
  if (r.from_nobody) return;
  if (keeps_ledger(me) && !d.buffered) [[unlikely]]
    note_started(me, op, to == nullptr ? me.rank.number : to->number);
  if (to == nullptr) {
    start_receive(me.rank, op);
    if (me.rank.watch != nullptr && op.complete) [[unlikely]]
      me.rank.watch->came_at_once(op);
    return;
  }
  if (d.buffered) return;
  if (op.layout != nullptr
          ? send_now(me.rank, *to, op.match, *op.layout, op.mode)
          : send_now(me.rank, *to, op.match, byte_view(op.data, op.bytes), op.mode))
    op.complete = true;
  else
    send_rts(*me.rank.home, *to, op.match, op);
}

namespace {

// Frees a request that has ended and that the program did not wait for.
void forget(state& me, request_object& r) {
  if (me.rank.watch != nullptr && r.work == &r.own_work) look_at_end(me, r);
  me.requests.free(r);
}

}  // namespace

void free_request(state& me, MPI_Request& handle) {
  request_object& r = checked_request(handle);
  if (me.rank.watch != nullptr && r.active && r.work != nullptr) [[unlikely]] {
    me.rank.watch->freed(*r.work);
    if (r.details != nullptr && r.details->sending) me.rank.watch->freed(*r.details->sending);
  }
  if (r.shared || !r.active || r.complete()) {
    if (r.active && r.what == request_object::type::generalized && r.details->free != nullptr)
      r.details->free(r.details->extra_state);
    if (!r.shared) forget(me, r);
  } else {
    // The wait would end with what has gone.
    if (r.open_work().counter != nullptr) fail_counted();
    me.orphans.push_back(&r);
  }
  handle = MPI_REQUEST_NULL;
  std::erase_if(me.orphans, [&](request_object* o) {
    if (!o->complete()) return false;
    forget(me, *o);
    return true;
  });
}

void finish_requests(state& me, const char* call, const wait_names& names,
                     std::optional<std::uint32_t> session) {
  std::vector<request_object*> pending;
  std::erase_if(me.orphans, [&](request_object* r) {
    const bool ends = is_concerned(me, *r, session);
    if (ends) pending.push_back(r);
    return ends;
  });
  std::vector<request_object*> withdrawn;
  const request_object* first = nullptr;
  std::size_t left = 0;
  me.requests.each([&](request_object& r) {
    if (!r.active && r.is_partitioned() && is_concerned(me, r, session)) leave_inactive(r);
    if (!r.active || std::ranges::find(pending, &r) != pending.end() ||
        std::ranges::find(me.orphans, &r) != me.orphans.end() || !is_concerned(me, r, session))
      return;
    if (left++ == 0) first = &r;
    // The message of a receive that nothing has matched must not be written to memory of the past.
    if (r.work != nullptr && r.work->posted_in != nullptr) {
      me.rank.lists.withdraw(*r.work);
      withdrawn.push_back(&r);
    } else if (r.is_partitioned() && withdraw_unmet(r)) {
      withdrawn.push_back(&r);
    }
    if (r.what != request_object::type::generalized) pending.push_back(&r);
  });
  if (left != 0 && me.rank.of->checks != nullptr) tell_left_over(me, *first, left, call);
  if (me.births != nullptr) tell_inactive(me, session, call);
  for (request_object* r : withdrawn)
    complete(*me.rank.home, *r->work);  // An exchange may still have to send.
  wait_for(me, pending, pending.size(), names);
  std::vector<request_object*> ended;
  me.requests.each([&](request_object& r) {
    if (is_concerned(me, r, session)) ended.push_back(&r);
  });
  for (request_object* r : ended) forget(me, *r);
}

void drop_requests(state& me) noexcept {
  me.orphans.clear();
  me.requests.each([&](request_object& r) { forget(me, r); });
}

}  // namespace weft::mpi
