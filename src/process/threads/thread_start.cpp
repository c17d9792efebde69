// pthread_create and thrd_create of programs of weftcc, in libweft.so, where they stand before those of the C
// library: threads know which rank made them, may use all cores of the process and can tell of a stack that
// overflowed. Not part of libweft.a.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "job/caller.hpp"
#include "process/files/working_directory.hpp"
#include "process/life/thread_locals.hpp"
#include "process/threads/affinity.hpp"
#include "process/threads/thread_end.hpp"
#include "sched/alternate_stack.hpp"
#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"

namespace weft::process {
namespace {

using create_function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

// Whether the program has said on which CPUs a thread with these attributes begins.
bool has_cpus(const pthread_attr_t* attributes) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // All bits are set where nobody has.
  return attributes != nullptr && pthread_attr_getaffinity_np(attributes, sizeof set, &set) == 0 &&
         CPU_COUNT(&set) != CPU_SETSIZE;
}

// The C library takes thread-local variables from a thread's stack: `more` has the size that the program asks for beside the room for
// those. Memory of the program's own stays as it is.
const pthread_attr_t* with_room(const pthread_attr_t* attributes, pthread_attr_t& more) {
  const std::size_t room = room_for_thread_locals();
  void* low = nullptr;
  std::size_t size = 0;
  if (room == 0 || attributes == nullptr || pthread_attr_getstack(attributes, &low, &size) != 0)
    return attributes;
  // Where nobody has set the size it is 0 here; a stack whose memory nobody has given ends at address 0.
  if (size == 0 || reinterpret_cast<std::uintptr_t>(low) + size != 0) return attributes;
  more = *attributes;  // What it points to stays the program's: it is not destroyed.
  return pthread_attr_setstacksize(&more, size + room) == 0 ? &more : attributes;
}

std::span<std::byte> stack_of_this_thread() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  return {static_cast<std::byte*>(low), size};
}

struct thread_start {
  void* (*body)(void*);
  void* argument;
  thread_origin origin;
  std::optional<cpu_set_t> cpus;  // None: those that it has.
  counted_thread counted;
  thread_locals program;  // Those of the rank's copy.
};

void* begin_thread(void* argument) {
  const std::unique_ptr<thread_start> start(static_cast<thread_start*>(argument));
  (void)place_thread_locals(start->program);
  start->origin.stack = stack_of_this_thread();
  const auto* const maker = static_cast<const detail::job_rank*>(start->origin.identity);
  set_origin_of_this_thread(std::move(start->origin));
  take_kernel_state_of(*maker, true);
  const alternate_stack for_faults;
  if (start->cpus) pthread_setaffinity_np(pthread_self(), sizeof *start->cpus, &*start->cpus);
  return start->body(start->argument);
}

// A thread of C's <threads.h>: the C library has its result as an int in a pointer.
struct c_thread_start {
  thrd_start_t body;
  void* argument;
};

void* begin_c_thread(void* argument) {
  const auto [body, of_body] =
      *std::unique_ptr<c_thread_start>(static_cast<c_thread_start*>(argument));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(body(of_body)));
}

}  // namespace
}  // namespace weft::process

extern "C" {

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*body)(void*), void* argument) {
  static const auto next =
      reinterpret_cast<weft::process::create_function>(::dlsym(RTLD_NEXT, "pthread_create"));
  weft::thread_origin origin = weft::origin_of_new_thread();
  if (origin.identity == nullptr) return next(thread, attributes, body, argument);
  const bool has_place = weft::worker::current() == nullptr || weft::process::has_cpus(attributes);
  // ThreadSanitizer's own start must be the first code of a thread: such a one does not know its rank, and may not call
  // MPI.
  static const bool is_watched = ::dlsym(RTLD_DEFAULT, "__tsan_create_fiber") != nullptr;
  if (is_watched) {
    const int result = next(thread, attributes, body, argument);
    if (result == 0 && !has_place) {
      const cpu_set_t cpus = weft::process::cpus_of_new_thread();
      pthread_setaffinity_np(*thread, sizeof cpus, &cpus);
    }
    return result;
  }
  const auto* const maker = static_cast<const weft::detail::job_rank*>(origin.identity);
  auto start = std::make_unique<weft::process::thread_start>(
      weft::process::thread_start{body,
                                  argument,
                                  std::move(origin),
                                  {},
                                  weft::process::counted_thread(maker),
                                  weft::process::thread_locals_here()});
  if (!has_place) start->cpus = weft::process::cpus_of_new_thread();
  pthread_attr_t more;
  const int result = next(thread, weft::process::with_room(attributes, more),
                          &weft::process::begin_thread, start.get());
  if (result == 0) (void)start.release();  // The thread has it.
  return result;
}

__attribute__((visibility("default"))) int thrd_create(thrd_t* thread, thrd_start_t body,
                                                       void* argument) {
  std::unique_ptr<weft::process::c_thread_start> start(
      new (std::nothrow) weft::process::c_thread_start{body, argument});
  if (start == nullptr) return thrd_nomem;
  const int error = pthread_create(thread, nullptr, &weft::process::begin_c_thread, start.get());
  if (error == 0) (void)start.release();  // The thread has it.
  return error == 0 ? thrd_success : error == ENOMEM ? thrd_nomem : thrd_error;
}
}
