// What the ranks of a communicator agree on although some of them die meanwhile: all that live get the same value, also when
// the communicator is broken or revoked. Ranks die with their process, so the processes agree, each for its ranks. Calls
// on a communicator are numbered; all its ranks make the same ones in the same order.
//
// agreement_protocol.hpp is what each process does; here are its ranks, its messages and its locks.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collective/agreement_protocol.hpp"
#include "rank/communicator_state.hpp"
#include "remote/handlers.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

// Of how many communicators that have ended the last value is kept, for others that may still ask.
inline constexpr std::size_t ended_agreements_max = 64;

class agreements {
 public:
  // `handlers` is null in a job of one process: that one registers when it first meets another job.
  agreements(messaging& of, remote::handlers* handlers);
  void register_with(remote::handlers& handlers);

  struct instance;
  // Begins the rank's next agreement: its place among the rank's agreements on the communicator is that of this call.
  // Called on the rank's home worker.
  [[nodiscard]] std::shared_ptr<instance> begin(communicator_state& c, int rank,
                                                agreement_kind kind, std::uint32_t flags);
  // Returns what all have agreed on. Called by the same rank, on any fiber. `call` is for reports.
  [[nodiscard]] static const agreed_value& wait(communicator_state& c, int rank,
                                                const std::shared_ptr<instance>& one,
                                                const char* call);
  // Called in each pass of a worker after a death: where a coordinator has died the next one goes on.
  bool go_on_without_dead(worker& here);

 private:
  struct message_head;
  struct record;
  struct surroundings;
  struct letter;
  using outbox = std::vector<letter>;

  [[nodiscard]] std::shared_ptr<record> find_or_make(std::uint64_t name);
  void know(record& r, communicator_state& c);
  // Of a communicator that has ended here.
  void forget(std::uint64_t name);
  // They are called with the lock, on the leader's worker, and fill in what is to be sent.
  void go_on(record& r, worker& here, outbox& out);
  static void pack(const record& r, const agreement_series<instance>::outbox& said, outbox& out);
  // What has come, also before this process had made the communicator. False: some of it is of no sound peer.
  bool take_early(record& r, worker& here, outbox& out);
  // Called without the lock: a post that finds no room may handle messages.
  void send(worker& here, outbox& out);
  void run(record& r, worker& here);
  void on_message(worker& here, rank_state& to, const comm::event& happened);

  messaging& of_;
  comm::handler_id handler_{};
  std::mutex lock_;
  std::map<std::uint64_t, std::shared_ptr<record>> by_name_;  // By meeting_name().
  std::vector<std::uint64_t> ended_;  // Of communicators that have ended, oldest first.
  std::size_t unknown_ = 0;           // Of communicators that this process has not made.
  std::vector<int> deaths_;           // That each worker has taken note of.
};

// --- Calls ------------------------------------------------------------------------------------------
struct agreement_outcome {
  std::uint32_t flags;
  bool is_unacknowledged;  // Somebody has died, and not every rank had acknowledged that.
};
[[nodiscard]] agreement_outcome conclude_agreement(communicator_state& c, int rank,
                                                   const std::shared_ptr<agreements::instance>& one,
                                                   const char* call);
// The communicator of those that live, in their order.
[[nodiscard]] communicator conclude_shrink(communicator_state& c, int rank,
                                           const std::shared_ptr<agreements::instance>& one,
                                           const char* call);

}  // namespace weft::detail
