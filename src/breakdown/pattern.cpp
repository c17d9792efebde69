#include "breakdown/pattern.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/flows.hpp"

namespace weft::breakdown {
namespace {

struct message_key {
  std::int32_t from, to;
  std::uint32_t number;
};
using flows = std::unordered_map<std::uint64_t, message_key>;

// Messages longer than this may wait at their sender for their receive.
constexpr std::uint64_t kept_bytes_min = 1024;
// So many are looked at for which one wait may be.
constexpr std::size_t kept_max = 256;

// What a call means for the messages of its rank.
struct call_kind {
  bool waits = false;     // The program needs what has come when the call is over.
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
  for (const char* word : {"isend", "issend", "irsend", "ibsend", "start"})
    kind.requests = kind.requests || has(word);
  kind.ends_all = has("waitall") || has("wait_all");
  return kind;
}

// Makes the steps of one rank out of its events.
class rank_reader {
 public:
  rank_reader(pattern& p, int rank, const flows& sends,
              std::map<std::int64_t, std::int32_t>& meetings,
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
  // What has come is needed from here on.
  void attach() {
    const double waited = std::exchange(waited_, 0);
    for (const auto& [key, bytes] : std::exchange(pending_, {})) {
      step& made = add(step_kind::receive, waited);
      made.peer = key.from;
      made.number = key.number;
      made.bytes = bytes;
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
        flush();
        sleeping_ = begins;
        if (!begins) flush();
        return;
      case trace_kind::send:
        return send(e);
      case trace_kind::recv:
        return receive(e);
      case trace_kind::wait_collective:
        return collective(e, begins);
      case trace_kind::wait_recv:
      case trace_kind::wait_send:
      case trace_kind::wait_task:
        if (e.phase == trace_phase::instant) return divide(e);
        return wait(e, begins);
      case trace_kind::wait_chunks:
      case trace_kind::wait_memory:
        return wait(e, begins);
      default:
        return;
    }
  }

  void begin_call(const log_event& e) {
    if (calls_++ > 0) return;
    place_ = e.place;  // The computation before it is told by the call that ends it.
    flush();
    first_of_call_ = steps_.size();
    kept_before_call_ = kept_.size();
  }
  void end_call() {
    if (calls_ == 0 || --calls_ > 0) return;
    flush();
    if (place_ >= 0) {
      const call_kind& kind = kinds_of_calls_[at(place_)];
      if (kind.waits) attach();
      // A send that did not wait in its own call went at once.
      if (kind.ends_all)
        kept_.clear();
      else if (!kind.requests)
        kept_.resize(kept_before_call_);
    }
    place_ = -1;
  }

  void send(const log_event& e) {
    flush();
    const auto to = static_cast<std::int32_t>(partner_in(e.argument));
    if (to < 0 || to >= p_.ranks()) return;
    step& made = add(step_kind::send, 0);
    made.peer = to;
    made.number = sent_[to]++;
    made.bytes = e.bytes;
    if (e.bytes <= kept_bytes_min) return;
    if (kept_.size() == kept_max) {
      kept_.erase(kept_.begin());
      kept_before_call_ -= kept_before_call_ != 0;
    }
    kept_.push_back(steps_.size() - 1);
  }
  void receive(const log_event& e) {
    flush();
    const auto found = sends_.find(flow_in(e.argument));
    if (flow_in(e.argument) == 0 || found == sends_.end() || found->second.to != rank_) {
      ++p_.without_sender;
      return;
    }
    step posted;
    posted.kind = step_kind::post;
    posted.peer = found->second.from;
    posted.number = found->second.number;
    posted.place = place_;
    // The receive was there when the call began.
    const std::size_t where = calls_ > 0 ? std::min(first_of_call_, steps_.size()) : steps_.size();
    posted.end_ns = where == 0 ? 0 : steps_[where - 1].end_ns;
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(where), posted);
    for (std::size_t& kept : kept_) kept += kept >= where;
    pending_.emplace_back(found->second, e.bytes);
  }

  // Another rank waits for what this one has computed so far.
  void divide(const log_event& e) {
    const std::int32_t outer = place_;
    if (calls_ == 0) place_ = e.place;
    flush();
    place_ = outer;
  }

  void wait(const log_event& e, bool begins) {
    if (begins) {
      if (waiting_++ > 0) return;
      if (calls_ == 0) place_ = e.place;
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
    attach();
    if (calls_ == 0) place_ = -1;
  }

  void collective(const log_event& e, bool begins) {
    // Those that go on beside the rank's own code have no name, and say so at their end.
    if (begins ? e.place < 0 : e.argument != 0) return;
    if (begins) {
      if (waiting_++ > 0) return;
      if (calls_ == 0) place_ = e.place;
      flush();
      waited_ = 0;
      meeting_ = e;
      return;
    }
    if (waiting_ == 0 || --waiting_ > 0) return;
    attach();
    const event_file::meeting m = event_file::unpacked(meeting_.argument);
    const auto [found, is_new] = meetings_.try_emplace(
        meeting_.argument >> 1 << 1, static_cast<std::int32_t>(p_.meetings.size()));
    if (is_new)
      p_.meetings.push_back({static_cast<std::int32_t>(m.communicator), -1, m.how, meeting_.bytes,
                             meeting_.place < 0 ? "" : p_.places[at(meeting_.place)].call});
    step& made = add(step_kind::collective, waited_);
    made.peer = found->second;
    made.bytes = meeting_.bytes;
    if (m.is_root) p_.meetings[at(found->second)].root = rank_;
    if (calls_ == 0) place_ = -1;
  }

  pattern& p_;
  int rank_;
  const flows& sends_;
  std::map<std::int64_t, std::int32_t>& meetings_;
  const std::vector<call_kind>& kinds_of_calls_;  // By place.
  std::vector<step>& steps_;
  std::map<std::int32_t, std::uint32_t> sent_;
  std::vector<std::pair<message_key, std::uint64_t>> pending_;
  std::vector<std::size_t> kept_;  // Sends that a wait may be for.
  std::size_t kept_before_call_ = 0;
  std::size_t first_of_call_ = 0;
  double last_ = 0, computed_ = 0, in_call_ = 0, slept_ = 0, waited_ = 0;
  int waiting_ = 0, calls_ = 0;
  bool running_ = false, sleeping_ = false;
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
      if (flow_in(e.argument) != 0) all[flow_in(e.argument)] = {rank, to, number};
    }
  }
  return all;
}

// Numbers communicators, and finds their ranks.
void find_communicators(pattern& p) {
  std::map<std::int32_t, std::int32_t> numbers;
  for (meeting_of_pattern& m : p.meetings) {
    const auto [at, is_new] = numbers.try_emplace(m.communicator, p.communicators.size());
    if (is_new) p.communicators.emplace_back();
    m.communicator = at->second;
  }
  for (int rank = 0; rank < p.ranks(); ++rank)
    for (const step& s : p.of_rank[static_cast<std::size_t>(rank)])
      if (s.kind == step_kind::collective) {
        auto& ranks =
            p.communicators[static_cast<std::size_t>(
                                p.meetings[static_cast<std::size_t>(s.peer)].communicator)]
                .ranks;
        if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
      }
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
  std::map<std::int64_t, std::int32_t> meetings;
  std::vector<call_kind> kinds_of_calls;
  for (const log_place& one : p.places) kinds_of_calls.push_back(kind_of(one.call));
  for (int rank = 0; rank < log.ranks(); ++rank)
    rank_reader(p, rank, sends, meetings, kinds_of_calls)
        .read(log.of_rank[static_cast<std::size_t>(rank)]);
  find_communicators(p);
  return p;
}

}  // namespace weft::breakdown
