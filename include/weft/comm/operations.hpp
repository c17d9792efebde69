// Operations, and their options by name:
//
//   post_am(device, {1}, handler, as_bytes(span(text)));                      // The short form.
//   post_am(device, {1}, handler, data, with::tag(7), with::local(queue));    // Named options.
//   post(device, am{.to = {1}, .handler = handler, .data = data, .tag = 7});  // An object.
//
// An option that an operation does not have is an error of the compiler. All of them return
//
//   done    complete: the buffers are free, the result is there; nothing will be signalled
//   posted  under way: `local` will be signalled; until then the buffers stay in use
//   retry   nothing happened, for want of room: make progress and post again
//   failed  the peer is dead, or the operation can never succeed; nothing was posted
//
// An operation without a `local` completion is done or refused, except where the data are too long
// to be copied aside: then it may be posted, and only the protocol of the user can tell its end.
//
// Posting does not allocate, does not throw and does not call handlers. It may be done within
// handlers. Called by the device's thread, or by any thread when the device is shared.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

#include "weft/comm/completion.hpp"
#include "weft/comm/runtime.hpp"
#include "weft/status.hpp"

namespace weft::comm {

// Where a message goes: a device of a process.
struct address {
  int process = 0;
  int device = 0;
};

namespace detail {
template <class Range>
concept contiguous_bytes =
    std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;
}

// What is sent: one buffer, or a list of buffers that count as one after the other (at most
// parts_max). Refers to them; the list itself must live as long as the call only.
template <class Byte>
class buffer_list {
 public:
  using part = std::span<Byte>;
  static constexpr std::size_t parts_max = 16;

  buffer_list() = default;
  template <class One>
  requires std::convertible_to<One&&, part> buffer_list(One&& one)
  noexcept : one_(one) {}
  template <class List>
  requires(std::convertible_to<List&&, std::span<const part>> && !std::convertible_to<List&&, part>)
      buffer_list(List&& many)
  noexcept : is_list_(true) {
    const std::span<const part> parts = many;
    one_ = {reinterpret_cast<Byte*>(const_cast<part*>(parts.data())), parts.size()};
  }
  template <detail::contiguous_bytes Range>
  requires(!std::convertible_to<Range&&, std::span<const part>> &&
           !std::convertible_to<Range&&, part> &&
           (std::is_const_v<Byte> ||
            !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>))
      buffer_list(Range&& range)
  noexcept
      : one_(reinterpret_cast<Byte*>(std::ranges::data(range)),
             std::ranges::size(range) * sizeof(std::ranges::range_value_t<Range>)) {}

  [[nodiscard]] std::span<const part> parts() const noexcept {
    return is_list_ ? std::span(reinterpret_cast<const part*>(one_.data()), one_.size())
                    : std::span(&one_, 1);
  }
  [[nodiscard]] std::uint64_t size() const noexcept {
    std::uint64_t sum = 0;
    for (const part& each : parts()) sum += each.size();
    return sum;
  }

 private:
  part one_{};  // Or where the list lies and how many are in it: one pair of words in either case.
  bool is_list_ = false;
};
using const_buffers = buffer_list<const std::byte>;
using mutable_buffers = buffer_list<std::byte>;

// Which answers the caller can live with.
struct permitted {
  bool done = true;    // Otherwise `local` is signalled in any case, and posted returned.
  bool posted = true;  // Otherwise the call makes progress until the operation is complete.
  bool retry = true;   // Otherwise the core keeps what it has no room for, and returns posted or
                       // done; not before it has made progress, when it keeps very much already.
};

// What a message is matched by. Messages of one kind meet receives of the same kind only.
enum class matching : std::uint8_t { source_and_tag, source, tag, any };

// --- What can be posted ---

// Calls, at the device `to`, the completion registered as `handler`. In order per (device, device)
// among those up to device::eager_bytes_max(); longer ones are delivered when their data are there.
struct am {
  address to{};
  handler_id handler{};
  const_buffers data{};
  std::uint64_t tag = 0;  // These travel in the header.
  std::array<std::uint64_t, 2> head{};
  std::uint32_t user = 0;
  packet* from = nullptr;  // Where the data lie, if in a packet: taken over when done or posted.
  completion local{};      // The data may be changed.
  void* context = nullptr;
  permitted allow{};
};

// Two-sided: meets a receive posted at the device `to`. Matching is in order per (device, device).
struct send {
  address to{};
  const_buffers data{};
  std::uint64_t tag = 0;
  matching by = matching::source_and_tag;
  std::uint16_t engine = 0;  // matching_engine::index() at the receiver; 0: the device's own.
  std::uint32_t user = 0;
  packet* from = nullptr;
  completion local{};
  void* context = nullptr;
  permitted allow{};
};

struct recv {
  int from = 0;  // A process; not looked at when the matching does not use the source.
  mutable_buffers data{};
  std::uint64_t tag = 0;
  matching by = matching::source_and_tag;
  std::uint16_t engine = 0;
  bool in_place = false;  // `data` is not used: the event brings the message where it lies.
  completion local{};
  void* context = nullptr;
  event* result = nullptr;  // Filled in when the answer is done.
  permitted allow{};
};

// One-sided: to or from registered memory of a device. The peer's handler `notify`, if given, is
// called with tag, user, and the bytes concerned. A put that is complete is visible to messages
// posted to that device afterwards.
struct put {
  remote_memory to{};
  std::uint64_t offset = 0;
  const_buffers data{};
  handler_id notify{};
  std::uint64_t tag = 0;
  std::uint32_t user = 0;
  completion local{};
  void* context = nullptr;
  permitted allow{};
};

struct get {
  remote_memory from{};
  std::uint64_t offset = 0;
  mutable_buffers data{};
  handler_id notify{};
  std::uint64_t tag = 0;
  std::uint32_t user = 0;
  completion local{};
  void* context = nullptr;
  permitted allow{};
};

// On 8 bytes, aligned, of registered memory; atomic with respect to others of these operations and
// to std::atomic_ref at the target. The old value is the event's tag, and is written to `old`.
enum class atomic_operation : std::uint8_t { fetch_add, swap, compare_swap };
struct atomic {
  remote_memory to{};
  std::uint64_t offset = 0;
  atomic_operation what = atomic_operation::fetch_add;
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;  // Of compare_swap.
  std::uint64_t* old = nullptr;
  completion local{};
  void* context = nullptr;
  permitted allow{};
};

status post(device& on, const am& operation) noexcept;
status post(device& on, const send& operation) noexcept;
status post(device& on, const recv& operation) noexcept;
status post(device& on, const put& operation) noexcept;
status post(device& on, const get& operation) noexcept;
status post(device& on, const atomic& operation) noexcept;

// --- Options by name ---

namespace with {

#define WEFT_COMM_OPTION(name, type, member)                        \
  struct name {                                                     \
    type value;                                                     \
    explicit name(type given) noexcept : value(given) {}            \
    template <class Operation>                                      \
    requires requires(Operation & o) { o.member; }                  \
    void apply(Operation& to) const noexcept { to.member = value; } \
  }
WEFT_COMM_OPTION(tag, std::uint64_t, tag);
WEFT_COMM_OPTION(user, std::uint32_t, user);
using two_words = std::array<std::uint64_t, 2>;
WEFT_COMM_OPTION(head, two_words, head);
WEFT_COMM_OPTION(local, completion, local);
WEFT_COMM_OPTION(context, void*, context);
WEFT_COMM_OPTION(by, matching, by);
WEFT_COMM_OPTION(engine, std::uint16_t, engine);
WEFT_COMM_OPTION(notify, handler_id, notify);
WEFT_COMM_OPTION(offset, std::uint64_t, offset);
WEFT_COMM_OPTION(result, event*, result);
WEFT_COMM_OPTION(old, std::uint64_t*, old);
WEFT_COMM_OPTION(from, packet*, from);
WEFT_COMM_OPTION(in_place, bool, in_place);
WEFT_COMM_OPTION(done, bool, allow.done);
WEFT_COMM_OPTION(posted, bool, allow.posted);
WEFT_COMM_OPTION(retry, bool, allow.retry);
#undef WEFT_COMM_OPTION

}  // namespace with

template <class Option, class Operation>
concept option_of = requires(const Option& option, Operation& operation) {
  option.apply(operation);
};

template <option_of<am>... Options>
status post_am(device& on, address to, handler_id handler, const_buffers data,
               const Options&... options) noexcept {
  am operation{.to = to, .handler = handler, .data = data};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<send>... Options>
status post_send(device& on, address to, const_buffers data, const Options&... options) noexcept {
  send operation{.to = to, .data = data};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<recv>... Options>
status post_recv(device& on, int from, mutable_buffers data, const Options&... options) noexcept {
  recv operation{.from = from, .data = data};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<put>... Options>
status post_put(device& on, const remote_memory& to, const_buffers data,
                const Options&... options) noexcept {
  put operation{.to = to, .data = data};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<get>... Options>
status post_get(device& on, const remote_memory& from, mutable_buffers data,
                const Options&... options) noexcept {
  get operation{.from = from, .data = data};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<atomic>... Options>
status post_fetch_add(device& on, const remote_memory& to, std::uint64_t operand,
                      const Options&... options) noexcept {
  atomic operation{.to = to, .what = atomic_operation::fetch_add, .operand = operand};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<atomic>... Options>
status post_swap(device& on, const remote_memory& to, std::uint64_t operand,
                 const Options&... options) noexcept {
  atomic operation{.to = to, .what = atomic_operation::swap, .operand = operand};
  (options.apply(operation), ...);
  return post(on, operation);
}
template <option_of<atomic>... Options>
status post_compare_swap(device& on, const remote_memory& to, std::uint64_t expected,
                         std::uint64_t desired, const Options&... options) noexcept {
  atomic operation{
      .to = to, .what = atomic_operation::compare_swap, .operand = desired, .expected = expected};
  (options.apply(operation), ...);
  return post(on, operation);
}

}  // namespace weft::comm
