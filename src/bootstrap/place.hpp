// Which processes share memory, for launchers that do not say so.
#pragma once
#include <string>
#include <vector>

namespace weft {

// A text that is equal for processes that share memory: the kernel's boot, /dev/shm and the PID namespace are the
// same. It ends with a blank and the host's name.
std::string place_of_this_process();

// Node numbers from the places of all processes: by first appearance.
std::vector<int> nodes_of(const std::vector<std::string>& places);

std::string host_of_place(const std::string& place);

}  // namespace weft
