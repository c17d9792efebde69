// Ranks and their messages: point-to-point, collectives, communicators (MPI 4.1 chapters 3, 6, 7 in
// C++; Pure section 3). A rank is a fiber; all of this is called by ranks, each on its own handles.
//
// What can be sent: a trivially copyable value, a contiguous range of such elements (vector, array,
// span, string), or a layout (layout.hpp): data that do not lie in a row. Received ranges are filled in place and are never longer than they were.
// Misuse and truncation throw weft::error; a message is one line with rank, value, limit, remedy.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/element.hpp"
#include "weft/error.hpp"
#include "weft/layout.hpp"
#include "weft/reduction.hpp"

namespace weft {

inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;
inline constexpr int proc_null = -2;        // Sends to and receives from it do nothing.
inline constexpr int undefined_color = -1;  // split(): no communicator for this rank.

struct message_status {
  int source = proc_null;  // Rank in the communicator.
  int tag = any_tag;
  std::size_t bytes = 0;
  // Whole elements of T in the message.
  template <class T>
  [[nodiscard]] std::size_t count() const noexcept {
    return bytes / sizeof(T);
  }
};

// What a message can be made of, and received into.
template <class M>
concept lasting_message = lasting_value<M> || lasting_range<M> || any_layout<M>;
template <class M>
concept message_room = writable_range<M> || writable_layout<M>;
template <class M>
concept lasting_room = lasting_writable_value<M> || message_room<M>;

namespace detail {
struct operation;
struct unexpected_message;
struct communicator_state;
enum class send_mode : std::uint8_t { standard, synchronous, buffered };
// Of a collective without one, and of one whose result all ranks get.
inline constexpr int no_root = std::numeric_limits<int>::min();
}  // namespace detail

// A started, non-blocking operation. Its memory must outlive it: wait() or test() to the end before
// the buffers go away; destroying a request that is still active ends the program with a message.
class request {
 public:
  request() noexcept = default;  // Nothing to wait for.
  explicit request(detail::operation* started) noexcept : operation_(started) {}
  request(request&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  request& operator=(request&& other) noexcept {
    const request before(std::exchange(operation_, std::exchange(other.operation_, nullptr)));
    return *this;
  }
  ~request() {
    if (operation_ != nullptr) release();
  }

  message_status wait();
  // False when not complete yet; other fibers of this worker have then had their turn.
  [[nodiscard]] bool test(message_status* status = nullptr);
  void start();   // Of a persistent request (send_init, recv_init) that is not active.
  void cancel();  // Withdraws a receive that no message has matched; else does nothing.
  // Started and not yet waited for.
  [[nodiscard]] bool active() const noexcept;
  // For faces that wait in their own way.
  [[nodiscard]] detail::operation* started() const noexcept { return operation_; }

 private:
  friend void wait_all(std::span<request>);
  friend std::size_t wait_any(std::span<request>, message_status*);
  friend std::vector<std::size_t> wait_some(std::span<request>);
  friend bool test_all(std::span<request>);
  void release() noexcept;
  detail::operation* operation_ = nullptr;
};

void wait_all(std::span<request> requests);
// The index of one that has completed; requests.size() when none was active.
std::size_t wait_any(std::span<request> requests, message_status* status = nullptr);
// At least one index, unless none was active.
[[nodiscard]] std::vector<std::size_t> wait_some(std::span<request> requests);
[[nodiscard]] bool test_all(std::span<request> requests);

// A message taken out of the matching by mprobe(): only its holder can receive it.
class message {
 public:
  message(message&& other) noexcept
      : state_(std::move(other.state_)),
        self_(other.self_),
        taken_(std::exchange(other.taken_, nullptr)),
        status_(other.status_) {}
  // What was held before is discarded, unless it has been received.
  message& operator=(message&& other) noexcept {
    message before(std::move(other));
    std::swap(state_, before.state_);
    std::swap(self_, before.self_);
    std::swap(taken_, before.taken_);
    std::swap(status_, before.status_);
    return *this;
  }
  ~message();  // A message not received is discarded.

  [[nodiscard]] const message_status& status() const noexcept { return status_; }
  // Into memory; shorter messages are fine, longer ones throw with both sizes.
  template <lasting_room R>
  message_status recv(R&& into) {
    return receive(writable_bytes_of(into));
  }
  template <element T>
  [[nodiscard]] std::vector<T> recv_vector() {
    if (status_.bytes % sizeof(T) != 0) [[unlikely]]
      refuse_elements(sizeof(T));
    std::vector<T> all(status_.count<T>());
    receive(std::as_writable_bytes(std::span(all)));
    return all;
  }

 private:
  friend class communicator;
  message(std::shared_ptr<detail::communicator_state> state, int self,
          detail::unexpected_message* taken, message_status status) noexcept
      : state_(std::move(state)), self_(self), taken_(taken), status_(status) {}
  message_status receive(std::span<std::byte> into);
  message_status receive(const detail::segments& into);
  [[gnu::cold, noreturn]] void refuse_elements(std::size_t element_bytes) const;

  std::shared_ptr<detail::communicator_state> state_;
  int self_;  // The rank that took it.
  detail::unexpected_message* taken_;
  message_status status_;
};

// A group of ranks with message traffic of its own. A cheap handle: copy it at will, but use it on
// the rank that it was given to.
class communicator {
 public:
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept;

  // --- Messages ------------------------------------------------------------------------------
  // Blocking: the data may be changed afterwards. Long messages wait for their receive.
  void send(const auto& data, int to, int tag = 0) const {
    send_bytes(bytes_of(data), to, tag, detail::send_mode::standard);
  }
  // Returns when the receive has begun.
  void ssend(const auto& data, int to, int tag = 0) const {
    send_bytes(bytes_of(data), to, tag, detail::send_mode::synchronous);
  }
  // Never waits for the receiver: what cannot go at once is copied.
  void bsend(const auto& data, int to, int tag = 0) const {
    send_bytes(bytes_of(data), to, tag, detail::send_mode::buffered);
  }
  [[nodiscard]] request isend(lasting_message auto&& data, int to, int tag = 0) const {
    return isend_bytes(bytes_of(data), to, tag, detail::send_mode::standard);
  }
  [[nodiscard]] request issend(lasting_message auto&& data, int to, int tag = 0) const {
    return isend_bytes(bytes_of(data), to, tag, detail::send_mode::synchronous);
  }

  // One value.
  template <element T>
  [[nodiscard]] T recv(int from = any_source, int tag = any_tag,
                       message_status* status = nullptr) const {
    T value{};
    const message_status got = recv_bytes(std::as_writable_bytes(std::span(&value, 1)), from, tag);
    if (got.bytes != sizeof(T) && from != proc_null) [[unlikely]]
      refuse_size(sizeof(T), got);
    if (status != nullptr) *status = got;
    return value;
  }
  // Into memory; shorter messages are fine, longer ones throw with both sizes.
  // One variable only with `from`: in recv(source) it would be the source that is overwritten.
  message_status recv(lasting_room auto&& into, int from, int tag = any_tag) const {
    return recv_bytes(writable_bytes_of(into), from, tag);
  }
  message_status recv(message_room auto&& into) const { return recv(into, any_source); }
  // As many elements as arrive.
  template <element T>
  [[nodiscard]] std::vector<T> recv_vector(int from = any_source, int tag = any_tag,
                                           message_status* status = nullptr) const {
    message next = mprobe(from, tag);
    if (status != nullptr) *status = next.status();
    return next.recv_vector<T>();
  }
  // One variable only with `from`, as in recv().
  [[nodiscard]] request irecv(lasting_room auto&& into, int from, int tag = any_tag) const {
    return irecv_bytes(writable_bytes_of(into), from, tag);
  }
  [[nodiscard]] request irecv(message_room auto&& into) const { return irecv(into, any_source); }

  // Both at once, so that two ranks that give each other something do not wait for each other.
  message_status sendrecv(const auto& out, int to, lasting_room auto&& in, int from,
                          int send_tag = 0, int recv_tag = any_tag) const {
    request receiving = irecv(in, from, recv_tag);
    send(out, to, send_tag);
    return receiving.wait();
  }

  // Persistent: set up once, start() as often as wanted.
  [[nodiscard]] request send_init(lasting_message auto&& data, int to, int tag = 0) const {
    return send_init_bytes(bytes_of(data), to, tag);
  }
  [[nodiscard]] request recv_init(lasting_room auto&& into, int from, int tag = any_tag) const {
    return recv_init_bytes(writable_bytes_of(into), from, tag);
  }

  // Looks at the next matching message without taking it.
  message_status probe(int from = any_source, int tag = any_tag) const;
  [[nodiscard]] std::optional<message_status> iprobe(int from = any_source,
                                                     int tag = any_tag) const;
  // Takes it out of the matching, to be received later.
  [[nodiscard]] message mprobe(int from = any_source, int tag = any_tag) const;
  [[nodiscard]] std::optional<message> improbe(int from = any_source, int tag = any_tag) const;

  // --- Collectives: every rank of the communicator calls the same one, in the same order --------
  // The output of a rank may be its own input or overlap it, but nothing that another rank passes.
  void barrier() const;

  void bcast(writable_range auto&& data, int root) const {
    bcast_bytes(writable_bytes_of(data), root);
  }
  template <element T>
  [[nodiscard]] T bcast(T value, int root) const {
    bcast_bytes(std::as_writable_bytes(std::span(&value, 1)), root);
    return value;
  }

  // Element by element over all ranks; the same result every time, and in rank order where the
  // operation is non_commutative. Valid on `root` only.
  template <element T, class Op>
  T reduce(const T& value, Op op, int root) const {
    T result = value;
    reduce_elements(&value, &result, make_reduction<T>(op, 1), root, "reduce");
    return result;
  }
  template <element_range In, result_range_of<In> Out, class Op>
  void reduce(const In& in, Out&& out, Op op, int root) const {
    using T = std::ranges::range_value_t<In>;
    if (rank() == root) check_same_size(std::ranges::size(in), std::ranges::size(out), "reduce");
    reduce_elements(std::ranges::data(in), std::ranges::data(out),
                    make_reduction<T>(op, std::ranges::size(in)), root, "reduce");
  }
  template <element T, class Op>
  [[nodiscard]] T allreduce(const T& value, Op op) const {
    T result = value;
    reduce_elements(&value, &result, make_reduction<T>(op, 1), detail::no_root, "allreduce");
    return result;
  }
  template <element_range In, result_range_of<In> Out, class Op>
  void allreduce(const In& in, Out&& out, Op op) const {
    using T = std::ranges::range_value_t<In>;
    check_same_size(std::ranges::size(in), std::ranges::size(out), "allreduce");
    reduce_elements(std::ranges::data(in), std::ranges::data(out),
                    make_reduction<T>(op, std::ranges::size(in)), detail::no_root, "allreduce");
  }
  template <writable_range R, class Op>
  requires(!element_range<Op>) void allreduce(R&& inout, Op op) const {
    allreduce(inout, inout, op);
  }
  // Rank r gets the reduction of ranks 0..r (exscan: 0..r-1; rank 0 keeps its value).
  template <element T, class Op>
  [[nodiscard]] T scan(const T& value, Op op) const {
    T result = value;
    scan_elements(&value, &result, make_reduction<T>(op, 1), true);
    return result;
  }
  template <element T, class Op>
  [[nodiscard]] T exscan(const T& value, Op op) const {
    T result = value;
    scan_elements(&value, &result, make_reduction<T>(op, 1), false);
    return result;
  }
  template <element_range In, result_range_of<In> Out, class Op>
  void scan(const In& in, Out&& out, Op op) const {
    check_same_size(std::ranges::size(in), std::ranges::size(out), "scan");
    scan_elements(std::ranges::data(in), std::ranges::data(out),
                  make_reduction<std::ranges::range_value_t<In>>(op, std::ranges::size(in)), true);
  }
  template <writable_range R, class Op>
  void scan(R&& inout, Op op) const {
    scan(inout, inout, op);
  }
  template <element_range In, result_range_of<In> Out, class Op>
  void exscan(const In& in, Out&& out, Op op) const {
    check_same_size(std::ranges::size(in), std::ranges::size(out), "exscan");
    scan_elements(std::ranges::data(in), std::ranges::data(out),
                  make_reduction<std::ranges::range_value_t<In>>(op, std::ranges::size(in)), false);
  }
  template <writable_range R, class Op>
  void exscan(R&& inout, Op op) const {
    exscan(inout, inout, op);
  }
  // `in` holds size() blocks of out.size() elements; rank r gets the reduction of block r.
  template <element_range In, result_range_of<In> Out, class Op>
  void reduce_scatter(const In& in, Out&& out, Op op) const {
    using T = std::ranges::range_value_t<In>;
    check_same_size(std::ranges::size(in),
                    std::ranges::size(out) * static_cast<std::size_t>(size()), "reduce_scatter");
    reduce_scatter_elements(std::ranges::data(in), std::ranges::data(out),
                            make_reduction<T>(op, std::ranges::size(out)));
  }

  // On the root: one value of each rank, in rank order; elsewhere empty.
  template <element T>
  [[nodiscard]] std::vector<T> gather(const T& value, int root) const {
    std::vector<T> all(rank() == root ? static_cast<std::size_t>(size()) : 0);
    gather_bytes(bytes_of(value), std::as_writable_bytes(std::span(all)), root);
    return all;
  }
  // `out` (on the root) holds size() blocks of in.size() elements.
  void gather(const element_range auto& in, writable_range auto&& out, int root) const {
    gather_bytes(bytes_of(in), writable_bytes_of(out), root);
  }
  // Ranges of any lengths, one after the other in rank order; `counts` gets their lengths.
  template <element_range In>
  [[nodiscard]] auto gatherv(const In& in, int root,
                             std::vector<std::size_t>* counts = nullptr) const {
    using T = std::ranges::range_value_t<In>;
    return concatenated<T>(bytes_of(in), root, counts);
  }
  template <element T>
  [[nodiscard]] std::vector<T> allgather(const T& value) const {
    std::vector<T> all(static_cast<std::size_t>(size()));
    gather_bytes(bytes_of(value), std::as_writable_bytes(std::span(all)), detail::no_root);
    return all;
  }
  void allgather(const element_range auto& in, writable_range auto&& out) const {
    gather_bytes(bytes_of(in), writable_bytes_of(out), detail::no_root);
  }
  template <element_range In>
  [[nodiscard]] auto allgatherv(const In& in, std::vector<std::size_t>* counts = nullptr) const {
    using T = std::ranges::range_value_t<In>;
    return concatenated<T>(bytes_of(in), detail::no_root, counts);
  }
  // Block r of the root's `in` goes to rank r; `in` is looked at on the root only.
  void scatter(const element_range auto& in, writable_range auto&& out, int root) const {
    scatter_bytes(bytes_of(in), writable_bytes_of(out), root);
  }
  template <element_range In>
  [[nodiscard]] auto scatter(const In& values, int root) const {
    std::ranges::range_value_t<In> mine{};
    scatter_bytes(bytes_of(values), std::as_writable_bytes(std::span(&mine, 1)), root);
    return mine;
  }
  // Rank r gets counts[r] elements, which follow one another in the root's `in`.
  template <element_range In>
  [[nodiscard]] auto scatterv(const In& in, const std::vector<std::size_t>& counts,
                              int root) const {
    using T = std::ranges::range_value_t<In>;
    const std::vector<std::byte> mine = scatterv_bytes(bytes_of(in), counts, sizeof(T), root);
    return elements_of<T>(mine);
  }
  // Block r of `in` goes to rank r, which finds it as block rank() of its `out`.
  template <element_range In>
  void alltoall(const In& in, writable_range auto&& out) const {
    alltoall_bytes(bytes_of(in), writable_bytes_of(out), sizeof(std::ranges::range_value_t<In>));
  }
  template <element_range In>
  [[nodiscard]] auto alltoall(const In& in) const {
    using T = std::ranges::range_value_t<In>;
    std::vector<T> out(std::ranges::size(in));
    alltoall_bytes(bytes_of(in), std::as_writable_bytes(std::span(out)), sizeof(T));
    return out;
  }
  // counts[r] elements of `in` go to rank r; what arrives stands in rank order.
  template <element_range In>
  [[nodiscard]] auto alltoallv(const In& in, const std::vector<std::size_t>& counts,
                               std::vector<std::size_t>* arrived = nullptr) const {
    return transposed<std::ranges::range_value_t<In>>(bytes_of(in), counts, arrived);
  }

  // Non-blocking twins: the buffers belong to the collective until the request is complete. Reductions
  // take one variable as well as a range.
  [[nodiscard]] request ibarrier() const {
    return start_collective([self = *this] { self.barrier(); });
  }
  [[nodiscard]] request ibcast(writable_range auto&& data, int root) const {
    return start_collective(
        [self = *this, to = writable_bytes_of(data), root] { self.bcast_bytes(to, root); });
  }
  template <lasting_elements In, result_elements_of<In> Out, class Op>
  [[nodiscard]] request ireduce(In&& in, Out&& out, Op op, int root) const {
    return start_collective([self = *this, from = span_of(in), to = span_of(out), op, root] {
      self.reduce(from, to, op, root);
    });
  }
  template <lasting_elements In, result_elements_of<In> Out, class Op>
  [[nodiscard]] request iallreduce(In&& in, Out&& out, Op op) const {
    return start_collective([self = *this, from = span_of(in), to = span_of(out), op] {
      self.allreduce(from, to, op);
    });
  }
  template <writable_elements M, class Op>
  [[nodiscard]] request iallreduce(M&& inout, Op op) const {
    return iallreduce(inout, inout, op);
  }
  template <lasting_elements In, result_elements_of<In> Out, class Op>
  [[nodiscard]] request iscan(In&& in, Out&& out, Op op) const {
    return start_collective(
        [self = *this, from = span_of(in), to = span_of(out), op] { self.scan(from, to, op); });
  }
  template <writable_elements M, class Op>
  [[nodiscard]] request iscan(M&& inout, Op op) const {
    return iscan(inout, inout, op);
  }
  template <lasting_elements In, result_elements_of<In> Out, class Op>
  [[nodiscard]] request iexscan(In&& in, Out&& out, Op op) const {
    return start_collective(
        [self = *this, from = span_of(in), to = span_of(out), op] { self.exscan(from, to, op); });
  }
  template <writable_elements M, class Op>
  [[nodiscard]] request iexscan(M&& inout, Op op) const {
    return iexscan(inout, inout, op);
  }
  template <lasting_range In, result_range_of<In> Out, class Op>
  [[nodiscard]] request ireduce_scatter(In&& in, Out&& out, Op op) const {
    return start_collective([self = *this, from = std::span(in), to = std::span(out), op] {
      self.reduce_scatter(from, to, op);
    });
  }
  [[nodiscard]] request igather(lasting_range auto&& in, writable_range auto&& out,
                                int root) const {
    return start_collective([self = *this, from = bytes_of(in), to = writable_bytes_of(out), root] {
      self.gather_bytes(from, to, root);
    });
  }
  [[nodiscard]] request iallgather(lasting_range auto&& in, writable_range auto&& out) const {
    return start_collective([self = *this, from = bytes_of(in), to = writable_bytes_of(out)] {
      self.gather_bytes(from, to, detail::no_root);
    });
  }
  [[nodiscard]] request iscatter(lasting_range auto&& in, writable_range auto&& out,
                                 int root) const {
    return start_collective([self = *this, from = bytes_of(in), to = writable_bytes_of(out), root] {
      self.scatter_bytes(from, to, root);
    });
  }
  template <lasting_range In>
  [[nodiscard]] request ialltoall(In&& in, writable_range auto&& out) const {
    return start_collective([self = *this, from = bytes_of(in), to = writable_bytes_of(out)] {
      self.alltoall_bytes(from, to, sizeof(std::ranges::range_value_t<In>));
    });
  }

  // With lengths of each rank's own: `out`, and the vector of lengths where one is given, are assigned
  // by the end of the request and must live until then. `counts` is copied.
  template <lasting_range In>
  [[nodiscard]] request igatherv(In&& in, std::vector<std::ranges::range_value_t<In>>& out,
                                 int root, std::vector<std::size_t>* counts = nullptr) const {
    return start_collective([self = *this, from = std::span(in), to = &out, root, counts] {
      *to = self.gatherv(from, root, counts);
    });
  }
  template <lasting_range In>
  [[nodiscard]] request iallgatherv(In&& in, std::vector<std::ranges::range_value_t<In>>& out,
                                    std::vector<std::size_t>* counts = nullptr) const {
    return start_collective([self = *this, from = std::span(in), to = &out, counts] {
      *to = self.allgatherv(from, counts);
    });
  }
  template <lasting_range In>
  [[nodiscard]] request iscatterv(In&& in, std::vector<std::size_t> counts,
                                  std::vector<std::ranges::range_value_t<In>>& out,
                                  int root) const {
    using T = std::ranges::range_value_t<In>;
    return start_collective(
        [self = *this, from = bytes_of(in), lengths = std::move(counts), to = &out, root] {
          *to = elements_of<T>(self.scatterv_bytes(from, lengths, sizeof(T), root));
        });
  }
  template <lasting_range In>
  [[nodiscard]] request ialltoallv(In&& in, std::vector<std::size_t> counts,
                                   std::vector<std::ranges::range_value_t<In>>& out,
                                   std::vector<std::size_t>* arrived = nullptr) const {
    using T = std::ranges::range_value_t<In>;
    return start_collective([self = *this, from = bytes_of(in), lengths = std::move(counts),
                             to = &out,
                             arrived] { *to = self.transposed<T>(from, lengths, arrived); });
  }

  // --- New communicators: collective over this one -----------------------------------------------
  // Ranks of equal colour, ordered by key and then by rank here. With undefined_color: nothing.
  [[nodiscard]] std::optional<communicator> split(int color, int key = 0) const;
  [[nodiscard]] communicator dup() const;
  // The listed ranks, in that order; nothing on a rank that its own list does not name. Lists may differ, as
  // {0, 2} and {1, 3}: each makes a communicator of its own. Throws weft::error on all ranks when a listed
  // rank has passed another list.
  [[nodiscard]] std::optional<communicator> create(std::span<const int> ranks) const;
  // The ranks that share this node's memory.
  [[nodiscard]] communicator split_node() const;
  // Only this rank.
  [[nodiscard]] communicator self() const;

  explicit communicator(std::shared_ptr<detail::communicator_state> state, int rank) noexcept
      : state_(std::move(state)), rank_(rank) {}
  [[nodiscard]] detail::communicator_state& state() const noexcept { return *state_; }
  [[nodiscard]] const std::shared_ptr<detail::communicator_state>& shared_state() const noexcept {
    return state_;
  }

 private:
  void send_bytes(std::span<const std::byte> data, int to, int tag, detail::send_mode mode) const;
  message_status recv_bytes(std::span<std::byte> into, int from, int tag) const;
  // A message of another size than the value that it was received into.
  [[gnu::cold, noreturn]] void refuse_size(std::size_t value_bytes, message_status got) const;
  request isend_bytes(std::span<const std::byte> data, int to, int tag,
                      detail::send_mode mode) const;
  request irecv_bytes(std::span<std::byte> into, int from, int tag) const;
  request send_init_bytes(std::span<const std::byte> data, int to, int tag) const;
  request recv_init_bytes(std::span<std::byte> into, int from, int tag) const;
  // The same for layouts.
  void send_bytes(const detail::segments& data, int to, int tag, detail::send_mode mode) const;
  message_status recv_bytes(const detail::segments& into, int from, int tag) const;
  request isend_bytes(const detail::segments& data, int to, int tag, detail::send_mode mode) const;
  request irecv_bytes(const detail::segments& into, int from, int tag) const;
  request send_init_bytes(const detail::segments& data, int to, int tag) const;
  request recv_init_bytes(const detail::segments& into, int from, int tag) const;

  void bcast_bytes(std::span<std::byte> data, int root) const;
  void reduce_elements(const void* in, void* out, const reduction& how, int root,
                       const char* call) const;
  void scan_elements(const void* in, void* out, const reduction& how, bool inclusive) const;
  void reduce_scatter_elements(const void* in, void* out, const reduction& how) const;
  void gather_bytes(std::span<const std::byte> in, std::span<std::byte> out, int root) const;
  void scatter_bytes(std::span<const std::byte> in, std::span<std::byte> out, int root) const;
  void alltoall_bytes(std::span<const std::byte> in, std::span<std::byte> out,
                      std::size_t element_bytes) const;
  // These allocate `all` once the lengths are known.
  std::vector<std::byte> gatherv_bytes(std::span<const std::byte> in, int root,
                                       std::vector<std::size_t>& bytes) const;
  std::vector<std::byte> scatterv_bytes(std::span<const std::byte> in,
                                        const std::vector<std::size_t>& counts,
                                        std::size_t element_bytes, int root) const;
  std::vector<std::byte> alltoallv_bytes(std::span<const std::byte> in,
                                         const std::vector<std::size_t>& counts,
                                         std::size_t element_bytes,
                                         std::vector<std::size_t>& arrived) const;
  request start_collective(std::function<void()> body) const;
  void check_same_size(std::size_t in, std::size_t out, const char* call) const;

  template <class T>
  static std::vector<T> elements_of(const std::vector<std::byte>& bytes) {
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty())
      std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(elements)).begin());
    return elements;
  }
  template <class T>
  std::vector<T> concatenated(std::span<const std::byte> in, int root,
                              std::vector<std::size_t>* counts) const {
    std::vector<std::size_t> bytes;
    const std::vector<std::byte> all = gatherv_bytes(in, root, bytes);
    if (counts != nullptr) {
      counts->clear();
      for (const std::size_t b : bytes) counts->push_back(b / sizeof(T));
    }
    return elements_of<T>(all);
  }

  template <class T>
  std::vector<T> transposed(std::span<const std::byte> in, const std::vector<std::size_t>& counts,
                            std::vector<std::size_t>* arrived) const {
    std::vector<std::size_t> bytes;
    const std::vector<std::byte> all = alltoallv_bytes(in, counts, sizeof(T), bytes);
    if (arrived != nullptr) {
      arrived->clear();
      for (const std::size_t b : bytes) arrived->push_back(b / sizeof(T));
    }
    return elements_of<T>(all);
  }

  std::shared_ptr<detail::communicator_state> state_;
  int rank_;
};

}  // namespace weft
