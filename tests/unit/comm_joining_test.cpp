// A device that is joined with those of another job: which ways it has before, after, and where that fails.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/joining.hpp"
#include "comm/runtime_state.hpp"
#include "made_up_endpoint.hpp"
#include "mirrored_job.hpp"
#include "weft/error.hpp"

namespace weft {
namespace {

// Reaches so many endpoints of the table.
class short_endpoint final : public tests::made_up_endpoint {
 public:
  explicit short_endpoint(const std::uint32_t& reached)
      : made_up_endpoint("short"), reached_(reached) {}
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override { return peer < reached_; }
  status send(std::uint32_t, const wire_header&, wire_parts, void*) noexcept override {
    return status::failed;
  }
  int poll(arrivals&, int) noexcept override { return 0; }

 private:
  const std::uint32_t& reached_;
};

std::string failure_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const error& e) {
    return e.what();
  }
  return "nothing";
}

// A job of one process, which has heard of two processes of another job.
class joining : public ::testing::Test {
 protected:
  explicit joining(const std::string& transport = "auto")
      : core_(job_, options(transport), maker()) {
    first_ = core_.internals().add_processes(std::array{1, 1});
  }
  [[nodiscard]] comm::device& here() const { return core_.device(); }
  void connect(comm::offered_endpoints& offered) const {
    const std::array all{comm::joined_endpoint{{-1, 0}, offered.text()},
                         comm::joined_endpoint{{first_, 0}, offered.text()},
                         comm::joined_endpoint{{first_ + 1, 0}, offered.text()}};
    offered.connect(all, 0);
  }
  void have_no_network() const {
    core_.internals().make_endpoints_beyond_host =
        [](int) -> std::vector<std::unique_ptr<transport>> { throw error("the network is away"); };
  }

  std::uint32_t reached_ = 3;
  int first_ = 0;
  tests::mirrored_job job_{0, 1};
  comm::runtime core_;

 private:
  static comm::runtime_options options(const std::string& transport) {
    comm::runtime_options how;
    how.transport = transport;
    return how;
  }
  comm::runtime::endpoint_maker maker() {
    return [this](int) {
      std::vector<std::unique_ptr<transport>> made;
      made.push_back(std::make_unique<short_endpoint>(reached_));
      return made;
    };
  }
};

class joining_by_name : public joining {
 protected:
  joining_by_name() : joining("ofi") {}
};

TEST_F(joining, leads_to_the_others_from_then_on) {
  EXPECT_EQ(here().transport_to(first_), "");
  EXPECT_EQ(here().eager_bytes_max(first_ + 1), 0u);
  comm::offered_endpoints offered(here());
  offered.make(true);
  connect(offered);
  EXPECT_EQ(here().transport_to(first_), "short");
  EXPECT_EQ(here().transport_to(first_ + 1), "short");
  EXPECT_EQ(here().transport_to(first_, 1), "");
}

TEST_F(joining, keeps_no_way_when_one_of_the_others_is_not_reached) {
  reached_ = 2;
  comm::offered_endpoints offered(here());
  offered.make(false);
  EXPECT_NE(failure_of([&] { connect(offered); }).find("by short"), std::string::npos);
  EXPECT_EQ(here().transport_to(first_), "");
  EXPECT_EQ(here().transport_to(first_ + 1), "");
  here().progress();
}

TEST_F(joining, goes_without_a_network_where_the_others_are_reached_so) {
  have_no_network();
  comm::offered_endpoints offered(here());
  offered.make(true);
  connect(offered);
  EXPECT_EQ(here().transport_to(first_), "short");
}

TEST_F(joining, tells_why_there_is_no_network_where_the_others_are_not_reached) {
  have_no_network();
  reached_ = 1;
  comm::offered_endpoints offered(here());
  offered.make(true);
  EXPECT_NE(failure_of([&] { connect(offered); }).find("the network is away"), std::string::npos);
}

TEST_F(joining_by_name, does_without_no_network_that_was_asked_for) {
  have_no_network();
  comm::offered_endpoints offered(here());
  EXPECT_EQ(failure_of([&] { offered.make(true); }), "the network is away");
}

}  // namespace
}  // namespace weft
