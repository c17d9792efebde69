// Which faces the programs of a job's processes have: not all need the same.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace weft {
class bootstrap;
}

namespace weft::detail {

struct faces_of_job {
  std::vector<std::string> names;  // Of all programs, sorted; the base face is not among them.
  std::vector<std::vector<bool>> of_process;  // By process, then by place in `names`.
  [[nodiscard]] bool has(int process, std::string_view name) const;

  // `told`: by process, the names of its faces.
  [[nodiscard]] static faces_of_job of(const std::vector<std::vector<std::string>>& told);
};

// Called by all processes before a fence of the bootstrap; `run` is what its keys begin with.
void tell_faces(bootstrap& between, const std::string& run);
// Called after that fence.
[[nodiscard]] faces_of_job learn_faces(bootstrap& between, const std::string& run);
// In a job of one process.
[[nodiscard]] faces_of_job own_faces();

}  // namespace weft::detail
