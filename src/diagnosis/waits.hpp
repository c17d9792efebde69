// Who waits for whom, as neutral records: each process writes them about its ranks, and the deadlock report is made
// of the records of all processes. What a rank waits for is known here as text only.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::diagnosis {

// Names a group of ranks that meet. Groups of one context differ in their first rank.
struct group_name {
  std::uint32_t context = 0;
  int first = -1;  // Its number in the world; -1: no group.
};

// What one rank waits for.
struct wait_record {
  std::string text;          // "in recv, source 0, tag 1"
  std::vector<int> awaited;  // Numbers in the world of the ranks that it waits for; none: any rank.
  bool either_or = false;  // One of several things is enough: `awaited` is not all that may end it.
  // Set when it waits for all ranks of a group: face_job::describe_group(of_group) has these.
  group_name group;
  const void* of_group = nullptr;
};

struct group_record {
  std::vector<int> members;  // Numbers in the world, as in `arrived`.
  std::vector<int> arrived;
};

// The lines that a process writes and deadlock_report() reads. No line is written for a rank that runs.
[[nodiscard]] std::string written_wait(int rank, bool has_ended, const wait_record* waits);
[[nodiscard]] std::string written_group(const group_name& which, const group_record& who);
[[nodiscard]] std::string written_task(const std::string& text);
[[nodiscard]] std::string written_reason(const std::string& why);

// The report, made of what all processes have written here and in stacks.hpp. Texts of other processes are not
// believed: a malformed line is left out.
[[nodiscard]] std::string deadlock_report(std::span<const std::string> of_processes);

}  // namespace weft::diagnosis
