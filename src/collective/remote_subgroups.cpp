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

remote_subgroups::remote_subgroups(remote_messaging& ways, face_handlers& handlers)
    : ways_(ways), meetings_(ways.between().ports().size()) {
  // The same order in all processes: so their names are the same.
  const auto handler = [&](comm::completion::function called) {
    return handlers.add(called, this);
  };
  broken_ = handler(&call_handler<remote_subgroups, &remote_subgroups::on_broken>);
  question_ = handler(&call_handler<remote_subgroups, &remote_subgroups::on_question>);
  said_ = handler(&call_handler<remote_subgroups, &remote_subgroups::on_said>);
  call_asked_ = handler(&call_handler<remote_subgroups, &remote_subgroups::on_call_asked>);
  call_told_ = handler(&call_handler<remote_subgroups, &remote_subgroups::on_call_told>);
}

// --- Collectives that fail -----------------------------------------------------------------------

void remote_subgroups::tell_broken(worker& here, const communicator_state& c) noexcept {
  const std::size_t size = std::min({c.failure.size(), ways_.eager_bytes_max(), failure_bytes_max});
  for (std::size_t s = 0; s < c.subgroups.size(); ++s)
    if (static_cast<int>(s) != c.here)
      ways_.post_to(here, c.to(c.subgroups[s].members[0]).number, c.context, broken_,
                    std::as_bytes(std::span(c.failure.data(), size)));
}

void remote_subgroups::on_broken(worker& here, const comm::event& happened) {
  rank_state* const to = ways_.addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  on_subgroups_broken(here, *to, low_of(happened.tag), {happened.process, happened.device},
                      {reinterpret_cast<const char*>(happened.data), happened.size});
}

namespace {

struct question_on_wire {
  std::int32_t rank;  // In the communicator: who is asked.
  std::int32_t unused = 0;
  broadcast_question asked;
};

}  // namespace

void remote_subgroups::ask(worker& here, const communicator_state& c, int rank,
                           const broadcast_question& asked) noexcept {
  const question_on_wire question{rank, 0, asked};
  ways_.post_to(here, c.to(rank).number, c.context, question_,
                std::as_bytes(std::span(&question, 1)));
}

void remote_subgroups::on_question(worker& here, const comm::event& happened) {
  question_on_wire question;
  rank_state* const to = ways_.addressee(here, happened, sizeof question);
  if (to == nullptr) [[unlikely]]
    return;
  std::memcpy(&question, happened.data, sizeof question);
  question.asked.name[sizeof question.asked.name - 1] = '\0';
  const std::uint32_t context = low_of(happened.tag);
  std::shared_ptr<communicator_state> c;
  {
    const std::lock_guard hold(ways_.shared().communicators->lock);
    c = find_listed(*to, context);
    auto& early = ways_.shared().communicators->questions;
    if (c == nullptr && early.size() < early_questions_max)
      early.push_back({context,
                       to->number,
                       question.rank,
                       {happened.process, happened.device},
                       question.asked});
  }
  if (c == nullptr) return;
  if (c->process_of(question.asked.rank) != happened.process) [[unlikely]]
    return refuse(here, happened, foreign_source);
  if (question.rank < 0 || question.rank >= c->size() || c->at(question.rank).rank != to) return;
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
  table.know(*c.meetings, c, [&](int process) { refuse(here, {process, 0}, foreign_word); });
}

// The digest travels in two words that every message has, so that without data it fills no more than
// a cache line on its way.
comm::am remote_subgroups::word_to(const peer& leader, std::uint32_t context) const noexcept {
  comm::am made;
  made.to = ways_.address_of(leader.number);
  made.handler = said_;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(leader.number), 0};
  return made;
}

void remote_subgroups::say(rank_state& speaker, const peer& to, comm::am& word,
                           std::uint32_t sequence, std::uint64_t digest,
                           std::span<const std::byte> data, const wait_description& what) {
  port& p = network::of(*speaker.home);
  p.count_sent(word.to.process);
  word.data = data;
  word.head[1] = two(high_of(digest), sequence);
  word.user = low_of(digest);
  if (post_in_wait(
          *speaker.home, [&] { return comm::post(p.device(), word); }, [&] { return what; }) ==
      status::failed)
    ways_.throw_dead(speaker, to);
}

void remote_subgroups::on_said(worker& here, const comm::event& happened) {
  rank_state* const to = ways_.addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  if (happened.size > small_bytes_max) [[unlikely]]
    return refuse(here, happened, "more than is said in a meeting");
  subgroup_meetings* const met = meetings_[static_cast<std::size_t>(here.index())].find_or_make(
      meeting_name(low_of(happened.tag), to->number), here.index(), *ways_.shared().communicators);
  if (met == nullptr) [[unlikely]]
    return;
  subgroup_meetings::other* other = met->find(happened.process);
  if (other == nullptr) [[unlikely]] {
    const auto c = find_communicator(*to, low_of(happened.tag));
    if (c != nullptr && !c->has_ranks_in(happened.process))
      return refuse(here, happened, foreign_word);
    other = &met->of(happened.process);
  }
  const std::uint32_t sequence = low_of(happened.head[1]);
  meeting_slot& said = other->said[sequence % 2];
  said.digest = two(high_of(happened.head[1]), happened.user);
  if (happened.size != 0) std::memcpy(said.data, happened.data, happened.size);
  said.sequence = sequence;
}

void remote_subgroups::ask_call(const rank_state& leader, const peer& to, std::uint32_t context,
                                std::uint32_t sequence) noexcept {
  ways_.post_to(*leader.home, to.number, context, call_asked_, {},
                two(static_cast<std::uint32_t>(leader.number), sequence));
}

void remote_subgroups::on_call_asked(worker& here, const comm::event& happened) {
  rank_state* const to = ways_.addressee(here, happened);
  if (to == nullptr) [[unlikely]]
    return;
  const std::uint32_t asker = high_of(happened.head[1]);
  if (!ways_.is_of(asker, happened)) [[unlikely]]
    return refuse(here, happened, "it asks for the rank of another one");
  const std::uint32_t context = low_of(happened.tag), sequence = low_of(happened.head[1]);
  const subgroup_meetings* const met =
      meetings_[static_cast<std::size_t>(here.index())].find(meeting_name(context, to->number));
  call_on_wire call;
  if (met != nullptr)
    if (const auto& mine = met->mine[sequence % 2]; mine.sequence == sequence)
      call = on_wire(mine.call, mine.rank);
  ways_.post_to(here, static_cast<int>(asker), context, call_told_,
                std::as_bytes(std::span(&call, 1)), sequence);
}

void remote_subgroups::on_call_told(worker& here, const comm::event& happened) {
  rank_state* const to = ways_.addressee(here, happened, sizeof(call_on_wire));
  if (to == nullptr) [[unlikely]]
    return;
  subgroup_meetings* const met = meetings_[static_cast<std::size_t>(here.index())].find(
      meeting_name(low_of(happened.tag), to->number));
  if (met == nullptr) return;
  if (met->answer.process != happened.process) [[unlikely]]
    return refuse(here, happened, "an answer of one who was not asked");
  std::memcpy(&met->answer.call, happened.data, sizeof met->answer.call);
  met->answer.sequence = low_of(happened.head[1]);
}

}  // namespace weft::detail
