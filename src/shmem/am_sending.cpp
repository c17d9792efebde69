// Sending: into the queue of a PE of this process, and which messages are gathered first.
#include <cstring>

#include "shmem/am_steps.hpp"

namespace weft::shmem {
namespace {

// Returns room in a new chunk; null when the target's queue is full. It is out of line so that try_write() saves hardly a
// register.
[[gnu::noinline, gnu::cold]] am_record* reserve_in_new_chunk(pe_state& to, am_queue& queue,
                                                             std::size_t bytes) {
  const std::size_t chunk = am_queue::chunk_bytes_for(bytes);
  // Relaxed: a count. An empty queue takes a message of any size.
  const std::size_t before = to.messages.bytes.fetch_add(chunk, std::memory_order_relaxed);
  if (before != 0 && before + chunk > to.messages.limit_of_near) {
    to.messages.bytes.fetch_sub(chunk, std::memory_order_relaxed);
    return nullptr;
  }
  queue.new_chunk(chunk);
  return queue.try_reserve(bytes);
}

// False when the target's queue is full; then nothing has been done.
bool try_write(pe_state& me, pe_state& to, std::uint32_t id, std::uint32_t call,
               const void* payload, std::size_t length) {
  am_queue& queue = queue_to(*me.rank.home, to);
  const std::size_t bytes = am_queue::record_bytes(length);
  am_record* record = queue.try_reserve(bytes);
  if (record == nullptr) [[unlikely]] {
    record = reserve_in_new_chunk(to, queue, bytes);
    if (record == nullptr) return false;
  }
  record->set_sender(me.number, call);
  if (length == sizeof(std::uint64_t))  // A constant length needs no call.
    std::memcpy(record->payload(), payload, sizeof(std::uint64_t));
  else if (length != 0)
    std::memcpy(record->payload(), payload, length);
  queue.publish(*record, id, length);
  worker* const there = to.rank.home;
  if (there != me.rank.home) there->notify();
  return true;
}

struct full_queue final : detail::wait_words {
  const pe_state& to;
  explicit full_queue(const pe_state& t) : to(t) {}
  [[nodiscard]] std::string text() const override {
    return formatted(
        ", until PE {} reads some of its {} MiB of unread active messages (SHMEMX_AM_QUEUE_SIZE is the "
        "limit)",
        to.number, to.messages.bytes.load(std::memory_order_relaxed) >> 20);
  }
  bool awaited(std::vector<int>& ranks) const override {
    ranks.push_back(to.number);
    return false;
  }
};

void write(pe_state& me, const char* name, pe_state& to, std::uint32_t id, std::uint32_t call,
           const void* payload, std::size_t length) {
  while (!try_write(me, to, id, call, payload, length)) {
    const std::size_t limit = to.messages.limit_of_near;
    const std::size_t needed = am_queue::chunk_bytes_for(am_queue::record_bytes(length));
    const full_queue words(to);
    wait_description said{name};
    said.context = wait_description::in_words;
    said.subject = static_cast<const detail::wait_words*>(&words);
    tell_handled(me);
    me.rank.home->wait_until(looks{[&]() noexcept {
                               const std::size_t now =
                                   to.messages.bytes.load(std::memory_order_relaxed);
                               return now == 0 || now + needed <= limit;
                             }},
                             said);
  }
}

void note_message(const pe_state& me, int pe, std::size_t length) {
  if (!tracing()) return;
  profile::put(me.number, pe, length);
  profile::leave_cause(me.number, profile::key_of_queue(pe));
}

}  // namespace

void make_queue(pe_state& to, std::size_t writer) {
  to.messages.storage[writer] = std::make_unique<am_queue>();
  to.messages.from[writer].publish(to.messages.storage[writer].get());
}

void write_to(pe_state& me, const char* name, int pe, std::uint32_t id, std::uint32_t call,
              const void* payload, std::size_t length) {
  note_message(me, pe, length);
  if (pe_state* const to = me.pes[pe]; to != nullptr)
    write(me, name, *to, id, call, payload, length);
  else
    write_far(me, name, pe, id, call, payload, length);
}

void check_message(pe_state& me, int id, const void* payload, std::size_t length) {
  if (id < 1 || static_cast<std::size_t>(id) > am_handlers_max)
    fail("id {}: pass one that shmemx_am_set_handler has returned on the target", id);
  if (length > me.settings.am_payload_bytes)
    fail(
        "length {}: a payload may have {} bytes (SHMEMX_AM_PAYLOAD_MAX_SIZE is {}; SHMEMX_AM_PAYLOAD_MAX in the "
        "environment raises what is accepted); put more, and send where it lies",
        length, me.settings.am_payload_bytes, SHMEMX_AM_PAYLOAD_MAX_SIZE);
  if (payload == nullptr && length != 0)
    fail("payload is a null pointer: pass where {} bytes are", length);
}

void send_gathered_for(pe_state& me, const char* call, int pe) {
  if (me.gathers == nullptr) return;
  me.gathers->bundles.send(
      static_cast<std::size_t>(pe),
      [&](std::size_t, std::span<const std::byte> bundle) { send_bundle(me, call, pe, bundle); });
}

namespace {

// Sends what was gathered, in front of a message that is not. False: that would have to wait.
bool try_send_gathered_before(pe_state& me, const char* call, int pe) {
  if (me.gathers == nullptr) return true;
  auto& bundles = me.gathers->bundles;
  const std::span<const std::byte> bundle = bundles.gathered_for(static_cast<std::size_t>(pe));
  if (bundle.empty()) return true;
  pe_state* const to = me.pes[pe];
  if (to == nullptr) {
    if (!has_far_room(me, pe, am_queue::taken_bytes(bundle.size()))) return false;
    send_gathered_for(me, call, pe);
    return true;
  }
  if (!try_write(me, *to, bundle_id, 0, bundle.data(), bundle.size())) return false;
  bundles.clear(static_cast<std::size_t>(pe));
  return true;
}

void send(pe_state& me, const char* call, shmem_ctx_t handle, int id, const void* payload,
          std::size_t length, int pe) {
  check_message(me, id, payload, length);
  context* const c = checked_context(me, handle);
  const int number = checked_pe(me, c, pe);
  session* const gathers = c == nullptr ? me.gathers.get() : c->gathers.get();
  const auto named = static_cast<std::uint32_t>(id);
  ++me.messages.sent;  // Before: it may have been handled when the call comes back from a wait.
  if (gathers == nullptr) {
    write_to(me, call, number, named, 0, payload, length);
  } else if (length > am_gathered_bytes_max || !gathers->try_add(number, named, payload, length)) {
    // What was sent before goes in front of it.
    gathers->bundles.send(static_cast<std::size_t>(number),
                          [&](std::size_t, std::span<const std::byte> bundle) {
                            send_bundle(me, call, number, bundle);
                          });
    if (length > am_gathered_bytes_max || !gathers->try_add(number, named, payload, length))
      write_to(me, call, number, named, 0, payload, length);
  }
  if (gathers != nullptr) operations_of(me, c).note_gathered();
}

}  // namespace

void send_bundle(pe_state& me, const char* call, int pe, std::span<const std::byte> bundle) {
  write_to(me, call, pe, bundle_id, 0, bundle.data(), bundle.size());
}

// Returns the session in which a message to that PE, which need not be one, is gathered; null: in none, or the slow path
// finds out.
[[gnu::always_inline]] static inline session* session_of(const pe_state& me, shmem_ctx_t handle,
                                                         int pe) noexcept {
  if (handle == SHMEM_CTX_DEFAULT)
    return static_cast<unsigned>(pe) < static_cast<unsigned>(me.size) ? me.gathers.get() : nullptr;
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t index = (value & 0xffff'ffff) - 2;
  if (index >= me.contexts.size()) return nullptr;
  const context& c = *me.contexts[index];
  const bool is_known = c.of != nullptr && c.generation == value >> 32 && c.of->in_world.empty() &&
                        static_cast<unsigned>(pe) < static_cast<unsigned>(c.of->size());
  return is_known ? c.gathers.get() : nullptr;
}

void am_send(const char* call, shmem_ctx_t handle, int id, const void* payload, std::size_t length,
             int pe) {
  if (pe_state* const me = usable_state();
      me != nullptr && static_cast<unsigned>(id) - 1 < am_handlers_max && payload != nullptr &&
      !me->rank.home->is_shared()) [[likely]] {
    const auto named = static_cast<std::uint32_t>(id);
    if (me->sessions == 0) {
      if (handle == SHMEM_CTX_DEFAULT &&
          static_cast<unsigned>(pe) < static_cast<unsigned>(me->size) && me->pes[pe] != nullptr &&
          length <= SHMEMX_AM_PAYLOAD_MAX_SIZE &&
          try_write(*me, *me->pes[pe], named, 0, payload, length)) [[likely]] {
        ++me->messages.sent;
        return;
      }
    } else if (session* const gathers = session_of(*me, handle, pe);
               gathers != nullptr && length <= am_gathered_bytes_max &&
               gathers->try_add(pe, named, payload, length)) [[likely]] {
      if (handle == SHMEM_CTX_DEFAULT) me->operations.note_gathered();
      ++me->messages.sent;
      return;
    }
  }
  in_call(call, [&](pe_state& me) { send(me, call, handle, id, payload, length, pe); });
}

int am_try_send(const char* call, int id, const void* payload, std::size_t length, int pe) {
  return in_call(call, [&](pe_state& me) {
    check_message(me, id, payload, length);
    const int number = checked_pe(me, nullptr, pe);
    if (!try_send_gathered_before(me, call, number)) return 0;
    if (pe_state* const to = me.pes[number]; to != nullptr) {
      if (!try_write(me, *to, static_cast<std::uint32_t>(id), 0, payload, length)) return 0;
      ++me.messages.sent;
    } else {
      if (!has_far_room(me, number, am_queue::taken_bytes(length))) return 0;
      ++me.messages.sent;
      write_far(me, call, number, static_cast<std::uint32_t>(id), 0, payload, length);
    }
    note_message(me, number, length);
    return 1;
  });
}

std::size_t am_payload_max(const char* call) {
  return in_call(call, [](pe_state& me) { return me.settings.am_payload_bytes; });
}

}  // namespace weft::shmem
