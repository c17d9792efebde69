// A rank's posted receives and unexpected messages. Only the rank's home worker touches them: no locks.
//
// Up to 64 posted receives stand in a row, an array, oldest first. More go into intrusive lists by a hash of (context,
// source, tag), so that a match costs the same with one and with thousands of them. Receives with a wildcard then
// have a list of their own; posting numbers decide between the two lists, so that the oldest receive that matches
// gets the message (MPI 4.1 section 3.5). Unexpected messages are always hashed, and in a list by age.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "sched/fiber.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

struct envelope {
  std::uint32_t context;
  std::int32_t source;  // Rank in the communicator.
  std::int32_t tag;
};
static_assert(sizeof(envelope) == 12);

// An envelope as words, to be passed in registers and stored. Three fields would be stored one by one and loaded in two
// pieces, which waits for the store buffer.
struct packed_envelope {
  std::uint64_t context_and_source;
  std::uint32_t tag;

  packed_envelope() = default;
  constexpr explicit packed_envelope(const envelope& e) noexcept
      : context_and_source(e.context | std::uint64_t{static_cast<std::uint32_t>(e.source)} << 32),
        tag(static_cast<std::uint32_t>(e.tag)) {}
  [[nodiscard]] constexpr envelope unpacked() const noexcept {
    return {static_cast<std::uint32_t>(context_and_source),
            static_cast<std::int32_t>(context_and_source >> 32), static_cast<std::int32_t>(tag)};
  }
  // From a context, and source and tag as source_and_tag() gives them.
  constexpr packed_envelope(std::uint32_t context, std::uint64_t source_and_tag) noexcept
      : context_and_source(context | source_and_tag << 32),
        tag(static_cast<std::uint32_t>(source_and_tag >> 32)) {}
  [[nodiscard]] constexpr std::uint32_t context() const noexcept {
    return static_cast<std::uint32_t>(context_and_source);
  }
  [[nodiscard]] constexpr std::uint64_t source_and_tag() const noexcept {
    return context_and_source >> 32 | std::uint64_t{tag} << 32;
  }
  // Read and write the bytes of an envelope.
  [[nodiscard]] static packed_envelope read(const std::byte* from) noexcept {
    packed_envelope made;
    std::memcpy(&made.context_and_source, from, sizeof made.context_and_source);
    std::memcpy(&made.tag, from + sizeof made.context_and_source, sizeof made.tag);
    return made;
  }
  void write(std::byte* to) const noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(to, &context_and_source, sizeof context_and_source);
    std::memcpy(to + sizeof context_and_source, &tag, sizeof tag);
  }
};

[[nodiscard]] constexpr bool matches(const envelope& wanted, const envelope& message) noexcept {
  return wanted.context == message.context &&
         (wanted.source == message.source || wanted.source == any_source) &&
         (wanted.tag == message.tag || wanted.tag == any_tag);
}
[[nodiscard]] constexpr bool has_wildcard(const envelope& wanted) noexcept {
  return wanted.source == any_source || wanted.tag == any_tag;
}

// The envelope of an operation. It is stored as words, so that a load as words right after need not wait.
struct written_envelope : envelope {
  written_envelope() = default;  // No aggregate: `match = {...}` assigns an envelope.
  written_envelope& operator=(const envelope& e) noexcept { return *this = packed_envelope(e); }
  written_envelope& operator=(packed_envelope e) noexcept {
    e.write(reinterpret_cast<std::byte*>(this));
    return *this;
  }
};
static_assert(sizeof(written_envelope) == sizeof(envelope));
[[nodiscard, gnu::always_inline]] inline bool matches(const written_envelope& wanted,
                                                      packed_envelope message) noexcept {
  const packed_envelope one = packed_envelope::read(reinterpret_cast<const std::byte*>(&wanted));
  const std::uint64_t differs = one.context_and_source ^ message.context_and_source;
  const bool from_there = differs == 0 || (static_cast<std::uint32_t>(differs) == 0 &&
                                           one.unpacked().source == any_source);
  return from_there && (one.tag == message.tag || one.unpacked().tag == any_tag);
}

// An intrusive list: `Links` is the node's member that holds its links.
template <class Node, auto Links>
class linked_list {
 public:
  [[nodiscard]] Node* front() const noexcept { return first_; }
  [[nodiscard]] static Node* after(const Node& n) noexcept { return (n.*Links).next; }
  void push_back(Node& n) noexcept {
    n.*Links = {nullptr, last_};
    (last_ != nullptr ? (last_->*Links).next : first_) = &n;
    last_ = &n;
  }
  void remove(Node& n) noexcept {
    const auto [next, previous] = n.*Links;
    (previous != nullptr ? (previous->*Links).next : first_) = next;
    (next != nullptr ? (next->*Links).previous : last_) = previous;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

template <class Node>
struct links {
  Node* next;
  Node* previous;
};

struct rank_state;

// The source in the result of a send that was taken back before anything matched it.
inline constexpr int withdrawn_source = any_source;

// A send or receive under way. Blocking calls have it on their stack, so it is small; a field that every call or list
// writes before it is read has no initial value.
struct operation {
  enum class kind : std::uint8_t { recv, send, collective };
  struct as_receive {};
  operation() noexcept
      : match{}, peer(any_source), peer_worker(-1), bytes(0), rts_number(0), result{} {}
  // For a receive: also leaves the fields of sends, and the result, without a value.
  explicit operation(as_receive) noexcept {}

  written_envelope match;  // The envelope that a receive wants, or that a send has.
  kind what = kind::recv;
  bool complete = false;
  bool active = false;    // Started, and not yet waited for.
  bool kept = false;      // A kept_operation.
  bool blocking = false;  // A blocking_operation.
  bool failed = false;  // The other side has died or could not copy; result.bytes is failed_bytes.
  send_mode mode = send_mode::standard;
  std::int32_t peer;          // In a send: the receiver's rank in the communicator.
  std::int32_t peer_worker;   // The other side's worker: it may share a long copy as a loop.
  std::byte* data = nullptr;  // Null where `layout` has the bytes, unless a send has packed them.
  std::size_t bytes;          // In a receive: how many fit.
  const segments* layout = nullptr;  // Where the bytes are when they do not lie in a row.
  rank_state* owner = nullptr;
  completion_counter* counter = nullptr;
  void* posted_in = nullptr;  // The list; null when not posted.
  std::uint32_t rts_number;   // rendezvous_request::number of a send within the process.
  message_status result;
  std::uint64_t number;  // Order of posting, while it is in a hashed list.
  links<operation> in_list;
};

// True: `op`, a send with a layout, owns a copy of its bytes in a row, too (send_rts()).
[[nodiscard]] inline bool is_packed(const operation& op) noexcept {
  return op.layout != nullptr && op.data != nullptr;
}
[[gnu::cold]] void free_packed(operation& op) noexcept;

// A send on the stack of the call that waits for it.
struct blocking_send : operation {
  blocking_send() = default;
  blocking_send(const blocking_send&) = delete;
  blocking_send& operator=(const blocking_send&) = delete;
  ~blocking_send() {
    if (is_packed(*this)) free_packed(*this);
  }
};

// A receive on the stack of the call that waits for it. Its destructor takes it out of the lists when the call unwinds.
// The completion counter is inside, so that a delivery need not load its address: between ranks of one worker each
// message waits for the loads that lead to the receiver's fiber.
struct blocking_operation : operation {
  blocking_operation() noexcept : operation(as_receive{}) {
    blocking = true;
    counter = &arrival;
  }
  blocking_operation(const blocking_operation&) = delete;
  blocking_operation& operator=(const blocking_operation&) = delete;
  ~blocking_operation();

  completion_counter arrival{1, nullptr};
};

// An operation that outlives its call, or keeps more: persistent, buffered, started with a layout, or a non-blocking
// collective, which runs on a fiber of its own.
struct kept_operation : operation {
  kept_operation() = default;
  kept_operation(const kept_operation&) = delete;
  kept_operation& operator=(const kept_operation&) = delete;
  ~kept_operation() {
    if (is_packed(*this)) free_packed(*this);
  }

  bool persistent = false;
  bool detached = false;  // Nobody waits: freed on completion, with its copy of the data.
  shared_handle<communicator_state> communicator;
  std::unique_ptr<std::byte[]> copy;
  segments shape;  // `layout` points here.
  fiber runner;
  std::function<void()> body;
  std::exception_ptr failure;
};
[[nodiscard]] inline kept_operation* as_kept(operation* op) noexcept {
  return op != nullptr && op->kept ? static_cast<kept_operation*>(op) : nullptr;
}

// result.bytes of a failed operation: more than any buffer has, so that the check for truncation finds it, too.
inline constexpr std::size_t failed_bytes = ~std::size_t{0};

struct remote_rendezvous;

// A sender's description of a long message whose data stay in place until the receiver has copied them and told the
// sender. With a null `data` they are where the sender's layout says.
struct rendezvous_request {
  operation* sender;
  const std::byte* data;
  std::uint64_t bytes;
  std::int32_t worker;
  std::uint32_t number = 0;             // The sender counts its requests, modulo 2^32.
  remote_rendezvous* remote = nullptr;  // Set: from another process, and only `bytes` is valid.
  [[nodiscard]] explicit operator bool() const noexcept {
    return sender != nullptr || remote != nullptr;
  }
};

// Who sent a message of a communicator that this process does not know yet: its source is checked later.
struct early_sender {
  static constexpr std::uint16_t none = 0xffff;
  std::uint16_t device = none;
  std::uint16_t process = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return device != none; }
};

struct unexpected_message {
  envelope from;
  early_sender early;
  std::size_t bytes = 0;
  rendezvous_request rts{};  // Empty for a short message, whose data follow this struct.
  links<unexpected_message> in_bucket;
  links<unexpected_message> in_order;
  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// A probe that waits. Lives on the stack of the call.
struct probe_wait {
  envelope wanted;
  completion_counter any{1, nullptr};  // Any message that comes lowers it; the probe then looks.
  links<probe_wait> in_list{};
};

template <class Node, auto Links>
class hashed_lists {
 public:
  [[nodiscard]] linked_list<Node, Links>& at(const envelope& e) {
    if (buckets_ == nullptr) [[unlikely]]
      buckets_ = std::make_unique<std::array<linked_list<Node, Links>, bucket_count>>();
    // One multiplication; its upper bits depend on all of the envelope.
    const std::uint64_t words = static_cast<std::uint32_t>(e.source) | std::uint64_t{e.context}
                                                                           << 32;
    const std::uint64_t mixed =
        (words ^ std::uint64_t{static_cast<std::uint32_t>(e.tag)} << 20) * 0x9e3779b97f4a7c15u;
    return (*buckets_)[mixed >> 58];
  }
  template <class Visit>
  void each_list(Visit&& visit) const {
    if (buckets_ == nullptr) return;
    for (const auto& list : *buckets_) visit(list);
  }

 private:
  static constexpr std::size_t bucket_count = 64;
  std::unique_ptr<std::array<linked_list<Node, Links>, bucket_count>> buckets_;
};

class alignas(cache_line) match_lists {
 public:
  void post(operation& op) {
    if (!has_room_in_row()) [[unlikely]]
      return post_beyond_row(op);
    post_in_row(op);
  }
  [[nodiscard]] bool has_room_in_row() const noexcept {
    return listed_ == 0 && row_end_ != row_max;
  }
  // post() for a caller that has seen has_room_in_row().
  [[gnu::always_inline]] void post_in_row(operation& op) noexcept {
    if (row_end_ == 0) first_ = &op;
    row_[row_end_++] = &op;
    op.posted_in = &row_;
  }
  void withdraw(operation& op) noexcept {
    if (op.posted_in != &row_) return unlist(*static_cast<exact_list*>(op.posted_in), op);
    const auto at = std::find(row_.begin() + row_begin_, row_.begin() + row_end_, &op);
    (void)take_out_of_row(static_cast<std::uint32_t>(at - row_.begin()));
  }
  // Takes out the oldest receive that matches the message; null when there is none.
  [[nodiscard]] operation* take_posted(packed_envelope message) {
    if (listed_ != 0) return take_listed(message.unpacked());
    operation* const first = first_;
    if (first == nullptr) return nullptr;
    if (matches(first->match, message)) {
      take_first_out_of_row();
      return first;
    }
    const std::uint32_t at = search_behind_first(message);
    return at != no_place ? take_out_of_row(at) : nullptr;
  }
  // The parts of take_posted() while all receives stand in the row. first_in_row(): the oldest, null when there is
  // none. search_behind_first(): the place of the oldest other receive that matches, or no_place. in_row(): the
  // receive at a place. They take nothing out.
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};
  [[nodiscard]] operation* first_in_row() const noexcept { return first_; }
  [[nodiscard, gnu::noinline]] std::uint32_t search_behind_first(packed_envelope message) noexcept {
    const std::uint32_t begin = row_begin_ + 1;
    if (begin < marks_end_) {
      const std::uint32_t at = row_marks_.find(
          begin, marks_end_, mark_of(message.unpacked()),
          [&](std::uint32_t a) { return row_[a] != nullptr && matches(row_[a]->match, message); });
      if (at != no_place) return at;
    }
    // The receives from here on have no marks yet. Setting all marks and then reading them would wait for the stores.
    for (std::uint32_t at = std::max(marks_end_, begin); at < row_end_; ++at) {
      const operation* const posted = row_[at];
      marks_end_ = at + 1;
      if (posted == nullptr) continue;
      row_marks_.set(at, mark_of(posted->match));
      if (matches(posted->match, message)) return at;
    }
    return no_place;
  }
  [[nodiscard]] operation& in_row(std::uint32_t at) const noexcept { return *row_[at]; }
  [[gnu::always_inline]] void take_first_out_of_row() noexcept {
    first_->posted_in = nullptr;
    if (row_end_ - row_begin_ == 1) {
      clear_row();
    } else {
      while (row_[++row_begin_] == nullptr) {
      }  // It ends: the last place holds a receive.
      first_ = row_[row_begin_];
    }
  }
  operation* take_out_of_row(std::uint32_t at) noexcept {
    operation* const taken = row_[at];
    if (taken == first_) {
      take_first_out_of_row();
    } else {
      taken->posted_in = nullptr;
      leave_gap(at);
    }
    return taken;
  }

  [[nodiscard]] bool has_posted() const noexcept { return first_ != nullptr || listed_ != 0; }

  void add(unexpected_message& m) {
    bucket(m).push_back(m);
    order_.push_back(m);
    waiting_bytes_ += memory_of(m);
  }
  void remove(unexpected_message& m) {
    bucket(m).remove(m);
    order_.remove(m);
    waiting_bytes_ -= memory_of(m);
  }
  [[nodiscard]] bool has_unexpected() const noexcept { return order_.front() != nullptr; }
  // The oldest message that `wanted` matches; it stays in the lists.
  [[nodiscard]] unexpected_message* find(const envelope& wanted) {
    if (!has_unexpected()) return nullptr;
    if (!has_wildcard(wanted)) {
      unexpected_message* m = unexpected_.at(wanted).front();
      while (m != nullptr && !matches(wanted, m->from)) m = bucket_list::after(*m);
      return m;
    }
    return find_next(wanted, order_.front());
  }
  [[nodiscard]] static unexpected_message* find_next(const envelope& wanted,
                                                     unexpected_message* m) noexcept {
    while (m != nullptr && !matches(wanted, m->from)) m = order_list::after(*m);
    return m;
  }
  [[nodiscard]] static unexpected_message* after(const unexpected_message& m) noexcept {
    return order_list::after(m);
  }
  // Bytes that a message takes with its struct, so that a flood of empty messages counts as well.
  [[nodiscard]] static std::size_t memory_of(const unexpected_message& m) noexcept {
    return sizeof m + m.bytes;
  }
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }
  // Calls `visit(operation&)` for every posted receive; it may not change the lists.
  template <class Visit>
  void each_posted(Visit&& visit) {
    const auto all = [&](const exact_list& list) {
      for (operation* op = list.front(); op != nullptr; op = exact_list::after(*op)) visit(*op);
    };
    all(wild_);
    exact_.each_list(all);
    for (std::uint32_t at = row_begin_; at < row_end_; ++at)
      if (row_[at] != nullptr) visit(*row_[at]);
  }
  [[nodiscard]] unexpected_message* oldest() const noexcept { return order_.front(); }

 private:
  static constexpr std::uint32_t row_max = 64;
  using exact_list = linked_list<operation, &operation::in_list>;
  using bucket_list = linked_list<unexpected_message, &unexpected_message::in_bucket>;
  using order_list = linked_list<unexpected_message, &unexpected_message::in_order>;
  [[nodiscard]] bucket_list& bucket(const unexpected_message& m) { return unexpected_.at(m.from); }
  // One byte for each place of the row, so that eight receives are compared at once: seven bits of a hash of context
  // and source, and one bit for any_source.
  class marks {
   public:
    static constexpr std::uint32_t any = 0x80;
    // Negative sources are any_source.
    [[nodiscard]] static constexpr std::uint32_t of(std::uint32_t context,
                                                    std::int32_t source) noexcept {
      const auto unsigned_source = static_cast<std::uint32_t>(source);
      return ((context * 5 + unsigned_source) & (any - 1)) | (unsigned_source >> 24 & any);
    }
    void set(std::uint32_t at, std::uint32_t mark) noexcept {
      bytes_[at] = static_cast<std::uint8_t>(mark);
    }
    // The first place in [begin, end) whose mark is `mark` or has the bit `any`, and for which accepts(place) is true.
    template <class Accepts>
    [[nodiscard]] std::uint32_t find(std::uint32_t begin, std::uint32_t end, std::uint32_t mark,
                                     const Accepts& accepts) const noexcept {
      constexpr std::uint64_t ones = 0x0101010101010101, low = 0x7f * ones, high = 0x80 * ones;
      std::uint64_t wanted = ~std::uint64_t{0} << begin % 8 * 8;
      for (std::uint32_t first = begin & ~7u; first < end; first += 8) {
        std::uint64_t word;
        std::memcpy(&word, &bytes_[first], sizeof word);
        // Sets the highest bit of each byte whose lower seven bits are equal to the mark's, or that has the bit `any`.
        std::uint64_t found = (~(((word ^ mark * ones) & low) + low) | word) & high & wanted;
        for (; found != 0; found &= found - 1) {
          const auto at = first + static_cast<std::uint32_t>(std::countr_zero(found)) / 8;
          if (at >= end) return no_place;
          if (accepts(at)) return at;
        }
        wanted = ~std::uint64_t{0};
      }
      return no_place;
    }

   private:
    alignas(8) std::array<std::uint8_t, row_max> bytes_{};
  };
  [[nodiscard]] static std::uint32_t mark_of(const envelope& e) noexcept {
    return marks::of(e.context, e.source);
  }
  [[gnu::noinline]] void post_beyond_row(operation& newest) {
    if (listed_ == 0) {
      close_gaps();
      if (row_end_ <= row_max / 2) return post(newest);  // The next time is row_max / 2 posts away.
    }
    list_row();
    list(newest);
  }
  void close_gaps() noexcept {
    std::uint32_t kept = 0;
    for (std::uint32_t at = row_begin_; at < row_end_; ++at)
      if (row_[at] != nullptr) row_[kept++] = row_[at];
    row_begin_ = marks_end_ = 0;
    row_end_ = kept;
  }
  void list_row() {
    for (std::uint32_t at = row_begin_; at < row_end_; ++at)
      if (row_[at] != nullptr) list(*row_[at]);
    clear_row();
  }
  void clear_row() noexcept {
    row_begin_ = row_end_ = marks_end_ = 0;
    first_ = nullptr;
  }
  void list(operation& op) {
    exact_list& list = has_wildcard(op.match) ? wild_ : exact_.at(op.match);
    op.number = ++listed_count_;
    ++listed_;
    wildcards_ += &list == &wild_;
    list.push_back(op);
    op.posted_in = &list;
  }
  void unlist(exact_list& from, operation& op) noexcept {
    --listed_;
    wildcards_ -= &from == &wild_;
    from.remove(op);
    op.posted_in = nullptr;
  }
  // The receive at `at`, which is not the first, has been taken out.
  void leave_gap(std::uint32_t at) noexcept {
    row_[at] = nullptr;
    while (row_[row_end_ - 1] == nullptr) --row_end_;
    marks_end_ = std::min(marks_end_, row_end_);
  }
  [[nodiscard, gnu::noinline]] operation* take_listed(const envelope& message) {
    exact_list& exact = exact_.at(message);
    operation* found = exact.front();
    while (found != nullptr && !matches(found->match, message)) found = exact_list::after(*found);
    if (wildcards_ != 0) [[unlikely]] {
      operation* wild = wild_.front();
      while (wild != nullptr && !matches(wild->match, message)) wild = exact_list::after(*wild);
      if (wild != nullptr && (found == nullptr || wild->number < found->number)) {
        unlist(wild_, *wild);
        return wild;
      }
    }
    if (found != nullptr) unlist(exact, *found);
    return found;
  }

  // All posted receives stand in the row, oldest first; or, after they became too many, all are in lists until none is
  // posted. A receive that is taken out of the middle leaves a gap, a null; the first and the last place of the row
  // hold receives. The first search that passes a place sets its mark: most messages are for the first receive and
  // need none. When the row becomes empty it begins again at place 0, so that one receive after another uses one
  // cache line.
  operation* first_ = nullptr;  // The first receive of the row, here to be found by one load.
  order_list order_;
  std::size_t listed_ = 0;
  std::uint32_t row_begin_ = 0;
  std::uint32_t row_end_ = 0;
  std::uint32_t marks_end_ = 0;  // Receives behind the first and before this place have marks.
  std::array<operation*, row_max> row_;
  marks row_marks_;
  std::size_t wildcards_ = 0;  // The number of receives in wild_.
  hashed_lists<operation, &operation::in_list> exact_;
  exact_list wild_;
  std::uint64_t listed_count_ = 0;
  hashed_lists<unexpected_message, &unexpected_message::in_bucket> unexpected_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace weft::detail
