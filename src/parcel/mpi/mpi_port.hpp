// Parcels over a vendor's MPI, as HPX does it (section 3.1 of the paper that lci_shared_port.hpp names): the rival that the
// study measures. The MPI is in a plug-in (transport/mpi), which is the only thing that is linked with one.
//
//   header       with tag 0: how long the message is, how many chunks it has, the tag of what follows, and the message
//                itself where it fits; one receive for it is always posted
//   what follows the message where it did not fit, then each chunk, a long one in parts, one after the other, all with that tag
//   connection   of a message whose sends or receives are not complete: one operation of it at a time; all stand in a list
//                that workers look at in turn
//
// `mpi`: a header is as long as need be, up to the threshold of chunks, and the tag is the next of a counter; one that a
// connection still has when the counter comes to it again is passed over. `mpi_orig`, the version before: headers of 512
// bytes; what describes the chunks follows by itself; and the receiver sends each tag back when all has come.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parcel/mpi/tags.hpp"
#include "parcel/port.hpp"
#include "transport/mpi/plugin.hpp"

namespace weft::detail {

class mpi_port final : public parcelport, public poller {
 public:
  // Throws weft::error where that MPI's launcher has not started the job's processes.
  mpi_port(std::string name, bool is_original, std::string_view which, const parcelport_site& site);
  ~mpi_port() override;

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  bool send(worker& here, outgoing_parcel& what) override;
  void send_at_once(worker& here, int process, int to_port,
                    std::span<const std::byte> bytes) noexcept override;
  void receive(worker& here, int process, std::uint64_t word,
               std::span<const std::span<std::byte>> places, chunked_task& then) override;
  void refuse(worker& here, const message_origin& from, const char* why) noexcept override;

  bool look(worker& here) noexcept override;
  [[nodiscard]] bool has_any() const noexcept override;

 private:
  struct header;
  struct heard;
  struct connection;

  void look_while_any_sleeps() noexcept;
  [[nodiscard]] header front_of(const outgoing_parcel& what) const;
  [[nodiscard]] std::unique_ptr<connection> connect(worker& here, outgoing_parcel& what,
                                                    const header& front);
  // -1: no process of the job.
  [[nodiscard]] int process_of(int rank) const noexcept {
    return rank >= 0 && rank < mpi_.size ? process_of_[static_cast<std::size_t>(rank)] : -1;
  }
  [[nodiscard]] static std::uint64_t announcement(int process, std::uint32_t tag) noexcept {
    return static_cast<std::uint64_t>(process) << 32 | tag;
  }
  [[nodiscard]] int take_tag();
  void give_tag(int tag) noexcept;
  [[nodiscard]] bool post_next(connection& of) noexcept;
  void go_on(worker& here, std::unique_ptr<connection> of) noexcept;
  void end(worker& here, connection& of, bool complete) noexcept;
  void fail(worker& here, connection& of) noexcept;
  void listen() noexcept;
  void listen_for_header() noexcept;
  void listen_for_release() noexcept;
  [[nodiscard]] bool announce(int rank, std::vector<std::byte>& message);
  void end_announcement(int process, int tag) noexcept;
  bool take_header(worker& here) noexcept;
  bool take_held(worker& here) noexcept;
  bool take_releases() noexcept;
  void on_header(worker& here, int process, std::span<const std::byte> message) noexcept;
  void deliver(worker& here, int process, std::span<const std::byte> message) noexcept;

  const std::string name_;
  const bool is_original_;
  parcel_receiver& receiver_;
  network& between_;
  scheduler& workers_;
  const mpi_messages& mpi_;
  mpi_messages::place place_;    // This port alone uses it: nothing of another job is in it.
  std::vector<int> rank_of_;     // The rank of each process.
  std::vector<int> process_of_;  // The process of each rank.

  std::mutex listening_;  // It protects the receive that is always posted, and where it goes.
  std::unique_ptr<heard> heard_;
  mpi_messages::request hears_;
  std::unique_ptr<std::uint32_t> released_;
  mpi_messages::request hears_release_;

  std::mutex lock_;  // It protects the connections and the tags.
  std::vector<std::unique_ptr<connection>> connections_;
  std::size_t next_looked_at_ = 0;
  mpi_tags tags_;
  // Tags with which something is to come whose receives are not all posted yet, by their senders. Of each the messages
  // that have come since, with headers that name the same tag again.
  std::unordered_map<std::uint64_t, std::deque<std::vector<std::byte>>> announced_;
  std::vector<std::pair<int, std::vector<std::byte>>>
      held_;                                // With their processes: these may be acted upon now.
  std::atomic<std::size_t> held_count_{0};  // Changed under the lock; without it a hint.
  std::atomic<std::size_t> sending_{0};
  std::atomic<bool> something_came_{false};  // While a worker slept.
  std::atomic<std::uint32_t> ending_{0};
  std::thread sleepless_;
};

}  // namespace weft::detail
