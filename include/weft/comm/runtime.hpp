// A communication core of one process: its devices, and what they share. Several may live in one
// process at a time.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/comm/completion.hpp"
#include "weft/peer_access.hpp"

namespace weft {
class accelerator;
class bootstrap;
class transport;
}  // namespace weft

namespace weft::comm {

class runtime;
class device;

// How long messages travel: the receiver reads the sender's memory, the sender writes the
// receiver's, or the data go as messages; `best` is the first of these that the transport can.
enum class rendezvous_protocol : std::uint8_t { best, read, write, messages };

struct runtime_options {
  int devices = 1;              // Of this process; other processes may have other numbers.
  bool shared_devices = false;  // Every device may be used by several threads at a time.
  // Or the only one that may be used: shm, ofi, mpi. When the runtime finds its job itself, auto
  // means what WEFT_TRANSPORT says.
  std::string transport = "auto";
  // What is done so that nobody else makes, changes or reads messages of the job: off, authenticate, encrypt, or auto,
  // which is authenticate over networks that let others in and off elsewhere. The same in all processes. When the runtime
  // finds its job itself, auto means what WEFT_SECURE says.
  std::string secure = "auto";
  std::size_t eager_bytes = 64 * 1024;  // Longer messages go by rendezvous.
  rendezvous_protocol rendezvous = rendezvous_protocol::best;
  std::size_t packets = 256;  // Of each device.
  std::size_t packet_bytes = 8 * 1024;
  std::size_t operations = 1024;  // Under way at a time, of each device.
  // Bytes that have come and wait for the program, of each device: unexpected messages, those that
  // find no room in a completion object, events not yet released. Beyond, it takes no further messages
  // from its peers until some are received. As many may be arriving beside them of long ams and long
  // messages received in place, and in any case one of each peer. What fits into packets does not
  // count, nor does what is kept to be sent.
  std::size_t waiting_bytes_max = std::size_t{16} << 20;
  // Registrations of buffers are kept for their next use also by networks that pin pages. The
  // program then calls runtime::forget_memory() after it freed or unmapped buffers that it had
  // posted.
  bool keep_registrations = false;
  std::size_t registrations = 256;  // Kept by the registration cache of each device.
  // Whose memory buffers may lie in beside the processor's: of every operation but atomics, and of
  // registered_memory. Not of reductions. Stays until the runtime ends.
  weft::accelerator* accelerator = nullptr;
  // Called once for each process that has failed, by whichever thread makes progress. Without one that
  // is said on stderr.
  std::function<void(int process, const char* why)> on_peer_failure{};
};

// A completion that peers may name: what an am calls, what a put notifies. Processes that register
// the same completions in the same order have the same ids; others exchange them.
struct handler_id {
  std::uint16_t index = 0;  // 0: none.
  // Named, so that a whole word is written: what follows it in an operation is then cleared in whole
  // words, too, and can be read while the stores are under way.
  std::uint16_t unused[3] = {};
  [[nodiscard]] explicit operator bool() const noexcept { return index != 0; }
};
static_assert(sizeof(handler_id) == sizeof(std::uint64_t));

// Memory of a device that peers may reach, as a value to be sent to them.
struct remote_memory {
  std::uint64_t size = 0;
  std::uint64_t region = 0;    // The device's own name for it.
  std::uint64_t keys[6] = {};  // Three words for each of its transports.
  std::int32_t process = -1;
  std::int16_t device = 0;
  std::uint8_t by_messages = 0;  // Bit i: its transport i cannot reach this memory.
  peer_access peers = peer_access::none;
};

// The registration, for as long as this object lives. Made and destroyed by the device's thread. Over a
// network memory is open to whoever knows its key (docs/transports.md): `peers` is what they may do with
// it, and atomic operations need both; `process`, if given, the only one that may, by which the memory
// is registered with no other transports than those that lead there.
class registered_memory {
 public:
  registered_memory() = default;
  registered_memory(device& on, std::span<std::byte> memory,
                    peer_access peers = peer_access::read_and_write, int process = -1);
  registered_memory(registered_memory&& other) noexcept;
  registered_memory& operator=(registered_memory&& other) noexcept;
  ~registered_memory();

  [[nodiscard]] const remote_memory& remote() const noexcept { return remote_; }

 private:
  device* device_ = nullptr;
  remote_memory remote_;
};

// A place that the core owns, to put a message together in: sent without a further copy.
class packet {
 public:
  packet() = default;
  packet(packet&& other) noexcept;
  packet& operator=(packet&& other) noexcept;
  ~packet();  // Gives it back; callable by any thread.

  [[nodiscard]] explicit operator bool() const noexcept { return place_ != nullptr; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;

 private:
  friend class device;
  void* place_ = nullptr;
};

// What an arrival rings while a device is armed: a word on which a futex wait for `value` ends, or
// a file descriptor that becomes readable.
struct doorbell {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t value = 0;
  bool shared = false;  // Rung from other processes: no FUTEX_PRIVATE_FLAG.
  int descriptor = -1;
};

// Of a device; for people and tests.
struct device_statistics {
  std::uint64_t sent = 0;           // Messages given to a transport.
  std::uint64_t received = 0;       // Messages that made sense.
  std::uint64_t refused = 0;        // Messages that did not.
  std::uint64_t retries = 0;        // Posts refused for want of room.
  std::uint64_t failed = 0;         // Posts that can never succeed, but those to the dead.
  std::uint64_t unexpected = 0;     // Messages that came before their receive.
  std::uint64_t registrations = 0;  // Made with a transport, of buffers that were not in the cache.
};

// One network context: an endpoint of each transport, packets, operations under way. Used by one
// thread at a time; which one may change where the program orders the uses. With
// runtime_options::shared_devices by any number.
class device {
 public:
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  // Delivers what has come and moves on what is under way; calls handlers. Returns how much
  // happened. Within a handler it does nothing.
  int progress() noexcept;

  // Called by a thread beside those that use the device, when these make no progress; only with
  // runtime_options::shared_devices. Drives the transports, so that what peers read and what waits
  // for room goes on. What comes is kept for the next progress(): nothing of the program's is called but handlers
  // that were registered for it.
  // Does nothing while the device is armed or in use. Returns how much happened.
  int pump() noexcept;

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] runtime& owner() const noexcept { return owner_; }
  // Ams up to here are sent at once; `data` beyond goes by rendezvous. Sends may go so earlier.
  [[nodiscard]] std::size_t eager_bytes_max(int process, int device = 0) const noexcept;
  // The transport that messages to there take: "shm", "ofi", "sim"; empty when there is none.
  [[nodiscard]] std::string_view transport_to(int process, int device = 0) const noexcept;
  // False once the process is dead and this device has delivered all that had come from it.
  [[nodiscard]] bool is_alive(int process) const noexcept;

  // Sleeping. After arm() returned true an arrival rings one of doorbells(). False: something is
  // there already. After waking, or when staying awake after all: disarm().
  [[nodiscard]] bool arm() noexcept;
  void disarm() noexcept;
  // As many as there are transports; constant between arm() and disarm().
  [[nodiscard]] std::span<const doorbell> doorbells() noexcept;
  // Sleep no longer than this before the next progress(), even when nothing rings: that is how some
  // transports notice that a peer has died. Negative: no limit.
  [[nodiscard]] std::int64_t sleep_ns_max() const noexcept;

  // An empty packet; false when all are in use. Operations take it over by their member `from`.
  [[nodiscard]] packet take_packet() noexcept;

  // For a handler that can make no sense of what came: it is counted and reported like a message that
  // the core itself refuses.
  void refuse(const event& happened, const char* why) noexcept;

  [[nodiscard]] device_statistics statistics() const noexcept;

 protected:
  device(runtime& owner, int index) noexcept : owner_(owner), index_(index) {}
  ~device() = default;
  [[nodiscard]] static void* place_of(const packet& of) noexcept { return of.place_; }
  static void forget(packet& given) noexcept { given.place_ = nullptr; }

 private:
  runtime& owner_;
  int index_;
};

class runtime {
 public:
  class state;
  // The job is the one of whoever started this process, which its runtimes share. Every process of
  // the job makes and ends them in the same order; the constructor returns when all have. A job
  // of several is joined once at a time: weft::run() is refused while such a runtime lives.
  explicit runtime(const runtime_options& how = {});
  // With a bootstrap, and with endpoints, of the caller's: for every device its transports, the
  // cheapest to poll first, in all processes the same kinds in the same order. Whoever made the
  // bootstrap hands its failures to mark_failed().
  using endpoint_maker = std::function<std::vector<std::unique_ptr<weft::transport>>(int device)>;
  runtime(weft::bootstrap& job, const runtime_options& how,
          const endpoint_maker& make_endpoints = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  // Operations under way are canceled; no thread uses the devices any more. Peers may go on.
  ~runtime();

  [[nodiscard]] int process() const noexcept;
  [[nodiscard]] int process_count() const noexcept;
  [[nodiscard]] int device_count() const noexcept;
  [[nodiscard]] int device_count(int process) const noexcept;
  [[nodiscard]] comm::device& device(int index = 0) const;  // Throws when there is no such one.
  [[nodiscard]] const runtime_options& options() const noexcept;

  // Called by any thread; best before the first message that names it. The completion stays until
  // the runtime ends. Throws weft::error when there are handlers_max already.
  // `also_pumped`: pump() calls it, too, on the thread that pumps, and maybe before older messages for other handlers;
  // it is a function then. Of messages for them the order is kept; small ones may wait at the sender for its next progress() or pump().
  handler_id register_handler(const completion& called, bool also_pumped = false);

  // This process has failed, as somebody knows; called by any thread. Devices notice in progress().
  void mark_failed(int process, std::string_view why) noexcept;

  // See runtime_options::keep_registrations. Called by any thread.
  void forget_memory() noexcept;

  [[nodiscard]] state& internals() const noexcept { return *state_; }

 private:
  std::unique_ptr<state> state_;
};

// Where sends and receives of all devices of a process may meet, beside each device's own. Its
// index is the next one that is free in its runtime, so processes that make theirs in the same
// order agree.
class matching_engine {
 public:
  explicit matching_engine(runtime& of);
  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;
  // Messages may still come for it: what waits in it stays until the runtime ends.
  ~matching_engine() = default;

  [[nodiscard]] std::uint16_t index() const noexcept { return index_; }

 private:
  std::uint16_t index_;
};

}  // namespace weft::comm
