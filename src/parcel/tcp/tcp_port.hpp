// Parcels over plain TCP connections, by Boost.Asio: `tcp`. A port for networks without libfabric, and the one that all
// others are compared with, as HPX's is.
//
// A thread of its own, which sleeps in the kernel, reads all connections and writes what could not be written at once;
// workers write as far as the kernel takes it, and take over in their passes what that thread has read. What the thread
// leaves for workers is a list behind a lock.
//
// Chunks are read to their places where these are known when they come, else into memory from which they are copied; a
// long one waits a while for its place before.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "parcel/port.hpp"

namespace weft::detail {

class tcp_port final : public parcelport, public poller {
 public:
  // Returns when this process is connected with all others; throws weft::error where one does not come.
  explicit tcp_port(const parcelport_site& site);
  ~tcp_port() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "tcp"; }
  bool send(worker& here, outgoing_parcel& what) override;
  void send_at_once(worker& here, int process, int to_port,
                    std::span<const std::byte> bytes) noexcept override;
  void receive(worker& here, int process, std::uint64_t word,
               std::span<const std::span<std::byte>> places, chunked_task& then) override;
  void refuse(worker& here, const message_origin& from, const char* why) noexcept override;
  bool end_operations_with_dead(worker& here) noexcept override;
  [[nodiscard]] bool has_delivered_all_of_dead(int process) noexcept override;

  bool look(worker& here) noexcept override;
  [[nodiscard]] bool has_any() const noexcept override;

 private:
  class reader_and_writer;  // The thread and its sockets.
  struct peer;
  struct gathering;
  struct unsent;

  // What the thread has done that a worker is to go on with.
  struct happening {
    int process = 0;
    // Messages, one after the other, each behind its frame.
    std::unique_ptr<std::byte[]> messages;
    std::size_t bytes = 0;
    // All chunks of a parcel are there, or will not come.
    chunked_task* then = nullptr;
    std::uint32_t chunks = 0;
    bool is_complete = true;
    // What has left.
    kept_values* kept = nullptr;
    const char* refused = nullptr;
    // Nothing more comes from there.
    bool ends = false;
  };

  void tell(happening&& what);
  void act_on(worker& here, happening& what) noexcept;
  void write(peer& to, std::span<const std::byte> bytes, outgoing_parcel* whole) noexcept;

  parcel_receiver& receiver_;
  network& between_;
  scheduler& workers_;
  std::vector<std::unique_ptr<peer>> peers_;  // Each process has one, but for this one.
  std::mutex lock_;                           // It protects what has happened.
  std::deque<happening> happened_;
  std::atomic<std::size_t> waiting_{0};  // How many; a hint.
  std::unique_ptr<reader_and_writer> network_;
};

}  // namespace weft::detail
