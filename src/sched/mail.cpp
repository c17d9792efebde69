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
  owner_.interrupt_workers();
  return made;
}

void worker::post(int to, std::uint8_t kind, std::uint32_t target,
                  std::span<const std::byte> payload) {
  const mail_room room = posted_.empty() ? try_reserve(to, payload.size()) : mail_room();
  if (!room) {
    posted_.push_back({to, kind, target, {payload.begin(), payload.end()}});
    add_rare_source();
    return;
  }
  std::memcpy(room.payload(), payload.data(), payload.size());
  send_reserved(room, to, kind, target);
}

bool worker::flush_posted() {
  bool any = false;
  while (!posted_.empty()) {
    const waiting_record& r = posted_.front();
    const mail_room room = try_reserve(r.to, r.payload.size());
    if (!room) break;
    std::memcpy(room.payload(), r.payload.data(), r.payload.size());
    send_reserved(room, r.to, r.kind, r.target);
    posted_.pop_front();
    --rare_sources_;
    any = true;
  }
  return any;
}

}  // namespace weft
