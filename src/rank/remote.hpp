// Messages between ranks of different processes. A short message is an active message to the device of the receiver's
// home worker, which matches it as mail from its own process. For a long message the sender sends a rendezvous request,
// which says where the data lie; the receiver reads them, once, into the buffer of its receive, and tells the sender.
// docs/protocols/processes.md has the states.
//
// Everything is called on the home worker of this process's rank.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rank/source_validation.hpp"
#include "rank/state.hpp"
#include "remote/handlers.hpp"
#include "remote/port.hpp"
#include "remote/reply_table.hpp"
#include "weft/error.hpp"

namespace weft::detail {

// The payload of a rendezvous request between processes.
struct rts_on_wire {
  std::uint64_t bytes = 0;
  std::uint64_t send = 0;  // The sender's name for it.
  comm::remote_memory memory;
};
class remote_messaging;
// A rendezvous request from another process, while it waits for its receive.
struct remote_rendezvous {
  remote_messaging* ways = nullptr;
  comm::address from;
  rts_on_wire what;
};

// A send whose data stay in place until the receiver has read them.
struct offered_send {
  operation* op;
  comm::registered_memory memory;
  std::unique_ptr<std::byte[]> copy;  // The data in a row, for an operation with a layout.
};

// What a send to a dead process throws.
class dead_partner : public error {
 public:
  using error::error;
};
// Contexts of communicators that reach beyond a job have this bit: no job gives them to its own.
inline constexpr std::uint32_t joined_context = std::uint32_t{1} << 28;
// How many ranks of other jobs may get numbers in a job.
inline constexpr std::size_t ranks_of_other_jobs_max = std::size_t{1} << 14;
// Where the rank of this number is at home, of whatever job.
[[nodiscard]] rank_place place_of(const messaging& of, int number) noexcept;
[[nodiscard]] bool is_of_other_job(const messaging& of, int number) noexcept;
// Whether some of its ranks are of another job.
[[nodiscard]] bool reaches_other_jobs(const communicator_state& c) noexcept;

// Marks an operation as failed; with a worker, completes it too.
void fail(operation& op) noexcept;
void fail(worker& here, operation& op) noexcept;

// The ways of this process's ranks to ranks of other processes.
class remote_messaging {
 public:
  remote_messaging(messaging& shared, remote::handlers handlers);

  // Sends a short message; false: a rendezvous request has to be sent. Called by send_remote() alone.
  [[gnu::always_inline]] inline bool send_now(rank_state& me, const peer& to, const envelope& from,
                                              std::span<const std::byte> data, send_mode mode);
  bool send_now(rank_state& me, const peer& to, const envelope& from, const segments& data,
                send_mode mode);
  void send_rts(worker& here, const peer& to, const envelope& from, operation& op);
  // Starts to read the data into the receive's buffer; deletes `rts`.
  void receive(worker& here, operation& op, const envelope& from, remote_rendezvous* rts);
  // Tells the sender that its data are no longer needed, or that the receive failed; deletes `rts`.
  void finish(worker& here, remote_rendezvous* rts, bool failed = false);
  // As ask_back() of messages.hpp.
  void ask_back(worker& here, const peer& to, const operation& op) noexcept;
  // As ask_finished() of messages.hpp, for the rank number `asks`.
  void ask_finished(worker& here, const peer& to, std::uint32_t asks) noexcept;
  // The sender's data go away: a receiver that reads them later fails.
  void forget(worker& here, const operation& op) noexcept;
  // Called when fewer unexpected bytes wait at `r` than the limit: tells the senders that were told of the congestion.
  void tell_relaxed(rank_state& r);
  // Called by a rank that cannot go on without a dead process. Returns only in a job that goes on after failures;
  // else it waits for the job's stop.
  void wait_for_the_end(worker& here) const;
  // Whether the process of rank `rank` of the communicator is dead, as far as the worker of `r` knows.
  [[nodiscard]] bool is_dead(const rank_state& r, std::uint32_t context, int rank) const;
  // Whether the sender is dead and the job goes on.
  [[nodiscard]] bool is_lost(const rank_state& r, const envelope& wanted) const;
  // Whether the job goes on without dead processes.
  [[nodiscard]] bool survives() const noexcept;
  // In a job that goes on after failures: ends the operations and probes of this worker's ranks that wait for dead
  // processes. True when there were any.
  bool end_operations_with_dead(worker& here);
  // Asks the data of long sends on a communicator back, whose receivers have not matched them.
  void ask_back_sends(worker& here, communicator_state& c);

  [[nodiscard]] network& between() const noexcept { return between_; }
  [[nodiscard]] messaging& shared() const noexcept { return shared_; }

  // Where a rank is at home, and its number there: the same in its own job, another one in a job that was joined.
  struct way {
    std::int32_t process = 0;
    std::int32_t worker = 0;
    std::int32_t number = 0;
  };
  // Of a number in the world, or of one that add_ranks() has given.
  [[nodiscard]] const way& way_to(int rank) const noexcept {
    return ways_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] comm::address address_of(int rank) const noexcept {
    const way& there = way_to(rank);
    return {there.process, there.worker};
  }
  // Ranks of another job get numbers here, behind those of the world; returns the first. `number_of_process` says by which
  // number each of its processes, from `first_process` on, calls itself.
  [[nodiscard]] int add_ranks(std::span<const way> ranks, int first_process,
                              std::span<const int> number_of_process);
  [[nodiscard]] bool is_of_other_job(int process) const noexcept {
    return process >= between_.process_count();
  }
  // "process 3 on host a", for people.
  [[nodiscard]] std::string name_of_process(int process) const;
  [[nodiscard]] std::size_t eager_bytes_max() const noexcept { return eager_bytes_max_; }
  // Whether that rank copies a long message of this worker itself, out of this process's memory.
  [[nodiscard]] bool reads_in_place(const worker& here, int rank) const noexcept;
  // Sends an active message to the rank's home: `word` is its head[1], `data` the payload. Nothing happens when the
  // process is dead.
  void post_to(worker& here, int rank, std::uint32_t context, comm::handler_id handler,
               std::span<const std::byte> data, std::uint64_t word = 0) noexcept;
  [[noreturn, gnu::cold]] void throw_dead(const rank_state& me, const peer& to) const;

  messaging& shared_;

 private:
  struct reading;
  struct failed_read;

  // Inlined into what checks the message.
  [[gnu::always_inline]] inline void on_eager(worker& here, rank_state& to,
                                              const comm::event& happened);
  void on_rts(worker& here, rank_state& to, const comm::event& happened);
  void on_finished(worker& here, const comm::event& happened);
  void on_withdraw(worker& here, rank_state& to, const comm::event& happened);
  void on_finished_asked(worker& here, const comm::event& happened);
  void on_finished_told(worker& here, rank_state& asked, const comm::event& happened);
  void on_congestion(worker& here, const comm::event& happened);
  static bool try_read(worker& here, void* record);
  static bool try_fail(worker& here, void* record);
  static void on_read(void* record, const comm::event& happened) noexcept;

  [[nodiscard]] bool goes_eager(const peer& to, std::size_t bytes, send_mode mode) const noexcept;
  [[nodiscard, gnu::always_inline]] inline origin origin_of(worker& here, const rank_state& to,
                                                            const envelope& from,
                                                            const comm::event& happened);
  [[nodiscard, gnu::noinline]] static origin find_origin(known_sources& known, worker& here,
                                                         const rank_state& to, const envelope& from,
                                                         const comm::event& happened);
  // The number here of the rank of `process` that calls itself `own`; nothing when it has none of that number.
  [[nodiscard]] std::optional<std::size_t> number_of(int process, std::uint64_t own) const;
  // The number by which a process calls itself.
  [[nodiscard]] int own_number_of(int process) const;
  [[nodiscard]] comm::am message(const peer& to, const envelope& from, comm::handler_id handler,
                                 comm::const_buffers data) const noexcept;
  [[nodiscard]] remote::reply_table<offered_send>& sends_of(const worker& here) noexcept {
    return sends_[static_cast<std::size_t>(here.index())];
  }
  // The name of the send, by which the receiver's process knows it; 0: its data do not wait.
  [[nodiscard]] std::uint64_t name_of(const worker& here, const operation& op) noexcept {
    return sends_of(here).find_if([&](const offered_send& s) { return s.op == &op; });
  }
  void post_small(worker& here, comm::address to, comm::handler_id handler, std::uint64_t first,
                  std::uint32_t user = 0) noexcept;
  void end_read(worker& here, const reading& r, bool failed);
  void tell_congested(rank_state& r, const comm::event& happened);
  job& job_;
  network& between_;
  std::size_t eager_bytes_max_ = 0;
  comm::handler_id eager_;
  comm::handler_id rts_;
  comm::handler_id finished_;
  comm::handler_id congestion_;
  comm::handler_id withdraw_;
  comm::handler_id finished_asked_;
  comm::handler_id finished_told_;
  std::vector<remote::reply_table<offered_send>> sends_;  // By worker.
  std::vector<known_sources> known_sources_;              // By worker.
  std::unique_ptr<std::atomic<bool>[]> congested_;        // By rank, for ranks of other processes.
  // By rank. Its memory never moves, so that workers read it while it grows.
  std::unique_ptr<way[]> ways_;
  mutable std::mutex adding_;
  std::size_t known_ranks_;             // Below it ways_ is filled.
  std::vector<int> number_of_process_;  // By process of other jobs.
  // By rank, for ranks of this process: the senders that know that it is congested.
  std::vector<std::vector<comm::address>> told_congested_;
};

}  // namespace weft::detail
