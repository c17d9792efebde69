// Who waits for whom, as neutral records: what each process writes of its ranks, and the deadlock report that is made of
// those of all processes. Nothing here knows what a rank waits for but in words.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

// A group of ranks that meet, told from others of the same context by its first rank.
struct group_name {
  std::uint32_t context = 0;
  int first = -1;  // In the world; -1: no group.
};

// What one rank waits for.
struct wait_record {
  std::string text;          // "in recv, source 0, tag 1"
  std::vector<int> awaited;  // In the world; none: anybody may help.
  bool either_or = false;    // Another thing that it waits for may help it as well.
  // It waits for all of a group, of which face_job::describe_group() tells more.
  group_name group;
  const void* of_group = nullptr;
};

struct group_record {
  std::vector<int> members;  // In the world, both.
  std::vector<int> arrived;
};

// What a process writes, one line each; deadlock_report() reads it. Ranks that run are not written.
[[nodiscard]] std::string written_wait(int rank, bool has_ended, const wait_record* waits);
[[nodiscard]] std::string written_group(const group_name& which, const group_record& who);
[[nodiscard]] std::string written_task(const std::string& text);
[[nodiscard]] std::string written_reason(const std::string& why);

// The report that is made of what all processes have written, and of their stacks (stacks.hpp). What comes from
// other processes is not believed: what cannot be read is left out.
[[nodiscard]] std::string deadlock_report(std::span<const std::string> of_processes);

}  // namespace weft::detail
