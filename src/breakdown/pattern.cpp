#include "breakdown/pattern.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/flows.hpp"
#include "trace/mixing.hpp"

namespace weft::breakdown {
namespace {

struct message_key {
  std::int32_t from, to;
  std::uint32_t number;
};
// The key is made of flow and receiver.
using flows = std::unordered_map<std::uint64_t, message_key>;

// One wait may be for one of so many at most.
constexpr std::size_t kept_max = 256;

// What a call means for the messages of its rank.
struct call_kind {
  bool waits = false;     // The program needs what has come when the call is over.
  bool probes = false;    // What it waited for is told behind the wait.
  bool ends = false;      // It waits for requests, or tests them.
  bool requests = false;  // It may begin a send whose end another call waits for.
  bool ends_all = false;  // All sends that were begun.
};
call_kind kind_of(std::string_view call) {
  std::string lower(call);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto has = [&](std::string_view word) { return lower.find(word) != lower.npos; };
  call_kind kind;
  kind.waits = has("wait") || has("test") || has("probe") ||
               (has("recv") && !has("irecv") && !has("recv_init"));
  kind.probes = has("probe");
  kind.ends = has("wait") || has("test");
  for (const char* word : {"isend", "issend", "irsend", "ibsend", "start"})
    kind.requests = kind.requests || has(word);
  kind.ends_all = has("waitall") || has("wait_all");
  return kind;
}

// What ranks have in common, numbered as they come.
struct meeting_numbers {
  std::map<std::int64_t, std::int32_t> meetings;
  std::map<std::uint64_t, std::int32_t> communicators;
};

// Makes the steps of one rank out of its events.
class rank_reader {
 public:
  rank_reader(pattern& p, int rank, const flows& sends, meeting_numbers& meetings,
              const std::vector<call_kind>& kinds_of_calls)
      : p_(p),
        rank_(rank),
        sends_(sends),
        meetings_(meetings),
        kinds_of_calls_(kinds_of_calls),
        steps_(p.of_rank[at(rank)]) {}

  void read(const std::vector<log_event>& events) {
    last_ = events.empty() ? 0 : events.front().ns;
    for (const log_event& e : events) {
      // What thieves do is on their own workers.
      if (e.kind == trace_kind::chunk_stolen) continue;
      pass(e.ns);
      take(e);
    }
    flush();
    attach();
  }

 private:
  static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

  void pass(double now) {
    const double passed = std::max(now - last_, 0.0);
    last_ = now;
    if (sleeping_)
      slept_ += passed;
    else if (in_task_)
      computed_ += passed;
    else if (running_ && waiting_ == 0)
      (calls_ > 0 ? in_call_ : computed_) += passed;
    else if (waiting_ > 0)
      waited_ += passed;
  }
  step& add(step_kind kind, double ns) {
    step& made = steps_.emplace_back();
    made.kind = kind;
    made.ns = ns;
    made.place = place_;
    made.end_ns = last_ - p_.begun_ns;
    return made;
  }
  void flush() {
    if (computed_ > 0) add(step_kind::compute, std::exchange(computed_, 0));
    if (in_call_ > 0) add(step_kind::in_call, std::exchange(in_call_, 0));
    if (slept_ > 0) add(step_kind::sleep, std::exchange(slept_, 0));
  }
  // What the rank computed until now, however often it was interrupted, is told by what ends it.
  void ends_computation(std::int32_t place) {
    flush();
    for (; unplaced_ < steps_.size(); ++unplaced_)
      if (steps_[unplaced_].kind == step_kind::compute && steps_[unplaced_].place < 0)
        steps_[unplaced_].place = place;
  }
  // What has come is needed from here on.
  void attach() {
    const double waited = std::exchange(waited_, 0);
    for (const std::int32_t meeting : std::exchange(left_, {})) {
      step& made = add(step_kind::met, waited);
      made.peer = meeting;
      made.bytes = p_.meetings[at(meeting)].bytes;
    }
    for (const needed& one : std::exchange(pending_, {})) {
      step& made = add(one.kind, waited);
      made.peer = one.message.from;
      made.number = one.message.number;
      made.bytes = one.bytes;
    }
  }

  void take(const log_event& e) {
    const bool begins = e.phase == trace_phase::begin;
    switch (e.kind) {
      case trace_kind::run:
        running_ = begins;
        return;
      case trace_kind::call:
        begins ? begin_call(e) : end_call();
        return;
      case trace_kind::sleep:
        return sleep(e, begins);
      case trace_kind::task:
        flush();
        in_task_ = begins;
        return;
      case trace_kind::send:
        return send(e);
      case trace_kind::recv:
        return receive(e);
      case trace_kind::wait_collective:
        return e.phase == trace_phase::instant ? come(e) : collective(e, begins);
      case trace_kind::wait_recv:
        return e.phase == trace_phase::instant ? find(e) : wait_for_message(e, begins);
      case trace_kind::wait_send:
        return e.phase == trace_phase::instant ? keep() : wait_for_message(e, begins);
      case trace_kind::wait_task:
        return e.phase == trace_phase::instant ? divide(e) : wait(e, begins);
      case trace_kind::wait_memory:
        return e.phase == trace_phase::instant ? asked(e) : wait(e, begins);
      case trace_kind::wait_chunks:
        return wait(e, begins);
      default:
        return;
    }
  }

  void begin_call(const log_event& e) {
    if (calls_++ > 0) return;
    place_ = e.place;
    ends_computation(place_);
    first_of_call_ = steps_.size();
    kept_before_call_ = kept_.size();
  }
  void end_call() {
    if (calls_ == 0 || --calls_ > 0) return;
    flush();
    if (place_ >= 0) {
      const call_kind& kind = kinds_of_calls_[at(place_)];
      if (kind.waits) attach();
      waited_ = 0;
      // A send that did not wait in its own call went at once.
      if (kind.ends_all)
        kept_.clear();
      else if (!kind.requests)
        kept_.resize(kept_before_call_);
    }
    place_ = -1;
    unplaced_ = steps_.size();
  }

  void sleep(const log_event& e, bool begins) {
    if (begins) {
      before_sleep_ = place_;
      if (calls_ == 0) ends_computation(place_ = e.place);
    }
    flush();
    sleeping_ = begins;
    if (!begins) place_ = before_sleep_;
  }

  void send(const log_event& e) {
    flush();
    const auto to = static_cast<std::int32_t>(partner_in(e.argument));
    if (to < 0 || to >= p_.ranks()) return;
    step& made = add(step_kind::send, 0);
    made.peer = to;
    made.number = sent_[to]++;
    made.bytes = e.bytes;
    last_send_ = steps_.size();
  }
  // The last send waits at its sender for its receive.
  void keep() {
    if (last_send_ == 0) return;
    if (kept_.size() == kept_max) {
      kept_.erase(kept_.begin());
      kept_before_call_ -= kept_before_call_ != 0;
    }
    kept_.push_back(last_send_ - 1);
  }
  [[nodiscard]] const message_key* sender_of(const log_event& e) const {
    const auto found = sends_.find(mixed(flow_in(e.argument), at(rank_)));
    const bool is_known =
        flow_in(e.argument) != 0 && found != sends_.end() && found->second.to == rank_;
    return is_known ? &found->second : nullptr;
  }
  // A probe has found a message, which is received later.
  void find(const log_event& e) {
    if (const message_key* const from = sender_of(e))
      pending_.push_back({step_kind::found, *from, 0});
    if (waited_ > 0) attach();
    flush();
  }
  void receive(const log_event& e) {
    flush();
    const message_key* const from = sender_of(e);
    if (from == nullptr) {
      ++p_.without_sender;
      return;
    }
    step posted;
    posted.kind = step_kind::post;
    posted.peer = from->from;
    posted.number = from->number;
    posted.place = place_;
    // The receive was there when the call began.
    const std::size_t where = calls_ > 0 ? std::min(first_of_call_, steps_.size()) : steps_.size();
    posted.end_ns = where == 0 ? 0 : steps_[where - 1].end_ns;
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(where), posted);
    for (std::size_t& kept : kept_) kept += kept >= where;
    if (last_send_ > where) ++last_send_;
    pending_.push_back({step_kind::receive, *from, e.bytes});
  }

  // Another rank waits for what this one has computed so far.
  void divide(const log_event& e) {
    if (calls_ == 0 || in_task_)
      ends_computation(e.place);
    else
      flush();
  }

  // Another flow of the rank may wait while its own code computes.
  void wait_for_message(const log_event& e, bool begins) {
    if (e.bytes != event_file::goes_on_beside) wait(e, begins);
  }
  void wait(const log_event& e, bool begins) {
    if (begins) {
      if (waiting_++ > 0) return;
      if (calls_ == 0) ends_computation(place_ = e.place);
      flush();
      if (calls_ == 0) first_of_call_ = steps_.size();
      waited_ = 0;
      return;
    }
    if (waiting_ == 0 || --waiting_ > 0) return;
    if (e.kind == trace_kind::wait_send) {
      const double waited = waited_;
      // A call that sends waits for its own, and others for those that were begun before.
      const bool is_own = calls_ > 0 && kept_.size() > kept_before_call_;
      const auto first =
          kept_.begin() + static_cast<std::ptrdiff_t>(is_own ? kept_before_call_ : 0);
      const std::vector<std::size_t> waited_for(first, kept_.end());
      kept_.erase(first, kept_.end());
      kept_before_call_ = std::min(kept_before_call_, kept_.size());
      for (const std::size_t kept : waited_for) {
        const step sent = steps_[kept];
        step& made = add(step_kind::taken, waited);
        made.peer = sent.peer;
        made.number = sent.number;
        made.bytes = sent.bytes;
      }
    }
    if (e.kind == trace_kind::wait_chunks && waited_ > 0)
      add(step_kind::in_call, waited_).is_stolen = true;
    if (e.kind == trace_kind::wait_memory || e.kind == trace_kind::wait_task)
      add(step_kind::caused, static_cast<double>(e.bytes)).peer =
          e.argument >= 0 && e.argument < p_.ranks() ? static_cast<std::int32_t>(e.argument) : -1;
    const bool is_told_later = pending_.empty() && left_.empty() && calls_ > 0 && place_ >= 0 &&
                               kinds_of_calls_[at(place_)].probes;
    if (!is_told_later) attach();
    end_of_wait();
  }
  void end_of_wait() {
    if (calls_ > 0) return;
    place_ = -1;
    unplaced_ = steps_.size();
  }

  // The number of the collective that the event names; it has this rank.
  std::int32_t meeting_of(const log_event& e) {
    const event_file::meeting m = event_file::unpacked(e.argument);
    const auto [found, is_new] = meetings_.meetings.try_emplace(
        e.argument >> 1 << 1, static_cast<std::int32_t>(p_.meetings.size()));
    if (is_new)
      p_.meetings.push_back({number_of_communicator(m.communicator), -1, m.how, e.bytes, ""});
    meeting_of_pattern& made = p_.meetings[at(found->second)];
    if (made.name.empty() && e.place >= 0) made.name = p_.places[at(e.place)].call;
    auto& ranks = p_.communicators[at(made.communicator)].ranks;
    if (ranks.empty() || ranks.back() != rank_) ranks.push_back(rank_);
    return found->second;
  }
  // The rank has asked again and again for what has come now, and has done nothing else.
  void asked(const log_event& e) {
    flush();
    // The clock of events is not the accounts'; what came before the row began before it.
    const auto ago = static_cast<double>(e.bytes);
    const double since = e.ns - ago - p_.begun_ns - 0.001 * ago - 1'000;
    double waited = 0;
    std::size_t first = steps_.size();
    for (; first > 0; --first) {
      const step& one = steps_[first - 1];
      const bool is_own = one.kind == step_kind::compute || one.kind == step_kind::in_call;
      if (one.end_ns - one.ns < since || !(is_own || one.kind == step_kind::post)) break;
      if (is_own) waited += one.ns;
    }
    const auto begin = steps_.begin() + static_cast<std::ptrdiff_t>(first);
    steps_.erase(std::remove_if(begin, steps_.end(),
                                [](const step& one) { return one.kind != step_kind::post; }),
                 steps_.end());
    for (auto one = steps_.begin() + static_cast<std::ptrdiff_t>(first); one != steps_.end(); ++one)
      one->end_ns = first == 0 ? 0 : steps_[first - 1].end_ns;
    unplaced_ = std::min(unplaced_, steps_.size());
    first_of_call_ = std::min(first_of_call_, steps_.size());
    waited_ = waited;
    attach();
  }
  // What goes on beside the rank's own code.
  void come(const log_event& e) {
    flush();
    const std::int32_t meeting = meeting_of(e);
    if (event_file::unpacked(e.argument).is_root) p_.meetings[at(meeting)].root = rank_;
    step& made = add(step_kind::come, 0);
    made.peer = meeting;
    made.bytes = e.bytes;
  }

  void collective(const log_event& e, bool begins) {
    // A collective that goes on beside the rank's own code has no name here.
    if (begins && e.place < 0) return;
    if (!begins && e.argument != 0) {
      left_.push_back(meeting_of(e));
      // The next one of the communicator begins behind it.
      if (waiting_ > 0 && place_ >= 0 && kinds_of_calls_[at(place_)].ends) attach();
      return;
    }
    if (begins) {
      if (waiting_++ > 0) return;
      if (calls_ == 0) ends_computation(place_ = e.place);
      flush();
      waited_ = 0;
      meeting_ = e;
      return;
    }
    if (waiting_ == 0 || --waiting_ > 0) return;
    attach();
    const std::int32_t meeting = meeting_of(meeting_);
    step& made = add(step_kind::collective, waited_);
    made.peer = meeting;
    made.bytes = meeting_.bytes;
    if (event_file::unpacked(meeting_.argument).is_root) p_.meetings[at(meeting)].root = rank_;
    end_of_wait();
  }

  std::int32_t number_of_communicator(std::uint64_t name) {
    const auto [found, is_new] = meetings_.communicators.try_emplace(
        name, static_cast<std::int32_t>(p_.communicators.size()));
    if (is_new) p_.communicators.emplace_back();
    return found->second;
  }

  pattern& p_;
  int rank_;
  const flows& sends_;
  meeting_numbers& meetings_;
  const std::vector<call_kind>& kinds_of_calls_;  // One for each place.
  std::vector<step>& steps_;
  std::map<std::int32_t, std::uint32_t> sent_;
  struct needed {
    step_kind kind;
    message_key message;
    std::uint64_t bytes;
  };
  std::vector<needed> pending_;
  std::vector<std::int32_t> left_;  // Collectives beside its own code that have ended, likewise.
  std::vector<std::size_t> kept_;   // Sends that a wait may be for.
  std::size_t kept_before_call_ = 0;
  std::size_t first_of_call_ = 0;
  std::size_t last_send_ = 0;  // The number of the step behind it; 0: none.
  std::size_t unplaced_ = 0;   // Computation before this step has its place.
  std::int32_t before_sleep_ = -1;
  double last_ = 0, computed_ = 0, in_call_ = 0, slept_ = 0, waited_ = 0;
  int waiting_ = 0, calls_ = 0;
  bool running_ = false, sleeping_ = false, in_task_ = false;
  std::int32_t place_ = -1;
  log_event meeting_{};
};

flows sends_of(const event_log& log) {
  flows all;
  for (int rank = 0; rank < log.ranks(); ++rank) {
    std::map<std::int32_t, std::uint32_t> sent;
    for (const log_event& e : log.of_rank[static_cast<std::size_t>(rank)]) {
      if (e.kind != trace_kind::send) continue;
      const auto to = static_cast<std::int32_t>(partner_in(e.argument));
      if (to < 0 || to >= log.ranks()) continue;
      const std::uint32_t number = sent[to]++;
      if (flow_in(e.argument) != 0)
        all[mixed(flow_in(e.argument), static_cast<std::uint64_t>(to))] = {rank, to, number};
    }
  }
  return all;
}

}  // namespace

pattern pattern_of(const event_log& log) {
  pattern p;
  p.program = log.program;
  p.places = log.places;
  p.worker_of_rank = log.worker_of_rank;
  p.workers = log.workers;
  p.processes = log.processes;
  p.of_rank.resize(log.of_rank.size());
  double first = log.ended_ns, last = log.begun_ns;
  for (const auto& events : log.of_rank)
    if (!events.empty()) {
      first = std::min(first, events.front().ns);
      last = std::max(last, events.back().ns);
    }
  p.begun_ns = first;
  p.recorded_ns = std::max(last - first, 0.0);
  const flows sends = sends_of(log);
  meeting_numbers meetings;
  std::vector<call_kind> kinds_of_calls;
  for (const log_place& one : p.places) kinds_of_calls.push_back(kind_of(one.call));
  for (int rank = 0; rank < log.ranks(); ++rank)
    rank_reader(p, rank, sends, meetings, kinds_of_calls)
        .read(log.of_rank[static_cast<std::size_t>(rank)]);
  return p;
}

}  // namespace weft::breakdown
