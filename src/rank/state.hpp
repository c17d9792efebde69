// What a rank has of messages, behind the job's part of it, and what the ranks of a process share. The communicators are
// in communicator_state.hpp.
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
#include "weft/comm/operations.hpp"

namespace weft::detail {

struct communicator_state;
struct messaging;
class remote_messaging;
class remote_subgroups;  // collective/remote_subgroups.hpp
class request_watch;     // request_watch.hpp

// Of contexts: what the ranks that speak for their processes say to each other in collectives.
inline constexpr std::uint32_t hidden_context = std::uint32_t{1} << 31;
// Likewise: what ranks say to each other in calls that only some of a communicator's make.
inline constexpr std::uint32_t group_context = std::uint32_t{1} << 30;
// Likewise: neighbourhood collectives of faces.
inline constexpr std::uint32_t neighbor_context = std::uint32_t{1} << 29;
// Of the communicator, whatever is said in it.
[[nodiscard]] constexpr std::uint32_t base_context(std::uint32_t context) noexcept {
  return context & ~(hidden_context | group_context | neighbor_context);
}

// What --stats tells of a rank's messages.
struct rank_counts {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t collectives = 0;
  std::uint64_t unexpected = 0;
};

// Before a request's kept operation starts, and when it has ended: for the checks of a job.
[[gnu::noinline]] void watch_start(const operation& op);
[[gnu::noinline]] void watch_end(const operation& op) noexcept;

// In place of a worker: the rank is in another process.
inline constexpr int remote_worker = -1;

// A rank as messages see it. The job makes it by the base face (job/face.hpp), so every job_rank of a job with messages
// is one. Fibers and threads have its address as their identity.
struct rank_state : job_rank {
  // What every message or collective touches stands in the first cache line of this part, what requests touch besides
  // in the second.
  alignas(cache_line) rank_counts counts;
  operation* spare = nullptr;                    // Operations to use again, linked by in_list.next.
  unexpected_message* spare_messages = nullptr;  // Likewise, linked by in_order.next.
  messaging* shared = nullptr;                   // By the ranks of this process.
  std::shared_ptr<request_watch> watch;          // Null unless the job is checked.
  match_lists lists;
  linked_list<probe_wait, &probe_wait::in_list> probes;  // Of its threads, while they wait.
  std::uint32_t rts_sent = 0;                            // To ranks of this process.
  std::shared_ptr<communicator_state> self;
  linked_list<operation, &operation::in_list> detached;  // Buffered sends not yet received.
  std::uint32_t finishes_told = 0;                       // Answers to ask_finished().
  operation* spare_kept = nullptr;                       // As `spare`, kept_operations.
  // Set while more unexpected bytes wait here than the limit: senders then keep their data.
  // Read by every sender, written rarely.
  alignas(padding_bytes) std::atomic<bool> congested{false};
};

// What a sender needs to know of a rank, apart from what others write: `member` is written by
// collectives, and the first line of `rank_state` by every receive (reading the number there cost
// a message between workers 30 ns). The rank of another process has no worker here and is
// `messaging::remote`, which takes no short messages: so those within the process pay nothing for it.
struct peer {
  rank_state* rank = nullptr;
  int worker = remote_worker;
  int number = 0;  // In the world.
};

// A rank that has waited for long in a small broadcast asks whether its root is in the same call.
struct broadcast_question {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t turn = none;  // Collectives of this communicator that the asking rank has ended.
  std::uint64_t bytes = 0;
  std::int32_t root = no_root;
  std::int32_t rank = -1;
  char name[24] = {};
};

// The communicators of a job by their context, for reports: no two that hold the same rank have the
// same. A program may keep a handle for longer than its job, hence shared.
struct communicator_list {
  std::mutex lock;
  std::multimap<std::uint32_t, communicator_state*> by_context;
  // Contexts of broken communicators that span processes, and who leads the subgroup here, with the
  // failure: what other subgroups still send there is refused. The flag tells those who need not look.
  std::map<std::pair<std::uint32_t, int>, std::string> broken;
  std::atomic<bool> any_broken{false};
  // A new communicator may be broken, or asked about a broadcast, before this process has made it.
  struct early_question {
    std::uint32_t context;
    int number;  // In the world, of the rank that is asked, `rank` in the communicator.
    int rank;
    comm::address sender;
    broadcast_question asked;
  };
  std::vector<early_question> questions;
  struct early_failure {
    std::uint32_t context;
    int number;  // Of the leader that is told.
    comm::address sender;
    std::string why;
  };
  std::vector<early_failure> failures;
  // What unequal_calls() says of the first communicator that went away with such ranks.
  std::string unequal;
  // Where subgroups met, by worker and name: nobody meets there any more.
  std::vector<std::pair<int, std::uint64_t>> ended_meetings;
};

// Communicators that only some ranks of this process have yet: they come one by one, without meeting.
struct groups_to_come {
  struct entry {
    std::shared_ptr<communicator_state> state;
    int left = 0;  // Ranks of this process that have not come for it.
  };
  std::mutex lock;
  std::map<std::uint32_t, entry> by_context;
};

// What the ranks of this process share of messages: the base face's part of a job. What only its collectives know they
// add (collective/as_face.cpp).
struct messaging : face_job {
  explicit messaging(job& j) noexcept;
  bool end_operations_with_dead(worker& here) override;
  void rank_ended(job_rank& r) override;
  [[nodiscard]] bool describe(const job_rank& of, const wait_description& what,
                              wait_record& into) override;
  [[nodiscard]] group_record describe_group(const void* group) override;
  [[nodiscard]] std::uint64_t done_by(const job_rank& r) const override;
  void look_at_rest(job_checks& checks) override;
  void free_rest() noexcept override;

  job& in_job;
  rank_state remote;  // Stands for all ranks of other processes.
  std::unique_ptr<remote_messaging, void (*)(remote_messaging*)> ways{nullptr,
                                                                      nullptr};  // To them.
  // What their processes say to each other in collectives.
  std::unique_ptr<remote_subgroups, void (*)(remote_subgroups*)> subgroups{nullptr, nullptr};
  std::atomic<std::uint32_t> contexts_taken{0};
  const std::shared_ptr<communicator_list> communicators = std::make_shared<communicator_list>();
  std::shared_ptr<communicator_state> world;
  groups_to_come coming;

  // The first of `count` contexts that no communicator of the job has had, each from the one before
  // by context_step(): those of each process are its own, that of the world is 0.
  [[nodiscard]] std::uint32_t take_contexts(std::uint32_t count);
  [[nodiscard]] std::uint32_t context_step() const noexcept {
    const auto processes = in_job.node_of_process.size();
    return processes == 0 ? 1 : static_cast<std::uint32_t>(processes);
  }
};
// Of a job whose ranks have messages.
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
  mail_eager = first_mail,  // A short message,
  mail_eager_whole,         // with its context before the data.
  mail_rts,
  mail_finished,
  mail_broken,     // A communicator.
  mail_question,   // Of a broadcast.
  mail_withdraw,   // A rendezvous request that its sender wants back,
  mail_withdrawn,  // and has got back.
  mail_finished_asked,
  mail_finished_told,
};
inline constexpr std::size_t mail_kinds_of_ranks = mail_finished_told - first_mail + 1;
// The handlers of these kinds, in their order; those of collectives are given.
[[nodiscard]] std::array<scheduler::mail_handler, mail_kinds_of_ranks> mail_of_ranks(
    scheduler::mail_handler broken, scheduler::mail_handler question) noexcept;
extern const std::array<rank_column, 6> columns_of_ranks;
[[nodiscard]] bool is_for_other_rank(worker& w, record_header header);
[[nodiscard]] rank_pointer make_rank_state();

// --- Communicators by their context (communicators.cpp) -------------------------------------------
// The communicator of this context that holds `member`; null when there is none (any more). Listed:
// the lock of the list is held.
[[nodiscard]] std::shared_ptr<communicator_state> find_listed(const rank_state& member,
                                                              std::uint32_t context);
[[nodiscard]] std::shared_ptr<communicator_state> find_communicator(const rank_state& member,
                                                                    std::uint32_t context);
// The number in the world of a rank of the communicator with this context that holds `member`; -1:
// there is none.
[[nodiscard]] int world_number(const rank_state& member, std::uint32_t context, int rank);
// Whether a message between subgroups is of a communicator that is broken here.
[[nodiscard]] bool is_of_broken(rank_state& to, const envelope& from);

}  // namespace weft::detail
