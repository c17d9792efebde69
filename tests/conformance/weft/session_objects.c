/* What sessions do that MPICH 4.0 does not: errors at the handler of the session, buffers of sessions, sets of processes of
   weft's own, windows and files without MPI_Init, kinds of memory.

   Run with: -n 1
   Run with: -n 5
   Run with: -n 5 --processes 2
   Run with: -n 3 --ranks-per-process 1
   Run with: -n 4 --processes 2 --check */
#include "../conform.h"
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

static MPI_Comm communicator_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, set, &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  EXPECT(made != MPI_COMM_NULL, "no communicator of %s", set);
  MPI_Group_free(&group);
  return made;
}

/* --- Errors ------------------------------------------------------------------------------------------------------ */

static int handled, handled_code;
static void handle(MPI_Session* session, int* code, ...) {
  (void)session;
  ++handled;
  handled_code = *code;
}
static int handled_of_communicators;
static void handle_of_communicator(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled_of_communicators;
}

static void errors(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Errhandler handler, got;
  EXPECT_INT(MPI_Session_create_errhandler(handle, &handler), MPI_SUCCESS); /* Before there is a session. */
  EXPECT_INT(MPI_Session_init(MPI_INFO_NULL, handler, &session), MPI_SUCCESS);
  MPI_Session_get_errhandler(session, &got);
  EXPECT(got == handler, "another handler");
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&handler);
  MPI_Group group = MPI_GROUP_NULL;
  EXPECT(MPI_Group_from_session_pset(session, "mpi://nobody", &group) != MPI_SUCCESS, "a set of nobody");
  EXPECT(handled == 1 && handled_code != MPI_SUCCESS && group == MPI_GROUP_NULL, "%d, %d", handled, handled_code);
  EXPECT_INT(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_SUCCESS);
  EXPECT(handled == 2 && handled_code == MPI_ERR_OTHER, "%d %d", handled, handled_code);
  EXPECT_INT(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN), MPI_SUCCESS);
  EXPECT(MPI_Group_from_session_pset(session, "weft", &group) != MPI_SUCCESS, "a set without a name");
  int length = 0;
  EXPECT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 100, &length, NULL) != MPI_SUCCESS, "a 100th set");
  EXPECT_INT(handled, 2);

  /* What makes a communicator calls the handler that it is given. */
  MPI_Errhandler of_communicators;
  MPI_Comm_create_errhandler(handle_of_communicator, &of_communicators);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  EXPECT_INT(MPI_Comm_create_from_group(group, "errors", MPI_INFO_NULL, of_communicators, &comm), MPI_SUCCESS);
  EXPECT(MPI_Send(&rank, 1, MPI_INT, size, 0, comm) != MPI_SUCCESS, "a rank too many");
  EXPECT_INT(handled_of_communicators, 1);
  MPI_Errhandler_free(&of_communicators);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  const MPI_Session gone = session;
  EXPECT_INT(MPI_Session_finalize(&session), MPI_SUCCESS);
  EXPECT(gone != session, "the session has a value");
}

/* Errors of calls that are wrong from the start. */
static void wrong_calls(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MANY");
  EXPECT_CLASS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO_VALUE);
  EXPECT(session == MPI_SESSION_NULL, "a session was made");
  MPI_Info_free(&info);
  EXPECT_CLASS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG);

  EXPECT_INT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
  MPI_Group world, others = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_WORLD;
  EXPECT_CLASS(MPI_Group_from_session_pset(session, "mpi://nobody", &others), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Group_from_session_pset(session, NULL, &others), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  static char long_tag[MPI_MAX_STRINGTAG_LEN + 1];
  memset(long_tag, 'x', MPI_MAX_STRINGTAG_LEN);
  EXPECT_CLASS(MPI_Comm_create_from_group(world, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Comm_create_from_group(world, long_tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
  EXPECT_INT(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_SUCCESS);
  EXPECT(made == MPI_COMM_NULL, "a communicator of nobody");
  MPI_Group_excl(world, 1, &rank, &others);
  EXPECT_CLASS(MPI_Comm_create_from_group(others, "others", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), size > 1 ? MPI_ERR_GROUP : MPI_SUCCESS);
  EXPECT_CLASS(MPI_Intercomm_create_from_groups(world, 0, world, 0, "same", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
               rank == 0 ? MPI_ERR_GROUP : MPI_ERR_OTHER);
  if (size > 1 && rank < 2) { /* The leader of one group fails: the other's does not wait for it. */
    MPI_Group mine, both;
    MPI_Group_incl(world, 1, &rank, &mine);
    MPI_Group_incl(world, 2, (const int[]){0, 1}, &both);
    if (rank == 0)
      EXPECT_CLASS(MPI_Intercomm_create_from_groups(mine, 0, both, 1, "one fails", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                   MPI_ERR_GROUP);
    MPI_Group first;
    MPI_Group_incl(world, 1, (const int[]){0}, &first);
    if (rank == 1)
      EXPECT_CLASS(MPI_Intercomm_create_from_groups(mine, 0, first, 0, "one fails", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                   MPI_ERR_OTHER);
    MPI_Group_free(&mine);
    MPI_Group_free(&both);
    MPI_Group_free(&first);
  }
  if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
  MPI_Group_free(&world);
  MPI_Session_finalize(&session);
}


/* --- Buffers ----------------------------------------------------------------------------------------------------- */

enum { long_message = 100000 };
static char given[long_message], taken[long_message], room[2 * (long_message + MPI_BSEND_OVERHEAD)];

static void buffers(void) {
  MPI_Session one, other;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
  MPI_Comm of_one = communicator_of(one, "mpi://WORLD", "one"), of_other = communicator_of(other, "mpi://WORLD", "other");
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  EXPECT_INT(MPI_Session_attach_buffer(one, room, sizeof room), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Session_attach_buffer_c(one, room, sizeof room), MPI_ERR_BUFFER);
  /* The other session has none. */
  if (size > 1) EXPECT_CLASS(MPI_Bsend(given, long_message, MPI_CHAR, right, 1, of_other), MPI_ERR_BUFFER);
  memset(given, rank + 1, sizeof given);
  EXPECT_INT(MPI_Bsend(given, long_message, MPI_CHAR, right, 1, of_one), MPI_SUCCESS);
  MPI_Recv(taken, long_message, MPI_CHAR, left, 1, of_one, MPI_STATUS_IGNORE);
  EXPECT(taken[0] == left + 1 && taken[long_message - 1] == left + 1, "%d", taken[0]);
  EXPECT_INT(MPI_Session_flush_buffer(one), MPI_SUCCESS);
  MPI_Request flushed;
  EXPECT_INT(MPI_Session_iflush_buffer(one, &flushed), MPI_SUCCESS);
  MPI_Wait(&flushed, MPI_STATUS_IGNORE);
  void* address = NULL;
  MPI_Count bytes = 0;
  EXPECT_INT(MPI_Session_detach_buffer_c(one, &address, &bytes), MPI_SUCCESS);
  EXPECT(address == room && bytes == sizeof room, "%p, %lld", address, (long long)bytes);
  EXPECT_INT(MPI_Session_attach_buffer_c(other, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
  EXPECT_INT(MPI_Bsend(given, long_message, MPI_CHAR, right, 1, of_other), MPI_SUCCESS);
  MPI_Recv(taken, long_message, MPI_CHAR, left, 1, of_other, MPI_STATUS_IGNORE);
  int few = -1;
  EXPECT_INT(MPI_Session_detach_buffer(other, &address, &few), MPI_SUCCESS);
  EXPECT(address == MPI_BUFFER_AUTOMATIC, "%p", address);
  MPI_Comm_free(&of_one);
  MPI_Comm_free(&of_other);
  MPI_Session_finalize(&one);
  MPI_Session_finalize(&other);
}

/* --- Sets of processes, kinds of memory ---------------------------------------------------------------------------- */

static void expect_kinds(MPI_Info* used, const char* wanted, const char* of) {
  char value[128] = "";
  int is_there = 0, length = sizeof value;
  MPI_Info_get_string(*used, "mpi_memory_alloc_kinds", &length, value, &is_there);
  EXPECT(is_there && strcmp(value, wanted) == 0, "%s: %s", of, value);
  MPI_Info_free(used);
}

/* Objects of a session have its kinds. */
static void kinds_of_memory(const char* asked, const char* kinds) {
  MPI_Session session;
  MPI_Info info, used;
  MPI_Win win;
  MPI_File file;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_memory_alloc_kinds", asked);
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Comm own = communicator_of(session, "mpi://SELF", "kinds"), copy;
  MPI_Session_get_info(session, &used);
  expect_kinds(&used, kinds, "session");
  MPI_Comm_get_info(own, &used);
  expect_kinds(&used, kinds, "communicator");
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda"); /* A hint does not change what there is; an assertion is kept. */
  MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system");
  MPI_Comm_dup_with_info(own, info, &copy);
  MPI_Comm_get_info(copy, &used);
  char value[32] = "";
  int is_there = 0, length = sizeof value;
  MPI_Info_get_string(used, "mpi_assert_memory_alloc_kinds", &length, value, &is_there);
  EXPECT(is_there && strcmp(value, "system") == 0, "%d %s", is_there, value);
  expect_kinds(&used, kinds, "copy");
  MPI_Info_free(&info);
  MPI_Win_create_dynamic(MPI_INFO_NULL, own, &win);
  MPI_Win_get_info(win, &used);
  expect_kinds(&used, kinds, "window");
  MPI_Win_free(&win);
  char name[64];
  snprintf(name, sizeof name, "/tmp/weft-kinds-%ld-%d", (long)syscall(SYS_getpid), rank);
  MPI_File_open(own, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_get_info(file, &used);
  expect_kinds(&used, kinds, "file");
  MPI_File_close(&file);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&own);
  MPI_Session_finalize(&session);
}

static void sets_of_weft(void) {
  MPI_Session session;
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda,mpi:win_allocate,system");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Session_get_info(session, &used);
  char value[128] = "";
  int is_there = 0, length = sizeof value;
  MPI_Info_get_string(used, "mpi_memory_alloc_kinds", &length, value, &is_there);
  EXPECT(is_there && strcmp(value, "mpi:win_allocate,system,mpi") == 0, "%s", value);
  MPI_Info_free(&used);
  /* The ranks of one process share its number; each set makes a communicator on every rank at once. */
  MPI_Comm process = communicator_of(session, "weft://process", "process");
  MPI_Comm node = communicator_of(session, "WEFT://node", "node");
  MPI_Comm all = communicator_of(session, "MPI://WORLD", "all");
  long pid = syscall(SYS_getpid), lowest = 0, highest = 0;
  MPI_Allreduce(&pid, &lowest, 1, MPI_LONG, MPI_MIN, process);
  MPI_Allreduce(&pid, &highest, 1, MPI_LONG, MPI_MAX, process);
  EXPECT(lowest == highest, "%ld to %ld", lowest, highest);
  int of_process = 0, of_node = 0, of_all = 0;
  MPI_Comm_size(process, &of_process);
  MPI_Comm_size(node, &of_node);
  MPI_Comm_size(all, &of_all);
  EXPECT(of_process <= of_node && of_node == of_all, "%d %d %d", of_process, of_node, of_all);
  MPI_Comm_free(&process);
  MPI_Comm_free(&node);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
}

/* --- Windows and files without MPI_Init ---------------------------------------------------------------------------- */

static void windows_and_files(MPI_Comm comm) {
  MPI_Win win;
  int* memory;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  *memory = -1;
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  EXPECT_INT(*memory, (rank + size - 1) % size);
  MPI_Win_free(&win);
  char path[64];
  snprintf(path, sizeof path, "/tmp/weft_session_file_%d", (int)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm);
  MPI_File file;
  MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  int got = -1;
  MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
  EXPECT_INT(got, rank);
  MPI_File_close(&file);
}

/* Sessions that come and go leave no memory behind. The other ranks of the process have some under way: so the least that
   each turn has seen is compared. */
static void cycles(void) {
  enum { turns = 5, each = 30 };
  long least[turns] = {0};
  for (int i = 0; i < turns * each; ++i) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm comm = communicator_of(session, "mpi://WORLD", "cycle");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    long* const now = &least[i / each];
    const long used = (long)mallinfo2().uordblks;
    if (*now == 0 || used < *now) *now = used;
  }
  const long more = least[turns - 1] - least[turns - 3]; /* The first turns warm up. */
  EXPECT(more < 16 * 1024, "%ld bytes in %d cycles", more, 2 * each);
}

int main(void) {
  MPI_Session session = MPI_SESSION_NULL;
  EXPECT_INT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
  MPI_Comm all = communicator_of(session, "mpi://WORLD", "main");
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  errors();
  wrong_calls();
  buffers();
  sets_of_weft();
  kinds_of_memory("system", "system,mpi");
  kinds_of_memory(" mpi:alloc_mem : win_allocate , mpi:of_mine,mpi:,mpi::alloc_mem,system:,rocm,,mpi:alloc_mem",
                  "mpi:alloc_mem:win_allocate,mpi:alloc_mem,mpi,system");
  windows_and_files(all);
  if (getenv("WEFT_CHECK") == NULL) cycles(); /* A checked job remembers. */
  int wrong = 0;
  MPI_Allreduce(&wrong_count, &wrong, 1, MPI_INT, MPI_SUM, all);
  if (rank == 0) printf(wrong == 0 ? "right\n" : "wrong: %d\n", wrong);
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
  return wrong != 0;
}
