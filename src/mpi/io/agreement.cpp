// How the ranks of a file agree on what has failed, so that a collective call fails on all of them and nobody waits.
#include "mpi/io/file_state.hpp"

namespace weft::mpi {

void contribution_of_rank::note(const file_state& f, const file_outcome& outcome) {
  note([&] { check_outcome(f, outcome); });
}

void fail_as(const weft::communicator& ranks, int rank, int code,
             const contribution_of_rank& mine) {
  struct words {
    char text[320];
  } told{};
  if (ranks.rank() == rank)
    told.text[mine.text.copy(static_cast<char*>(told.text), sizeof told.text - 1)] = '\0';
  told = ranks.bcast(told, rank);
  told.text[sizeof told.text - 1] = '\0';  // Another process may have sent it.
  if (mine.code != MPI_SUCCESS) throw failure(mine.code, mine.text);
  fail(code, "rank {}: {}", rank, static_cast<const char*>(told.text));
}

void agree(const weft::communicator& ranks, const contribution_of_rank& mine) {
  agree_on(ranks, mine, 0, "");
}

void agree_on(const weft::communicator& ranks, contribution_of_rank mine, std::uint64_t value,
              const char* what) {
  struct shown {
    std::uint64_t value;
    std::int32_t code;
    std::int32_t unused;
  };
  const std::vector<shown> all = ranks.allgather(shown{value, mine.code, 0});
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].code != MPI_SUCCESS) fail_as(ranks, static_cast<int>(r), all[r].code, mine);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].value != all[0].value)
      fail(MPI_ERR_NOT_SAME, "{} is {} on rank {} and {} on rank 0: pass the same on all ranks",
           what, static_cast<std::int64_t>(all[r].value), r,
           static_cast<std::int64_t>(all[0].value));
}

void check_outcome(const file_state& f, const file_outcome& outcome) {
  if (outcome.is_good()) return;
  fail(class_of_error(outcome.error), "{} byte {} of file \"{}\": {}", outcome.action, outcome.at,
       printable(f.name), text_of_error(outcome.error));
}

file_object& checked_file(MPI_File file) {
  if (auto* const f = find_object<file_object>(file); f != nullptr) [[likely]]
    return *f;
  if (file == MPI_FILE_NULL)
    fail(MPI_ERR_FILE, "the file is MPI_FILE_NULL: it has not been opened, or is closed");
  fail(MPI_ERR_FILE, "{} is no file, or has been closed", text_of(file));
}

}  // namespace weft::mpi
