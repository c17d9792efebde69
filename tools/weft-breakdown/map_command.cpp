#include <algorithm>
#include <cstdio>

#include "breakdown/analysis.hpp"
#include "breakdown/mapping.hpp"
#include "breakdown/record.hpp"
#include "weft-breakdown/commands.hpp"

namespace weft {

void print_map(const map_request& request) {
  const breakdown::summary s = breakdown::summarise(breakdown::read_record(request.file));
  const int workers =
      request.workers != 0 ? request.workers : std::max(1, std::min(s.cores, s.ranks));
  std::fputs(breakdown::text_of(breakdown::map_by_communication(s, workers), s).c_str(), stdout);
}

}  // namespace weft
