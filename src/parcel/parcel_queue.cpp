#include "parcel/parcel_queue.hpp"

#include <exception>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "parcel/limits.hpp"
#include "task/task_source.hpp"

namespace weft::detail {
// --- Connections ----------------------------------------------------------------------------------

connection_cache::~connection_cache() = default;

parcel_connection* connection_cache::try_take() {
  const std::lock_guard hold(lock_);
  if (free_.empty()) {
    if (all_.size() == limit_) return nullptr;
    auto made = std::make_unique<parcel_connection>();
    made->home = this;
    made->free = [](kept_values& self) noexcept {
      auto& mine = static_cast<parcel_connection&>(self);
      if (mine.inner != nullptr) {
        kept_values& inner = *std::exchange(mine.inner, nullptr);
        inner.free(inner);
      }
      mine.home->give_back(mine);
    };
    free_.reserve(all_.size() + 1);
    all_.push_back(std::move(made));
    return all_.back().get();
  }
  parcel_connection* const taken = free_.back();
  free_.pop_back();
  return taken;
}

void connection_cache::give_back(parcel_connection& one) noexcept {
  if (one.room != nullptr) one.room->clear();
  const std::lock_guard hold(lock_);
  free_.push_back(&one);  // There is room: see try_take().
}

// --- Queues ---------------------------------------------------------------------------------------

struct alignas(padding_bytes) parcel_queues::queue : task {
  parcel_queues* of = nullptr;
  int process = 0;
  std::mutex lock;
  parcel_connection* message = nullptr;  // Being made.
  bool is_to_be_flushed = false;         // The task is under way.
};

parcel_queues::parcel_queues(parcelport& port, int process_count, int sides)
    : port_(port), sides_(sides), cache_(parcel_connections_max) {
  for (int i = 0; i < process_count * sides; ++i) {
    queue& made = *queues_.emplace_back(std::make_unique<queue>());
    made.of = this;
    made.process = i / sides;
    made.act = &flush;
  }
}

parcel_queues::~parcel_queues() = default;

parcel_queues::queue& parcel_queues::queue_for(const worker& here, int process, int port) noexcept {
  const int side = (port >= 0 ? port : here.index()) % sides_;
  return *queues_[static_cast<std::size_t>(process * sides_ + side)];
}

parcel_connection& parcel_queues::take(worker& here, int process) {
  parcel_connection* taken = nullptr;
  (void)remote::post_in_wait(
      here,
      [&] {
        taken = cache_.try_take();
        return taken != nullptr ? status::done : status::retry;
      },
      [&] { return waits_at(waits_for_connection, process); });
  return *taken;
}

// The message has parcels of others in it: who sends it may not be one of them, so what the port throws ends all that
// is between the two processes.
bool parcel_queues::send_message(worker& here, int process, parcel_connection& message) {
  outgoing_parcel made;
  made.process = process;
  made.port = message.port;
  made.bytes = message.room->bytes();
  made.kept = &message;
  try {
    return port_.send(here, made);
  } catch (const std::exception& e) {
    remote::port::of(here).owner().mark_failed(process,
                                               formatted("no parcels can go there: {}", e.what()));
    return false;
  }
}

// What does not fit, or has chunks: with a connection of its own.
bool parcel_queues::send_alone(worker& here, outgoing_parcel& what) {
  const struct until_taken {
    kept_values*& kept;
    ~until_taken() {
      if (kept != nullptr) kept->free(*kept);
    }
  } freed{what.kept};
  parcel_connection& whole = take(here, what.process);
  whole.inner = what.kept;
  what.kept = &whole;
  outgoing_parcel alone = std::move(what);
  what.kept = nullptr;
  return port_.send(here, alone);
}

bool parcel_queues::send(worker& here, outgoing_parcel& what) {
  if (!what.chunks.empty() || what.bytes.size() > parcel_connection::room_type::bytes_max)
      [[unlikely]]
    return send_alone(here, what);
  queue& to = queue_for(here, what.process, what.port);
  parcel_connection* spare = nullptr;
  parcel_connection* full = nullptr;
  bool begins_flush = false;
  for (;;) {
    {
      const std::lock_guard hold(to.lock);
      bool is_added =
          to.message != nullptr && to.message->port == what.port && to.message->try_add(what.bytes);
      if (!is_added) {
        if (to.message != nullptr) full = std::exchange(to.message, nullptr);
        to.message = spare != nullptr ? std::exchange(spare, nullptr) : cache_.try_take();
        if (to.message != nullptr) {
          to.message->port = what.port;
          is_added = to.message->try_add(what.bytes);  // It is empty: there is room.
        }
      }
      if (is_added) {
        begins_flush = !std::exchange(to.is_to_be_flushed, true);
        break;
      }
    }
    // All are in use. What is full leaves first: it is one of them.
    if (full != nullptr && !send_message(here, what.process, *std::exchange(full, nullptr)))
      return false;
    spare = &take(here, what.process);
  }
  if (spare != nullptr) cache_.give_back(*spare);
  if (begins_flush) task_source::here("a parcel").submit(to, priority::normal);
  return full == nullptr || send_message(here, what.process, *full);
}

// A worker that has nothing better to do runs it.
void parcel_queues::flush(task& self, bool may_run) noexcept {
  auto& mine = static_cast<queue&>(self);
  parcel_connection* left = nullptr;
  {
    const std::lock_guard hold(mine.lock);
    left = std::exchange(mine.message, nullptr);
    mine.is_to_be_flushed = false;  // The task may be submitted again from here on.
  }
  if (left == nullptr) return;
  if (!may_run) return left->free(*left);
  try {
    (void)mine.of->send_message(*worker::current(), mine.process, *left);
  } catch (const job_stopped&) {
  }
}

}  // namespace weft::detail
