// Who is in the job: this process's number, the others, and a small store of keys and values
// through which they find each other. Used at the start and at the end, never on a data path.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// One of several programs of a job.
struct job_part {
  int ranks;
  int processes;
};

class bootstrap {
 public:
  virtual ~bootstrap() = default;
  bootstrap() = default;
  bootstrap(const bootstrap&) = delete;
  bootstrap& operator=(const bootstrap&) = delete;

  [[nodiscard]] virtual std::string_view name()
      const noexcept = 0;  // "single", "local", "pmix", "pmi1".
  [[nodiscard]] virtual int process() const noexcept = 0;
  [[nodiscard]] virtual int process_count() const noexcept = 0;
  // The same in all processes of the job, and different from that of every other job of this user,
  // running or past: names of shared segments and files are made of it. Letters, digits, '-'.
  [[nodiscard]] virtual const std::string& job_id() const noexcept = 0;
  // Processes with equal node numbers share memory; numbered from 0 by their first process.
  [[nodiscard]] virtual int node_of(int process) const = 0;
  [[nodiscard]] virtual std::string host_of(int process) const = 0;

  // The programs of the job, in the order of their processes and of their ranks. Empty: all processes run one
  // program, or the launcher does not tell; they share the ranks in blocks.
  [[nodiscard]] virtual std::span<const job_part> parts() const noexcept { return {}; }

  // Keys and values, of any bytes. put() is seen by others after fence(), which every process
  // calls. get() throws weft::error when there is no such key, when the process is dead, and after
  // a time limit.
  virtual void put(std::string_view key, std::string_view value) = 0;
  [[nodiscard]] virtual std::string get(int process, std::string_view key) = 0;
  virtual void fence() = 0;

  // Called from a thread of the bootstrap, or of whoever calls fence(), when another process ended
  // without having called finish(): once per process, with a line for people ("process 3 on host a
  // was killed by signal 9 (Killed)"). Set before the first fence(); those that died before are told at
  // once, and none is when the bootstrap has gone.
  using failure_handler = std::function<void(int process, const std::string& why)>;
  virtual void on_failure(failure_handler handler) = 0;

  // Ends the whole job with this exit status, as the launcher can, and prints `why`; does not
  // return.
  [[noreturn]] virtual void abort(int exit_status, const std::string& why) = 0;
  // Before this process tells people why the job ends: a launcher that ends the job, too, says nothing else.
  virtual void tells_failure(int exit_status) noexcept { static_cast<void>(exit_status); }
  // This process leaves in good order. Nothing else may be called afterwards.
  virtual void finish() noexcept = 0;
};

// The bootstrap of whoever started this process: weftrun, a PMIx launcher, a PMI-1 launcher, or
// nobody. Throws weft::error when the environment shows a launcher that it does not understand,
// naming it and the remedy, rather than making N jobs of one.
[[nodiscard]] std::unique_ptr<bootstrap> make_bootstrap();

}  // namespace weft
