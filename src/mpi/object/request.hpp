// What an MPI_Request stands for: an operation (rank/matching.hpp) under way, or one set up to be started.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi/object/handles.hpp"
#include "rank/matching.hpp"
#include "weft/communicator.hpp"
#include "weft/layout.hpp"

namespace weft::mpi {

struct state;

// What only some requests have. Its memory lasts as long as the rank, like that of requests.
struct request_details {
  bool persistent = false;
  bool buffered = false;
  detail::segments layout;  // The operation's `layout` points here.
  // For a persistent request: the call that made it, and how to start it again.
  const char* made_by = nullptr;
  detail::shared_handle<detail::communicator_state> group;
  int own = 0;  // This rank's number in `group`.
  std::function<weft::request()> start_collective;
  weft::request started;  // A collective under way.
  // A collective that reads or writes a file: how many bytes it has moved, for the status.
  std::shared_ptr<const std::uint64_t> moved_bytes;
  // For MPI_Isendrecv, whose receive is the request's own operation: its send; empty when it is complete at once.
  bool exchange = false;
  std::optional<detail::operation> sending;
  detail::segments sent_layout;
  std::unique_ptr<std::byte[]> copy;  // MPI_Isendrecv_replace: the data that are sent.
  // For a generalized request.
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra_state = nullptr;

  // For a partitioned message.
  std::shared_ptr<struct partitioned_message> partitions;

  class details_pool* from = nullptr;
};

// Keeps the details of requests that have ended for later ones.
class details_pool {
 public:
  struct give_back {
    void operator()(request_details* d) const noexcept { d->from->put(*d); }
  };
  using pointer = std::unique_ptr<request_details, give_back>;

  [[nodiscard]] pointer take() {
    if (spare_.empty()) {
      all_.push_back(std::make_unique<request_details>());
      spare_.reserve(all_.size());
      spare_.push_back(all_.back().get());
    }
    request_details* const taken = spare_.back();
    spare_.pop_back();
    taken->from = this;
    return pointer(taken);
  }

 private:
  void put(request_details& d) noexcept {
    d = {};
    spare_.push_back(&d);  // There is room for all.
  }
  std::vector<std::unique_ptr<request_details>> all_;
  std::vector<request_details*> spare_;
};

struct request_object : object {
  using handle = MPI_Request;
  static constexpr object_kind own_kind = object_kind::request;
  enum class type : std::uint8_t { send, receive, collective, generalized };

  request_object() = default;
  explicit request_object(detail::operation::as_receive receive) noexcept
      : what(type::receive), own_work(receive) {}

  type what = type::send;
  bool active = true;  // Started, and not yet waited for.
  bool cancelled = false;
  bool shared = false;             // One object for many complete requests: state::done.
  bool from_nobody = false;        // With MPI_PROC_NULL.
  int peers_first = 0;             // communicator_object::peers_first.
  MPI_Comm where = MPI_COMM_NULL;  // The communicator whose error handler is called.
  detail::operation own_work;      // For a message.
  detail::operation* work = &own_work;
  details_pool::pointer details;

  // Whether it is an active request of a message, with nothing special.
  [[nodiscard]] bool is_plain() const noexcept { return details == nullptr; }
  [[nodiscard]] bool complete() const noexcept {
    if (is_plain()) [[likely]]
      return own_work.complete;
    return (work == nullptr || work->complete) && has_sent();
  }
  // Whether a wait for it is over: it is complete, or a receive from any rank has been interrupted by a failure.
  [[nodiscard]] bool has_ended() const noexcept { return complete() || is_interrupted(); }
  [[nodiscard]] bool is_interrupted() const noexcept {
    return what == type::receive && work == &own_work && own_work.failed && !own_work.complete;
  }
  [[nodiscard]] bool has_sent() const noexcept {
    return !details->sending || details->sending->complete;
  }
  // The operation that a request which is not complete still waits for.
  [[nodiscard]] detail::operation& open_work() const noexcept {
    return work->complete ? *details->sending : *work;
  }
  request_details& needed_details(details_pool& pool) {
    if (details == nullptr) details = pool.take();
    return *details;
  }
  [[nodiscard]] bool persistent() const noexcept {
    return details != nullptr && details->persistent;
  }
  [[nodiscard]] bool is_partitioned() const noexcept {
    return details != nullptr && details->partitions != nullptr;
  }
};

// --- Making them (requests.cpp) --------------------------------------------------------------------
// A request for a non-blocking collective that has been started; `started` is empty when it is complete.
[[nodiscard]] MPI_Request add_request(state& me, MPI_Comm comm, weft::request started,
                                      const char* call);
// A request for a persistent collective: MPI_Start calls `start`.
[[nodiscard]] MPI_Request add_persistent(state& me, MPI_Comm comm,
                                         std::function<weft::request()> start, const char* call);
[[nodiscard]] request_object& checked_request(MPI_Request request);
// Null when there is nothing to wait for: MPI_REQUEST_NULL, or an inactive persistent request.
[[nodiscard, gnu::always_inline]] inline request_object* active_request(MPI_Request handle) {
  request_object* r = find_object<request_object>(handle);
  if (r == nullptr) {
    if (handle == MPI_REQUEST_NULL) return nullptr;
    r = &checked_request(handle);
  }
  return r->active ? r : nullptr;
}

// --- Their end (requests.cpp) ----------------------------------------------------------------------
struct wait_names {
  const char* collective;
  const char* receive;
  const char* send;
  const char* generalized;
  const char* partitioned_receive;
  const char* partitioned_send;
};
#define WEFT_WAIT_NAMES(call)                                                                      \
  ::weft::mpi::wait_names {                                                                        \
    call " (collective)", call " (MPI_Irecv)", call " (MPI_Isend)", call " (generalized request)", \
        call " (MPI_Precv_init)", call " (MPI_Psend_init)"                                         \
  }

// Returns when `count` of the requests that are not complete have completed, or all of them, by one completion counter.
// Null pointers are skipped.
void wait_for(state& me, std::span<request_object* const> pending, std::size_t count,
              const wait_names& call);
// Returns when all have completed. It looks at each request once before the wait.
void wait_for_all(state& me, std::span<const MPI_Request> handles, const wait_names& call);
// Ends a complete or inactive request: sets the status, throws its error, and frees the request unless it is
// persistent.
void conclude(state& me, request_object& r, MPI_Request& handle, MPI_Status* status);
// Set the status of a complete request. tell_status() is not for generalized requests.
void tell_status(const request_object& r, MPI_Status* status) noexcept;
void look_at_status(const request_object& r, MPI_Status* status);
// Called for a request that is not complete, by a test: interrupts a receive from any rank where a failure has not been
// acknowledged.
void interrupt_if_lost(state& me, request_object& r);
// conclude() for a generalized request, by the program's callbacks (generalized.cpp).
void conclude_generalized(request_object& r, MPI_Status* status);
void start(state& me, request_object& r);
// start() for a partitioned message (partitioned.cpp).
void start_partitioned(state& me, request_object& r);
void free_request(state& me, MPI_Request& handle);
// Called by MPI_Finalize and MPI_Session_finalize, for all requests, or those on communicators of one session: waits for sends
// that were freed while under way, and reports other requests that are left.
void finish_requests(state& me, const char* call, const wait_names& names,
                     std::optional<std::uint32_t> session);
// Called for a rank whose program was cut short.
void drop_requests(state& me) noexcept;

}  // namespace weft::mpi
