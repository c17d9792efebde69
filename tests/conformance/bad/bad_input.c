/* Programs that are wrong, one for each word that this one is given. Each must end with a status other
   than 0 and without a hang, and say what is wrong in one line that matches the expression here. A number is
   that of the ranks, of which there are two; in two processes there are twice as many.

   CASE wrong_rank: MPI_Send[(].*rank 7.*MPI_ERR_RANK
   CASE wrong_source: MPI_Recv[(].*MPI_ERR_RANK
   CASE wrong_tag: MPI_Send[(].*-5.*MPI_ERR_TAG
   CASE tag_too_large: MPI_Recv[(].*-9.*MPI_ERR_TAG
   CASE wrong_count: MPI_Irecv[(].*-1.*MPI_ERR_COUNT
   CASE null_datatype: MPI_Send[(].*MPI_ERR_TYPE
   CASE not_committed: MPI_Send[(].*commit.*MPI_ERR_TYPE
   CASE freed_datatype: MPI_Send[(].*MPI_ERR_TYPE
   CASE freed_communicator: MPI_Barrier[(].*MPI_ERR_COMM
   CASE garbage_communicator: MPI_Send[(].*MPI_ERR_COMM
   CASE freed_request: MPI_Wait[(].*MPI_ERR_REQUEST
   CASE freed_operation: MPI_Allreduce[(].*MPI_ERR_OP
   CASE freed_group: MPI_Group_size[(].*MPI_ERR_GROUP
   CASE freed_info: MPI_Info_set[(].*MPI_ERR_INFO
   CASE freed_handler: MPI_Comm_set_errhandler[(].*MPI_ERR_ERRHANDLER
   CASE freed_keyval: MPI_Comm_set_attr[(].*MPI_ERR_KEYVAL
   CASE used_message: MPI_Mrecv[(].*MPI_ERR_REQUEST
   CASE wrong_root: MPI_Bcast[(].*MPI_ERR_ROOT
   CASE null_operation: MPI_Allreduce[(].*MPI_ERR_OP
   CASE truncated: MPI_Recv[(].*(400.*200|200.*400|100.*50|50.*100).*MPI_ERR_TRUNCATE
   CASE before_init: MPI_Comm_rank.*MPI_Init
   CASE after_finalize: MPI_Barrier.*MPI_Finalize
   CASE init_twice: MPI_Init.*
   CASE mismatched_collectives: mismatch on MPI_COMM_WORLD: .*rank [0-9] .*(Barrier.*rank [0-9] .*Bcast|Bcast.*rank [0-9] .*Barrier)
   CASE mismatched_on_copy: mismatch on the copy: rank [0-9] calls MPI_(Barrier|Allreduce)
   CASE mismatched_roots: mismatch on MPI_COMM_WORLD: .*rank [0-9] (calls )?MPI_Bcast of 4 bytes with root [0-9], (but )?rank [0-9] (calls )?MPI_Bcast of 4 bytes with root [0-9]
   CASE missing_broadcast: mismatch on MPI_COMM_WORLD: .*rank [1-9] has not called the last, a broadcast of 4 bytes with root 0
   CASE two_roots 3: MPI_Bcast[(].*rank 1 of the remote group passes MPI_ROOT, but rank 0 names rank 0 of the remote group as the root.*MPI_PROC_NULL
   CASE two_roots_of_gather 3: rank 0 of the remote group (names rank 0 as the root, but rank 1 passes MPI_ROOT|gives rank 1 0 bytes, which takes 4: )
   CASE no_root 3: rank 0 of the remote group gives rank 0 0 bytes, which takes 4: .*MPI_ROOT in the one rank that is the root
   CASE mismatched_operations: rank [0-9] calls MPI_Allreduce of 4 bytes, (max|sum) of int32, but rank [0-9] calls MPI_Allreduce of 4 bytes, (max|sum) of int32
   CASE mismatched_elements: rank [0-9] calls MPI_Reduce of 4 bytes with root 0, sum of (int|float)32, but rank [0-9] calls MPI_Reduce of .*sum of (int|float)32
   CASE deadlock: MPI_Recv
   CASE deadlock_after_threads: MPI_Recv
   CASE wrong_rank_in_a_thread: rank [0-9]: MPI_Send[(].*rank 99.*MPI_ERR_RANK
   CASE wrong_set_in_a_thread: rank [0-9]: MPI_Group_from_session_pset[(]session [0-9]+, "mpi://nobody".*no set of processes.*MPI_ERR_ARG
   CASE session_left: the program ended with 1 session that is not finalised: call MPI_Session_finalize
   CASE session_without_world: MPI_Barrier[(]MPI_COMM_WORLD[)]: MPI_COMM_WORLD is there from MPI_Init to MPI_Finalize.*MPI_Comm_create_from_group.*MPI_ERR_COMM
   CASE session_gone: MPI_Comm_size[(].*no session is left
   CASE communicator_of_gone_session: MPI_Comm_size[(].*has been freed.*MPI_ERR_COMM
   CASE missing_partition: MPI_Wait [(]MPI_Precv_init[)]
   CASE partition_twice: MPI_Pready[(]1, .*partition 1 is ready already.*MPI_ERR_ARG
   CASE deadlock_of_groups: rank 0: in MPI_Recv, source 0 of the remote group, tag 0
   CASE deadlock_of_sends_of_groups: rank 0: in MPI_Ssend, to rank 0 of the remote group, tag 0
   CASE window_lock: rank 1: in MPI_Win_lock of rank 0 of window halo, which rank 0 holds exclusively
   CASE window_start: rank 0: in MPI_Win_start, until rank 1 of window halo posts
   CASE window_wait: rank 0: in MPI_Win_wait, until rank 1 of window halo completes
   CASE window_range: MPI_Put[(].*4 bytes at displacement 100 in units of 4 bytes are beyond the 400 bytes of rank 1 of window halo.*MPI_ERR_RMA_RANGE
   CASE window_sync: MPI_Put[(].*no epoch is open.*rank 1 of window halo.*MPI_Win_fence.*MPI_ERR_RMA_SYNC
   CASE aborted: MPI_Abort.*3
   CASE absent: MPI_Comm_spawn.*there is no program "/no/such/program".*MPI_ERR_SPAWN
   CASE closed_file: MPI_File_read_at[(].*no file, or has been closed.*MPI_ERR_FILE
   CASE missing_file: MPI_File_open[(].*no/such/file.*MPI_ERR_NO_SUCH_FILE
   CASE missing_in_write: deadlock
   CASE aborted_in_write: MPI_Abort.*3
   CASE wrong_rank_in_a_copy: MPI_Send[(].*rank 7.*MPI_ERR_RANK
   CASE without_finalize: MPI_Finalize */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, value[100];

static int sends_to_nobody(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)key, (void)state, (void)in, (void)out;
  *flag = 0;
  return MPI_Send(value, 1, MPI_INT, 7, 0, comm);
}

enum { returned, left, cancelled, ways_to_end };
static void* end_somehow(void* how) {
  if ((MPI_Aint)how == left) pthread_exit(NULL);
  while ((MPI_Aint)how == cancelled) pause();
  return NULL;
}

/* While the rank is in a collective that its end leaves unequal. */
static void* fail_in_thread(void* what) {
  MPI_Session session;
  MPI_Group group;
  usleep(20000);
  if (strcmp(what, "wrong_rank_in_a_thread") == 0)
    MPI_Send(value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  else
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), MPI_Group_from_session_pset(session, "mpi://nobody", &group);
  return NULL;
}

static void ignore(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in;
  (void)inout;
  (void)count;
  (void)type;
}
/* Ranks 0 and 1 are one group, the third and all after it the other. */
static MPI_Comm two_and_one(MPI_Comm comm) {
  MPI_Comm mine, other;
  MPI_Comm_split(comm, rank < 2, rank, &mine);
  MPI_Intercomm_create(mine, 0, comm, rank < 2 ? 2 : 0, 12, &other);
  return other;
}
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
#define CASE(name) if (strcmp(what, #name) == 0)
  MPI_Datatype type = MPI_INT, old;
  MPI_Comm comm = MPI_COMM_WORLD, copy;
  MPI_Request request, again;
  int level = MPI_THREAD_SINGLE;
  CASE(before_init) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strstr(what, "session") != NULL) {
    MPI_Session session, other;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    CASE(session_left) return 0;
    CASE(session_without_world) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "bad", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &copy);
    MPI_Session_finalize(&session);
    CASE(session_gone) MPI_Session_finalize(&other);
    MPI_Comm_size(copy, &size);
  }
  CASE(deadlock_after_threads) level = MPI_THREAD_MULTIPLE;
  if (strstr(what, "_in_a_thread") != NULL) level = MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CASE(wrong_rank) MPI_Send(value, 1, MPI_INT, 7, 0, comm);
  CASE(wrong_rank_in_a_copy) {
    int key;
    MPI_Comm_create_keyval(sends_to_nobody, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, value);
    MPI_Comm_dup(comm, &copy);
  }
  CASE(wrong_source) MPI_Recv(value, 1, MPI_INT, size, 0, comm, MPI_STATUS_IGNORE);
  CASE(wrong_tag) MPI_Send(value, 1, MPI_INT, 0, -5, comm);
  CASE(tag_too_large) MPI_Recv(value, 1, MPI_INT, 0, -9, comm, MPI_STATUS_IGNORE);
  CASE(wrong_count) MPI_Irecv(value, -1, MPI_INT, 0, 0, comm, &request);
  CASE(null_datatype) MPI_Send(value, 1, MPI_DATATYPE_NULL, 0, 0, comm);
  CASE(not_committed) {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Send(value, 1, type, 0, 0, comm);
  }
  CASE(freed_datatype) {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    old = type;
    MPI_Type_free(&type);
    MPI_Send(value, 1, old, 0, 0, comm);
  }
  CASE(freed_communicator) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    comm = copy;
    MPI_Comm_free(&copy);
    MPI_Barrier(comm);
  }
  CASE(garbage_communicator) MPI_Send(value, 1, MPI_INT, 0, 0, (MPI_Comm)value);
  CASE(freed_request) {
    MPI_Irecv(value, 1, MPI_INT, rank, 0, comm, &request);
    again = request;
    MPI_Send(&rank, 1, MPI_INT, rank, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
  }
  CASE(freed_operation) {
    MPI_Op operation, freed;
    MPI_Op_create(ignore, 1, &operation);
    freed = operation;
    MPI_Op_free(&operation);
    MPI_Allreduce(value, value + 1, 1, MPI_INT, freed, comm);
  }
  CASE(freed_group) {
    MPI_Group group, freed;
    MPI_Comm_group(comm, &group);
    freed = group;
    MPI_Group_free(&group);
    MPI_Group_size(freed, value);
  }
  CASE(freed_info) {
    MPI_Info info, freed;
    MPI_Info_create(&info);
    freed = info;
    MPI_Info_free(&info);
    MPI_Info_set(freed, "key", "value");
  }
  CASE(freed_handler) {
    MPI_Errhandler handler, freed;
    MPI_Comm_create_errhandler(handle, &handler);
    freed = handler;
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(comm, freed);
  }
  CASE(freed_keyval) {
    int keyval, freed;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    freed = keyval;
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_set_attr(comm, freed, value);
  }
  CASE(used_message) {
    MPI_Message message, used;
    MPI_Isend(&rank, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Mprobe(rank, 0, comm, &message, MPI_STATUS_IGNORE);
    used = message;
    MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(value, 1, MPI_INT, &used, MPI_STATUS_IGNORE);
  }
  CASE(wrong_root) MPI_Bcast(value, 1, MPI_INT, 5, comm);
  CASE(null_operation) MPI_Allreduce(value, value + 1, 1, MPI_INT, MPI_OP_NULL, comm);
  CASE(truncated) {
    if (rank == 0) MPI_Recv(value, 50, MPI_INT, 1, 0, comm, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(value, 100, MPI_INT, 0, 0, comm);
  }
  CASE(init_twice) MPI_Init(&argc, &argv);
  CASE(mismatched_collectives) {
    if (rank == 0) MPI_Barrier(comm);
    if (rank != 0) MPI_Bcast(value, 1, MPI_INT, 0, comm);
    MPI_Barrier(comm);
  }
  CASE(mismatched_on_copy) {
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_set_name(copy, "the copy");
    if (rank == 0) MPI_Barrier(copy);
    if (rank != 0) MPI_Allreduce(value, value + 1, 1, MPI_INT, MPI_SUM, copy);
  }
  CASE(mismatched_roots) {
    MPI_Bcast(value, 1, MPI_INT, 0, comm);
    MPI_Bcast(value, 1, MPI_INT, rank, comm);
  }
  CASE(missing_broadcast) {
    MPI_Bcast(value, 1, MPI_INT, 1, comm);
    if (rank == 0) MPI_Bcast(value, 1, MPI_INT, 0, comm);
  }
  CASE(two_roots) MPI_Bcast(value, 1, MPI_INT, rank < 2 ? MPI_ROOT : 0, two_and_one(comm));
  CASE(two_roots_of_gather)
    MPI_Gather(value, 1, MPI_INT, value + 1, 1, MPI_INT, rank < 2 ? MPI_ROOT : 0, two_and_one(comm));
  CASE(no_root) MPI_Bcast(value, 1, MPI_INT, rank < 2 ? MPI_PROC_NULL : 0, two_and_one(comm));
  CASE(mismatched_operations)
    MPI_Allreduce(value, value + 1, 1, MPI_INT, rank == 0 ? MPI_MAX : MPI_SUM, comm);
  CASE(mismatched_elements)
    MPI_Reduce(value, value + 1, 1, rank == 0 ? MPI_INT : MPI_FLOAT, MPI_SUM, 0, comm);
  CASE(deadlock) MPI_Recv(value, 1, MPI_INT, (rank + 1) % size, 0, comm, MPI_STATUS_IGNORE);
  if (strncmp(what, "deadlock_of_", 12) == 0) {
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, (rank + size / 2) % size, 0, &comm);
    CASE(deadlock_of_groups) MPI_Recv(value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    CASE(deadlock_of_sends_of_groups) MPI_Ssend(value, 1, MPI_INT, 0, 0, comm);
  }
  if (strncmp(what, "window_", 7) == 0) {
    MPI_Win window;
    MPI_Group group, other;
    const int first = 0, second = 1;
    MPI_Win_create(value, sizeof value, sizeof *value, MPI_INFO_NULL, comm, &window);
    MPI_Win_set_name(window, "halo");
    MPI_Comm_group(comm, &group);
    CASE(window_lock) {
      if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
      MPI_Barrier(comm);
      if (rank == 1) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      MPI_Recv(value, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
    }
    CASE(window_start) {
      MPI_Group_incl(group, 1, &second, &other);
      if (rank == 0) MPI_Win_start(other, 0, window);
    }
    CASE(window_wait) {
      MPI_Group_incl(group, 1, rank == 0 ? &second : &first, &other);
      if (rank == 0) MPI_Win_post(other, 0, window);
      if (rank == 1) MPI_Win_start(other, 0, window);
      if (rank == 0) MPI_Win_wait(window);
    }
    CASE(window_range) {
      MPI_Win_fence(0, window);
      MPI_Put(value, 1, MPI_INT, 1, 100, 1, MPI_INT, window);
    }
    CASE(window_sync) MPI_Put(value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Recv(value, 1, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
  }
  CASE(deadlock_after_threads) {
    for (int end = 0; end < ways_to_end; ++end) {
      pthread_t thread;
      pthread_create(&thread, NULL, end_somehow, (void*)(MPI_Aint)end);
      if (end == cancelled) pthread_cancel(thread);
      pthread_join(thread, NULL);
    }
    MPI_Recv(value, 1, MPI_INT, (rank + 1) % size, 0, comm, MPI_STATUS_IGNORE);
  }
  if (strstr(what, "_in_a_thread") != NULL) {
    pthread_t thread;
    pthread_create(&thread, NULL, fail_in_thread, (void*)what);
    /* As often as the thread lets it: ranks have not made as many calls when it ends the job. */
    for (;;) MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, comm);
  }
  if (strstr(what, "partition") != NULL) {
    MPI_Request requests[2];
    MPI_Psend_init(value, 2, 1, MPI_INT, (rank + 1) % size, 0, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(value + 50, 2, 1, MPI_INT, (rank + size - 1) % size, 0, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(1, requests[0]);
    CASE(partition_twice) MPI_Pready(1, requests[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  CASE(aborted) MPI_Abort(comm, 3);
  CASE(absent) {
    MPI_Comm other;
    MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &other, MPI_ERRCODES_IGNORE);
  }
  CASE(closed_file) {
    MPI_File file, closed;
    MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    closed = file;
    MPI_File_close(&file);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_read_at(closed, 0, value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  CASE(missing_file) {
    MPI_File file;
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(comm, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  }
  CASE(missing_in_write) {
    MPI_File file;
    MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 1) MPI_Recv(value, 1, MPI_INT, 0, 77, comm, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, 4 * rank, value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  CASE(aborted_in_write) {
    MPI_File file;
    MPI_File_open(comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 1) MPI_Abort(comm, 3);
    for (;;) MPI_File_write_at_all(file, 4 * rank, value, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  CASE(without_finalize) return 0;
  MPI_Finalize();
  CASE(after_finalize) MPI_Barrier(comm);
  (void)again;
  return 0;
}
