// A post that is refused for want of room has changed nothing, whatever it is and whatever there was no
// room in.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.hpp"
#include "forwarding_endpoint.hpp"

namespace weft {
namespace {

using comm::event;
using tests::cluster;
using tests::mailbox;
using tests::text_of;
namespace with = comm::with;

// A network that has room or not as the test says.
struct network_state {
  bool has_room = true;
  int pinned = 0;  // Buffers; others are kept registered.
};
class refusing_endpoint final : public tests::forwarding_endpoint {
 public:
  refusing_endpoint(std::unique_ptr<transport> beneath, network_state& state)
      : forwarding_endpoint(std::move(beneath)), state_(state) {}
  status send(std::uint32_t peer, const wire_header& header, wire_parts parts,
              void* context) noexcept override {
    return state_.has_room ? beneath().send(peer, header, parts, context) : status::retry;
  }
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return state_.has_room ? beneath().put(peer, local, region, key, offset, context)
                           : status::retry;
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return state_.has_room ? beneath().get(peer, local, region, key, offset, context)
                           : status::retry;
  }
  memory_region register_memory(std::span<std::byte> memory, peer_access peers) override {
    state_.pinned += traits().needs_registration;
    return beneath().register_memory(memory, peers);
  }
  void deregister(memory_region& region) noexcept override {
    state_.pinned -= traits().needs_registration;
    beneath().deregister(region);
  }

 private:
  network_state& state_;
};

constexpr std::size_t operations = 3, packets = 4, events = 8;

// Two processes, of which the first posts.
struct stage {
  explicit stage(const sim_options& network)
      : fabric(network),
        job(2, {.packets = packets, .operations = operations}, tests::real_network([this] {
              return std::make_unique<refusing_endpoint>(fabric.make_endpoint(),
                                                         made++ == 0 ? here : elsewhere);
            })),
        there(300'000, '?'),
        back(300'000, '?'),
        memory(job.device(1), std::as_writable_bytes(std::span(there))),
        handler(job[1].register_handler(box)),
        queue(events),
        place(job.device(0).take_packet()) {}

  sim_fabric fabric;
  network_state here, elsewhere;
  int made = 0;
  mailbox box;
  cluster job;
  std::string there, back;  // What is put, what is got.
  const comm::registered_memory memory;
  const comm::handler_id handler;
  comm::completion_queue queue;
  comm::packet place;
  char nothing[1];
  comm::counter ignored;
};

enum class sort { send, receive, tells, other };  // tells: calls the handler.

struct primitive {
  std::string name;
  sort is = sort::other;
  bool needs_operation = true;
  std::function<status(stage&)> post;
};

const std::string& text() {
  static const std::string text = text_of(300'000);
  return text;
}
std::span<const char> data(std::size_t size) {
  return std::span(text()).first(size);
}
// As 16 buffers.
std::vector<std::span<const std::byte>> list(std::size_t size) {
  std::vector<std::span<const std::byte>> parts;
  for (std::size_t i = 0; i < 16; ++i)
    parts.push_back(std::as_bytes(data(size)).subspan(i * (size / 16), size / 16));
  return parts;
}

std::vector<primitive> primitives() {
  std::vector<primitive> all;
  const auto local = [](stage& s) { return with::local(s.queue); };
  for (const std::size_t size : {8, 5000, 300'000}) {
    const std::string of = " of " + std::to_string(size);
    const bool is_long = size > sim_options{}.inject_bytes_max;
    all.push_back({"am" + of, sort::tells, is_long, [=](stage& s) {
                     return post_am(s.job.device(0), {1}, s.handler, data(size), local(s));
                   }});
    all.push_back({"send" + of, sort::send, is_long, [=](stage& s) {
                     return post_send(s.job.device(0), {1}, data(size), local(s));
                   }});
    all.push_back({"put" + of, sort::other, true, [=](stage& s) {
                     return post_put(s.job.device(0), s.memory.remote(), data(size), local(s));
                   }});
    all.push_back({"put that notifies" + of, sort::tells, true, [=](stage& s) {
                     return post_put(s.job.device(0), s.memory.remote(), data(size), local(s),
                                     with::notify(s.handler));
                   }});
    all.push_back({"get" + of, sort::other, true, [=](stage& s) {
                     return post_get(s.job.device(0), s.memory.remote(),
                                     std::span(s.back).first(size), local(s));
                   }});
  }
  for (const std::size_t size : {8000, 256 * 1024}) {
    const std::string of = " of a list of " + std::to_string(size);
    all.push_back({"am" + of, sort::tells, true, [=](stage& s) {
                     return post_am(s.job.device(0), {1}, s.handler, list(size), local(s));
                   }});
    all.push_back({"send" + of, sort::send, true, [=](stage& s) {
                     return post_send(s.job.device(0), {1}, list(size), local(s));
                   }});
    all.push_back({"put" + of, sort::other, true, [=](stage& s) {
                     return post_put(s.job.device(0), s.memory.remote(), list(size), local(s));
                   }});
  }
  const auto filled = [](stage& s) { return s.place.bytes().first(5000); };
  all.push_back({"am of a packet", sort::tells, true, [=](stage& s) {
                   return post_am(s.job.device(0), {1}, s.handler, filled(s), local(s),
                                  with::from(&s.place));
                 }});
  all.push_back({"send of a packet", sort::send, true, [=](stage& s) {
                   return post_send(s.job.device(0), {1}, filled(s), local(s),
                                    with::from(&s.place));
                 }});
  all.push_back({"fetch_add", sort::other, true, [=](stage& s) {
                   return post_fetch_add(s.job.device(0), s.memory.remote(), 1, local(s));
                 }});
  all.push_back({"swap", sort::other, true, [=](stage& s) {
                   return post_swap(s.job.device(0), s.memory.remote(), 1, local(s));
                 }});
  all.push_back({"compare_swap", sort::other, true, [=](stage& s) {
                   return post_compare_swap(s.job.device(0), s.memory.remote(), 1, 2, local(s));
                 }});
  all.push_back({"recv", sort::receive, true, [=](stage& s) {
                   return post_recv(s.job.device(0), 1, s.back, with::tag(1), local(s));
                 }});
  all.push_back({"recv in place", sort::receive, true, [=](stage& s) {
                   return post_recv(s.job.device(0), 1, std::span<char>(), with::tag(1),
                                    with::in_place(true), local(s));
                 }});
  return all;
}

// What a post could change.
struct witness {
  std::string there, back;
  std::uint64_t sent, received;
  int pinned;
  std::size_t messages;
  bool operator==(const witness&) const = default;
};
witness look(stage& s) {
  for (int i = 0; i < 30; ++i) s.job.progress();
  const comm::device_statistics here = s.job.device(0).statistics();
  return {s.there,       s.back,
          here.sent,     s.job.device(1).statistics().received,
          s.here.pinned, s.box.messages.size()};
}
std::size_t places_in(comm::completion_queue& queue) {
  std::size_t count = 0;
  while (queue.reserve()) ++count;
  for (std::size_t i = 0; i < count; ++i) queue.cancel();
  return count;
}
std::string_view text_in(const event& happened) {
  return {static_cast<const char*>(static_cast<void*>(happened.data)), happened.bytes().size()};
}
// The first process posts receives that nobody answers, until one is refused.
std::size_t free_operations(stage& s) {
  std::size_t count = 0;
  while (post_recv(s.job.device(0), 1, s.nothing, with::tag(99), with::local(s.ignored)) ==
         status::posted)
    ++count;
  return count;
}
std::size_t free_packets(stage& s) {
  std::vector<comm::packet> taken;
  do taken.push_back(s.job.device(0).take_packet());
  while (taken.back());
  return taken.size() - 1;
}

// Until it has room again; ends what used it.
class shortage {
 public:
  enum kind { of_network, of_operations, of_events };
  shortage(stage& s, kind what) : on_(s), what_(what) {
    if (what == of_network) s.here.has_room = false;
    if (what == of_operations) {
      EXPECT_EQ(free_operations(s), operations);
    }
    if (what == of_events)
      while (s.queue.reserve()) continue;
  }
  void end() {
    on_.here.has_room = true;
    if (what_ == of_events)
      for (std::size_t i = 0; i < events; ++i) on_.queue.cancel();
    if (what_ != of_operations) return;
    for (std::size_t i = 0; i < operations; ++i)
      EXPECT_EQ(on_.job.insist(
                    [&] { return post_send(on_.job.device(1), {0}, on_.nothing, with::tag(99)); }),
                status::done);
    EXPECT_TRUE(on_.job.until([&] { return on_.ignored.value() == operations; }));
  }

 private:
  stage& on_;
  const kind what_;
};

class comm_refused : public testing::TestWithParam<sim_options> {};

TEST_P(comm_refused, posts_change_nothing) {
  for (const auto lack : {shortage::of_network, shortage::of_operations, shortage::of_events})
    for (const primitive& tried : primitives()) {
      if (lack == shortage::of_network && tried.is == sort::receive) continue;
      if (lack == shortage::of_operations && !tried.needs_operation) continue;
      SCOPED_TRACE(tried.name + ", lack " + std::to_string(lack));
      stage s(GetParam());
      // It waits for a receive, which must not take it when it is refused.
      const char waiting[] = {'w'};
      ASSERT_EQ(
          s.job.insist([&] { return post_send(s.job.device(1), {0}, waiting, with::tag(1)); }),
          status::done);
      ASSERT_TRUE(s.job.until([&] { return s.job.device(0).statistics().unexpected == 1; }));

      shortage in_the_way(s, lack);
      const witness before = look(s);
      for (int i = 0; i < 10; ++i) ASSERT_EQ(tried.post(s), status::retry);
      EXPECT_TRUE(look(s) == before);
      event happened;
      EXPECT_FALSE(s.queue.try_pop(happened));
      EXPECT_EQ(places_in(s.queue), lack == shortage::of_events ? 0 : events);
      EXPECT_TRUE(s.place);
      EXPECT_EQ(free_packets(s), packets - 2) << "one is held, one waits";
      in_the_way.end();
      EXPECT_EQ(places_in(s.queue), events);

      // Now it goes, once.
      const status said = s.job.insist([&] { return tried.post(s); });
      ASSERT_NE(said, status::failed);
      if (tried.is == sort::send) {
        comm::counter received;
        const status met = post_recv(s.job.device(1), 0, s.there, with::local(received));
        EXPECT_TRUE(s.job.until([&] { return met == status::done || received.value() == 1; }));
      }
      EXPECT_TRUE(s.job.until([&] { return said == status::done || s.queue.try_pop(happened); }));
      if (tried.is == sort::receive) {
        EXPECT_EQ(
            happened.packet != nullptr ? text_in(happened) : std::string_view(s.back).substr(0, 1),
            "w");
      }
      release(happened);
      look(s);
      EXPECT_FALSE(s.queue.try_pop(happened));
      EXPECT_EQ(s.box.messages.size(), tried.is == sort::tells ? 1 : 0);
      EXPECT_EQ(places_in(s.queue), events);
      EXPECT_EQ(free_operations(s), operations);
    }
}

INSTANTIATE_TEST_SUITE_P(
    sim, comm_refused,
    testing::Values(sim_options{.seed = 1},
                    sim_options{.seed = 2, .can_put = false, .can_get = false},
                    sim_options{.seed = 3, .can_get = false, .needs_registration = true},
                    sim_options{
                        .seed = 4, .put_message_bytes_max = 1024, .needs_registration = true}),
    tests::name_of<testing::TestParamInfo<sim_options>>);

}  // namespace
}  // namespace weft
