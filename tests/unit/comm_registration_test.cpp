// Buffers that the core registers for long messages: when they are registered anew, and that what comes is
// right although other memory lies at the same address now.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cluster.hpp"
#include "forwarding_endpoint.hpp"
#include "provider_leaks.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/shm/shm.hpp"

namespace weft {
namespace {

using tests::cluster;
using tests::text_of;
namespace with = comm::with;

constexpr std::size_t buffer_bytes = 256 * 1024;

// An endpoint of a network that pins pages: what is registered stays that memory, also when the program
// has unmapped it. Works for shared mappings, of which it makes another view.
class pinning_endpoint final : public tests::forwarding_endpoint {
 public:
  using forwarding_endpoint::forwarding_endpoint;
  ~pinning_endpoint() override {
    for (const auto& [key, view] : views_) munmap(view.data(), view.size());
  }

  memory_region register_memory(std::span<std::byte> memory, peer_access peers) override {
    void* const view = mremap(memory.data(), 0, memory.size(), MREMAP_MAYMOVE);
    if (view == MAP_FAILED) return beneath().register_memory(memory, peers);
    const std::span<std::byte> pinned(static_cast<std::byte*>(view), memory.size());
    memory_region made = beneath().register_memory(pinned, peers);
    views_[made.key.words[0]] = pinned;
    made.begin = memory.data();
    return made;
  }
  void deregister(memory_region& region) noexcept override {
    if (const auto found = views_.find(region.key.words[0]); found != views_.end()) {
      munmap(found->second.data(), found->second.size());
      views_.erase(found);
    }
    beneath().deregister(region);
  }
  status put(std::uint32_t peer, std::span<const std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath().put(peer, seen(local, region), region, key, offset, context);
  }
  status get(std::uint32_t peer, std::span<std::byte> local, const memory_region* region,
             const remote_key& key, std::uint64_t offset, void* context) noexcept override {
    return beneath().get(peer, seen(local, region), region, key, offset, context);
  }

 private:
  // The same bytes in what was registered.
  template <class Byte>
  std::span<Byte> seen(std::span<Byte> local, const memory_region* region) const noexcept {
    const auto found = views_.find(region->key.words[0]);
    if (found == views_.end()) return local;
    return found->second.subspan(static_cast<std::size_t>(local.data() - region->begin),
                                 local.size());
  }

  std::map<std::uint64_t, std::span<std::byte>> views_;  // By their keys.
};

// Memory that can be exchanged for other memory at the same address.
class mapped_buffer {
 public:
  mapped_buffer() : begin_(map(nullptr, 0)) {}
  ~mapped_buffer() { munmap(begin_, buffer_bytes); }
  mapped_buffer(const mapped_buffer&) = delete;
  mapped_buffer& operator=(const mapped_buffer&) = delete;

  void unmap() { ASSERT_EQ(munmap(begin_, buffer_bytes), 0); }
  void map_again() { ASSERT_EQ(map(begin_, MAP_FIXED), begin_); }
  [[nodiscard]] std::span<char> bytes() { return {static_cast<char*>(begin_), buffer_bytes}; }

 private:
  static void* map(void* at, int flags) {
    return mmap(at, buffer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | flags, -1,
                0);
  }
  void* begin_;
};

// Whether a send from `here` to `there`, an am and a put from `here`, and a get to it bring what they should.
bool is_right(cluster& job, std::span<char> here, std::span<char> there, int seed) {
  const std::string text = text_of(here.size(), seed);
  const auto clear = [](std::span<char> bytes) { std::ranges::fill(bytes, '?'); };
  const auto end = [&](const auto& post) {
    comm::synchronizer ended;
    const status said = job.insist([&] { return post(ended); });
    EXPECT_NE(said, status::failed);
    EXPECT_TRUE(job.until([&] { return said == status::done || ended.test(); }));
  };
  std::string brought, exposed(here.size(), '?');
  const comm::registered_memory memory(job.device(1), std::as_writable_bytes(std::span(exposed)));
  const comm::handler_id handler = job[1].register_handler(comm::completion(
      [](void* context, const comm::event& happened) noexcept {
        const auto bytes = happened.bytes();
        *static_cast<std::string*>(context) = {reinterpret_cast<const char*>(bytes.data()),
                                               bytes.size()};
      },
      &brought));
  std::ranges::copy(text, here.begin());
  clear(there);
  comm::synchronizer received;
  EXPECT_EQ(post_recv(job.device(1), 0, there, with::local(received)), status::posted);
  end([&](auto& ended) { return post_send(job.device(0), {1}, here, with::local(ended)); });
  EXPECT_TRUE(job.until([&] { return received.test(); }));
  end([&](auto& ended) { return post_am(job.device(0), {1}, handler, here, with::local(ended)); });
  EXPECT_TRUE(job.until([&] { return !brought.empty(); }));
  end([&](auto& ended) {
    return post_put(job.device(0), memory.remote(), here, with::local(ended));
  });
  EXPECT_TRUE(
      job.until([&] { return exposed.back() != '?'; }));  // What is put is written in order.
  const bool put = exposed == text;
  exposed = text;
  clear(here);
  end([&](auto& ended) {
    return post_get(job.device(0), memory.remote(), here, with::local(ended));
  });
  return std::string_view(there.data(), there.size()) == text && brought == text && put &&
         std::string_view(here.data(), here.size()) == text;
}

struct tried {
  const char* name;
  bool pinned = false, kept = false;  // Pinned: over the simulated network.
  std::unique_ptr<transport> (*make)() = nullptr;
};

class comm_buffers : public testing::TestWithParam<tried> {
 protected:
  std::unique_ptr<cluster> start() {
    const auto& [name, pinned, kept, make] = GetParam();
    if (make != nullptr) return std::make_unique<cluster>(2, how(), tests::real_network(make));
    const sim_options network{.seed = 12, .needs_registration = pinned};
    if (!pinned) return std::make_unique<cluster>(2, how(), network);
    return std::make_unique<cluster>(
        2, how(), tests::real_network([fabric = sim_fabric(network)]() mutable {
          return std::make_unique<pinning_endpoint>(fabric.make_endpoint());
        }));
  }
  comm::runtime_options how() { return {.keep_registrations = GetParam().kept}; }
};

TEST_P(comm_buffers, of_other_memory_at_the_same_address_are_exchanged_right) {
  std::unique_ptr<cluster> job;
  try {
    job = start();
  } catch (const error& e) {
    GTEST_SKIP() << e.what();
  }
  mapped_buffer here, there;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(is_right(*job, here.bytes(), there.bytes(), i)) << "round " << i;
    here.unmap();
    there.unmap();
    if (GetParam().kept)
      for (int p = 0; p < 2; ++p) (*job)[p].forget_memory();
    here.map_again();
    there.map_again();
  }
}

TEST_P(comm_buffers, freed_and_allocated_anew_are_exchanged_right) {
  std::unique_ptr<cluster> job;
  try {
    job = start();
  } catch (const error& e) {
    GTEST_SKIP() << e.what();
  }
  for (int i = 0; i < 8; ++i) {
    {
      const auto here = std::make_unique<char[]>(buffer_bytes);
      const auto there = std::make_unique<char[]>(buffer_bytes);
      EXPECT_TRUE(is_right(*job, {here.get(), buffer_bytes}, {there.get(), buffer_bytes}, i))
          << "round " << i;
    }
    if (GetParam().kept)
      for (int p = 0; p < 2; ++p) (*job)[p].forget_memory();
  }
}

INSTANTIATE_TEST_SUITE_P(
    networks, comm_buffers,
    testing::Values(tried{"sim"}, tried{"sim_pinned", true}, tried{"sim_pinned_kept", true, true},
                    tried{"shm", false, false, [] { return make_shm_transport(); }},
                    tried{"tcp", false, false,
                          [] {
                            tests::note_provider("tcp");
                            ofi_options how = parse_ofi_options("tcp@lo");
                            how.protects = protection::none;
                            return make_ofi_transport(how);
                          }},
                    tried{"tcp_sealed", false, false,
                          [] {
                            tests::note_provider("tcp");
                            return make_ofi_transport(parse_ofi_options("tcp@lo"));
                          }}),
    [](const auto& one) { return std::string(one.param.name); });

// Why forget_memory() must be called, and that the tests above could tell.
TEST(comm_registration, kept_and_not_forgotten_is_that_of_the_memory_before) {
  sim_fabric fabric({.seed = 12, .needs_registration = true});
  cluster job(2, {.keep_registrations = true}, tests::real_network([&] {
                return std::make_unique<pinning_endpoint>(fabric.make_endpoint());
              }));
  mapped_buffer here, there;
  EXPECT_TRUE(is_right(job, here.bytes(), there.bytes(), 1));
  here.unmap();
  here.map_again();
  EXPECT_FALSE(is_right(job, here.bytes(), there.bytes(), 2));
  job[0].forget_memory();
  EXPECT_TRUE(is_right(job, here.bytes(), there.bytes(), 3));
}

TEST(comm_registration, a_buffer_used_again_is_not_registered_again_unless_pages_are_pinned) {
  for (const bool pinned : {false, true})
    for (const bool kept : {false, true}) {
      cluster job(2, {.keep_registrations = kept}, {.needs_registration = pinned});
      const std::string text = text_of(50000);
      std::string got(50000, '?');
      const auto exchange = [&] {
        comm::synchronizer sent, received;
        ASSERT_EQ(post_recv(job.device(1), 0, got, with::local(received)), status::posted);
        ASSERT_EQ(
            job.insist([&] { return post_send(job.device(0), {1}, text, with::local(sent)); }),
            status::posted);
        ASSERT_TRUE(job.until([&] { return sent.test() && received.test(); }));
        EXPECT_EQ(got, text);
      };
      const auto made = [&] { return job.device(0).statistics().registrations; };
      for (int i = 0; i < 5; ++i) exchange();
      EXPECT_EQ(made(), pinned && !kept ? 5u : 1u);
      const std::uint64_t before = made();
      job[0].forget_memory();
      exchange();
      EXPECT_EQ(made(), before + 1) << "what was told to be forgotten is registered anew";
    }
}

TEST(comm_registration, what_lets_peers_in_lasts_no_longer_than_the_operation) {
  for (const bool kept : {false, true}) {
    cluster job(2, {.keep_registrations = kept}, {.registration_opens = true});
    const std::string text = text_of(50000);
    std::string got(50000, '?');
    for (std::uint64_t i = 1; i <= 3; ++i) {
      comm::synchronizer sent, received;
      ASSERT_EQ(post_recv(job.device(1), 0, got, with::local(received)), status::posted);
      ASSERT_EQ(job.insist([&] { return post_send(job.device(0), {1}, text, with::local(sent)); }),
                status::posted);
      ASSERT_TRUE(job.until([&] { return sent.test() && received.test(); }));
      EXPECT_EQ(job.device(0).statistics().registrations, i);
    }
  }
}

// By messages the core sees to it, otherwise the transport.
TEST(comm_registration, memory_is_read_and_written_only_where_it_was_registered_for_that) {
  for (const bool native : {true, false}) {
    cluster job(2, {}, {.can_put = native, .can_get = native});
    std::string there(100, 'x'), here(100, 'y');
    const auto ends_well = [&](const auto& post) {
      comm::synchronizer ended;
      const status said = job.insist([&] { return post(ended); });
      if (said != status::posted) return said == status::done;
      EXPECT_TRUE(job.until([&] { return ended.test(); }));
      return ended.events()[0].result == comm::outcome::complete;
    };
    const auto gets = [&](const comm::remote_memory& from) {
      return ends_well([&](auto& ended) {
        return post_get(job.device(0), from, std::span(here), with::local(ended));
      });
    };
    const auto puts = [&](const comm::remote_memory& to) {
      return ends_well([&](auto& ended) {
        return post_put(job.device(0), to, std::span(here), with::local(ended));
      });
    };
    const comm::registered_memory readable(job.device(1), std::as_writable_bytes(std::span(there)),
                                           peer_access::read, 0);
    EXPECT_TRUE(gets(readable.remote()));
    EXPECT_EQ(here, there);
    EXPECT_FALSE(puts(readable.remote()));
    const comm::registered_memory writable(job.device(1), std::as_writable_bytes(std::span(there)),
                                           peer_access::write);
    EXPECT_FALSE(gets(writable.remote()));
    // A process that lies about it.
    comm::remote_memory forged = readable.remote();
    forged.peers = peer_access::read_and_write;
    here.assign(100, 'z');
    if (native) {
      EXPECT_FALSE(puts(forged));
    } else {
      (void)puts(forged);
      EXPECT_TRUE(job.until([&] { return job.device(1).statistics().refused != 0; }));
    }
    EXPECT_EQ(there, std::string(100, 'x'));
  }
}

TEST(comm_registration, the_cache_is_bounded) {
  cluster job(2, {.registrations = 4}, {});
  const std::string text = text_of(100000);
  std::string got(50000, '?');
  for (std::size_t i = 0; i < 40; ++i) {
    comm::synchronizer sent, received;
    ASSERT_EQ(post_recv(job.device(1), 0, got, with::local(received)), status::posted);
    ASSERT_EQ(job.insist([&] {
      return post_send(job.device(0), {1}, std::span(text).subspan(i % 8 * 10, 50000),
                       with::local(sent));
    }),
              status::posted);
    ASSERT_TRUE(job.until([&] { return sent.test() && received.test(); }));
  }
  EXPECT_EQ(job.device(0).statistics().registrations, 40u) << "eight in turn do not fit into four";
}

}  // namespace
}  // namespace weft
