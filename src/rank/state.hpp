// The messages' part of a rank, which lies behind the job's, and what the ranks of a process share of messages. For
// communicators see communicator_state.hpp.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "job/state.hpp"
#include "rank/matching.hpp"
#include "sync/made_late.hpp"

namespace weft::detail {

struct communicator_state;
struct messaging;
class remote_messaging;
class remote_subgroups;  // collective/remote_subgroups.hpp
class agreements;        // collective/agreements.hpp
class request_watch;     // request_watch.hpp

// Bits in a context id that mark weft's own messages within the communicator, so that no receive of the program matches
// them. What the leaders of subgroups send each other in collectives:
inline constexpr std::uint32_t hidden_context = std::uint32_t{1} << 31;
// What ranks send each other in calls that only some ranks of the communicator make:
inline constexpr std::uint32_t group_context = std::uint32_t{1} << 30;
// What ranks send each other in neighbourhood collectives of faces:
inline constexpr std::uint32_t neighbor_context = std::uint32_t{1} << 29;
// The communicator's context id, without these bits.
[[nodiscard]] constexpr std::uint32_t base_context(std::uint32_t context) noexcept {
  return context & ~(hidden_context | group_context | neighbor_context);
}

// What --stats shows of a rank's messages.
struct rank_counts {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t collectives = 0;
  std::uint64_t unexpected = 0;
};

// For the checks of a job: called before a request's kept operation starts, and when it has ended.
[[gnu::noinline]] void watch_start(const operation& op);
[[gnu::noinline]] void watch_end(const operation& op) noexcept;

// peer::worker of a rank in another process.
inline constexpr int remote_worker = -1;

// A rank as messages see it. The job makes it by the base face (job/face.hpp), so every job_rank of a job with messages
// is one, at the same address. Only its home worker touches it, but for `congested`.
struct rank_state : job_rank {
  // Every message and collective touches the first cache line of this part, requests also the second.
  alignas(cache_line) rank_counts counts;
  operation* spare = nullptr;                    // Operations to use again, linked by in_list.next.
  unexpected_message* spare_messages = nullptr;  // Messages to use again, linked by in_order.next.
  messaging* shared = nullptr;                   // What the ranks of this process share.
  std::shared_ptr<request_watch> watch;          // Null unless the job is checked.
  match_lists lists;
  linked_list<probe_wait, &probe_wait::in_list>
      probes;                  // The probes that wait, of all its threads.
  std::uint32_t rts_sent = 0;  // Rendezvous requests within the process.
  shared_handle<communicator_state> self;
  linked_list<operation, &operation::in_list> detached;  // Buffered sends not yet received.
  std::uint32_t finishes_told = 0;                       // Answers to ask_finished().
  operation* spare_kept = nullptr;                       // As `spare`, for kept_operations.
  // Set while more unexpected bytes wait here than the limit: senders then send rendezvous requests only. Every sender
  // reads it; the home worker writes it, rarely.
  alignas(padding_bytes) std::atomic<bool> congested{false};
};

// What a sender needs to know of a rank, in memory that nobody writes: collectives write `member`, and every receive
// writes the first line of `rank_state` (reading the number there cost a message between workers 30 ns). For a rank of
// another process `rank` is messaging::remote, which is always congested: so the fast path within the process needs no
// branch for it.
struct peer {
  rank_state* rank = nullptr;
  int worker = remote_worker;
  int number = 0;  // In the world.
};

// The question of a rank that has waited for long in a small broadcast: is its root in the same call?
struct broadcast_question {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t turn = none;  // Collectives of this communicator that the asking rank has ended.
  std::uint64_t bytes = 0;
  std::int32_t root = no_root;
  std::int32_t rank = -1;
  char name[24] = {};
};

// The communicators of a job by their context, for reports and for messages from other processes. Two may have the same
// context if no rank is in both. A program may keep a handle for longer than its job, hence shared.
struct communicator_list {
  std::mutex lock;
  std::multimap<std::uint32_t, communicator_state*> by_context;
  // Broken communicators that span processes, by context and the leader's number in the world, with the failure. What
  // other subgroups still send them is refused. `any_broken` is false while the map is empty: then nobody locks.
  std::map<std::pair<std::uint32_t, int>, std::string> broken;
  std::atomic<bool> any_broken{false};
  std::atomic<bool> any_revoked{false};  // Whether any communicator has been revoked.
  // Another process may ask about a broadcast, or say that a communicator is broken, before this process has made the
  // communicator: questions and failures wait here.
  struct early_question {
    std::uint32_t context;
    int number;  // The number in the world of the rank that is asked; `rank` is the one in the communicator.
    int rank;
    comm::address sender;
    broadcast_question asked;
  };
  std::vector<early_question> questions;
  struct early_failure {
    std::uint32_t context;
    int number;  // The number in the world of the leader that is told.
    comm::address sender;
    std::string why;
  };
  std::vector<early_failure> failures;
  // What unequal_calls() says of the first destroyed communicator whose ranks had called unequal collectives.
  std::string unequal;
  // Meetings of subgroups that are over, by worker and name.
  std::vector<std::pair<int, std::uint64_t>> ended_meetings;
  std::vector<std::uint64_t> ended_agreements;  // Likewise, of agreements.
};

// Communicators for which not all ranks of this process have come yet. The ranks come one by one, without meeting.
struct groups_to_come {
  struct entry {
    shared_handle<communicator_state> state;
    int left = 0;  // The number of ranks of this process that have not come yet.
  };
  std::mutex lock;
  std::map<std::uint32_t, entry> by_context;
};

// What the ranks of this process share of messages: the base face's part of a job. Collectives derive from it
// (collective/as_face.cpp).
struct messaging : face_job {
  explicit messaging(job& j) noexcept;
  bool end_operations_with_dead(worker& here) override;
  [[nodiscard]] bool is_joined_with(int process) override;
  void rank_ended(job_rank& r) override;
  [[nodiscard]] bool describe(const job_rank& of, const wait_description& what,
                              diagnosis::wait_record& into) override;
  [[nodiscard]] diagnosis::group_record describe_group(const void* group) override;
  [[nodiscard]] std::uint64_t done_by(const job_rank& r) const override;
  void look_when_quiescent(diagnosis::job_checks& checks) override;
  void free_rest() noexcept override;
  void job_has_failed() noexcept override;

  job& in_job;
  rank_state remote;  // In place of each rank of another process: see peer. `ways` lead to these.
  made_late<remote_messaging> ways;
  // What their processes say to each other in collectives.
  made_late<remote_subgroups> subgroups;
  // What ranks agree on although some die.
  std::unique_ptr<agreements, void (*)(agreements*)> agreed{nullptr, nullptr};
  std::atomic<std::uint32_t> contexts_taken{0};
  const std::shared_ptr<communicator_list> communicators = std::make_shared<communicator_list>();
  shared_handle<communicator_state> world;
  groups_to_come coming;

  // Takes `count` contexts that no communicator of the job has had, context_step() apart; returns the first. Each
  // process has contexts of its own. The world's is 0.
  [[nodiscard]] std::uint32_t take_contexts(std::uint32_t count);
  [[nodiscard]] std::uint32_t context_step() const noexcept {
    const auto processes = in_job.node_of_process.size();
    return processes == 0 ? 1 : static_cast<std::uint32_t>(processes);
  }
};
// The messaging of a job whose ranks have messages.
[[nodiscard]] inline messaging& messaging_of(const job& j) noexcept {
  return static_cast<messaging&>(*j.base);
}

// The calling rank; throws weft::error outside of ranks and inside chunks, naming `call`.
[[nodiscard]] inline rank_state& calling_rank(const char* call) {
  return static_cast<rank_state&>(calling_job_rank(call));
}
[[nodiscard]] inline rank_state& rank_of(worker& here, std::uint32_t number) noexcept {
  return static_cast<rank_state&>(job_rank_of(here, number));
}

enum mail_kind : std::uint8_t {
  mail_eager = first_mail,  // A short message: mailed_message.
  mail_eager_whole,         // The same with its context before the data.
  mail_rts,
  mail_finished,
  mail_broken,     // A communicator has failed.
  mail_question,   // broadcast_question.
  mail_withdraw,   // The sender of a rendezvous request wants it back.
  mail_withdrawn,  // It has it back.
  mail_finished_asked,
  mail_finished_told,
};
inline constexpr std::size_t mail_kinds_of_ranks = mail_finished_told - first_mail + 1;
// The handlers of these kinds, in their order; the collectives pass theirs.
[[nodiscard]] std::array<scheduler::mail_handler, mail_kinds_of_ranks> mail_of_ranks(
    scheduler::mail_handler broken, scheduler::mail_handler question) noexcept;
extern const std::array<rank_column, 6> columns_of_ranks;
[[nodiscard]] bool is_for_other_rank(worker& w, record_header header);
[[nodiscard]] rank_pointer make_rank_state();

// --- Communicators by their context (communicators.cpp) -------------------------------------------
// A handle of a communicator that is listed; none when its last owner is about to end it. The caller holds
// communicator_list::lock.
[[nodiscard]] shared_handle<communicator_state> owned_too(communicator_state& listed) noexcept;
// The communicator of this context that `member` is in; null when it does not exist, or no longer. The caller of
// find_listed() holds communicator_list::lock.
[[nodiscard]] shared_handle<communicator_state> find_listed(const rank_state& member,
                                                            std::uint32_t context);
[[nodiscard]] shared_handle<communicator_state> find_communicator(const rank_state& member,
                                                                  std::uint32_t context);
// The number in the world of rank `rank` of that communicator; -1: there is none.
[[nodiscard]] int world_number(const rank_state& member, std::uint32_t context, int rank);
// Whether a message between subgroups belongs to a communicator that is broken here.
[[nodiscard]] bool is_of_broken(rank_state& to, const envelope& from);
// Whether a communicator of this context with the rank in it is revoked.
[[nodiscard]] bool is_of_revoked(const rank_state& member, std::uint32_t context);

}  // namespace weft::detail
