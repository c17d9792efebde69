// What carries parcels between processes. The layer above encodes, the port moves bytes: it knows nothing of actions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sched/worker.hpp"
#include "weft/parcels/call.hpp"

namespace weft::detail {

// To be sent. With chunks, `bytes` ends with a transmission chunk whose first word the port fills in.
struct outgoing_parcel {
  int process = 0;
  int port = -1;  // The receiver's side, as an arrival said; -1: any.
  std::span<std::byte> bytes;
  std::span<const parcel_chunk> chunks;
  kept_values* kept = nullptr;  // What the chunks lie in.
  std::unique_ptr<std::byte[]>
      heap;  // What `bytes` lie in; null: somewhere that the call outlives.
};

// Whence a message has come, during the call that delivers it.
struct message_origin {
  int process = 0;
  std::uint16_t port = 0;
  void* message = nullptr;  // The port's.
};

// What a port delivers to.
class parcel_receiver {
 public:
  // Called by a worker in progress. `message` is valid during the call only.
  virtual void deliver(worker& here, const message_origin& from,
                       std::span<const std::byte> message) noexcept = 0;
  // Called in progress before a message is counted as received: the job does not end before the worker has looked for work.
  static void expect_work(worker& here) noexcept;

 protected:
  ~parcel_receiver() = default;
};

class parcelport {
 public:
  parcelport() = default;
  parcelport(const parcelport&) = delete;
  parcelport& operator=(const parcelport&) = delete;
  virtual ~parcelport() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Called by fibers, which wait for room; takes heap and kept over, and frees them when they have been sent. False: that
  // process is dead. Throws job_stopped.
  virtual bool send(worker& here, outgoing_parcel& what) = 0;
  // The same in progress, of few bytes without chunks: what there is no room for is kept.
  virtual void send_at_once(worker& here, int process, int to_port,
                            std::span<const std::byte> bytes) noexcept = 0;
  // Called by a task on the worker to which the parcel was delivered: its chunks go to `places`. Then `then` is submitted,
  // or abandoned when they do not come. `word` is that of the transmission chunk.
  virtual void receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) = 0;
  // Counts it, and says so once.
  virtual void refuse(worker& here, const message_origin& from, const char* why) noexcept = 0;
};

}  // namespace weft::detail
