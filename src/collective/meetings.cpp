#include "collective/meetings.hpp"

#include <cstring>
#include <mutex>

#include "base/limits.hpp"
#include "collective/calls.hpp"

namespace weft::detail {

call_on_wire on_wire(const collective_call& call, int rank) noexcept {
  call_on_wire made;
  std::strncpy(made.name, call.name, sizeof made.name - 1);
  made.bytes = call.bytes;
  made.history = call.history;
  made.root = call.root;
  made.rank = rank;
  made.same_size = call.same_size ? 1 : 0;
  made.combines = call.combines;
  return made;
}

void check_call(communicator_state& c, call_on_wire& theirs, int rank,
                const collective_call& mine) {
  theirs.name[sizeof theirs.name - 1] = '\0';
  collective_call call{theirs.name, theirs.root, theirs.same_size != 0, theirs.bytes,
                       theirs.combines};
  call.history = theirs.history;
  check_same(c, theirs.rank, call, rank, mine);
}

subgroup_meetings::other& subgroup_meetings::of(int process) {
  if (other* const known = find(process); known != nullptr) [[likely]]
    return *known;
  others_.push_back(std::make_unique<other>());
  others_.back()->process = process;
  return *others_.back();
}

std::uint64_t subgroup_meetings::make_digest(const collective_call& call) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15u;
  std::uint64_t digest = 0;
  // As much of the name as check_call() compares.
  for (std::size_t i = 0; i < sizeof(call_on_wire::name) - 1 && call.name[i] != '\0'; ++i)
    digest = (digest ^ static_cast<unsigned char>(call.name[i])) * odd;
  for (const std::uint64_t part :
       {static_cast<std::uint32_t>(call.root) | std::uint64_t{call.combines.code} << 32,
        call.same_size ? call.bytes : 0, call.history})
    digest = ((digest ^ digest >> 32) ^ part) * odd;
  digested_ = call;
  return digest_ = digest ^ digest >> 32;
}

subgroup_meetings* meeting_table::look_up(std::uint64_t name) noexcept {
  const auto at = by_name_.find(name);
  if (at == by_name_.end()) return nullptr;
  last_name_ = name;
  return last_ = at->second.get();
}

subgroup_meetings* meeting_table::look_up_or_make(std::uint64_t name, int worker,
                                                  communicator_list& listed) {
  if (subgroup_meetings* const found = look_up(name); found != nullptr) return found;
  if (unknown_ >= early_questions_max) return nullptr;
  forget_ended(worker, listed);
  ++unknown_;
  return by_name_.emplace(name, std::make_unique<subgroup_meetings>()).first->second.get();
}

void meeting_table::forget_ended(int worker, communicator_list& listed) {
  const std::lock_guard hold(listed.lock);
  std::erase_if(listed.ended_meetings, [&](const auto& ended) {
    if (ended.first != worker) return false;
    by_name_.erase(ended.second);
    return true;
  });
  last_ = nullptr;
}

}  // namespace weft::detail
