// Messages between ranks of different processes. A short one is an active message to the device of
// the receiving rank's worker, which matches it exactly as mail of the same worker. Of a long one the
// sender offers where it lies; the receiver reads it, once, into the buffer of its receive, and says
// so. docs/protocols/processes.md has the states.
//
// Everything is called on the home worker of the rank concerned.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rank/source_validation.hpp"
#include "rank/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

// What a rendezvous request says on its way.
struct rts_on_wire {
  std::uint64_t bytes = 0;
  std::uint64_t send = 0;  // The sender's name for it.
  comm::remote_memory memory;
};
class remote_messaging;
// The same where it waits for its receive.
struct remote_rendezvous {
  remote_messaging* ways = nullptr;
  comm::address from;
  rts_on_wire what;
};

// The sends of one worker whose data stay in place until their receivers have them. Names are of
// this table: what peers say is looked up, never followed.
class remote_sends {
 public:
  // `copy`: the data in a row, when those of the operation are not.
  [[nodiscard]] std::uint64_t add(operation& op, int process, comm::registered_memory memory,
                                  std::unique_ptr<std::byte[]> copy);
  // The operation, taken out; null when there is none of this name to this process.
  [[nodiscard]] operation* take(std::uint64_t name, int process) noexcept;
  // 0 when it is not here.
  [[nodiscard]] std::uint64_t name_of(const operation& op) const noexcept;
  void forget(const operation& op) noexcept;
  // Any operation to that process, taken out; null when there is none.
  [[nodiscard]] operation* take_any(int process) noexcept;

 private:
  struct entry {
    operation* op = nullptr;  // Null: free.
    int process = -1;
    std::uint32_t generation = 0;
    comm::registered_memory memory;
    std::unique_ptr<std::byte[]> copy;
  };
  std::vector<entry> entries_;
  std::vector<std::uint32_t> free_;
};

// An operation that will never complete as it should.
void fail(operation& op) noexcept;
void fail(worker& here, operation& op) noexcept;

// What the ranks of this process need to reach the others.
class remote_messaging {
 public:
  remote_messaging(messaging& shared, face_handlers& handlers);

  // False when the message has to be offered. Called by send_remote() alone.
  [[gnu::always_inline]] inline bool send_now(rank_state& me, const peer& to, const envelope& from,
                                              std::span<const std::byte> data, send_mode mode);
  bool send_now(rank_state& me, const peer& to, const envelope& from, const segments& data,
                send_mode mode);
  void send_rts(worker& here, const peer& to, const envelope& from, operation& op);
  // Into the receive's buffer; the rendezvous request is deleted.
  void receive(worker& here, operation& op, const envelope& from, remote_rendezvous* rts);
  // The offered data are no longer needed; the rendezvous request is deleted.
  void finish(worker& here, remote_rendezvous* rts, bool failed = false);
  // As ask_back() of messages.hpp.
  void ask_back(worker& here, const peer& to, const operation& op) noexcept;
  // As ask_finished() of messages.hpp, for the rank of that number.
  void ask_finished(worker& here, const peer& to, std::uint32_t asks) noexcept;
  // A rendezvous request whose data go away; its receiver will find that it failed.
  void forget(worker& here, const operation& op) noexcept;
  // Fewer unexpected bytes wait at the rank than the limit: whoever was told otherwise may know.
  void tell_relaxed(rank_state& r);
  // A rank needs what a dead process has: the job ends, unless it is to go on without that process.
  void wait_for_the_end(worker& here) const;
  // Whether the process of that rank of a communicator of `r` is dead, as the worker of `r` knows it.
  [[nodiscard]] bool is_dead(const rank_state& r, std::uint32_t context, int rank) const;
  // Whether the job goes on without the process that would have sent what `wanted` asks for, and all
  // that it has sent has been delivered to the rank's worker.
  [[nodiscard]] bool is_lost(const rank_state& r, const envelope& wanted) const;
  // Operations of this worker's ranks with dead processes end, and their probes, where the job goes on.
  // Whether there were any.
  bool end_operations_with_dead(worker& here);

  [[nodiscard]] network& between() const noexcept { return between_; }
  [[nodiscard]] messaging& shared() const noexcept { return shared_; }

  // For what else ranks of processes say to each other. The handlers' side: null when the message is for nobody here,
  // and has been refused; the same of one that has to have so many bytes; whether a rank is of the process that says so.
  [[nodiscard]] rank_state* addressee(worker& here, const comm::event& happened) noexcept;
  [[nodiscard]] rank_state* addressee(worker& here, const comm::event& happened,
                                      std::size_t bytes) noexcept;
  [[nodiscard]] bool is_of(std::uint64_t rank, const comm::event& happened) const noexcept;
  // Where the rank of this number in the world is at home.
  [[nodiscard]] comm::address address_of(int rank) const noexcept {
    const rank_place& there = job_.places[static_cast<std::size_t>(rank)];
    return {there.process, there.worker};
  }
  [[nodiscard]] std::size_t eager_bytes_max() const noexcept { return eager_bytes_max_; }
  // Whether that rank copies a long message itself, out of this process's memory.
  [[nodiscard]] bool reads_in_place(int rank) const noexcept;
  // To the home of the rank; word and data as head[1] and payload. A dead process need not know.
  void post_to(worker& here, int rank, std::uint32_t context, comm::handler_id handler,
               std::span<const std::byte> data, std::uint64_t word = 0) noexcept;
  [[noreturn, gnu::cold]] void throw_dead(const rank_state& me, const peer& to) const;

  messaging& shared_;

 private:
  struct reading;
  struct failed_read;

  void on_eager(worker& here, const comm::event& happened);
  void on_rts(worker& here, const comm::event& happened);
  void on_finished(worker& here, const comm::event& happened);
  void on_withdraw(worker& here, const comm::event& happened);
  void on_finished_asked(worker& here, const comm::event& happened);
  void on_finished_told(worker& here, const comm::event& happened);
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
  [[nodiscard]] comm::am message(const peer& to, const envelope& from, comm::handler_id handler,
                                 comm::const_buffers data) const noexcept;
  void post_small(worker& here, comm::address to, comm::handler_id handler, std::uint64_t first,
                  std::uint32_t user = 0) noexcept;
  void end_read(worker& here, const reading& r, bool failed);
  void tell_congested(rank_state& r, const comm::event& happened);
  // Whether the job goes on without dead processes.
  [[nodiscard]] bool survives() const noexcept;

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
  std::vector<remote_sends> sends_;                         // By worker.
  std::vector<known_sources> known_sources_;                // By worker.
  std::unique_ptr<std::atomic<bool>[]> congested_;          // By rank, of other processes.
  std::vector<std::vector<comm::address>> told_congested_;  // By rank, of this process.
};

}  // namespace weft::detail
