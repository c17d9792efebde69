// The state of a job as weftrun keeps it: who takes part, the keys and values, the fences, who has
// died. No descriptors and no processes here: frames in, frames out. docs/protocols/starting.md has
// the states.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/local/frame.hpp"

namespace weft {

class job_server {
 public:
  // `base` gives id, hosts and the host of each process.
  explicit job_server(job_description base);

  // What a process said, and the answers, each with the process it is for. Throws weft::error when
  // it is nothing that a process says.
  std::vector<frame> take(const frame& what);

  // Whether a process has joined and not left yet.
  [[nodiscard]] bool any_takes_part() const;
  // The status with which the job ends of which a process has told people why; 0: none has.
  [[nodiscard]] int told_status() const;
  // A process has ended: `why` says how, for people. Returns true, and tells the others with
  // `answers`, when it has left those that take part without a word.
  [[nodiscard]] bool ended(int process, const std::string& why, bool in_good_order,
                           std::vector<frame>& answers);

  // How those ended that were gone, in good order, before anybody joined, and whom somebody who has
  // joined since will miss. Each is given once.
  std::vector<std::string> take_missed() { return std::exchange(missed_, {}); }

 private:
  enum class stage { starting, joined, finished, gone };
  struct member {
    stage state = stage::starting;
    int session = 0;  // Jobs that it has joined before this one.
    bool at_fence = false;
    int told_status = 0;     // Of its last job.
    bool unnoticed = false;  // Gone, and nobody has joined who would miss it.
    std::string why_gone = {};
    std::map<std::string, std::string, std::less<>> values = {};
  };

  member& at(int process) { return members_.at(static_cast<std::size_t>(process)); }
  const member& at(int process) const { return members_.at(static_cast<std::size_t>(process)); }
  void join(const frame& what, std::vector<frame>& answers);
  frame answer_to(const frame& get) const;
  // Lets those go whom nobody keeps waiting any more.
  void pass_fences(std::vector<frame>& answers);
  // Fences of earlier sessions need not wait for this one.
  static int first_session_held_up_by(const member& one);

  job_description base_;
  std::vector<member> members_;
  std::vector<std::string> missed_;
};

}  // namespace weft
