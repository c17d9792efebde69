// What carries parcels between processes, behind one interface. The layer above (layer.hpp) encodes, decodes and knows
// actions; a port moves bytes. Ports are chosen by name at run time: `weftrun --parcelport NAME`, WEFT_PARCELPORT.
//
// A new port derives from parcelport. Add how it is made to the table in port.cpp; under the compile definition of
// its library where that may be missing (CMakeLists.txt). Its name belongs into the table of settings, too
// (base/settings.cpp), which refuses others in one line.
//
// A port with a network of its own hands over what comes when a worker looks at it (let_workers_look), and wakes one with
// worker::notify() when something has come that nobody looks at; where nothing tells it so it has a thread that looks
// while any worker sleeps: the others may compute.
//
// A message is one parcel or several, one after the other, and may have chunks (wire.hpp). What a port owes the layer:
//
//   - Every message that send() has taken comes to the other process once and whole: it calls
//     parcel_receiver::deliver() there, on a worker of that process, inside of that worker's pass (poller::look(),
//     or a handler of the worker's device). On no other thread, and not within another delivery.
//   - It counts, or the job ends, or reports a deadlock, while something is under way. What it sends by remote::port is
//     counted there. A network of its own has each message and each chunk counted by remote::uncounted_messages: on the
//     sending worker before it is posted, and at the other side first parcel_receiver::expect_work(), then the count,
//     then deliver(). A chunk is counted when it is at its place; scheduler::expect_network_work() holds the job until
//     then, or until it stops.
//   - What lies in outgoing_parcel::heap and ::kept stays until the message and its chunks have left, and is freed then, or
//     never, where a network may read it for ever;
//     `bytes` that lie elsewhere are the caller's again when send() returns.
//   - A wait for room is a wait of the calling fiber (remote::post_in_wait, worker::wait_until); nothing waits in progress.
//   - When a process is dead, sends to it return false, and what was to come from it is abandoned.
//   - What comes from another process is not believed: sizes and numbers are looked at, refuse() counts and says so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "remote/handlers.hpp"
#include "remote/port.hpp"
#include "task/task_source.hpp"
#include "weft/parcels/call.hpp"

namespace weft::detail {

// A message to be sent. With chunks it is one parcel, and `bytes` ends with a transmission chunk whose first word the
// port fills in: whatever lets its receive() find them.
struct outgoing_parcel {
  int process = 0;
  int port = -1;  // The receiver's side, as message_origin::port of what it answers; -1: any.
  std::span<std::byte> bytes;
  std::span<const parcel_chunk> chunks;  // Never empty ones.
  // What the chunks lie in, or whoever wants to know that all has left: kept->free(*kept) is called then, by a worker,
  // or by the thread that ends the job; never where a network that was given up may still read them.
  kept_values* kept = nullptr;
  // What `bytes` lie in; null: somewhere that is the caller's.
  std::unique_ptr<std::byte[]> heap;
};

// It says whence a message has come.
struct message_origin {
  int process = 0;
  std::uint16_t port = 0;  // A side of the sender to which its answers best go.
};

// What a port delivers to.
class parcel_receiver {
 public:
  // Called by a worker in its pass. `message` is valid during the call only.
  virtual void deliver(worker& here, const message_origin& from,
                       std::span<const std::byte> message) noexcept = 0;
  // Called in progress before a message is counted as received: the job does not end before the worker has looked for work.
  static void expect_work(worker& here) noexcept;

 protected:
  ~parcel_receiver() = default;
};

// One of a process, which outlives the workers: made before they run, destroyed after they have ended. Called by the
// job's workers, by several at a time.
class parcelport {
 public:
  parcelport() = default;
  parcelport(const parcelport&) = delete;
  parcelport& operator=(const parcelport&) = delete;
  virtual ~parcelport() = default;

  // Returns the name as somebody would write it, without "_i".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Called by fibers, which wait for room. Takes heap and kept over, also when it fails. False: that process is dead.
  // Throws job_stopped.
  virtual bool send(worker& here, outgoing_parcel& what) = 0;
  // The same in progress, of few bytes without chunks: what there is no room for is kept. Does not wait, nor make progress
  // until there is room: whoever takes what comes may be the calling worker.
  virtual void send_at_once(worker& here, int process, int to_port,
                            std::span<const std::byte> bytes) noexcept = 0;
  // Called by a task, on the worker to which the parcel was delivered, or on any where receives_anywhere(), or within
  // deliver(): the chunks of a parcel of `process` go to `places`, which stay. Then end_chunks() is called for `then`.
  // `word` is that of the transmission chunk. Throws job_stopped when it has abandoned `then`, or will.
  virtual void receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) = 0;
  [[nodiscard]] virtual bool receives_anywhere() const noexcept { return true; }
  // What came makes no sense: counts it, and says so once.
  virtual void refuse(worker& here, const message_origin& from, const char* why) noexcept = 0;
  // A process has died, of which `here` has received all that came over the job's own devices. Called by each worker,
  // again in each of its passes. True when something has ended for this reason.
  virtual bool end_operations_with_dead(worker& here) noexcept {
    static_cast<void>(here);
    return false;
  }
  // Nothing that a process has sent before it died is still to be delivered by the port's own network.
  [[nodiscard]] virtual bool has_delivered_all_of_dead(int process) noexcept {
    static_cast<void>(process);
    return true;
  }
};

// What somebody has written: "lci_psr_cq_pin_i:2" is of kind "lci_psr_cq_pin", sends at once, detail "2".
struct parcelport_name {
  std::string kind;
  bool is_immediate = false;
  std::string detail;
  [[nodiscard]] static parcelport_name of(std::string_view text);
};

// What a port is made in; outlives it.
struct parcelport_site {
  parcel_receiver& receiver;
  network& between;    // The job's: its bootstrap, its devices, its counts.
  scheduler& workers;  // They do not run yet.
  remote::handlers
      handlers;  // They serve messages over the job's own devices; used during the call only.
};

struct parcelport_maker {
  bool (*knows)(std::string_view kind) noexcept;
  // Called in all processes of the job, before their workers run. Throws weft::error in one line where it cannot be.
  std::unique_ptr<parcelport> (*make)(const parcelport_name& name, const parcelport_site& site);
};

// What fibers wait for in ports and before them, as reports say it.
inline constexpr const char* waits_for_room = "sending a parcel, for room";
inline constexpr const char* waits_for_connection =
    "sending a parcel, for one of the connections to be free";
[[nodiscard]] wait_description waits_at(const char* call, int process) noexcept;

// What a port has yet to do by itself, such as to learn that a message has left: until it ends the job neither ends nor
// is taken for a deadlock. It counts as a message of the process to itself, since all workers may sleep while the network
// knows. Each may be on another worker.
void begin_own_work(worker& here);
void end_own_work(worker& here) noexcept;

// Submits `then` as a task of the calling worker where all chunks have come and that worker runs tasks; else abandons it.
void end_chunks(chunked_task& then, bool have_come) noexcept;

// The job's workers look from their first pass on at the port's network, also those that run no tasks. It outlives them.
void let_workers_look(const parcelport_site& site, poller& at);

extern const parcelport_maker lci_parcelport;           // lci
extern const parcelport_maker tcp_parcelport;           // tcp, where Boost.Asio was found
extern const parcelport_maker lci_variant_parcelports;  // lci_{sr|psr}_{cq|sy}_{pin|mt|core}
extern const parcelport_maker mpi_parcelports;          // mpi, mpi_orig

// Throws weft::error where this build has no such one.
[[nodiscard]] std::unique_ptr<parcelport> make_parcelport(const parcelport_name& name,
                                                          const parcelport_site& site);

}  // namespace weft::detail
