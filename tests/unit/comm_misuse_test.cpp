// What can never succeed is refused at once, with a line that has the value and the limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "counted_allocations.hpp"
#include "made_up_endpoint.hpp"
#include "mirrored_job.hpp"
#include "weft/comm.hpp"

namespace weft {
namespace {

namespace with = comm::with;

std::string why(const std::function<void()>& what) {
  try {
    what();
  } catch (const error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(comm_misuse, numbers_beyond_their_limits_are_named) {
  EXPECT_NE(why([] {
              const comm::runtime core({.packets = std::size_t{1} << 60});
            }).find("packets is 1152921504606846976"),
            std::string::npos);
  EXPECT_NE(why([] {
              const comm::completion_queue queue(std::size_t{1} << 40);
            }).find("for 1099511627776 events; 4294967296 are the most"),
            std::string::npos);
  const comm::runtime core({.devices = 2});
  EXPECT_EQ(core.device(1).index(), 1);
  for (const int index : {-1, 2})
    EXPECT_EQ(why([&] { (void)core.device(index); }),
              "device " + std::to_string(index) +
                  " of this process: it has 2; give runtime_options::devices");
}

TEST(comm_misuse, what_finds_no_memory_below_its_limits_says_what_to_lower) {
  // So that it fails everywhere: where memory is only promised, up to 2^47 bytes are.
  tests::allocation_bytes_max = std::size_t{1} << 28;
  const std::string packets = why(
      [] { const comm::runtime core({.packets = packets_max, .packet_bytes = packet_bytes_max}); });
  const std::string queue =
      why([] { const comm::completion_queue made(queue_events_max / 2 + 1); });
  const std::string synchronizer = why([] { const comm::synchronizer made(1u << 31); });
  tests::allocation_bytes_max = ~std::size_t{0};
  EXPECT_EQ(packets,
            "no memory for device 0 of 1, with 16777216 packets of 1073741824 bytes and 256 "
            "registrations; lower packets, packet_bytes or registrations");
  const std::string each = std::to_string(sizeof(comm::event));
  EXPECT_EQ(queue, "no memory for a completion queue for 2147483649 events of " + each +
                       " bytes; make one for fewer");
  EXPECT_EQ(synchronizer, "no memory for a synchronizer for 2147483648 events of " + each +
                              " bytes; make one for fewer");
}

// One of those that all say the same of themselves.
class indistinct_endpoint final : public tests::made_up_endpoint {
 public:
  explicit indistinct_endpoint(bool has_launcher) : made_up_endpoint("indistinct") {
    traits_.has_launcher = has_launcher;
  }
  [[nodiscard]] std::vector<std::byte> address() const override { return {std::byte{7}}; }
  status send(std::uint32_t, const wire_header&, wire_parts, void*) noexcept override {
    return status::failed;
  }
  int poll(arrivals&, int) noexcept override { return 0; }
};

TEST(comm_misuse, equal_addresses_are_named_with_what_helps_there) {
  const auto start = [](int processes, int devices, bool has_launcher) {
    return why([&] {
      tests::mirrored_job job(0, processes);
      const comm::runtime core(job, {.devices = devices}, [&](int) {
        std::vector<std::unique_ptr<transport>> made;
        made.push_back(std::make_unique<indistinct_endpoint>(has_launcher));
        return made;
      });
    });
  };
  const std::string rest =
      " have the same address over indistinct: what is sent to one would come to the other; use "
      "another transport (WEFT_TRANSPORT)";
  EXPECT_EQ(start(2, 1, false), "device 0 of process 0 and device 0 of process 1" + rest);
  for (const bool has_launcher : {false, true})
    EXPECT_EQ(start(1, 2, has_launcher), "device 0 of process 0 and device 1 of process 0" + rest);
  EXPECT_EQ(start(2, 1, true),
            "processes 0 and 1 have the same address over indistinct: each is a job of its own "
            "there; start them with the mpirun or mpiexec of that MPI, or use another --transport");
}

class failing_posts : public ::testing::Test {
 protected:
  // What a device says at first that makes this post, which must fail, several times.
  template <class Post>
  std::string told(const Post& post) {
    comm::device& on = core_.device(used_++);
    const comm::registered_memory exposed(on, memory_);
    testing::internal::CaptureStderr();
    for (std::uint64_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(post(on, exposed.remote()), status::failed);
      EXPECT_EQ(on.statistics().failed, i);
    }
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    return text;
  }
  comm::runtime core_{{.devices = 2}};
  int used_ = 0;
  std::array<std::byte, 64> memory_{};
};

TEST_F(failing_posts, beyond_the_end_of_memory_say_where) {
  std::array<std::byte, 16> data{};
  const std::string beyond =
      "16 bytes at 60 are beyond the end of the memory of process 0, which has 64";
  EXPECT_NE(told([&](comm::device& on, const comm::remote_memory& there) {
              return post_put(on, there, data, with::offset(60));
            }).find(beyond),
            std::string::npos);
  EXPECT_NE(told([&](comm::device& on, const comm::remote_memory& there) {
              return post_get(on, there, data, with::offset(60));
            }).find(beyond),
            std::string::npos);
}

TEST_F(failing_posts, of_atomics_say_what_they_need) {
  for (const std::uint64_t offset : {4, 64}) {
    const std::string text = told([&](comm::device& on, const comm::remote_memory& there) {
      return post_fetch_add(on, there, 1, with::offset(offset));
    });
    EXPECT_NE(text.find("an atomic operation at " + std::to_string(offset) +
                        " of the memory of process 0, which has 64 bytes"),
              std::string::npos)
        << text;
  }
}

TEST_F(failing_posts, of_too_many_buffers_say_how_many_there_may_be) {
  std::array<std::byte, 17> data{};
  std::vector<std::span<const std::byte>> parts;
  for (const std::byte& each : data) parts.emplace_back(&each, 1);
  const std::string text = told([&](comm::device& on, const comm::remote_memory& there) {
    return post_put(on, there, parts);
  });
  EXPECT_NE(text.find("a list of 17 buffers: there may be 16 at most"), std::string::npos) << text;
}

TEST_F(failing_posts, to_nobody_say_who_there_is) {
  std::array<std::byte, 8> data{};
  EXPECT_NE(told([&](comm::device& on, const comm::remote_memory&) {
              return post_recv(on, 99, data);
            }).find("a receive from process 99 in matching engine 0: there are processes 0 to 0"),
            std::string::npos);
  EXPECT_NE(told([&](comm::device& on, const comm::remote_memory&) {
              return post_send(on, {0, 7}, data);
            }).find("no device 7 of process 0: the job has 1 processes"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
