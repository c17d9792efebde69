// A communicator between the ranks of two jobs. Each job has numbers of its own for the ranks and processes of the other, which
// follow those of its own; on the way a message has the number that its receiver knows.
// docs/decisions/jobs-that-meet-know-each-other.md.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rank/communicator_state.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

// Contexts for communicators that reach beyond a job, which none has that lives in this process; returns the first. They are
// random, since no process knows which others have been used.
[[nodiscard]] std::uint32_t draw_joined_contexts(const messaging& of, std::uint32_t count);

// While it lives, the job may wait for another one: that it rests is no deadlock.
class other_job_awaited {
 public:
  explicit other_job_awaited(job& j);

 private:
  std::shared_ptr<const void> counted_;
};

struct joined_groups {
  communicator all;  // The ranks of both, one group behind the other.
  bool is_first;     // Whether the group of this job comes first.
  int own = 0;       // The sizes of the groups.
  int other = 0;
};

// Whether messages of that rank to the rank of this number, with which it shares a communicator, leave the host.
[[nodiscard]] bool is_reached_beyond_host(const rank_state& me, int number);

// Called by all ranks of `c`, whose rank `leader` speaks with the leader of the other group: tell(text) sends the text to that
// one and returns what it sends. What is thrown by it, all ranks throw, with its class. `beyond_host`: the other job may be on
// other hosts; the word of one leader suffices.
[[nodiscard]] joined_groups join_jobs(communicator_state& c, int rank, int leader, bool beyond_host,
                                      const std::function<std::string(std::string)>& tell,
                                      const char* call);

}  // namespace weft::detail
