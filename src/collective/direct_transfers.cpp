#include "collective/direct_transfers.hpp"

#include <cstring>

#include "rank/messages.hpp"
#include "rank/remote.hpp"

namespace weft::detail {

// --- What is told --------------------------------------------------------------------------------

opened_memory::opened_memory(communicator_state& c, int subgroup)
    : c_(c), process_(c.subgroups[static_cast<std::size_t>(subgroup)].process) {}

void opened_memory::add(std::span<const std::byte> memory, peer_access peers) {
  rank_state& leader = *c_.at(c_.local()[0]).rank;
  auto& open = c_.of.subgroups->meetings_of(c_).open;
  open.push_back(
      remote::port::of(*leader.home)
          .open_memory({const_cast<std::byte*>(memory.data()), memory.size()}, peers, process_));
  regions_[count_++] = open.back().remote();
}

// It names its memory; whose memory that is, is not believed.
comm::remote_memory direct_transfers::region_of(int subgroup, std::size_t index) const {
  subgroup_meetings& all = meetings();
  // Later meetings of the same collective say nothing, and leave it there.
  const meeting_slot& said = all.of(process_of(subgroup)).said[all.opened_in % 2];
  comm::remote_memory memory;
  std::memcpy(static_cast<void*>(&memory), said.data + index * sizeof memory, sizeof memory);
  const comm::address there = c_.of.ways->address_of(
      c_.to(c_.subgroups[static_cast<std::size_t>(subgroup)].members[0]).number);
  memory.process = there.process;
  memory.device = static_cast<std::int16_t>(there.device);
  return memory;
}

bool direct_transfers::is_dead(int subgroup) const noexcept {
  return c_.of.ways->between().any_has_died() &&
         !remote::port::of(*leader().home).is_alive(process_of(subgroup));
}

bool direct_transfers::reach() {
  std::optional<bool>& known = meetings().reaches;
  if (!known) [[unlikely]] {
    alignas(64) std::byte reaches{1};
    for_each_other([&](int subgroup) {
      const int there = c_.to(c_.subgroups[static_cast<std::size_t>(subgroup)].members[0]).number;
      if (!c_.of.ways->reads_in_place(*leader().home, there)) reaches = std::byte{0};
    });
    const std::bit_and<> both;
    reduce_over_subgroups(c_, call_, rank_, what_, make_reduction<std::uint8_t>(both, 1), &reaches);
    known = reaches != std::byte{0};
  }
  return *known;
}

// --- Moving ----------------------------------------------------------------------------------------

void direct_transfers::on_ended(void* of, const comm::event& happened) noexcept {
  auto& transfers = *static_cast<direct_transfers*>(of);
  --transfers.pending_;
  if (happened.result != comm::outcome::complete) transfers.failed_ = true;
}

template <class Post>
void direct_transfers::start(const Post& post) {
  worker& here = *leader().home;
  const remote::port mine = remote::port::of(here);
  here.check_stopped();
  mine.begin_read();
  ++pending_;
  status answer = status::failed;
  try {
    answer = remote::post_in_wait(
        here, [&] { return post(mine); }, [&] { return what_; });
  } catch (...) {
    --pending_;
    mine.end_read();
    throw;
  }
  if (answer == status::posted) return;
  --pending_;
  mine.end_read();
  if (answer == status::failed) failed_ = true;
}

void direct_transfers::read(int subgroup, std::size_t region, std::size_t offset,
                            std::span<std::byte> into) {
  if (into.empty() || failed_) return;
  comm::get wanted;
  wanted.from = region_of(subgroup, region);
  wanted.offset = offset;
  wanted.data = into;
  start([&](const remote::port& mine) { return mine.try_read<&on_ended>(wanted, this); });
}

void direct_transfers::write(int subgroup, std::size_t region, std::size_t offset,
                             std::span<const std::byte> from) {
  if (from.empty() || failed_) return;
  comm::put wanted;
  wanted.to = region_of(subgroup, region);
  wanted.offset = offset;
  wanted.data = from;
  start([&](const remote::port& mine) { return mine.try_write<&on_ended>(wanted, this); });
}

void direct_transfers::wait() {
  if (pending_ != 0) leader().home->wait_until([&] { return pending_ == 0; }, what_);
  leader().home->check_stopped();
  if (failed_) [[unlikely]] {
    throw_reason(c_, leader(), what_);
    throw error(std::string(call_.name) + ": memory of another process could not be " +
                "read or written");
  }
}

void direct_transfers::meet_again() {
  wait();
  subgroups_meeting now(c_, call_, rank_, what_);
  for_each_other([&](int subgroup) { now.say(subgroup, {}); });
  for_each_other([&](int subgroup) { static_cast<void>(now.hear(subgroup)); });
}

// --- The end -----------------------------------------------------------------------------------

void direct_transfers::tell_ended(bool failed) {
  subgroups_meeting now(c_, call_, rank_, what_);
  for_each_other([&](int subgroup) {
    if (failed)
      now.say_failed(subgroup);
    else
      now.say(subgroup, {});
  });
}

bool direct_transfers::wait_for_others() {
  subgroup_meetings& all = meetings();
  const std::uint64_t digest = all.digest_of(call_);
  bool good = true;
  for_each_other([&](int subgroup) {
    const meeting_slot& said = all.of(process_of(subgroup)).said[all.sequence % 2];
    const auto came = [&] { return said.sequence == all.sequence; };
    if (!came()) {
      leader().home->wait_until([&] { return came() || is_dead(subgroup); }, what_);
      leader().home->check_stopped();
    }
    if (!came() || said.digest != digest) good = false;
  });
  all.open.clear();
  return good;
}

void direct_transfers::end() {
  if (wait_for_others()) [[likely]]
    return;
  check_subgroups_alive(c_, call_.name);
  throw_reason(c_, leader(), what_);
  throw_failed(c_, call_.name);
}

// This subgroup fails in the first meeting, and others may be past it and write to memory here. So they are told, and then
// asked. Who answers knows by then that the communicator is broken, and does not begin to write any more; had it begun
// before, then what it said in the meeting has come before its answer, and it tells when it has ended.
void direct_transfers::leave(bool written) {
  subgroup_meetings& all = meetings();
  const std::uint32_t sequence = all.sequence;
  const std::uint64_t digest = all.digest_of(call_);
  worker& here = *leader().home;
  if (written) {
    break_communicator(here, c_, peer_failure(c_, rank_, call_));
    c_.of.subgroups->tell_broken(here, c_, c_.failure);  // Also when somebody else broke it.
  }
  tell_ended(true);
  for_each_other([&](int subgroup) {
    if (!written || is_dead(subgroup)) return;
    const auto wait_for = [&](const auto& came) {
      here.wait_until([&] { return came() || is_dead(subgroup); }, what_);
      here.check_stopped();
    };
    const int its_leader = c_.subgroups[static_cast<std::size_t>(subgroup)].members[0];
    const remote_subgroups::call_question asked(*c_.of.subgroups, leader(), c_.to(its_leader),
                                                c_.context, sequence);
    wait_for([&] { return asked.is_answered(); });
    const std::array<meeting_slot, 2>& said = all.of(process_of(subgroup)).said;
    if (said[sequence % 2].sequence == sequence && said[sequence % 2].digest == digest)
      wait_for([&] { return said[(sequence + 1) % 2].sequence == sequence + 1; });
  });
  all.open.clear();
}

}  // namespace weft::detail
