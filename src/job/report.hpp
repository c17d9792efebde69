// What the ranks of this process wait for, in words and as records: asked of the faces.
#pragma once
#include <map>
#include <string>

#include "job/state.hpp"

namespace weft::detail {

// The wait that keeps the rank from its end; of one that has ended, of what goes on beside it. Null: none. Called while
// no worker runs.
[[nodiscard]] const wait_description* wait_of(const job_rank& r);
// What the rank waits for, as the face says it whose wait it is. Called by the rank's worker, or while none runs.
[[nodiscard]] wait_record record_of(const job_rank& r, const wait_description& what);
// What this process knows for a report of a deadlock (diagnosis/waits.hpp), as one string that the others can be sent.
// Called while no worker runs.
[[nodiscard]] std::string describe_waits(const job& j);
// The state of the ranks of one worker, for a person, by number. Called by that worker.
void append_worker_report(const job& j, worker& only, std::map<int, std::string>& lines);

}  // namespace weft::detail
