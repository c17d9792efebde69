// What the kernel keeps for a process and each rank is to have for itself: the working directory and the mask of
// new files. A worker's thread leaves those of its process (CLONE_FS) when one of its ranks first changes them; from then
// on a switch to a rank whose are others changes the thread's. So raw system calls and libraries are right as well,
// and what a rank starts begins there. Ranks that never change any of it pay one branch in a switch.
//
// Each call means the thread that makes it.
#pragma once
#include "job/state.hpp"

namespace weft::process {

// chdir(2) of the path, or fchdir(2) when it is null, for a rank. `on_home`: the rank's own thread calls, not one that it has made.
// Returns the kernel's result, with errno; `is_shared` is set, and nothing done, where the kernel lets no thread leave its process's.
int change_directory_of(const detail::job_rank& me, bool on_home, const char* path, int descriptor,
                        bool& is_shared) noexcept;
unsigned change_mask_of(const detail::job_rank& me, bool on_home, unsigned mask,
                        bool& is_shared) noexcept;

// At the beginning of a thread that this rank makes: what the rank has. Some threads of the rank may have changed it
// when others are joined.
void take_kernel_state_of(const detail::job_rank& me, bool is_new_thread) noexcept;
void forget_kernel_state_of(const detail::job_rank& me) noexcept;

}  // namespace weft::process
