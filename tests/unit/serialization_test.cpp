// Objects that own memory, sent through serialization by every call that takes them; and bytes that are none.
#include <gtest/gtest.h>

#if !__has_include(<cereal/cereal.hpp>)
TEST(serialization, needs_cereal) {
  GTEST_SKIP() << "cereal is not installed (libcereal-dev)";
}
#else
#include "weft/serialization.hpp"

#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "job.hpp"

namespace weft {
namespace {

struct empty {
  template <class Archive>
  void serialize(Archive&) {}
  bool operator==(const empty&) const = default;
};
struct sample {
  std::string name;
  std::vector<std::pair<int, double> > values;
  std::map<std::string, std::vector<int> > groups;
  std::optional<std::string> note;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, values, groups, CEREAL_NVP(note));
  }
  bool operator==(const sample&) const = default;
};
sample sample_of(int rank) {
  return {"rank " + std::to_string(rank),
          std::vector<std::pair<int, double> >(static_cast<std::size_t>(rank), {rank, 0.5}),
          {{"even", {0, 2}}, {std::string(1000, 'x'), std::vector<int>(5000, rank)}},
          rank % 2 == 0 ? std::optional<std::string>("even") : std::nullopt};
}

template <class T>
void expect_returns(const T& object) {
  EXPECT_EQ(deserialize<T>(serialize(object)), object);
}

TEST(serialization, returns_what_it_was_given) {
  expect_returns(sample_of(3));
  expect_returns(std::pair<int, std::string>(1, "one"));
  expect_returns(std::tuple<int, double, std::string>(1, 2.5, "three"));
  expect_returns(std::vector<std::string>{"a", "", std::string(100'000, 'b')});
  expect_returns(std::map<int, std::map<int, std::string> >{{1, {{2, "two"}}}, {3, {}}});
  expect_returns(std::variant<int, std::string>("text"));
  expect_returns(std::vector<std::vector<double> >(10, std::vector<double>(10, 0.1)));
  expect_returns(std::vector<bool>{true, false, true});
  expect_returns(std::vector<empty>(100));  // No bytes for an element.
  expect_returns(std::vector<std::vector<empty> >{std::vector<empty>(9), {}});
}

TEST(serialization, is_refused_bytes_that_are_no_such_object) {
  const std::vector<std::byte> bytes = serialize(sample_of(2));
  for (std::size_t size = 0; size < 400; ++size)
    EXPECT_THROW(static_cast<void>(deserialize<sample>(std::span(bytes).first(size))), error);
  EXPECT_THROW(static_cast<void>(deserialize<std::string>(bytes)), error);
  // A length of 2^60 makes no room for it.
  std::vector<std::byte> long_one = serialize(std::string("abc"));
  const std::uint64_t length = std::uint64_t{1} << 60;
  std::memcpy(long_one.data(), &length, sizeof length);
  EXPECT_THROW(static_cast<void>(deserialize<std::string>(long_one)), error);
  EXPECT_THROW(static_cast<void>(deserialize<std::vector<empty> >(long_one)), error);
  // Any byte changed: an object or an error, never more than that.
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> changed = bytes;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    try {
      static_cast<void>(deserialize<sample>(changed));
    } catch (const std::exception&) {
    }
  }
}

TEST(serialization, sends_by_every_call_that_takes_it) {
  run_ranks(3, 2, [](communicator& world) {
    const int me = world.rank();
    const int next = (me + 1) % 3;
    const int previous = (me + 2) % 3;
    const sample mine = sample_of(me);

    const auto bytes = serialize(mine);
    request sending = world.isend(bytes, next);
    EXPECT_EQ(world.recv<serialized<sample> >(previous), sample_of(previous));
    sending.wait();
    if (me == 0) world.send(serialized(mine), 1, 5);
    if (me == 0) world.send(serialized(std::vector<std::string>{"a", "b"}), 1, 6);
    if (me == 1) {
      message_status status;
      EXPECT_EQ(world.recv<serialized<sample> >(any_source, 5, &status), sample_of(0));
      EXPECT_EQ(status.tag, 5);
      std::vector<std::string> words{"old"};
      world.recv(serialized(words), 0, 6);
      EXPECT_EQ(words, (std::vector<std::string>{"a", "b"}));
    }
    sample received;
    world.sendrecv(serialized(mine), next, serialized(received), previous);
    EXPECT_EQ(received, sample_of(previous));

    sample shared = mine;
    world.bcast(serialized(shared), 1);
    EXPECT_EQ(shared, sample_of(1));
    const std::vector<sample> all{sample_of(0), sample_of(1), sample_of(2)};
    EXPECT_EQ(world.allgather(serialized(mine)), all);
    EXPECT_EQ(world.gather(serialized(mine), 2), me == 2 ? all : std::vector<sample>());
    EXPECT_EQ(world.scatter(serialized(me == 0 ? all : std::vector<sample>()), 0), mine);
  });
}

TEST(serialization, tells_the_receiver_of_another_type) {
  run_ranks(1, 1, [](communicator& world) {
    world.send(serialized(std::string("abc")), 0);
    EXPECT_THROW(static_cast<void>(world.recv<serialized<std::map<int, int> > >(0)), error);
  });
}

}  // namespace
}  // namespace weft
#endif
