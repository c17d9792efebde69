// Asks the faces who waits for whom, for the deadlock report and the report signal.
#include "job/report.hpp"

#include <map>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "sched/attached_thread.hpp"

namespace weft::detail {
namespace {

// A rank that has ended may have left a non-blocking collective behind. One that is in its collective comes before
// those that wait for their turn.
const fiber* left_activity(const job_rank& r) {
  const fiber* found = nullptr;
  r.home->each_fiber([&](const fiber& f) {
    if (f.identity == &r && f.is_urgent && f.waiting_in != nullptr &&
        (found == nullptr || found->waiting_in->subject == nullptr))
      found = &f;
  });
  return found;
}

const fiber* waiting_fiber(const job_rank& r) {
  if (r.ended) return left_activity(r);
  return r.main.waiting_in != nullptr ? &r.main : nullptr;
}

// A line for each task of this worker that waits, with a fiber or without.
std::vector<std::string> waits_of_tasks(worker& w) {
  std::vector<std::string> lines;
  w.each_fiber([&](const fiber& f) {
    if (f.number >= 0 || f.identity != nullptr || f.waiting_in == nullptr) return;
    std::string text = formatted("a task (worker {}): in {}", w.index(), f.waiting_in->call);
    if (f.waiting_in->has_more) {
      const auto& more = static_cast<const explained_wait&>(*f.waiting_in);
      more.explain(more, text);
    }
    lines.push_back(std::move(text));
  });
  if (const work_source* const source = w.source(); source != nullptr)
    source->describe([&](const std::string& text) {
      lines.push_back(formatted("a task (worker {}): {}", w.index(), text));
    });
  return lines;
}

}  // namespace

const wait_description* wait_of(const job_rank& r) {
  const fiber* const f = waiting_fiber(r);
  return f == nullptr ? nullptr : f->waiting_in;
}

diagnosis::wait_record record_of(const job_rank& r, const wait_description& what) {
  diagnosis::wait_record made;
  if (what.context == wait_description::in_words) {
    const auto& words = *static_cast<const wait_words*>(what.subject);
    made.text = formatted("in {}{}", what.call, words.text());
    made.either_or = words.awaited(made.awaited);
    return made;
  }
  // The base face last: it knows every wait that is nobody else's.
  for (const auto& face : r.of->faces)
    if (face != nullptr && face->describe(r, what, made)) return made;
  if (r.of->base == nullptr || !r.of->base->describe(r, what, made))
    made.text = formatted("in {}", what.call);
  return made;
}

void append_worker_report(const job& j, worker& only, std::map<int, std::string>& lines) {
  for (const auto& r : j.ranks) {
    if (r->home != &only || (r->ended && j.workers->stopping())) continue;
    const wait_description* const what = r->main.waiting_in;
    lines[r->number] = formatted("  rank {} (worker {}): {}\n", r->number, only.index(),
                                 r->ended          ? "ended"
                                 : what == nullptr ? "running or ready"
                                                   : record_of(*r, *what).text);
  }
  for (const attached_thread* thread : only.waiting_attached()) {
    const auto& r = *static_cast<const job_rank*>(thread->from().identity);
    lines[r.number] += formatted("    a thread of rank {}: {}\n", r.number,
                                 record_of(r, *thread->waiting_in()).text);
  }
}

std::string describe_waits(const job& j) {
  std::string text, reason;
  j.each_face([&](face_job& face) {
    if (reason.empty()) reason = face.reason_of_deadlock();
  });
  std::map<const void*, diagnosis::group_name> groups;
  for (const auto& r : j.ranks) {
    const wait_description* const what = wait_of(*r);
    if (what == nullptr) {
      if (r->ended) text += diagnosis::written_wait(r->number, true, nullptr);
      continue;
    }
    const diagnosis::wait_record waits = record_of(*r, *what);
    text += diagnosis::written_wait(r->number, r->ended, &waits);
    if (waits.of_group != nullptr) groups.emplace(waits.of_group, waits.group);
  }
  for (int i = 0; i < j.workers->worker_count(); ++i)
    for (const std::string& line : waits_of_tasks(j.workers->at(i)))
      text += diagnosis::written_task(line);
  for (const auto& [group, name] : groups) {
    diagnosis::group_record who;
    j.each_face([&](face_job& face) {
      if (who.members.empty()) who = face.describe_group(group);
    });
    text += diagnosis::written_group(name, who);
  }
  if (!reason.empty()) text += diagnosis::written_reason(reason);
  return text;
}

}  // namespace weft::detail
