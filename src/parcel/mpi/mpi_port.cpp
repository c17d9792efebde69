#include "parcel/mpi/mpi_port.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/kernel.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "bootstrap/bootstrap.hpp"
#include "parcel/limits.hpp"
#include "parcel/wire.hpp"
#include "sync/atomics.hpp"
#include "task/task_source.hpp"
#include "transport/mpi/mpi.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

constexpr int header_tag = 0;
constexpr int release_tag = 1;  // Only mpi_orig sends such messages.
constexpr int first_tag = 2;
constexpr std::size_t header_bytes_max = 8192;
constexpr std::size_t original_header_bytes = 512;
constexpr std::size_t message_bytes_max = std::size_t{1} << 30;
constexpr std::size_t connections_looked_at = 32;  // A pass looks at so many.
constexpr std::int64_t nap_ns = 100'000;
constexpr std::uint64_t farewell_ns = 1'000'000'000;

std::unique_ptr<parcelport> make(const parcelport_name& name, const parcelport_site& site) {
  return std::make_unique<mpi_port>(name.kind, name.kind == "mpi_orig", name.detail, site);
}

}  // namespace

const parcelport_maker mpi_parcelports{
    [](std::string_view kind) noexcept { return kind == "mpi" || kind == "mpi_orig"; }, &make};

// It stands in front of every message.
struct mpi_port::header {
  std::uint32_t magic = header_magic;
  std::uint32_t tag = 0;
  std::uint32_t size = 0;   // How many bytes the message has.
  std::uint32_t here = 0;   // So many of its bytes follow the header at once.
  std::uint32_t apart = 0;  // So many of its last bytes come as a message of their own.
  std::uint32_t chunks = 0;
  static constexpr std::uint32_t header_magic = 0x70777066;
  // Nothing follows.
  [[nodiscard]] bool is_all() const noexcept { return here == size && chunks == 0; }
};

struct mpi_port::heard {
  std::byte bytes[sizeof(header) + header_bytes_max];
};

struct mpi_port::connection {
  struct part {
    std::byte* bytes;
    std::size_t size;
    bool ends_chunk = false;
  };
  bool sends = false;
  int process = 0;
  int tag = 0;  // 0: it has none.
  std::vector<part> parts;
  std::size_t next = 0;
  mpi_messages::request under_way;
  // What the parts lie in.
  std::vector<std::byte> front;
  std::vector<std::byte> message;
  kept_values* kept = nullptr;
  std::unique_ptr<std::byte[]> heap;
  chunked_task* then = nullptr;  // It gets the chunks; a receiver without one delivers its message.
  void add_chunk(std::byte* bytes, std::size_t size) {
    for (; size > mpi_part_bytes_max; bytes += mpi_part_bytes_max, size -= mpi_part_bytes_max)
      parts.push_back({bytes, mpi_part_bytes_max});
    parts.push_back({bytes, size, true});
  }
  bool has_chunks = false;  // Which are to follow what it receives, with its tag.
};

// --- Begin and end --------------------------------------------------------------------------------

mpi_port::mpi_port(std::string name, bool is_original, std::string_view which,
                   const parcelport_site& site)
    : name_(std::move(name)),
      is_original_(is_original),
      receiver_(site.receiver),
      between_(site.between),
      workers_(site.workers),
      mpi_(start_mpi_messages(which)),
      heard_(std::make_unique<heard>()),
      released_(std::make_unique<std::uint32_t>()),
      tags_(first_tag, std::min(mpi_.tag_max, mpi_tag_last), is_original) {
  // The processes say which rank each has in MPI.
  bootstrap& job = between_.job();
  constexpr std::string_view key = "weft.parcels.mpi";
  job.put(key, formatted("{}/{}", mpi_.rank, mpi_.size));
  job.fence();
  const int count = between_.process_count();
  process_of_.assign(static_cast<std::size_t>(mpi_.size), -1);
  for (int p = 0; p < count; ++p) {
    const std::string said = job.get(p, key);
    const int rank = std::atoi(said.c_str());
    if (said != formatted("{}/{}", rank, mpi_.size) || rank < 0 || rank >= mpi_.size ||
        process_of_[static_cast<std::size_t>(rank)] >= 0)
      throw error(formatted(
          "parcelport {}: processes {} and 0 of the job are not of one job of that MPI: start them with its own "
          "mpirun or mpiexec, or let weftrun do it (--parcelport mpi:mpich)",
          name_, p));
    rank_of_.push_back(rank);
    process_of_[static_cast<std::size_t>(rank)] = p;
  }
  if (!mpi_.open(place_))
    throw error(formatted("parcelport {}: the MPI gives no communicator for this job", name_));
  listen();
  let_workers_look(site, *this);
  sleepless_ =
      start_thread("looking for parcels while workers sleep", [this] { look_while_any_sleeps(); });
}

// The workers have ended, and all that was sent has been received; an MPI may not know it yet. What a job that stopped has
// left is given up, and what an MPI may still read or write is never freed.
mpi_port::~mpi_port() {
  ending_.store(1, std::memory_order_relaxed);  // Relaxed: joined below.
  std_atomics::wake(ending_);
  sleepless_.join();
  bool is_clean = !workers_.stopping();
  std::erase_if(connections_, [&](auto& one) {
    if (one->sends) return false;
    is_clean = false;
    if (!mpi_.cancel(one->under_way))
      static_cast<void>(one.release());
    else if (one->then != nullptr)
      one->then->abandon(*one->then);
    return true;
  });
  const auto waits_for_tags = [&] { return is_clean && is_original_ && tags_.taken() != 0; };
  for (const std::uint64_t until = now_ns() + farewell_ns;
       (!connections_.empty() || waits_for_tags()) && now_ns() < until;) {
    if (is_original_) static_cast<void>(take_releases());
    std::erase_if(connections_, [&](const auto& one) {
      int from = 0;
      std::size_t size = 0;
      if (mpi_.test(one->under_way, from, size) == mpi_messages::state::under_way) return false;
      if (one->kept != nullptr) one->kept->free(*one->kept);
      return true;
    });
    give_core_up();
  }
  is_clean = is_clean && connections_.empty() && !waits_for_tags();
  for (auto& one : connections_) static_cast<void>(one.release());
  if (!mpi_.cancel(hears_)) static_cast<void>(heard_.release());
  if (is_original_ && !mpi_.cancel(hears_release_)) static_cast<void>(released_.release());
  // Else what is left in it would meet what the next job sends: an MPI uses the number of a communicator again.
  if (is_clean) mpi_.close(place_);
}

// Nothing rings for an MPI, and a worker that computes does not look.
void mpi_port::look_while_any_sleeps() noexcept {
  while (ending_.load(std::memory_order_relaxed) == 0) {
    std_atomics::wait(ending_, 0, nap_ns);
    worker* sleeper = nullptr;
    for (int i = 0; i < workers_.worker_count() && sleeper == nullptr; ++i)
      if (workers_.at(i).is_parked()) sleeper = &workers_.at(i);
    if (sleeper == nullptr) continue;
    bool any = false;
    {
      const std::lock_guard hold(listening_);
      any = mpi_.is_complete(hears_) || (is_original_ && mpi_.is_complete(hears_release_));
    }
    if (!any) {
      const std::lock_guard hold(lock_);
      any = std::ranges::any_of(connections_,
                                [&](const auto& one) { return mpi_.is_complete(one->under_way); });
    }
    if (!any) continue;
    something_came_.store(true, std::memory_order_relaxed);
    sleeper->notify();
  }
}

// --- Tags -----------------------------------------------------------------------------------------

int mpi_port::take_tag() {
  const std::lock_guard hold(lock_);
  return tags_.take();
}

void mpi_port::give_tag(int tag) noexcept {
  const std::lock_guard hold(lock_);
  tags_.give_back(tag);
}

// --- Sending --------------------------------------------------------------------------------------

// Its tag is yet to be taken, where something follows.
mpi_port::header mpi_port::front_of(const outgoing_parcel& what) const {
  if (what.bytes.size() > message_bytes_max)
    throw error(formatted("a parcel of {} bytes beside its chunks over an MPI: {} are the most",
                          what.bytes.size(), message_bytes_max));
  const std::size_t most = is_original_ ? original_header_bytes : header_bytes_max;
  header front;
  front.size = static_cast<std::uint32_t>(what.bytes.size());
  front.chunks = static_cast<std::uint32_t>(what.chunks.size());
  if (is_original_)
    front.apart = static_cast<std::uint32_t>(transmission_bytes(what.chunks.size()));
  const std::uint32_t whole = front.size - front.apart;
  front.here = whole <= most ? whole : 0;
  return front;
}

std::unique_ptr<mpi_port::connection> mpi_port::connect(worker& here, outgoing_parcel& what,
                                                        const header& front) {
  auto made = std::make_unique<connection>();
  made->sends = true;
  made->process = what.process;
  made->tag = static_cast<int>(front.tag);
  if (!what.chunks.empty()) {
    const auto word = static_cast<std::uint64_t>(made->tag);
    std::memcpy(what.bytes.data() + what.bytes.size() - transmission_bytes(what.chunks.size()),
                &word, sizeof word);
  }
  made->front.resize(sizeof front + front.here);
  std::memcpy(made->front.data(), &front, sizeof front);
  if (front.here != 0)
    std::memcpy(made->front.data() + sizeof front, what.bytes.data(), front.here);
  made->parts.push_back({made->front.data(), made->front.size()});
  if (front.here != front.size) {
    made->message.assign(what.bytes.begin() + front.here, what.bytes.end());
    const std::size_t first = made->message.size() - front.apart;
    if (first != 0) made->parts.push_back({made->message.data(), first});
    if (front.apart != 0) made->parts.push_back({made->message.data() + first, front.apart});
  }
  for (const parcel_chunk& one : what.chunks)
    made->add_chunk(const_cast<std::byte*>(one.data), one.size);
  made->kept = std::exchange(what.kept, nullptr);
  made->heap = std::move(what.heap);
  sending_.fetch_add(1, std::memory_order_relaxed);
  begin_own_work(here);
  remote::uncounted_messages(here).leave_for(what.process, 1 + what.chunks.size());
  return made;
}

bool mpi_port::send(worker& here, outgoing_parcel& what) {
  const struct until_taken {
    kept_values*& kept;
    ~until_taken() {
      if (kept != nullptr) kept->free(*kept);
    }
  } freed{what.kept};
  if (!remote::port::of(here).is_alive(what.process)) return false;
  header front = front_of(what);
  (void)remote::post_in_wait(
      here,
      [&] {
        // Relaxed: about as many as that is well enough.
        if (sending_.load(std::memory_order_relaxed) >= parcel_connections_max)
          return status::retry;
        if (front.is_all()) return status::done;
        front.tag = static_cast<std::uint32_t>(take_tag());
        return front.tag != 0 ? status::done : status::retry;
      },
      [&] { return waits_at(waits_for_connection, what.process); });
  go_on(here, connect(here, what, front));
  return true;
}

void mpi_port::send_at_once(worker& here, int process, int,
                            std::span<const std::byte> bytes) noexcept {
  outgoing_parcel what;
  what.process = process;
  what.bytes = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  try {
    header front = front_of(what);
    if (!front.is_all()) {
      front.tag = static_cast<std::uint32_t>(take_tag());
      if (front.tag == 0)
        throw error("all tags of the MPI are in use by parcels that are long or have chunks");
    }
    go_on(here, connect(here, what, front));
  } catch (const std::exception& e) {  // No memory, or no tag.
    between_.mark_failed(process, formatted("no answer can go there: {}", e.what()));
  }
}

// --- Connections ----------------------------------------------------------------------------------

bool mpi_port::post_next(connection& of) noexcept {
  const connection::part& one = of.parts[of.next];
  if (one.size > mpi_post_bytes_max) return false;
  const int rank = rank_of_[static_cast<std::size_t>(of.process)];
  if (!of.sends) return mpi_.receive(place_, one.bytes, one.size, rank, of.tag, of.under_way);
  return mpi_.send(place_, one.bytes, one.size, rank, of.next == 0 ? header_tag : of.tag,
                   of.under_way);
}

// Its operation is complete, or there has been none. Posts the next, and looks whether that is complete at once.
void mpi_port::go_on(worker& here, std::unique_ptr<connection> of) noexcept {
  while (of->next != of->parts.size()) {
    if (!post_next(*of)) return fail(here, *of);
    if (!of->sends && !of->has_chunks && of->next + 1 == of->parts.size())
      end_announcement(of->process, of->tag);
    int from = 0;
    std::size_t size = 0;
    const std::size_t expected = of->parts[of->next].size;
    switch (mpi_.test(of->under_way, from, size)) {
      case mpi_messages::state::failed:
        return fail(here, *of);
      case mpi_messages::state::under_way: {
        const std::lock_guard hold(lock_);
        connections_.push_back(std::move(of));
        return;
      }
      case mpi_messages::state::complete:
        if (!of->sends && size != expected) return fail(here, *of);
        if (!of->sends && of->parts[of->next].ends_chunk)
          remote::uncounted_messages(here).have_come_from(of->process);
        ++of->next;
    }
  }
  end(here, *of, true);
}

void mpi_port::end(worker& here, connection& of, bool complete) noexcept {
  if (of.sends) {
    sending_.fetch_sub(1, std::memory_order_relaxed);
    // The original's comes back from the receiver.
    if (of.tag != 0 && !is_original_) give_tag(of.tag);
    if (of.kept != nullptr) of.kept->free(*of.kept);
  } else if (of.then == nullptr) {
    if (complete) deliver(here, of.process, of.message);
  } else {
    end_chunks(*of.then, complete);
  }
  if (is_original_ && !of.sends && of.tag != 0 && of.next == of.parts.size() && complete &&
      !of.has_chunks) {
    // Nobody waits for it to leave.
    auto release = std::make_unique<connection>();
    release->sends = true;
    release->process = of.process;
    const auto tag = static_cast<std::uint32_t>(of.tag);
    release->front.resize(sizeof tag);
    std::memcpy(release->front.data(), &tag, sizeof tag);
    release->parts.push_back({release->front.data(), sizeof tag});
    if (mpi_.send(place_, release->front.data(), sizeof tag,
                  rank_of_[static_cast<std::size_t>(of.process)], release_tag,
                  release->under_way)) {
      sending_.fetch_add(1, std::memory_order_relaxed);
      begin_own_work(here);
      const std::lock_guard hold(lock_);
      connections_.push_back(std::move(release));
    }
  }
  end_own_work(here);
}

// The MPI refused an operation, or ended it otherwise than it should: whoever waits for this parcel would wait for ever,
// and what follows on its tag would be taken for a part of it. So nothing goes between the two processes any more.
void mpi_port::fail(worker& here, connection& of) noexcept {
  try {
    between_.mark_failed(
        of.process, formatted("parcelport {}: its MPI could not {} {} bytes of a parcel", name_,
                              of.sends ? "send" : "receive", of.parts[of.next].size));
  } catch (const std::bad_alloc&) {
    between_.mark_failed(of.process, {});
  }
  end(here, of, false);
}

void mpi_port::receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) {
  if (word < first_tag || word > static_cast<std::uint64_t>(mpi_.tag_max)) {
    refuse(here, {process, 0}, "its chunks are to come with a tag that there is not");
    // The sender has counted them, and the job is to end.
    remote::uncounted_messages(here).have_come_from(process, places.size());
    return then.abandon(then);
  }
  auto made = std::make_unique<connection>();
  made->process = process;
  made->tag = static_cast<int>(word);
  for (const std::span<std::byte> one : places) made->add_chunk(one.data(), one.size());
  made->then = &then;
  begin_own_work(here);
  go_on(here, std::move(made));
}

void mpi_port::refuse(worker& here, const message_origin& from, const char* why) noexcept {
  remote::refuse(here, comm::address{from.process, 0}, why);
}

// --- What comes -----------------------------------------------------------------------------------

void mpi_port::listen() noexcept {
  listen_for_header();
  if (is_original_) listen_for_release();
}

void mpi_port::listen_for_header() noexcept {
  (void)mpi_.receive(place_, heard_->bytes, sizeof heard_->bytes, -1, header_tag, hears_);
}

void mpi_port::listen_for_release() noexcept {
  (void)mpi_.receive(place_, reinterpret_cast<std::byte*>(released_.get()), sizeof *released_, -1,
                     release_tag, hears_release_);
}

void mpi_port::deliver(worker& here, int process, std::span<const std::byte> message) noexcept {
  parcel_receiver::expect_work(here);
  remote::uncounted_messages(here).have_come_from(process);
  receiver_.deliver(here, {process, 0}, message);
}

// A sender takes a tag again as soon as what it sent with it has left: all may still lie here, where no receive has been
// posted yet, and one for the next such message would get it. That one's header is held back until then. Called in the
// order in which headers have come. False: it is held.
bool mpi_port::announce(int rank, std::vector<std::byte>& message) {
  header front;
  const int process = process_of(rank);
  if (process < 0 || message.size() < sizeof front) return true;
  std::memcpy(&front, message.data(), sizeof front);
  if (front.is_all()) return true;
  const std::lock_guard hold(lock_);
  const auto [at, is_new] = announced_.try_emplace(announcement(process, front.tag));
  if (!is_new) at->second.push_back(std::move(message));
  return is_new;
}

// Their order is that of the receives from here on.
void mpi_port::end_announcement(int process, int tag) noexcept {
  const std::lock_guard hold(lock_);
  const auto at = announced_.find(announcement(process, static_cast<std::uint32_t>(tag)));
  if (at == announced_.end()) return;
  if (at->second.empty()) {
    announced_.erase(at);
    return;
  }
  held_.emplace_back(process, std::move(at->second.front()));
  at->second.pop_front();
  held_count_.store(held_.size(), std::memory_order_relaxed);
}

bool mpi_port::take_held(worker& here) noexcept {
  if (held_count_.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  std::vector<std::pair<int, std::vector<std::byte>>> taken;
  {
    const std::lock_guard hold(lock_);
    taken.swap(held_);
    held_count_.store(0, std::memory_order_relaxed);
  }
  for (const auto& [process, message] : taken) on_header(here, process, message);
  return !taken.empty();
}

void mpi_port::on_header(worker& here, int process, std::span<const std::byte> message) noexcept {
  if (process < 0) return;  // No process of this job.
  header front;
  if (message.size() < sizeof front)
    return refuse(here, {process, 0}, "it is too short for a header");
  std::memcpy(&front, message.data(), sizeof front);
  message = message.subspan(sizeof front);
  const bool has_rest = front.here != front.size;
  if (front.magic != header::header_magic || front.here != message.size() ||
      front.here > front.size || front.apart > front.size - front.here ||
      front.size > message_bytes_max ||
      (has_rest &&
       (front.tag < first_tag || front.tag > static_cast<std::uint32_t>(mpi_.tag_max)))) {
    end_announcement(process, static_cast<int>(front.tag));
    return refuse(here, {process, 0}, "its header makes no sense");
  }
  if (!has_rest) return deliver(here, process, message);
  std::unique_ptr<connection> made;
  try {
    made = std::make_unique<connection>();
    made->message.resize(front.size);
    made->parts.reserve(2);
  } catch (const std::bad_alloc&) {  // There is no room for what the other side says.
    refuse(here, {process, 0}, "there is no memory for it");
    return between_.mark_failed(
        process, formatted("there is no memory for a message of {} bytes from there", front.size));
  }
  made->process = process;
  made->tag = static_cast<int>(front.tag);
  std::memcpy(made->message.data(), message.data(), message.size());
  const std::size_t first = front.size - front.here - front.apart;
  std::byte* const at = made->message.data() + front.here;
  if (first != 0) made->parts.push_back({at, first});
  if (front.apart != 0) made->parts.push_back({at + first, front.apart});
  made->has_chunks = front.chunks != 0;
  begin_own_work(here);
  go_on(here, std::move(made));
}

bool mpi_port::take_header(worker& here) noexcept {
  std::vector<std::byte> message;
  int from = 0;
  bool is_held = false;
  {
    const std::unique_lock hold(listening_, std::try_to_lock);
    if (!hold.owns_lock()) return false;
    std::size_t size = 0;
    switch (mpi_.test(hears_, from, size)) {
      case mpi_messages::state::under_way:
        return false;
      case mpi_messages::state::failed:
        break;
      case mpi_messages::state::complete:
        message.assign(heard_->bytes, heard_->bytes + size);
    }
    is_held = !announce(from, message);
    listen_for_header();
  }
  if (!is_held) on_header(here, process_of(from), message);
  return true;
}

bool mpi_port::take_releases() noexcept {
  std::uint32_t tag = 0;
  {
    const std::unique_lock hold(listening_, std::try_to_lock);
    if (!hold.owns_lock()) return false;
    int from = 0;
    std::size_t size = 0;
    if (mpi_.test(hears_release_, from, size) == mpi_messages::state::under_way) return false;
    tag = size == sizeof tag ? *released_ : 0;
    listen_for_release();
  }
  if (tag != 0) give_tag(static_cast<int>(tag));
  return true;
}

bool mpi_port::look(worker& here) noexcept {
  something_came_.store(false, std::memory_order_relaxed);
  bool any = take_header(here);
  any |= take_held(here);
  if (is_original_) any |= take_releases();
  std::vector<std::pair<std::unique_ptr<connection>, bool>> found;
  {
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold.owns_lock()) return any;
    for (std::size_t left = std::min(connections_.size(), connections_looked_at); left > 0;
         --left) {
      if (connections_.empty()) break;
      if (next_looked_at_ >= connections_.size()) next_looked_at_ = 0;
      std::unique_ptr<connection>& one = connections_[next_looked_at_];
      int from = 0;
      std::size_t size = 0;
      const auto state = mpi_.test(one->under_way, from, size);
      if (state == mpi_messages::state::under_way) {
        ++next_looked_at_;
        continue;
      }
      const bool is_well = state == mpi_messages::state::complete &&
                           (one->sends || size == one->parts[one->next].size);
      found.emplace_back(std::move(one), is_well);
      if (&one != &connections_.back()) one = std::move(connections_.back());
      connections_.pop_back();
    }
  }
  for (auto& [one, is_well] : found) {
    if (!is_well) {
      fail(here, *one);
      continue;
    }
    if (!one->sends && one->parts[one->next].ends_chunk)
      remote::uncounted_messages(here).have_come_from(one->process);
    ++one->next;
    go_on(here, std::move(one));
  }
  return any || !found.empty();
}

bool mpi_port::has_any() const noexcept {
  return something_came_.load(std::memory_order_relaxed) ||
         held_count_.load(std::memory_order_relaxed) != 0;
}

}  // namespace weft::detail
