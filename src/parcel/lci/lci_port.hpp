// Parcels over the devices of the job's communication core, each worker's on its own: the header is an active message, the
// chunks are sends that meet receives posted at their places.
#pragma once
#include "parcel/port.hpp"

namespace weft::detail {

class lci_port final : public parcelport {
 public:
  explicit lci_port(const parcelport_site& site);

  [[nodiscard]] std::string_view name() const noexcept override { return "lci"; }
  bool send(worker& here, outgoing_parcel& what) override;
  void send_at_once(worker& here, int process, int to_port,
                    std::span<const std::byte> bytes) noexcept override;
  void receive(worker& here, int process, std::uint64_t word,
               std::span<const std::span<std::byte>> places, chunked_task& then) override;
  [[nodiscard]] bool receives_anywhere() const noexcept override { return false; }
  void refuse(worker& here, const message_origin& from, const char* why) noexcept override;

 private:
  struct sending;
  struct receiving;
  struct alignas(padding_bytes) share {
    std::uint64_t chunks_sent = 0;  // The tag of the next one: never used again.
    bool delivers = false;          // What came, in progress: no wait is possible.
  };

  void on_message(worker& here, const comm::event& happened);
  [[nodiscard]] comm::address address_of(const worker& here, int process, int port) const noexcept;
  void send_copy(worker& here, comm::am& what, std::span<const std::byte> bytes) noexcept;
  bool send_parts(worker& here, const comm::address& to, outgoing_parcel& what);

  parcel_receiver& receiver_;
  network& between_;
  comm::handler_id handler_;
  std::vector<share> shares_;
};

}  // namespace weft::detail
