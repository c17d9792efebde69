// Records from worker to worker. docs/protocols/mailbox.md.
#include <cstring>
#include <memory>
#include <mutex>

#include "sched/scheduler.hpp"
#include "sched/worker.hpp"

namespace weft {

worker::ring* worker::connect(int to) {
  worker& peer = owner_.at(to);
  ring* made = nullptr;
  {
    const std::lock_guard hold(owner_.lock_);
    auto& place = peer.inbound_storage_[static_cast<std::size_t>(index_)];
    if (place == nullptr) place = std::make_unique<ring>(mailbox_bytes);
    made = place.get();
  }
  outbound_[static_cast<std::size_t>(to)] = made;
  owner_.attract_attention();
  return made;
}

void worker::post(int to, std::uint8_t kind, std::uint32_t target,
                  std::span<const std::byte> payload) {
  ring::word* room = posted_.empty() ? try_reserve(to, payload.size()) : nullptr;
  if (room == nullptr) {
    posted_.push_back({to, kind, target, {payload.begin(), payload.end()}});
    ++rare_sources_;
    return;
  }
  std::memcpy(static_cast<void*>(room), payload.data(), payload.size());
  send_reserved(to, kind, target);
}

bool worker::flush_posted() {
  bool any = false;
  while (!posted_.empty()) {
    const waiting_record& r = posted_.front();
    ring::word* room = try_reserve(r.to, r.payload.size());
    if (room == nullptr) break;
    std::memcpy(static_cast<void*>(room), r.payload.data(), r.payload.size());
    send_reserved(r.to, r.kind, r.target);
    posted_.pop_front();
    --rare_sources_;
    any = true;
  }
  return any;
}

}  // namespace weft
