#include "remote/port.hpp"

#include "comm/device.hpp"
#include "comm/runtime_state.hpp"

namespace weft::remote {

status port::start(comm::am& what) const noexcept {
  if (network::driven != nullptr)
    of_->count_sent_in_turn(what.to.process);
  else
    of_->count_sent(what.to.process);
  what.allow.retry = false;
  return comm::post(of_->device_, what);
}

bool port::copies_in_place(const comm::address& there) const noexcept {
  return static_cast<const comm::local_device&>(device()).copies_in_place(there);
}

void port::let_gather(network* between, comm::handler_id which) noexcept {
  if (between != nullptr) between->core_->internals().is_gathered[which.index] = true;
}

void refuse(const worker& here, const comm::event& happened, const char* why) noexcept {
  network::of(here).refuse(happened, why);
}

void refuse(const worker& here, const comm::address& sender, const char* why) noexcept {
  comm::event happened;
  happened.process = sender.process;
  happened.device = static_cast<std::uint16_t>(sender.device);
  refuse(here, happened, why);
}

}  // namespace weft::remote
