/* Files where something goes wrong or takes long: a disk that is full, a directory that vanishes, a file that ends early, a lock
   that another rank of the same worker holds. Every rank is told, and nobody waits.

   Run with: -n 5 --workers 1 --timeout 60
   Run with: -n 5 --workers 2 --timeout 60
   Run with: -n 4 --processes 2 --timeout 60
   Run with: -n 3 --ranks-per-process 1 --timeout 60 */
#define _GNU_SOURCE
#include "../conform.h"
#include "../file_paths.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Every write there fails for want of space. */
static void full_disk(const char* aggregators) {
  MPI_File file;
  MPI_Status status;
  MPI_Request request;
  MPI_Info info;
  int data[3000] = {0};
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", aggregators);
  EXPECT_INT(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, info, &file), MPI_SUCCESS);
  MPI_Info_free(&info);
  EXPECT_CLASS(MPI_File_write_at_all(file, 100 * rank, data, 3000, MPI_INT, &status), MPI_ERR_NO_SPACE);
  EXPECT_CLASS(MPI_File_write_at(file, 100 * rank, data, 3000, MPI_INT, &status), MPI_ERR_NO_SPACE);
  EXPECT_INT(MPI_File_iwrite_at(file, 0, data, 10, MPI_INT, &request), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
  EXPECT_INT(MPI_File_iwrite_at_all(file, rank, data, 10, MPI_INT, &request), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
  EXPECT_INT(MPI_File_write_all_begin(file, data, 10, MPI_INT), MPI_SUCCESS);
  EXPECT_CLASS(MPI_File_write_all_end(file, data, &status), MPI_ERR_NO_SPACE);
  EXPECT_INT(MPI_File_close(&file), MPI_SUCCESS);
}

static int handled;
static void handle(MPI_File* file, int* code, ...) {
  (void)file;
  int class = 0;
  MPI_Error_class(*code, &class);
  handled += class == MPI_ERR_NO_SPACE;
}

/* An error that a request ends with goes to the handler of its file. */
static void handler_of_a_request(void) {
  MPI_File file;
  MPI_Request request;
  MPI_Errhandler handler;
  int value = 0;
  MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(file, handler);
  MPI_Errhandler_free(&handler);
  MPI_File_iwrite(file, &value, 1, MPI_INT, &request);
  EXPECT_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  EXPECT_INT(handled, 1);
  MPI_File_close(&file);
}

static void vanished_directory(void) {
  char directory[520], inside[540];
  MPI_File file;
  int value = rank;
  snprintf(directory, sizeof directory, "%s.d", path);
  snprintf(inside, sizeof inside, "%s/file", directory);
  if (rank == 0) mkdir(directory, 0700);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(MPI_File_open(MPI_COMM_WORLD, inside, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file),
             MPI_SUCCESS);
  if (rank == 0) EXPECT_INT(unlink(inside) + rmdir(directory), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  /* The file is there for those who have it open, but not to be deleted. */
  EXPECT_INT(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_CLASS(MPI_File_close(&file), MPI_ERR_NO_SUCH_FILE);
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, inside, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
               MPI_ERR_NO_SUCH_FILE);
}

/* Rank 0 waits for the lock that the last rank has, and which that one gives up only when the two have spoken. */
static void lock_of_another_rank(void) {
  MPI_File file;
  int value = 5, word = 0;
  EXPECT_INT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
  MPI_File_set_atomicity(file, 1);
  int descriptor = -1;
  if (rank == size - 1) {
    descriptor = open(path, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 100};
    EXPECT_INT(fcntl(descriptor, F_OFD_SETLK, &lock), 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Request request;
    MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request);
    MPI_Send(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    EXPECT_INT(MPI_File_write_at(file, 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == size - 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(100000);
    struct stat found;
    EXPECT(fstat(descriptor, &found) == 0 && found.st_size == 0, "%ld bytes were written in spite of the lock",
           (long)found.st_size);
    close(descriptor);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  remove_path();
}

/* It becomes shorter while it is open. */
static void shorter_file(void) {
  MPI_File file;
  MPI_Status status;
  char data[100];
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 1000);
  if (rank == 0) EXPECT_INT(truncate(path, 130), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(MPI_File_read_at_all(file, 100 * rank, data, 100, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_INT(count_of(&status, MPI_BYTE), rank == 0 ? 100 : rank == 1 ? 30 : 0);
  MPI_File_close(&file);
  remove_path();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  make_path("failing");
  full_disk("enable");
  full_disk("disable");
  full_disk("automatic");
  handler_of_a_request();
  vanished_directory();
  lock_of_another_rank();
  shorter_file();
  return end();
}
