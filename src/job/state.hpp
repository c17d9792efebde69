// What a job and a rank are, as far as the job knows them: numbered flows of control with homes, and the faces that are
// plugged in (face.hpp). The base face's part of a rank, its messages, lies behind the part here: rank/state.hpp.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "job/face.hpp"
#include "job/known_faces.hpp"
#include "sched/scheduler.hpp"
#include "weft/loop.hpp"
#include "weft/options.hpp"

namespace weft::diagnosis {
class job_checks;  // diagnosis/checks.hpp
}  // namespace weft::diagnosis

namespace weft::detail {

class held_waits;  // job/held_waits.hpp

// The job's part of one rank. Only its home worker writes it while the job runs. Fibers and threads of a rank have its
// address as their identity.
struct job_rank {
  // Every call touches the fields down to the first of `faces`, so they share the first cache line: of 1,000 ranks each
  // is a miss.
  int number = 0;  // In the world.
  bool ended = false;
  job* of = nullptr;
  worker* home = nullptr;
  // By slot. Null until the rank first calls the face.
  std::array<std::unique_ptr<face_state>, faces_max> faces;
  fiber main;
  std::uint64_t chunks = 0;
  std::uint64_t chunks_stolen = 0;  // Chunks of its loops that other workers ran.
  // The globals of the rank's own copy of its program; empty where ranks have none of their own.
  std::vector<std::span<std::byte>> statics;
  // Of a program that is the process's only copy: finds its globals and those of its libraries. May be null.
  std::vector<std::span<std::byte>> (*find_statics)() = nullptr;
  std::vector<unsigned long> cpus;  // The affinity mask that its program has set; empty: none.

  // Called by the rank, inside of its worker's code, when it has met all ranks of its worker, any of which may have
  // shared the worker meanwhile.
  void tell_faces_if_shared() noexcept {
    if (!home->is_shared()) return;
    for (const auto& face : faces)
      if (face != nullptr) face->home_is_shared();
  }
};

// Where a rank is at home.
struct rank_place {
  job_rank* rank = nullptr;  // Null: in another process.
  int process = 0;
  int worker = 0;  // In that process.
};

// The part of a job that runs in this process. Its fields are written before the workers run, unless they say
// otherwise.
struct job {
  options how;
  std::unique_ptr<scheduler> workers;
  faces_of_job known_faces;
  std::array<std::unique_ptr<face_job>, faces_max> faces;  // By slot. Destroyed after the ranks.
  std::vector<rank_pointer> ranks;
  std::vector<job_rank*> by_number;  // All ranks, null for other processes'; for mail handlers.
  std::vector<rank_place> places;    // Of all ranks, by number.
  std::unique_ptr<face_job> base;    // The base face's. Destroyed before the ranks.
  int process = 0;
  int part = 0;  // Which of the job's programs this process runs.
  std::vector<int>
      node_of_process;  // Processes of one node share memory. Empty in a job of one process.
  chunk_mode chunks = chunk_mode::guided;
  std::shared_ptr<diagnosis::job_checks> checks;  // Null unless the job is checked.

  // Visits the faces that this job has, the base face first.
  template <class Visit>
  void each_face(const Visit& visit) const {
    if (base != nullptr) visit(*base);
    for (const auto& one : faces)
      if (one != nullptr) visit(*one);
  }

  // Called by a rank that unwinds and leaves memory behind that others use, so that the job has to end. What unwinds it
  // may be known to its outermost frame alone, and is the reason then: so `why` waits until the rank has ended, or does
  // not end, and is told unless another failure was.
  void abandon(const job_rank& by, const std::string& why) {
    const std::lock_guard hold(abandoned_lock);
    if (abandoned_by == nullptr) abandoned_by = &by, abandoned = why;
  }
  // Null: by any rank. Empty: none has left anything behind.
  [[nodiscard]] std::string why_abandoned(const job_rank* by) {
    const std::lock_guard hold(abandoned_lock);
    return by == nullptr || by == abandoned_by ? abandoned : std::string();
  }
  // Makes the job fail with this text and exit status; 0 is told, and no failure. Called by any thread while workers run,
  // such as a thread that a rank has made.
  void tell_failure(const std::string& why, int status = 1) const { tell_end(why, status); }
  std::function<void(const std::string& why, int status)> tell_end;  // Set before workers run.
  // Set while the workers run.
  std::function<void()> stop_by_timeout;
  std::mutex abandoned_lock;
  const job_rank* abandoned_by = nullptr;
  std::string abandoned;
  std::shared_ptr<held_waits> held;  // Null unless the job is checked and has one process.
};

// The calling rank; throws weft::error outside of ranks and inside chunks, naming `call`.
[[noreturn, gnu::cold]] void throw_not_a_rank(const char* call);
[[nodiscard]] inline job_rank& calling_job_rank(const char* call) {
  void* const caller = worker::caller();
  if (caller == nullptr) [[unlikely]]
    throw_not_a_rank(call);
  return *static_cast<job_rank*>(caller);
}

// The job whose ranks and tasks the worker runs.
[[nodiscard]] inline job& job_of(const worker& here) noexcept {
  return *static_cast<job*>(here.owner().job());
}

// For handlers of mail: the rank of this number. It is a rank of this process.
[[nodiscard]] inline job_rank& job_rank_of(worker& here, std::uint32_t number) noexcept {
  return *static_cast<job_rank* const*>(here.owner().user_data())[number];
}

}  // namespace weft::detail
