// Jobs where the system has no more threads: pthread_create() is this program's.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "base/format.hpp"
#include "job.hpp"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // They have one of their own.

namespace {
// How many more there are; without a limit when negative.
std::atomic<int> threads_left{-1};
}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left == 0) return EAGAIN;
  if (threads_left > 0) --threads_left;
  return create(thread, attributes, body, argument);
}

namespace weft {
namespace {

TEST(a_job, that_gets_too_few_threads_ends_with_the_reason_and_leaves_none_behind) {
  const auto what_for = [](int there) {
    return there == 0 ? std::string("watching the job") : formatted("worker {} of 3", there - 1);
  };
  for (int there = 0; there < 4; ++there) {
    threads_left = there;
    bool ran = false;
    const failed_job job = run_to_failure(alone(job_of(6, 3)), [&](communicator&) { ran = true; });
    threads_left = -1;
    EXPECT_EQ(job.status, 2);
    EXPECT_FALSE(ran);
    expect_contains(job.text,
                    formatted("there is no thread for {}: Resource temporarily unavailable; raise ",
                              what_for(there)));
  }
  run_ranks(alone(job_of(6, 3)), [](communicator& world) { world.barrier(); });
}

}  // namespace
}  // namespace weft

#endif
