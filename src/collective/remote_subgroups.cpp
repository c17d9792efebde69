#include "collective/remote_subgroups.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/limits.hpp"
#include "collective/broken_communicator.hpp"
#include "rank/remote_wire.hpp"

namespace weft::detail {

namespace {

struct question_on_wire {
  std::int32_t rank;  // In the communicator: who is asked.
  std::int32_t unused = 0;
  broadcast_question asked;
};

}  // namespace

inline void remote_subgroups::on_said(worker& here, rank_state& to, const comm::event& happened) {
  subgroup_meetings* const met = meetings_[static_cast<std::size_t>(here.index())].find_or_make(
      meeting_name(low_of(happened.tag), to.number), here.index(), *ways_.shared().communicators);
  if (met == nullptr) [[unlikely]]
    return;
  subgroup_meetings::other* other = met->find(happened.process);
  if (other == nullptr) [[unlikely]] {
    const auto c = find_communicator(to, low_of(happened.tag));
    if (c != nullptr && !c->has_ranks_in(happened.process))
      return remote::refuse(here, happened, foreign_word);
    other = &met->of(happened.process);
  }
  const std::uint32_t sequence = low_of(happened.head[1]);
  meeting_slot& said = other->said[sequence % 2];
  said.digest = two(high_of(happened.head[1]), happened.user);
  said.size = static_cast<std::uint32_t>(happened.size);
  if (happened.size != 0) std::memcpy(said.data, happened.data, happened.size);
  said.sequence = sequence;
}

remote_subgroups::remote_subgroups(remote_messaging& ways, remote::handlers handlers)
    : ways_(ways),
      meetings_(ways.between().devices().size()),
      asked_(ways.between().devices().size()) {
  // The same order in all processes: so their numbers are the same.
  broken_ = handlers.add<&remote_subgroups::on_broken>(*this);
  question_ =
      handlers.add<&remote_subgroups::on_question, remote::of_bytes(sizeof(question_on_wire))>(
          *this);
  said_ =
      handlers.add<&remote_subgroups::on_said, remote::message_form{.bytes_max = small_bytes_max}>(
          *this);
  call_asked_ = handlers.add<&remote_subgroups::on_call_asked>(*this);
  call_told_ =
      handlers.add<&remote_subgroups::on_call_told, remote::of_bytes(sizeof(call_on_wire))>(*this);
}

// --- Collectives that fail -----------------------------------------------------------------------

void remote_subgroups::tell_broken(worker& here, const communicator_state& c,
                                   const std::string& why) noexcept {
  const std::size_t size = std::min({why.size(), ways_.eager_bytes_max(), failure_bytes_max});
  for (std::size_t s = 0; s < c.subgroups.size(); ++s)
    if (static_cast<int>(s) != c.here)
      ways_.post_to(here, c.to(c.subgroups[s].members[0]).number, c.context, broken_,
                    std::as_bytes(std::span(why.data(), size)));
}

void remote_subgroups::on_broken(worker& here, rank_state& to, const comm::event& happened) {
  on_subgroups_broken(here, to, low_of(happened.tag), {happened.process, happened.device},
                      {reinterpret_cast<const char*>(happened.data), happened.size});
}

void remote_subgroups::ask(worker& here, const communicator_state& c, int rank,
                           const broadcast_question& asked) noexcept {
  const question_on_wire question{rank, 0, asked};
  ways_.post_to(here, c.to(rank).number, c.context, question_,
                std::as_bytes(std::span(&question, 1)));
}

void remote_subgroups::on_question(worker& here, rank_state& to, const comm::event& happened) {
  question_on_wire question;
  std::memcpy(&question, happened.data, sizeof question);
  question.asked.name[sizeof question.asked.name - 1] = '\0';
  const std::uint32_t context = low_of(happened.tag);
  shared_handle<communicator_state> c;
  {
    const std::lock_guard hold(ways_.shared().communicators->lock);
    c = find_listed(to, context);
    auto& early = ways_.shared().communicators->questions;
    if (c == nullptr && early.size() < early_questions_max)
      early.push_back(
          {context, to.number, question.rank, {happened.process, happened.device}, question.asked});
  }
  if (c == nullptr) return;
  if (c->process_of(question.asked.rank) != happened.process) [[unlikely]]
    return remote::refuse(here, happened, foreign_source);
  if (question.rank < 0 || question.rank >= c->size() || c->at(question.rank).rank != &to) return;
  answer(here, *c, question.rank, question.asked);
}

// --- Meetings of subgroups ---------------------------------------------------------------------------

void remote_subgroups::find_meetings(communicator_state& c) {
  rank_state& leader = *c.at(c.local()[0]).rank;
  worker& here = *leader.home;
  meeting_table& table = meetings_[static_cast<std::size_t>(here.index())];
  const std::uint64_t name = meeting_name(c.context, leader.number);
  c.meetings = table.find_or_make(name, here.index(), *c.listed_in);
  if (c.meetings == nullptr)
    throw error("more than " + std::to_string(early_questions_max) +
                " communicators of which this process knows nothing have been used by others");
  c.meetings->leader = &leader;
  table.know(*c.meetings, c, [&](int process) {
    remote::refuse(here, comm::address{process, 0}, foreign_word);
  });
}

// The digest travels in two words that every message has, so that without data it fills no more than
// a cache line on its way.
comm::am remote_subgroups::word_to(const peer& leader, std::uint32_t context) const noexcept {
  comm::am made;
  const remote_messaging::way& there = ways_.way_to(leader.number);
  made.to = {there.process, there.worker};
  made.handler = said_;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(there.number), 0};
  return made;
}

void remote_subgroups::say(rank_state& speaker, const peer& to, comm::am& word,
                           std::uint32_t sequence, std::uint64_t digest,
                           std::span<const std::byte> data, const wait_description& what) {
  word.data = data;
  word.head[1] = two(high_of(digest), sequence);
  word.user = low_of(digest);
  worker& here = *speaker.home;
  if (remote::port::of(here).send_in_wait(here, word, [&] { return what; }) == status::failed)
    ways_.throw_dead(speaker, to);
}

void remote_subgroups::tell(const rank_state& speaker, const peer& to, std::uint32_t context,
                            std::uint32_t sequence, std::uint64_t digest) const noexcept {
  comm::am word = word_to(to, context);
  word.head[1] = two(high_of(digest), sequence);
  word.user = low_of(digest);
  remote::port::of(*speaker.home).send(word);
}

// --- Questions about calls -------------------------------------------------------------------------

remote_subgroups::call_question::call_question(remote_subgroups& of, const rank_state& leader,
                                               const peer& to, std::uint32_t context,
                                               std::uint32_t sequence)
    : asked_(of.asked_[static_cast<std::size_t>(leader.home->index())]),
      process_(of.ways_.address_of(to.number).process),
      name_(asked_.add({}, process_)) {
  of.post(*leader.home, of.ways_.address_of(to.number), of.call_asked_, context,
          {static_cast<std::uint64_t>(of.ways_.way_to(to.number).number), name_}, sequence, {});
}

remote_subgroups::call_question::~call_question() {
  if (is_answered())
    (void)asked_.take(name_);
  else
    answer().is_given_up = true;
}

void remote_subgroups::post(worker& here, const comm::address& to, comm::handler_id handler,
                            std::uint32_t context, const std::array<std::uint64_t, 2>& head,
                            std::uint32_t sequence,
                            std::span<const std::byte> data) const noexcept {
  comm::am made;
  made.to = to;
  made.handler = handler;
  made.data = data;
  made.tag = context;
  made.head = head;
  made.user = sequence;
  remote::port::of(here).send(made);
}

void remote_subgroups::on_call_asked(worker& here, rank_state& to, const comm::event& happened) {
  const std::uint32_t context = low_of(happened.tag), sequence = happened.user;
  const subgroup_meetings* const met =
      meetings_[static_cast<std::size_t>(here.index())].find(meeting_name(context, to.number));
  call_on_wire call;
  if (met != nullptr)
    if (const auto& mine = met->mine[sequence % 2]; mine.sequence == sequence)
      call = on_wire(mine.call, mine.rank);
  post(here, {happened.process, happened.device}, call_told_, context, {0, happened.head[1]},
       sequence, std::as_bytes(std::span(&call, 1)));
}

void remote_subgroups::on_call_told(worker& here, const comm::event& happened) {
  auto& asked = asked_[static_cast<std::size_t>(here.index())];
  const std::uint64_t name = happened.head[1];
  call_question::awaited* const one = asked.find(name, happened.process);
  if (one == nullptr || one->has_come) [[unlikely]]
    return remote::refuse(here, happened, remote::unasked);
  if (one->is_given_up) return (void)asked.take(name);
  std::memcpy(&one->call, happened.data, sizeof one->call);
  one->has_come = true;
}

}  // namespace weft::detail
