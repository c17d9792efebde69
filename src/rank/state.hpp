// What a job, a rank and a communicator are made of.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "job/face.hpp"
#include "rank/matching.hpp"
#include "sched/scheduler.hpp"
#include "sync/dropbox.hpp"
#include "weft/comm/operations.hpp"
#include "weft/loop.hpp"
#include "weft/options.hpp"

namespace weft::detail {

struct job;
struct parts;
struct subgroup_meetings;  // meetings.hpp
class remote_messaging;

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
class job_checks;     // checks.hpp
class request_watch;  // checks.hpp

struct rank_counts {
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t collectives = 0;
  std::uint64_t unexpected = 0;
  std::uint64_t chunks = 0;
  std::uint64_t chunks_stolen = 0;  // Of its loops, by others.
};

// Before a request's kept operation starts, and when it has ended: for the checks of a job.
[[gnu::noinline]] void watch_start(const operation& op);
[[gnu::noinline]] void watch_end(const operation& op) noexcept;

// In place of a worker: the rank is in another process.
inline constexpr int remote_worker = -1;

struct rank_state {
  // What every message or collective touches stands in the first cache line, what requests and calls of a face touch
  // besides in the second: of 1,000 ranks the lines do not stay near.
  int number = 0;
  bool ended = false;
  job* of = nullptr;
  worker* home = nullptr;
  rank_counts counts;
  operation* spare = nullptr;                    // Operations to use again, linked by in_list.next.
  unexpected_message* spare_messages = nullptr;  // Likewise, linked by in_order.next.
  // By slot: at a constant place of the rank. Null until the rank first calls the face.
  std::array<std::unique_ptr<face_state>, faces_max> faces;
  std::shared_ptr<request_watch> watch;  // Null unless the job is checked.
  match_lists lists;
  linked_list<probe_wait, &probe_wait::in_list> probes;  // Of its threads, while they wait.
  std::uint32_t rts_sent = 0;                            // To ranks of this process.
  fiber main;
  std::shared_ptr<communicator_state> self;
  linked_list<operation, &operation::in_list> detached;  // Buffered sends not yet received.
  std::uint32_t finishes_told = 0;                       // Answers to ask_finished().
  operation* spare_kept = nullptr;                       // As `spare`, kept_operations.
  // The globals of the rank's own copy of its program; empty where ranks have none of their own.
  std::vector<std::span<std::byte>> statics;
  std::vector<unsigned long> cpus;  // As its program has chosen, as a mask; empty: it has not.
  // Set while more unexpected bytes wait here than the limit: senders then keep their data.
  // Read by every sender, written rarely.
  alignas(padding_bytes) std::atomic<bool> congested{false};
};

// What a rank calls on a communicator; must be the same on all.
struct collective_call {
  collective_call() = default;
  collective_call(const char* call, std::int32_t from, bool same, std::uint64_t byte_view,
                  combination combined = {}) noexcept
      : name(call), root(from), same_size(same), combines(combined), bytes(byte_view) {}
  const char* name = "";
  std::int32_t root = no_root;
  bool same_size = true;  // Whether all ranks pass as many bytes.
  combination combines;   // Of a reduction.
  std::uint64_t bytes = 0;
  // Roots and sizes of the small broadcasts so far, whose roots met nobody, as one number. That of a
  // member's call goes on from call to call.
  std::uint64_t history = 0;

  // True: the same in all that is compared here. False: perhaps; see is_same(). One branch: it is asked often.
  [[nodiscard]] bool is_surely(const collective_call& other) const noexcept {
    const auto differences = (bytes ^ other.bytes) | (history ^ other.history) |
                             static_cast<std::uint32_t>(root ^ other.root) |
                             static_cast<std::uint16_t>(combines.code ^ other.combines.code);
    return name == other.name && differences == 0;
  }
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

struct worker_group;

// One rank's side of a communicator: written by its worker, read by others after they have met.
// That of a rank of another process is written by the leader: it shows what has come from there.
struct alignas(padding_bytes) member {
  // What others read stands in a cache line of its own, what the rank touches in every collective in the next two.
  rank_state* rank = nullptr;  // Null: of another process.
  worker_group* group = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
  const void* more = nullptr;    // What else a collective shows the others.
  const parts* takes = nullptr;  // Where what it gets belongs, when others may put it there.
  std::size_t bytes = 0;
  std::ptrdiff_t stride = 0;  // From part to part of those that it shows, in exchange().

  alignas(cache_line) collective_call call;
  std::uint64_t gathering = 0;  // Of its group, the last to which it came, counted from 1.
  std::uint64_t tickets = 0;    // Collectives called, those that were refused too.
  std::uint64_t turn = 0;       // Collectives ended: those of one rank take turns.
  // Non-blocking ones that had their turn and were none: others make no such call.
  std::uint64_t refused = 0;

  alignas(cache_line) bool moving = false;  // Past the first meeting of a collective.
  bool has_turn = false;      // A collective's own fiber, which waited for its turn, calls now.
  wait_description waits_in;  // The same as `call`, for reports, while it waits.
  std::uint64_t acting = broadcast_question::none;  // The turn for which `call` is.
  broadcast_question asked;                         // About a turn that has not come.
  std::uint64_t broadcasts = 0;
  // For their turn, by ticket; none before the first that waits.
  std::unique_ptr<std::map<std::uint64_t, completion_counter*>> waiting;

  [[nodiscard]] std::uint64_t next_ticket() const noexcept { return turn + refused; }
  [[nodiscard]] std::uint64_t called() const noexcept { return tickets - refused; }
};

// What the last to arrive of one worker tells the other workers, and the root of a small broadcast
// all ranks.
inline constexpr std::size_t small_bytes_max = 960;
struct contribution {
  collective_call call;
  std::int32_t rank = 0;
  alignas(8) std::byte data[small_bytes_max];
};

// Where the ranks of one worker meet: Pure's sequenced dropbox, one for each worker instead of each
// thread.
struct alignas(padding_bytes) worker_group {
  std::vector<int> members;               // In rank order.
  std::size_t missing = 0;                // Of the members, in this gathering.
  const member* first_arrived = nullptr;  // Null: none.
  std::uint64_t gathered = 0;             // How often all have arrived.
  // From the first arrival to the last; used in turn: the next but one gathering begins after all have
  // come to the next, and so have left this one.
  std::array<completion_counter, 2> waits;
  completion_counter* wait = &waits[0];  // Of this gathering.
  std::uint64_t sequence = 0;
  dropbox<contribution> own;     // Up the tree.
  dropbox<contribution> result;  // Down from the first group, when there are many.
};

struct small_broadcasts {
  static constexpr std::size_t slots = 16;
  broadcast_slots<contribution, slots> sent;
};

// What a sender needs to know of a rank, apart from what others write: `member` is written by
// collectives, and the first line of `rank_state` by every receive (reading the number there cost
// a message between workers 30 ns). The rank of another process has no worker here and is
// `job::remote`, which takes no short messages: so those within the process pay nothing for it.
struct peer {
  rank_state* rank = nullptr;
  int worker = remote_worker;
  int number = 0;  // In the world.
};

// Where a rank is at home.
struct rank_place {
  rank_state* rank = nullptr;  // Null: in another process.
  int process = 0;
  int worker = 0;  // Of that process.
};

// The ranks of a communicator that one process holds.
struct subgroup {
  int process = 0;
  std::vector<int>
      members;  // In rank order; the first leads: it speaks for all to other subgroups.
};

// What a collective has brought here from other subgroups: written by the leader, read by all ranks of
// this process after they have met again.
struct staging {
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  // By the rank that shows, and, when each reader gets a part of its own, by the reader's place here.
  std::vector<std::span<const std::byte>> parts;
  // Of a large reduction: this process's own result, the same of other subgroups, and what comes out.
  std::unique_ptr<std::byte[]> partials;
  std::byte* partial = nullptr;
  std::byte* arriving = nullptr;
  std::byte* result = nullptr;
  std::uint32_t context = 0;  // Agreed upon for new communicators.
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

struct communicator_state : std::enable_shared_from_this<communicator_state> {
  // `ranks` are numbers in the world; all that a communicator shares with others carries `number`.
  // From then on other workers find it, hence whole.
  [[nodiscard]] static std::shared_ptr<communicator_state> make(job& j,
                                                                const std::vector<int>& ranks,
                                                                std::uint32_t number);
  communicator_state(job& j, const std::vector<int>& ranks, std::uint32_t number);  // For make().
  ~communicator_state();
  communicator_state(const communicator_state&) = delete;
  communicator_state& operator=(const communicator_state&) = delete;
  job& of;
  const std::shared_ptr<communicator_list> listed_in;
  const std::uint32_t context;
  const int rank_count;
  std::vector<peer> peers;
  std::vector<member> members;
  std::vector<worker_group> groups;
  std::vector<int> workers;         // Of the groups, apart from what they write.
  std::vector<subgroup> subgroups;  // In the order of their first ranks.
  // Where each rank is, for those that outlive the communicator; null when all are here.
  std::shared_ptr<const std::int32_t[]> processes;
  int here = -1;  // This process among them.
  // Of the groups the largest, and the most that one gives where each of its ranks has a part for each
  // rank of the others.
  std::size_t ranks_of_group_max = 0;
  std::size_t parts_of_group_max = 0;
  bool subgroups_in_rank_order = true;
  // The subgroups of each node, in their order, which meet before the first of them speaks to other nodes.
  // Where there is one node only, every subgroup counts as one.
  std::vector<std::vector<int>> nodes;
  std::vector<int> node_of_subgroup;
  // A collective has failed: none works any more. `broken` also says that not all ranks will come to
  // the end of the one that they are in. See broken_communicator.cpp.
  std::atomic<bool> failed{false};
  std::atomic<bool> broken{false};
  std::atomic<bool> cut_off{false};  // Nothing is said to other subgroups any more.
  int conversations = 0;  // Of the leader with other subgroups, under way. Of its worker.
  std::string failure;    // The first; written under the lock of the list before `failed`.
  // Whether small reductions combine the ranks in their order, in all processes.
  bool combines_in_rank_order = true;
  staging staged;
  std::unique_ptr<small_broadcasts> broadcasts;  // Null for one rank alone.
  subgroup_meetings* meetings =
      nullptr;  // Of the leader's worker, from the first meeting of subgroups on.

  [[nodiscard]] int size() const noexcept { return rank_count; }
  [[nodiscard]] bool has(int rank) const noexcept {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(rank_count);
  }
  [[nodiscard]] const peer& to(int rank) const noexcept {
    return peers[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] member& at(int rank) noexcept { return members[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int rank_of(const member& m) const noexcept {
    return static_cast<int>(&m - members.data());
  }
  // Whether it waits in its group, or speaks for it.
  [[nodiscard]] bool has_arrived(const member& m) const noexcept {
    return m.group != nullptr && m.gathering > m.group->gathered;
  }
  [[nodiscard]] bool spans_processes() const noexcept { return subgroups.size() > 1; }
  // The ranks of this process; the first of them leads.
  [[nodiscard]] const std::vector<int>& local() const noexcept {
    return subgroups[static_cast<std::size_t>(here)].members;
  }
  [[nodiscard]] int subgroup_of(int rank) const noexcept {
    int s = 0;
    while (!std::binary_search(subgroups[static_cast<std::size_t>(s)].members.begin(),
                               subgroups[static_cast<std::size_t>(s)].members.end(), rank))
      ++s;
    return s;
  }
  [[nodiscard]] const std::vector<int>& node_at(int node) const noexcept {
    return nodes[static_cast<std::size_t>(node)];
  }
  // Of a rank that another process names; -1: there is no such rank.
  [[nodiscard]] int process_of(int rank) const noexcept {
    if (rank < 0 || rank >= rank_count) return -1;
    return processes != nullptr ? processes[rank] : subgroups[0].process;
  }
  [[nodiscard]] bool has_ranks_in(int process) const noexcept {
    return std::any_of(subgroups.begin(), subgroups.end(),
                       [&](const subgroup& s) { return s.process == process; });
  }
  // The place of a rank of this process among those of local().
  [[nodiscard]] std::size_t local_place(int rank) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(local().begin(), local().end(), rank) -
                                    local().begin());
  }

 private:
  bool group_subgroups_by_node();
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

struct job {
  options how;
  std::unique_ptr<scheduler> workers;
  std::array<std::unique_ptr<face_job>, faces_max> faces;  // By slot; they go after the ranks.
  std::vector<std::unique_ptr<rank_state>> ranks;
  std::vector<rank_state*> by_number;  // Of all; the workers' handlers look ranks up here.
  std::vector<rank_place> places;      // Of all ranks.
  int process = 0;
  int part = 0;                      // Which of the job's programs this process runs.
  std::vector<int> node_of_process;  // Processes of one node share memory.
  rank_state remote;                 // Stands for all ranks of other processes.
  std::unique_ptr<remote_messaging, void (*)(remote_messaging*)> ways{nullptr,
                                                                      nullptr};  // To them.
  std::atomic<std::uint32_t> contexts_taken{0};
  const std::shared_ptr<communicator_list> communicators = std::make_shared<communicator_list>();
  std::shared_ptr<communicator_state> world;
  groups_to_come coming;
  chunk_mode chunks = chunk_mode::guided;
  std::shared_ptr<job_checks> checks;  // Null unless the job is checked.

  // The first of `count` contexts that no communicator of the job has had, each from the one before
  // by context_step(): those of each process are its own, that of the world is 0.
  [[nodiscard]] std::uint32_t take_contexts(std::uint32_t count);
  [[nodiscard]] std::uint32_t context_step() const noexcept {
    return node_of_process.empty() ? 1 : static_cast<std::uint32_t>(node_of_process.size());
  }

  // Why the job ends although no rank may say so: a rank left memory behind that another uses.
  // The failure that caused it, if one reaches the end of its rank, is told instead.
  void abandon(const std::string& why) {
    if (tell_abandoned) return tell_abandoned(why);
    const std::lock_guard hold(abandoned_lock);
    if (abandoned.empty()) abandoned = why;
  }
  // Of a job of several processes: it stops everywhere before this process has ended.
  std::function<void(const std::string&)> tell_abandoned;
  // The job fails of what one of its ranks' threads has met, as it does of what a rank has. Any thread, while workers run.
  std::function<void(const std::string&)> tell_failure;
  // Set while the workers run.
  std::function<void()> stop_by_timeout;
  std::mutex abandoned_lock;
  std::string abandoned;
};

// The calling rank; throws weft::error outside of ranks and inside chunks, naming `call`.
[[noreturn, gnu::cold]] void throw_not_a_rank(const char* call);
[[nodiscard]] inline rank_state& calling_rank(const char* call) {
  void* const caller = worker::caller();
  if (caller == nullptr) [[unlikely]]
    throw_not_a_rank(call);
  return *static_cast<rank_state*>(caller);
}

enum mail_kind : std::uint8_t {
  mail_eager = 1,        // A short message,
  mail_eager_whole = 2,  // with its context before the data.
  mail_rts = 3,
  mail_finished = 4,
  mail_broken = 5,     // A communicator.
  mail_question = 6,   // Of a broadcast.
  mail_withdraw = 7,   // A rendezvous request that its sender wants back,
  mail_withdrawn = 8,  // and has got back.
  mail_finished_asked = 9,
  mail_finished_told = 10,
};
inline constexpr std::uint8_t mail_kinds_of_ranks = 11;  // Those of faces follow: face.hpp.
void set_mail_handlers(scheduler& workers);
[[nodiscard]] inline rank_state& rank_of(worker& here, std::uint32_t number) noexcept {
  return *static_cast<rank_state* const*>(here.owner().user_data())[number];
}

// --- Collectives that fail (broken_communicator.cpp) ---------------------------------------------
// From now on every collective of `c` throws `why`, once those under way have ended.
void note_failure(communicator_state& c, const std::string& why);
// The same, and those under way end at once: their other ranks need not come.
void break_communicator(worker& here, communicator_state& c, const std::string& why);
// Another subgroup says so; called where the leader is at home.
void on_subgroups_broken(worker& here, rank_state& to, std::uint32_t context,
                         const comm::address& sender, const std::string& why);
// What other subgroups have said of a communicator before it was made here; with the lock of its list.
void take_early_news(communicator_state& c);
// Whether a message between subgroups is of a communicator that is broken here.
[[nodiscard]] bool is_of_broken(rank_state& to, const envelope& from);
// `call` is null for a rank that was in a collective when it failed.
[[noreturn, gnu::cold]] void throw_failed(communicator_state& c, const char* call = nullptr);
void on_broken(worker& here, record_header header, const std::byte* payload);
// The communicator of this context that holds `member`; null when there is none (any more). Listed:
// the lock of the list is held.
[[nodiscard]] std::shared_ptr<communicator_state> find_listed(const rank_state& member,
                                                              std::uint32_t context);
[[nodiscard]] std::shared_ptr<communicator_state> find_communicator(const rank_state& member,
                                                                    std::uint32_t context);

// --- Questions about broadcasts (collectives.cpp) ------------------------------------------------
// Called where `rank`, which is asked, is at home.
void answer(worker& here, communicator_state& c, int rank, const broadcast_question& asked);
[[nodiscard]] collective_call call_of(const broadcast_question& asked) noexcept;
void on_question(worker& here, record_header header, const std::byte* payload);
// Broadcasts of other subgroups that no rank here has taken part in: empty when there are none, else what
// to say. Called while nothing runs.
[[nodiscard]] std::string unmet_broadcast(job& j);

// The number in the world of a rank of the communicator with this context that holds `member`; -1:
// there is none.
[[nodiscard]] int world_number(const rank_state& member, std::uint32_t context, int rank);

// The state of all ranks, for a person: what each waits for, and the cycle where there is one.
// Called while no worker runs, or by each worker for its own ranks (`only`).
[[nodiscard]] std::string describe_wait(const rank_state& r, const wait_description& what);
// What this process knows for a report of a deadlock, as one string that the others can be sent;
// and the report that is made of those of all processes.
[[nodiscard]] std::string describe_waits(job& j);
[[nodiscard]] std::string deadlock_report(const std::vector<std::string>& of_processes);
void append_worker_report(job& j, worker& only, std::map<int, std::string>& lines);

}  // namespace weft::detail
