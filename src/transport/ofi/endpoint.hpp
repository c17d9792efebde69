// One endpoint of libfabric: the data path of a device.
//
// Every message is an envelope, the core's header, and the payload. The envelope carries the receiver's key, so that
// only this job's processes are accepted; the sender's number; and a sequence number per pair, since a provider that
// reconnects silently would lose messages unnoticed. Messages shorter than envelope and header are notes between
// transports.
//
// Where the provider does not keep other users out, messages are sealed instead (transport/sealed): the envelope has a code
// that only the two endpoints can make, of a message with this number, and no key. All that is sent is copied into
// packets then, which nobody changes between the making of the code and the sending. There is no access to remote
// memory: nothing would seal it.
//
// libfabric does not check who accesses a region: anybody who knows its key may. So keys are random words, and where
// the provider makes keys itself no memory is opened at all (docs/transports.md).
//
// fi_inject, which may fail silently, is not used where the provider's connections can break (tcp): a small message is
// copied into a packet, which libfabric gives back when it is sent.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/limits.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/envelope.hpp"
#include "transport/ofi/operations.hpp"
#include "transport/ofi/random_keys.hpp"

namespace weft {

class ofi_transport final : public transport {
 public:
  explicit ofi_transport(const ofi_options& options);
  ~ofi_transport() override;

  [[nodiscard]] const transport_traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] std::vector<std::byte> address() const override;
  void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) override;
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override {
    return peers_[peer].address != FI_ADDR_NOTAVAIL;
  }

  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override;
  int poll(arrivals& to, int budget) noexcept override;

  [[nodiscard]] memory_region register_memory(std::span<std::byte> memory,
                                              peer_access peers) override;
  [[nodiscard]] memory_region register_memory_of(const accelerator& owner,
                                                 std::span<std::byte> memory,
                                                 peer_access peers) override;
  void deregister(memory_region& region) noexcept override;
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override;
  status put_and_tell(std::uint32_t peer, std::span<const std::byte> local,
                      const memory_region* region, const remote_key& key, std::uint64_t offset,
                      std::uint64_t word, void* context) noexcept override;
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override;

  [[nodiscard]] bool arm() noexcept override;
  void disarm() noexcept override;
  [[nodiscard]] int wait_descriptor() const noexcept override { return sleeper_.get(); }
  void mark_failed(std::uint32_t peer, const char* why) noexcept override;
  void leave_as_dead() noexcept override { farewell_ = note::death; }
  void watch_peer(std::uint32_t peer) noexcept override;
  [[nodiscard]] bool shut_down() noexcept override;

 private:
  class file_descriptor {
   public:
    file_descriptor() = default;
    explicit file_descriptor(int number) : number_(number) {}
    file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&& other) noexcept {
      std::swap(number_, other.number_);
      return *this;
    }
    ~file_descriptor();
    [[nodiscard]] int get() const noexcept { return number_; }

   private:
    int number_ = -1;
  };

  struct peer_state {
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    std::uint64_t key = 0;
    std::unique_ptr<sealed_channel> channel;  // Made when it is first met.
    std::uint64_t sent = 0;                   // Messages to it.
    std::uint64_t received = 0;               // Messages from it.
    bool is_known = false;    // Something was sent to or came from it: watch() watches it.
    bool has_failed = false;  // Nothing is sent to it any more.
    bool is_told = false;     // arrivals::peer_failed() was called: nothing is taken any more.
    bool has_left = false;
    bool was_reached = false;  // A probe was answered.
    // Since the last look of watch():
    bool was_heard = false;
    bool was_sent_to = false;
    bool was_refused = false;   // The provider refused a message to it.
    std::uint8_t refusals = 0;  // The number of looks in a row with was_refused.
    std::uint8_t silent_looks = 0;
    std::uint8_t notes_due = 0;  // Of those that follow a sealed message.
    // Of sealed messages: how many it has said that it has received; how many had been sent to it at a look, and the
    // number of looks since then; since when its notes have said too little.
    std::uint64_t confirmed = 0;
    std::uint64_t marked = 0;
    std::uint64_t stale_since_ns = 0;
    std::uint16_t looks_since_mark = 0;
    file_descriptor probe;  // A connection attempt, to see whether somebody listens.
  };

  struct failure {
    std::uint32_t peer;
    std::string why;
    bool is_marked = false;  // From mark_failed(): told also when the peer has left.
    int empty_polls = 0;
  };

  // `death`: this one leaves, too, but its job has failed, and it counts as dead.
  enum class note : std::uint8_t { are_you_there = 0, farewell = 1, death = 2 };

  // Set-up.
  void open_fabric();
  [[nodiscard]] memory_region registered(std::span<std::byte> memory, peer_access peers,
                                         const fi_mr_attr& how);
  [[nodiscard]] bool keys_are_ours() const noexcept;
  [[nodiscard]] std::size_t longest_message() const;
  void open_queue();
  void open_sleeper();
  [[nodiscard]] std::vector<int> queue_descriptors() const;
  void post_receives();

  // Sending.
  status send_packet(operation_pool& pool, std::uint32_t peer, const wire_header& header,
                     wire_parts parts) noexcept;
  status send_gathered(std::uint32_t peer, const wire_header& header, wire_parts parts,
                       void* context) noexcept;
  status inject(std::uint32_t peer, const wire_header& header, wire_parts parts,
                std::size_t size) noexcept;
  status send_to_self(const wire_header& header, wire_parts parts, std::size_t size) noexcept;
  bool send_note(std::uint32_t peer, note what) noexcept;
  status sent(std::uint32_t peer, long result) noexcept;
  // `told`: the word that the peer is told, or null.
  status remote(bool is_put, std::uint32_t peer, std::byte* local, std::size_t size,
                const memory_region* region, const remote_key& key, std::uint64_t offset,
                void* context, const std::uint64_t* told = nullptr) noexcept;
  [[nodiscard]] bool is_sealed() const noexcept { return keys_for_seals_.has_value(); }
  // Of one that is not sealed, before the rest of the message or after it.
  void note_envelope(std::byte* to, std::uint32_t peer) const noexcept;
  // Once the `size` bytes of the message that it is in front of are written: nothing of it may change any more. False
  // when it cannot be sealed; the peer has failed then.
  [[nodiscard]] bool close_envelope(std::byte* to, std::size_t size, std::uint32_t peer) noexcept {
    if (is_sealed()) return seal(to, size, peer);
    note_envelope(to, peer);
    return true;
  }
  [[nodiscard]] bool seal(std::byte* to, std::size_t size, std::uint32_t peer) noexcept;
  // Null when there is none to that one, as to this endpoint itself.
  [[nodiscard]] sealed_channel* channel_with(std::uint32_t peer) noexcept {
    sealed_channel* const known = peers_[peer].channel.get();
    return known != nullptr ? known : make_channel(peer);
  }
  [[nodiscard]] sealed_channel* make_channel(std::uint32_t peer) noexcept;
  void know(peer_state& peer) noexcept;

  // Receiving.
  int complete(const fi_cq_data_entry& entry, arrivals& to) noexcept;
  int complete_failed(arrivals& to) noexcept;
  int receive(std::span<std::byte> bytes, arrivals& to) noexcept;
  int receive_from_self(arrivals& to, int budget) noexcept;
  int receive_other(const ofi_arrival& arrived, std::span<const std::byte> bytes,
                    arrivals& to) noexcept;
  int refuse(std::uint32_t peer, ofi_verdict why, arrivals& to) noexcept;
  void count(peer_state& from) noexcept {
    ++from.received;
    from.was_heard = true;
    know(from);
  }
  // Posts a receive buffer. One that the provider refuses is posted again in every poll.
  void post_receive(operation& buffer) noexcept;
  void post_refused() noexcept;
  [[nodiscard]] long give_to_provider(operation& buffer) noexcept;
  // Whether nothing can arrive, since the provider has none of the buffers.
  [[nodiscard]] bool has_no_buffer_posted() noexcept { return unposted_.size() == buffer_count_; }

  // Failures.
  void fail(std::uint32_t peer, std::string why) noexcept;
  // All peers fail: the provider takes no receive buffers any more, with this error.
  void fail_all(long refusal) noexcept;
  void take_marks() noexcept;
  int tell_failures(arrivals& to, bool found_something) noexcept;
  void fail_operations_to(std::uint32_t peer, arrivals& to) noexcept;
  void watch() noexcept;
  void watch(std::uint32_t peer) noexcept;
  void follow_up(std::uint32_t peer) noexcept;
  void take_note(std::uint32_t peer, std::span<const std::byte> note) noexcept;
  void probe(std::uint32_t peer) noexcept;
  void keep_room_for_descriptors() noexcept;
  void look_for_strangers() noexcept;
  void make_more_buffers() noexcept;

  transport_traits traits_;
  std::string detail_;
  fabric_info info_;
  fabric_handle<fid_fabric> fabric_;
  fabric_handle<fid_domain> domain_;
  fabric_handle<fid_av> addresses_;
  fabric_handle<fid_cq> queue_;
  // The pools come before the endpoint, which must be closed before they are destroyed.
  std::optional<operation_pool> packets_;        // For small messages.
  std::optional<operation_pool> large_packets_;  // For messages whose data the caller may change.
  std::optional<operation_pool> remotes_;
  std::optional<operation_pool> buffers_;
  std::vector<std::unique_ptr<operation_pool>> more_buffers_;  // Of the same size.
  fabric_handle<fid_ep> endpoint_;

  fi_wait_obj wait_object_ = FI_WAIT_NONE;
  bool has_descriptor_ = false;   // libfabric's queue has a descriptor that rings.
  std::size_t inject_bytes_ = 0;  // The limit for envelope, header and payload; 0: no fi_inject.
  random_keys keys_;              // For memory regions, and for this endpoint.
  process_place place_;
  std::uint64_t key_ = 0;
  std::optional<key_pair> keys_for_seals_;  // Absent: messages are not sealed.
  std::size_t envelope_bytes_ = sizeof(ofi_envelope);
  std::size_t head_bytes_ = envelope_bytes_ + sizeof(wire_header);
  bool completes_at_peer_ = false;  // The provider can tell when a message has arrived.
  std::uint32_t self_ = 0;
  std::vector<peer_state> peers_;
  std::vector<ofi_address> peer_addresses_;  // For watch().
  std::vector<std::uint32_t> known_;         // Peers that are watched.
  // 0: it does not leave yet. Once it leaves, known_ has the peers that are still to be told.
  std::uint64_t leaves_until_ns_ = 0;
  note farewell_ = note::farewell;
  std::vector<operation*> unposted_;    // Buffers that the provider has refused so far.
  int looks_without_buffer_ = 0;        // Looks of watch() in a row with has_no_buffer_posted().
  operation* first_to_self_ = nullptr;  // Packets on the way to this endpoint itself.
  operation* last_to_self_ = nullptr;
  std::vector<failure> failures_;  // Not told yet.

  std::uint64_t watch_ticks_ = 0;
  std::uint64_t watched_at_ = 0;
  std::size_t watched_to_ = 0;
  int looks_ = 0;
  std::size_t buffers_max_ = ofi_receive_buffers_max;
  std::size_t buffer_count_ = 0;  // All receive buffers.

  file_descriptor sleeper_;  // Becomes readable by libfabric's queue or by the alarm.
  file_descriptor alarm_;
  std::optional<fi_cq_data_entry> early_;  // Found by arm().

  // mark_failed() comes from other threads. The flag is a hint that marks_ is not empty; the lock
  // orders what is in it.
  std::atomic<bool> is_marked_{false};
  std::mutex marking_;
  std::vector<std::pair<std::uint32_t, std::string>> marks_;
};

}  // namespace weft
