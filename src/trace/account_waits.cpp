// Messages and waits in the accounts: each wait is split when it ends, until its cause came and what remained.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "trace/causes.hpp"
#include "trace/event_file.hpp"
#include "trace/experiment.hpp"
#include "trace/flows.hpp"
#include "trace/live_account.hpp"
#include "trace/timeline.hpp"

namespace weft::accounts {
namespace {

partner& partner_of(account& a, int rank) noexcept {
  const auto first = static_cast<std::size_t>(rank) % (partners_max - 1);
  for (std::size_t probe = 0; probe < 32; ++probe) {
    partner& at = a.partners[(first + probe) % (partners_max - 1)];
    if (at.rank == no_rank) at.rank = rank;
    if (at.rank == rank) return at;
  }
  ++a.beyond;
  return a.partners.back();
}

void add_wait(live& p, wait_state state, std::uint64_t ticks, const stamp& cause) noexcept {
  if (ticks == 0) return;
  account& a = *p.a;
  const int site = std::max(p.call_site, 0);
  const auto first = static_cast<std::size_t>(
      mixed(static_cast<std::uint64_t>(state) << 40 | static_cast<std::uint64_t>(site) << 20,
            packed(cause.rank, cause.site)) %
      (wait_rows_max - 1));
  wait_row* row = &a.waits.back();
  for (std::size_t probe = 0; probe < 24; ++probe) {
    wait_row& at = a.waits[(first + probe) % (wait_rows_max - 1)];
    const bool is_this = at.used && at.state == state && at.at == site && at.cause == cause.rank &&
                         at.cause_site == cause.site;
    if (!at.used)
      at = {state, true, static_cast<std::int16_t>(site), static_cast<std::int16_t>(cause.site),
            cause.rank};
    else if (!is_this)
      continue;
    row = &at;
    break;
  }
  if (row == &a.waits.back()) {
    row->used = true;
    ++a.beyond;
  }
  ++row->count;
  row->ticks += ticks;
  row->longest = std::max(row->longest, ticks);
  if (cause.rank >= 0) partner_of(a, cause.rank).waiting += ticks;
}

// Opens the outermost wait; false for one within another.
bool open_wait(live& p, const char* call, std::uint64_t now) {
  if (p.waits++ > 0) return false;
  p.owns_call = p.call_depth == 0;
  if (p.owns_call) {
    settle(p, now);
    const void* const noted = std::exchange(noted_address, nullptr);
    open_call(
        p,
        site_of(
            p, noted != nullptr ? reinterpret_cast<std::uintptr_t>(noted) - 1 : walked_to_program(),
            call),
        now);
  }
  enter(p, share::waiting, now);
  p.wait_begun = now;
  p.used_before = used(*p.a);
  p.arrived = 0;
  p.was_off = false;
  p.latest = {};
  p.wait_call = call;
  return true;
}
// Closes it; returns how long it waited for others, or for what they sent.
std::uint64_t close_wait(live& p, std::uint64_t now) noexcept {
  account& a = *p.a;
  leave(p, now);
  const std::uint64_t whole = now - p.wait_begun;
  std::uint64_t waited = whole - std::min(whole, used(a) - p.used_before);
  // From then on it could run, and another rank of its worker did.
  if (p.was_off && p.arrived != 0 && p.arrived < now) {
    const std::uint64_t queued = std::min(now - std::max(p.arrived, p.wait_begun), waited);
    a.times[static_cast<std::size_t>(share::waiting)] -= queued;
    a.times[static_cast<std::size_t>(share::queued)] += queued;
    waited -= queued;
  }
  return waited;
}
void end_owned_call(live& p, std::uint64_t now) noexcept {
  if (std::exchange(p.owns_call, false)) close_call(p, now);
}

// Of `waited` what passed before the cause came.
void split_wait(live& p, wait_state state, std::uint64_t waited, const stamp& cause) noexcept {
  std::uint64_t late = 0;
  if (cause.rank >= 0 && cause.time > p.wait_begun && cause.rank != p.a->rank)
    late = std::min(cause.time - p.wait_begun, waited);
  if (late != 0 && has_experiment()) credit(p);
  add_wait(p, state, late, cause);
  add_wait(p, wait_state::transfer, waited - late, {0, 0, cause.rank, cause.site});
}

stamp own_stamp(const live& p, std::uint64_t now) noexcept {
  // The call began before its message was sent.
  return {p.call_depth > 0 ? p.call_begun : now, p.a->critical, p.a->rank, p.call_site};
}
// `place`: where in the table.
void put_stamp(std::uint64_t key, std::uint64_t place, const stamp& s) noexcept {
  here.stamps[place % stamps_count].put(key, s);
}
bool get_stamp(std::uint64_t key, std::uint64_t place, stamp& s) noexcept {
  return here.stamps[place % stamps_count].get(key, s) && s.rank >= 0 &&
         static_cast<std::size_t>(s.rank) < here.rank_count && s.site < sites_max;
}

void put_stamp(std::uint64_t key, const stamp& s) noexcept {
  put_stamp(key, key, s);
}
bool get_stamp(std::uint64_t key, stamp& s) noexcept {
  return get_stamp(key, key, s);
}

std::uint64_t key_of(std::uint64_t stream, std::uint64_t number) noexcept {
  return mixed(stream, number);
}
// Messages of one name lie in a row, which the processor fetches before they are asked for.
std::uint64_t place_of(std::uint64_t stream, std::uint64_t number) noexcept {
  return (stream >> 32) + number;
}

void keep_message(trace_kind kind, int rank, std::int64_t argument, std::size_t bytes,
                  std::uint64_t now) noexcept {
  timeline::keep_event(
      {now, argument, static_cast<std::int64_t>(bytes), nullptr, rank, kind, trace_phase::instant});
}

void count_sent(account& a, int to_rank, std::size_t bytes) noexcept {
  ++a.sent;
  a.sent_bytes += bytes;
  size_class& size = a.sizes[std::min<std::size_t>(std::bit_width(bytes), size_classes - 1)];
  ++size.messages;
  size.bytes += bytes;
  partner& to = partner_of(a, to_rank);
  ++to.messages;
  to.bytes += bytes;
}

}  // namespace

// --- Messages ------------------------------------------------------------------------------------

void sent(int rank, int to_rank, const message_name& name, std::size_t bytes) {
  const std::uint64_t now = ticks();
  live* const p = find(rank);
  if (p == nullptr) {
    keep_message(trace_kind::send, rank, trace_message(rank, to_rank, name, true), bytes, now);
    return;
  }
  const std::uint64_t stream = stream_of(name);
  const std::uint64_t number = p->streams.next(stream);
  const std::uint64_t key = number != 0 ? key_of(stream, number) : 0;
  keep_message(trace_kind::send, rank, message_argument(to_rank, key), bytes, now);
  settle(*p, now);
  count_sent(*p->a, to_rank, bytes);
  if (number != 0) put_stamp(key, place_of(stream, number), own_stamp(*p, now));
}

void received(int rank, const message_name& name, std::size_t bytes, const void* counter) {
  const std::uint64_t now = ticks();
  live* const p = find(rank);
  if (p == nullptr) {
    keep_message(trace_kind::recv, rank, trace_message(rank, name.source, name, false), bytes, now);
    return;
  }
  const std::uint64_t stream = stream_of(name);
  const std::uint64_t number = p->streams.next(~stream);
  const std::uint64_t key = number != 0 ? key_of(stream, number) : 0;
  keep_message(trace_kind::recv, rank, message_argument(name.source, key), bytes, now);
  account& a = *p->a;
  ++a.received;
  a.received_bytes += bytes;
  settle(*p, now);
  // Others come while the rank waits for something else.
  const bool is_waited_for = counter != nullptr && counter == p->counter;
  if (is_waited_for) p->arrived = now;
  stamp from;
  if (number == 0 || !get_stamp(key, place_of(stream, number), from)) {
    ++a.causes_lost;
    return;
  }
  a.critical = std::max(a.critical, from.critical);
  if (is_waited_for && from.time >= p->latest.time) p->latest = from;
}

void came_unexpected(int rank, const message_name& name) {
  live* const p = find(rank);
  if (p == nullptr) return;
  ++p->a->unexpected;
  if (p->waits == 0 || p->latest.rank >= 0 || std::strstr(p->wait_call, "robe") == nullptr) return;
  // The first that it finds: of those of this name, the next to be received.
  const std::uint64_t stream = stream_of(name);
  stamp from;
  const std::uint64_t number = p->streams.next(~stream, 0);
  p->arrived = ticks();
  if (number != 0 && get_stamp(key_of(stream, number), place_of(stream, number), from))
    p->latest = from;
}
void kept_for_rendezvous(int rank) {
  if (live* const p = find(rank)) ++p->a->rendezvous;
}

void took_rts(int rank, const message_name& name) {
  live* const p = find(rank);
  if (p == nullptr) return;
  const std::uint64_t stream = stream_of(name);
  stamp from;
  const std::uint64_t number = p->streams.next(~stream, 0);
  if (number == 0 || !get_stamp(key_of(stream, number), place_of(stream, number), from)) return;
  account& sender = here.ranks[from.rank];
  const stamp mine = own_stamp(*p, ticks());
  sender.taken_by.store(packed(mine.rank, mine.site), std::memory_order_relaxed);
  sender.taken_at.store(mine.time, std::memory_order_relaxed);
}

// --- Waits ---------------------------------------------------------------------------------------

void begin_wait(int rank, trace_kind kind, int peer, const char* call, const void* counter) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, peer, 0, call, rank, kind, trace_phase::begin});
  live* const p = find(rank);
  if (p != nullptr && open_wait(*p, call, now)) p->counter = counter;
}

void end_wait(int rank, trace_kind kind) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, 0, 0, nullptr, rank, kind, trace_phase::end});
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  const bool of_send = kind == trace_kind::wait_send;
  p->counter = nullptr;
  const std::uint64_t waited = close_wait(*p, now);
  stamp cause = p->latest;
  wait_state state = wait_state::late_sender;
  const std::uint64_t at = p->a->taken_at.load(std::memory_order_relaxed);
  // Of a wait for both, what came last.
  if (of_send && (cause.rank < 0 || at > cause.time)) {
    state = wait_state::late_receiver;
    const std::uint64_t by = p->a->taken_by.load(std::memory_order_relaxed);
    if (at > p->wait_begun && at <= now)
      cause = {at, 0, static_cast<std::int32_t>(by >> 32), static_cast<std::int32_t>(by)};
  }
  // The receive of a long message was there before: it is moved.
  if (cause.rank < 0 && !of_send)
    add_wait(*p, wait_state::unknown, waited, {});
  else
    split_wait(*p, state, waited, cause);
  end_owned_call(*p, now);
}

// --- Other causes --------------------------------------------------------------------------------

namespace {
constexpr std::uint64_t words_of_memory = 0x776f'7264, queues = 0x7175'6575, objects = 0x6f62'6a65,
                        calls = 0x6361'6c6c;
// Who has brought about what this thread tells of; no rank: its own does.
constinit thread_local stamp other_cause;
}  // namespace

std::uint64_t key_of_word(int rank, std::uint64_t place) noexcept {
  return mixed(words_of_memory << 32 | static_cast<std::uint32_t>(rank), place);
}
std::uint64_t key_of_queue(int rank) noexcept {
  return mixed(queues, static_cast<std::uint32_t>(rank));
}
std::uint64_t key_of_object(const void* object) noexcept {
  return mixed(objects << 32 | here.process, reinterpret_cast<std::uintptr_t>(object));
}

std::uint64_t key_of_call(int process, std::uint64_t call) noexcept {
  return mixed(calls << 32 | static_cast<std::uint32_t>(process), call);
}

void brought_about::begin(std::uint64_t key) noexcept {
  if (!are_on() || !get_stamp(key, other_cause)) other_cause = {};
}
void brought_about::end() noexcept {
  other_cause = {};
}

void leave_cause_of_action(std::uint64_t key, const char* action) {
  leave_cause_of_task(key, "action", nullptr, 0, action);
}

void leave_cause(int rank, std::uint64_t key) {
  live* const p = find(rank);
  if (p == nullptr) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  put_stamp(key, own_stamp(*p, now));
}

void leave_cause_of_task(std::uint64_t key, const char* what, const char* file, std::uint32_t line,
                         const char* function) {
  if (other_cause.rank >= 0) return put_stamp(key, other_cause);
  live* const p = running != nullptr ? running : ran_last;
  if (p == nullptr || p->a->state != life::running) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  // Where what the rank computes divides.
  if (running == p && is_event_file_on())
    record_trace_event(trace_phase::instant, trace_kind::wait_task, p->a->rank, 0, 0, what);
  put_stamp(key, {now, p->a->critical, p->a->rank,
                  what == nullptr ? -1 : site_of_source(*p, what, file, line, function)});
}

void put(int rank, int to_rank, std::size_t bytes) {
  if (live* const p = find(rank)) count_sent(*p->a, to_rank, bytes);
}

void begin_caused_wait(int rank, trace_kind kind, const char* call) {
  begin_wait(rank, kind, 0, call, nullptr);
}

void end_caused_wait(int rank, trace_kind kind, wait_state state,
                     std::span<const std::uint64_t> keys) {
  const std::uint64_t now = ticks();
  stamp cause;
  if (here.on.load(std::memory_order_relaxed))
    for (const std::uint64_t key : keys) {
      stamp found;
      if (get_stamp(key, found) && found.time <= now && found.time >= cause.time) cause = found;
    }
  const auto ago_ns = static_cast<std::int64_t>(
      static_cast<double>(now - std::min(cause.time, now)) * ns_per_tick());
  timeline::keep_event(
      {now, cause.rank, cause.rank < 0 ? 0 : ago_ns, nullptr, rank, kind, trace_phase::end});
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  account& a = *p->a;
  const std::uint64_t waited = close_wait(*p, now);
  if (cause.rank >= 0) a.critical = std::max(a.critical, cause.critical);
  if (cause.rank == a.rank && cause.time > p->wait_begun) {
    // Its worker has run the task meanwhile.
    add_wait(*p, state, waited, cause);
  } else if (cause.rank < 0 && !keys.empty()) {
    ++a.causes_lost;
    add_wait(*p, wait_state::unknown, waited, {});
  } else {
    split_wait(*p, state, waited, cause);
  }
  end_owned_call(*p, now);
}

void begin_chunks_wait(int rank, std::uint64_t now) {
  if (live* const p = find(rank)) open_wait(*p, "loop", now);
}
void end_chunks_wait(int rank, std::uint64_t now) {
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  add_wait(*p, wait_state::chunks, close_wait(*p, now), {});
  end_owned_call(*p, now);
}

void begin_collective(int rank, const meeting_name& name, std::size_t bytes) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, event_file::packed(name), static_cast<std::int64_t>(bytes), name.call,
                        rank, trace_kind::wait_collective, trace_phase::begin});
  live* const p = find(rank);
  if (p == nullptr) return;
  account& a = *p->a;
  ++a.collectives;
  if (!open_wait(*p, name.call, now)) return;
  p->meeting = name;
  const std::uint64_t key =
      mixed(std::uint64_t{static_cast<std::uint32_t>(name.first)} << 32 | name.context,
            static_cast<std::uint64_t>(name.size)) |
      1;
  p->meeting_key = mixed(key, name.turn);
  stamp mine{now, a.critical, a.rank, p->call_site};
  if (name.is_root) put_stamp(mixed(p->meeting_key, 2), mine);
  // Those of other hosts have another table.
  p->is_counted = !(name.spans_processes && here.has_other_hosts);
  if (!p->is_counted) return;
  meeting_slot& slot = here.meetings[p->meeting_key % meetings_count];
  slot.raise_chain(p->meeting_key, a.critical);
  // Contexts are used again.
  if (slot.arrive(p->meeting_key) % static_cast<std::uint64_t>(std::max(name.size, 1)) == 0)
    put_stamp(mixed(p->meeting_key, 1), mine);
}

void end_collective(int rank) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, 0, 0, nullptr, rank, trace_kind::wait_collective, trace_phase::end});
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  account& a = *p->a;
  const std::uint64_t waited = close_wait(*p, now);
  const meeting_name& m = p->meeting;
  // Whose data it cannot do without: all ranks', or the root's. In weft others mostly wait for all as well.
  const bool takes_from_all = m.how == relation::all || (m.how == relation::to_root && m.is_root);
  const bool takes_from_root = m.how == relation::from_root && !m.is_root;
  stamp cause;
  if (!get_stamp(mixed(p->meeting_key, takes_from_root ? 2 : 1), cause)) {
    cause = {};
    // The root of a small broadcast meets nobody, nor does who reduces to another.
    a.causes_lost += takes_from_all || takes_from_root;
  }
  if (takes_from_all && p->is_counted)
    a.critical =
        std::max(a.critical, here.meetings[p->meeting_key % meetings_count].chain(p->meeting_key));
  else if (takes_from_root && cause.rank >= 0)
    a.critical = std::max(a.critical, cause.critical);
  const wait_state state = takes_from_root                           ? wait_state::late_broadcast
                           : m.how == relation::to_root && m.is_root ? wait_state::early_reduce
                           : m.is_barrier                            ? wait_state::barrier
                                                                     : wait_state::n_by_n;
  if (cause.rank < 0 && (takes_from_all || takes_from_root))
    add_wait(*p, wait_state::unknown, waited, {});
  else
    split_wait(*p, state, waited, cause);
  end_owned_call(*p, now);
}

}  // namespace weft::accounts
