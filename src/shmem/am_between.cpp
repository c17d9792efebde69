// Active messages to and from other processes: parts of messages, and what tells their sources how many have been handled.
#include <algorithm>
#include <cstring>

#include "rank/matching.hpp"
#include "runtime/network.hpp"
#include "shmem/am_steps.hpp"

namespace weft::shmem {
namespace {

//            tag                          head[0]          head[1]           data
//   part     message's length, offset     id, target       call, source      the bytes from there on
//   handled  bytes of those              -, source        target            how many

comm::address address_of(const pe_state& me, int pe) noexcept {
  const detail::rank_place& there = me.rank.of->places[static_cast<std::size_t>(pe)];
  return {there.process, there.worker};
}
process_state& process_of(const pe_state& me) noexcept {
  return static_cast<process_state&>(*me.rank.of->faces[face_slot]);
}

// What one PE may have unread at a PE of another process.
std::size_t far_share(const pe_state& me) noexcept {
  return std::max(me.settings.am_queue_bytes / static_cast<std::size_t>(me.size),
                  am_queue::record_bytes(me.settings.am_payload_bytes));
}

void post_far(pe_state& me, const char* name, int pe, const comm::am& what) {
  worker& here = *me.rank.home;
  port& p = network::of(here);
  p.count_sent(what.to.process);
  const auto post = [&] { return comm::post(p.device(), what); };
  const auto describe = [&]() -> wait_description {
    return {name, wait_description::no_context, pe};
  };
  if (post_in_wait(here, post, describe) != status::failed) [[likely]]
    return;
  if (here.owner().stopping()) throw job_stopped{};
  fail("PE {} cannot be reached: its process {} is dead", pe, what.to.process);
}

}  // namespace

bool has_far_room(const pe_state& me, int pe, std::size_t bytes) noexcept {
  const auto number = static_cast<std::size_t>(pe);
  if (me.messages.unread_far.empty()) return true;
  if (me.messages.is_sending_far[number]) return false;
  const std::size_t unread = me.messages.unread_far[number];
  return unread == 0 || unread + bytes <= far_share(me);
}

void write_far(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length) {
  const std::size_t bytes = am_queue::record_bytes(length);
  const bool is_counted = id != reply_id;
  if (me.messages.unread_far.empty()) {
    me.messages.unread_far.resize(static_cast<std::size_t>(me.size));
    me.messages.is_sending_far.resize(static_cast<std::size_t>(me.size));
  }
  const auto number = static_cast<std::size_t>(pe);
  // The parts of one message follow one another, and threads of the PE may send while this one waits for room.
  const auto may_go = [&]() noexcept {
    return is_counted ? has_far_room(me, pe, bytes) : !me.messages.is_sending_far[number];
  };
  while (!may_go()) {
    tell_handled(me);
    me.rank.home->wait_until(may_go, {name, wait_description::no_context, pe});
  }
  const struct all_parts {
    std::vector<bool>::reference are_going;
    explicit all_parts(std::vector<bool>::reference flag) : are_going(flag) { are_going = true; }
    ~all_parts() { are_going = false; }
  } going(me.messages.is_sending_far[number]);
  if (is_counted) me.messages.unread_far[number] += bytes;
  comm::am made;
  made.to = address_of(me, pe);
  made.handler = process_of(me).part;
  made.head = {two(id, static_cast<std::uint32_t>(pe)),
               two(call, static_cast<std::uint32_t>(me.number))};
  const std::size_t most =
      network::of(*me.rank.home).device().eager_bytes_max(made.to.process, made.to.device);
  std::size_t done = 0;
  do {
    const std::size_t part = std::min(most, length - done);
    made.tag = two(length, done);
    made.data = std::span(static_cast<const std::byte*>(payload) + done, part);
    post_far(me, name, pe, made);
    done += part;
  } while (done < length);
}

namespace {

[[gnu::cold]] void refuse(worker& here, const comm::event& happened, const char* why) noexcept {
  network::of(here).device().refuse(happened, why);
}

// The PE of this worker that a message names; null when there is none.
pe_state* pe_of(process_state& process, const worker& here, std::uint32_t number) noexcept {
  if (number >= process.pes.size()) return nullptr;
  pe_state* const pe = process.pes[number];
  return pe != nullptr && pe->rank.home == &here ? pe : nullptr;
}

// A record of weft's own worker, which writes into the queue as its PEs do. No limit: the sender keeps to its share.
am_record& reserve_here(worker& here, pe_state& to, std::size_t length) {
  am_queue& queue = queue_to(here, to);
  const std::size_t bytes = am_queue::record_bytes(length);
  am_record* record = queue.try_reserve(bytes);
  if (record == nullptr) {
    const std::size_t chunk = am_queue::chunk_bytes_for(bytes);
    to.messages.bytes.fetch_add(chunk, std::memory_order_relaxed);
    queue.new_chunk(chunk);
    record = queue.try_reserve(bytes);
  }
  return *record;
}

void on_part(process_state& process, worker& here, const comm::event& happened) {
  pe_state* const to = pe_of(process, here, low_of(happened.head[0]));
  const std::uint32_t id = high_of(happened.head[0]);
  const auto source = static_cast<int>(low_of(happened.head[1]));
  const std::size_t length = high_of(happened.tag), offset = low_of(happened.tag);
  if (to == nullptr || source < 0 || source >= to->size ||
      process.of.places[static_cast<std::size_t>(source)].process != happened.process ||
      length > am_payload_bytes_max || offset > length || happened.size > length - offset)
    return refuse(here, happened, "an active message that cannot be");
  auto& unfinished = to->messages.unfinished;
  auto of = std::find_if(unfinished.begin(), unfinished.end(),
                         [&](const am_unfinished& u) { return u.source == source; });
  if (offset == 0) {
    if (of != unfinished.end())
      return refuse(here, happened, "an active message inside of another one");
    am_record& record = reserve_here(here, *to, length);
    record.set_sender(source, high_of(happened.head[1]));
    of = unfinished.insert(unfinished.end(), {source, id, length, 0, &record});
  } else if (of == unfinished.end() || of->arrived != offset || of->length != length ||
             of->id != id) {
    return refuse(here, happened, "a part of no active message");
  }
  if (happened.size != 0) std::memcpy(of->record->payload() + offset, happened.data, happened.size);
  of->arrived += happened.size;
  if (of->arrived < length) return;
  queue_to(here, *to).publish(*of->record, id, length);
  unfinished.erase(of);
}

void on_handled(process_state& process, worker& here, const comm::event& happened) {
  pe_state* const to = pe_of(process, here, low_of(happened.head[0]));
  std::uint64_t count = 0;
  if (happened.size == sizeof count) std::memcpy(&count, happened.data, sizeof count);
  if (to == nullptr || happened.size != sizeof count || happened.head[1] >= process.pes.size() ||
      process.of.places[happened.head[1]].process != happened.process ||
      to->messages.unread_far.empty() || to->messages.unread_far[happened.head[1]] < happened.tag ||
      count > to->messages.sent - to->messages.sent_and_handled.value())
    return refuse(here, happened, "it tells of messages that were not sent");
  to->messages.unread_far[happened.head[1]] -= happened.tag;
  to->messages.sent_and_handled.add(count);
}

template <void (*Handle)(process_state&, worker&, const comm::event&)>
void call_handler(void* process, const comm::event& happened) noexcept {
  worker* const here = worker::current();
  if (here == nullptr) return;
  network::of(*here).count_received(happened.process);
  if (here->owner().stopping()) return;
  Handle(*static_cast<process_state*>(process), *here, happened);
}

}  // namespace

void tell_handled_far(pe_state& me, int source, std::uint64_t count, std::size_t bytes) {
  comm::am made;
  made.to = address_of(me, source);
  made.handler = process_of(me).handled;
  made.tag = bytes;
  made.head = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(me.number)};
  made.data = std::as_bytes(std::span(&count, 1));
  made.allow.retry = false;
  port& p = network::of(*me.rank.home);
  p.count_sent(made.to.process);
  (void)comm::post(p.device(), made);  // A dead process need not know.
}

void add_am_handlers(detail::face_handlers& handlers, process_state& of) {
  of.part = handlers.add(&call_handler<&on_part>, &of);
  of.handled = handlers.add(&call_handler<&on_handled>, &of);
}

}  // namespace weft::shmem
