#include "fiber/context.hpp"

#include <cxxabi.h>
#include <pthread.h>

#include <cerrno>
#include <exception>
#include <utility>

namespace weft {

#if !defined(WEFT_BOOST_CONTEXT)
void machine::argument_is_null() noexcept {
  std::terminate();
}
#endif

thread_state this_thread_state() noexcept {
  return {reinterpret_cast<exception_state*>(abi::__cxa_get_globals()), &errno};
}

context::context() noexcept {
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  stack_ = {static_cast<std::byte*>(low), size};
#endif
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

context::context(std::span<std::byte> stack, void (*entry)(void*), void* argument) noexcept
    : suspended_(machine::make_flow<&context::first_entry>(stack.data(), stack.size())),
      entry_(entry),
      argument_(argument) {
#if defined(__SANITIZE_ADDRESS__)
  stack_ = stack;
  // Frames of a context that never came back have left their red zones on it.
  __asan_unpoison_memory_region(stack.data(), stack.size());
#endif
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
  owns_tsan_fiber_ = true;
#endif
}

context::~context() {
#if defined(__SANITIZE_THREAD__)
  if (owns_tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void context::switch_with_exceptions(context& from, context& to,
                                     const thread_state& thread) noexcept {
  const exception_state saved = std::exchange(*thread.exceptions, {});
  const int saved_errno = *thread.error_number;
  enter(from, to);
  *thread.exceptions = saved;
  *thread.error_number = saved_errno;
}

void context::first_entry(void* reached) noexcept {
  context& self = *static_cast<context*>(reached);
  self.finish_switch();
  self.entry_(self.argument_);
  std::terminate();
}

void context::visit(context& from, context& to, void (*visit)(void*), void* argument) noexcept {
  from.start_switch(to);
  visit_order order{&from, &to, visit, argument};
  machine::jump_on_top<&context::receive_visit>(to.suspended_, &order, &from.suspended_);
  from.finish_switch();
}

// Runs on the visited stack, above the switch that left it. What resumes that context later arrives
// here first, and is handed on to that switch, which finishes it.
void* context::receive_visit(void* argument) noexcept {
  const visit_order order = *static_cast<const visit_order*>(argument);
  order.to->finish_switch();
  order.visit(order.argument);
  order.to->start_switch(*order.from);
  return machine::jump(order.from->suspended_, order.from, &order.to->suspended_);
}

void context::leave_to(context& from, context& to) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  // A null slot frees the fake stack: this context never comes back.
  __sanitizer_start_switch_fiber(nullptr, to.stack_.data(), to.stack_.size());
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  machine::jump(to.suspended_, &to, &from.suspended_);
  std::terminate();
}

}  // namespace weft
