#include "comm/registration.hpp"

#include "base/log.hpp"
#include "weft/error.hpp"

namespace weft::comm {

registration_cache::registration_cache(std::size_t capacity, bool keep_pinned)
    : capacity_(capacity), keep_pinned_(keep_pinned) {
  slots_.reserve(capacity);
}

registration_cache::~registration_cache() {
  clear();
}

registration* registration_cache::take(transport& with, std::span<std::byte> memory,
                                       peer_access peers, const accelerator* owner) noexcept {
  if (owner != nullptr && !with.traits().registers_accelerators) return nullptr;
  for (auto& each : slots_) {
    if (each->with != &with || each->is_stale || each->region.begin != memory.data() ||
        each->region.size != memory.size() || each->peers != peers)
      continue;
    ++each->users;
    each->used_last = ++uses_;
    return each.get();
  }
  registration* const to = find_slot();
  if (to == nullptr) return nullptr;
  try {
    to->region = owner != nullptr ? with.register_memory_of(*owner, memory, peers)
                                  : with.register_memory(memory, peers);
  } catch (const weft::error& why) {
    log_line("a buffer of {} bytes cannot be registered, it is sent in messages instead: {}",
             memory.size(), why.what());
    return nullptr;
  }
  to->with = &with;
  to->peers = peers;
  to->is_stale = (peers != peer_access::none && with.traits().registration_opens) ||
                 (!keep_pinned_ && (with.traits().needs_registration || owner != nullptr));
  to->users = 1;
  to->used_last = ++uses_;
  ++made_;
  return to;
}

void registration_cache::give_back(registration* used) noexcept {
  if (--used->users != 0 || !used->is_stale) return;
  used->with->deregister(used->region);
  used->with = nullptr;
}

void registration_cache::forget() noexcept {
  for (auto& each : slots_) {
    if (each->with == nullptr) continue;
    each->is_stale = true;
    if (each->users != 0) continue;
    each->with->deregister(each->region);
    each->with = nullptr;
  }
}

// A slot of nobody, or that of the registration that was not used for longest.
registration* registration_cache::find_slot() noexcept {
  registration* oldest = nullptr;
  for (auto& each : slots_) {
    if (each->with == nullptr) return each.get();
    if (each->users == 0 && (oldest == nullptr || each->used_last < oldest->used_last))
      oldest = each.get();
  }
  // More than the capacity only while more are in use at a time.
  if (slots_.size() >= capacity_ && oldest != nullptr) {
    oldest->with->deregister(oldest->region);
    oldest->with = nullptr;
    return oldest;
  }
  try {
    return slots_.emplace_back(std::make_unique<registration>()).get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void registration_cache::clear() noexcept {
  for (auto& each : slots_) {
    if (each->with == nullptr) continue;
    each->with->deregister(each->region);
    each->with = nullptr;
  }
}

}  // namespace weft::comm
