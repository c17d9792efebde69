// The contract between the communication core and the transports, which move its messages.
//
// A transport object is one endpoint: one network context with its own queues, used by one device
// of the core. All endpoints of a job stand in one table, ordered by process and then by device,
// the same in every process; an endpoint's place there is its number, and `peer` is always that
// number.
//
// Messages are reliable, whole, and in order per (sending endpoint, receiving endpoint); order
// holds also when queues fill. Data path (send, poll, put, get): no allocation in the steady state,
// no exception. One thread at a time per endpoint, except where a class says that it allows more;
// the core holds its lock. Set-up throws weft::error.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "transport/wire.hpp"
#include "weft/peer_access.hpp"
#include "weft/status.hpp"

namespace weft {

class accelerator;

// A message's data, gathered in this order.
using wire_parts = std::span<const std::span<const std::byte>>;

// Memory that peers may reach. `key` travels to them; only the transport knows what is in it.
struct remote_key {
  std::uint64_t words[3] = {0, 0, 0};
};
struct memory_region {
  std::byte* begin = nullptr;
  std::size_t size = 0;
  remote_key key;
  void* handle = nullptr;  // The transport's.
};

// What poll() calls, on the polling thread, never from within send(), put() or get(). A member may itself send, put and
// get, but not poll.
class arrivals {
 public:
  // A message. `payload` is valid during the call only, and may be memory that a broken peer still
  // writes: what is checked must be copied first. `header` is a copy.
  virtual void delivered(std::uint32_t peer, const wire_header& header,
                         std::span<const std::byte> payload) noexcept = 0;
  // The send(), put() or get() that returned `posted` with this context is over: its data are no longer in use, those
  // of a get() have arrived. `failed`: they have not and will not.
  virtual void completed(void* context, bool failed) noexcept = 0;
  // A put_and_tell() of some peer has arrived, with this word. It is not known which peer's.
  virtual void written(std::uint64_t word) noexcept = 0;
  // The peer is dead: nothing comes from it or goes to it any more. Called once, after its complete messages are
  // delivered. Operations under way to it complete as failed, before or after. It is not called for a peer that has
  // taken leave or whose endpoint was destroyed; but sends to that one fail, too.
  virtual void peer_failed(std::uint32_t peer, const char* why) noexcept = 0;
  // A malformed message of a peer was dropped.
  virtual void refused(std::uint32_t peer, const char* why) noexcept = 0;

 protected:
  ~arrivals() = default;
};

// What is done so that nobody but its two endpoints makes, changes or reads a message.
enum class protection : std::uint8_t {
  none,          // Nothing here: who may reach what is the network's own affair.
  authenticate,  // What others have made, changed, repeated or held back is not taken.
  encrypt,       // Nor can others read it.
};

struct transport_traits {
  std::string_view name;          // "shm", "ofi", "mpi", "sim".
  std::string_view detail;        // For people: the provider, the fabric.
  std::size_t message_bytes_max;  // Longest payload of one message.
  std::size_t inject_bytes_max;   // Up to here send() never returns `posted`.
  bool can_put = false;           // Otherwise the core sends messages instead.
  bool can_get = false;
  // Whether there is put_and_tell(), to other endpoints. It may turn false when the first one is refused.
  bool can_tell_put = false;
  // Puts up to this size cost the poster less as messages, while there is room for them.
  std::size_t put_message_bytes_max = 0;
  bool needs_registration = false;      // Local memory of put() and get() must be registered.
  bool registers_accelerators = false;  // It may turn out that one refuses.
  // A registration opens memory to anybody who has its key, so one that gives peers access must not last longer than
  // needed. False: the key is only a name.
  bool registration_opens = false;
  protection protects = protection::none;  // The same in all endpoints of a job.
  bool has_launcher = false;               // It numbers the processes that its own mpirun started.
  // A sleeper polls at least this often, or the death of a peer goes unnoticed. -1: it need not.
  std::int64_t sleep_ns_max = -1;
};

class transport {
 public:
  virtual ~transport() = default;
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  [[nodiscard]] virtual const transport_traits& traits() const noexcept = 0;

  // --- Set-up ----------------------------------------------------------------------------------
  // What peers must know to reach this endpoint, to be exchanged by the bootstrap.
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  // Called once with the addresses of all endpoints (empty: that one has no such transport) and
  // this endpoint's number. Connections may be made later, at the first message.
  virtual void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) = 0;
  // Whether messages can go to `peer`, which may be this endpoint itself. Called after connect().
  [[nodiscard]] virtual bool reaches(std::uint32_t peer) const noexcept = 0;

  // --- Messages --------------------------------------------------------------------------------
  // Sends the header and the parts, which hold at most message_bytes_max together. Returns
  //   done    the parts may be changed;
  //   posted  only with a context: the bytes that the parts name stay in use until
  //           arrivals::completed(context); the array `parts` itself does not;
  //   retry   nothing happened, poll() and try again;
  //   failed  the peer is dead.
  virtual status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
                      void* context) noexcept = 0;

  // Delivers about `budget` messages at most, and makes progress. Returns how many members of `to` it called. Cheap
  // when there is nothing.
  virtual int poll(arrivals& to, int budget) noexcept = 0;

  // --- Remote memory, where traits() say so ------------------------------------------------------
  // register_memory() is also called where they do not: a peer may be able to do what this endpoint cannot. `peers`
  // is the access that peers get and, where the transport can enforce it, no more. The endpoint itself may use the
  // memory as the local side of any operation.
  [[nodiscard]] virtual memory_region register_memory(std::span<std::byte> memory,
                                                      peer_access peers) = 0;
  // For memory of an accelerator, where traits() say registers_accelerators; needed also for the local side of a
  // put() or get(). Throws weft::error when this memory cannot be registered.
  [[nodiscard]] virtual memory_region register_memory_of(const accelerator& /*owner*/,
                                                         std::span<std::byte> /*memory*/,
                                                         peer_access /*peers*/) {
    return {};
  }
  // After it nobody reaches the memory by the key.
  virtual void deregister(memory_region& region) noexcept = 0;
  // One copy between `local` and the bytes at `offset` of the peer's region; never `done` without
  // the data being where they belong (of a put: in the peer's memory, visible to messages sent
  // afterwards). Without a context never `posted`; `failed` also when the bytes are not in the
  // peer's region. `region` may be null when registration is not needed.
  virtual status put(std::uint32_t peer, std::span<const std::byte> local,
                     const memory_region* region, const remote_key& key, std::uint64_t offset,
                     void* context) noexcept = 0;
  // A put() after which arrivals::written(word) is called at the peer: a write with immediate data.
  virtual status put_and_tell(std::uint32_t /*peer*/, std::span<const std::byte> /*local*/,
                              const memory_region* /*region*/, const remote_key& /*key*/,
                              std::uint64_t /*offset*/, std::uint64_t /*word*/,
                              void* /*context*/) noexcept {
    return status::failed;
  }
  virtual status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
                     const remote_key& key, std::uint64_t offset, void* context) noexcept = 0;

  // --- Sleeping --------------------------------------------------------------------------------
  // Called before the caller sleeps: from now on an arrival rings. False when something is there already. The caller
  // calls disarm() after waking, or when it does not sleep after all.
  [[nodiscard]] virtual bool arm() noexcept = 0;
  virtual void disarm() noexcept = 0;
  // How an arrival rings while armed; a transport has one of the two. Either a word of this process's memory, possibly
  // shared, on which a futex wait for `value` ends when something comes:
  struct bell {
    const std::atomic<std::uint32_t>* word = nullptr;
    std::uint32_t value = 0;
    bool shared = false;  // Rung from other processes: no FUTEX_PRIVATE_FLAG.
  };
  [[nodiscard]] virtual bell ringing() const noexcept { return {}; }
  // Or a file descriptor that becomes readable.
  [[nodiscard]] virtual int wait_descriptor() const noexcept { return -1; }

  // Says that this peer is dead, as the bootstrap or a user knows. One of the next poll()s calls
  // arrivals::peer_failed(), after it has delivered what had come from it, also when the peer had left. Called by any
  // thread at any time after connect(); rings when the endpoint is armed.
  virtual void mark_failed(std::uint32_t peer, const char* why) noexcept = 0;

  // From now on the death of this peer is noticed, though nothing be sent to it and nothing come from it. Called after
  // connect(), where nobody else tells of deaths.
  virtual void watch_peer(std::uint32_t /*peer*/) noexcept {}

  // From now on peers take the end of this process for a death, not for its leave. Called by the thread that destroys the
  // endpoint.
  virtual void leave_as_dead() noexcept {}

  // Tells peers that this endpoint leaves, and pushes its last messages out, without waiting; what comes meanwhile is
  // dropped. It is called for the endpoints of a process by turns until all return true in one round: an endpoint may
  // need others, also of its own process, to take its messages. Afterwards only deregister() may be called, and the
  // destructor, which shuts this endpoint alone down.
  [[nodiscard]] virtual bool shut_down() noexcept { return true; }
};

}  // namespace weft
