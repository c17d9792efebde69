// What the processes of a communicator say to each other in a collective: one rank of each, the
// leader of the site, speaks for all. Its messages are those of ranks, in a context of their own.
//
// Called on the home worker of the leader; whichever fiber of it comes last to a meeting speaks.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rank/state.hpp"
#include "rank/talk.hpp"
#include "weft/reduction.hpp"

namespace weft::detail {

// Tags of the hidden context.
inline constexpr int tag_of_parts = 1;
inline constexpr int tag_of_lengths = 2;
inline constexpr int tag_of_broadcast = 1 << 30;  // And the number of the broadcast, modulo that.

// The sites of a site's node, and its place among them.
[[nodiscard]] inline const std::vector<int>& mates_of(const communicator_state& c,
                                                      int site) noexcept {
  return c.node_at(c.node_of_site[static_cast<std::size_t>(site)]);
}
[[nodiscard]] inline std::size_t place_on_node(const communicator_state& c, int site) noexcept {
  const std::vector<int>& mates = mates_of(c, site);
  return static_cast<std::size_t>(std::lower_bound(mates.begin(), mates.end(), site) -
                                  mates.begin());
}

// Some sends and receives between leaders, under way together.
class site_talk {
 public:
  // `speaker`: on whose worker this runs: a leader, or the root of a broadcast.
  site_talk(communicator_state& c, rank_state& speaker, const wait_description& what) noexcept;
  ~site_talk() {
    if (leads_) --c_.talks;
  }
  site_talk(const site_talk&) = delete;
  site_talk& operator=(const site_talk&) = delete;

  // The data stay where they are until wait().
  void send(int site, int tag, std::span<const std::byte> data);
  void receive(int site, int tag, std::span<std::byte> into);
  // Until all that was begun is complete.
  void wait() {
    begin_wait();
    end_wait();
  }
  // The same; `look` is called now and then.
  template <class Look>
  void wait(const Look& look) {
    begin_wait();
    talk_.watch(look);
    end_wait();
  }

 private:
  void begin_wait();
  void end_wait();
  // Something failed. Throws what has broken the communicator, or that a site is dead; returns when
  // neither comes to be known.
  void hear_why();

  communicator_state& c_;
  const wait_description& what_;
  talk talk_;
  const bool leads_;  // Its speaker is at home where the leader is.
};

// Returns when all sites have come here with this call, which `rank` says for its own.
void meet_sites(communicator_state& c, const collective_call& call, int rank,
                const wait_description& what);
// The same; `data`, at most small_bytes_max octets, become the reduction of those of all sites, in
// their order; they are aligned as what the operation combines may want.
void reduce_over_sites(communicator_state& c, const collective_call& call, int rank,
                       const wait_description& what, const reduction& how, std::byte* data);

// The data of a small broadcast from the site of its root to all others. send_broadcast: called by
// the root. receive_broadcast: called by the leaders of other sites; hands it on.
void send_broadcast(communicator_state& c, rank_state& root, const collective_call& call, int rank,
                    std::uint64_t number, std::span<const std::byte> data);
// `ask` is called now and then while it waits.
void receive_broadcast(communicator_state& c, const collective_call& call, int rank,
                       std::uint64_t number, const wait_description& what,
                       std::span<std::byte> data, const std::function<void()>& ask);

// Called on any worker of a broken communicator: where its leader is at home, what this site waits
// for from others ends, and what they offered is refused.
void end_talks(worker& here, communicator_state& c);

// A message that nobody will receive; whoever offered it is told that it failed.
void refuse(worker& here, rank_state& at, unexpected_message* m);

// Throws weft::error when a process of the communicator is dead.
void check_sites_alive(const communicator_state& c, const char* call);

}  // namespace weft::detail
