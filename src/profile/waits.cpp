// Messages and waits in the accounts: each wait is split when it ends, until its cause came and what remained.
#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "profile/causes.hpp"
#include "profile/experiment.hpp"
#include "profile/live_account.hpp"
#include "trace/event_file.hpp"
#include "trace/flows.hpp"
#include "trace/timeline.hpp"
#include "trace/tool_events.hpp"

namespace weft::profile {
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

}  // namespace

void add_idle(live& p, std::uint64_t ticks) noexcept {
  const int outer = std::exchange(p.call_site, site_of(p, 0, "serving"));
  add_wait(p, wait_state::idle, ticks, {});
  p.call_site = outer;
}

namespace {

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
  p.has_come = false;
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
  // It could run from then on, and another rank of its worker did.
  if (p.was_off && p.arrived != 0 && p.arrived < now) {
    const std::uint64_t queued = std::min(now - std::max(p.arrived, p.wait_begun), waited);
    note_could_run(p, now - queued, now);
    a.times[static_cast<std::size_t>(share::waiting)] -= queued;
    a.times[static_cast<std::size_t>(share::queued)] += queued;
    waited -= queued;
  }
  return waited;
}
void end_owned_call(live& p, std::uint64_t now) noexcept {
  if (std::exchange(p.owns_call, false)) close_call(p, now);
}

// Something has come, which the rank waits for, or asks for.
void note_come(live& p, const stamp& cause, wait_state state) noexcept {
  // What the rank itself does last makes nobody else's part shorter.
  const bool is_own = cause.rank == p.a->rank && p.latest.rank >= 0;
  if (p.has_come && (is_own || cause.time < p.latest.time)) return;
  p.has_come = true;
  p.latest = cause;
  p.latest_state = state;
}
void note_asked(live& p, const stamp& cause, wait_state state) noexcept {
  if (p.asked.what == 0 || cause.rank < 0 || cause.time < p.asked.latest.time) return;
  p.asked.latest = cause;
  p.asked.state = state;
}

// Divides `waited` into what passed before the cause came and the transfer.
void split_wait(live& p, wait_state state, std::uint64_t waited, const stamp& cause) noexcept {
  std::uint64_t late = 0;
  if (cause.rank >= 0 && cause.time > p.wait_begun && cause.rank != p.a->rank)
    late = std::min(cause.time - p.wait_begun, waited);
  if (late != 0 && has_experiment()) credit(p);
  // What it waited for had come, and its worker did not look.
  if (cause.rank >= 0)
    note_could_run(p, std::max({engaged_from, cause.time, p.wait_begun}), engaged_until);
  add_wait(p, state, late, cause);
  add_wait(p, wait_state::transfer, waited - late, {0, 0, cause.rank, cause.site});
}

stamp own_stamp(const live& p, std::uint64_t now) noexcept {
  // The call began before its message was sent.
  return {p.call_depth > 0 ? p.call_begun : now, p.a->critical, p.a->rank, p.call_site};
}
// `index` is the row of the table.
void put_stamp(std::uint64_t key, std::uint64_t index, const stamp& s) noexcept {
  here.stamps[index % stamps_count].put(key, s);
}
bool get_stamp(std::uint64_t key, std::uint64_t index, stamp& s) noexcept {
  return here.stamps[index % stamps_count].get(key, s) && s.rank >= 0 &&
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
std::uint64_t index_of(std::uint64_t stream, std::uint64_t number) noexcept {
  return (stream >> 32) + number;
}

void keep_message(trace_kind kind, int rank, std::int64_t argument, std::size_t bytes,
                  std::uint64_t now) noexcept {
  timeline::keep_event(
      {now, argument, static_cast<std::int64_t>(bytes), nullptr, rank, kind, trace_phase::instant});
}

// What a call takes along, by its place.
void count_at_site(live& p, std::size_t bytes) noexcept {
  if (p.call_site >= 0) p.a->sites[static_cast<std::size_t>(p.call_site)].sent.add(bytes);
}

void count_sent(live& p, int to_rank, std::size_t bytes) noexcept {
  account& a = *p.a;
  count_at_site(p, bytes);
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
    keep_message(trace_kind::send, rank, trace_sent(rank, to_rank, name), bytes, now);
    return;
  }
  const std::uint64_t stream = stream_of(name);
  const std::uint64_t number = p->messages.of_sent(stream);
  const std::uint64_t key = number != 0 ? key_of(stream, number) : 0;
  keep_message(trace_kind::send, rank, message_argument(to_rank, key), bytes, now);
  settle(*p, now);
  count_sent(*p, to_rank, bytes);
  if (number != 0) put_stamp(key, index_of(stream, number), own_stamp(*p, now));
}

void received(int rank, const message_name& name, std::size_t bytes, const void* receive,
              const void* counter) {
  const std::uint64_t now = ticks();
  live* const p = find(rank);
  if (p == nullptr) {
    keep_message(trace_kind::recv, rank, trace_received(rank, name.source, name, receive), bytes,
                 now);
    return;
  }
  const std::uint64_t stream = stream_of(name);
  const std::uint64_t number = p->messages.of_ended(stream, receive);
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
  if (number == 0 || !get_stamp(key, index_of(stream, number), from)) {
    ++a.causes_lost;
    return;
  }
  a.critical = std::max(a.critical, from.critical);
  if (is_waited_for) note_come(*p, from, wait_state::late_sender);
  note_asked(*p, from, wait_state::late_sender);
}

void came_unexpected(int rank, const message_name& name) {
  live* const p = find(rank);
  if (p == nullptr) return;
  ++p->a->unexpected;
  const bool probes = p->waits != 0 && !p->has_come && std::strstr(p->wait_call, "robe") != nullptr;
  if (!probes && p->asked.what == 0) return;
  // It finds the next message of this name that is to be received.
  const std::uint64_t stream = stream_of(name);
  stamp from;
  const std::uint64_t number = p->messages.next_received(stream);
  if (probes) p->arrived = ticks();
  if (number == 0 || !get_stamp(key_of(stream, number), index_of(stream, number), from)) return;
  if (probes) note_come(*p, from, wait_state::late_sender);
  note_asked(*p, from, wait_state::late_sender);
}

void found(int rank, const message_name& name) {
  if (!is_event_file_on()) return;
  const std::uint64_t stream = stream_of(name);
  live* const p = find(rank);
  const std::uint64_t number =
      p != nullptr ? p->messages.next_received(stream) : next_received_by(rank, stream);
  const std::uint64_t key = number != 0 ? key_of(stream, number) : 0;
  timeline::keep_event({ticks(), message_argument(name.source, key), 0, nullptr, rank,
                        trace_kind::wait_recv, trace_phase::instant});
}

void kept_for_rendezvous(int rank) {
  if (live* const p = find(rank)) ++p->a->rendezvous;
  if (is_event_file_on())
    timeline::keep_event(
        {ticks(), 0, 0, nullptr, rank, trace_kind::wait_send, trace_phase::instant});
}

void took_rts(int rank, const message_name& name, const void* receive) {
  live* const p = find(rank);
  if (p == nullptr) return trace_matched(rank, name, receive);
  const std::uint64_t stream = stream_of(name);
  stamp from;
  const std::uint64_t number = p->messages.of_matched(stream, receive);
  if (number == 0 || !get_stamp(key_of(stream, number), index_of(stream, number), from)) return;
  account& sender = here.ranks[from.rank];
  const stamp mine = own_stamp(*p, ticks());
  sender.taken_by.store(packed(mine.rank, mine.site), std::memory_order_relaxed);
  sender.taken_at.store(mine.time, std::memory_order_relaxed);
}

// --- Waits ---------------------------------------------------------------------------------------

void begin_wait(int rank, trace_kind kind, int peer, const char* call, const void* counter) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, peer, 0, call, rank, kind, trace_phase::begin});
  tell_tool({told_kind::wait_begun, rank, kind, peer, -1, call});
  live* const p = find(rank);
  if (p != nullptr && open_wait(*p, call, now)) p->counter = counter;
}

void end_wait(int rank, trace_kind kind) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, 0, 0, nullptr, rank, kind, trace_phase::end});
  tell_tool({told_kind::wait_ended, rank, kind, -1, -1, nullptr});
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  const bool of_send = kind == trace_kind::wait_send;
  p->counter = nullptr;
  const std::uint64_t waited = close_wait(*p, now);
  stamp cause = p->latest;
  wait_state state = p->has_come ? p->latest_state : wait_state::late_sender;
  const std::uint64_t at = p->a->taken_at.load(std::memory_order_relaxed);
  // Where it waited for both, the later one counts.
  if (of_send && (!p->has_come || at > cause.time)) {
    state = wait_state::late_receiver;
    const std::uint64_t by = p->a->taken_by.load(std::memory_order_relaxed);
    if (at > p->wait_begun && at <= now)
      cause = {at, 0, static_cast<std::int32_t>(by >> 32), static_cast<std::int32_t>(by)};
  }
  // The receive of a long message was there before: it is moved.
  if (!p->has_come && !of_send)
    add_wait(*p, wait_state::unknown, waited, {});
  else
    split_wait(*p, state, waited, cause);
  end_owned_call(*p, now);
}

// --- Other causes --------------------------------------------------------------------------------

namespace {
constexpr std::uint64_t words_of_memory = 0x776f'7264, queues = 0x7175'6575, objects = 0x6f62'6a65,
                        calls = 0x6361'6c6c;
// The rank that has brought about what this thread tells of; no rank: its own has.
constinit thread_local stamp other_cause;
}  // namespace

std::uint64_t key_of_word(int rank, std::uint64_t word) noexcept {
  return mixed(words_of_memory << 32 | static_cast<std::uint32_t>(rank), word);
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
  if (p == nullptr || (p->a->state != life::running && !p->is_serving)) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  const int number = what == nullptr ? -1 : site_of_source(*p, what, file, line, function);
  // The computation of the rank divides here.
  if (is_event_file_on()) {
    const char* const name =
        what == nullptr
            ? nullptr
            : event_file::kept_name(
                  formatted("{} in {}", what, p->a->sites[static_cast<std::size_t>(number)].place)
                      .c_str());
    record_trace_event(trace_phase::instant, trace_kind::wait_task, p->a->rank, 0, 0, name);
  }
  put_stamp(key, {now, p->a->critical, p->a->rank, number});
}

void put(int rank, int to_rank, std::size_t bytes) {
  if (live* const p = find(rank)) count_sent(*p, to_rank, bytes);
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
  tell_tool({told_kind::wait_ended, rank, kind, -1, -1, nullptr});
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

task_wait begin_task_wait(const char* call, const void* return_address) {
  if (!are_on()) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(return_address);
  // A return address may be the first of the next function; the call lies before it.
  return {call, address != 0 ? address - 1 : walked_to_program(), ticks()};
}

void end_task_wait(const task_wait& wait, std::uint64_t key) {
  live* const p = ran_last;
  if (!are_on() || p == nullptr || wait.call == nullptr) return;
  const std::uint64_t now = ticks();
  stamp cause;
  if (!get_stamp(key, cause)) cause = {};
  // The site is not that of the rank's own call, if one is under way.
  const auto [call_site, address, path] = std::tuple(p->call_site, p->site_address, p->site_path);
  p->call_site = site_of(*p, wait.address, wait.call);
  add_wait(*p, wait_state::task_waits, now - wait.begun, cause);
  std::tie(p->call_site, p->site_address, p->site_path) = std::tuple(call_site, address, path);
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

namespace {

// What ranks leave under a meeting's key: when the last came, and the root; and when those had started it, where it goes on
// beside their own code.
enum meeting_stamp : std::uint64_t { last_came = 1, root_came, last_started, root_started };

std::uint64_t key_of_meeting(const collective_name& name) noexcept {
  return mixed(std::uint64_t{static_cast<std::uint32_t>(name.first)} << 32 | name.context,
               std::uint64_t{static_cast<std::uint32_t>(name.size)}, name.turn);
}
// Ranks of other hosts have another table.
bool is_counted(const collective_name& name) noexcept {
  return !(name.spans_processes && here.has_other_hosts);
}

// The rank comes to a meeting; `started` is null where its own code does.
void come_to_meeting(const live& p, const collective_name& name, std::uint64_t key,
                     const stamp& mine, const stamp* started) noexcept {
  const auto leave_stamps = [&](meeting_stamp came, meeting_stamp begun) {
    put_stamp(mixed(key, came), mine);
    if (started != nullptr) put_stamp(mixed(key, begun), *started);
  };
  if (name.is_root) leave_stamps(root_came, root_started);
  if (!is_counted(name)) return;
  meeting_slot& slot = here.meetings[key % meetings_count];
  slot.raise_chain(key, p.a->critical);
  // Contexts are used again.
  if (slot.arrive(key) % static_cast<std::uint64_t>(std::max(name.size, 1)) == 0)
    leave_stamps(last_came, last_started);
}

struct end_of_meeting {
  wait_state state;
  bool is_known;  // It is known for whom the rank waited, if for anybody.
  stamp cause, cause_started;
};
// The rank leaves it.
end_of_meeting leave_meeting(live& p, const collective_name& m, std::uint64_t key) noexcept {
  account& a = *p.a;
  // It cannot do without the data of all ranks, or of the root. Others in weft mostly wait for all as well.
  const bool takes_from_all =
      m.how == collective_relation::all || (m.how == collective_relation::to_root && m.is_root);
  const bool takes_from_root = m.how == collective_relation::from_root && !m.is_root;
  end_of_meeting end{takes_from_root ? wait_state::late_broadcast
                     : m.how == collective_relation::to_root && m.is_root ? wait_state::early_reduce
                     : m.is_barrier                                       ? wait_state::barrier
                                                                          : wait_state::n_by_n,
                     true,
                     {},
                     {}};
  if (get_stamp(mixed(key, takes_from_root ? root_came : last_came), end.cause)) {
    if (!get_stamp(mixed(key, takes_from_root ? root_started : last_started), end.cause_started))
      end.cause_started = {};
  } else {
    end.cause = {};
    // The root of a small broadcast meets nobody, nor does who reduces to another.
    end.is_known = !takes_from_all && !takes_from_root;
    a.causes_lost += !end.is_known;
  }
  if (takes_from_all && is_counted(m))
    a.critical = std::max(a.critical, here.meetings[key % meetings_count].chain(key));
  else if (takes_from_root && end.cause.rank >= 0)
    a.critical = std::max(a.critical, end.cause.critical);
  return end;
}

// What goes on beside a rank comes late since it was started late, or since its rank did not look after it for longer than that:
// the place of the longer time counts.
stamp later_of(const stamp& came, const stamp& started, std::uint64_t since) noexcept {
  stamp cause = came;
  if (started.rank == came.rank && started.time > since && started.time <= came.time &&
      started.time - since >= came.time - started.time)
    cause.site = started.site;
  return cause;
}

void keep_meeting(const collective_name& name, int rank, std::size_t bytes, const char* call,
                  trace_phase phase, std::uint64_t now) {
  timeline::keep_event({now, event_file::packed(name), static_cast<std::int64_t>(bytes), call, rank,
                        trace_kind::wait_collective, phase});
}

live::beside* find_flow(live& p, const void* flow) noexcept {
  const auto found = std::ranges::find(p.flows, flow, &live::beside::flow);
  return found == p.flows.end() ? nullptr : &*found;
}

}  // namespace

void begin_collective(int rank, const collective_name& name, std::size_t bytes) {
  const std::uint64_t now = ticks();
  keep_meeting(name, rank, bytes, name.call, trace_phase::begin, now);
  tell_tool({told_kind::wait_begun, rank, trace_kind::wait_collective, -1, -1, name.call});
  live* const p = find(rank);
  if (p == nullptr) return;
  account& a = *p->a;
  ++a.collectives;
  if (!open_wait(*p, name.call, now)) return;
  if (bytes != 0) count_at_site(*p, bytes);
  p->meeting = name;
  p->meeting_key = key_of_meeting(name);
  come_to_meeting(*p, name, p->meeting_key, {now, a.critical, a.rank, p->call_site}, nullptr);
}

void end_collective(int rank) {
  const std::uint64_t now = ticks();
  timeline::keep_event({now, 0, 0, nullptr, rank, trace_kind::wait_collective, trace_phase::end});
  tell_tool({told_kind::wait_ended, rank, trace_kind::wait_collective, -1, -1, nullptr});
  live* const p = find(rank);
  if (p == nullptr || p->waits == 0 || --p->waits > 0) return;
  const std::uint64_t waited = close_wait(*p, now);
  const end_of_meeting end = leave_meeting(*p, p->meeting, p->meeting_key);
  if (end.is_known)
    split_wait(*p, end.state, waited, later_of(end.cause, end.cause_started, p->wait_begun));
  else
    add_wait(*p, wait_state::unknown, waited, {});
  end_owned_call(*p, now);
}

void start_beside(int rank, const void* flow) {
  live* const p = find(rank);
  if (p == nullptr) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  std::erase_if(p->flows, [&](const live::beside& one) { return one.flow == flow; });
  live::beside& made = p->flows.emplace_back();
  made.flow = flow;
  made.started = own_stamp(*p, now);
}

void begin_beside(int rank, const collective_name& name, std::size_t bytes, const void* flow) {
  const std::uint64_t now = ticks();
  keep_meeting(name, rank, bytes, nullptr, trace_phase::begin, now);
  if (is_event_file_on()) keep_meeting(name, rank, bytes, name.call, trace_phase::instant, now);
  live* const p = find(rank);
  live::beside* const mine = p == nullptr ? nullptr : find_flow(*p, flow);
  if (mine == nullptr) return;
  ++p->a->collectives;
  settle(*p, now);
  mine->meeting = key_of_meeting(name);
  stamp came = own_stamp(*p, now);
  came.time = now;
  come_to_meeting(*p, name, mine->meeting, came, &mine->started);
}

void end_beside(int rank, const collective_name& name, const void* flow) {
  const std::uint64_t now = ticks();
  // The argument is not 0: readers tell it from the end of a wait by that.
  timeline::keep_event({now, event_file::packed(name) | 1, 0, nullptr, rank,
                        trace_kind::wait_collective, trace_phase::end});
  live* const p = find(rank);
  live::beside* const mine = p == nullptr ? nullptr : find_flow(*p, flow);
  if (mine == nullptr) return;
  settle(*p, now);
  const end_of_meeting end = leave_meeting(*p, name, mine->meeting);
  mine->has_come = end.is_known;
  mine->state = end.state;
  mine->cause = end.cause;
  mine->cause_started = end.cause_started;
}

void ended_beside(int rank, const void* flow, const void* counter) {
  live* const p = find(rank);
  live::beside* const mine = p == nullptr ? nullptr : find_flow(*p, flow);
  if (mine == nullptr) return;
  const live::beside it = *mine;
  std::erase_if(p->flows, [&](const live::beside& one) { return one.flow == flow; });
  if (!it.has_come) return;
  if (counter != nullptr && counter == p->counter) {
    p->arrived = ticks();
    note_come(*p, later_of(it.cause, it.cause_started, p->wait_begun), it.state);
  }
  note_asked(*p, later_of(it.cause, it.cause_started, p->asked.begun), it.state);
}

// --- Questions in vain ---------------------------------------------------------------------------

namespace {
std::uint64_t time_of(const live& p, share s) noexcept {
  return p.a->times[static_cast<std::size_t>(s)];
}
}  // namespace

void asked_in_vain(int rank, std::uint64_t what) {
  live* const p = find(rank);
  if (p == nullptr || p->call_depth == 0) return;
  const std::uint64_t computing = time_of(*p, share::computing);
  if (p->asked.what == what) {
    // A program that does nothing else asks again at once; what accounts take lies in between as well.
    constexpr double at_once_ns = 2'000;
    const std::uint64_t gap = computing - std::min(computing, p->asked.computing_last);
    p->asked.at_once += static_cast<double>(gap) * ns_per_tick() < at_once_ns;
    ++p->asked.times;
    p->asked.computing_last = computing;
    p->asks_again = true;
    return;
  }
  const std::uint64_t now = ticks();
  settle(*p, now);
  const std::uint64_t in_calls = time_of(*p, share::in_calls);
  p->asked = {};
  p->asked.what = what;
  p->asked.begun = p->call_begun;
  p->asked.in_calls_before = in_calls - std::min(in_calls, now - p->call_begun);
  p->asked.computing_before = p->asked.computing_last = computing;
}

void asked_well(int rank, std::uint64_t what) {
  live* const p = find(rank);
  if (p == nullptr || p->asked.what == 0) return;
  const live::question asked = std::exchange(p->asked, {});
  if (asked.what != what || asked.latest.rank < 0 || p->call_depth == 0) return;
  const std::uint64_t now = ticks();
  settle(*p, now);
  account& a = *p->a;
  const std::uint64_t in_calls = time_of(*p, share::in_calls) - asked.in_calls_before;
  const std::uint64_t computed = time_of(*p, share::computing) - asked.computing_before;
  // If it has computed meanwhile only the calls were a wait.
  const bool does_nothing_else = 10 * asked.at_once >= 9 * asked.times;
  if (does_nothing_else && is_event_file_on())
    timeline::keep_event(
        {now, 0,
         static_cast<std::int64_t>(static_cast<double>(now - std::min(now, asked.begun)) *
                                   ns_per_tick()),
         nullptr, rank, trace_kind::wait_memory, trace_phase::instant});
  if (asked.latest.time <= asked.begun || asked.latest.rank == a.rank) return;
  const std::uint64_t late = asked.latest.time - asked.begun;
  const std::uint64_t of_calls = std::min(late, in_calls);
  const std::uint64_t of_loop = does_nothing_else ? std::min(late - of_calls, computed) : 0;
  a.times[static_cast<std::size_t>(share::in_calls)] -= of_calls;
  a.times[static_cast<std::size_t>(share::computing)] -= of_loop;
  a.times[static_cast<std::size_t>(share::waiting)] += of_calls + of_loop;
  add_wait(*p, asked.state, of_calls + of_loop, asked.latest);
}

}  // namespace weft::profile
