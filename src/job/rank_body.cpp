#include "job/rank_body.hpp"

#include <exception>
#include <string>
#include <typeinfo>

#include "base/stack_trace.hpp"
#include "base/uncaught.hpp"
#include "profile/accounts.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Further lines stand below the first, so that all are read as one report.
std::string text_of_rank(int rank, std::string text) {
  const std::string who = "rank " + std::to_string(rank) + ":";
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3)
    text.insert(at + 1, "  ");
  return text.starts_with(who) ? text : who + " " + text;
}

// An exception without a type is one of another language.
std::string text_of_failure(int rank, const std::exception* e, const std::type_info* type) {
  const std::string who = "rank " + std::to_string(rank);
  if (e == nullptr && type == nullptr) return who + " ended with an exception that is not of C++";
  if (e == nullptr)
    return who + " ended with an exception of type " + demangled(type->name()) +
           ", which is not a std::exception";
  return text_of_rank(rank, text_of(*e));
}

int status_of_failure(const std::exception* e) {
  const auto* const failure = dynamic_cast<const rank_failure*>(e);
  return failure != nullptr ? failure->exit_status() : 1;
}

bool has_stopped_job(const rank_start& start) {
  return !start.of->why_abandoned(start.rank).empty();
}

// The exception is told before its rank unwinds; the others unwind after it has.
void tell_exception(void* argument, const std::exception* e, const std::type_info& type) {
  const auto& start = *static_cast<const rank_start*>(argument);
  if (type != typeid(job_stopped))
    start.failure->tell(text_of_failure(start.rank->number, e, &type), status_of_failure(e),
                        has_stopped_job(start));
}

void call_body(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const struct in_program {  // The program's code runs without the hand-off lock of its worker.
    worker& home;
    explicit in_program(worker& w) : home(w) { home.leave_shared(); }
    ~in_program() { (void)home.enter_shared(); }
  } running(*start.rank->home);
  (*start.body)(*start.rank);
  // What it has not brought to an end is then not its fault.
  if (start.of->workers->stopping()) throw job_stopped{};
  for (const auto& face : start.rank->faces)
    if (face != nullptr) face->ended();
}

}  // namespace

void throw_not_a_rank(const char* call) {
  const worker* here = worker::current();
  if (here != nullptr && here->source() != nullptr && here->identity() == nullptr)
    throw error(std::string(call) +
                " was called by a task, which any worker may run: a rank communicates in its own " +
                "flow of control, or gives the task a future");
  if (here == nullptr || here->identity() == nullptr)
    throw error(std::string(call) + " was called outside of a rank: call it in the body that " +
                "weft::run() runs, on the rank's own thread");
  throw error(std::string(call) + " was called by a chunk of a loop, which may run on another " +
              "worker: communicate before or after the loop");
}

void tell_failure_of(const job_rank& failed, const std::string& text) {
  failed.of->tell_failure(text_of_rank(failed.number, text));
}

void run_rank(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const auto fail = [&](const std::exception* e) {
    const std::exception_ptr current = std::current_exception();
    const std::type_info* const type = current ? current.__cxa_exception_type() : nullptr;
    start.failure->tell(text_of_failure(start.rank->number, e, type), status_of_failure(e),
                        has_stopped_job(start));
    start.of->workers->request_stop();
  };
  const struct accounted {
    const job_rank& me;
    explicit accounted(const job_rank& r) : me(r) {
      if (tracing()) [[unlikely]]
        profile::begin_rank(me.number, me.of->process, me.home->index());
    }
    ~accounted() {
      if (tracing()) [[unlikely]]
        profile::end_rank(me.number);
    }
  } in_account(*start.rank);
  // Tells what a rank has left behind, when nothing else explains the end.
  const struct last_words {
    const rank_start& of;
    ~last_words() {
      if (const std::string why = of.of->why_abandoned(of.rank); !why.empty())
        of.failure->tell(why, 1, true);
    }
  } said(start);
  try {
    call_watched({&call_body, argument, &tell_exception});
    start.of->each_face([&](face_job& face) { face.rank_ended(*start.rank); });
    start.rank->ended = true;
    return;
  } catch (const job_stopped&) {
  } catch (const std::exception& e) {
    fail(&e);
  } catch (...) {
    fail(nullptr);
  }
  for (const auto& face : start.rank->faces)
    if (face != nullptr) face->cut_short();
  start.rank->ended = true;
}

}  // namespace weft::detail
