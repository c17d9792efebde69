// Requests: what is under way, its start when it is persistent, the waits for it, and its end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "base/format.hpp"
#include "base/log.hpp"
#include "diagnosis/checks.hpp"
#include "job/accounted_call.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"
#include "rank/request_watch.hpp"

namespace weft {
namespace detail {

static int partner_of(const operation& op) {
  return op.what == operation::kind::send ? op.peer : op.match.source;
}

reason_of_failure reason_of(const operation& op) {
  const loss what = loss_of(*op.owner, {op.match.context, partner_of(op), op.match.tag});
  if (what == loss::revoked) return {what, "may live, but the communicator is revoked"};
  if (what == loss::unacknowledged)
    return {what, "may be one that is dead: acknowledge failures to receive from the others"};
  const remote_messaging* const ways = op.owner->shared->ways.get();
  if (ways != nullptr && ways->is_dead(*op.owner, op.match.context, partner_of(op)))
    return {loss::dead, "is dead"};
  return {loss::none, op.what == operation::kind::send
                          ? "has died, or refused the data, or could not read them"
                          : "has died, or the data could not be read"};
}

[[gnu::cold]] std::string text_of_bad_result(const operation& op) {
  if (op.result.bytes == failed_bytes) {
    const bool is_send = op.what == operation::kind::send;
    return formatted("rank {}: a {} of {} bytes {} {}, tag {}, failed: its process {}",
                     op.owner->number, is_send ? "send" : "receive", op.bytes,
                     is_send ? "to" : "from", peer_name(partner_of(op)), tag_name(op.match.tag),
                     reason_of(op).text);
  }
  return "rank " + std::to_string(op.owner->number) + ": a receive of " + std::to_string(op.bytes) +
         " bytes got a message of " + std::to_string(op.result.bytes) + " bytes from rank " +
         std::to_string(op.result.source) + ", tag " + std::to_string(op.result.tag) +
         ": receive it with room for all, or with recv_vector() or probe()";
}

[[gnu::cold]] void throw_bad_result(const operation& op) {
  throw error(text_of_bad_result(op));
}

void free_kept(rank_state& of, kept_operation* op) noexcept {
  std::destroy_at(op);
  std::construct_at(op);
  op->in_list.next = std::exchange(of.spare_kept, op);
}

operation* new_operation(rank_state& me) {
  if (me.watch != nullptr) return take_kept(me);
  return new operation;
}

void watch_start(const operation& op) {
  request_watch* const watch = op.owner->watch.get();
  if (watch == nullptr) return;
  watch->started(*op.owner->of->checks, op);
  if (op.what != operation::kind::collective)
    watch->use_memory(op, op.what == operation::kind::recv ? "a receive" : "a send");
}

void watch_end(const operation& op) noexcept {
  // One that had nothing to do was never started, and has no owner.
  if (op.owner != nullptr && op.owner->watch != nullptr) op.owner->watch->ended(op);
}

namespace {

struct wait_names {
  const char* collective;
  const char* receive;
  const char* send;
};
constexpr wait_names one_name{"wait (collective)", "wait (irecv)", "wait (isend)"};
wait_description describe(const operation& op, const wait_names& call = one_name) {
  if (op.what == operation::kind::collective) {
    communicator_state* const c = static_cast<const kept_operation&>(op).communicator.get();
    return {call.collective, c->context, -1, -1, 0, c};
  }
  const bool receives = op.what == operation::kind::recv;
  return {receives ? call.receive : call.send, op.match.context,
          receives ? op.match.source : op.peer, op.match.tag, op.bytes};
}
constexpr wait_names all_names{"wait_all (collective)", "wait_all (irecv)", "wait_all (isend)"};
constexpr wait_names any_names{"wait_any (collective)", "wait_any (irecv)", "wait_any (isend)"};
// Of several: the words are those of one.
wait_description describe_one(const operation& op, const wait_names& call, std::size_t requests,
                              bool needs_one) {
  wait_description what = describe(op, call);
  what.requests = static_cast<std::uint32_t>(requests);
  what.needs_one = needs_one;
  return what;
}

// At most as many as were under way at once are kept.
[[gnu::always_inline]] inline void keep_spare(operation& op) noexcept {
  op.in_list.next = std::exchange(op.owner->spare, &op);
}

void give_back(operation* op) noexcept {
  if (kept_operation* kept = as_kept(op); kept != nullptr) {
    if (op->active) watch_end(*op);  // Others may outlive their job.
    if (kept->persistent)
      delete kept;
    else
      free_kept(*kept->owner, kept);
    return;
  }
  keep_spare(*op);
}

void start_persistent(rank_state& me, kept_operation& op) {
  op.complete = false;
  op.failed = false;
  op.result = {};
  op.active = true;
  me.home->check_stopped();
  watch_start(op);
  if (op.peer == proc_null) {
    op.result = {};
    op.complete = true;
  } else if (op.what == operation::kind::recv) {
    start_receive(me, op);
  } else {
    const peer& to = op.communicator->to(op.peer);
    const bool gone = op.layout != nullptr
                          ? send_now(me, to, op.match, *op.layout, op.mode)
                          : send_now(me, to, op.match, byte_view(op.data, op.bytes), op.mode);
    if (gone)
      op.complete = true;
    else
      send_rts(*me.home, to, op.match, op);
  }
}

// What is rare when an operation ends: it is kept, or it failed.
[[gnu::noinline]] message_status conclude_rare(operation*& op) {
  operation* done = op;
  const message_status result = done->result;
  if (as_kept(done) != nullptr) {
    if (done->owner != nullptr && done->owner->watch != nullptr)
      done->owner->watch->waited_for(*done->owner->of->checks, *done);
    watch_end(*done);
  }
  done->active = false;
  done->counter = nullptr;
  struct release {
    operation*& handle;
    ~release() {
      const kept_operation* kept = as_kept(handle);
      if (kept == nullptr || !kept->persistent) give_back(std::exchange(handle, nullptr));
    }
  } const freed{op};
  if (const kept_operation* kept = as_kept(done); kept != nullptr && kept->failure != nullptr)
    std::rethrow_exception(kept->failure);
  check_result(*done);
  return result;
}

// Nothing is left to do but to keep it for another.
bool has_ended_well(const operation& op) noexcept {
  return !op.kept && !is_bad(op);
}

// After completion: status out, error thrown, operation given back unless persistent.
message_status conclude(operation*& op) {
  if (!has_ended_well(*op)) [[unlikely]]
    return conclude_rare(op);
  const message_status result = op->result;
  keep_spare(*std::exchange(op, nullptr));
  return result;
}

// Concludes all that are active, which have ended, and throws the first failure then.
[[gnu::cold, gnu::noinline]] void conclude_rest(std::span<request> requests) {
  std::exception_ptr failure;
  for (request& r : requests) {
    try {
      r.wait();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Waits for an operation that may have ended, or be none.
[[gnu::always_inline]] inline message_status wait_for(operation*& op, const char* call,
                                                      const wait_names& names) {
  if (op == nullptr || !op->active) return {};
  if (!op->complete) {
    rank_state& me = calling_rank(call);
    me.home->check_stopped();
    completion_counter c{1, nullptr};
    op->counter = &c;
    struct uncount {
      operation* op;
      ~uncount() { op->counter = nullptr; }
    } const guard{op};
    trace_wait(op->what == operation::kind::send ? trace_kind::wait_send : trace_kind::wait_recv,
               me, c, describe(*op, names), op->peer_worker);
  }
  return conclude(op);
}

// While it lives, completions of the operations count here; whatever way the wait ends, none counts
// into a stack frame that is gone.
struct counting {
  std::vector<operation*>& operations;
  counting(std::vector<operation*>& all, completion_counter& c) : operations(all) {
    for (operation* op : operations) op->counter = &c;
  }
  ~counting() {
    for (operation* op : operations) op->counter = nullptr;
  }
};

}  // namespace

}  // namespace detail

using namespace detail;

bool request::active() const noexcept {
  return operation_ != nullptr && operation_->active;
}

void request::release() noexcept {
  operation& op = *operation_;
  if (!op.active || op.complete) {
    give_back(&op);
    return;
  }
  rank_state& me = *op.owner;
  if (op.posted_in != nullptr && (std::uncaught_exceptions() > 0 || me.home->owner().stopping())) {
    me.lists.withdraw(op);  // A receive that nothing has matched leaves no trace.
    give_back(&op);
    return;
  }
  // A receive that has its message comes to its end without anybody's doing more for it.
  if (op.what == operation::kind::recv && std::uncaught_exceptions() > 0) {
    scheduler& workers = me.home->owner();
    me.home->wait_until(looks{[&] { return op.complete || workers.stopping(); }}, describe(op),
                        false);
    if (op.complete) {
      give_back(&op);
      return;
    }
  }
  // A rank that unwinds leaves a buffer behind that its partner may be reading or writing. Whether
  // somebody catches the exception or not: the job cannot go on.
  if (std::uncaught_exceptions() > 0 || me.home->owner().stopping()) {
    if (!me.home->owner().stopping())
      me.of->abandon(me,
                     "rank " + std::to_string(me.number) +
                         " left a request behind that was still active, while an exception passed: "
                         "wait() for it or cancel() it before its buffer goes away");
    me.home->stop_and_wait();
    // Nothing is delivered any more; a collective's own fiber unwinds first.
    if (op.what == operation::kind::collective)
      me.home->wait_until(looks{[&] { return op.complete; }}, describe(op), false);
    give_back(&op);
    return;
  }
  const wait_description what = describe(op);
  const std::string which =
      what.subject != nullptr
          ? "collective, " + communicator_name(&me, what.context)
          : formatted("{}, {}, tag {}", what.call, peer_name(what.peer), tag_name(op.match.tag));
  std::fprintf(stderr,
               "weft: rank %d destroyed a request that is still active (%s): "
               "wait() for it first, its buffer is still in use\n",
               me.number, which.c_str());
  std::abort();
}

WEFT_RETURNS_BY_JUMP message_status request::wait() {
  note_call_site(__builtin_return_address(0));
  return wait_for(operation_, "wait", one_name);
}

bool request::test(message_status* status) {
  if (operation_ == nullptr || !operation_->active) return true;
  if (!operation_->complete) {
    calling_rank("test").home->yield();
    if (!operation_->complete) return false;
  }
  const message_status result = conclude(operation_);
  if (status != nullptr) *status = result;
  return true;
}

void request::start() {
  kept_operation* op = as_kept(operation_);
  if (op == nullptr || !op->persistent)
    throw error(
        "start() of a request that is not persistent: make it by send_init() or recv_init()");
  if (op->active) throw error("start() of a request that is active: wait() for it first");
  start_persistent(calling_rank("start"), *op);
}

void request::cancel() {
  if (operation_ == nullptr || operation_->posted_in == nullptr) return;
  rank_state& me = *operation_->owner;
  me.lists.withdraw(*operation_);
  operation_->result = {};
  complete(*me.home, *operation_);
}

WEFT_RETURNS_BY_JUMP void wait_all(std::span<request> requests) {
  note_call_site(__builtin_return_address(0));
  if (requests.size() == 1) {
    // Cut short, it leaves an error unread only where the very poll that begins the unwinding has failed it for
    // its partner's death: a wait asks first whether it is over, and nothing is delivered once the job stops.
    (void)wait_for(requests.front().operation_, "wait_all", all_names);
    return;
  }
  // A wait that is cut short leaves operations behind that count, and errors that nobody would
  // read: often the reason why the others never end.
  struct uncount {
    std::span<request> requests;
    bool cut_short = false;
    ~uncount() {
      if (!cut_short) return;
      for (request& r : requests) {
        if (!r.active()) continue;
        r.operation_->counter = nullptr;
        if (r.operation_->complete && is_bad(*r.operation_))
          log_text(text_of_bad_result(*r.operation_));
      }
    }
  } guard{requests};
  completion_counter c;
  rank_state* me = nullptr;
  const operation* last = nullptr;
  std::size_t active = 0;
  bool any_rare = false;
  // What has come is concluded at once, but for what fails or is rare.
  const auto conclude_good = [&](operation*& op) {
    if (has_ended_well(*op)) [[likely]]
      keep_spare(*std::exchange(op, nullptr));
    else
      any_rare = true;
  };
  for (request& r : requests) {
    operation*& op = r.operation_;
    if (op == nullptr || !op->active) continue;
    ++active;
    if (op->complete) {
      conclude_good(op);
      continue;
    }
    if (last == nullptr) me = &calling_rank("wait_all");
    ++c.pending;
    op->counter = &c;
    last = op;
  }
  if (last != nullptr) {
    guard.cut_short = true;
    me->home->check_stopped();
    trace_wait(last->what == operation::kind::send ? trace_kind::wait_send : trace_kind::wait_recv,
               *me, c, describe_one(*last, all_names, active, false), last->peer_worker);
    guard.cut_short = false;  // Each is concluded below.
    for (request& r : requests)
      if (operation*& op = r.operation_; op != nullptr && op->active) conclude_good(op);
  }
  if (any_rare) conclude_rest(requests);
}

std::size_t wait_any(std::span<request> requests, message_status* status) {
  for (;;) {
    std::vector<operation*> pending;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!requests[i].active()) continue;
      if (!requests[i].operation_->complete) {
        pending.push_back(requests[i].operation_);
        continue;
      }
      const message_status result = conclude(requests[i].operation_);
      if (status != nullptr) *status = result;
      return i;
    }
    if (pending.empty()) return requests.size();
    rank_state& me = calling_rank("wait_any");
    me.home->check_stopped();
    completion_counter c{1, nullptr};
    const counting guard(pending, c);
    trace_wait(trace_kind::wait_recv, me, c,
               describe_one(*pending.front(), any_names, pending.size(), true));
  }
}

std::vector<std::size_t> wait_some(std::span<request> requests) {
  std::vector<std::size_t> done;
  const std::size_t first = wait_any(requests);
  if (first == requests.size()) return done;
  done.push_back(first);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i == first || !requests[i].active() || !requests[i].operation_->complete) continue;
    conclude(requests[i].operation_);
    done.push_back(i);
  }
  return done;
}

bool test_all(std::span<request> requests) {
  for (const request& r : requests)
    if (r.active() && !r.operation_->complete) {
      calling_rank("test_all").home->yield();
      break;
    }
  for (const request& r : requests)
    if (r.active() && !r.operation_->complete) return false;
  wait_all(requests);
  return true;
}

}  // namespace weft
