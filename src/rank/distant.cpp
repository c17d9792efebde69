#include "rank/distant.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "rank/messages.hpp"

namespace weft::detail {
namespace {

// What becomes of a send, as its sender is told.
constexpr std::uint32_t send_received = 0, send_failed = 1, send_withdrawn = 2;

// How an envelope travels in the words of an active message.
[[nodiscard]] std::uint64_t two(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
[[nodiscard]] std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}
[[nodiscard]] envelope envelope_of(const comm::event& e) noexcept {
  return {high_of(e.tag), static_cast<std::int32_t>(high_of(e.head[0])),
          static_cast<std::int32_t>(low_of(e.tag))};
}
[[nodiscard]] early_sender early_sender_of(const comm::event& e) noexcept {
  return {e.device, static_cast<std::uint16_t>(e.process)};
}

}  // namespace

void fail(operation& op) noexcept {
  op.failed = true;
  op.result.bytes = failed_bytes;
}
void fail(worker& here, operation& op) noexcept {
  fail(op);
  complete(here, op);
}

// --- Names of sends ------------------------------------------------------------------------------

std::uint64_t distant_sends::add(operation& op, int process, comm::registered_memory memory,
                                 std::unique_ptr<std::byte[]> copy) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  entry& e = entries_[index];
  e.op = &op;
  e.process = process;
  e.memory = std::move(memory);
  e.copy = std::move(copy);
  return two(++e.generation, index);
}

operation* distant_sends::take(std::uint64_t name, int process) noexcept {
  const std::uint32_t index = low_of(name);
  if (index >= entries_.size()) return nullptr;
  entry& e = entries_[index];
  if (e.op == nullptr || e.generation != high_of(name) || e.process != process) return nullptr;
  e.memory = {};
  e.copy.reset();
  free_.push_back(index);  // Never more than there were: no allocation.
  return std::exchange(e.op, nullptr);
}

std::uint64_t distant_sends::name_of(const operation& op) const noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].op == &op) return two(entries_[i].generation, static_cast<std::uint32_t>(i));
  return 0;
}

void distant_sends::forget(const operation& op) noexcept {
  if (const std::uint64_t name = name_of(op); name != 0)
    (void)take(name, entries_[low_of(name)].process);
}

operation* distant_sends::take_any(int process) noexcept {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].op != nullptr && entries_[i].process == process)
      return take(two(entries_[i].generation, static_cast<std::uint32_t>(i)), process);
  return nullptr;
}

// --- Sending -------------------------------------------------------------------------------------

// Called by the core on the thread of the worker whose device the message came to.
template <void (distant_ways::*Handle)(worker&, const comm::event&)>
void distant_ways::call(void* self, const comm::event& happened) noexcept {
  // Null after the workers have ended.
  worker* const current = worker::current();
  if (current == nullptr) return;
  worker& here = *current;
  network::of(here).count_received(happened.process);
  if (here.owner().stopping()) [[unlikely]]
    return;
  (static_cast<distant_ways*>(self)->*Handle)(here, happened);
}

distant_ways::distant_ways(job& j, network& between)
    : job_(j),
      between_(between),
      sends_(between.ports().size()),
      origins_(between.ports().size()),
      meetings_(between.ports().size()),
      congested_(std::make_unique<std::atomic<bool>[]>(j.places.size())),
      told_congested_(j.places.size()) {
  eager_bytes_max_ = j.how.eager_max_bytes * distant_eager_factor;
  for (int p = 0; p < between.process_count(); ++p)
    eager_bytes_max_ = std::min(eager_bytes_max_, between.core().device(0).eager_bytes_max(p));
  comm::runtime& core = between.core();
  // The same order in all processes: so their names are the same.
  const auto handler = [&](comm::completion::function called) {
    return core.register_handler(comm::completion(called, this));
  };
  eager_ = handler(&call<&distant_ways::on_eager>);
  offer_ = handler(&call<&distant_ways::on_offer>);
  finished_ = handler(&call<&distant_ways::on_finished>);
  congestion_ = handler(&call<&distant_ways::on_congestion>);
  broken_ = handler(&call<&distant_ways::on_broken>);
  question_ = handler(&call<&distant_ways::on_question>);
  said_ = handler(&call<&distant_ways::on_said>);
  call_asked_ = handler(&call<&distant_ways::on_call_asked>);
  call_told_ = handler(&call<&distant_ways::on_call_told>);
  withdraw_ = handler(&call<&distant_ways::on_withdraw>);
}

comm::am distant_ways::message(const peer& to, const envelope& from, comm::handler_id handler,
                               comm::const_buffers data) const noexcept {
  const rank_place& there = job_.places[static_cast<std::size_t>(to.number)];
  comm::am made;
  made.to = {there.process, there.worker};
  made.handler = handler;
  made.data = data;
  made.tag = two(from.context, static_cast<std::uint32_t>(from.tag));
  made.head = {two(static_cast<std::uint32_t>(from.source), static_cast<std::uint32_t>(to.number)),
               0};
  return made;
}

bool distant_ways::survives() const noexcept {
  return job_.how.on_failure == "error";
}

void distant_ways::wait_for_the_end(worker& here) const {
  if (survives()) return;
  here.wait_until([] { return false; }, {"wait for the end, since a process has died"});
  here.check_stopped();
}

void distant_ways::throw_dead(const rank_state& me, const peer& to) const {
  wait_for_the_end(*me.home);
  const int process = job_.places[static_cast<std::size_t>(to.number)].process;
  throw error("rank " + std::to_string(me.number) + ": rank " + std::to_string(to.number) +
              " cannot be reached: its process " + std::to_string(process) + " on host " +
              between_.job().host_of(process) + " is dead");
}

bool distant_ways::goes_eager(const peer& to, std::size_t bytes, send_mode mode) const noexcept {
  // Relaxed: advice, as within a process.
  return mode != send_mode::synchronous && bytes <= eager_bytes_max_ &&
         !congested_[static_cast<std::size_t>(to.number)].load(std::memory_order_relaxed);
}

bool distant_ways::send_now(rank_state& me, const peer& to, const envelope& from,
                            std::span<const std::byte> data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  worker& here = *me.home;
  port& p = network::of(here);
  const comm::am wanted = message(to, from, eager_, data);
  p.count_sent(wanted.to.process);
  if (post_in_wait(here, [&] { return comm::post(p.device(), wanted); },
                   {"send (no room)", from.context, to.number, from.tag, data.size()}) ==
      status::failed)
    throw_dead(me, to);
  return true;
}

bool distant_ways::send_now(rank_state& me, const peer& to, const envelope& from,
                            const segments& data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  const auto row = std::make_unique_for_overwrite<std::byte[]>(data.size());
  copy_out(row.get(), data);
  return send_now(me, to, from, octets(row.get(), data.size()), mode);
}

void distant_ways::send_offer(worker& here, const peer& to, const envelope& from, operation& op) {
  port& p = network::of(here);
  const int process = job_.places[static_cast<std::size_t>(to.number)].process;
  std::unique_ptr<std::byte[]> copy;
  if (op.layout != nullptr && op.bytes != 0) {
    copy = std::make_unique_for_overwrite<std::byte[]>(op.bytes);
    copy_out(copy.get(), *op.layout);
  }
  comm::registered_memory memory;
  if (op.bytes != 0)
    memory =
        comm::registered_memory(p.device(), {copy != nullptr ? copy.get() : op.data, op.bytes});
  offer_on_wire offered;
  offered.bytes = op.bytes;
  offered.memory = memory.remote();
  distant_sends& mine = sends_[static_cast<std::size_t>(here.index())];
  offered.send = mine.add(op, process, std::move(memory), std::move(copy));
  const comm::am wanted = message(to, from, offer_, std::as_bytes(std::span(&offered, 1)));
  p.count_sent(process);
  if (post_in_wait(here, [&] { return comm::post(p.device(), wanted); },
                   {call_of(op.mode), from.context, to.number, from.tag, op.bytes}) ==
      status::failed) {
    (void)mine.take(offered.send, process);
    throw_dead(*op.owner, to);
  }
}

void distant_ways::forget(worker& here, const operation& op) noexcept {
  sends_[static_cast<std::size_t>(here.index())].forget(op);
}

void distant_ways::post_small(worker& here, comm::address to, comm::handler_id handler,
                              std::uint64_t first, std::uint32_t user) noexcept {
  port& p = network::of(here);
  p.count_sent(to.process);
  comm::am made;
  made.to = to;
  made.handler = handler;
  made.head = {first, 0};
  made.user = user;
  made.allow.retry = false;
  (void)comm::post(p.device(), made);  // A dead process needs no answer.
}

// --- Arrivals ------------------------------------------------------------------------------------

namespace {

// A peer is broken.
[[gnu::cold]] void refuse(worker& here, const comm::event& happened, const char* why) noexcept {
  network::of(here).device().refuse(happened, why);
}

}  // namespace

// Whether the source that the envelope names is of the process that sent it; a message of which that is not
// so has been refused.
origin distant_ways::origin_of(worker& here, const rank_state& to, const envelope& from,
                               const comm::event& happened) {
  known_origins& known = origins_[static_cast<std::size_t>(here.index())];
  if (known.are_right(from, happened.process)) [[likely]]
    return origin::right;
  return find_origin(known, here, to, from, happened);
}

origin distant_ways::find_origin(known_origins& known, worker& here, const rank_state& to,
                                 const envelope& from, const comm::event& happened) {
  const auto c = find_communicator(to, base_context(from.context));
  if (c == nullptr) return origin::unknown;
  if (c->process_of(from.source) != happened.process) {
    refuse(here, happened, foreign_source);
    return origin::forged;
  }
  known.know(*c);
  return origin::right;
}

// Null when the message is for nobody here, and has been refused.
rank_state* distant_ways::addressee(worker& here, const comm::event& happened) noexcept {
  const std::uint32_t number = low_of(happened.head[0]);
  rank_state* const to = number < job_.places.size() ? job_.places[number].rank : nullptr;
  if (to != nullptr && to->home == &here) [[likely]]
    return to;
  refuse(here, happened, "it is for no rank of this worker");
  return nullptr;
}

// The same of one that has to have so many octets.
rank_state* distant_ways::addressee(worker& here, const comm::event& happened,
                                    std::size_t bytes) noexcept {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr || happened.size == bytes) [[likely]]
    return to;
  refuse(here, happened, "a message of ranks of the wrong length");
  return nullptr;
}

// A rank of the process that says so.
bool distant_ways::is_of(std::uint64_t rank, const comm::event& happened) const noexcept {
  return rank < job_.places.size() && job_.places[rank].process == happened.process;
}

void distant_ways::on_eager(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const envelope from = envelope_of(happened);
  const octets data(happened.data, happened.size);
  const origin source = origin_of(here, *to, from, happened);
  if (source == origin::right) [[likely]]
    deliver(here, *to, from, data);
  else if (source == origin::unknown)
    deliver_early(here, *to, from, data, {}, early_sender_of(happened));
  if (to->congested.load(std::memory_order_relaxed)) [[unlikely]]
    tell_congested(*to, happened);
}

void distant_ways::on_offer(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened, sizeof(offer_on_wire));
  if (to == nullptr) [[unlikely]]
    return;
  offer_on_wire what;
  std::memcpy(&what, happened.data, sizeof what);
  // The transport will read where the offer says: from nobody but the device that sent it.
  if (const comm::remote_memory& m = what.memory;
      what.bytes != 0 && (m.process != happened.process || m.device != happened.device ||
                          m.size != what.bytes)) [[unlikely]]
    return refuse(here, happened, "it offers memory that is not its own, or of another length");
  const envelope from = envelope_of(happened);
  const origin source = origin_of(here, *to, from, happened);
  if (source == origin::forged) [[unlikely]]
    return;
  auto offered = std::make_unique<distant_offer>();
  offered->ways = this;
  offered->from = {happened.process, happened.device};
  offered->what = what;
  offer made{};
  made.bytes = what.bytes;
  made.worker = distant_worker;
  made.distant = offered.release();
  if (source == origin::right) [[likely]]
    deliver_offer(here, *to, from, made);
  else
    deliver_early(here, *to, from, {}, made, early_sender_of(happened));
}

void distant_ways::on_finished(worker& here, const comm::event& happened) {
  operation* const op =
      sends_[static_cast<std::size_t>(here.index())].take(happened.head[0], happened.process);
  if (op == nullptr) [[unlikely]]
    return;
  if (happened.user == send_withdrawn) return complete_withdrawn(here, *op);
  if (happened.user != send_received) fail(*op);
  complete(here, *op);
}

// --- Sends that are taken back -------------------------------------------------------------------

void distant_ways::ask_back(worker& here, const peer& to, const operation& op) noexcept {
  const std::uint64_t name = sends_[static_cast<std::size_t>(here.index())].name_of(op);
  if (name != 0) post_to(here, to.number, op.match.context, withdraw_, {}, name);
}

// The question comes after the offer: messages between two devices keep their order.
void distant_ways::on_withdraw(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const comm::address sender{happened.process, happened.device};
  const std::uint64_t name = happened.head[1];
  const bool unmatched = drop_offer(*to, [&](const offer& o) {
    return o.distant != nullptr && o.distant->what.send == name &&
           o.distant->from.process == sender.process && o.distant->from.device == sender.device;
  });
  if (unmatched) post_small(here, sender, finished_, name, send_withdrawn);
}

// --- Long messages -------------------------------------------------------------------------------

struct distant_ways::reading {
  distant_ways* self;
  operation* op;
  envelope from;
  distant_offer* offered;
  std::unique_ptr<std::byte[]> copy;  // Where the data go first when the receive has a layout.
};
struct distant_ways::failed_read {
  operation* op;
  int process;
  std::uint64_t until_ns;
};

void distant_ways::receive(worker& here, operation& op, const envelope& from,
                           distant_offer* offered) {
  const std::size_t bytes = std::min<std::size_t>(op.bytes, offered->what.bytes);
  auto r = std::make_unique<reading>(reading{this, &op, from, offered, nullptr});
  if (bytes == 0) return end_read(here, *r, false);
  if (op.layout != nullptr) r->copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  port& p = network::of(here);
  p.begin_writing();
  // Freed when it is complete.
  if (reading* const record = r.release(); !try_read(here, record))
    p.keep_trying(&try_read, record);
}

// False: there is no room, try again.
bool distant_ways::try_read(worker& here, void* record) {
  auto* const r = static_cast<reading*>(record);
  const std::size_t bytes = std::min<std::size_t>(r->op->bytes, r->offered->what.bytes);
  comm::event happened;
  if (!here.owner().stopping()) {
    comm::get wanted;
    wanted.from = r->offered->what.memory;
    wanted.data = std::span(r->copy != nullptr ? r->copy.get() : r->op->data, bytes);
    wanted.local = comm::completion(&on_read, record);
    switch (comm::post(network::of(here).device(), wanted)) {
      case status::posted:
        return true;
      case status::retry:
        return false;
      case status::failed:
        happened.result = comm::outcome::failed;
        break;
      case status::done:
        break;
    }
  }
  on_read(record, happened);
  return true;
}

void distant_ways::on_read(void* record, const comm::event& happened) noexcept {
  const std::unique_ptr<reading> r(static_cast<reading*>(record));
  worker* const current = worker::current();
  if (current != nullptr) network::of(*current).end_writing();
  if (current == nullptr || current->owner().stopping()) {
    delete r->offered;
    return;
  }
  r->self->end_read(*current, *r, happened.result != comm::outcome::complete);
}

void distant_ways::end_read(worker& here, const reading& r, bool failed) {
  const std::uint64_t bytes = r.offered->what.bytes;
  const int process = r.offered->from.process;
  if (r.copy != nullptr && !failed)
    fill_laid_out(*r.op, segments({r.copy.get(), std::min<std::size_t>(r.op->bytes, bytes)}));
  finish(here, r.offered, failed);
  if (!failed) return complete_receive(here, *r.op, r.from, bytes);
  if (survives()) return fail(here, *r.op);
  network::of(here).keep_trying(&try_fail,
                                new failed_read{r.op, process, now_ns() + death_known_ns});
}

// The sender has died, which ends the job and the rank, or it has left the send by an exception.
bool distant_ways::try_fail(worker& here, void* record) {
  auto* const r = static_cast<failed_read*>(record);
  const bool ends = here.owner().stopping() || !network::of(here).device().is_alive(r->process);
  if (!ends && now_ns() < r->until_ns) return false;
  if (!ends) fail(here, *r->op);
  delete r;
  return true;
}

void distant_ways::finish(worker& here, distant_offer* offered, bool failed) {
  const std::unique_ptr<distant_offer> ended(offered);
  post_small(here, ended->from, finished_, ended->what.send, failed ? send_failed : send_received);
}

// --- Congestion ----------------------------------------------------------------------------------

// Whoever sends to a rank at which too much waits is told so once; from then on it offers.
void distant_ways::tell_congested(rank_state& r, const comm::event& happened) {
  auto& told = told_congested_[static_cast<std::size_t>(r.number)];
  const comm::address sender{happened.process, happened.device};
  for (const comm::address& one : told)
    if (one.process == sender.process && one.device == sender.device) return;
  told.push_back(sender);
  post_small(*r.home, sender, congestion_, static_cast<std::uint64_t>(r.number), 1);
}

void distant_ways::tell_relaxed(rank_state& r) {
  auto& told = told_congested_[static_cast<std::size_t>(r.number)];
  for (const comm::address& one : told)
    post_small(*r.home, one, congestion_, static_cast<std::uint64_t>(r.number), 0);
  told.clear();
}

void distant_ways::on_congestion(worker& here, const comm::event& happened) {
  if (!is_of(happened.head[0], happened)) [[unlikely]]
    return refuse(here, happened, "it tells of the congestion of another one's rank");
  congested_[happened.head[0]].store(happened.user != 0, std::memory_order_relaxed);
}

// --- Collectives that fail -----------------------------------------------------------------------

// Where that rank is at home.
void distant_ways::post_to(worker& here, int rank, std::uint32_t context, comm::handler_id handler,
                           std::span<const std::byte> data, std::uint64_t word) noexcept {
  const rank_place& there = job_.places[static_cast<std::size_t>(rank)];
  port& p = network::of(here);
  p.count_sent(there.process);
  comm::am made;
  made.to = {there.process, there.worker};
  made.handler = handler;
  made.data = data;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(rank), word};
  made.allow.retry = false;
  (void)comm::post(p.device(), made);  // Those of a dead process need not know.
}

void distant_ways::tell_broken(worker& here, const communicator_state& c) noexcept {
  const std::size_t size = std::min({c.failure.size(), eager_bytes_max_, failure_bytes_max});
  for (std::size_t s = 0; s < c.sites.size(); ++s)
    if (static_cast<int>(s) != c.here)
      post_to(here, c.to(c.sites[s].members[0]).number, c.context, broken_,
              std::as_bytes(std::span(c.failure.data(), size)));
}

void distant_ways::on_broken(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  on_sites_broken(here, *to, low_of(happened.tag), {happened.process, happened.device},
                  {reinterpret_cast<const char*>(happened.data), happened.size});
}

namespace {

struct question_on_wire {
  std::int32_t rank;  // In the communicator: who is asked.
  std::int32_t unused = 0;
  broadcast_question asked;
};

}  // namespace

void distant_ways::ask(worker& here, const communicator_state& c, int rank,
                       const broadcast_question& asked) noexcept {
  const question_on_wire question{rank, 0, asked};
  post_to(here, c.to(rank).number, c.context, question_, std::as_bytes(std::span(&question, 1)));
}

void distant_ways::on_question(worker& here, const comm::event& happened) {
  question_on_wire question;
  rank_state* const to = addressee(here, happened, sizeof question);
  if (to == nullptr) [[unlikely]]
    return;
  std::memcpy(&question, happened.data, sizeof question);
  question.asked.name[sizeof question.asked.name - 1] = '\0';
  const std::uint32_t context = low_of(happened.tag);
  std::shared_ptr<communicator_state> c;
  {
    const std::lock_guard hold(job_.communicators->lock);
    c = find_listed(*to, context);
    auto& early = job_.communicators->questions;
    if (c == nullptr && early.size() < early_questions_max)
      early.push_back({context,
                       to->number,
                       question.rank,
                       {happened.process, happened.device},
                       question.asked});
  }
  if (c == nullptr) return;
  if (c->process_of(question.asked.rank) != happened.process) [[unlikely]]
    return refuse(here, happened, foreign_source);
  if (question.rank < 0 || question.rank >= c->size() || c->at(question.rank).rank != to) return;
  answer(here, *c, question.rank, question.asked);
}

// --- Meetings of sites ---------------------------------------------------------------------------

site_meetings& distant_ways::meetings_of(worker& here, communicator_state& c) {
  if (c.meetings == nullptr) [[unlikely]] {
    meeting_table& table = meetings_[static_cast<std::size_t>(here.index())];
    const std::uint64_t name = meeting_name(c.context, c.to(c.local()[0]).number);
    c.meetings = table.find_or_make(name, here.index(), *c.listed_in);
    if (c.meetings == nullptr)
      throw error("more than " + std::to_string(early_questions_max) +
                  " communicators of which this process knows nothing have been used by others");
    table.know(*c.meetings, c, [&](int process) { refuse(here, {process, 0}, foreign_word); });
  }
  return *c.meetings;
}

// The digest travels in two words that every message has, so that without data it fills no more than
// a cache line on its way.
void distant_ways::say(rank_state& leader, const peer& to, std::uint32_t context,
                       std::uint32_t sequence, std::uint64_t digest,
                       std::span<const std::byte> data, const wait_description& what) {
  const rank_place& there = job_.places[static_cast<std::size_t>(to.number)];
  port& p = network::of(*leader.home);
  p.count_sent(there.process);
  comm::am made;
  made.to = {there.process, there.worker};
  made.handler = said_;
  made.data = data;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(to.number), two(high_of(digest), sequence)};
  made.user = low_of(digest);
  if (post_in_wait(
          *leader.home, [&] { return comm::post(p.device(), made); }, what) == status::failed)
    throw_dead(leader, to);
}

void distant_ways::on_said(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  if (happened.size > small_bytes_max) [[unlikely]]
    return refuse(here, happened, "more than is said in a meeting");
  site_meetings* const met = meetings_[static_cast<std::size_t>(here.index())].find_or_make(
      meeting_name(low_of(happened.tag), to->number), here.index(), *job_.communicators);
  if (met == nullptr) [[unlikely]]
    return;
  site_meetings::other* other = met->find(happened.process);
  if (other == nullptr) [[unlikely]] {
    const auto c = find_communicator(*to, low_of(happened.tag));
    if (c != nullptr && !c->has_ranks_in(happened.process))
      return refuse(here, happened, foreign_word);
    other = &met->of(happened.process);
  }
  const std::uint32_t sequence = low_of(happened.head[1]);
  said_in_meeting& said = other->said[sequence % 2];
  said.digest = two(high_of(happened.head[1]), happened.user);
  if (happened.size != 0) std::memcpy(said.data, happened.data, happened.size);
  said.sequence = sequence;
}

void distant_ways::ask_call(const rank_state& leader, const peer& to, std::uint32_t context,
                            std::uint32_t sequence) noexcept {
  post_to(*leader.home, to.number, context, call_asked_, {},
          two(static_cast<std::uint32_t>(leader.number), sequence));
}

void distant_ways::on_call_asked(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const std::uint32_t asker = high_of(happened.head[1]);
  if (!is_of(asker, happened)) [[unlikely]]
    return refuse(here, happened, "it asks for the rank of another one");
  const std::uint32_t context = low_of(happened.tag), sequence = low_of(happened.head[1]);
  const site_meetings* const met =
      meetings_[static_cast<std::size_t>(here.index())].find(meeting_name(context, to->number));
  call_on_wire call;
  if (met != nullptr)
    if (const auto& mine = met->mine[sequence % 2]; mine.sequence == sequence)
      call = on_wire(mine.call, mine.rank);
  post_to(here, static_cast<int>(asker), context, call_told_, std::as_bytes(std::span(&call, 1)),
          sequence);
}

void distant_ways::on_call_told(worker& here, const comm::event& happened) {
  rank_state* const to = addressee(here, happened, sizeof(call_on_wire));
  if (to == nullptr) [[unlikely]]
    return;
  site_meetings* const met = meetings_[static_cast<std::size_t>(here.index())].find(
      meeting_name(low_of(happened.tag), to->number));
  if (met == nullptr) return;
  if (met->answer.process != happened.process) [[unlikely]]
    return refuse(here, happened, "an answer of one who was not asked");
  std::memcpy(&met->answer.call, happened.data, sizeof met->answer.call);
  met->answer.sequence = low_of(happened.head[1]);
}

bool send_distant(rank_state& me, const peer& to, const envelope& from, octets data,
                  send_mode mode) {
  return me.of->ways->send_now(me, to, from, data, mode);
}
bool send_distant(rank_state& me, const peer& to, const envelope& from, const segments& data,
                  send_mode mode) {
  return me.of->ways->send_now(me, to, from, data, mode);
}

// --- Death ---------------------------------------------------------------------------------------

bool distant_ways::is_lost(const rank_state& r, const envelope& wanted) const {
  if (wanted.source < 0 || !between_.any_has_died() || !survives()) return false;
  const int source = world_number(r, base_context(wanted.context), wanted.source);
  return source >= 0 && !network::of(*r.home).device().is_alive(
                            job_.places[static_cast<std::size_t>(source)].process);
}

bool is_lost(const rank_state& me, const envelope& wanted) {
  return me.of->ways != nullptr && me.of->ways->is_lost(me, wanted);
}

bool distant_ways::end_operations_with_dead(worker& here) {
  if (!survives()) return false;
  bool any = false;
  const comm::device& device = network::of(here).device();
  for (int process = 0; process < between_.process_count(); ++process) {
    if (device.is_alive(process)) continue;
    while (operation* op = sends_[static_cast<std::size_t>(here.index())].take_any(process)) {
      fail(here, *op);
      any = true;
    }
  }
  for (const auto& r : job_.ranks) {
    if (r->home != &here) continue;
    std::vector<operation*> lost;
    r->lists.each_posted([&](operation& op) {
      if (is_lost(*r, op.match)) lost.push_back(&op);
    });
    for (operation* op : lost) {
      r->lists.withdraw(*op);
      fail(here, *op);
      any = true;
    }
    for (probe_wait* p = r->probes.front(); p != nullptr; p = decltype(r->probes)::after(*p)) {
      if (p->any.pending == 0 || !is_lost(*r, p->wanted)) continue;
      here.complete(p->any);
      any = true;
    }
  }
  return any;
}

}  // namespace weft::detail
