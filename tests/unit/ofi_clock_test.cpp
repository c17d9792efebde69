// What an endpoint of libfabric does while it is made, on a machine that lets it run now and then only.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <string>

#include "base/limits.hpp"
#include "provider_leaks.hpp"
#include "transport/ofi/ofi.hpp"

namespace {

// Of every look at the clock, as if the thread had not run for so long before.
std::atomic<long> missed_ms{0};
std::atomic<long> missed_ms_in_all{0};

}  // namespace

// The C library's, for libfabric too.
extern "C" int clock_gettime(clockid_t which, timespec* now) noexcept {
  const long result = ::syscall(SYS_clock_gettime, which, now);
  const long missed = missed_ms_in_all += missed_ms;
  now->tv_sec += missed / 1000;
  now->tv_nsec += missed % 1000 * 1'000'000;
  if (now->tv_nsec >= 1'000'000'000) {
    now->tv_nsec -= 1'000'000'000;
    ++now->tv_sec;
  }
  return static_cast<int>(result);
}

namespace weft {
namespace {

TEST(ofi_clock, an_endpoint_that_was_made_slowly_has_libfabrics_descriptors_to_sleep_on) {
  int tried = 0;
  for (const ofi_provider& each : ofi_providers()) {
    const bool has_descriptors = each.name == "net" || each.name.starts_with("tcp");
    if (each.domain != "lo" || !has_descriptors) continue;
    ++tried;
    tests::note_provider(each.name);
    missed_ms = 1;
    const auto endpoint = make_ofi_transport({.provider = each.name, .domain = each.domain});
    missed_ms = 0;
    EXPECT_EQ(endpoint->traits().sleep_ns_max, ofi_watch_ns) << each.name;
  }
  if (tried == 0) GTEST_SKIP() << "no libfabric over tcp";
}

}  // namespace
}  // namespace weft
