#include "job/rank_body.hpp"

#include <exception>
#include <string>
#include <typeinfo>

#include "base/stack_trace.hpp"
#include "base/uncaught.hpp"
#include "trace/accounts.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// Without a type it is an exception of another language.
std::string text_of_failure(int rank, const std::exception* e, const std::type_info* type) {
  const std::string who = "rank " + std::to_string(rank);
  if (e == nullptr && type == nullptr) return who + " ended with an exception that is not of C++";
  if (e == nullptr)
    return who + " ended with an exception of type " + demangled(type->name()) +
           ", which is not a std::exception";
  std::string text = text_of(*e);
  // Further lines stand below the first, so that all are read as one report.
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3)
    text.insert(at + 1, "  ");
  return text.starts_with(who + ":") ? text : who + ": " + text;
}

int status_of_failure(const std::exception* e) {
  const auto* const failure = dynamic_cast<const rank_failure*>(e);
  return failure != nullptr ? failure->exit_status() : 1;
}

// The exception is told before its rank unwinds; the others unwind after it has.
void tell_exception(void* argument, const std::exception* e, const std::type_info& type) {
  const auto& start = *static_cast<const rank_start*>(argument);
  if (type != typeid(job_stopped))
    start.failure->tell(text_of_failure(start.rank->number, e, &type), status_of_failure(e));
}

void call_body(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const struct in_program {  // The program's code runs without the hand-off lock of its worker.
    worker& home;
    explicit in_program(worker& w) : home(w) { home.leave_shared(); }
    ~in_program() { (void)home.enter_shared(); }
  } running(*start.rank->home);
  (*start.body)(*start.rank);
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

void run_rank(void* argument) {
  const auto& start = *static_cast<const rank_start*>(argument);
  const auto fail = [&](const std::exception* e) {
    const std::exception_ptr current = std::current_exception();
    const std::type_info* const type = current ? current.__cxa_exception_type() : nullptr;
    start.failure->tell(text_of_failure(start.rank->number, e, type), status_of_failure(e));
    start.of->workers->request_stop();
  };
  const struct accounted {
    const job_rank& me;
    explicit accounted(const job_rank& r) : me(r) {
      if (tracing()) [[unlikely]]
        accounts::begin_rank(me.number, me.of->process, me.home->index());
    }
    ~accounted() {
      if (tracing()) [[unlikely]]
        accounts::end_rank(me.number);
    }
  } in_account(*start.rank);
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
