// weft-host: the process of a program that has several ranks in it. The program makes room for it
// (process/loader/start.cpp); it loads a copy of the program for each rank and runs its main(). What it
// defines in place of libc's, exit() and the like, lies in src/process, in files named host_* and both_*.
#include <malloc.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/forked_child.hpp"
#include "base/log.hpp"
#include "base/private_code.hpp"
#include "base/settings.hpp"
#include "base/topology.hpp"
#include "job/worker_of_rank.hpp"
#include "process/files/descriptors.h"
#include "process/files/host_locks.h"
#include "process/files/host_program_path.h"
#include "process/files/host_streams.h"
#include "process/life/program.h"
#include "process/life/program.hpp"
#include "process/loader/image.hpp"
#include "process/loader/libraries.hpp"
#include "process/signals/own_number.h"
#include "process/signals/signals.h"
#include "weft/error.hpp"
#include "weft/run.hpp"

namespace {

// The ranks, and what they start, see the environment that the program was given.
weft::process::host_request take_request() {
  const char* const text = std::getenv(weft::process::host_variable);
  if (text == nullptr)
    throw weft::error("weft-host is started by programs that weftcc has linked: start those");
  weft::process::host_request request = weft::process::host_request::parse(text);
  ::unsetenv(weft::process::host_variable);
  for (const std::string& word : request.restored)
    if (const std::size_t end = word.find('='); end == word.npos)
      ::unsetenv(word.c_str());
    else
      ::setenv(word.substr(0, end).c_str(), word.c_str() + end + 1, 1);
  return request;
}

int cores() {
  return static_cast<int>(weft::machine_topology().threads.size());
}

int ranks_of_process(const weft::options& how) {
  return how.ranks == 0 ? cores() : std::max(1, how.ranks / std::max(1, how.processes));
}

// OpenMP's teams, where nobody has said how large they are: the ranks' together fill the cores.
void choose_team_size(const weft::options& how) {
  ::setenv("OMP_NUM_THREADS", std::to_string(std::max(1, cores() / ranks_of_process(how))).c_str(),
           0);
}

// The allocator keeps what ranks free, as that of a process for each does after its first large array: it would give the
// pages of each array back, and each next one would take as many page faults, under one lock of the address space. Not where
// the user has told it what to keep.
void keep_freed_memory(int ranks) {
  const char* const tunables = ::getenv("GLIBC_TUNABLES");
  for (const char* const name : {"mmap_threshold=", "mmap_max=", "trim_threshold=", "top_pad="})
    if (tunables != nullptr && std::string_view(tunables).find(std::string("glibc.malloc.") +
                                                               name) != std::string_view::npos)
      return;
  for (const char* const name :
       {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"})
    if (::getenv(name) != nullptr) return;
  constexpr int largest_kept = 32 << 20;  // The C library's limit.
  constexpr int kept_of_rank = 2 * largest_kept, kept_most = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, largest_kept);
  ::mallopt(M_TRIM_THRESHOLD, std::min(ranks, kept_most / kept_of_rank) * kept_of_rank);
}

int run(int argc, char** argv) {
  static const weft::process::host_request request = take_request();
  ::weft_set_program_path(request.program.c_str());
  weft::note_code_of_weft(reinterpret_cast<const void*>(&run));
  weft::watch_forks();
  ::weft_set_children(&::weft_rank_of_child, &::weft_next_ended_child);
  ::weft_set_rank_end([](int rank) {
    ::weft_drop_locks_of(rank);
    ::weft_end_own_number(rank);
    ::weft_forget_signals(rank);
    ::weft_end_descriptors_of(rank);
  });
  ::prctl(PR_SET_NAME, request.program.substr(request.program.rfind('/') + 1).c_str());
  weft::options how = weft::process::program_options(argc, argv).values;
  choose_team_size(how);
  if (ranks_of_process(how) > 1) keep_freed_memory(ranks_of_process(how));
  // Kept: a thread that a rank has left behind may still open libraries.
  auto& program = *new weft::process::image_program(request.program, request.libraries, how.check);
  if (const std::string why = how.moving != "off" ? program.bound_to_threads_by() : "";
      !why.empty()) {
    how.moving = "off";
    weft::log_line("moving: workers stay on their threads, since {}", why);
  }
  if (program.needs_thread_of_rank()) {
    weft::detail::give_each_rank_a_worker();
    how.helpers = 0;  // They steal chunks, and have no thread-local variables of the program.
  }
  return weft::process::run_program(how, argc, argv, [&](int) {
    ::weft_accept_signals();
    auto copy = std::make_shared<weft::process::image>(program.load());
    return weft::process::program_copy{copy->main(),
                                       [copy](int count, char** words, char** environment) {
                                         copy->construct(count, words, environment);
                                       },
                                       [copy] {
                                         copy->destroy();
                                         ::weft_flush_streams();
                                       },
                                       &copy->own(), copy->statics()};
  });
}

// For the wrappers: `words` are a program and the libraries that the loader would bring for it.
int tell_of_shared_state(std::span<char* const> words) {
  int none = 1;
  char* no_words[] = {words[0], nullptr};
  (void)weft::resolve_options(none, no_words);
  const std::vector<std::string> libraries(words.begin() + 1, words.end());
  for (const auto& one : weft::process::choose_libraries(weft::process::elf_file(words[0]),
                                                         libraries, weft::library_lists())
                             .shared)
    weft::log_text(weft::process::text_of(one));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 2;
  if (argc > 2 && std::string_view(argv[1]) == "--weft-shared-state") {
    try {
      return tell_of_shared_state(std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
    } catch (const weft::error&) {
      return 0;  // What was linked is no program, say: the linker has told all that there is to tell.
    }
  }
  try {
    status = run(argc, argv);
  } catch (const weft::error& e) {
    weft::log_text(e.what());
  }
  std::fflush(nullptr);
  // After a failure the globals of ranks that were stopped are as they were left: their destructors
  // do not run.
  if (status != 0 || weft::process::has_rank_ended_at_once()) std::_Exit(status);
  return 0;
}
