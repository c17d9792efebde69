// Parcels of one process: the face of the job, what its workers await, and what is done with what comes.
//
// Everything is called on a worker's own thread. A worker's share is touched by that worker alone: an answer that comes to
// another one is handed over.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "job/face.hpp"
#include "parcel/limits.hpp"
#include "parcel/object_table.hpp"
#include "parcel/parcel_queue.hpp"
#include "parcel/port.hpp"
#include "parcel/registry.hpp"
#include "parcel/wire.hpp"
#include "remote/credit_window.hpp"
#include "remote/reply_table.hpp"
#include "sync/credits.hpp"
#include "sync/published.hpp"
#include "task/task_source.hpp"
#include "weft/parcels/call.hpp"

namespace weft::detail {

struct failure_description;

class parcel_layer final : public face_job, public parcel_receiver {
 public:
  parcel_layer(job& j, handler_numbers& numbers);
  ~parcel_layer() override;

  // That of the job whose tasks the worker runs.
  [[nodiscard]] static parcel_layer& of(const worker& at) noexcept;
  // That of the calling worker's job; throws weft::error, naming `call`, outside of ranks and tasks.
  [[nodiscard]] static parcel_layer& here(const char* call);

  [[nodiscard]] int process() const noexcept { return process_; }
  [[nodiscard]] int process_count() const noexcept { return process_count_; }
  [[nodiscard]] bool has_parcels(int process) const noexcept {
    return has_parcels_[static_cast<std::size_t>(process)] != 0;
  }
  [[nodiscard]] std::size_t chunk_bytes_min() const noexcept { return chunk_bytes_min_; }
  [[nodiscard]] parcelport& port() noexcept { return *port_; }
  [[nodiscard]] object_table& objects() noexcept { return objects_; }
  // How many parcels made no sense; a hint, for people and tests.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

  void send_call(int process, const action_entry& which, parcel_writer& encoded, kept_values* kept,
                 awaited_call* awaited);
  void send_result(const call_origin& to, parcel_writer& encoded, kept_values* kept);
  void send_failure(const call_origin& to) noexcept;
  void fail_posted(const action_entry& which, const std::string& why) noexcept;
  // That of a call that has come.
  [[nodiscard]] const action_entry& action_of(const call_origin& from) {
    return *find_action(from.action);
  }
  // The locality may send so many bytes more. Called by any worker.
  void owe(worker& here, int process, std::uint64_t bytes) noexcept;
  // How many bytes of its calls and posts have not come back; a hint, for people and tests.
  [[nodiscard]] std::uint64_t bytes_under_way(int process) const noexcept {
    return peers_[static_cast<std::size_t>(process)].room.taken();
  }

  void deliver(worker& here, const message_origin& from,
               std::span<const std::byte> message) noexcept override;
  bool end_operations_with_dead(worker& here) override;

 private:
  friend class received_call;
  struct awaited;           // What the layer keeps in an awaited_call.
  struct arrived;           // A parcel that a task looks at.
  struct forwarded_answer;  // An answer that has come to the wrong worker.
  using awaited_calls = remote::reply_table<awaited_call*, std::uint64_t, call_name::index_bits,
                                            call_name::generation_bits>;
  struct alignas(padding_bytes) share {
    awaited_calls calls;
  };
  struct alignas(padding_bytes) peer {
    remote::credit_window<credits<>> room{parcel_bytes_under_way_max};
    remote::owed_credits owed;
    std::atomic<bool> has_names{false};  // Relaxed: one answer is enough, two do no harm.
  };

  // The actions that were registered when this process's constructors had run, by number. It is called after that.
  [[nodiscard]] const std::vector<known_action>& actions() {
    const auto* const known = actions_.value();
    return known != nullptr ? *known : take_actions();
  }
  [[nodiscard]] const std::vector<known_action>& take_actions();
  // Null where there is none of that word.
  [[nodiscard]] const action_entry* find_action(std::uint32_t word) {
    const std::vector<known_action>& all = actions();
    const std::uint32_t number = number_in(word);
    if (number >= all.size()) [[unlikely]]
      return nullptr;
    const action_entry* const found = all[number].entry;
    return found->index.load(std::memory_order_relaxed) == word ? found : nullptr;
  }
  // Called by a task, before it looks at actions(). Throws job_stopped.
  void wait_for_constructors();

  [[nodiscard]] static awaited& room_of(awaited_call& call) noexcept;
  [[nodiscard]] share& share_of(const worker& here) noexcept {
    return shares_[static_cast<std::size_t>(here.index())];
  }
  void await(task_source& home, awaited_call& call, int process, const action_entry& which);
  [[nodiscard]] awaited_call& stop_awaiting(awaited_call& call) noexcept;
  [[nodiscard]] static awaited_call& resume(awaited_call& call) noexcept;
  [[nodiscard]] awaited_call* find(worker& here, std::uint64_t name, int process) noexcept;

  [[nodiscard]] bool send(worker& here, outgoing_parcel& what) {
    return queues_ != nullptr ? queues_->send(here, what) : port_->send(here, what);
  }
  [[nodiscard]] bool wait_for_room(worker& here, int process, std::uint64_t cost);
  [[nodiscard]] std::uint32_t take_owed(int process) noexcept;
  void on_credit(int process, std::uint64_t bytes) noexcept;
  void on_call(worker& here, const message_origin& from, const parcel_header& header,
               std::span<const std::byte> content);
  void turn_call_away(worker& here, const message_origin& from, const parcel_header& header,
                      std::span<const std::byte> content, const char* why,
                      std::string_view to_caller) noexcept;
  [[nodiscard]] message_origin answers_go_to(const message_origin& from,
                                             const parcel_header& header) const noexcept;
  void on_answer(worker& here, const message_origin& from, const parcel_header& header,
                 std::span<const std::byte> content);
  void answer(worker& here, awaited_call& call, const message_origin& from,
              const parcel_header& header, std::span<const std::byte> content);
  void on_hello(worker& here, const message_origin& from, const parcel_header& header);
  void compare_actions(worker& here, const message_origin& from, std::uint64_t digest);
  void introduce(worker& here, const message_origin& from, std::uint64_t digest);
  void send_hello(worker& here, int process) noexcept;
  void send_names(worker& here, const message_origin& to);
  void on_names(int process, std::span<const std::byte> content);
  void turn_unknown_action_away(worker& here, const message_origin& from,
                                const parcel_header& header,
                                std::span<const std::byte> content) noexcept;
  [[nodiscard]] arrived& keep(const message_origin& from, const parcel_header& header,
                              std::span<const std::byte> content);
  // The chunks of a parcel that is not read come into memory of nobody: their sender has counted them, and what they lie in
  // is to be freed.
  void drop_chunks(worker& here, const message_origin& from, const parcel_header& header,
                   std::span<const std::byte> content) noexcept;
  static void run_call(task& self, bool may_run) noexcept;
  static void run_hello(task& self, bool may_run) noexcept;
  static void run_answer(task& self, bool may_run) noexcept;
  void answer_failure(worker& here, const message_origin& to, std::uint64_t call,
                      const failure_description& what) noexcept;
  void answer_error(worker& here, const message_origin& to, std::uint64_t call,
                    std::string_view text) noexcept;
  void refuse(worker& here, const message_origin& from, const char* why) noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    port_->refuse(here, from, why);
  }
  [[noreturn]] void throw_dead(int process, const action_entry& which) const;
  [[nodiscard]] std::exception_ptr failure_from(int process, const action_entry& which,
                                                std::span<const std::byte> content) const;

  job& job_;
  std::mutex actions_lock_;
  published<const std::vector<known_action>*> actions_;  // Once they are known.
  std::vector<char> has_parcels_;  // Whether the program of each process has this face.
  // The first process that has it: the others compare their actions with those of this one.
  int first_process_ = 0;
  // If that one has no actions, it keeps here the first process that has some, and their digest, under actions_lock_.
  int first_with_actions_ = -1;
  std::uint64_t first_digest_ = 0;
  const int process_;
  const int process_count_;
  const std::size_t chunk_bytes_min_ = 8192;
  std::vector<share> shares_;  // Each worker has one.
  object_table objects_;
  std::vector<peer> peers_;  // Each process has one.
  std::atomic<std::uint64_t> refused_{0};
  // Null in a job of one process; the queues also where the port sends at once. What the port sends is the queues'.
  std::unique_ptr<parcel_queues> queues_;
  std::unique_ptr<parcelport> port_;
};

}  // namespace weft::detail
