// A device: its endpoints, what is under way, and the protocols between them. One file per
// protocol: am.cpp, two_sided.cpp, rendezvous.cpp, one_sided.cpp, atomics.cpp; what all of them use
// is in device.cpp, progress in progress.cpp. docs/protocols/rendezvous.md has the states.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "comm/handling_order.hpp"
#include "comm/in_flight.hpp"
#include "comm/matching.hpp"
#include "comm/packets.hpp"
#include "comm/registration.hpp"
#include "comm/spin_lock.hpp"
#include "comm/wire.hpp"
#include "transport/transport.hpp"
#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::comm {

// Singly linked through `behind`; whoever is in one list is in no other.
template <class Node>
class waiting_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] Node* first() const noexcept { return first_; }
  void push(Node* node) noexcept {
    node->behind = nullptr;
    (last_ != nullptr ? last_->behind : first_) = node;
    last_ = node;
  }
  Node* pop() noexcept {
    Node* const node = first_;
    if (node != nullptr && (first_ = node->behind) == nullptr) last_ = nullptr;
    return node;
  }
  // Returns all nodes; the list is empty afterwards.
  [[nodiscard]] waiting_list take_all() noexcept { return std::exchange(*this, {}); }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

class local_device final : public device {
 public:
  local_device(runtime& owner, int index, std::vector<std::unique_ptr<transport>> transports);
  ~local_device();

  // --- Set-up ---
  [[nodiscard]] std::size_t channel_count() const noexcept { return channels_.size(); }
  [[nodiscard]] transport& channel_transport(std::size_t index) noexcept;
  // `addresses[channel][endpoint]`; `places[endpoint]`: the process and device of the endpoint.
  void connect(const std::vector<std::vector<std::vector<std::byte>>>& addresses,
               std::span<const comm::address> places, std::uint32_t self);
  // A process that no transport reaches, -1 for none. Called after connect().
  [[nodiscard]] int process_without_way() const noexcept;
  // Adds `made` as ways to endpoints of other jobs. `addresses[transport][endpoint]` and `places[endpoint]` are of a table that
  // is the same at all of them; a place with a process of this job, or -1, is no new peer. Called by the device's thread,
  // outside of handlers.
  void join(std::vector<std::unique_ptr<transport>> made,
            const std::vector<std::vector<std::vector<std::byte>>>& addresses,
            std::span<const comm::address> places, std::uint32_t self);
  // transport::shut_down() of all its transports.
  [[nodiscard]] bool shut_down() noexcept;

  // --- Posting, with the lock held ---
  // Each returns as post() does, but does not check what the caller may do.
  status start(const am& wanted) noexcept;
  status start(const comm::send& wanted) noexcept;
  status start(const recv& wanted) noexcept;
  status start(const put& wanted) noexcept;
  status start(const get& wanted) noexcept;
  status start(const atomic& wanted) noexcept;

  template <class Operation>
  status post_once(const Operation& wanted, bool insist) noexcept;
  template <class Operation>
  status post_insisting(Operation wanted) noexcept;
  // Whether the caller is a handler of this device.
  [[nodiscard]] bool in_handler() const noexcept { return in_progress_ || pumping_; }
  [[nodiscard]] bool is_of_other_job(int process) const noexcept;
  // Whether a process is dead and all that came from it has been delivered here. Relaxed: posts and
  // progress hold the lock.
  [[nodiscard]] bool has_lost(int process) const noexcept {
    return lost_[static_cast<std::size_t>(process)].load(std::memory_order_relaxed);
  }

  // Called after the workers have ended: see transport::leave_as_dead().
  void leave_other_jobs_as_dead() noexcept;

  // --- The members of device ---
  int make_progress() noexcept;
  int pump_transports() noexcept;
  bool try_arm() noexcept;
  void disarm_all() noexcept;
  std::span<const doorbell> ring_list() noexcept;
  std::int64_t sleep_limit_ns() const noexcept;
  place* take_packet_place() noexcept;
  std::size_t eager_bytes_max(const comm::address& to) const noexcept;
  std::size_t eager_send_bytes_max(const comm::address& to) const noexcept;
  std::string_view transport_name(const comm::address& to) const noexcept;
  // Whether the transport to there puts and gets, to and from memory that needs no registration of its own for it.
  bool copies_in_place(const comm::address& to) const noexcept;
  device_statistics statistics_now() const noexcept;
  void refuse(const event& happened, const char* why) noexcept;
  spin_lock* lock() const noexcept { return lock_.get(); }

  remote_memory expose(std::span<std::byte> memory, peer_access peers, int process);
  void end_exposure(const remote_memory& exposed) noexcept;

  // --- From other devices ---
  void hand_over(operation* to_this_device) noexcept { handed_.push(to_this_device); }

 private:
  struct alignas(padding_bytes) channel : arrivals {  // Written by every send.
    channel(local_device& device, std::unique_ptr<transport> transport) noexcept
        : owner(device), to(std::move(transport)) {}
    void delivered(std::uint32_t peer, const wire_header& header,
                   std::span<const std::byte> payload) noexcept override;
    void completed(void* context, bool failed) noexcept override;
    void written(std::uint64_t word) noexcept override;
    void peer_failed(std::uint32_t peer, const char* why) noexcept override;
    void refused(std::uint32_t peer, const char* why) noexcept override;

    local_device& owner;
    std::unique_ptr<transport> to;
    transport_traits traits;
    std::size_t eager_bytes = 0;       // The limit for ams, whose handlers get the data in place.
    std::size_t eager_send_bytes = 0;  // The limit for sends, whose receives copy the data.
    std::uint8_t index = 0;            // Of the key in a remote_memory that is for it.
    bool is_joined = false;            // It leads to other jobs.
    unsigned idle_polls = 0, skips = 0;
  };

  // Its transport numbers endpoints by a table of its own.
  struct joined_channel final : channel {
    using channel::channel;
    void delivered(std::uint32_t peer, const wire_header& header,
                   std::span<const std::byte> payload) noexcept override;
    void peer_failed(std::uint32_t peer, const char* why) noexcept override;
    void refused(std::uint32_t peer, const char* why) noexcept override;
    std::vector<std::uint32_t> numbers;  // In peers_; no_endpoint: none.
  };

  struct peer_state {
    channel* route = nullptr;
    comm::address who;
    std::uint32_t way = 0;      // Its number for the transport of the route.
    std::uint32_t kept = 0;     // Messages to it in the backlog; one more while some are gathered.
    place* gathered = nullptr;  // Small ones that go together.
    std::uint32_t number = 0;
    std::uint32_t arriving = 0;   // Long messages from it that arrive in the core's memory.
    std::uint32_t announced = 0;  // Long messages from it that wait until others have arrived.
    std::uint64_t full_in_pass = 0;
    bool failed = false;
    bool told = false;          // The transports know that it has failed.
    bool is_gathering = false;  // In gathering_.
  };

  struct exposure {
    std::byte* begin = nullptr;  // Null: free.
    std::size_t size = 0;
    std::uint32_t generation = 0;
    peer_access peers = peer_access::none;
    std::int32_t process = -1;           // The only process that may use it; -1: all.
    std::vector<memory_region> regions;  // One per channel.
  };

  // What the transport can, now that it is connected.
  void learn(channel& connected) const noexcept;

  // --- device.cpp: what the protocols use ---
  // Null while no transport leads there.
  [[nodiscard]] const peer_state* reached_peer(const comm::address& who) const noexcept;
  [[nodiscard]] peer_state* find_peer(const comm::address& who) noexcept;
  [[nodiscard]] peer_state* usable_peer(const comm::address& who) noexcept;
  status transmit(peer_state& to, const wire_header& header, wire_parts parts,
                  void* context) noexcept;
  // Sends `to` one message with a request of the operation `what`, which then waits for a message of kind `awaited`.
  // When the transport has no room, `what` is given back.
  status request(peer_state& to, operation& what, message_kind kind,
                 std::span<const std::byte> body, message_kind awaited,
                 std::uint8_t flags = 0) noexcept;
  // Sends or keeps a message of the core's own.
  void tell(peer_state& to, const wire_header& header, wire_parts parts = {}) noexcept;
  void tell_finished(peer_state& to, std::uint64_t operation, bool failed) noexcept;
  // False: it has to go by itself.
  [[nodiscard]] bool gather(peer_state& to, const am& wanted, const wire_header& header) noexcept;
  // Into the transport or the backlog.
  void send_gathered(peer_state& to) noexcept;
  int send_all_gathered() noexcept;
  [[nodiscard]] bool keep(peer_state& to, const wire_header& header, wire_parts parts) noexcept;
  [[nodiscard]] operation* take_operation(purpose why, std::uint32_t peer) noexcept;
  [[nodiscard]] operation* take_for_peer(purpose why, std::uint32_t peer) noexcept;
  void give_back(operation& ended) noexcept;
  [[nodiscard]] bool set_locals(operation& of,
                                std::span<const std::span<std::byte>> parts) noexcept;
  [[nodiscard]] bool set_locals(operation& of,
                                std::span<const std::span<const std::byte>> parts) noexcept;
  [[nodiscard]] bool register_locals(operation& of, peer_access peers) noexcept;
  // Registers the local data so that the operation's peer can move them itself; false when that is not possible.
  [[nodiscard]] bool opens_locals(operation& of, peer_access peers) noexcept;
  // Registers the local data if needed, so that the transport can move them itself; false when that is not possible.
  [[nodiscard]] bool reaches_locals(operation& of) noexcept;
  // Hands pieces to the transport until there are no more, or it has no room.
  void move_on(operation& what) noexcept;
  status move_piece(operation& what) noexcept;
  void finish(operation& ended) noexcept;
  void signal_end(operation& ended) noexcept;
  [[nodiscard]] event event_from(const peer_state& peer, operation_kind kind) const noexcept;
  // Signals the completion `called` with the message; false when that is full.
  [[nodiscard]] bool give(const completion& called, event& happened,
                          std::span<const std::byte> payload) noexcept;
  [[nodiscard]] const completion* handler_of(std::uint16_t index) const noexcept;
  // Whether pump() gives such a message to its handler.
  [[nodiscard]] bool is_pumped(const wire_header& header) const noexcept;
  void refuse(peer_state& from, const char* why) noexcept;
  // Reports a post that can never succeed.
  template <class... Values>
  [[gnu::noinline]] void complain(fmt::format_string<Values...> why,
                                  const Values&... values) noexcept {
    if (statistics_.failed++ == 0) log_line(why, values...);
  }
  [[nodiscard]] bool fits_parts(std::size_t count) noexcept;
  void wait_for_room(operation& what) noexcept;

  // --- device.cpp: memory of an accelerator ---
  // The data of one message as the processor can read them, until the next one; empty when the
  // accelerator refuses.
  [[nodiscard]] std::span<const std::byte> staged(wire_parts parts) noexcept;

  status send_eager(peer_state& to, const wire_header& header, const const_buffers& data,
                    std::uint64_t size, const completion& local, void* context, packet* from,
                    operation_kind kind) noexcept;

  // --- progress.cpp ---
  void deliver(std::uint32_t peer, const wire_header& header,
               std::span<const std::byte> payload) noexcept;
  void deliver_one(peer_state& from, const wire_header& header,
                   std::span<const std::byte> payload) noexcept;
  void deliver_gathered(peer_state& from, std::span<const std::byte> payload) noexcept;
  [[nodiscard]] needed_thread thread_for(const wire_header& header) const noexcept;
  [[nodiscard]] bool handle(peer_state& from, const wire_header& header,
                            std::span<const std::byte> payload) noexcept;
  void defer(peer_state& from, const wire_header& header,
             std::span<const std::byte> payload) noexcept;
  void transport_completed(void* context, bool failed) noexcept;
  void peer_failed(const channel& by, std::uint32_t peer, const char* why) noexcept;
  void conclude_failures() noexcept;
  void lose(peer_state& dead) noexcept;
  [[nodiscard]] int catch_up() noexcept;
  [[nodiscard]] int send_backlog() noexcept;
  [[nodiscard]] int begin_announced() noexcept;
  [[nodiscard]] int poll_channels() noexcept;
  void end(operation& what) noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  void notice_failures() noexcept;

  // --- Steps of the protocols; false: try this message again later ---
  [[nodiscard]] bool on_am(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  [[nodiscard]] bool on_eager(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  [[nodiscard]] bool on_am_announce(peer_state&, const wire_header&,
                                    std::span<const std::byte>) noexcept;
  [[nodiscard]] bool on_send_announce(peer_state&, const wire_header&,
                                      std::span<const std::byte>) noexcept;
  void on_ready(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  void on_data(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  void on_finished(peer_state&, const wire_header&) noexcept;
  void on_written(const channel& by, std::uint64_t operation) noexcept;
  [[nodiscard]] bool on_put_data(peer_state&, const wire_header&,
                                 std::span<const std::byte>) noexcept;
  [[nodiscard]] bool on_notify(peer_state&, const wire_header&,
                               std::span<const std::byte>) noexcept;
  void on_get_request(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  void on_atomic_request(peer_state&, const wire_header&, std::span<const std::byte>) noexcept;
  void on_atomic_reply(peer_state&, const wire_header&) noexcept;

  // --- rendezvous.cpp ---
  status announce(peer_state& to, wire_header header, announcement first, operation& what) noexcept;
  // The announcement and the exposed parts of a message; false when they make no sense.
  [[nodiscard]] static bool read_announcement(const wire_header& header,
                                              std::span<const std::byte> payload,
                                              announcement& first, part_list& exposed) noexcept;
  static void note_preference(operation& what, const wire_header& header) noexcept;
  void pull(operation& what) noexcept;
  // pull() into memory of the core, at once or when other long messages have arrived.
  void pull_or_wait(operation& what) noexcept;
  [[nodiscard]] bool may_arrive(const peer_state& from, const operation& what) const noexcept;
  void begin_arrival(operation& what) noexcept;

  // --- two_sided.cpp ---
  [[nodiscard]] match_table* engine_of(std::uint16_t index) noexcept;
  [[nodiscard]] bool scatter(std::span<const std::byte> from, const operation& to) noexcept;
  [[nodiscard]] event received(const operation& posted, const peer_state& from,
                               place* message) noexcept;
  [[nodiscard]] bool wait_for_receive(match_table& engine, const match_key& key, peer_state& from,
                                      const wire_header& header,
                                      std::span<const std::byte> payload) noexcept;
  void receive_eager(operation& posted, peer_state& from, const wire_header& header,
                     std::span<const std::byte> payload) noexcept;
  void receive_announced(operation& posted, peer_state& from, const wire_header& header,
                         std::span<const std::byte> payload) noexcept;
  void end_receive(operation& posted, const event& happened) noexcept;
  void send_home(operation& posted) noexcept;
  static void shorten_locals(operation& of) noexcept;
  [[nodiscard]] int take_handed() noexcept;
  void fail_receives(match_table& engine, int process) noexcept;

  // --- one_sided.cpp ---
  // The bytes of an exposed region; null when `process` has not the access `wanted` to them.
  [[nodiscard]] std::byte* memory_at(std::uint64_t region, std::uint64_t offset, std::uint64_t size,
                                     peer_access wanted, int process) noexcept;
  [[nodiscard]] bool expose_far(transport& to, std::span<std::byte> memory, peer_access peers,
                                memory_region& made) noexcept;
  // Whether the channel `by` reaches some device of that process.
  [[nodiscard]] bool leads_to(const channel& by, int process) const noexcept;
  [[nodiscard]] bool is_permitted(const remote_memory& memory, peer_access wanted,
                                  const char* what) noexcept;
  [[nodiscard]] bool is_inside(const remote_memory& memory, std::uint64_t offset,
                               std::uint64_t size) noexcept;
  status launch(operation& what, const completion& local) noexcept;
  [[nodiscard]] bool put_directly(operation& what) noexcept;
  [[nodiscard]] bool get_directly(operation& what) noexcept;
  [[nodiscard]] bool reaches_memory(operation& what, bool transport_traits::*can) noexcept;
  [[nodiscard]] status copy_within(const operation& what, std::span<std::byte> local,
                                   std::uint64_t offset) noexcept;
  void notify_peer(operation& ended) noexcept;
  [[nodiscard]] bool tell_of(peer_state& from, const wire_header& header, const notification& what,
                             operation_kind kind) noexcept;

  runtime::state& shared_;
  const std::unique_ptr<spin_lock> lock_;
  packet_pool packets_;
  operation_table operations_;
  registration_cache registrations_;
  weft::accelerator* const accelerator_;
  std::vector<std::byte> staging_;  // The data of one message, from an accelerator.
  match_table engine_;
  std::vector<std::unique_ptr<channel>> channels_;
  std::vector<peer_state> peers_;
  std::uint32_t self_ = 0;
  std::vector<exposure> exposures_;

  waiting_list<operation> moving_;     // Operations that wait for room in a transport.
  waiting_list<operation> ended_;      // pump() ended them; progress() signals their completions.
  waiting_list<operation> announced_;  // Long messages that wait until others have arrived.
  std::uint64_t arriving_bytes_ = 0;   // Bytes of long messages that arrive in the core's memory.
  bool arrival_has_ended_ = false;     // Some have arrived since announced_ was looked at.
  waiting_list<place> backlog_;        // Messages kept for want of room, to any peer.
  std::size_t backlog_count_ = 0;
  waiting_list<place> deferred_;  // Messages that came and whose completions were full.
  handling_order order_;          // Of those and what comes.
  std::uint64_t pass_ = 0;
  std::uint64_t failures_seen_ = 0;
  std::vector<std::uint32_t> gathering_;  // Peers for which messages may be gathered.
  std::vector<std::uint32_t> dying_;      // Peers that a transport has reported as failed.
  std::vector<std::atomic<bool>> lost_;   // has_lost(), by process.
  std::uint64_t forgotten_seen_ = 0;
  bool in_progress_ = false;
  bool pumping_ = false;
  bool insisting_ = false;
  bool armed_ = false;
  device_statistics statistics_;
  std::vector<doorbell> doorbells_;

  mpsc_queue<operation> handed_;
};

}  // namespace weft::comm
