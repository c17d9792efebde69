// Programs whose ranks run the constructors of their globals themselves, as those that weftcc links do. What static objects
// of such a program register is known only from then on.
#pragma once

namespace weft::detail {

struct job_rank;

// Called by whoever runs such programs in ranks, before the job begins.
void expect_constructors() noexcept;
// Called by each rank of such a program when its constructors have run, before its main(). The first rank of the process
// counts, in whose copy other processes call.
void note_constructors_have_run(const job_rank& me) noexcept;
// False: the first rank of this process still has to run them. Called by any thread; who sees true sees what they have
// registered.
[[nodiscard]] bool have_constructors_run() noexcept;

}  // namespace weft::detail
