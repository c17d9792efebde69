#include "runtime/termination.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"

namespace weft {
namespace {

// How long a process of a stopping job waits for processes that do not come to a wait or do not answer: before its
// ranks unwind, and before it ends.
constexpr std::uint64_t halt_limit_ns = 1'000'000'000;
constexpr std::uint64_t leave_limit_ns = 1'800'000'000;
constexpr std::int64_t stopping_sleep_ns = 5'000'000;
// Texts travel in pieces that every transport takes at once.
constexpr std::size_t text_piece_bytes = 1024;
// A piece lists at most so many dead processes. With more of them no deadlock is looked for.
constexpr std::size_t dead_listed_max = text_piece_bytes / sizeof(std::uint32_t);

// The longest text of one process. A peer that sends more is refused.
constexpr std::size_t text_bytes_max = std::size_t{64} << 20;

constexpr std::uint64_t kind_mask = 0xff;

// Whether `dead`, made by dead_list(), names all processes before `from`: then `from` is the first that lives.
bool names_all_before(std::string_view dead, int from) noexcept {
  const std::size_t count = std::min(static_cast<std::size_t>(from), dead_listed_max);
  if (dead.size() < count * sizeof(std::uint32_t)) return false;
  for (std::uint32_t p = 0; p < count; ++p)
    if (std::memcmp(dead.data() + p * sizeof p, &p, sizeof p) != 0) return false;
  return true;
}

}  // namespace

termination::termination(network& between, scheduler& workers, actions what)
    : between_(between),
      workers_(workers),
      actions_(std::move(what)),
      dead_(static_cast<std::size_t>(between.process_count())),
      participants_(static_cast<std::size_t>(between.process_count())),
      agreement_(static_cast<std::size_t>(between.process_count())),
      halted_workers_(between.devices().size()) {
  handler_ = between.core_->register_handler(comm::completion(&termination::on_message, this));
  between.set_failure_handler(
      [this](int process, const std::string& why) { process_died(process, why); });
  workers.hold();
}

// --- Messages ------------------------------------------------------------------------------------

int termination::coordinator() const noexcept {
  int first = 0;
  while (first + 1 < between_.process_count() && is_dead(first)) ++first;
  return first;
}

template <class Is>
bool termination::all(const Is& is) const {
  for (std::size_t p = 0; p < participants_.size(); ++p)
    if (!is_dead(static_cast<int>(p)) && !is(participants_[p])) return false;
  return true;
}

// Called by workers that have a device, with the lock held.
void termination::send(int process, message what, std::uint64_t first, std::uint64_t second,
                       std::uint32_t user, std::string_view text) {
  if (is_dead(process)) return;
  const std::array<std::uint64_t, 2> words{first, second};
  const std::uint64_t tag = static_cast<std::uint64_t>(what) | agreement_.round() << 8;
  if (process == between_.process()) {
    comm::event to_myself;
    to_myself.tag = tag;
    to_myself.head = words;
    to_myself.user = user;
    to_myself.size = text.size();
    std::string copy(text);
    to_myself.data = reinterpret_cast<std::byte*>(copy.data());
    handle(process, to_myself);
    return;
  }
  // The core keeps what it has no room for. A dead process needs no messages.
  comm::am made;
  made.to = {process, 0};
  made.handler = handler_;
  made.data = std::as_bytes(std::span(text));
  made.tag = tag;
  made.head = words;
  made.user = user;
  made.allow.retry = false;
  (void)comm::post(network::of(*worker::current()).device_, made);
}

// Sends to all living processes, to this one last: its handler may end the round.
void termination::broadcast(message what, std::uint64_t first) {
  const std::string dead = what == message::stop ? dead_list() : std::string();
  for (int p = 0; p < between_.process_count(); ++p)
    if (p != between_.process()) send(p, what, first, 0, 0, dead);
  send(between_.process(), what, first);
}

// Sends a message with counts to the coordinator. Any worker sends it over its own device, and messages of different
// devices overtake each other. The number of the statement tells the coordinator which one is the newest.
void termination::state(message what, const message_counts& now) {
  send(coordinator(), what, now.sent, now.received, ++statement_, dead_list());
}

// Sends a text to the coordinator, in pieces.
void termination::send_text(message what, std::uint64_t first, std::string_view text) {
  do {
    const std::string_view piece = text.substr(0, text_piece_bytes);
    text.remove_prefix(piece.size());
    send(coordinator(), what, first, 0, text.empty() ? 0 : 1, piece);
  } while (!text.empty());
}

// The processes that this one knows to be dead, as bytes that can be compared.
std::string termination::dead_list() const {
  std::string list;
  if (!any_dead()) return list;
  for (std::uint32_t p = 0; p < dead_.size() && list.size() < text_piece_bytes; ++p)
    if (is_dead(static_cast<int>(p))) list.append(reinterpret_cast<const char*>(&p), sizeof p);
  return list;
}

void termination::on_message(void* self, const comm::event& happened) noexcept {
  if (worker::current() == nullptr) return;  // The workers have ended.
  auto& me = *static_cast<termination*>(self);
  const std::lock_guard hold(me.lock_);
  if (const char* const why = me.objection(happened.process, happened); why != nullptr) [[unlikely]]
    network::of(*worker::current()).device_.refuse(happened, why);
  else
    me.handle(happened.process, happened);
}

// Decisions come from the coordinator, or from one that has died since. A process that this one does not take for the
// coordinator may have become it by a death that is not known here yet. Its stop is kept until the death is known. No
// other decision can come so early: each needs a message of this process first, sent to the one it takes for it.
const char* termination::objection(int from, const comm::event& happened) const {
  const participant& w = participants_[static_cast<std::size_t>(from)];
  const std::string_view text(reinterpret_cast<const char*>(happened.data), happened.size);
  if (text.size() > text_piece_bytes) return "it says more of the end of the job than goes at once";
  switch (static_cast<message>(happened.tag & kind_mask)) {
    case message::all_ended:
    case message::unwind:
    case message::confirm:
    case message::describe:
      return from <= coordinator() ? nullptr
                                   : "it is a decision of a process that is not the coordinator";
    case message::stop:
      return from <= coordinator() || names_all_before(text, from)
                 ? nullptr
                 : "it is a decision of a process that is not the coordinator";
    case message::failure:
    case message::part:
      return std::max(w.failure.size(), w.part.size()) < text_bytes_max
                 ? nullptr
                 : "the text of which it is a part is too long";
    case message::ended:
    case message::halted:
    case message::quiet:
    case message::confirmed:
      return nullptr;
  }
  return "it is no word about the end of a job";
}

void termination::handle(int from, const comm::event& happened) {
  participant& w = participants_[static_cast<std::size_t>(from)];
  const std::string_view text(reinterpret_cast<const char*>(happened.data),
                              happened.data == nullptr ? 0 : happened.size);
  const std::uint64_t round = happened.tag >> 8;
  const quiescence_agreement::statement said{
      {happened.head[0], happened.head[1]}, text, happened.user};
  switch (static_cast<message>(happened.tag & kind_mask)) {
    case message::ended:
      w.ended = true;
      agreement_.note_ended(static_cast<std::size_t>(from), said);
      coordinate_end();
      return coordinate_quiet();
    case message::all_ended:
      // A failure that this process has sent may still be under way: the coordinator will not read it any more.
      if (!decided_ && told_failure_) say_why(told_failure_->first, told_failure_->second);
      if (!std::exchange(released_, true)) workers_.release();
      return;
    case message::failure:
      w.failure.append(text);
      // This process may not know yet that it is the coordinator: the sender knows of a death that this one does not.
      if (happened.user == 0)
        fail(std::exchange(w.failure, {}), static_cast<int>(happened.head[0]));
      return;
    case message::stop:
      if (from <= coordinator()) return stop(static_cast<int>(happened.head[0]));
      w.early_stop = static_cast<int>(happened.head[0]);
      return;
    case message::halted:
      w.halted = true;
      return coordinate_end();
    case message::unwind:
      may_unwind_.publish(true);
      return;
    case message::quiet:
      if (!agreement_.note_quiet(static_cast<std::size_t>(from), said)) return;
      coordinate_end();
      return coordinate_quiet();
    case message::confirm:
      // Passed over: a question of a coordinator that has died, or one that a newer question has overtaken.
      if (from != coordinator() || (from == asked_by_ && round < agreement_.round())) return;
      asked_by_ = from;
      agreement_.follow_round(round);
      description_.reset();
      is_described_ = false;
      is_asked_ = true;  // Answered when all workers have been parked once more.
      return;
    case message::confirmed:
      if (agreement_.note_confirmed(static_cast<std::size_t>(from), said, round, deaths()))
        return coordinate_description();
      return coordinate_quiet();
    case message::describe:
      if (round != agreement_.round()) return;
      description_ = actions_.describe();
      return ask_further_ ? ask_further_() : send_description();
    case message::part:
      if (!describing_ || round != agreement_.round()) return;
      w.part.append(text);
      w.part_complete = happened.user == 0;
      return coordinate_parts();
  }
}

quiescence_agreement::deaths termination::deaths() const {
  quiescence_agreement::deaths known;
  for (std::size_t p = 0; p < dead_.size(); ++p)
    known.is_dead.push_back(is_dead(static_cast<int>(p)));
  known.list = dead_list();
  return known;
}

void termination::stop(int exit_status) {
  decided_ = true;
  stop_status_ = exit_status;
  actions_.stop(exit_status);
  coordinate_end();
}

// --- What the coordinator does -------------------------------------------------------------------------

void termination::say_why(const std::string& text, int exit_status) {
  if (!text.empty() && !std::exchange(said_why_, true)) actions_.tell(text, exit_status);
}

void termination::coordinate_failure(const std::string& text, int exit_status) {
  say_why(text, exit_status);  // Also of a stop that was asked for before its reason was known.
  if (std::exchange(decided_, true)) return;
  stop_status_ = exit_status;
  broadcast(message::stop, static_cast<std::uint64_t>(exit_status));
}

void termination::coordinate_end() {
  if (!is_coordinator()) return;
  if (!may_unwind_.hint() && all([](const participant& w) { return w.halted; }))
    broadcast(message::unwind);
  // All ranks have ended, but a message may be under way that no rank waited for. Its receiver has to get it: the sums
  // differ until the receiver has said `ended` again, with its new counts.
  if (!released_ && all([](const participant& w) { return w.ended; }) &&
      (decided_ || any_dead() || agreement_.none_under_way(deaths())))
    broadcast(message::all_ended);
}

// Begins a second look when every process has said that it was quiet and the counts sum up to no message under way. Each
// process, asked after all have said so, must find the same again: docs/protocols/processes.md.
void termination::coordinate_quiet() {
  if (!is_coordinator() || decided_ || describing_) return;
  if (any_dead() && !actions_.survive_failures) return;  // The death ends the job.
  const quiescence_agreement::deaths known = deaths();
  if (known.list.size() >= dead_listed_max * sizeof(std::uint32_t)) return;
  if (all([](const participant& w) { return w.ended; })) return;
  if (agreement_.may_ask(known)) broadcast(message::confirm);
}

void termination::coordinate_description() {
  if (!is_coordinator() || decided_ || describing_) return;
  describing_ = true;
  for (participant& w : participants_) w.part.clear(), w.part_complete = false;
  broadcast(message::describe);
}

void termination::described(const std::string& further) {
  const std::lock_guard hold(lock_);
  if (!description_) return;  // The coordinator has begun anew.
  *description_ += further;
  is_described_ = true;
  give_urgent();
}

void termination::send_description() {
  if (const std::optional<std::string> text = std::exchange(description_, {}))
    send_text(message::part, 0, *text);
}

void termination::coordinate_parts() {
  if (!describing_ || !all([](const participant& w) { return w.part_complete; })) return;
  describing_ = false;
  std::vector<std::string> parts;
  std::vector<int> dead;
  for (std::size_t p = 0; p < participants_.size(); ++p)
    if (is_dead(static_cast<int>(p)))
      dead.push_back(static_cast<int>(p));
    else
      parts.push_back(std::exchange(participants_[p].part, {}));
  coordinate_failure(actions_.deadlock(parts, dead), 1);
}

// --- What every process does ---------------------------------------------------------------------

// What the devices have counted with the dead.
message_counts termination::share_of_dead() const noexcept {
  traffic share;
  if (any_dead()) [[unlikely]]
    for (int dead = 0; dead < between_.process_count(); ++dead)
      if (is_dead(dead))
        for (const auto& d : between_.devices()) d->with(dead).add_to(share);
  // What other jobs have counted is not known here. While they are joined nothing is told of quiescence.
  for (int p = between_.process_count(); p < between_.known_processes(); ++p)
    for (const auto& d : between_.devices()) d->with(p).add_to(share);
  return {share.sent, share.received};
}

// The shares of the dead before the sums: a device counts a message in the sum first.
message_counts termination::count() const noexcept {
  const message_counts dead = share_of_dead();
  const traffic all = between_.look().counted.sums;
  return {all.sent - dead.sent, all.received - dead.received};
}

// Called by the worker that parked last: all were parked at a moment between its first look and this one.
quiescence_observer::answer termination::look(worker& last) noexcept {
  if (last.events() == nullptr) {  // A helper, which has no device.
    workers_.at(0).notify();
    return answer::sleep;
  }
  const std::lock_guard hold(lock_);
  quiescent_counts_.reset();
  const std::optional<network_look>& first = network::of(last).look_before_parking();
  const message_counts dead = share_of_dead();
  const network_look second = between_.look();
  if (!first || !between_.was_quiescent(*first, second) || dead_count_.value() != second.deaths)
    return answer::look_again;
  const traffic& sums = second.counted.sums;
  if (sums.begun != sums.ended) return answer::sleep;  // What is under way wakes a worker.
  const message_counts now{sums.sent - dead.sent, sums.received - dead.received};
  if (told_valid_ && now == told_ && !is_asked_) return answer::sleep;
  quiescent_counts_ = now;
  return answer::tell;
}

// What look() has found holds of the moment at which all were parked, also when somebody has woken since.
void termination::tell(worker&) {
  const std::lock_guard hold(lock_);
  if (!quiescent_counts_) return;  // A death has become known.
  const bool is_same = told_valid_ && *quiescent_counts_ == told_;
  if (is_same && !is_asked_) return;
  told_ = *quiescent_counts_;
  told_valid_ = true;
  state(std::exchange(is_asked_, false) && is_same ? message::confirmed : message::quiet, told_);
}

// With the lock held.
void termination::give_urgent() noexcept {
  has_urgent_.store(true, std::memory_order_relaxed);
  workers_.at(0).notify();
}

void termination::fail(const std::string& text, int exit_status) {
  const std::lock_guard hold(lock_);
  const worker* here = worker::current();
  if (here == nullptr || here->events() == nullptr) {
    // Told at once: no worker may come to a pass, since all ranks may compute for ever.
    if (is_coordinator()) say_why(text, exit_status);
    failures_.emplace_back(text, exit_status);
    give_urgent();
    return;
  }
  if (is_coordinator()) return coordinate_failure(text, exit_status);
  if (released_) return say_why(text, exit_status);  // The coordinator reads no messages any more.
  said_stop_ = true;
  told_failure_.emplace(text, exit_status);
  send_text(message::failure, static_cast<std::uint64_t>(exit_status), text);
}

void termination::process_died(int process, const std::string& why) {
  const std::lock_guard hold(lock_);
  if (process >= between_.process_count()) {  // Of another job that was joined.
    dead_count_.add(1);
    if (released_ || !actions_.is_joined_with(process)) return;
    const std::string text = "a process of a job that this one was joined with has died: " + why;
    if (actions_.survive_failures)
      log_text(text);
    else
      failures_.emplace_back(text, 1);
    return give_urgent();
  }
  if (is_dead(process)) return;
  dead_[static_cast<std::size_t>(process)].publish(true);
  dead_count_.add(1);
  if (released_) return;
  if (actions_.survive_failures) {
    if (is_coordinator()) log_text(actions_.in_words(process, why));
    // Everything is said anew: a new coordinator has heard nothing yet, and the counts that were said include messages
    // of the dead. Ranks that waited for the dead go on.
    said_ended_ = said_halted_ = told_valid_ = is_asked_ = false;
    quiescent_counts_.reset();
    describing_ = false;
    agreement_.forget_round();
    if (!decided_ && told_failure_) failures_.push_back(*told_failure_);
    stops_again_ = decided_;  // The coordinator may have died before it had told all to stop.
    std::fill(halted_workers_.begin(), halted_workers_.end(), false);
    give_urgent();
    return;
  }
  if (!death_.empty()) return;
  death_ = actions_.in_words(process, why);
  death_since_ns_ = now_ns();
  give_urgent();
}

// Ends this process's part of the job for a death that nobody survives. Nobody is told to stop: every process finds the
// death itself.
void termination::end_by_death() {
  if (now_ns() - death_since_ns_ < actions_.patience_ns) {
    has_urgent_.store(true, std::memory_order_relaxed);
    return;
  }
  if (!std::exchange(decided_, true) && is_coordinator()) say_why(death_, 1);
  actions_.stop(1);
}

void termination::progress() noexcept {
  const bool stops = workers_.stopping();
  if (!has_urgent_.load(std::memory_order_relaxed) && !workers_.fibers_have_ended() && !stops)
      [[likely]]
    return;
  const std::lock_guard hold(lock_);
  has_urgent_.store(false, std::memory_order_relaxed);
  for (const auto& [text, status] : std::exchange(failures_, {})) fail(text, status);
  if (std::exchange(is_described_, false)) send_description();
  // Stops that came early, from the process that is known to be the coordinator by now, or from one that was and has died.
  for (int p = 0; p <= coordinator(); ++p)
    if (auto& early = participants_[static_cast<std::size_t>(p)].early_stop; early) {
      stop(*std::exchange(early, std::nullopt));
      stops_again_ = true;  // It may have died before it had told all.
    }
  if (!death_.empty() && !stops) end_by_death();
  if (stops && !decided_ && !std::exchange(said_stop_, true)) fail({}, 1);
  if (std::exchange(stops_again_, false) && is_coordinator())
    broadcast(message::stop, static_cast<std::uint64_t>(stop_status_));
  // Counted before the look at the fibers: a message that begins work is counted only after the work counts as a fiber.
  const message_counts now = count();
  if (workers_.fibers_have_ended()) {
    // Said again when a message has come since for which no rank waited: the coordinator compares the counts.
    if (!said_ended_ || now != ended_with_) {
      said_ended_ = true;
      ended_with_ = now;
      told_valid_ =
          false;  // The coordinator has other counts now than those when it was quiescent.
      state(message::ended, now);
      coordinate_end();
    }
  }
  if (!stops || released_) return;
  std::uint64_t since = stopping_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) stopping_since_ns_.store(since = now_ns(), std::memory_order_relaxed);
  const bool alone = any_dead() && !actions_.survive_failures;
  if (workers_.fibers_have_ended() && (alone || now_ns() - since > leave_limit_ns)) {
    // The coordinator has not answered: its workers may come to no pass, since its ranks compute.
    if (!decided_ && told_failure_) say_why(told_failure_->first, told_failure_->second);
    released_ = true;
    workers_.release();
  }
}

bool termination::may_unwind(int worker) noexcept {
  if (may_unwind_.value()) return true;
  const std::lock_guard hold(lock_);
  halted_workers_[static_cast<std::size_t>(worker)] = true;
  if (!said_halted_ &&
      std::find(halted_workers_.begin(), halted_workers_.end(), false) == halted_workers_.end()) {
    said_halted_ = true;
    send(coordinator(), message::halted);
  }
  std::uint64_t since = stopping_since_ns_.load(std::memory_order_relaxed);
  if (since == 0) stopping_since_ns_.store(since = now_ns(), std::memory_order_relaxed);
  return (any_dead() && !actions_.survive_failures) || now_ns() - since > halt_limit_ns;
}

std::int64_t termination::sleep_ns_max() const noexcept {
  return workers_.stopping() || has_urgent_.load(std::memory_order_relaxed) ? stopping_sleep_ns
                                                                            : -1;
}

}  // namespace weft
