// Parcels over devices of their own, which all workers share: the variants of table 1 of "Design and Analysis of the
// Network Software Stack of an Asynchronous Many-task System: the LCI parcelport of HPX", by name:
//
//   lci_{sr|psr}_{cq|sy}_{pin|mt|core}[_i][:DEVICES]
//
//   sr    a message is sent, and meets a receive that is always posted    psr  it is put into a queue of the receiver
//   cq    what has completed comes by a queue     sy   it is found by a look at each of many synchronizers
//   pin   a thread beside the workers, on the core of the last one, makes progress, sleeping when there is none for long
//   core  a thread on a core that no worker has does so and never sleeps
//   mt    all workers do, each by its own device and the others in turn; a thread looks while any of them sleeps
//
// A message with chunks or a long one is a connection: a chain of operations, the next of which is posted when the one
// before is complete, by whichever worker finds that. (With psr the arrivals come by a queue in either case.) The one
// exception is `lci`, in lci_port.hpp.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "parcel/lci/lci_variant.hpp"
#include "parcel/port.hpp"

namespace weft::detail {

class lci_shared_port final : public parcelport, public poller {
 public:
  // Throws weft::error where there is no core for it, or too many devices are asked for.
  lci_shared_port(std::string name, const lci_variant& variant, const parcelport_site& site);
  ~lci_shared_port() override;

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  bool send(worker& here, outgoing_parcel& what) override;
  void send_at_once(worker& here, int process, int to_port,
                    std::span<const std::byte> bytes) noexcept override;
  void receive(worker& here, int process, std::uint64_t word,
               std::span<const std::span<std::byte>> places, chunked_task& then) override;
  void refuse(worker& here, const message_origin& from, const char* why) noexcept override;
  bool end_operations_with_dead(worker& here) noexcept override;

  bool look(worker& here) noexcept override;
  [[nodiscard]] bool has_any() const noexcept override;

 private:
  struct connection;
  class waking_queue;
  class one_completion;

  [[nodiscard]] comm::device& device_of(const worker& here) const noexcept;
  [[nodiscard]] bool fits_one_message(const comm::device& by, const comm::address& to,
                                      std::size_t bytes) const noexcept;
  [[nodiscard]] status post_header(comm::device& by, const comm::address& to,
                                   std::span<const std::byte> bytes, const comm::completion& local,
                                   void* context) noexcept;
  [[nodiscard]] connection& open();
  void close(connection& done) noexcept;
  [[nodiscard]] status post_next(connection& of) noexcept;
  void go_on(worker& here, connection& of) noexcept;
  void end(worker* here, connection& of, bool complete) noexcept;
  void stall(connection& of) noexcept;
  void on_completed(worker& here, connection& of, const comm::event& happened) noexcept;
  void on_header(worker& here, const comm::event& happened) noexcept;
  bool take_arrivals(worker& here) noexcept;
  bool take_completed(worker& here) noexcept;
  bool look_at_synchronizers(worker& here) noexcept;
  bool try_stalled(worker& here) noexcept;
  void something_has_come() noexcept;

  const std::string name_;
  const lci_variant variant_;
  parcel_receiver& receiver_;
  network& between_;
  scheduler& workers_;
  std::atomic<std::uint64_t> next_tag_{0};
  std::atomic<std::uint64_t> waiting_{0};  // Completions that nobody has looked at; a hint.
  std::uint32_t looks_in_vain_ = 0;        // How often the last worker has looked in vain.
  std::vector<std::atomic<bool>> told_dead_;
  struct alignas(padding_bytes) turn {
    std::uint32_t looks = 0;
  };
  std::vector<turn> turns_;  // At whose device each worker looks beside its own.
  // What the devices signal outlives them.
  std::unique_ptr<waking_queue> arrivals_;
  std::unique_ptr<waking_queue> completed_;
  std::mutex lock_;  // It protects the lists below.
  std::vector<std::unique_ptr<connection>> all_;
  std::vector<connection*> free_;
  std::vector<connection*>
      pending_;  // Those that wait for an operation, where there are synchronizers.
  std::size_t next_looked_at_ = 0;  // An index of these.
  // There was no room for their next operation: a list, the oldest first.
  connection* first_stalled_ = nullptr;
  connection* last_stalled_ = nullptr;
  std::atomic<std::size_t> stalled_count_{0};  // Changed under the lock; without it a hint.
  comm::handler_id put_into_;
  std::unique_ptr<comm::runtime> core_;
  std::unique_ptr<class lci_progress_thread> driver_;
};

}  // namespace weft::detail
