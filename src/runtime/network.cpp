#include "runtime/network.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/limits.hpp"
#include "base/start_thread.hpp"
#include "comm/joining.hpp"
#include "comm/runtime_state.hpp"
#include "runtime/progress.hpp"
#include "weft/error.hpp"

namespace weft {

// --- Descriptors ---------------------------------------------------------------------------------

// A worker sleeps on words of memory; for what rings by a descriptor this thread waits instead.
class network::descriptor_watch {
 public:
  explicit descriptor_watch(scheduler& workers)
      : workers_(workers),
        set_(epoll_create1(EPOLL_CLOEXEC)),
        end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (set_ < 0 || end_ < 0)
      throw error(std::string("no descriptor for watching the network: ") + std::strerror(errno));
    epoll_event ending{};
    ending.events = EPOLLIN;
    ending.data.u32 = end_mark;
    epoll_ctl(set_, EPOLL_CTL_ADD, end_, &ending);
    try {
      thread_ = start_thread("watching the network", [this] { watch(); });
    } catch (...) {
      release();
      throw;
    }
  }
  ~descriptor_watch() {
    const std::uint64_t one = 1;
    static_cast<void>(!write(end_, &one, sizeof one));
    thread_.join();
    release();
  }
  descriptor_watch(const descriptor_watch&) = delete;
  descriptor_watch& operator=(const descriptor_watch&) = delete;

  // Called by the worker: tell it once when the descriptor becomes readable. False: it will not be told.
  [[nodiscard]] bool watch_once(int descriptor, int worker) noexcept {
    epoll_event readable{};
    readable.events = EPOLLIN | EPOLLONESHOT;
    readable.data.u32 = static_cast<std::uint32_t>(worker);
    return epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &readable) == 0 ||
           (errno == ENOENT && epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &readable) == 0);
  }

 private:
  static constexpr std::uint32_t end_mark = 0xffffffff;

  void release() noexcept {
    close(set_);
    close(end_);
  }
  void watch() {
    pthread_setname_np(pthread_self(), "weft-network");
    for (;;) {
      epoll_event events[16];
      const int count = epoll_wait(set_, events, 16, -1);
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u32 == end_mark) return;
        workers_.at(static_cast<int>(events[i].data.u32)).notify();
      }
    }
  }

  scheduler& workers_;
  int set_;
  int end_;
  std::thread thread_;
};

// --- Devices of workers --------------------------------------------------------------------------

worker_device::worker_device(network& owner, comm::device& device)
    : owner_(owner), device_(device), of_process_(owner.core_->internals().processes_max()) {}

std::unique_ptr<comm::offered_endpoints> worker_device::offer_endpoints() {
  return std::make_unique<comm::offered_endpoints>(device_);
}

bool worker_device::poll() noexcept {
  bool any = device_.progress() > 0;
  if (!attempts_.empty()) [[unlikely]]
    any |= try_again();
  if (device_.index() == 0) owner_.whole_->progress();
  const int deaths = owner_.deaths_.value();
  if (deaths == 0) [[likely]]
    return any;
  if (deaths != deaths_seen_.hint()) {
    // This device may not have delivered all yet that had come from the dead.
    const int lost = owner_.known_processes() - count_living();
    if (lost != std::exchange(lost_seen_, lost)) (void)owner_.visit_(device_.index());
    if (lost >= deaths) deaths_seen_.publish(deaths);
    return true;
  }
  // Ranks may have begun to wait for the dead since.
  return any || owner_.visit_(device_.index());
}

// By index, and a copy: an attempt may add another, which moves the vector's elements.
bool worker_device::try_again() noexcept {
  worker* const here = worker::current();
  if (here == nullptr) return false;  // The workers have ended.
  bool any = false;
  for (std::size_t i = 0; i < attempts_.size();) {
    const unfinished one = attempts_[i];
    if (!one.attempt(*here, one.context)) {
      ++i;
      continue;
    }
    attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
    any = true;
  }
  return any;
}

// A death that poll_cheap() has met is acted upon before the worker sleeps.
bool worker_device::busy() const noexcept {
  return awake_ != 0 || !attempts_.empty() || owner_.deaths_.hint() != deaths_seen_.hint();
}

int worker_device::count_living() const noexcept {
  int count = 0;
  for (int p = 0; p < owner_.known_processes(); ++p) count += device_.is_alive(p) ? 1 : 0;
  return count;
}

void worker_device::look_before_parking(bool may_be_last) noexcept {
  look_before_parking_.reset();
  if (may_be_last) look_before_parking_ = owner_.look();
}

bool worker_device::no_writes_pending() const noexcept {
  return !all_.any_under_way() && owner_.whole_->may_unwind(device_.index());
}

bool worker_device::arm() noexcept {
  if (armed_) return true;
  if (!device_.arm()) return false;
  armed_ = true;
  for (const comm::doorbell& door : device_.doorbells())
    if (door.descriptor >= 0 &&
        !owner_.descriptors_->watch_once(door.descriptor, device_.index())) {
      disarm();
      return false;
    }
  return true;
}

void worker_device::disarm() noexcept {
  if (armed_) device_.disarm();
  armed_ = false;
}

event_source::bell worker_device::ringing() const noexcept {
  if (!armed_) return {};
  bell found{};
  for (const comm::doorbell& door : device_.doorbells()) {
    if (door.word == nullptr) continue;
    found = {door.word, door.value, door.shared};
    // Where the job is one process, the last joined one rings.
    if (owner_.process_count() > 1) break;
  }
  return found;
}

std::int64_t worker_device::sleep_ns_max() const noexcept {
  const std::int64_t device = device_.sleep_ns_max();
  const std::int64_t whole = owner_.whole_->sleep_ns_max();
  return device < 0 ? whole : whole < 0 ? device : std::min(device, whole);
}

// --- The network ---------------------------------------------------------------------------------

network::network(bootstrap& job, comm::runtime_options how,
                 const comm::runtime::endpoint_maker& make_endpoints)
    : job_(job), make_endpoints_(make_endpoints) {
  how.on_peer_failure = [this](int process, const char* why) {
    if (on_failure_) on_failure_(process, why);
    deaths_.add(1);
    for (int i = 0; workers_ != nullptr && i < workers_->worker_count(); ++i)
      workers_->at(i).notify();
  };
  core_ = make_core(how);
  for (int i = 0; i < core_->device_count(); ++i)
    devices_.push_back(std::make_unique<worker_device>(*this, core_->device(i)));
}

network::~network() = default;

std::unique_ptr<comm::runtime> network::make_core(const comm::runtime_options& how) const {
  return std::make_unique<comm::runtime>(job_, how, make_endpoints_);
}

network_look network::look() const noexcept {
  network_look seen;
  seen.deaths = deaths_.value();
  for (const auto& d : devices_) seen.deaths_seen += d->deaths_seen();
  seen.counted = look_at_traffic(turns_, [this](traffic& sums) {
    for (const auto& d : devices_) d->all().add_to(sums);
  });
  return seen;
}

// A worker that has been rung for a death may end a wait of its ranks by it, which is no message.
bool network::was_quiescent(const network_look& first, const network_look& second) const noexcept {
  return first.deaths == second.deaths &&
         first.deaths_seen == first.deaths * static_cast<std::int64_t>(devices_.size()) &&
         are_of_one_moment(turns_, first.counted, second.counted);
}

void network::attach(scheduler& workers, pass_hook& whole) {
  workers_ = &workers;
  whole_ = &whole;
  descriptors_ = std::make_unique<descriptor_watch>(workers);
  for (std::size_t i = 0; i < devices_.size(); ++i)
    workers.at(static_cast<int>(i)).set_events(*devices_[i]);
  // Made here, since a thread that a worker makes is bound to the worker's core.
  if (core_->options().shared_devices)
    progress_ = std::make_unique<progress_worker>(*this, workers);
}

void network::attach_late(scheduler& workers, pass_hook& whole) {
  workers_ = &workers;
  whole_ = &whole;
  descriptors_ = std::make_unique<descriptor_watch>(workers);
}

void network::attach_worker(worker& here) noexcept {
  if (here.events() == nullptr) here.set_events(at(here.index()));
}

bool network::has_died(int process) const noexcept {
  return core_->internals().has_failed(process);
}

int network::known_processes() const noexcept {
  return core_->internals().known_processes();
}

int network::add_processes(std::span<const int> devices_of) {
  return core_->internals().add_processes(devices_of);
}

void network::start_progress() noexcept {
  if (progress_ != nullptr) progress_->start();
}

void network::detach() noexcept {
  progress_.reset();
  // A descriptor that was armed may still become readable: by the end of a peer, for example.
  descriptors_.reset();
  constexpr int passes = 64;  // A provider may hand on what it took only while it is polled.
  for (int i = 0; i < passes; ++i)
    for (const auto& d : devices_) (void)d->device_.progress();
}

void network::leave_other_jobs_as_dead() noexcept {
  for (const auto& device : core_->internals().devices) device->leave_other_jobs_as_dead();
}

void network::mark_failed(int process, const std::string& why) noexcept {
  core_->mark_failed(process, why);
  for (int i = 0; workers_ != nullptr && i < workers_->worker_count(); ++i)
    workers_->at(i).notify();
}

}  // namespace weft
