// Processes that are started for MPI_Comm_spawn: a job of their own.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "mpi/object/info.hpp"

namespace weft::mpi {

// One program of a job that is to be started.
struct wanted_program {
  std::string command;
  std::vector<std::string> arguments;
  int ranks_max = 0;
  int ranks = 0;  // With the info key `soft` maybe fewer than at most.
  info_entries info;
};

// Checks a program, finds its file (into `command`), and sets `ranks`. Throws failure: MPI_ERR_SPAWN when there is no such file.
void settle(wanted_program& program);

// Whether the info key `host` names another host than this one.
[[nodiscard]] bool starts_elsewhere(const wanted_program& program);

// Starts a job that connects to the port `parent` when its ranks call MPI_Init. Returns its process: that of all ranks, or of the
// launcher where there are several programs, processes or hosts. It has the directory and the mask of modes of the calling thread.
// Throws failure.
[[nodiscard]] pid_t start_job(const std::vector<wanted_program>& programs,
                              const std::string& parent);

// The name of the port of the job that has started this one; empty: none has, or this job has met it.
[[nodiscard]] std::string port_of_parent();
// What the info key `mpi_initial_errhandler` of that said; empty: nothing.
[[nodiscard]] std::string initial_handler();

// How the process has ended, for people; empty: it lives. Once it has been told, its process number may be another's.
[[nodiscard]] std::string end_of(pid_t process);
// A child of which nobody asks how it ends.
void note_child(pid_t process);
// Those of them that have ended leave nothing behind. Called now and then.
void bury_children();

}  // namespace weft::mpi
