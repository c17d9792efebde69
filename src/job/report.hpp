// What the ranks of this process wait for, in words and as records. The faces are asked for it.
#pragma once
#include <map>
#include <string>

#include "job/state.hpp"

namespace weft::detail {

// The wait that the rank is in. For a rank that has ended, the wait of a non-blocking collective that it has left
// behind. Null: none. Called while no worker runs.
[[nodiscard]] const wait_description* wait_of(const job_rank& r);
// What the rank waits for, in the words of the face whose wait it is. Called by the rank's worker, or while no worker
// runs.
[[nodiscard]] diagnosis::wait_record record_of(const job_rank& r, const wait_description& what);
// This process's part of a deadlock report (diagnosis/waits.hpp), as a string that can be sent to other processes.
// Called while no worker runs.
[[nodiscard]] std::string describe_waits(const job& j);
// Adds the state of the ranks of one worker, a text for each by its number. Called by that worker.
void append_worker_report(const job& j, worker& only, std::map<int, std::string>& lines);

}  // namespace weft::detail
