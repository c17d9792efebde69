// Ending early, with all that a program writes.
#pragma once

namespace front {

// Called before the job starts: from now on SIGINT and SIGTERM are only noted, unless they are handled or ignored already.
// A second one ends the process at once.
void end_early_when_interrupted();
// The signal that has come to this process; 0: none. Called by any thread.
[[nodiscard]] int interrupted() noexcept;

}  // namespace front
