/* What weft has beyond the standard, but for failures: callbacks with extra state, the blocks of a datatype, functions that are
   called in waits.

   Run with: -n 1
   Run with: -n 5
   Run with: -n 5 --processes 2
   Run with: -n 3 --ranks-per-process 1
   Run with: -n 4 --processes 2 --check */
#include "../conform.h"

#define CALLS(x) EXPECT_INT((x), MPI_SUCCESS)

/* --- Operations ----------------------------------------------------------------------------------------------------------- */

struct weights {
  int factor;
  int calls;
  int destroyed;
};

static void add_weighted(void* in, void* inout, MPI_Count count, MPI_Datatype type, void* state) {
  struct weights* w = state;
  (void)type;
  ++w->calls;
  for (MPI_Count i = 0; i < count; ++i) ((int*)inout)[i] += w->factor * ((int*)in)[i];
}
static void destroy(void* state) { ++((struct weights*)state)->destroyed; }

/* Sums the rank numbers and leaves the last rank's out of the factor, which is 1 for all that communicate. */
static void operations(void) {
  struct weights one = {1, 0, 0}, other = {10, 0, 0};
  MPI_Op op, ten;
  CALLS(MPIX_Op_create_x(add_weighted, destroy, 1, &one, &op));
  CALLS(MPIX_Op_create_x(add_weighted, NULL, 0, &other, &ten));
  int mine[3] = {rank, 2 * rank, 1}, all[3];
  CALLS(MPI_Allreduce(mine, all, 3, MPI_INT, op, MPI_COMM_WORLD));
  EXPECT(all[0] == size * (size - 1) / 2 && all[1] == 2 * all[0] && all[2] == size, "%d %d %d", all[0], all[1], all[2]);
  int left = 2, right = 5, commutes = -1;
  CALLS(MPI_Reduce_local(&left, &right, 1, MPI_INT, ten));
  EXPECT_INT(right, 25);
  EXPECT_INT(other.calls, 1);
  CALLS(MPI_Op_commutative(ten, &commutes));
  EXPECT_INT(commutes, 0);
  /* A collective under way keeps the state. */
  MPI_Request r;
  CALLS(MPI_Iallreduce(mine, all, 3, MPI_INT, op, MPI_COMM_WORLD, &r));
  CALLS(MPI_Op_free(&op));
  CALLS(MPI_Wait(&r, MPI_STATUS_IGNORE));
  EXPECT_INT(all[2], size);
  EXPECT_INT(one.destroyed, 1);
  EXPECT(op == MPI_OP_NULL, "a freed handle is left");
  CALLS(MPI_Op_free(&ten));
  EXPECT_INT(other.destroyed, 0);
}

/* --- Error handlers ------------------------------------------------------------------------------------------------------- */

struct seen {
  int errors, class, destroyed;
  MPI_Comm comm;
};
static void note(MPI_Comm comm, int code, void* state) {
  struct seen* s = state;
  ++s->errors;
  MPI_Error_class(code, &s->class);
  s->comm = comm;
}
static void note_session(MPI_Session session, int code, void* state) {
  (void)session;
  ++((struct seen*)state)->errors;
  MPI_Error_class(code, &((struct seen*)state)->class);
}
static void note_window(MPI_Win win, int code, void* state) {
  (void)win;
  ++((struct seen*)state)->errors;
  MPI_Error_class(code, &((struct seen*)state)->class);
}
static void note_file(MPI_File file, int code, void* state) {
  (void)file;
  ++((struct seen*)state)->errors;
  MPI_Error_class(code, &((struct seen*)state)->class);
}
static void gone(void* state) { ++((struct seen*)state)->destroyed; }
/* Takes the handler off while it runs. */
static void leave(MPI_Comm comm, int code, void* state) {
  struct seen* s = state;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (s->destroyed == 0) note(comm, code, state);
}

static void error_handlers(void) {
  struct seen of_comm = {0}, of_session = {0}, of_win = {0}, of_file = {0};
  MPI_Errhandler h;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CALLS(MPIX_Comm_create_errhandler_x(note, gone, &of_comm, &h));
  CALLS(MPI_Comm_set_errhandler(comm, h));
  CALLS(MPI_Errhandler_free(&h));
  EXPECT_INT(of_comm.destroyed, 0); /* The communicator has it. */
  EXPECT_CLASS(MPI_Send(&rank, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  EXPECT(of_comm.errors == 1 && of_comm.class == MPI_ERR_RANK && of_comm.comm == comm, "%d errors, class %d", of_comm.errors,
         of_comm.class);
  MPI_Comm_free(&comm);
  EXPECT_INT(of_comm.destroyed, 1);

  struct seen once = {0};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CALLS(MPIX_Comm_create_errhandler_x(leave, gone, &once, &h));
  CALLS(MPI_Comm_set_errhandler(comm, h));
  CALLS(MPI_Errhandler_free(&h));
  for (int i = 0; i < 2; ++i) EXPECT_CLASS(MPI_Send(&rank, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  EXPECT(once.errors == 1 && once.destroyed == 1, "%d errors, %d times destroyed", once.errors, once.destroyed);
  MPI_Comm_free(&comm);

  MPI_Session session;
  CALLS(MPIX_Session_create_errhandler_x(note_session, gone, &of_session, &h));
  CALLS(MPI_Session_init(MPI_INFO_NULL, h, &session));
  EXPECT_CLASS(MPI_Session_call_errhandler(session, MPI_ERR_OTHER), MPI_SUCCESS);
  EXPECT(of_session.errors == 1 && of_session.class == MPI_ERR_OTHER, "%d errors", of_session.errors);
  CALLS(MPI_Session_finalize(&session));
  EXPECT_INT(of_session.destroyed, 0);
  CALLS(MPI_Errhandler_free(&h));
  EXPECT_INT(of_session.destroyed, 1);

  MPI_Win win;
  CALLS(MPIX_Win_create_errhandler_x(note_window, NULL, &of_win, &h));
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  CALLS(MPI_Win_set_errhandler(win, h));
  CALLS(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
  EXPECT(of_win.errors == 1 && of_win.class == MPI_ERR_RMA_RANGE, "%d errors", of_win.errors);
  MPI_Win_free(&win);
  /* It is for windows. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h), MPI_ERR_ERRHANDLER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CALLS(MPI_Errhandler_free(&h));

  CALLS(MPIX_File_create_errhandler_x(note_file, gone, &of_file, &h));
  CALLS(MPI_File_set_errhandler(MPI_FILE_NULL, h));
  MPI_File file;
  EXPECT_CLASS(MPI_File_open(MPI_COMM_SELF, "/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  EXPECT(of_file.errors == 1 && of_file.class == MPI_ERR_NO_SUCH_FILE, "%d errors, class %d", of_file.errors, of_file.class);
  CALLS(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CALLS(MPI_Errhandler_free(&h));
  EXPECT_INT(of_file.destroyed, 1);
}

/* --- Blocks of a datatype ------------------------------------------------------------------------------------------------- */

/* What is packed is what the blocks hold, one behind the other. */
static void blocks_of(MPI_Datatype type, const char* what, MPI_Count wanted) {
  static char memory[1 << 14];
  char packed[1 << 12], gathered[1 << 12];
  MPIX_Iov all[256], some[3];
  MPI_Count count = -1, bytes = -1, listed = -1, size_of = 0;
  int at = 0;
  for (int i = 0; i < LENGTH(memory); ++i) memory[i] = (char)(i * 7 + i / 251);
  char* const base = memory + 4096;
  MPI_Type_commit(&type);
  MPI_Type_size_c(type, &size_of);
  CALLS(MPIX_Type_iov_len(type, -1, &count, &bytes));
  EXPECT(count == wanted && bytes == size_of, "%s: %lld blocks, %lld bytes", what, (long long)count, (long long)bytes);
  CALLS(MPIX_Type_iov(type, 0, all, LENGTH(all), &listed));
  EXPECT_INT(listed, count);
  MPI_Pack(base, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF);
  MPI_Aint to = 0;
  for (MPI_Count i = 0; i < listed; ++i) {
    memcpy(gathered + to, base + (MPI_Aint)all[i].iov_base, (size_t)all[i].iov_len);
    to += all[i].iov_len;
  }
  EXPECT(to == at && memcmp(gathered, packed, (size_t)to) == 0, "%s: the blocks are not what is packed", what);
  /* From every block on, and as many as have so many bytes. */
  MPI_Aint before = 0;
  for (MPI_Count i = 0; i <= count; ++i) {
    MPI_Count few = -1, fit = -1, fit_bytes = -1;
    CALLS(MPIX_Type_iov(type, i, some, 3, &few));
    EXPECT_INT(few, count - i < 3 ? count - i : 3);
    for (MPI_Count k = 0; k < few; ++k)
      EXPECT(some[k].iov_base == all[i + k].iov_base && some[k].iov_len == all[i + k].iov_len, "%s: block %d", what, (int)(i + k));
    CALLS(MPIX_Type_iov_len(type, before, &fit, &fit_bytes));
    EXPECT(fit == i && fit_bytes == before, "%s: %d blocks have %d bytes", what, (int)fit, (int)fit_bytes);
    if (i < count) before += all[i].iov_len;
  }
}

static void blocks(void) {
  MPI_Datatype column, matrix, box, odd, moved, rows, tile, tiles, none;
  blocks_of(MPI_INT, "an int", 1);
  MPI_Type_vector(5, 1, 3, MPI_DOUBLE, &column);
  blocks_of(column, "a column", 5);
  MPI_Type_create_hvector(3, 1, 200, column, &matrix);
  blocks_of(matrix, "columns", 15);
  MPI_Type_create_hvector(2, 1, 1000, matrix, &box);
  blocks_of(box, "columns of two matrices", 30);
  const int lengths[3] = {2, 0, 3}, places[3] = {40, 7, -2};
  MPI_Type_indexed(3, lengths, places, MPI_INT, &odd);
  blocks_of(odd, "blocks in another order", 2);
  MPI_Type_contiguous(4, odd, &rows);
  blocks_of(rows, "blocks in another order, four times", 8);
  const int two = 2;
  const MPI_Aint far_off = 1000;
  MPI_Type_create_hindexed(1, &two, &far_off, MPI_INT, &moved);
  blocks_of(moved, "a block elsewhere", 1);
  const int shape[2] = {6, 8}, part[2] = {2, 3}, start[2] = {1, 2};
  MPI_Type_create_subarray(2, shape, part, start, MPI_ORDER_C, MPI_INT, &tile);
  blocks_of(tile, "a part of an array", 2);
  MPI_Type_create_hvector(2, 2, 600, tile, &tiles);
  blocks_of(tiles, "parts of four arrays", 8);
  MPI_Type_contiguous(0, MPI_INT, &none);
  blocks_of(none, "nothing", 0);
  MPI_Count n = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPIX_Type_iov_len(MPI_DATATYPE_NULL, -1, &n, &n), MPI_ERR_TYPE);
  EXPECT_CLASS(MPIX_Type_iov(column, -1, NULL, 0, &n), MPI_ERR_ARG);
  EXPECT_CLASS(MPIX_Type_iov(column, 0, NULL, 1, &n), MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&column);
  MPI_Type_free(&matrix);
  MPI_Type_free(&box);
  MPI_Type_free(&odd);
  MPI_Type_free(&moved);
  MPI_Type_free(&rows);
  MPI_Type_free(&tile);
  MPI_Type_free(&tiles);
  MPI_Type_free(&none);
}

/* --- Functions in waits --------------------------------------------------------------------------------------------------- */

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int nothing_to_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int not_cancelled(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

struct rounds_left {
  int left, calls;
  MPI_Request request;
};
static int count_down(MPIX_Async_thing thing) {
  struct rounds_left* c = MPIX_Async_get_state(thing);
  ++c->calls;
  if (--c->left > 0) return MPIX_ASYNC_NOPROGRESS;
  MPI_Grequest_complete(c->request);
  return MPIX_ASYNC_DONE;
}

/* A wait in which nothing happens but what the hooks do. */
static void completes_a_request(void) {
  struct rounds_left slow = {100, 0, MPI_REQUEST_NULL}, fast = {3, 0, MPI_REQUEST_NULL};
  CALLS(MPI_Grequest_start(query, nothing_to_free, not_cancelled, NULL, &slow.request));
  CALLS(MPI_Grequest_start(query, nothing_to_free, not_cancelled, NULL, &fast.request));
  EXPECT_INT(MPIX_Request_is_complete(slow.request), 0);
  CALLS(MPIX_Async_start(count_down, &slow, MPIX_STREAM_NULL));
  CALLS(MPIX_Async_start(count_down, &fast, MPIX_STREAM_NULL));
  MPI_Request copy = slow.request;
  CALLS(MPI_Wait(&fast.request, MPI_STATUS_IGNORE));
  EXPECT(fast.calls == 3, "%d calls", fast.calls);
  int flag = 0;
  while (!flag) CALLS(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE)); /* A test that fails calls them, too. */
  EXPECT(slow.calls == 100, "%d calls", slow.calls);
}

struct relay {
  int value, state;
  MPI_Request request;
};
/* Receives from the left, adds one, sends to the right: a hook that uses MPI as the rank does. */
static int pass_on(MPIX_Async_thing thing) {
  struct relay* r = MPIX_Async_get_state(thing);
  if (r->state == 0) {
    MPI_Irecv(&r->value, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &r->request);
    r->state = 1;
  }
  int flag = 0;
  MPI_Test(&r->request, &flag, MPI_STATUS_IGNORE);
  if (!flag) return MPIX_ASYNC_NOPROGRESS;
  if (r->state == 1) {
    ++r->value;
    MPI_Isend(&r->value, 1, MPI_INT, (rank + 1) % size, rank + 1 == size ? 6 : 5, MPI_COMM_WORLD, &r->request);
    r->state = 2;
    return MPIX_ASYNC_NOPROGRESS;
  }
  return MPIX_ASYNC_DONE;
}

/* All ranks but 0 only wait in a barrier, in which their hooks pass a number on. */
static void passes_on(void) {
  static struct relay mine = {0, 0, MPI_REQUEST_NULL};
  int start = 40, end = 0;
  if (size == 1) return;
  if (rank != 0) {
    CALLS(MPIX_Async_start(pass_on, &mine, MPIX_STREAM_NULL));
  } else {
    MPI_Send(&start, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    MPI_Recv(&end, 1, MPI_INT, size - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_INT(end, 40 + size - 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0)
    while (mine.state != 2 || !MPIX_Request_is_complete(mine.request)) {
      int flag;
      MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
}

static int leaves, order_wrong;
static int leaf(MPIX_Async_thing thing) {
  order_wrong += MPIX_Async_get_state(thing) != &leaves;
  ++leaves;
  return MPIX_ASYNC_DONE;
}
static int tree(MPIX_Async_thing thing) {
  int* depth = MPIX_Async_get_state(thing);
  if (--*depth > 0) {
    MPIX_Async_spawn(thing, leaf, &leaves, MPIX_STREAM_NULL);
    return MPIX_ASYNC_NOPROGRESS;
  }
  return MPIX_ASYNC_DONE;
}
static int depth = 8;

/* --- Kinds of memory ------------------------------------------------------------------------------------------------------ */

static void expect_kinds(MPI_Info* used, const char* of) {
  char value[128] = "";
  int is_there = 0, length = sizeof value;
  MPI_Info_get_string(*used, "mpi_memory_alloc_kinds", &length, value, &is_there);
  EXPECT(is_there && strcmp(value, "mpi,system") == 0, "%s: %s", of, value);
  MPI_Info_free(used);
}

/* Of objects without a session; those of sessions are in session_objects.c. */
static void kinds_of_memory(void) {
  MPI_Info used;
  MPI_Win win;
  MPI_Comm_get_info(MPI_COMM_WORLD, &used);
  expect_kinds(&used, "MPI_COMM_WORLD");
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_info(win, &used);
  expect_kinds(&used, "a window");
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  kinds_of_memory();
  operations();
  error_handlers();
  blocks();
  completes_a_request();
  passes_on();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPIX_Async_start(NULL, NULL, MPIX_STREAM_NULL), MPI_ERR_ARG);
  EXPECT_CLASS(MPIX_Async_start(leaf, NULL, 7), MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  CALLS(MPIX_Async_start(tree, &depth, MPIX_STREAM_NULL)); /* MPI_Finalize waits for it. */
  const int code = end();
  if (leaves != 7 || order_wrong != 0) printf("rank %d: %d leaves, not 7\n", rank, leaves);
  return leaves != 7 ? 1 : code;
}
