// Coroutines that wait: weft/tasks/coroutine.hpp.
#include "weft/tasks/coroutine.hpp"

#include <new>
#include <string>

#include "base/format.hpp"
#include "task/task_source.hpp"

namespace weft::detail {
namespace {

// Told by whoever sets the future; then a task of the worker where the coroutine waited; listed there meanwhile. Lives in
// the pool: the coroutine goes when the job stops, while somebody may still tell it.
struct waiting_coroutine final : listener, task, arrival, suspended {
  waiting_coroutine(task_source& its_home, std::coroutine_handle<> its_coroutine,
                    future_core& its_future) noexcept
      : home(its_home), coroutine(its_coroutine), awaited(&its_future) {
    told = [](listener& self) noexcept {
      auto& mine = static_cast<waiting_coroutine&>(self);
      if (worker::current() == &mine.home.home())
        mine.go_on();
      else
        mine.home.send(mine);
    };
    come = [](arrival& self, task_source&) noexcept {
      static_cast<waiting_coroutine&>(self).go_on();
    };
    act = [](task& self, bool may_run) noexcept {
      auto& mine = static_cast<waiting_coroutine&>(self);
      const auto next = mine.coroutine;
      free_pooled(&mine);
      if (may_run)
        next.resume();
      else
        next.destroy();
    };
    abandon = [](suspended& self) noexcept {
      auto& mine = static_cast<waiting_coroutine&>(self);
      mine.awaited = nullptr;
      mine.coroutine.destroy();
    };
    suspended::describe = [](const suspended& self, std::string& text) {
      const future_core& of = *static_cast<const waiting_coroutine&>(self).awaited;
      const std::string_view file = of.made_at().file_name();
      text += formatted("in co_await, of a future which {} made at {}:{} should set", of.giver(),
                        file.substr(file.rfind('/') + 1), of.made_at().line());
    };
  }
  void go_on() noexcept {
    if (awaited == nullptr) return free_pooled(this);
    home.resume(*this);
    home.submit_here(*this);
  }

  task_source& home;
  const std::coroutine_handle<> coroutine;
  future_core* awaited;  // Null: the coroutine has gone.
};

}  // namespace

bool coroutine_wait::suspend_at(std::coroutine_handle<> waiting) {
  if (worker::in_chunk())
    throw error(
        "a chunk of a loop said co_await of a future that is not ready: the coroutine would go on where the loop may "
        "have ended; wait before or after the loop");
  task_source& here = task_source::here("co_await");
  auto* const mine = make_pooled<waiting_coroutine>(here, waiting, awaited_);
  // The coroutine may go on from the moment that it listens: on this worker, which looks only after this call has returned.
  here.suspend(*mine);
  if (awaited_.listen(*mine)) return true;
  here.resume(*mine);
  free_pooled(mine);
  return false;
}

// --- On the stack of its caller -------------------------------------------------------------------

bool begin_on_callers_stack() noexcept {
  const worker* const here = worker::current();
  if (here == nullptr || worker::in_chunk()) return false;
  std::uint32_t& count = here->running().callers_below;
  // Nothing but the task waits below a coroutine that a spawned function begins.
  if (count == task_source::nobody_below) {
    count = 0;
    return false;
  }
  ++count;
  return true;
}

void leave_callers_stack() noexcept {
  --worker::current()->running().callers_below;
}

void refuse_to_wait_on_callers_stack(const char* call, const char* instead) {
  const worker* const here = worker::current();
  if (here == nullptr || !task_source::has_callers_below(here->running())) return;
  throw error(formatted(
      "{} in a coroutine that has not waited yet would make its caller wait, on whose stack it stands, and who may be the "
      "one that it waits for: say {}, or begin the coroutine by weft::spawn()",
      call, instead));
}

nobody_below::nobody_below() noexcept
    : before_(
          std::exchange(worker::current()->running().callers_below, task_source::nobody_below)) {}

nobody_below::~nobody_below() {
  worker::current()->running().callers_below = before_;
}

}  // namespace weft::detail
