// Active messages to and from other processes: parts of messages, and what tells their sources how many have been handled.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/kept_errno.hpp"
#include "remote/handlers.hpp"
#include "remote/port.hpp"
#include "shmem/am_steps.hpp"

namespace weft::shmem {
namespace {

//            tag                          head[0]          head[1]           user      data
//   part     message's length, offset     id, target       call, source      handled   the bytes from there on
//   handled  bytes of those              -, source        target            -         how many
//
// A part also tells what its source has handled of the target's messages: `told_with`.

// What is told in the word of a part: the low bits say how many messages, the others how many units of bytes.
struct told_with {
  static constexpr unsigned message_bits = 10;
  static constexpr std::uint64_t unit = 8;
  static constexpr std::uint64_t messages_max = (1u << message_bits) - 1;
  static constexpr std::uint64_t bytes_max = ((1u << (32 - message_bits)) - 1) * unit;
  static_assert(am_queue::taken_bytes(0) % unit == 0);

  [[nodiscard]] static std::uint32_t packed(std::uint64_t messages, std::uint64_t bytes) noexcept {
    return static_cast<std::uint32_t>(messages | bytes / unit << message_bits);
  }
  [[nodiscard]] static std::uint64_t messages_in(std::uint32_t word) noexcept {
    return word & messages_max;
  }
  [[nodiscard]] static std::uint64_t bytes_in(std::uint32_t word) noexcept {
    return std::uint64_t{word >> message_bits} * unit;
  }
};

// Takes of what is owed as much as a part tells.
std::uint32_t take_told(am_owed& owed) noexcept {
  owed.is_answered = true;
  const std::uint64_t messages = std::min(owed.messages, told_with::messages_max);
  const std::uint64_t bytes = std::min(owed.bytes, told_with::bytes_max);
  owed.messages -= messages;
  owed.bytes -= bytes;
  return told_with::packed(messages, bytes);
}

using far_room = remote::credit_window<remote::worker_credits>;

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
                  am_queue::taken_bytes(me.settings.am_payload_bytes));
}

struct full_far_queue final : detail::wait_words {
  const pe_state& me;
  const int to;
  full_far_queue(const pe_state& m, int pe) : me(m), to(pe) {}
  [[nodiscard]] std::string text() const override {
    const auto number = static_cast<std::size_t>(to);
    if (me.messages.is_sending_far[number])
      return formatted(", until another thread has sent all of a message to PE {}", to);
    return formatted(
        ", until PE {} reads some of the {} KiB of active messages that this one has unread there (of "
        "SHMEMX_AM_QUEUE_SIZE, {} MiB, each PE has its share)",
        to, me.messages.rooms_far[number].taken() >> 10, me.settings.am_queue_bytes >> 20);
  }
  bool awaited(std::vector<int>& ranks) const override {
    ranks.push_back(to);
    return false;
  }
};

[[noreturn]] void fail_at_dead(int pe, int process) {
  fail("PE {} cannot be reached: its process {} is dead", pe, process);
}

void post_far(pe_state& me, const char* name, int pe, const comm::am& what) {
  worker& here = *me.rank.home;
  const auto describe = [&]() -> wait_description {
    return {name, wait_description::no_context, pe};
  };
  if (remote::port::of(here).send_in_wait(here, what, describe) != status::failed) [[likely]]
    return;
  if (here.owner().stopping()) throw job_stopped{};
  fail_at_dead(pe, what.to.process);
}

}  // namespace

void share_out_queue(pe_state& me) {
  std::size_t far = 0;
  for (const auto& place : me.rank.of->places) far += place.rank == nullptr ? 1u : 0u;
  const std::size_t all = me.settings.am_queue_bytes;
  me.messages.limit_of_near = std::max(all - std::min(all, far * far_share(me)), am_chunk_bytes);
}

bool has_far_room(const pe_state& me, int pe, std::size_t bytes) noexcept {
  const auto number = static_cast<std::size_t>(pe);
  if (me.messages.rooms_far.empty()) return true;
  return !me.messages.is_sending_far[number] &&
         me.messages.rooms_far[number].credits().has_room(bytes);
}

void write_far(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length) {
  const std::size_t bytes = am_queue::taken_bytes(length);
  const bool is_counted = id != reply_id;
  if (me.messages.rooms_far.empty()) {
    me.messages.rooms_far.assign(static_cast<std::size_t>(me.size), far_room(far_share(me)));
    me.messages.is_sending_far.resize(static_cast<std::size_t>(me.size));
  }
  const auto number = static_cast<std::size_t>(pe);
  // The parts of one message follow one another, and threads of the PE may send while this one waits for room.
  const auto may_go = [&]() noexcept {
    return is_counted ? has_far_room(me, pe, bytes) : !me.messages.is_sending_far[number];
  };
  const int process = address_of(me, pe).process;
  const auto is_lost = [&] { return !remote::port::of(*me.rank.home).is_alive(process); };
  while (!may_go()) {
    if (is_lost()) [[unlikely]]
      fail_at_dead(pe, process);
    tell_handled(me);
    const full_far_queue words(me, pe);
    wait_description said{name};
    said.context = wait_description::in_words;
    said.subject = static_cast<const detail::wait_words*>(&words);
    me.rank.home->wait_until([&] { return may_go() || is_lost(); }, said);
  }
  const struct all_parts {
    std::vector<bool>::reference are_going;
    explicit all_parts(std::vector<bool>::reference flag) : are_going(flag) { are_going = true; }
    ~all_parts() { are_going = false; }
  } going(me.messages.is_sending_far[number]);
  if (is_counted) (void)me.messages.rooms_far[number].try_take(bytes);
  comm::am made;
  made.to = address_of(me, pe);
  made.handler = process_of(me).part;
  made.head = {two(id, static_cast<std::uint32_t>(pe)),
               two(call, static_cast<std::uint32_t>(me.number))};
  const std::size_t most =
      remote::port::of(*me.rank.home).eager_bytes_max(made.to.process, made.to.device);
  if (!me.messages.owed_far.empty()) made.user = take_told(me.messages.owed_far[number]);
  std::size_t done = 0;
  me.messages.has_sent_far = true;
  do {
    const std::size_t part = std::min(most, length - done);
    made.tag = two(static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(done));
    made.data = std::span(static_cast<const std::byte*>(payload) + done, part);
    post_far(me, name, pe, made);
    made.user = 0;
    done += part;
  } while (done < length);
}

namespace {

// The PE of a rank of this process; null when it has not called shmem_init.
pe_state* pe_of(const process_state& process, const detail::rank_state& rank) noexcept {
  return process.pes[static_cast<std::size_t>(rank.number)];
}

// Reserves a record in the queue of weft's own worker, as its PEs do. There is no limit: the sender keeps to its share.
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

// False: so much was not sent. Called when another PE has handled messages of `me`.
bool take_back(pe_state& me, worker& here, std::uint64_t pe, std::uint64_t messages,
               std::uint64_t bytes) noexcept {
  if (me.messages.rooms_far.empty() || me.messages.rooms_far[pe].taken() < bytes ||
      messages > me.messages.sent - me.messages.sent_and_handled.value())
    return false;
  me.messages.rooms_far[pe].give_back(here.owner(), bytes);
  me.messages.sent_and_handled.add(messages);
  return true;
}

constexpr const char* not_sent = "it tells of messages that were not sent";

void on_part(process_state& process, worker& here, detail::rank_state& rank,
             const comm::event& happened) {
  pe_state* const to = pe_of(process, rank);
  const std::uint32_t id = high_of(happened.head[0]);
  const auto source = static_cast<int>(low_of(happened.head[1]));
  const std::size_t length = high_of(happened.tag), offset = low_of(happened.tag);
  if (to == nullptr || length > am_payload_bytes_max || offset > length ||
      happened.size > length - offset)
    return remote::refuse(here, happened, "an active message that cannot be");
  if (happened.user != 0 &&
      !take_back(*to, here, low_of(happened.head[1]), told_with::messages_in(happened.user),
                 told_with::bytes_in(happened.user))) [[unlikely]]
    return remote::refuse(here, happened, not_sent);
  auto& unfinished = to->messages.unfinished;
  auto of = std::find_if(unfinished.begin(), unfinished.end(),
                         [&](const am_unfinished& u) { return u.source == source; });
  if (offset == 0) {
    if (of != unfinished.end())
      return remote::refuse(here, happened, "an active message inside of another one");
    am_record& record = reserve_here(here, *to, length);
    record.set_sender(source, high_of(happened.head[1]));
    of = unfinished.insert(unfinished.end(), {source, id, length, 0, &record});
  } else if (of == unfinished.end() || of->arrived != offset || of->length != length ||
             of->id != id) {
    return remote::refuse(here, happened, "a part of no active message");
  }
  if (happened.size != 0) std::memcpy(of->record->payload() + offset, happened.data, happened.size);
  of->arrived += happened.size;
  if (of->arrived < length) return;
  queue_to(here, *to).publish(*of->record, id, length);
  unfinished.erase(of);
}

void on_handled(process_state& process, worker& here, detail::rank_state& rank,
                const comm::event& happened) {
  pe_state* const to = pe_of(process, rank);
  std::uint64_t count = 0;
  std::memcpy(&count, happened.data, sizeof count);
  if (to == nullptr || !take_back(*to, here, happened.head[1], count, happened.tag))
    return remote::refuse(here, happened, not_sent);
}

void tell(pe_state& me, int source) {
  am_owed& owed = me.messages.owed_far[static_cast<std::size_t>(source)];
  if (owed.messages == 0 && owed.bytes == 0) return;
  const std::uint64_t count = std::exchange(owed.messages, 0);
  comm::am made;
  made.to = address_of(me, source);
  made.handler = process_of(me).handled;
  made.tag = std::exchange(owed.bytes, 0);
  made.head = {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(me.number)};
  made.data = std::as_bytes(std::span(&count, 1));
  remote::port::of(*me.rank.home).send(made);
}

bool tell_in_pass(worker&, void* whose) {
  pe_state& me = *static_cast<pe_state*>(whose);
  me.messages.is_telling_in_pass = false;
  tell_owed(me);
  return true;
}

// Whether a source that is not told of so many bytes has room for any message all the same.
bool leaves_room(const pe_state& me, std::uint64_t bytes) noexcept {
  const std::size_t share = far_share(me);
  return bytes <= share / 4 && bytes + am_queue::taken_bytes(me.settings.am_payload_bytes) <= share;
}

}  // namespace

void tell_handled_far(pe_state& me, int source, std::uint64_t count, std::size_t bytes) {
  if (me.messages.owed_far.empty()) me.messages.owed_far.resize(static_cast<std::size_t>(me.size));
  am_owed& owed = me.messages.owed_far[static_cast<std::size_t>(source)];
  owed.messages += count;
  owed.bytes += bytes;
  // Where the last one was answered, an answer is expected, which takes it along. A source is not kept waiting for much.
  const bool is_answered = std::exchange(owed.is_answered, false);
  if (!is_answered || owed.messages > told_with::messages_max || !leaves_room(me, owed.bytes))
    return tell(me, source);
  if (!std::exchange(me.messages.is_telling_in_pass, true))
    remote::port::of(*me.rank.home).keep_trying(&tell_in_pass, &me);
  me.messages.told_later.push_back(source);
}

void tell_all_owed(pe_state& me) {
  for (const int pe : me.messages.told_later) tell(me, pe);
  me.messages.told_later.clear();
}

void send_what_handlers_sent(pe_state& me) noexcept {
  worker& here = *me.rank.home;
  if (!remote::port::of(here).owner().options().shared_devices) return;  // Nothing is gathered.
  const kept_errno kept;
  (void)here.events()->poll_cheap();
}

void add_am_handlers(detail::handler_numbers& numbers, process_state& of) {
  using remote::message_form, remote::sender_in;
  remote::handlers handlers(numbers);
  constexpr message_form of_count{.bytes_min = sizeof(std::uint64_t),
                                  .bytes_max = sizeof(std::uint64_t),
                                  .sender = sender_in::head_1};
  of.part = handlers.add<&on_part, message_form{.sender = sender_in::head_1_low}>(of);
  of.handled = handlers.add<&on_handled, of_count>(of);
  // A PE waits for what it is told, and there is one for many messages.
  remote::port::let_gather(handlers.between(), of.part);
}

}  // namespace weft::shmem
