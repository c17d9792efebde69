// Operations on memory that loads and stores do not reach: messages which the worker of the target carries out, in
// the order in which they were sent. A put needs no answer: quiet() asks each target that was written, and its answer
// says that all before has been done. Gets, and updates whose old value is wanted, are answered one by one.
//
// Everything is called on the initiator's worker.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rma/initiator.hpp"
#include "rma/memory.hpp"

namespace weft::rma {

class far_operations {
 public:
  far_operations(initiator& of, memory& shared) : of_(of), shared_(shared) {}

  void put(context& c, void* to, const void* from, std::size_t bytes, int rank);
  void get(context& c, void* to, const void* from, std::size_t bytes, int rank, bool waits);
  void change(context& c, update what, number type, void* at, const void* operand,
              const void* expected, void* old, int rank, bool waits);
  // Asks those of `ranks` that were written, or all; returns when they have answered and nothing of the context is
  // to come.
  void quiet(context& c);
  void quiet(context& c, std::span<const int> ranks);
  void fence(context& c);
  // Of a context that gathers: all of it goes.
  void send_gathered(context& c);
  // The worker of that rank sleeps until its memory changes, and has been written.
  void wake(int rank);

  // True when there were any.
  bool end_operations_with_dead();

  [[nodiscard]] static memory::names add_handlers(detail::face_handlers& handlers, memory& of);

 private:
  // What an answer is awaited for. Peers name it by number and generation; both are looked up, never followed.
  struct awaited {
    std::byte* into = nullptr;
    std::uint32_t bytes = 0;
    std::uint32_t generation = 0;
    std::uint32_t* count = nullptr;  // Lowered by the answer; null: free.
    int process = -1;
  };
  // Where an address of this rank lies in its regions.
  struct place {
    std::uint32_t region;
    std::uint64_t distance;
  };

  template <void (*Handle)(memory&, worker&, const comm::event&)>
  static void call(void* shared, const comm::event& happened) noexcept;
  static void on_put(memory& m, worker& here, const comm::event& happened);
  static void on_get(memory& m, worker& here, const comm::event& happened);
  static void on_update(memory& m, worker& here, const comm::event& happened);
  static void on_flush(memory& m, worker& here, const comm::event& happened);
  static void on_answer(memory& m, worker& here, const comm::event& happened);
  static void on_look(memory& m, worker& here, const comm::event& happened);
  static void on_gathered(memory& m, worker& here, const comm::event& happened);
  [[nodiscard]] static std::byte* place_meant(memory& m, worker& here, const comm::event& happened,
                                              std::size_t bytes);
  [[nodiscard]] static std::byte* place_in(memory& m, const worker& here, std::uint32_t rank,
                                           std::uint32_t region, std::uint64_t distance,
                                           std::size_t bytes) noexcept;
  static void answer(memory& m, worker& here, const comm::event& asked,
                     std::span<const std::byte> data) noexcept;

  [[nodiscard]] place find(const void* symmetric, std::size_t bytes, const char* what) const;
  [[nodiscard]] comm::am message(int rank, comm::handler_id handler, place where) const noexcept;
  [[nodiscard]] std::size_t piece_bytes_max(int rank) const noexcept;
  void send(const comm::am& what, int rank);
  void note_written(context& c, int rank);
  // True when it waits for others now.
  [[nodiscard]] bool gather(context& c, int rank, place where, std::uint32_t what,
                            std::span<const std::byte> data);
  // What has been gathered for the rank goes.
  void send_gathered(context& c, int rank);
  [[nodiscard]] std::uint64_t expect(void* into, std::size_t bytes, std::uint32_t& count, int rank);
  void ask(std::uint32_t& count, int rank);
  // Until fewer than so many answers are to come.
  void await(const std::uint32_t& count, std::uint32_t below, const char* what);

  initiator& of_;
  memory& shared_;
  std::vector<awaited> awaited_;
  std::vector<std::uint32_t> free_;
  std::uint32_t under_way_ = 0;  // Of all contexts.
  bool has_lost_ = false;        // Some will never come: the target is dead.
};

}  // namespace weft::rma
