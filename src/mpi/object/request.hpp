// What an MPI_Request stands for: an operation of `rank` under way, or set up to be started.
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

// What only some requests have. Its memory lasts as long as the rank, as theirs does.
struct request_details {
  bool persistent = false;
  bool buffered = false;
  detail::segments layout;  // What the operation's points to.
  // Of a persistent one: the call that made it, and how to start it again.
  const char* made_by = nullptr;
  std::shared_ptr<detail::communicator_state> group;
  int own = 0;  // This rank's number there.
  std::function<weft::request()> start_collective;
  weft::request started;  // Of a collective.
  // Of MPI_Isendrecv, whose receive is the request's own operation: its send; none when it has gone.
  bool exchange = false;
  std::optional<detail::operation> sending;
  detail::segments sent_layout;
  std::unique_ptr<std::byte[]> copy;  // Of what is sent from where something else arrives.
  // Of a generalized one.
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra_state = nullptr;

  class details_pool* from = nullptr;
};

// Takes details back when their request ends, and gives them to the next one.
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
  bool shared = false;             // One of state's own, which stand for many that are complete.
  bool from_nobody = false;        // Of MPI_PROC_NULL.
  int peers_first = 0;             // Of the communicator: from a sender's number there to its rank.
  MPI_Comm where = MPI_COMM_NULL;  // Whose error handler is concerned.
  detail::operation own_work;      // Of a message.
  detail::operation* work = &own_work;
  details_pool::pointer details;

  // A message, whose operation is its own, and which is active.
  [[nodiscard]] bool is_plain() const noexcept { return details == nullptr; }
  [[nodiscard]] bool complete() const noexcept {
    if (is_plain()) [[likely]]
      return own_work.complete;
    return (work == nullptr || work->complete) && has_sent();
  }
  [[nodiscard]] bool has_sent() const noexcept {
    return !details->sending || details->sending->complete;
  }
  // Of one that is not complete: what is still to be done.
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
};

// --- Making them (requests.cpp) --------------------------------------------------------------------
// Of a non-blocking collective that has been started; an empty one is complete.
[[nodiscard]] MPI_Request add_request(state& me, MPI_Comm comm, weft::request started,
                                      const char* call);
// Of a persistent collective: MPI_Start calls `start`.
[[nodiscard]] MPI_Request add_persistent(state& me, MPI_Comm comm,
                                         std::function<weft::request()> start, const char* call);
[[nodiscard]] request_object& checked_request(MPI_Request request);
// Null for one that there is nothing to wait for.
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
};
#define WEFT_WAIT_NAMES(call)                                                                     \
  ::weft::mpi::wait_names {                                                                       \
    call " (collective)", call " (MPI_Irecv)", call " (MPI_Isend)", call " (generalized request)" \
  }

// Returns when `count` of those that are not complete have completed, or all; they are counted on one
// completion counter. Null pointers are passed over.
void wait_for(state& me, std::span<request_object* const> pending, std::size_t count,
              const wait_names& call);
// Returns when all have completed. Each is looked at once before the wait, when it is counted.
void wait_for_all(state& me, std::span<const MPI_Request> handles, const wait_names& call);
// Of a request that is complete or inactive: its status and its error, which is thrown; the request
// goes away unless it is persistent.
void conclude(state& me, request_object& r, MPI_Request& handle, MPI_Status* status);
// The status alone, of one that is complete. The first is of any but a generalized one.
void tell_status(const request_object& r, MPI_Status* status) noexcept;
void look_at_status(const request_object& r, MPI_Status* status);
// By the program's own functions, of a generalized one (generalized.cpp).
void conclude_generalized(request_object& r, MPI_Status* status);
void start(state& me, request_object& r);
void free_request(state& me, MPI_Request& handle);
// For MPI_Finalize: sends that were freed while under way are seen off, the rest is reported.
void finish_requests(state& me);
// For a rank whose program was cut short.
void drop_requests(state& me) noexcept;

}  // namespace weft::mpi
