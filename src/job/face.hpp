// The seam at which a face plugs into a job: messages, MPI, OpenSHMEM and one-sided memory are such. Several may be in
// one job. The job knows a face by its slot number alone: it asks faces what their ranks wait for and what they have
// done, and tells them of begin, end and dead processes.
//
// A face has a number of its own below faces_max, a constant of its code, and registers itself by a static
// object before any job begins:
//
//   state per rank      job_rank::faces[slot], made by the face when it first needs it
//   state per process   job::faces[slot], made by face::begin
//   mail kinds          first_mail_kind() + 0, 1, ..., the handlers in face::mail
//   messages            handlers that begin() adds; their names are the same in all processes
//   words of a wait     wait_words, of which a wait_description refers to one, or face_job::describe()
//   what it has done    face_job::done_by(), for stall detection; face::columns, for --stats
//
// One face makes the ranks (base_slot): its part of a rank lies directly behind the job's, so that its address is
// computed, not loaded. The messages of ranks are it. Its mail kinds are constants, from first_mail on.
//
// A face sends between processes through the worker's port only (network::of), which counts what it sends and what its
// handlers receive; so the job knows when nothing is under way. What it writes to another process's memory counts as a
// message until the writer has seen that it is there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/waits.hpp"
#include "sched/scheduler.hpp"
#include "weft/comm/runtime.hpp"

namespace weft {
class network;
}

namespace weft::detail {

struct job;
struct job_rank;
class job_checks;  // diagnosis/checks.hpp

// The job's part of a rank with what the base face has laid out behind it.
using rank_pointer = std::unique_ptr<job_rank, void (*)(job_rank*)>;

inline constexpr std::size_t faces_max = 4;
// Of the face that makes the ranks, which has no place in job_rank::faces.
inline constexpr std::size_t base_slot = faces_max;
// The number of the first mail kind of the base face.
inline constexpr std::uint8_t first_mail = 1;
// Messages between processes that one face may have handlers for.
inline constexpr std::size_t face_handlers_max = 8;
// Likewise, of the base face.
inline constexpr std::size_t base_handlers_max = 16;

// What a face keeps for a rank. It goes with the rank, when all ranks of the job have ended.
struct face_state {
  face_state() = default;
  face_state(const face_state&) = delete;
  face_state& operator=(const face_state&) = delete;
  virtual ~face_state() = default;
  virtual void ended() {}  // Called by the rank after its body; may throw, which fails the job.
  // Called by the rank when its body was cut short, after the job has been told to stop.
  virtual void cut_short() noexcept {}
};

// What a face keeps for the ranks of this process. It goes after the ranks' own.
struct face_job {
  face_job() = default;
  face_job(const face_job&) = delete;
  face_job& operator=(const face_job&) = delete;
  virtual ~face_job() = default;
  // A process has died: ends what ranks of this worker wait for in vain, called by the worker, again in each
  // pass. True when there was any.
  virtual bool end_operations_with_dead(worker&) { return false; }
  // The rank's body has returned, and face_state::ended() of all its faces has. Called by the rank.
  virtual void rank_ended(job_rank&) {}

  // What the rank's wait means; false: it is another face's. Called by the rank's worker, or while none runs.
  [[nodiscard]] virtual bool describe(const job_rank&, const wait_description&, wait_record&) {
    return false;
  }
  // Who is in a group that describe() has named, and who has come. Called while no worker runs.
  [[nodiscard]] virtual group_record describe_group(const void*) { return {}; }
  // Called while no worker runs. Empty: the face sees none.
  [[nodiscard]] virtual std::string reason_of_deadlock() { return {}; }
  // A number that grows with what the rank does, but not while it waits. Called by the rank's worker.
  [[nodiscard]] virtual std::uint64_t done_by(const job_rank&) const { return 0; }

  // The rest is called when the workers have ended.
  // Why a job whose ranks have all ended well has failed all the same; empty: it has not.
  [[nodiscard]] virtual std::string wrong_at_end() { return {}; }
  // Of a job with `check` that has not failed: adds what its ranks have left.
  virtual void look_at_rest(job_checks&) {}
  virtual void free_rest() noexcept {}
};

// A column of --stats.
struct rank_column {
  const char* title;
  int width;
  std::uint64_t (*value)(const job_rank&);
};

// The names of a face's messages between processes.
class face_handlers {
 public:
  face_handlers(network* between, std::size_t most) noexcept : between_(between), most_(most) {}
  // Null in a job of one process.
  [[nodiscard]] network* between() const noexcept { return between_; }
  // Called in the same order in all processes. The handler runs on the worker whose device the message came to,
  // or on no worker after those have ended. It counts the message (port::count_received) before it acts.
  // `also_pumped`: the progress worker calls it, too, in place of a worker that computes
  // (network::receiver()), and maybe before older messages for other handlers. It counts what it sends by
  // port::count_answer().
  [[nodiscard]] comm::handler_id add(comm::completion::function called, void* context,
                                     bool also_pumped = false);

 private:
  friend void begin_base(job& j, network* between);
  friend void begin_faces(job& j, network* between);
  network* const between_;
  const std::size_t most_;
  std::size_t added_ = 0;
};

struct face {
  std::size_t slot;
  std::string_view name;
  // Run on the receiving worker, inside its waits; they do not wait.
  std::span<const scheduler::mail_handler> mail{};
  // Called in every process before its ranks run; null: nothing per process.
  std::unique_ptr<face_job> (*begin)(job& j, face_handlers& handlers) = nullptr;
  std::span<const rank_column> columns{};
  // Whether such a record, which waits in the mailbox of a worker that computes, is for another of its ranks: for the
  // warning that one rank keeps the others waiting. Of the base face.
  bool (*is_for_other)(worker& w, record_header header) = nullptr;
  // Of the base face.
  rank_pointer (*make_rank)() = nullptr;
};

// Called while static objects are made. The face stays as long as the program.
bool register_face(const face& one);
// The number of the face's first mail kind, a constant once a job runs.
[[nodiscard]] std::uint8_t first_mail_kind(std::size_t slot) noexcept;
void set_mail_handlers(scheduler& workers);
// A rank without a number, of the base face's kind.
[[nodiscard]] rank_pointer make_rank();
// Null: no face makes the ranks, which then are the job's part alone.
[[nodiscard]] const face* base_face() noexcept;
// Of all faces, the base face's first.
[[nodiscard]] std::vector<rank_column> columns_of_faces();
// Called when the job has its ranks, before they run: first the base face, whose messages have the first names.
void begin_base(job& j, network* between);
void begin_faces(job& j, network* between);

// What a fiber waits for, in words: `subject` of a wait_description whose context is wait_description::in_words. It need
// not ask its face.
struct wait_words {
  // Follows the call's name: ", until the word at offset 64 of the heap is 3". Called by the fiber's worker, or
  // while none runs.
  [[nodiscard]] virtual std::string text() const = 0;
  // Whom it waits for, by their numbers in the world; none: anybody. True: any of them will do. Called likewise.
  virtual bool awaited(std::vector<int>&) const { return false; }

 protected:
  ~wait_words() = default;
};

}  // namespace weft::detail
