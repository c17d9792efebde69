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

// Later meetings of the same collective say nothing: they leave the data there, and not their size.
void direct_transfers::note_opened() const {
  subgroup_meetings& all = meetings();
  for (const subgroup& s : c_.subgroups) {
    if (&s == &c_.subgroups[static_cast<std::size_t>(c_.here)]) continue;
    subgroup_meetings::other& other = all.of(s.process);
    other.opened_bytes = other.said[all.opened_in % 2].size;
  }
}

// It names its memory; whose memory that is, is not believed.
std::optional<comm::remote_memory> direct_transfers::region_of(int subgroup,
                                                               std::size_t index) const {
  subgroup_meetings& all = meetings();
  const subgroup_meetings::other& other = all.of(process_of(subgroup));
  comm::remote_memory memory;
  if ((index + 1) * sizeof memory > other.opened_bytes) [[unlikely]]
    return std::nullopt;
  const meeting_slot& said = other.said[all.opened_in % 2];
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

template <class Holds>
void direct_transfers::wait_for(const Holds& holds) {
  worker& here = *leader().home;
  here.wait_until([&] { return holds() || here.is_unwinding(); }, what_, false);
  if (!holds()) [[unlikely]]
    here.check_stopped();
}

// The job's end waits for these, too: begin_read().
void direct_transfers::wait_for_own() {
  if (pending_ != 0) leader().home->wait_until([&] { return pending_ == 0; }, what_, false);
}

template <class Transfer, class Bytes>
void direct_transfers::start(comm::remote_memory Transfer::*there, int subgroup, std::size_t region,
                             std::size_t offset, Bytes bytes) {
  if (bytes.empty() || failed_) return;
  const auto memory = region_of(subgroup, region);
  if (!memory) [[unlikely]]
    return void(failed_ = true);
  Transfer wanted;
  wanted.*there = *memory;
  wanted.offset = offset;
  wanted.data = bytes;
  worker& here = *leader().home;
  const remote::port mine = remote::port::of(here);
  const auto post = [&] { return mine.try_transfer<&on_ended>(wanted, this); };
  here.check_stopped();
  mine.begin_read();
  ++pending_;
  status answer = post();
  if (answer == status::retry) {
    const worker_device::awake until_there_is_room(network::of(here));
    // The condition is looked at once more after it was true: it must not post again then.
    here.wait_until(
        [&] {
          if (answer == status::retry) answer = post();
          return answer != status::retry;
        },
        what_, false);
  }
  if (answer == status::posted) return;
  --pending_;
  mine.end_read();
  if (answer == status::failed) failed_ = true;
}

void direct_transfers::read(int subgroup, std::size_t region, std::size_t offset,
                            std::span<std::byte> into) {
  start(&comm::get::from, subgroup, region, offset, into);
}
void direct_transfers::write(int subgroup, std::size_t region, std::size_t offset,
                             std::span<const std::byte> from) {
  start(&comm::put::to, subgroup, region, offset, from);
}

void direct_transfers::wait() {
  wait_for_own();
  leader().home->check_stopped();
  if (failed_) [[unlikely]] {
    throw_reason(c_, leader(), what_);
    throw error(std::string(call_.name) + ": memory of another process could not be " +
                "read or written");
  }
}

void direct_transfers::meet_again() {
  wait();
  --meetings_left_;
  tell_ended(false);
  if (!wait_for_others()) [[unlikely]]
    throw another_has_failed{};
}

// --- The end -----------------------------------------------------------------------------------

void direct_transfers::tell_ended(bool failed) {
  subgroups_meeting now(c_, call_, rank_, what_);
  for_each_other([&](int subgroup) { now.tell(subgroup, failed); });
}

// The others come to each meeting, and so does this subgroup: two meetings on, its word takes the place of an older one.
void direct_transfers::leave_run() {
  wait_for_own();
  for (; meetings_left_ >= 0; --meetings_left_) {
    tell_ended(true);
    static_cast<void>(wait_for_others());
  }
  meetings().open.clear();
}

bool direct_transfers::wait_for_others() {
  subgroup_meetings& all = meetings();
  const std::uint64_t digest = all.digest_of(call_);
  bool good = true;
  for_each_other([&](int subgroup) {
    const meeting_slot& said = all.of(process_of(subgroup)).said[all.sequence % 2];
    // Who has failed in the next first meeting may have said so in the same place: see leave().
    const auto came = [&] { return static_cast<std::int32_t>(said.sequence - all.sequence) >= 0; };
    if (!came()) wait_for([&] { return came() || is_dead(subgroup); });
    if (said.sequence != all.sequence || said.digest != digest) good = false;
  });
  return good;
}

void direct_transfers::end() {
  const bool good = wait_for_others();
  meetings().open.clear();
  if (!good) [[unlikely]]
    throw_of_another();
}

void direct_transfers::throw_of_another() {
  check_subgroups_alive(c_, call_.name);
  throw_reason(c_, leader(), what_);
  if (!c_.failed.load(std::memory_order_relaxed))  // Relaxed: the text is read under a lock.
    throw error(std::string(call_.name) +
                ": another process has failed in it and does not say why");
  throw_failed(c_, call_.name);
}

// This subgroup fails in the first meeting, and others may be past it and write to memory here. So they are told, and then
// asked. Who answers knows by then that the communicator is broken, and does not begin to write any more; had it begun
// before, then what it said in the meeting has come before its answer, and it tells when it has ended. The other ranks here
// leave after that: the communicator breaks when this has thrown.
void direct_transfers::leave(bool written) {
  subgroup_meetings& all = meetings();
  const std::uint32_t sequence = all.sequence;
  const std::uint64_t digest = all.digest_of(call_);
  worker& here = *leader().home;
  const conversation until_all_is_over(&c_);
  if (written) {
    note_failure(c_, peer_failure(c_, rank_, call_));
    c_.of.subgroups->tell_broken(here, c_, c_.failure);  // Also when somebody else broke it.
  }
  for (; meetings_left_ >= 0; --meetings_left_)
    tell_ended(true);  // Who is past the first comes to each.
  for_each_other([&](int subgroup) {
    if (!written || is_dead(subgroup)) return;
    const auto wait_for_it = [&](const auto& came) {
      wait_for([&] { return came() || is_dead(subgroup); });
    };
    const int its_leader = c_.subgroups[static_cast<std::size_t>(subgroup)].members[0];
    const remote_subgroups::call_question asked(*c_.of.subgroups, leader(), c_.to(its_leader),
                                                c_.context, sequence);
    wait_for_it([&] { return asked.is_answered(); });
    const std::array<meeting_slot, 2>& said = all.of(process_of(subgroup)).said;
    if (said[sequence % 2].sequence == sequence && said[sequence % 2].digest == digest)
      wait_for_it([&] { return said[(sequence + 1) % 2].sequence == sequence + 1; });
  });
  all.open.clear();
}

}  // namespace weft::detail
