/* Windows and files of which a rank dies: its process is named as the reason, and those of the ranks that live go on. The word
   `network`: no store reaches the memory of another process.

   Run with: --on-failure error -n 4 --ranks-per-process 1 --timeout 60 */
#include <signal.h>
#include <unistd.h>

#include "../conform.h"
#include "../file_paths.h"
#include <mpi-ext.h>

/* Of memory of the program's own, which no other process has mapped. */
static MPI_Win window_of(MPI_Comm comm, int** memory) {
  MPI_Win win;
  *memory = calloc(4, sizeof(int));
  MPI_Win_create(*memory, 4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < 4; ++i) (*memory)[i] = -1;
  MPI_Barrier(comm);
  return win;
}

/* Ranks that wait for words of one that is dead: for its epochs, and for its lock. */
static void wait_for_the_dead(MPI_Win win, MPI_Comm comm) {
  MPI_Group all, dead;
  const int last = size - 1;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &last, &dead);
  const int code = MPI_Win_post(dead, 0, win);
  if (code != MPI_SUCCESS) EXPECT_CLASS(code, MPIX_ERR_PROC_FAILED);
  EXPECT_CLASS(MPI_Win_wait(win), MPIX_ERR_PROC_FAILED);
  EXPECT_CLASS(MPI_Win_start(dead, 0, win), MPIX_ERR_PROC_FAILED);
  if (rank == 1) EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPIX_ERR_PROC_FAILED);
  MPI_Group_free(&dead);
  MPI_Group_free(&all);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int is_over_network = argc > 1 && strcmp(argv[1], "network") == 0;
  int *memory, *again, value = 7, back = 0, failed = 0;
  MPI_Comm comm, living;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Win win = window_of(comm, &memory);
  int* more;
  MPI_Win held = window_of(comm, &more);
  MPI_File file;
  make_path("windows-failing");
  EXPECT_INT(MPI_File_open(comm, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_SUCCESS);
  EXPECT_INT(MPI_Win_lock_all(0, win), MPI_SUCCESS);
  /* It dies when nobody is in a collective any more. */
  if (rank != size - 1) MPI_Send(NULL, 0, MPI_INT, size - 1, 3, comm);
  if (rank == size - 1) {
    for (int other = 0; other < size - 1; ++other) MPI_Recv(NULL, 0, MPI_INT, other, 3, comm, MPI_STATUS_IGNORE);
    EXPECT_INT(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, held), MPI_SUCCESS);
    MPI_Send(NULL, 0, MPI_INT, 0, 2, comm);
    kill(getpid(), SIGKILL);
  }
  if (rank == 0) MPI_Recv(NULL, 0, MPI_INT, size - 1, 2, comm, MPI_STATUS_IGNORE);
  EXPECT_CLASS(MPI_Recv(&back, 1, MPI_INT, size - 1, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  /* Where a store reaches the memory, that is there still. */
  for (int way = 0; way < 2; ++way) {
    int code = way == 0 ? MPI_Put(&value, 1, MPI_INT, size - 1, 0, 1, MPI_INT, win)
                        : MPI_Get(&back, 1, MPI_INT, size - 1, 0, 1, MPI_INT, win);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(size - 1, win);
    if (is_over_network || code != MPI_SUCCESS) EXPECT_CLASS(code, MPIX_ERR_PROC_FAILED);
    failed += code != MPI_SUCCESS;
  }
  /* Others are read and written as before. */
  EXPECT_INT(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % (size - 1), 1, 1, MPI_INT, win), MPI_SUCCESS);
  EXPECT_INT(MPI_Win_flush((rank + 1) % (size - 1), win), MPI_SUCCESS);
  EXPECT_INT(MPIX_Comm_shrink(comm, &living), MPI_SUCCESS);
  MPI_Barrier(living);
  EXPECT_INT(memory[1], (rank + size - 2) % (size - 1));
  MPI_Win_unlock_all(win);
  EXPECT_CLASS(MPI_Win_fence(0, win), MPIX_ERR_PROC_FAILED);
  wait_for_the_dead(held, comm);
  EXPECT_CLASS(MPI_File_write_at_all(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  EXPECT_INT(MPI_File_write_at(file, rank * sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_INT(MPI_File_read_at(file, rank * sizeof rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_INT(back, rank);
  MPI_File_close(&file);
  if (rank == 0) unlink(path);
  MPI_Win other = window_of(living, &again);
  EXPECT_INT(MPI_Win_fence(0, other), MPI_SUCCESS);
  EXPECT_INT(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % (size - 1), 2, 1, MPI_INT, other), MPI_SUCCESS);
  EXPECT_INT(MPI_Win_fence(0, other), MPI_SUCCESS);
  EXPECT_INT(again[2], (rank + size - 2) % (size - 1));
  EXPECT_INT(MPI_Win_free(&other), MPI_SUCCESS);
  MPI_Win_free(&win);
  MPI_Win_free(&held);
  int all = 0;
  MPI_Allreduce(&wrong_count, &all, 1, MPI_INT, MPI_SUM, living);
  if (rank == 0) printf(all == 0 ? "right\n" : "wrong: %d\n", all);
  fflush(stdout);
  MPI_Comm_free(&living);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return all != 0 || (is_over_network && failed != 2);
}
