// Compiled once for each MPI, into a plug-in of its own: the only code of weft that is linked with
// one. All endpoints of a process share one communicator; a message's tag is the receiving
// endpoint's place in its process. MPI keeps the order of messages of equal tag, and receives are
// handled in the order in which they were posted.
//
// An MPI takes what it has no receive for and keeps it, without a limit. So after every so many bytes
// an endpoint is asked for a *receipt*: by a message without bytes, which is sent synchronously. It is not asked
// for a second one before it has given the first, and what would come after that is refused.
//
// An MPI dies with its first dead process, says nothing of it and has nothing to sleep on: failures
// come from the bootstrap, and sleepers look every millisecond.
#include "transport/mpi/plugin.hpp"
#include "base/clock.hpp"
#include "base/kept_errno.hpp"
#include "base/limits.hpp"

#include <mpi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft {

namespace {

constexpr std::size_t message_bytes = 66 * 1024;
constexpr std::size_t packet_bytes = 4096;
constexpr std::size_t packets_max = 128;
constexpr std::size_t large_packets_max = 8;
constexpr std::size_t receives = 16;
// Between two receipts. A message counts as the memory that it takes while it waits in an MPI, about: MPICH has
// buffers of 8 KiB for all but the shortest.
constexpr std::size_t receipt_bytes = 512 * 1024;
constexpr std::size_t waiting_message_bytes = 4096;
constexpr std::uint32_t address_magic = 0x306d7077;

struct envelope {
  std::uint64_t sender;
  wire_header header;
};
static_assert(sizeof(envelope) == 40);

struct mpi_address {
  std::uint32_t magic = address_magic;
  std::int32_t rank = 0;
  std::int32_t tag = 0;
  std::int32_t world = 0;
};

// What all endpoints of the process share.
struct mpi_process {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  bool is_serial = false;  // The MPI allows one thread at a time.
  std::mutex one_at_a_time;
  int next_tag = 0;

  // Empty when all is well.
  std::string start() {
    int is_up = 0;
    MPI_Initialized(&is_up);
    int provided = MPI_THREAD_SINGLE;
    if (is_up == 0) {
      if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
        return "MPI_Init_thread failed";
      std::atexit([] { MPI_Finalize(); });
    } else {
      MPI_Query_thread(&provided);
    }
    if (provided < MPI_THREAD_SERIALIZED) return "it does not allow threads";
    is_serial = provided < MPI_THREAD_MULTIPLE;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &communicator) != MPI_SUCCESS) return "MPI_Comm_dup failed";
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    return {};
  }
};

mpi_process& process() {
  static mpi_process* const only = new mpi_process;  // MPI_Finalize runs after destructors.
  return *only;
}

// Holds the process's lock where the MPI needs one.
class turn {
 public:
  turn() {
    if (process().is_serial) process().one_at_a_time.lock();
  }
  ~turn() {
    if (process().is_serial) process().one_at_a_time.unlock();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

 private:
  const kept_errno kept_;
};

// What an MPI may still read or write.
void keep_for_ever(std::vector<std::byte> memory) {
  static auto* const all = new std::vector<std::vector<std::byte>>;  // Holds turn.
  all->push_back(std::move(memory));
}

// Messages under way, the oldest first; a fixed number of packets of one size.
class send_ring {
 public:
  send_ring(std::size_t count, std::size_t bytes)
      : bytes_(bytes), memory_(count * bytes), requests_(count, MPI_REQUEST_NULL) {}

  [[nodiscard]] std::byte* take() noexcept {
    if (count_ == requests_.size()) collect();
    return count_ == requests_.size() ? nullptr : memory_.data() + next() * bytes_;
  }
  [[nodiscard]] MPI_Request* request() noexcept { return &requests_[next()]; }
  void taken() noexcept { ++count_; }

  void collect() noexcept {
    while (count_ != 0) {
      int done = 0;
      MPI_Test(&requests_[first_], &done, MPI_STATUS_IGNORE);
      if (done == 0) return;
      first_ = (first_ + 1) % requests_.size();
      --count_;
    }
  }
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
  void abandon() {
    if (is_empty()) return;
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    keep_for_ever(std::move(memory_));
  }

 private:
  [[nodiscard]] std::size_t next() const noexcept { return (first_ + count_) % requests_.size(); }

  std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> requests_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

class mpi_transport final : public transport {
 public:
  explicit mpi_transport(int tag) : tag_(tag), alarm_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int size = 0;
    MPI_Get_library_version(version, &size);
    detail_.assign(version, static_cast<std::size_t>(size));
    detail_ = detail_.substr(0, detail_.find_first_of(",\n"));
    traits_ = {.name = "mpi",
               .detail = detail_,
               .message_bytes_max = message_bytes - sizeof(envelope),
               .inject_bytes_max = message_bytes - sizeof(envelope),
               .can_put = false,
               .can_get = false,
               .needs_registration = false,
               .has_launcher = true,
               .sleep_ns_max = 1'000'000};
    for (std::size_t i = 0; i < receives; ++i) post(i);
  }

  ~mpi_transport() override {
    while (!shut_down()) ::poll(nullptr, 0, 1);
    const turn mine;
    small_.abandon();
    large_.abandon();
    for (peer_state& peer : peers_)
      if (peer.receipt != MPI_REQUEST_NULL) MPI_Request_free(&peer.receipt);
    bool all_cancelled = true;
    for (MPI_Request& request : requests_) {
      MPI_Cancel(&request);
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done == 0) MPI_Request_free(&request);
      all_cancelled &= done != 0;
    }
    if (!all_cancelled) keep_for_ever(std::move(buffers_));
    ::close(alarm_);
  }

  // What it has sent, for at most a second.
  bool shut_down() noexcept override {
    const std::uint64_t now = now_ns();
    if (leaves_until_ns_ == 0) leaves_until_ns_ = now + farewell_ns;
    const turn mine;
    small_.collect();
    large_.collect();
    bool all_taken = small_.is_empty() && large_.is_empty();
    for (peer_state& peer : peers_) all_taken &= peer.has_failed || has_receipt(peer);
    return all_taken || now >= leaves_until_ns_;
  }

  const transport_traits& traits() const noexcept override { return traits_; }

  std::vector<std::byte> address() const override {
    const mpi_address mine{address_magic, process().rank, tag_, process().size};
    std::vector<std::byte> bytes(sizeof mine);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    return bytes;
  }

  void connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) override {
    self_ = self;
    peers_.resize(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      mpi_address theirs;
      if (addresses[i].size() != sizeof theirs) continue;
      std::memcpy(&theirs, addresses[i].data(), sizeof theirs);
      const bool makes_sense = theirs.magic == address_magic && theirs.world == process().size &&
                               theirs.rank >= 0 && theirs.rank < process().size && theirs.tag >= 0;
      if (makes_sense) peers_[i] = {.rank = theirs.rank, .tag = theirs.tag};
    }
  }
  bool reaches(std::uint32_t peer) const noexcept override { return peers_[peer].rank >= 0; }

  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* /*context*/) noexcept override {
    peer_state& to = peers_[peer];
    if (to.has_failed) return status::failed;
    const turn mine;
    std::size_t size = sizeof(envelope);
    for (const auto part : parts) size += part.size();
    if (to.bytes_since_receipt > receipt_bytes) {
      if (!has_receipt(to)) return status::retry;
      if (!ask_for_receipt(to)) return fail(peer);
    }
    send_ring& ring = size <= packet_bytes ? small_ : large_;
    std::byte* const packet = ring.take();
    if (packet == nullptr) return status::retry;
    const envelope front{self_, header};
    std::memcpy(packet, &front, sizeof front);
    std::byte* at = packet + sizeof front;
    for (const auto part : parts) {
      if (!part.empty()) std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
    if (MPI_Isend(packet, static_cast<int>(size), MPI_BYTE, to.rank, to.tag, process().communicator,
                  ring.request()) != MPI_SUCCESS)
      return fail(peer);
    ring.taken();
    to.bytes_since_receipt += size + waiting_message_bytes;
    return status::done;
  }

  int poll(arrivals& to, int budget) noexcept override {
    int told = 0;
    while (told < budget) {
      int done = 0;
      MPI_Status about;
      {
        const turn mine;
        if (MPI_Test(&requests_[next_], &done, &about) != MPI_SUCCESS) done = 0;
      }
      if (done == 0) break;
      int size = 0;
      MPI_Get_count(&about, MPI_BYTE, &size);
      if (size != 0) {  // Otherwise the MPI gives the receipt.
        deliver(buffers_.data() + next_ * message_bytes, static_cast<std::size_t>(size),
                about.MPI_SOURCE, to);
        ++told;
      }
      const turn mine;
      post(next_);
      next_ = (next_ + 1) % receives;
    }
    // What came before a peer died has been delivered.
    if (told == 0 && is_marked_.load(std::memory_order_relaxed)) told += tell_failures(to);
    const turn mine;
    if (!small_.is_empty()) small_.collect();
    if (!large_.is_empty()) large_.collect();
    return told;
  }

  memory_region register_memory(std::span<std::byte> memory, peer_access /*peers*/) override {
    return {.begin = memory.data(), .size = memory.size(), .key = {}, .handle = nullptr};
  }
  void deregister(memory_region&) noexcept override {}
  status put(std::uint32_t, std::span<const std::byte>, const memory_region*, const remote_key&,
             std::uint64_t, void*) noexcept override {
    return status::failed;
  }
  status get(std::uint32_t, std::span<std::byte>, const memory_region*, const remote_key&,
             std::uint64_t, void*) noexcept override {
    return status::failed;
  }

  bool arm() noexcept override {
    if (is_marked_.load(std::memory_order_relaxed)) return false;
    int done = 0;
    const turn mine;
    MPI_Request_get_status(requests_[next_], &done, MPI_STATUS_IGNORE);
    return done == 0;
  }
  void disarm() noexcept override {
    std::uint64_t rings = 0;
    [[maybe_unused]] const ssize_t size = ::read(alarm_, &rings, sizeof rings);
  }
  int wait_descriptor() const noexcept override { return alarm_; }

  void mark_failed(std::uint32_t peer, const char* why) noexcept override {
    {
      const std::lock_guard lock(marking_);
      marks_.emplace_back(peer, why);
      is_marked_.store(true, std::memory_order_relaxed);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t size = ::write(alarm_, &one, sizeof one);
  }

 private:
  struct peer_state {
    int rank = -1;
    int tag = 0;
    bool has_failed = false;
    std::size_t bytes_since_receipt = 0;
    MPI_Request receipt = MPI_REQUEST_NULL;  // Null: none is expected.
  };

  static bool has_receipt(peer_state& from) noexcept {
    int received = 0;
    return MPI_Test(&from.receipt, &received, MPI_STATUS_IGNORE) != MPI_SUCCESS || received != 0;
  }
  static bool ask_for_receipt(peer_state& to) noexcept {
    to.bytes_since_receipt = 0;
    return MPI_Issend(nullptr, 0, MPI_BYTE, to.rank, to.tag, process().communicator, &to.receipt) ==
           MPI_SUCCESS;
  }
  status fail(std::uint32_t peer) noexcept {
    mark_failed(peer, "MPI cannot send to it");
    return status::failed;
  }

  void post(std::size_t i) noexcept {
    MPI_Irecv(buffers_.data() + i * message_bytes, static_cast<int>(message_bytes), MPI_BYTE,
              MPI_ANY_SOURCE, tag_, process().communicator, &requests_[i]);
  }

  void deliver(const std::byte* bytes, std::size_t size, int source, arrivals& to) noexcept {
    envelope front;
    if (size < sizeof front) return to.refused(self_, "a message without a header");
    std::memcpy(&front, bytes, sizeof front);
    if (front.sender >= peers_.size() || peers_[front.sender].rank != source)
      return to.refused(self_, "a message that names another sender");
    const auto sender = static_cast<std::uint32_t>(front.sender);
    if (peers_[sender].has_failed) return;
    to.delivered(sender, front.header, {bytes + sizeof front, size - sizeof front});
  }

  int tell_failures(arrivals& to) noexcept {
    std::vector<std::pair<std::uint32_t, std::string>> marks;
    {
      const std::lock_guard lock(marking_);
      is_marked_.store(false, std::memory_order_relaxed);
      marks.swap(marks_);
    }
    int told = 0;
    for (const auto& [peer, why] : marks) {
      if (std::exchange(peers_[peer].has_failed, true)) continue;
      to.peer_failed(peer, why.c_str());
      ++told;
    }
    return told;
  }

  int tag_;
  int alarm_;
  transport_traits traits_;
  std::string detail_;
  std::uint32_t self_ = 0;
  std::vector<peer_state> peers_;
  send_ring small_{packets_max, packet_bytes};
  send_ring large_{large_packets_max, message_bytes};
  std::uint64_t leaves_until_ns_ = 0;  // 0: it does not leave yet.
  std::vector<std::byte> buffers_ = std::vector<std::byte>(receives * message_bytes);
  std::vector<MPI_Request> requests_ = std::vector<MPI_Request>(receives, MPI_REQUEST_NULL);
  std::size_t next_ = 0;
  // As in ofi/endpoint.hpp: the flag is a hint, the lock orders what is in the list.
  std::atomic<bool> is_marked_{false};
  std::mutex marking_;
  std::vector<std::pair<std::uint32_t, std::string>> marks_;
};

// Once; empty when all is well.
const std::string& trouble_at_start() {
  static const std::string trouble = process().start();
  return trouble;
}

transport* make(char* why, std::size_t why_bytes) noexcept {
  try {
    const std::string& trouble = trouble_at_start();
    if (!trouble.empty()) {
      std::snprintf(why, why_bytes, "%s", trouble.c_str());
      return nullptr;
    }
    const turn mine;
    return new mpi_transport(process().next_tag++);
  } catch (const std::exception& failure) {
    std::snprintf(why, why_bytes, "%s", failure.what());
    return nullptr;
  }
}

// --- Without a transport ---------------------------------------------------------------------------

static_assert(sizeof(MPI_Comm) <= sizeof(mpi_messages::place));
MPI_Comm communicator_of(const mpi_messages::place& of) noexcept {
  MPI_Comm communicator;
  std::memcpy(&communicator, &of.word, sizeof communicator);
  return communicator;
}

bool open_place(mpi_messages::place& made) noexcept {
  const turn mine;
  MPI_Comm communicator = MPI_COMM_NULL;
  if (MPI_Comm_dup(process().communicator, &communicator) != MPI_SUCCESS) return false;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  std::memcpy(&made.word, &communicator, sizeof communicator);
  return true;
}

void close_place(mpi_messages::place& of) noexcept {
  const turn mine;
  MPI_Comm communicator = communicator_of(of);
  of = {};
  MPI_Comm_free(&communicator);
}

static_assert(sizeof(MPI_Request) <= sizeof(mpi_messages::request));
MPI_Request request_of(const mpi_messages::request& of) noexcept {
  MPI_Request request;
  std::memcpy(&request, &of.word, sizeof request);
  return request;
}

bool send_bytes(const mpi_messages::place& in, const std::byte* bytes, std::size_t size, int to,
                int tag, mpi_messages::request& under_way) noexcept {
  const turn mine;
  MPI_Request request = MPI_REQUEST_NULL;
  const int said =
      MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag, communicator_of(in), &request);
  std::memcpy(&under_way.word, &request, sizeof request);
  return said == MPI_SUCCESS;
}

bool receive_bytes(const mpi_messages::place& in, std::byte* bytes, std::size_t size, int from,
                   int tag, mpi_messages::request& under_way) noexcept {
  const turn mine;
  MPI_Request request = MPI_REQUEST_NULL;
  const int said = MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE,
                             from < 0 ? MPI_ANY_SOURCE : from, tag, communicator_of(in), &request);
  std::memcpy(&under_way.word, &request, sizeof request);
  return said == MPI_SUCCESS;
}

mpi_messages::state test(mpi_messages::request& of, int& from, std::size_t& size) noexcept {
  const turn mine;
  MPI_Request request = request_of(of);
  int done = 0;
  MPI_Status about;
  const int said = MPI_Test(&request, &done, &about);
  std::memcpy(&of.word, &request, sizeof request);
  if (said != MPI_SUCCESS) return mpi_messages::state::failed;
  if (done == 0) return mpi_messages::state::under_way;
  int bytes = 0;
  MPI_Get_count(&about, MPI_BYTE, &bytes);
  from = about.MPI_SOURCE;
  size = bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
  return mpi_messages::state::complete;
}

bool is_complete(const mpi_messages::request& of) noexcept {
  const turn mine;
  int done = 0;
  return MPI_Request_get_status(request_of(of), &done, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
         done != 0;
}

bool cancel(mpi_messages::request& receive) noexcept {
  const turn mine;
  MPI_Request request = request_of(receive);
  if (request == MPI_REQUEST_NULL || receive.word == 0) return true;
  MPI_Cancel(&request);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (done == 0) MPI_Request_free(&request);
  receive = {};
  return done != 0;
}

const mpi_messages* messages(char* why, std::size_t why_bytes) noexcept {
  const std::string& trouble = trouble_at_start();
  if (!trouble.empty()) {
    std::snprintf(why, why_bytes, "%s", trouble.c_str());
    return nullptr;
  }
  const turn mine;
  int* tag_max = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(process().communicator, MPI_TAG_UB, &tag_max, &is_there);
  static const mpi_messages table{.rank = process().rank,
                                  .size = process().size,
                                  .tag_max = is_there != 0 ? *tag_max : 32767,
                                  .open = &open_place,
                                  .close = &close_place,
                                  .send = &send_bytes,
                                  .receive = &receive_bytes,
                                  .test = &test,
                                  .is_complete = &is_complete,
                                  .cancel = &cancel};
  return &table;
}

}  // namespace

}  // namespace weft

extern "C" [[gnu::visibility("default")]] const weft::mpi_plugin* weft_transport_plugin() {
  static constexpr weft::mpi_plugin table{WEFT_PLUGIN_VERSION,
                                          sizeof(weft::wire_header),
                                          sizeof(weft::remote_key),
                                          WEFT_MPI_NAME,
                                          weft::make,
                                          weft::messages};
  return &table;
}
