// Where a process is, for launchers that do not say which processes share memory.
#pragma once
#include <string>
#include <vector>

namespace weft {

// Two processes with the same text share memory: same kernel since its start, same /dev/shm, same
// numbers of processes. Ends with a blank and the host's name.
std::string place_of_this_process();

// Node numbers from the places of all processes: by first appearance.
std::vector<int> nodes_of(const std::vector<std::string>& places);

std::string host_of_place(const std::string& place);

}  // namespace weft
