// The network of a job of one process, which gets one when it is joined with another job.
#pragma once
#include <memory>

#include "bootstrap/bootstrap.hpp"
#include "job/face.hpp"
#include "job/state.hpp"
#include "runtime/network.hpp"

namespace weft::detail {

// Whether a communicator with ranks of that process, which is of another job, lives. The death of others is nobody's concern.
[[nodiscard]] bool is_joined_with(const job& j, int process);

class late_connection {
 public:
  // Called by a rank while workers run.
  explicit late_connection(job& j);
  late_connection(const late_connection&) = delete;
  late_connection& operator=(const late_connection&) = delete;
  // Called after the workers have ended.
  ~late_connection();

  [[nodiscard]] network& between() noexcept { return *between_; }
  // The numbers of the base face, which are the same in all jobs.
  [[nodiscard]] handler_numbers& numbers() noexcept { return numbers_; }

 private:
  // The job ends without agreement with others.
  struct alone final : pass_hook {
    void progress() noexcept override {}
    [[nodiscard]] bool may_unwind(int) noexcept override { return true; }
    [[nodiscard]] std::int64_t sleep_ns_max() const noexcept override { return -1; }
  };

  const std::unique_ptr<bootstrap> bootstrap_;
  alone hook_;
  std::unique_ptr<network> between_;
  handler_numbers numbers_;
};

}  // namespace weft::detail
