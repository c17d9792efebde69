// What a job and a rank are made of, as far as the job knows them: numbered flows of control with homes, and the faces
// that are plugged in (face.hpp). What a rank has of messages lies behind its part here: rank/state.hpp.
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
#include "sched/scheduler.hpp"
#include "weft/loop.hpp"
#include "weft/options.hpp"

namespace weft::detail {

class job_checks;  // diagnosis/checks.hpp

// One rank: written by its home worker, but where it says otherwise. Fibers and threads of a rank have its address as
// their identity.
struct job_rank {
  // What every call touches stands in the first cache line: of 1,000 ranks the lines do not stay near.
  int number = 0;  // In the world.
  bool ended = false;
  job* of = nullptr;
  worker* home = nullptr;
  // By slot: at a constant place of the rank. Null until the rank first calls the face.
  std::array<std::unique_ptr<face_state>, faces_max> faces;
  fiber main;
  std::uint64_t chunks = 0;
  std::uint64_t chunks_stolen = 0;  // Of its loops, by others.
  // The globals of the rank's own copy of its program; empty where ranks have none of their own.
  std::vector<std::span<std::byte>> statics;
  std::vector<unsigned long> cpus;  // As its program has chosen, as a mask; empty: it has not.
};

// Where a rank is at home.
struct rank_place {
  job_rank* rank = nullptr;  // Null: in another process.
  int process = 0;
  int worker = 0;  // Of that process.
};

// The part of a job that runs in this process. What is not said to be otherwise is written before the workers run.
struct job {
  options how;
  std::unique_ptr<scheduler> workers;
  std::array<std::unique_ptr<face_job>, faces_max> faces;  // By slot; they go after the ranks.
  std::vector<rank_pointer> ranks;
  std::vector<job_rank*> by_number;  // Of all; the workers' handlers look ranks up here.
  std::vector<rank_place> places;    // Of all ranks.
  std::unique_ptr<face_job> base;    // Of the face that makes the ranks; it goes before them.
  int process = 0;
  int part = 0;  // Which of the job's programs this process runs.
  std::vector<int>
      node_of_process;  // Processes of one node share memory. Empty in a job of one process.
  chunk_mode chunks = chunk_mode::guided;
  std::shared_ptr<job_checks> checks;  // Null unless the job is checked.

  // Of the faces that this job has, the one that makes the ranks first.
  template <class Visit>
  void each_face(const Visit& visit) const {
    if (base != nullptr) visit(*base);
    for (const auto& one : faces)
      if (one != nullptr) visit(*one);
  }

  // Why the job ends although no rank may say so: a rank left memory behind that another uses.
  // The failure that caused it, if one reaches the end of its rank, is told instead.
  void abandon(const std::string& why) {
    if (tell_abandoned) return tell_abandoned(why);
    const std::lock_guard hold(abandoned_lock);
    if (abandoned.empty()) abandoned = why;
  }
  // Of a job of several processes: it stops everywhere before this process has ended.
  std::function<void(const std::string&)> tell_abandoned;
  // The job fails of what one of its ranks' threads has met, as it does of what a rank has. Any thread, while workers run.
  std::function<void(const std::string&)> tell_failure;
  // Set while the workers run.
  std::function<void()> stop_by_timeout;
  std::mutex abandoned_lock;
  std::string abandoned;
};

// The calling rank; throws weft::error outside of ranks and inside chunks, naming `call`.
[[noreturn, gnu::cold]] void throw_not_a_rank(const char* call);
[[nodiscard]] inline job_rank& calling_job_rank(const char* call) {
  void* const caller = worker::caller();
  if (caller == nullptr) [[unlikely]]
    throw_not_a_rank(call);
  return *static_cast<job_rank*>(caller);
}

// For handlers of mail: the rank of this number, which is one of this process.
[[nodiscard]] inline job_rank& job_rank_of(worker& here, std::uint32_t number) noexcept {
  return *static_cast<job_rank* const*>(here.owner().user_data())[number];
}

}  // namespace weft::detail
