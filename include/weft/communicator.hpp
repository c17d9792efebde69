// Ranks and their messages: point-to-point, collectives, communicators (MPI 4.1 chapters 3, 6, 7 in
// C++; Pure section 3). A rank is a fiber; all of this is called by ranks, each on its own handles.
//
// What can be sent: a trivially copyable value without addresses in it, a range of such elements (vector, array, span,
// string; of a list or a view a copy is sent), a layout (layout.hpp): data that do not lie in a row, or any other object
// through serialization (serialization.hpp). A range that is received into is filled in place and is never longer than it
// was; recv<std::vector<T>>() makes one that is as long as the message.
// Misuse and truncation throw weft::error; a message is one line with rank, value, limit, remedy.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
#include "weft/sendable.hpp"
#include "weft/shared_handle.hpp"

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

namespace detail {
struct operation;
struct unexpected_message;
struct communicator_state;
void add_owner(communicator_state& of) noexcept;
void remove_owner(communicator_state& of) noexcept;
enum class send_mode : std::uint8_t { standard, synchronous, buffered };
// What recv<T>() returns.
template <class T>
struct received_type {
  using type = T;
};
template <serialized_form T>
struct received_type<T> {
  using type = typename T::value_type;
};
template <class T>
using received = typename received_type<T>::type;
// It stands for the root of a collective without one, and of one whose result all ranks get.
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
  // Faces use it that wait in their own way.
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
  template <class R>
  message_status recv(R&& into) {
    if constexpr (serialized_form<R>) {
      into.unpack(recv<std::vector<std::byte>>());
      return status_;
    } else {
      return receive(detail::room_of(std::forward<R>(into)));
    }
  }
  // One value, a std::vector or std::string of what has come, or the object that was sent serialized.
  template <class T>
  [[nodiscard]] detail::received<T> recv() {
    if constexpr (serialized_form<T>) {
      return T::unpacked(recv<std::vector<std::byte>>());
    } else if constexpr (element<T>) {
      if (status_.bytes != sizeof(T) && status_.source != proc_null) [[unlikely]]
        refuse_value(sizeof(T));
      T value{};
      receive(std::as_writable_bytes(std::span(&value, 1)));
      return value;
    } else if constexpr (growing_range<T>) {
      using each = std::ranges::range_value_t<T>;
      if (status_.bytes % sizeof(each) != 0) [[unlikely]]
        refuse_elements(sizeof(each));
      T all{};
      all.resize(status_.count<each>());
      receive(std::as_writable_bytes(std::span(std::ranges::data(all), std::ranges::size(all))));
      return all;
    } else {
      detail::refuse<T, detail::use::make>();
      __builtin_unreachable();
    }
  }
  template <element T>
  [[nodiscard]] std::vector<T> recv_vector() {
    return recv<std::vector<T>>();
  }

 private:
  friend class communicator;
  message(detail::shared_handle<detail::communicator_state> state, int self,
          detail::unexpected_message* taken, message_status status) noexcept
      : state_(std::move(state)), self_(self), taken_(taken), status_(status) {}
  message_status receive(std::span<std::byte> into);
  message_status receive(const detail::segments& into);
  [[gnu::cold, noreturn]] void refuse_elements(std::size_t element_bytes) const;
  [[gnu::cold, noreturn]] void refuse_value(std::size_t value_bytes) const;

  detail::shared_handle<detail::communicator_state> state_;
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
    send_bytes(detail::sent(data), to, tag, detail::send_mode::standard);
  }
  // Returns when the receive has begun.
  void ssend(const auto& data, int to, int tag = 0) const {
    send_bytes(detail::sent(data), to, tag, detail::send_mode::synchronous);
  }
  // Never waits for the receiver: what cannot go at once is copied.
  void bsend(const auto& data, int to, int tag = 0) const {
    send_bytes(detail::sent(data), to, tag, detail::send_mode::buffered);
  }
  [[nodiscard]] request isend(auto&& data, int to, int tag = 0) const {
    return isend_bytes(detail::lent(std::forward<decltype(data)>(data)), to, tag,
                       detail::send_mode::standard);
  }
  [[nodiscard]] request issend(auto&& data, int to, int tag = 0) const {
    return isend_bytes(detail::lent(std::forward<decltype(data)>(data)), to, tag,
                       detail::send_mode::synchronous);
  }

  // One value; as many elements as arrive, with T a std::vector or std::string; or with T a weft::serialized<X> the X that
  // was sent as weft::serialized(x).
  template <class T>
  [[nodiscard]] detail::received<T> recv(int from = any_source, int tag = any_tag,
                                         message_status* status = nullptr) const {
    if constexpr (element<T>) {
      T value{};
      const message_status got =
          recv_bytes(std::as_writable_bytes(std::span(&value, 1)), from, tag);
      if (got.bytes != sizeof(T) && from != proc_null) [[unlikely]]
        refuse_size(sizeof(T), got);
      if (status != nullptr) *status = got;
      return value;
    } else if constexpr (growing_range<T> || serialized_form<T>) {
      message next = mprobe(from, tag);
      if (status != nullptr) *status = next.status();
      return next.recv<T>();
    } else {
      detail::refuse<T, detail::use::make>();
      __builtin_unreachable();
    }
  }
  // Into memory; shorter messages are fine, longer ones throw with both sizes.
  // One variable only with `from`: in recv(source) it would be the source that is overwritten.
  template <class R>
  requires(!std::is_integral_v<R>) message_status recv(R&& into, int from, int tag = any_tag)
  const {
    if constexpr (serialized_form<R>)
      return mprobe(from, tag).recv(into);
    else
      return recv_bytes(detail::room_of(std::forward<R>(into)), from, tag);
  }
  template <class R>
  requires(!std::is_integral_v<R>) message_status recv(R&& into)
  const {
    static_assert(!lasting_value<R>,
                  "weft: one variable is received into by recv(x, from): a single argument would "
                  "be taken for the source");
    if constexpr (serialized_form<R>)
      return mprobe().recv(into);
    else if constexpr (!lasting_value<R>)
      return recv_bytes(detail::room_of(std::forward<R>(into)), any_source, any_tag);
    else
      return {};
  }
  // It receives as many elements as arrive.
  template <element T>
  [[nodiscard]] std::vector<T> recv_vector(int from = any_source, int tag = any_tag,
                                           message_status* status = nullptr) const {
    return recv<std::vector<T>>(from, tag, status);
  }
  // One variable only with `from`, as in recv().
  [[nodiscard]] request irecv(auto&& into, int from, int tag = any_tag) const {
    return irecv_bytes(detail::room_of(std::forward<decltype(into)>(into)), from, tag);
  }
  template <class R>
  [[nodiscard]] request irecv(R&& into) const {
    static_assert(!lasting_value<R>,
                  "weft: one variable is received into by irecv(x, from): a single argument would "
                  "be taken for the source");
    if constexpr (!lasting_value<R>)
      return irecv_bytes(detail::room_of(std::forward<R>(into)), any_source, any_tag);
    else
      return request();
  }

  // Both at once, so that two ranks that give each other something do not wait for each other.
  template <class In>
  message_status sendrecv(const auto& out, int to, In&& in, int from, int send_tag = 0,
                          int recv_tag = any_tag) const {
    if constexpr (serialized_form<In>) {
      const auto& bytes = detail::sent(out);
      request sending = isend_bytes(bytes, to, send_tag, detail::send_mode::standard);
      const message_status got = recv(in, from, recv_tag);
      sending.wait();
      return got;
    } else {
      request receiving = irecv_bytes(detail::room_of(std::forward<In>(in)), from, recv_tag);
      send(out, to, send_tag);
      return receiving.wait();
    }
  }

  // Persistent: set up once, start() as often as wanted.
  [[nodiscard]] request send_init(auto&& data, int to, int tag = 0) const {
    return send_init_bytes(detail::lent(std::forward<decltype(data)>(data)), to, tag);
  }
  [[nodiscard]] request recv_init(auto&& into, int from, int tag = any_tag) const {
    return recv_init_bytes(detail::room_of(std::forward<decltype(into)>(into)), from, tag);
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

  // The root's elements into those of the others, in place.
  template <class M>
  requires(detail::any_range<std::remove_reference_t<M>>) void bcast(M&& data, int root) const {
    bcast_bytes(detail::room_in_a_row(std::forward<M>(data)), root);
  }
  // A variable in place. It is what is returned, too.
  template <class T>
  requires(!std::is_const_v<T> && !detail::any_range<T>) T bcast(T& variable, int root)
  const {
    bcast_bytes(detail::room_in_a_row(variable), root);
    return variable;
  }
  template <class T>
  requires(!detail::any_range<T> && !serialized_form<T>) [[nodiscard]] T
      bcast(const T& value, int root) const {
    T result = value;
    bcast_bytes(detail::room_in_a_row(result), root);
    return result;
  }
  // weft::serialized(x): the root's x into the others'.
  void bcast(const serialized_form auto& object, int root) const {
    std::vector<std::byte> bytes;
    if (rank() == root) bytes = object.pack();
    bytes.resize(bcast(bytes.size(), root));
    bcast(bytes, root);
    if (rank() != root) object.unpack(bytes);
  }

  // Element by element over all ranks; the same result every time, and in rank order where the
  // operation is non_commutative. One value, or ranges of equal size. Valid on `root` only.
  template <class T, class Op>
  T reduce(const T& value, Op op, int root) const {
    T result = value;
    if constexpr (detail::can_reduce<T, T&, Op>())
      reduce_elements(&value, &result, make_reduction<T>(op, 1), root, "reduce");
    return result;
  }
  template <class In, class Out, class Op>
  void reduce(const In& in, Out&& out, Op op, int root) const {
    if constexpr (detail::can_reduce<In, Out, Op>()) {
      const auto from = detail::elements_in(in);
      const auto to = span_of(out);
      if (rank() == root) check_same_size(from.size(), to.size(), "reduce");
      reduce_elements(from.data(), to.data(),
                      make_reduction<detail::element_of<In>>(op, from.size()), root, "reduce");
    }
  }
  template <class T, class Op>
  requires(!detail::any_range<T>) [[nodiscard]] T allreduce(const T& value, Op op) const {
    T result = value;
    if constexpr (detail::can_reduce<T, T&, Op>())
      reduce_elements(&value, &result, make_reduction<T>(op, 1), detail::no_root, "allreduce");
    return result;
  }
  template <class In, class Out, class Op>
  void allreduce(const In& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op>()) {
      const auto from = detail::elements_in(in);
      const auto to = span_of(out);
      check_same_size(from.size(), to.size(), "allreduce");
      reduce_elements(from.data(), to.data(),
                      make_reduction<detail::element_of<In>>(op, from.size()), detail::no_root,
                      "allreduce");
    }
  }
  template <class R, class Op>
  requires(detail::any_range<std::remove_reference_t<R>>) void allreduce(R&& inout, Op op) const {
    if constexpr (detail::can_reduce<R, R, Op>()) allreduce(inout, std::forward<R>(inout), op);
  }
  // Rank r gets the reduction of ranks 0..r (exscan: 0..r-1; rank 0 keeps its value).
  template <class T, class Op>
  requires(!detail::any_range<T>) [[nodiscard]] T scan(const T& value, Op op) const {
    T result = value;
    if constexpr (detail::can_reduce<T, T&, Op>())
      scan_elements(&value, &result, make_reduction<T>(op, 1), true);
    return result;
  }
  template <class T, class Op>
  requires(!detail::any_range<T>) [[nodiscard]] T exscan(const T& value, Op op) const {
    T result = value;
    if constexpr (detail::can_reduce<T, T&, Op>())
      scan_elements(&value, &result, make_reduction<T>(op, 1), false);
    return result;
  }
  template <class In, class Out, class Op>
  void scan(const In& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op>())
      scan_into(in, std::forward<Out>(out), op, true);
  }
  template <class R, class Op>
  requires(detail::any_range<std::remove_reference_t<R>>) void scan(R&& inout, Op op) const {
    if constexpr (detail::can_reduce<R, R, Op>()) scan(inout, std::forward<R>(inout), op);
  }
  template <class In, class Out, class Op>
  void exscan(const In& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op>())
      scan_into(in, std::forward<Out>(out), op, false);
  }
  template <class R, class Op>
  requires(detail::any_range<std::remove_reference_t<R>>) void exscan(R&& inout, Op op) const {
    if constexpr (detail::can_reduce<R, R, Op>()) exscan(inout, std::forward<R>(inout), op);
  }
  // `in` holds size() blocks of as many elements as `out` has; rank r gets the reduction of block r.
  template <class In, class Out, class Op>
  void reduce_scatter(const In& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op>()) {
      const auto from = detail::elements_in(in);
      const auto to = span_of(out);
      check_same_size(from.size(), to.size() * static_cast<std::size_t>(size()), "reduce_scatter");
      reduce_scatter_elements(from.data(), to.data(),
                              make_reduction<detail::element_of<In>>(op, to.size()));
    }
  }

  // On the root what each rank gave, in rank order; elsewhere empty. Of a value one element of each rank, of a range its
  // elements, as many of each rank; of weft::serialized(x) the objects.
  template <class In>
  [[nodiscard]] auto gather(const In& in, int root) const {
    return gathered(in, root, rank() == root);
  }
  // `out` (on the root) holds size() blocks of as many elements as `in` has.
  void gather(const auto& in, auto&& out, int root) const {
    gather_bytes(detail::sent_in_a_row(in), detail::room_in_a_row(std::forward<decltype(out)>(out)),
                 root);
  }
  // Ranges of any lengths, one after the other in rank order; `counts` gets their lengths.
  template <class In>
  [[nodiscard]] auto gatherv(const In& in, int root,
                             std::vector<std::size_t>* counts = nullptr) const {
    return concatenated<detail::element_of<In>>(detail::sent_in_a_row(in), root, counts);
  }
  // It does what gather does, on every rank.
  template <class In>
  [[nodiscard]] auto allgather(const In& in) const {
    return gathered(in, detail::no_root, true);
  }
  void allgather(const auto& in, auto&& out) const {
    gather_bytes(detail::sent_in_a_row(in), detail::room_in_a_row(std::forward<decltype(out)>(out)),
                 detail::no_root);
  }
  template <class In>
  [[nodiscard]] auto allgatherv(const In& in, std::vector<std::size_t>* counts = nullptr) const {
    return concatenated<detail::element_of<In>>(detail::sent_in_a_row(in), detail::no_root, counts);
  }
  // Block r of the root's `in` goes to rank r, into a range or variable; `in` is looked at on the root only.
  void scatter(const auto& in, auto&& out, int root) const {
    scatter_bytes(detail::sent_in_a_row(in),
                  detail::room_in_a_row(std::forward<decltype(out)>(out)), root);
  }
  // Rank r gets counts[r] elements, which follow one another in the root's `in`.
  template <class In>
  [[nodiscard]] auto scatterv(const In& in, const std::vector<std::size_t>& counts,
                              int root) const {
    using T = detail::element_of<In>;
    return elements_of<T>(scatterv_bytes(detail::sent_in_a_row(in), counts, sizeof(T), root));
  }
  // Element r of the root's range goes to rank r; or object r of weft::serialized(range).
  template <class In>
  [[nodiscard]] auto scatter(const In& values, int root) const {
    if constexpr (serialized_form<In>) {
      std::vector<std::size_t> lengths;
      std::vector<std::byte> all;
      if (rank() == root) all = values.pack_each(lengths);
      return In::unpacked_one(scatterv(all, lengths, root));
    } else {
      detail::element_of<In> mine{};
      scatter_bytes(detail::sent_in_a_row(values), std::as_writable_bytes(std::span(&mine, 1)),
                    root);
      return mine;
    }
  }
  // Block r of `in` goes to rank r, which finds it as block rank() of its `out`.
  template <class In>
  void alltoall(const In& in, auto&& out) const {
    alltoall_bytes(detail::sent_in_a_row(in),
                   detail::room_in_a_row(std::forward<decltype(out)>(out)),
                   sizeof(detail::element_of<In>));
  }
  template <class In>
  [[nodiscard]] auto alltoall(const In& in) const {
    using T = detail::element_of<In>;
    const auto& from = detail::sent_in_a_row(in);
    const std::span<const std::byte> bytes = from;
    auto out = detail::elements_of_ranks<T>(bytes.size() / sizeof(T));
    alltoall_bytes(bytes, std::as_writable_bytes(std::span(out)), sizeof(T));
    return out;
  }
  // counts[r] elements of `in` go to rank r; what arrives stands in rank order.
  template <class In>
  [[nodiscard]] auto alltoallv(const In& in, const std::vector<std::size_t>& counts,
                               std::vector<std::size_t>* arrived = nullptr) const {
    return transposed<detail::element_of<In>>(detail::sent_in_a_row(in), counts, arrived);
  }

  // Non-blocking twins: the buffers, ranges or variables, belong to the collective until the request is complete.
  [[nodiscard]] request ibarrier() const {
    return start_collective([self = *this] { self.barrier(); });
  }
  [[nodiscard]] request ibcast(auto&& data, int root) const {
    return start_collective([self = *this,
                             to = detail::room_in_a_row(std::forward<decltype(data)>(data)),
                             root] { self.bcast_bytes(to, root); });
  }
  template <class In, class Out, class Op>
  [[nodiscard]] request ireduce(In&& in, Out&& out, Op op, int root) const {
    if constexpr (detail::can_reduce<In, Out, Op, detail::use::refer_to>())
      return start_collective([self = *this, from = span_of(in), to = span_of(out), op, root] {
        self.reduce(from, to, op, root);
      });
    else
      return request();
  }
  template <class In, class Out, class Op>
  [[nodiscard]] request iallreduce(In&& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op, detail::use::refer_to>())
      return start_collective([self = *this, from = span_of(in), to = span_of(out), op] {
        self.allreduce(from, to, op);
      });
    else
      return request();
  }
  template <class M, class Op>
  [[nodiscard]] request iallreduce(M&& inout, Op op) const {
    if constexpr (detail::can_reduce<M, M, Op, detail::use::refer_to>())
      return iallreduce(inout, std::forward<M>(inout), op);
    else
      return request();
  }
  template <class In, class Out, class Op>
  [[nodiscard]] request iscan(In&& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op, detail::use::refer_to>())
      return start_collective(
          [self = *this, from = span_of(in), to = span_of(out), op] { self.scan(from, to, op); });
    else
      return request();
  }
  template <class M, class Op>
  [[nodiscard]] request iscan(M&& inout, Op op) const {
    if constexpr (detail::can_reduce<M, M, Op, detail::use::refer_to>())
      return iscan(inout, std::forward<M>(inout), op);
    else
      return request();
  }
  template <class In, class Out, class Op>
  [[nodiscard]] request iexscan(In&& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op, detail::use::refer_to>())
      return start_collective(
          [self = *this, from = span_of(in), to = span_of(out), op] { self.exscan(from, to, op); });
    else
      return request();
  }
  template <class M, class Op>
  [[nodiscard]] request iexscan(M&& inout, Op op) const {
    if constexpr (detail::can_reduce<M, M, Op, detail::use::refer_to>())
      return iexscan(inout, std::forward<M>(inout), op);
    else
      return request();
  }
  template <class In, class Out, class Op>
  [[nodiscard]] request ireduce_scatter(In&& in, Out&& out, Op op) const {
    if constexpr (detail::can_reduce<In, Out, Op, detail::use::refer_to>())
      return start_collective([self = *this, from = span_of(in), to = span_of(out), op] {
        self.reduce_scatter(from, to, op);
      });
    else
      return request();
  }
  [[nodiscard]] request igather(auto&& in, auto&& out, int root) const {
    return start_collective([self = *this,
                             from = detail::lent_in_a_row(std::forward<decltype(in)>(in)),
                             to = detail::room_in_a_row(std::forward<decltype(out)>(out)),
                             root] { self.gather_bytes(from, to, root); });
  }
  [[nodiscard]] request iallgather(auto&& in, auto&& out) const {
    return start_collective([self = *this,
                             from = detail::lent_in_a_row(std::forward<decltype(in)>(in)),
                             to = detail::room_in_a_row(std::forward<decltype(out)>(out))] {
      self.gather_bytes(from, to, detail::no_root);
    });
  }
  [[nodiscard]] request iscatter(auto&& in, auto&& out, int root) const {
    return start_collective([self = *this,
                             from = detail::lent_in_a_row(std::forward<decltype(in)>(in)),
                             to = detail::room_in_a_row(std::forward<decltype(out)>(out)),
                             root] { self.scatter_bytes(from, to, root); });
  }
  template <class In>
  [[nodiscard]] request ialltoall(In&& in, auto&& out) const {
    return start_collective([self = *this, from = detail::lent_in_a_row(std::forward<In>(in)),
                             to = detail::room_in_a_row(std::forward<decltype(out)>(out))] {
      self.alltoall_bytes(from, to, sizeof(detail::element_of<In>));
    });
  }

  // With lengths of each rank's own: `out`, and the vector of lengths where one is given, are assigned
  // by the end of the request and must live until then. `counts` is copied.
  template <class In>
  [[nodiscard]] request igatherv(In&& in, std::vector<detail::element_of<In>>& out, int root,
                                 std::vector<std::size_t>* counts = nullptr) const {
    using T = detail::element_of<In>;
    return start_collective([self = *this, from = detail::lent_in_a_row(std::forward<In>(in)),
                             to = &out, root,
                             counts] { *to = self.concatenated<T>(from, root, counts); });
  }
  template <class In>
  [[nodiscard]] request iallgatherv(In&& in, std::vector<detail::element_of<In>>& out,
                                    std::vector<std::size_t>* counts = nullptr) const {
    using T = detail::element_of<In>;
    return start_collective(
        [self = *this, from = detail::lent_in_a_row(std::forward<In>(in)), to = &out, counts] {
          *to = self.concatenated<T>(from, detail::no_root, counts);
        });
  }
  template <class In>
  [[nodiscard]] request iscatterv(In&& in, std::vector<std::size_t> counts,
                                  std::vector<detail::element_of<In>>& out, int root) const {
    using T = detail::element_of<In>;
    return start_collective([self = *this, from = detail::lent_in_a_row(std::forward<In>(in)),
                             lengths = std::move(counts), to = &out, root] {
      *to = elements_of<T>(self.scatterv_bytes(from, lengths, sizeof(T), root));
    });
  }
  template <class In>
  [[nodiscard]] request ialltoallv(In&& in, std::vector<std::size_t> counts,
                                   std::vector<detail::element_of<In>>& out,
                                   std::vector<std::size_t>* arrived = nullptr) const {
    using T = detail::element_of<In>;
    return start_collective([self = *this, from = detail::lent_in_a_row(std::forward<In>(in)),
                             lengths = std::move(counts), to = &out,
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

  explicit communicator(detail::shared_handle<detail::communicator_state> state, int rank) noexcept
      : state_(std::move(state)), rank_(rank) {}
  [[nodiscard]] detail::communicator_state& state() const noexcept { return *state_; }
  [[nodiscard]] const detail::shared_handle<detail::communicator_state>& shared_state()
      const noexcept {
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
  // Runs `body` as a collective of its own, later; it is then destroyed.
  template <class Body>
  request start_collective(Body&& body) const {
    using kept = std::remove_cvref_t<Body>;
    return start_collective(
        new kept(std::forward<Body>(body)), [](void* given) { (*static_cast<kept*>(given))(); },
        [](void* given) { delete static_cast<kept*>(given); });
  }
  request start_collective(void* body, void (*run)(void*), void (*destroy)(void*)) const;
  void check_same_size(std::size_t in, std::size_t out, const char* call) const;

  template <class In, class Out, class Op>
  void scan_into(const In& in, Out&& out, Op op, bool inclusive) const {
    const auto from = detail::elements_in(in);
    const auto to = span_of(out);
    check_same_size(from.size(), to.size(), inclusive ? "scan" : "exscan");
    scan_elements(from.data(), to.data(), make_reduction<detail::element_of<In>>(op, from.size()),
                  inclusive);
  }
  template <class In>
  auto gathered(const In& in, int root, bool receives) const {
    if constexpr (serialized_form<In>) {
      std::vector<std::size_t> lengths;
      const auto bytes = concatenated<std::byte>(in.pack(), root, &lengths);
      return In::unpacked_all(bytes, lengths);
    } else if constexpr (!sendable<In> || any_layout<In>) {
      detail::refuse<In, detail::use::send>();
      return std::vector<std::byte>();
    } else {
      const auto& from = detail::sent_in_a_row(in);
      const std::span<const std::byte> bytes = from;
      using T = detail::element_of<In>;
      auto all = detail::elements_of_ranks<T>(
          receives ? bytes.size() / sizeof(T) * static_cast<std::size_t>(size()) : 0);
      gather_bytes(bytes, std::as_writable_bytes(std::span(all)), root);
      return all;
    }
  }
  template <class T>
  static std::vector<T> elements_of(const std::vector<std::byte>& bytes) {
    std::vector<T> elements(bytes.size() / sizeof(T));
    if (!elements.empty())
      std::memcpy(static_cast<void*>(elements.data()), bytes.data(), elements.size() * sizeof(T));
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

  detail::shared_handle<detail::communicator_state> state_;
  int rank_;
};

}  // namespace weft
