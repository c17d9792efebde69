// What the ranks of a communicator agree on although some of them die meanwhile: all that live get the same value, also when
// the communicator is broken or revoked. Ranks die with their process, so the processes agree, each for its ranks. Calls
// on a communicator are numbered; all its ranks make the same ones in the same order.
//
// The first living subgroup of the communicator coordinates. docs/protocols/agreement.md has the messages and the proof.
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

#include "rank/communicator_state.hpp"
#include "remote/handlers.hpp"
#include "weft/communicator.hpp"

namespace weft::detail {

// Of how many communicators that have ended the last value is kept, for others that may still ask.
inline constexpr std::size_t ended_agreements_max = 64;
// So many agreements of one communicator may be under way.
inline constexpr std::uint64_t agreements_ahead_max = 4096;

// A set of subgroups of a communicator, by their indexes.
class subgroup_set {
 public:
  subgroup_set() = default;
  explicit subgroup_set(std::size_t subgroups, bool all = false);
  [[nodiscard]] bool has(int subgroup) const noexcept {
    return (words_[static_cast<std::size_t>(subgroup) / 64] >> (subgroup % 64) & 1) != 0;
  }
  void add(int subgroup) noexcept {
    words_[static_cast<std::size_t>(subgroup) / 64] |= std::uint64_t{1} << (subgroup % 64);
  }
  void add(const subgroup_set& others) noexcept;
  void keep(const subgroup_set& others) noexcept;
  [[nodiscard]] bool is_part_of(const subgroup_set& other) const noexcept;
  [[nodiscard]] std::span<std::uint64_t> words() noexcept { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

// What the ranks say, and what they agree on.
struct agreed_value {
  std::uint32_t flags = ~std::uint32_t{0};  // All bits that all have set.
  std::uint32_t kinds =
      0;  // Of the calls: two bits mean that the ranks have called different ones.
  std::uint32_t context = 0;  // For the communicator of the living.
  subgroup_set dead;          // Those that anybody knew to be dead.
  subgroup_set acknowledged;  // Those of which everybody had acknowledged that.
  void combine(const agreed_value& other) noexcept;
};
enum agreement_kind : std::uint32_t { agreement_on_flags = 1, agreement_on_living = 2 };

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
  enum class step : std::uint32_t { state, proposal, acceptance, decision };
  struct message_head;
  struct record;
  struct letter;
  using outbox = std::vector<letter>;

  [[nodiscard]] std::shared_ptr<record> find_or_make(std::uint64_t name);
  void know(record& r, communicator_state& c);
  // Of a communicator that has ended here.
  void forget(std::uint64_t name);
  // They are called with the lock, on the leader's worker, and fill in what is to be sent.
  void go_on(record& r, worker& here, outbox& out);
  bool go_on_with(record& r, instance& one, worker& here, outbox& out);
  void take(record& r, worker& here, const message_head& head, int from, const agreed_value& value,
            outbox& out);
  // What has come, also before this process had made the communicator. False: some of it is of no sound peer.
  bool take_early(record& r, worker& here, outbox& out);
  void decide(record& r, instance& one);
  static void tell(const record& r, int subgroup, step what, const instance& one, outbox& out);
  static void tell_living(const record& r, worker& here, step what, const instance& one,
                          outbox& out);
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
