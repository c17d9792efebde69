// The pair as two processes over the communication core: what weftrun has started.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "comm/endpoints.hpp"
#include "transport/transport.hpp"
#include "weft-breakdown/pair.hpp"
#include "weft/comm.hpp"
#include "weft/error.hpp"

namespace weft::pair {
namespace {

// A transport that says when it is entered and left: the border between the core and what is below it,
// at no cost to either when it is not there.
class observed_transport final : public transport {
 public:
  explicit observed_transport(std::unique_ptr<transport> beneath) : beneath_(std::move(beneath)) {}

  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override {
    stages::pass(stages::point::packed);
    const status said = beneath_->send(peer, header, parts, context);
    stages::pass(stages::point::published);
    return said;
  }
  int poll(arrivals& to, int budget) noexcept override {
    forward_.to = &to;
    return beneath_->poll(forward_, budget);
  }

  [[nodiscard]] const transport_traits& traits() const noexcept override {
    return beneath_->traits();
  }
  [[nodiscard]] std::vector<std::byte> address() const override { return beneath_->address(); }
  void connect(std::span<const std::vector<std::byte>> all, std::uint32_t self) override {
    beneath_->connect(all, self);
  }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override {
    return beneath_->reaches(peer);
  }
  [[nodiscard]] memory_region register_memory(std::span<std::byte> memory,
                                              peer_access peers) override {
    return beneath_->register_memory(memory, peers);
  }
  void deregister(memory_region& region) noexcept override { beneath_->deregister(region); }
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath_->put(peer, local, region, key, offset, context);
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath_->get(peer, local, region, key, offset, context);
  }
  [[nodiscard]] bool arm() noexcept override { return beneath_->arm(); }
  void disarm() noexcept override { beneath_->disarm(); }
  [[nodiscard]] bell ringing() const noexcept override { return beneath_->ringing(); }
  [[nodiscard]] int wait_descriptor() const noexcept override {
    return beneath_->wait_descriptor();
  }
  void mark_failed(std::uint32_t peer, const char* why) noexcept override {
    beneath_->mark_failed(peer, why);
  }
  [[nodiscard]] bool shut_down() noexcept override { return beneath_->shut_down(); }

 private:
  struct forward final : arrivals {
    arrivals* to = nullptr;
    void delivered(std::uint32_t peer, const wire_header& header,
                   std::span<const std::byte> payload) noexcept override {
      stages::pass(stages::point::seen);
      to->delivered(peer, header, payload);
    }
    void completed(void* context, bool failed) noexcept override { to->completed(context, failed); }
    void written(std::uint64_t word) noexcept override { to->written(word); }
    void peer_failed(std::uint32_t peer, const char* why) noexcept override {
      to->peer_failed(peer, why);
    }
    void refused(std::uint32_t peer, const char* why) noexcept override { to->refused(peer, why); }
  };

  const std::unique_ptr<transport> beneath_;
  forward forward_;
};

// Each process on a core of its own, where there are two.
void pin(int process) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int left = process % std::max(CPU_COUNT(&allowed), 1);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

class by_message {
 public:
  by_message(comm::runtime& core, std::size_t bytes)
      : device_(core.device()), other_(1 - core.process()), out_(bytes) {
    arrived_ = core.register_handler(comm::completion(
        [](void* context, const comm::event& happened) noexcept {
          stages::pass(stages::point::matched);
          auto& here = *static_cast<by_message*>(context);
          std::memcpy(&here.value_, happened.data, sizeof here.value_);
          ++here.came_;
          stages::pass(stages::point::told);
        },
        this));
  }

  void post(std::uint64_t value) {
    std::memcpy(out_.data(), &value, sizeof value);
    for (;;) {
      const status said =
          comm::post_am(device_, {other_}, arrived_, std::span<const std::byte>(out_));
      if (said == status::failed) fail();
      if (said != status::retry) return;
      device_.progress();
    }
  }
  std::uint64_t take() {
    for (std::uint32_t looks = 1; came_ == taken_; ++looks) {
      device_.progress();
      if (looks % (1 << 16) == 0 && !device_.is_alive(other_)) fail();
    }
    ++taken_;
    return value_;
  }

 private:
  [[noreturn]] static void fail() {
    std::fputs("weft-breakdown: the other process is gone\n", stderr);
    std::_Exit(1);
  }

  comm::device& device_;
  const int other_;
  comm::handler_id arrived_;
  std::vector<std::byte> out_;
  std::uint64_t value_ = 0;
  std::uint64_t came_ = 0, taken_ = 0;
};

}  // namespace

int run_comm(const request& wanted) {
  const std::unique_ptr<bootstrap> job = make_bootstrap();
  if (job->process_count() != 2)
    throw error("the pair over the communication core are two processes; weftrun starts them");
  pin(job->process());
  comm::runtime_options how;
  how.transport = wanted.transport;
  const comm::runtime::endpoint_maker usual = comm::default_endpoints(*job, how);
  comm::runtime core(*job, how, [&](int device) {
    auto made = usual(device);
    if constexpr (is_staged)
      for (auto& each : made) each = std::make_unique<observed_transport>(std::move(each));
    return made;
  });
  if (core.device().eager_bytes_max(1 - core.process()) < wanted.bytes)
    throw error("--size " + std::to_string(wanted.bytes) + " is more than the " +
                std::to_string(core.device().eager_bytes_max(1 - core.process())) +
                " bytes that this transport sends at once: measure a smaller one");
  by_message face(core, wanted.bytes);
  side(face, wanted, core.process() == 0).walk();
  std::fflush(stdout);
  job->fence();  // Nobody leaves while the other still polls.
  job->finish();
  return 0;
}

}  // namespace weft::pair
