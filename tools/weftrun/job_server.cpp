#include "weftrun/job_server.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft {

job_server::job_server(job_description base)
    : base_(std::move(base)), members_(base_.host_index.size()) {}

std::vector<frame> job_server::take(const frame& what) {
  std::vector<frame> answers;
  if (what.process < 0 || static_cast<std::size_t>(what.process) >= members_.size())
    throw error(formatted("a message of process {}, which is not there", what.process));
  member& sender = at(what.process);
  if (what.kind != frame_kind::join && sender.state != stage::joined)
    throw error(formatted("process {} speaks without taking part", what.process));
  switch (what.kind) {
    case frame_kind::join:
      join(what, answers);
      break;
    case frame_kind::put: {
      field_reader fields(what.payload);
      std::string key(fields.text());
      sender.values.insert_or_assign(std::move(key), std::string(fields.text()));
      break;
    }
    case frame_kind::get:
      answers.push_back(answer_to(what));
      break;
    case frame_kind::fence:
      sender.at_fence = true;
      pass_fences(answers);
      break;
    case frame_kind::told:
      sender.told_status = what.argument;
      break;
    case frame_kind::finish:
      sender.state = stage::finished;
      pass_fences(answers);
      break;
    default:
      throw error(formatted("process {} said something that it should not", what.process));
  }
  return answers;
}

void job_server::join(const frame& what, std::vector<frame>& answers) {
  member& sender = at(what.process);
  if (sender.state != stage::starting && sender.state != stage::finished)
    throw error(formatted("process {} joins twice", what.process));
  if (sender.state == stage::finished) ++sender.session;
  sender.state = stage::joined;
  sender.values.clear();
  sender.told_status = 0;
  job_description job = base_;
  job.process = what.process;
  answers.push_back(
      {.kind = frame_kind::welcome, .process = what.process, .payload = job.encoded()});
  for (member& one : members_)
    if (std::exchange(one.unnoticed, false)) missed_.push_back(one.why_gone);
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].state == stage::gone && !members_[i].why_gone.empty())
      answers.push_back({.kind = frame_kind::failed,
                         .process = what.process,
                         .argument = static_cast<int>(i),
                         .payload = members_[i].why_gone});
}

frame job_server::answer_to(const frame& get) const {
  field_reader fields(get.payload);
  const std::int64_t of = fields.number();
  const std::string_view key = fields.text();
  const auto refuse = [&](std::string why) {
    return frame{.kind = frame_kind::refused,
                 .process = get.process,
                 .argument = get.argument,
                 .payload = std::move(why)};
  };
  if (of < 0 || static_cast<std::size_t>(of) >= members_.size())
    return refuse(formatted("there is no process {}; the job has {}", of, members_.size()));
  const member& owner = members_[static_cast<std::size_t>(of)];
  if (owner.state == stage::gone && !owner.why_gone.empty()) return refuse(owner.why_gone);
  const auto found = owner.values.find(key);
  if (found == owner.values.end() || owner.session != at(get.process).session)
    return refuse(formatted("process {} has put no key '{}'", of, key));
  return {.kind = frame_kind::value,
          .process = get.process,
          .argument = get.argument,
          .payload = found->second};
}

int job_server::first_session_held_up_by(const member& one) {
  switch (one.state) {
    case stage::starting:
      return 0;
    case stage::joined:
      return one.at_fence ? one.session + 1 : one.session;
    case stage::finished:
      return one.session + 1;
    case stage::gone:
      break;
  }
  return std::numeric_limits<int>::max();
}

void job_server::pass_fences(std::vector<frame>& answers) {
  int held_up = std::numeric_limits<int>::max();
  for (const member& one : members_) held_up = std::min(held_up, first_session_held_up_by(one));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    member& one = members_[i];
    if (one.state != stage::joined || !one.at_fence || one.session >= held_up) continue;
    one.at_fence = false;
    answers.push_back({.kind = frame_kind::fence_done, .process = static_cast<int>(i)});
  }
}

bool job_server::any_takes_part() const {
  return std::ranges::any_of(members_, [](const member& m) { return m.state == stage::joined; });
}

int job_server::told_status() const {
  for (const member& one : members_)
    if (one.told_status != 0) return one.told_status;
  return 0;
}

bool job_server::ended(int process, const std::string& why, bool in_good_order,
                       std::vector<frame>& answers) {
  member& one = at(process);
  if (one.state == stage::gone) return false;
  const bool others_take_part = std::ranges::any_of(members_, [&](const member& other) {
    return &other != &one && (other.state == stage::joined || other.state == stage::finished);
  });
  // One that never joins is missed only by others that have.
  const bool failed = one.state == stage::joined ||
                      (one.state == stage::starting && (!in_good_order || others_take_part));
  one.unnoticed = one.state == stage::starting && !failed;
  if (failed || one.unnoticed) one.why_gone = why;
  one.state = stage::gone;
  if (failed) {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (members_[i].state == stage::joined)
        answers.push_back({.kind = frame_kind::failed,
                           .process = static_cast<int>(i),
                           .argument = process,
                           .payload = why});
  }
  pass_fences(answers);
  return failed;
}

}  // namespace weft
