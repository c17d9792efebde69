// The seam at which a face plugs into a job. Messages, MPI, OpenSHMEM and one-sided memory are faces; a job may have
// several. The job knows a face by its slot number alone: it asks faces what their ranks wait for and what they have
// done, and tells them of begin, end and dead processes.
//
// A static object registers the face before any job begins, and gets its slot, one below faces_max:
//
//   state per rank      job_rank::faces[slot], made by the face when it first needs it
//   state per process   job::faces[slot], made by face::begin
//   mail kinds          first_mail_kind() + 0, 1, ..., the handlers in face::mail
//   messages            handlers that begin() adds; their numbers are the same in all processes, whatever faces the
//                       programs of these have
//   words of a wait     a wait_words in the wait_description, or face_job::describe()
//   what it has done    face_job::done_by(), for stall detection; face::columns, for --stats
//
// The base face (base_slot), the messages of ranks, makes the ranks. Its part of a rank lies directly behind the job's,
// so that its address is computed, not loaded. Its mail kinds are constants, from first_mail on.
//
// A face sends and receives between processes by the room remote alone, which counts every message: so the job knows when
// nothing is under way.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/waits.hpp"
#include "runtime/network.hpp"
#include "sched/scheduler.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::diagnosis {
class job_checks;  // diagnosis/checks.hpp
}  // namespace weft::diagnosis

namespace weft::detail {

struct job;
struct job_rank;

// The job's part of a rank with what the base face has laid out behind it.
using rank_pointer = std::unique_ptr<job_rank, void (*)(job_rank*)>;

// How many faces a program may have beside the base face.
inline constexpr std::size_t faces_max = 12;
// The slot of a face that takes the one that it is given.
inline constexpr std::size_t any_slot = ~std::size_t{0};
// The base face's slot. It has no place in job_rank::faces.
inline constexpr std::size_t base_slot = faces_max;
// The number of the first mail kind of the base face.
inline constexpr std::uint8_t first_mail = 1;
// How many handlers for messages between processes a face may add, and the base face.
inline constexpr std::size_t face_handlers_max = 8;
inline constexpr std::size_t base_handlers_max = 16;

// What a face keeps for a rank. It is destroyed with the rank, when all ranks of the job have ended.
struct face_state {
  face_state() = default;
  face_state(const face_state&) = delete;
  face_state& operator=(const face_state&) = delete;
  virtual ~face_state() = default;
  virtual void ended() {}  // Called by the rank after its body; may throw, which fails the job.
  // Called by the rank when its body was cut short, after the job has been told to stop.
  virtual void cut_short() noexcept {}
  // Called by the rank when any face of it has shared its home (worker::share()): ways that do without the hand-off lock
  // end here, whatever this face was asked for. Later state finds the worker shared.
  virtual void home_is_shared() noexcept {}
};

// What a face keeps for the ranks of this process. It is destroyed after the ranks' face_state.
struct face_job {
  face_job() = default;
  face_job(const face_job&) = delete;
  face_job& operator=(const face_job&) = delete;
  virtual ~face_job() = default;
  // After a process has died, each worker calls it in every pass: it ends the operations of this worker's ranks that
  // wait for the dead process. True when there were any.
  virtual bool end_operations_with_dead(worker&) { return false; }
  // Whether ranks of this process may still wait for that one, which is of another job. Called by any thread.
  [[nodiscard]] virtual bool is_joined_with(int /*process*/) { return false; }
  // Called by the rank, when its body and the face_state::ended() of all its faces have returned.
  virtual void rank_ended(job_rank&) {}

  // Fills in what the rank's wait means; false: the wait is another face's. Called by the rank's worker, or while no
  // worker runs.
  [[nodiscard]] virtual bool describe(const job_rank&, const wait_description&,
                                      diagnosis::wait_record&) {
    return false;
  }
  // Who is in a group that describe() has named, and who has come. Called while no worker runs.
  [[nodiscard]] virtual diagnosis::group_record describe_group(const void*) { return {}; }
  // Why the job hangs, as far as this face can tell; empty: it cannot. Called while no worker runs.
  [[nodiscard]] virtual std::string reason_of_deadlock() { return {}; }
  // A number that grows with what the rank does, but not while it waits. Called by the rank's worker.
  [[nodiscard]] virtual std::uint64_t done_by(const job_rank&) const { return 0; }

  // The functions below are called when the workers have ended.
  // Why a job fails although all its ranks have ended well; empty: it does not.
  [[nodiscard]] virtual std::string wrong_at_end() { return {}; }
  // In a job with `check` that has not failed: adds what its ranks have left behind.
  virtual void look_when_quiescent(diagnosis::job_checks&) {}
  virtual void free_rest() noexcept {}
  // The job has failed. It is destroyed next.
  virtual void job_has_failed() noexcept {}
};

// A column of --stats.
struct rank_column {
  const char* title;
  int width;
  std::uint64_t (*value)(const job_rank&);
};

// The numbers of a face's messages between processes. remote::handlers makes handlers of it.
class handler_numbers {
 public:
  handler_numbers(network* between, std::size_t most) noexcept : between_(between), most_(most) {}
  // Null in a job of one process.
  [[nodiscard]] network* between() const noexcept { return between_; }
  // Called by face::begin, in the same order in all processes: as network::add_handler().
  template <auto Handle, network::called_by By = network::called_by::worker,
            void (*Before)(worker&) noexcept = nullptr>
  [[nodiscard]] comm::handler_id add(void* context) {
    take_one();
    return between_->add_handler<Handle, By, Before>(context);
  }

 private:
  friend void begin_faces(job& j, network* between);
  void take_one() noexcept;

  network* const between_;
  const std::size_t most_;
  std::size_t added_ = 0;
};

struct face {
  // any_slot, or a constant: the state of its ranks is then at a constant offset, for calls that take nanoseconds. No
  // two faces name the same constant. Those that are given a slot get the highest that is free.
  std::size_t slot = any_slot;
  std::string_view name;  // The same in all processes, and that of no other face.
  // The handlers of its mail kinds. They run on the receiving worker, inside its waits, and do not wait.
  std::span<const scheduler::mail_handler> mail{};
  // Called in every process before its ranks run; null: nothing per process.
  std::unique_ptr<face_job> (*begin)(job& j, handler_numbers& numbers) = nullptr;
  std::span<const rank_column> columns{};
  // Set by the base face alone. Whether a record in the mailbox of a worker is for a rank other than the one that runs
  // there: for the warning that a rank that computes keeps the others waiting. Called by the monitor.
  bool (*is_for_other)(worker& w, record_header header) = nullptr;
  // Set by the base face alone.
  rank_pointer (*make_rank)() = nullptr;
};

// Called while static objects are made. `one` lives as long as the program. Returns its slot.
std::size_t register_face(const face& one);
// The number of the face's first mail kind, a constant once a job runs.
[[nodiscard]] std::uint8_t first_mail_kind(std::size_t slot) noexcept;
void set_mail_handlers(scheduler& workers);
// Makes a rank, as the base face lays it out; it has no number yet.
[[nodiscard]] rank_pointer make_rank();
// Null: the program has no base face, and a rank is the job's part alone.
[[nodiscard]] const face* base_face() noexcept;
// The --stats columns of all faces, the base face's first.
[[nodiscard]] std::vector<rank_column> columns_of_faces();
// Call face::begin of the faces when the job has its ranks, before these run. The base face begins first: the first
// handler numbers are its.
void begin_base(job& j, network* between);
void begin_faces(job& j, network* between);

// What a fiber waits for, in words, so that no face need be asked. A wait_description whose context is
// wait_description::in_words has it as `subject`.
struct wait_words {
  // Follows the call's name: ", until the word at offset 64 of the heap is 3". Both functions are called by the fiber's
  // worker, or while no worker runs.
  [[nodiscard]] virtual std::string text() const = 0;
  // Adds the world numbers of the ranks that it waits for; none: anybody. Returns whether any one of them suffices.
  virtual bool awaited(std::vector<int>&) const { return false; }

 protected:
  ~wait_words() = default;
};

}  // namespace weft::detail
