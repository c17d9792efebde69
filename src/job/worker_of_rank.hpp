// A process whose ranks need a thread each, say for thread-local variables of their copies.
#pragma once

namespace weft::detail {

// From now on each rank of this process has a worker of its own, whatever options::workers says. Called before the job begins; other
// processes of the job need not call it.
void give_each_rank_a_worker() noexcept;

}  // namespace weft::detail
