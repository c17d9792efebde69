// A process that the program has forked: its memory says that it is what its parent is.
#pragma once

namespace weft {

// Called by any thread: whether this process is not the one in which a job has started last, or, before
// any has, the program.
[[nodiscard]] bool is_forked_child() noexcept;

// Called when a job starts, also in a process that was forked before, as those are that leave their terminal.
void note_process_of_job() noexcept;

// From now on is_forked_child() asks no kernel. Called before there are other threads, by a program that tells
// of its vfork() itself.
void watch_forks() noexcept;
// The calling thread's child of vfork(), which has its parent's memory, begins; or the parent goes on.
void note_vfork(bool begins) noexcept;

}  // namespace weft
