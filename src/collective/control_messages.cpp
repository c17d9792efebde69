#include "collective/control_messages.hpp"

#include "base/format.hpp"
#include "collective/calls.hpp"
#include "collective/peer_failure.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"

namespace weft::detail {
namespace {

// The sender waits until its data have been taken, so an offer costs it nothing: from here on one copy by the receiver
// takes less than two through a ring whose lines move between the cores. 32 KiB each way: 24 us by the ring, 10 so, on cores that are far apart.
constexpr std::size_t read_in_place_bytes_min = 16 * 1024;

[[nodiscard]] send_mode mode_of(const rank_state& speaker, const peer& to, std::size_t bytes) {
  const bool in_place = bytes >= read_in_place_bytes_min && to.worker == remote_worker &&
                        speaker.shared->ways->reads_in_place(*speaker.home, to.number);
  return in_place ? send_mode::synchronous : send_mode::standard;
}

[[noreturn, gnu::cold]] void throw_failed_message(const operation& op) {
  const loss why = reason_of(op).what;
  throw coded_error(text_of_bad_result(op), why == loss::none      ? no_code
                                            : why == loss::revoked ? revoked
                                                                   : process_died);
}

}  // namespace

control_messages::message& control_messages::next() {
  if (count_ < few_.size()) {
    few_[count_] = {};
    return few_[count_++];
  }
  ++count_;
  return *more_.emplace_back(std::make_unique<message>());
}

template <class Start>
void control_messages::begin(operation& op, const Start& start) {
  op.counter = &pending_;
  ++pending_.pending;
  try {
    start();
  } catch (...) {
    op.complete = true;  // It has not begun: nobody ends it.
    throw;
  }
}

template <class Data>
void control_messages::start_send(const peer& to, int rank, const envelope& from,
                                  const Data& data) {
  const rank_counts before = speaker_.counts;
  const bool gone = send_now(speaker_, to, from, data, mode_of(speaker_, to, data.size()));
  speaker_.counts.sent = before.sent;  // Not a message of the program.
  speaker_.counts.sent_bytes = before.sent_bytes;
  if (gone) return;
  message& op = next();
  op.to = to;
  set_memory(op, data);
  describe_send(op, speaker_, from, rank, to.worker);
  begin(op, [&] { send_rts(*speaker_.home, to, from, op); });
}

template <class Room>
void control_messages::start_receive(rank_state& by, const envelope& wanted, const Room& into) {
  operation& op = next();
  op.match = wanted;
  set_memory(op, into);
  op.owner = &by;
  begin(op, [&] { detail::start_receive(by, op); });
}

void control_messages::send(const peer& to, int rank, const envelope& from, byte_view data) {
  start_send(to, rank, from, data);
}
void control_messages::send(const peer& to, int rank, const envelope& from, const segments& data) {
  if (data.contiguous())
    start_send(to, rank, from, byte_view(data.flat()));
  else
    start_send(to, rank, from, data);
}
void control_messages::receive(rank_state& by, const envelope& wanted, std::span<std::byte> into) {
  start_receive(by, wanted, byte_view(into));
}
void control_messages::receive(rank_state& by, const envelope& wanted, const segments& into) {
  if (into.contiguous())
    start_receive(by, wanted, byte_view(into.flat()));
  else
    start_receive(by, wanted, into);
}

template <class Visit>
void control_messages::each(const Visit& visit) {
  for (std::size_t i = 0; i < std::min(count_, few_.size()); ++i) visit(few_[i]);
  for (const auto& op : more_) visit(*op);
}

void control_messages::conclude(operation& op) {
  if (op.failed && is_bad(op)) throw_failed_message(op);
  if (op.what != operation::kind::recv) return;
  --op.owner->counts.received;
  op.owner->counts.received_bytes -= op.result.bytes;
  if (expected_ == lengths::equal && op.result.bytes != op.bytes) [[unlikely]]
    throw coded_error(
        formatted(
            "{}: rank {} gives {} bytes to a rank that takes {}: both must say the same number",
            what_.call, name_of_peer(&speaker_, what_.context, op.result.source), op.result.bytes,
            op.bytes),
        lengths_differ);
}

void control_messages::wait() {
  if (pending_.pending != 0) {
    speaker_.home->wait(pending_, what_);
    speaker_.home->check_stopped();
  }
  each([this](operation& op) { conclude(op); });
  count_ = 0;
  more_.clear();
}

// Left by an exception: nobody may read or write what goes away. A send to another process closes its memory; one within the
// process is asked back. A receive that has its message comes to its end without anybody's doing more for it. Once the job
// stops nothing is delivered any more, when all workers know.
control_messages::~control_messages() {
  if (pending_.pending == 0) return;
  worker& here = *speaker_.home;
  const scheduler& workers = here.owner();
  each([&](message& m) {
    operation& op = m;
    if (op.complete) return;
    if (op.what == operation::kind::recv) {
      op.complete = op.posted_in != nullptr;
      withdraw_posted(op);
    } else if (m.to.worker == remote_worker) {
      speaker_.shared->ways->forget(here, op);
      op.complete = true;
    } else if (!workers.stopping()) {
      try {
        ask_back(here, m.to, op);
      } catch (const job_stopped&) {
      }
    }
  });
  const auto all_over = [&] {
    bool over = true;
    each([&](const operation& op) { over = over && op.complete; });
    return over;
  };
  here.wait_until(looks{[&] { return workers.stopping() || all_over(); }}, what_, false);
  if (!all_over()) here.stop_and_wait();
}

}  // namespace weft::detail
