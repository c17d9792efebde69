// The seam at which a face plugs into a job: MPI, OpenSHMEM and one-sided memory are such. Several may be in one
// job. The job knows a face by its slot number alone.
//
// A face has a number of its own below faces_max, a constant of its code, and registers itself by a static
// object before any job begins:
//
//   state per rank      rank_state::faces[slot], made by the face when it first needs it
//   state per process   job::faces[slot], made by face::begin
//   mail kinds          first_mail_kind() + 0, 1, ..., the handlers in face::mail
//   messages            handlers that begin() adds; their names are the same in all processes
//   words of a wait     wait_words, of which a wait_description refers to one
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sched/scheduler.hpp"
#include "weft/comm/runtime.hpp"

namespace weft {
class network;
}

namespace weft::detail {

struct job;
struct rank_state;

inline constexpr std::size_t faces_max = 4;
// Messages between processes that one face may have handlers for.
inline constexpr std::size_t face_handlers_max = 8;

struct face_names;

// What a face keeps for a rank. It goes with the rank, when all ranks of the job have ended.
struct face_state {
  face_state() = default;
  face_state(const face_state&) = delete;
  face_state& operator=(const face_state&) = delete;
  virtual ~face_state() = default;
  virtual void ended() {}  // Called by the rank after its body; may throw, which fails the job.
  // Called by the rank when its body was cut short, after the job has been told to stop.
  virtual void cut_short() noexcept {}
  [[nodiscard]] virtual face_names* names() noexcept { return nullptr; }
};

// A face with communicators says how its program calls them, and who is in them. The face with the lowest
// slot that has names says them.
struct face_names {
  // As the program says it: "MPI_COMM_WORLD".
  [[nodiscard]] virtual std::string name_of_communicator(std::uint32_t context) = 0;
  // The other side of a message, likewise, by its number in the communicator: "0".
  [[nodiscard]] virtual std::string name_of_peer(std::uint32_t context, int peer) = 0;
  // Who sent a message: "rank 0 of MPI_COMM_WORLD"; `source` is the envelope's.
  [[nodiscard]] virtual std::string name_of_source(std::uint32_t context, int source) = 0;

 protected:
  ~face_names() = default;
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
};

// The names of a face's messages between processes.
class face_handlers {
 public:
  explicit face_handlers(network* between) noexcept : between_(between) {}
  // Null in a job of one process.
  [[nodiscard]] network* between() const noexcept { return between_; }
  // Called in the same order in all processes. The handler runs on the worker whose device the message came to,
  // or on no worker after those have ended. It counts the message (port::count_received) before it acts.
  [[nodiscard]] comm::handler_id add(comm::completion::function called, void* context);

 private:
  friend void begin_faces(job& j, network* between);
  network* const between_;
  std::size_t added_ = 0;
};

struct face {
  std::size_t slot;
  std::string_view name;
  // Run on the receiving worker, inside its waits; they do not wait.
  std::span<const scheduler::mail_handler> mail{};
  // Called in every process before its ranks run; null: nothing per process.
  std::unique_ptr<face_job> (*begin)(job& j, face_handlers& handlers) = nullptr;
};

// Called while static objects are made. The face stays as long as the program.
bool register_face(const face& one);
// The number of the face's first mail kind, a constant once a job runs.
[[nodiscard]] std::uint8_t first_mail_kind(std::size_t slot) noexcept;
void set_mail_handlers_of_faces(scheduler& workers);
// Called when the job has its ranks, before they run.
void begin_faces(job& j, network* between);

// What a fiber waits for that is neither a message nor a collective: `subject` of a wait_description whose
// context is wait_description::in_words.
struct wait_words {
  // Follows the call's name: ", until the word at offset 64 of the heap is 3". Called by the fiber's worker, or
  // while none runs.
  [[nodiscard]] virtual std::string text() const = 0;

 protected:
  ~wait_words() = default;
};

}  // namespace weft::detail
