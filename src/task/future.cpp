// What futures share with those who set them: weft/tasks/future.hpp.
#include "weft/tasks/future.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/stack_trace.hpp"
#include "profile/accounts.hpp"
#include "sync/once_event.hpp"
#include "sync/published.hpp"
#include "task/task_source.hpp"
#include "task/waiting_fiber.hpp"

namespace weft::detail {
namespace {

using event = once_event<listener>;

// The objects that the public header keeps room for.
[[nodiscard]] event& event_in(std::byte* room) noexcept {
  return *std::launder(reinterpret_cast<event*>(room));
}
[[nodiscard]] const event& event_in(const std::byte* room) noexcept {
  return *std::launder(reinterpret_cast<const event*>(room));
}
[[nodiscard]] join_count<>& count_in(std::byte* room) noexcept {
  return *std::launder(reinterpret_cast<join_count<>*>(room));
}

std::string_view name_of_file(const char* path) noexcept {
  const std::string_view all = path;
  return all.substr(all.rfind('/') + 1);
}

struct future_wait : explained_wait {
  const future_core* of;
};

void explain(const explained_wait& wait, std::string& text) {
  const future_core& of = *static_cast<const future_wait&>(wait).of;
  text += formatted(", which {} made at {}:{} should set", of.giver(),
                    name_of_file(of.made_at().file_name()), of.made_at().line());
}

future_wait description_of(const future_core& of, const char* call) noexcept {
  future_wait description{};
  description.call = call;
  description.has_more = true;
  description.explain = &explain;
  description.of = &of;
  return description;
}

task_source& source_that_may_wait(const char* call) {
  task_source& here = task_source::here(call);
  if (worker::in_chunk())
    throw error(formatted(
        "a chunk of a loop called {} of a future that is not ready, which would wait on the stack of whoever runs the "
        "chunk: wait before or after the loop",
        call));
  return here;
}

// Exceptions that were not asked for, of this process.
std::atomic<int> failures_told{0};

}  // namespace

future_core::future_core(unsigned references, const std::source_location& made_at) noexcept
    : made_at_(made_at) {
  static_assert(sizeof(event) == sizeof event_ && sizeof(join_count<>) == sizeof references_);
  ::new (event_) event;
  (::new (references_) join_count<>)->expect(references);
}

void future_core::add_reference() noexcept {
  count_in(references_).expect_another();
}

bool future_core::is_last_reference() noexcept {
  return count_in(references_).arrive() == 0;
}

bool future_core::is_ready() const noexcept {
  return event_in(event_).has_happened();
}

bool future_core::test() {
  if (is_ready()) return true;
  if (worker* const here = worker::current(); here != nullptr && !worker::in_chunk()) {
    const shared_section inside(*here);
    here->yield();
  }
  return is_ready();
}

bool future_core::run_giver(task_source& here) {
  const auto newest = here.take_newest();
  if (newest.work == nullptr) return false;
  if (newest.work->joined_by == this && here.has_stack()) [[likely]] {
    here.run_here(*newest.work);
    return is_ready();
  }
  here.put_back(newest);
  return false;
}

void future_core::wait(const char* call, bool may_stop) {
  if (is_ready()) return;
  task_source& here = source_that_may_wait(call);
  if (run_giver(here)) [[likely]]
    return;
  const future_wait description = description_of(*this, call);
  auto* const waiter = make_pooled<waiting_fiber>(here);
  if (listen(*waiter))
    waiter->wait(description, may_stop, this, __builtin_return_address(0));
  else
    free_pooled(waiter);
}

// The giver is not run here: it may take longer than that.
bool future_core::wait_for(const char* call, std::int64_t duration) {
  if (is_ready()) return true;
  task_source& here = source_that_may_wait(call);
  if (duration <= 0) return test();
  future_wait description = description_of(*this, call);
  description.ends_by_itself = true;
  waiting_fiber* waiter = here.take_left_behind(*this);
  if (waiter == nullptr) {
    waiter = make_pooled<waiting_fiber>(here);
    if (!listen(*waiter)) {
      free_pooled(waiter);
      return true;
    }
  }
  return waiter->wait_for(description, static_cast<std::uint64_t>(duration), *this,
                          __builtin_return_address(0));
}

void future_core::wait_or_throw(const char* call, std::int64_t duration) {
  if (wait_for(call, duration)) return;
  throw timed_out(formatted("{} waited for {} ms, and {} made at {}:{} has not set the future",
                            call, static_cast<double>(duration) / 1e6, giver(),
                            name_of_file(made_at().file_name()), made_at().line()));
}

bool future_core::listen(listener& to) noexcept {
  return event_in(event_).try_add(&to);
}

void future_core::happen() noexcept {
  listener* one = event_in(event_).happen();
  if (one != nullptr && tracing()) [[unlikely]]
    profile::leave_cause_of_task(profile::key_of_object(this), giver(), made_at().file_name(),
                                 made_at().line(), made_at().function_name());
  while (one != nullptr) {
    listener* const next = one->next.get();  // A listener may be gone once it is told.
    one->told(*one);
    one = next;
  }
}

// Called with the last reference. Not of what a stop or a drop has brought about.
void future_core::tell_if_not_asked() const noexcept {
  if (is_asked_.load(std::memory_order_relaxed)) return;
  if (const worker* const here = worker::current(); here != nullptr && here->owner().stopping())
    return;
  try {
    std::string what;
    try {
      std::rethrow_exception(failure_);
    } catch (const cancelled&) {
      return;
    } catch (const broken_promise&) {
      return;
    } catch (const job_stopped&) {
      return;
    } catch (const std::exception& e) {
      what = printable(e.what());
    } catch (...) {
      const std::type_info* const type = failure_.__cxa_exception_type();
      what = "an exception of type " + (type != nullptr ? demangled(type->name()) : "unknown");
    }
    // Relaxed: a count.
    const int before = failures_told.fetch_add(1, std::memory_order_relaxed);
    if (before >= dropped_failures_told_max) return;
    log_line("{} made at {}:{} gave an exception, and its future was dropped unasked: {}", giver(),
             name_of_file(made_at_.file_name()), made_at_.line(), what);
    if (before + 1 == dropped_failures_told_max)
      log_line("further exceptions of futures that were dropped unasked are not told");
  } catch (const std::bad_alloc&) {
  }
}

void future_core::break_promise() noexcept {
  fail(std::make_exception_ptr(
      broken_promise(formatted("the promise made at {}:{} was dropped without a value",
                               name_of_file(made_at_.file_name()), made_at_.line()))));
}

void future_core::note_cancelled() noexcept {
  note_failure(std::make_exception_ptr(cancelled()));
}

void future_core::cancel() noexcept {
  note_cancelled();
  happen();
}

void refuse_empty_future(const char* call) {
  throw error(formatted(
      "{} of a future that has no state: it was taken by get(), then() or a move before", call));
}

void refuse_second_value(const char* call) {
  throw error(
      formatted("promise::{} was called a second time, or the promise was moved from", call));
}

arrivals::arrivals(std::size_t expected) noexcept {
  static_assert(sizeof(join_count<>) == sizeof left_);
  (::new (left_) join_count<>)->expect(expected);
}

bool arrivals::arrive() noexcept {
  return count_in(left_).arrive() == 0;
}

// --- Continuations -------------------------------------------------------------------------------

namespace {

// A thread that runs no tasks sends this to the worker where the continuation was made.
struct remote_task final : arrival {
  explicit remote_task(task& one) noexcept : work(one) {
    come = [](arrival& self, task_source& home) noexcept {
      auto& mine = static_cast<remote_task&>(self);
      home.submit_here(mine.work);
      free_pooled(&mine);
    };
  }
  task& work;
};

}  // namespace

continuation::continuation() noexcept : home(task_source::here_or_null()) {
  told = [](listener& self) noexcept {
    auto& mine = static_cast<continuation&>(self);
    if (task_source* const here = task_source::here_or_null(); here != nullptr)
      here->submit(mine, mine.urgency);
    else
      static_cast<task_source*>(mine.home)->send(
          *make_pooled<remote_task>(static_cast<task&>(mine)));
  };
}

void continue_after(future_core& first, continuation& then) {
  if (!first.listen(then)) then.told(then);
}

}  // namespace weft::detail
