// Operations on memory that loads and stores do not reach: messages which the worker of the target carries out, in
// the order in which they were sent. A put needs no answer: quiet() asks each target that was written, and its answer
// says that all before has been done. Gets, and updates whose old value is wanted, are answered one by one.
//
// Everything is called on the initiator's worker.
#pragma once
#include <cstdint>
#include <span>

#include "remote/credit_window.hpp"
#include "remote/reply_table.hpp"
#include "rma/initiator.hpp"
#include "rma/memory.hpp"

namespace weft::rma {

class far_operations {
 public:
  far_operations(initiator& of, memory& shared);

  // Ranks are numbers in the job, but those of locations. The part has the bytes that an operation names.
  void put(context& c, const location& to, const void* from, std::size_t bytes);
  void get(context& c, void* to, const location& from, std::size_t bytes, bool waits);
  void change(context& c, update what, number type, const location& at, const void* operand,
              const void* expected, void* old, bool waits);
  void change_elements(context& c, const location& at, const element_update& what,
                       const std::byte* operand, std::byte* old, std::size_t count, bool waits);
  // Asks those of `ranks` that were written, or all; returns when they have answered and nothing of the context is
  // to come.
  void quiet(context& c);
  void quiet(context& c, std::span<const int> ranks);
  void fence(context& c);
  // Sends all that a context has gathered.
  void send_gathered(context& c);
  // Wakes the worker of that rank, which sleeps until its memory changes, and has been written.
  void wake(int rank);

  // True when there were any.
  bool end_operations_with_dead();

  [[nodiscard]] static memory::names add_handlers(detail::handler_numbers& numbers, memory& of);

 private:
  // An operation whose answer is to come.
  struct awaited {
    std::byte* into = nullptr;
    std::size_t bytes = 0;
    std::uint32_t* count = nullptr;  // Lowered by the answer.
  };
  // A location as a message names it.
  struct target {
    int rank;  // Its number in the job.
    std::uint32_t part;
    std::uint64_t offset;
  };

  // Handlers. `to` is the rank that the message is for.
  static void on_put(memory& m, worker& here, detail::rank_state& to, const comm::event& happened);
  static void on_get(memory& m, worker& here, detail::rank_state& to, const comm::event& happened);
  static void on_update(memory& m, worker& here, detail::rank_state& to,
                        const comm::event& happened);
  static void on_flush(memory& m, worker& here, detail::rank_state& to,
                       const comm::event& happened);
  static void on_answer(memory& m, worker& here, detail::rank_state& to,
                        const comm::event& happened);
  static void on_look(memory& m, worker& here, const comm::event& happened);
  static void on_gathered(memory& m, worker& here, detail::rank_state& to,
                          const comm::event& happened);
  static void on_elements(memory& m, worker& here, detail::rank_state& to,
                          const comm::event& happened);
  [[nodiscard]] static std::byte* bytes_meant(const memory& m, worker& here,
                                              const detail::rank_state& to,
                                              const comm::event& happened, std::size_t bytes);
  [[nodiscard]] static std::byte* bytes_at(const memory& m, const detail::rank_state& to,
                                           std::uint32_t part, std::uint64_t offset,
                                           std::size_t bytes) noexcept;
  static void answer(const memory& m, worker& here, const comm::event& asked,
                     std::span<const std::byte> data) noexcept;

  [[nodiscard]] static target target_of(const location& where) noexcept;
  [[nodiscard]] comm::am message(comm::handler_id handler, const target& to) const noexcept;
  [[nodiscard]] std::size_t piece_bytes_max(int rank) const noexcept;
  void send(const comm::am& what, int rank);
  void note_written(context& c, int rank);
  // True when it waits for others now.
  [[nodiscard]] bool gather(context& c, const target& to, std::uint32_t what,
                            std::span<const std::byte> data);
  void send_bytes_gathered(int rank, std::span<const std::byte> bytes);
  // Sends what has been gathered for the rank.
  void send_gathered(context& c, int rank);
  // Adds one to `count` until the answer comes. Returns the name by which the target answers, with the rank of this one.
  [[nodiscard]] std::uint64_t expect(void* into, std::size_t bytes, std::uint32_t& count, int rank);
  void ask(std::uint32_t& count, int rank);
  // Returns when no answer of these is to come.
  void await(const std::uint32_t& count, const char* what);
  // Calls `wait(description)`, in the accounts as a wait for a transfer.
  template <class Wait>
  void wait_for_transfer(const char* what, const Wait& wait);
  void check_nothing_lost();

  initiator& of_;
  memory& shared_;
  remote::reply_table<awaited, std::uint32_t, 8, 24> asked_;
  remote::credit_window<remote::worker_credits>
      answers_;            // Those that are to come, of all contexts.
  bool has_lost_ = false;  // Some will never come: the target is dead.
};

}  // namespace weft::rma
