/* What a program knows of the binary interface of MPICH before version 5, or of Open MPI, by its compiler: constants in statuses, errors,
   callbacks, descriptions of datatypes, files, attributes. Compiled by that one's mpicc; it is right under MPICH, and under weft. */
#include "../conform.h"

#ifdef OPEN_MPI
enum { MPI_F_STATUS_SIZE = 6, MPI_F_SOURCE = 0, MPI_F_TAG = 1 };
#endif

static int is_weft; /* The other is not asked what the standard does not say, nor what its errors are. */

static void errors(void) {
  int got, class, code, *last = NULL, flag, value = rank;
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
  EXPECT_CLASS(MPI_Bcast(&value, 1, MPI_INT, size + 1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Reduce(&value, &got, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Comm_size(MPI_COMM_NULL, &got), MPI_ERR_COMM);
  EXPECT_CLASS(MPI_Group_size(MPI_GROUP_NULL, &got), MPI_ERR_GROUP);
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(code, "too warm");
  EXPECT(class > MPI_ERR_LASTCODE && code > MPI_ERR_LASTCODE, "%d %d", class, code);
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  EXPECT(strcmp(text, "too warm") == 0, "%s", text);
  MPI_Error_class(code, &got);
  EXPECT_INT(got, class);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  EXPECT(flag && *last > MPI_ERR_LASTCODE, "%d", flag ? *last : 0);
}

static void statuses(void) {
  MPI_Status status, all[2];
  int flag = 7, count, value = 5, many[4] = {1, 2, 3, 4}, fortran[MPI_F_STATUS_SIZE];
  memset(&status, 0x55, sizeof status);
  const MPI_Status before = status;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &status);
  EXPECT(!flag && memcmp(&before, &status, sizeof status) == 0, "a status was written though there is no message");
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  EXPECT(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Wait(&none, &status);
  EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
  status.MPI_ERROR = 77;
  MPI_Sendrecv(many, 4, MPI_INT, rank, 3, many, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT(status.MPI_SOURCE == rank && status.MPI_TAG == 3 && count == 4 && status.MPI_ERROR == 77, "%d %d %d %d", status.MPI_SOURCE,
         status.MPI_TAG, count, status.MPI_ERROR);
  MPI_Status_c2f(&status, fortran);
  EXPECT(fortran[MPI_F_SOURCE] == rank && fortran[MPI_F_TAG] == 3, "%d %d", fortran[MPI_F_SOURCE], fortran[MPI_F_TAG]);
  memset(&status, 0, sizeof status);
  MPI_Status_f2c(fortran, &status);
  MPI_Get_elements(&status, MPI_INT, &count);
  EXPECT_INT(count, 4);
  status.MPI_ERROR = 12345; /* The program's own business. */
  MPI_Status_set_elements(&status, MPI_DOUBLE, 9);
  MPI_Status_set_cancelled(&status, 1);
  EXPECT(status.MPI_ERROR == 12345 && status.MPI_SOURCE == rank, "%d %d", status.MPI_ERROR, status.MPI_SOURCE);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  MPI_Test_cancelled(&status, &flag);
  EXPECT(count == 9 && flag == 1 && status.MPI_TAG == 3, "%d %d %d", count, flag, status.MPI_TAG);
  /* One of two is too long: which, says its status. */
  MPI_Request requests[2];
  int one[1], two[2];
  MPI_Irecv(one, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(two, 2, MPI_INT, rank, 12, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(many, 2, MPI_INT, rank, 11, MPI_COMM_WORLD);
  MPI_Send(many, 2, MPI_INT, rank, 12, MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_Waitall(2, requests, all), MPI_ERR_IN_STATUS);
  EXPECT_CLASS(all[0].MPI_ERROR, MPI_ERR_TRUNCATE);
  if (all[1].MPI_ERROR != MPI_SUCCESS) { /* It may not have been looked at. */
    EXPECT_CLASS(all[1].MPI_ERROR, MPI_ERR_PENDING);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  EXPECT(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL && two[1] == 2, "%x %x", requests[0], requests[1]);
  /* More than fit into a frame, in pieces. */
  MPI_Request many_requests[300];
  MPI_Status many_statuses[300];
  int values[300], indices[300], done = 0;
  for (int i = 0; i < 300; ++i) MPI_Irecv(&values[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &many_requests[i]);
  for (int i = 299; i >= 0; --i) MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
  while (done < 300) {
    int some = 0;
    MPI_Waitsome(300, many_requests, &some, indices, many_statuses);
    EXPECT(some != MPI_UNDEFINED && some > 0, "%d", some);
    if (some <= 0) break;
    for (int i = 0; i < some; ++i) EXPECT_INT(many_statuses[i].MPI_TAG, indices[i]);
    done += some;
  }
  for (int i = 0; i < 300; ++i) EXPECT(values[i] == i && many_requests[i] == MPI_REQUEST_NULL, "%d", values[i]);
}

/* Room for three long messages, as the program counts it. */
static void buffered(void) {
  enum { many = 100000 };
  static int sent[3][many], got[many];
  char* const buffer = malloc(3 * (sizeof got + MPI_BSEND_OVERHEAD));
  void* back;
  int bytes;
  MPI_Buffer_attach(buffer, 3 * (sizeof got + MPI_BSEND_OVERHEAD));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < many; ++j) sent[i][j] = i + j;
    EXPECT_INT(MPI_Bsend(sent[i], many, MPI_INT, rank, i, MPI_COMM_WORLD), MPI_SUCCESS);
  }
  for (int i = 2; i >= 0; --i) {
    MPI_Recv(got, many, MPI_INT, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(memcmp(got, sent[i], sizeof got) == 0, "message %d", i);
  }
  MPI_Buffer_detach(&back, &bytes);
  EXPECT(back == buffer && bytes == 3 * (int)(sizeof got + MPI_BSEND_OVERHEAD), "%p %d", back, bytes);
  free(buffer);
}

static void datatypes(void) {
  int integers[64], sizes[2] = {8, 6}, parts[2] = {2, 3}, starts[2] = {1, 2}, how[4], class;
  MPI_Aint addresses[8];
  MPI_Datatype types[8], made, again, both[2] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &made);
  MPI_Type_get_envelope(made, &how[0], &how[1], &how[2], &how[3]);
  EXPECT(how[0] == 8 && how[1] == 0 && how[2] == 1 && how[3] == MPI_COMBINER_SUBARRAY, "%d %d %d %d", how[0], how[1], how[2], how[3]);
  MPI_Type_get_contents(made, 64, 8, 8, integers, addresses, types);
  EXPECT(integers[0] == 2 && integers[2] == 6 && integers[7] == MPI_ORDER_FORTRAN && types[0] == MPI_INT, "%d %d %d %x", integers[0],
         integers[2], integers[7], types[0]);
  MPI_Type_free(&made);
  EXPECT_INT(made, MPI_DATATYPE_NULL);
  const int ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, shares[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG},
            grid[2] = {1, 1};
  MPI_Type_create_darray(1, 0, 2, sizes, ways, shares, grid, MPI_ORDER_C, MPI_FLOAT, &made);
  MPI_Type_get_envelope(made, &how[0], &how[1], &how[2], &how[3]);
  MPI_Type_get_contents(made, 64, 8, 8, integers, addresses, types);
  EXPECT(how[3] == MPI_COMBINER_DARRAY && integers[5] == MPI_DISTRIBUTE_BLOCK && integers[6] == MPI_DISTRIBUTE_NONE &&
             integers[7] == MPI_DISTRIBUTE_DFLT_DARG && integers[how[0] - 1] == MPI_ORDER_C,
         "%d: %d %d %d %d", how[3], integers[5], integers[6], integers[7], integers[how[0] - 1]);
  MPI_Type_free(&made);
  const int lengths[2] = {1, 2};
  const MPI_Aint places[2] = {0, 8};
  MPI_Type_create_struct(2, lengths, places, both, &made);
  MPI_Type_dup(made, &again);
  MPI_Type_get_envelope(again, &how[0], &how[1], &how[2], &how[3]);
  EXPECT_INT(how[3], MPI_COMBINER_DUP);
  MPI_Type_get_contents(again, 64, 8, 8, integers, addresses, types);
  MPI_Type_get_contents(types[0], 64, 8, 8, integers, addresses, &types[1]);
  EXPECT(types[1] == MPI_DOUBLE && types[2] == MPI_CHAR && addresses[1] == 8, "%x %x", types[1], types[2]);
  MPI_Type_free(&types[0]);
  MPI_Type_free(&again);
  MPI_Type_free(&made);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &made);
  MPI_Type_get_envelope(made, &how[0], &how[1], &how[2], &how[3]);
  MPI_Type_size(made, &class);
  EXPECT(how[3] == MPI_COMBINER_NAMED && class == 8, "%d %d", how[3], class);
  static const struct {
    MPI_Datatype type;
    int bytes;
  } known[] = {{MPI_CHAR, 1},        {MPI_SIGNED_CHAR, 1},   {MPI_UNSIGNED_CHAR, 1},  {MPI_BYTE, 1},           {MPI_WCHAR, sizeof(int)},
               {MPI_SHORT, 2},       {MPI_UNSIGNED_SHORT, 2}, {MPI_INT, 4},           {MPI_UNSIGNED, 4},       {MPI_LONG, 8},
               {MPI_UNSIGNED_LONG, 8}, {MPI_LONG_LONG, 8},   {MPI_UNSIGNED_LONG_LONG, 8}, {MPI_FLOAT, 4},       {MPI_DOUBLE, 8},
               {MPI_LONG_DOUBLE, 16}, {MPI_INT8_T, 1},       {MPI_INT16_T, 2},        {MPI_INT32_T, 4},        {MPI_INT64_T, 8},
               {MPI_UINT8_T, 1},     {MPI_UINT16_T, 2},      {MPI_UINT32_T, 4},       {MPI_UINT64_T, 8},       {MPI_C_BOOL, 1},
               {MPI_C_FLOAT_COMPLEX, 8}, {MPI_C_DOUBLE_COMPLEX, 16}, {MPI_C_LONG_DOUBLE_COMPLEX, 32}, {MPI_AINT, 8}, {MPI_OFFSET, 8},
               {MPI_COUNT, 8},       {MPI_FLOAT_INT, 8},     {MPI_DOUBLE_INT, 12},    {MPI_LONG_INT, 12},      {MPI_2INT, 8},
               {MPI_SHORT_INT, 6},   {MPI_LONG_DOUBLE_INT, 20}, {MPI_INTEGER, 4},     {MPI_REAL, 4},           {MPI_DOUBLE_PRECISION, 8},
               {MPI_COMPLEX, 8},     {MPI_LOGICAL, 4},       {MPI_CHARACTER, 1},      {MPI_2INTEGER, 8},       {MPI_2REAL, 8},
               {MPI_2DOUBLE_PRECISION, 16}, {MPI_DOUBLE_COMPLEX, 16}, {MPI_REAL4, 4}, {MPI_REAL8, 8},          {MPI_COMPLEX8, 8},
               {MPI_COMPLEX16, 16},  {MPI_INTEGER1, 1},      {MPI_INTEGER2, 2},       {MPI_INTEGER4, 4},       {MPI_INTEGER8, 8}};
  for (int i = 0; i < LENGTH(known); ++i) {
    int bytes = -1;
    MPI_Type_size(known[i].type, &bytes);
    EXPECT(bytes == known[i].bytes, "type %x has %d bytes, not %d", known[i].type, bytes, known[i].bytes);
  }
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_DOUBLE_INT, name, &length);
  EXPECT(strcmp(name, "MPI_DOUBLE_INT") == 0, "%s", name);
}

static int handled;
static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

/* Arrays of handles whose length the communicator says. */
/* An argument that means nothing at a rank may be anything there. */
static void arguments_of_the_root(void) {
  MPI_Datatype none, pair = MPI_INT;
  memset(&none, 0x5a, sizeof none); /* No address. */
  if (rank != 0) pair = none;
  int* const all = calloc((size_t)size, sizeof(int));
  int* const counts = calloc((size_t)size, sizeof(int));
  int* const places = calloc((size_t)size, sizeof(int));
  for (int i = 0; i < size; ++i) all[i] = 10 * i, counts[i] = 1, places[i] = i;
  int mine = -1;
  MPI_Scatterv(all, counts, places, pair, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
  EXPECT_INT(mine, 10 * rank);
  mine = -1;
  MPI_Scatter(all, 1, pair, rank == 0 ? MPI_IN_PLACE : &mine, 1, rank == 0 ? none : MPI_INT, 0, MPI_COMM_WORLD);
  EXPECT_INT(rank == 0 ? 0 : mine, 10 * rank);
  mine = 7 * rank;
  MPI_Request request;
  MPI_Igather(&mine, 1, MPI_INT, all, 1, pair, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size && rank == 0; ++i) EXPECT_INT(all[i], 7 * i);
  all[rank] = rank;
  MPI_Allgather(MPI_IN_PLACE, 0, none, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) EXPECT_INT(all[i], i);
  free(all), free(counts), free(places);
}

static void matched_sizes(void) {
#ifdef OPEN_MPI
  MPI_Datatype made = MPI_DATATYPE_NULL;
  EXPECT_CLASS(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 16, &made), MPI_ERR_ARG);
  EXPECT(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &made) == MPI_SUCCESS && made != MPI_DATATYPE_NULL && made != NULL, "%p", (void*)made);
#endif
}

static void alltoallw(void) {
  if (!is_weft) return;
  int* const data = calloc((size_t)size, sizeof(int));
  int* const counts = calloc((size_t)size, sizeof(int));
  int* const bytes = calloc((size_t)size, sizeof(int));
  MPI_Aint* const places = calloc((size_t)size, sizeof(MPI_Aint));
  MPI_Datatype* const types = calloc((size_t)size, sizeof(MPI_Datatype));
  const void* const no_page = (void*)16; /* With MPI_IN_PLACE what belongs to the send buffer is not looked at. */
  for (int i = 0; i < size; ++i) data[i] = rank * 100 + i, counts[i] = 1, bytes[i] = 4 * i, types[i] = MPI_INT;
  EXPECT_INT(MPI_Alltoallw(MPI_IN_PLACE, no_page, no_page, no_page, data, counts, bytes, types, MPI_COMM_WORLD), MPI_SUCCESS);
  for (int i = 0; i < size; ++i) EXPECT_INT(data[i], i * 100 + rank);
  MPI_Request request;
  EXPECT_INT(MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, counts, bytes, types, MPI_COMM_WORLD, &request), MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) EXPECT_INT(data[i], rank * 100 + i);
  /* One error, and one call of the handler. */
  MPI_Comm comm;
  MPI_Errhandler counts_them;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(count_errors, &counts_them);
  MPI_Comm_set_errhandler(comm, counts_them);
  EXPECT_CLASS(MPI_Neighbor_alltoallw(data, counts, places, types, data, counts, places, types, comm), MPI_ERR_TOPOLOGY);
  EXPECT_INT(handled, 1);
  MPI_Errhandler_free(&counts_them);
  MPI_Comm_free(&comm);
  free(data), free(counts), free(bytes), free(places), free(types);
}

/* What is started counts at the root alone, and so does the number of codes. */
static void spawning(void) {
  if (!is_weft) return;
  int codes[4] = {-7, -7, -7, -7};
  char* commands[1] = {"/nowhere/at/all"};
  const int processes[1] = {rank == 0 ? 2 : rank == 1 ? 4 : 0};
  const MPI_Info infos[1] = {MPI_INFO_NULL};
  MPI_Comm children;
  EXPECT_CLASS(MPI_Comm_spawn(commands[0], MPI_ARGV_NULL, processes[0], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_SPAWN);
  EXPECT(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && codes[2] == -7 && codes[3] == -7, "%d %d %d %d", codes[0], codes[1],
         codes[2], codes[3]);
  codes[0] = codes[1] = -7;
  EXPECT_CLASS(MPI_Comm_spawn_multiple(1, commands, MPI_ARGVS_NULL, processes, infos, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_SPAWN);
  EXPECT(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN && codes[2] == -7 && codes[3] == -7, "%d %d %d %d", codes[0], codes[1],
         codes[2], codes[3]);
}

/* --- Functions of the program ------------------------------------------------------------------------------------ */

static MPI_Datatype expected_type;
static int called;
static void left(void* in, void* inout, int* count, MPI_Datatype* type) {
  EXPECT(*type == expected_type, "the operation is told type %x, not %x", *type, expected_type);
  ++called;
  memcpy(inout, in, (size_t)*count * sizeof(int));
}
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static MPI_Comm expected_comm;
static int class_of_handler = -1;
static void handler(MPI_Comm* comm, int* code, ...) {
  EXPECT(*comm == expected_comm, "the handler is told %x, not %x", *comm, expected_comm);
  MPI_Error_class(*code, &class_of_handler);
}
static void file_handler(MPI_File* file, int* code, ...) {
  (void)file;
  MPI_Error_class(*code, &class_of_handler);
}
static void win_handler(MPI_Win* win, int* code, ...) {
  (void)win;
  MPI_Error_class(*code, &class_of_handler);
}
static int copy_attribute(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)key;
  EXPECT(comm == *(MPI_Comm*)state, "the copy function is told %x, not %x", comm, *(MPI_Comm*)state);
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)state;
  return (MPI_Aint)value == 13 ? MPI_ERR_ARG : MPI_SUCCESS;
}
static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = 4;
  return MPI_SUCCESS;
}
static int query_elements(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 2);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int query_in_vain(void* state, MPI_Status* status) {
  (void)state, (void)status;
  return 12345; /* No code of MPI. */
}
static int release(void* state) {
  *(int*)state = -1;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void callbacks(void) {
  MPI_Op op, ops[3];
  int value = rank, got = -1;
  expected_type = MPI_INT;
  MPI_Op_create(left, 0, &op);
  MPI_Allreduce(&value, &got, 1, MPI_INT, op, MPI_COMM_WORLD);
  EXPECT_INT(got, 0);
  MPI_Type_contiguous(1, MPI_INT, &expected_type);
  MPI_Type_commit(&expected_type);
  MPI_Reduce_local(&value, &got, 1, expected_type, op);
  EXPECT(called > 0 && got == rank, "%d %d", called, got);
  MPI_Type_free(&expected_type);
  EXPECT_CLASS(MPI_Allreduce(&value, &got, 1, MPI_INT, (MPI_Op)0, MPI_COMM_WORLD), MPI_ERR_OP);
  for (int i = 0; i < 3; ++i) MPI_Op_create(add, 1, &ops[i]);
  MPI_Op_free(&ops[0]);
  MPI_Allreduce(&value, &got, 1, MPI_INT, ops[2], MPI_COMM_WORLD);
  EXPECT_INT(got, size * (size - 1) / 2);
  MPI_Op_commutative(ops[1], &got);
  EXPECT_INT(got, 1);
  MPI_Op_free(&ops[1]);
  MPI_Op_free(&ops[2]);
  MPI_Op_free(&op);
  EXPECT_INT(op, MPI_OP_NULL);

  MPI_Errhandler mine, found;
  MPI_Comm_dup(MPI_COMM_WORLD, &expected_comm);
  MPI_Comm_create_errhandler(handler, &mine);
  MPI_Comm_set_errhandler(expected_comm, mine);
  MPI_Comm_get_errhandler(expected_comm, &found);
  EXPECT_INT(found, mine);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&mine);
  MPI_Send(&value, 1, MPI_INT, size, 0, expected_comm);
  EXPECT_INT(class_of_handler, MPI_ERR_RANK);
  MPI_Comm_call_errhandler(expected_comm, MPI_ERR_TRUNCATE);
  EXPECT_INT(class_of_handler, MPI_ERR_TRUNCATE);
  MPI_File_create_errhandler(file_handler, &mine);
  MPI_File_set_errhandler(MPI_FILE_NULL, mine);
  MPI_File none;
  MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
  EXPECT_INT(class_of_handler, MPI_ERR_NO_SUCH_FILE);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&mine);
  MPI_Win win;
  MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create_errhandler(win_handler, &mine);
  MPI_Win_set_errhandler(win, mine);
  MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC);
  EXPECT_INT(class_of_handler, MPI_ERR_RMA_SYNC);
  MPI_Errhandler_free(&mine);
  MPI_Win_free(&win);

  int key, again, flag;
  MPI_Aint attribute = 0;
  MPI_Comm copy;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &expected_comm);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &again, NULL);
  MPI_Comm_set_errhandler(expected_comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_attr(expected_comm, key, (void*)40);
  MPI_Comm_set_attr(expected_comm, again, (void*)50);
  MPI_Comm_dup(expected_comm, &copy);
  MPI_Comm_get_attr(copy, key, &attribute, &flag);
  EXPECT(flag && attribute == 41, "%ld", (long)attribute);
  MPI_Comm_get_attr(copy, again, &attribute, &flag);
  EXPECT(flag && attribute == 50, "%ld", (long)attribute);
  MPI_Comm_set_attr(copy, key, (void*)13);
  EXPECT(MPI_Comm_delete_attr(copy, key) != MPI_SUCCESS, "the delete function refuses");
  MPI_Comm_set_attr(copy, key, (void*)14);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&key);
  EXPECT_INT(key, MPI_KEYVAL_INVALID);
  MPI_Comm_free_keyval(&again);
  MPI_Comm_free(&expected_comm);
  EXPECT_INT(expected_comm, MPI_COMM_NULL);

  int elements = 3;
  MPI_Request own;
  MPI_Status status;
  MPI_Grequest_start(query, release, cancel, &elements, &own);
  MPI_Grequest_complete(own);
  MPI_Wait(&own, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  EXPECT(got == 3 && elements == -1 && status.MPI_TAG == 4 && status.MPI_SOURCE == MPI_ANY_SOURCE && own == MPI_REQUEST_NULL, "%d %d %d %d",
         got, elements, status.MPI_TAG, status.MPI_SOURCE);
  if (!is_weft) return; /* What the function leaves alone, MPICH does not set either. */
  MPI_Grequest_start(query_in_vain, release, cancel, &elements, &own);
  MPI_Grequest_complete(own);
  EXPECT_CLASS(MPI_Wait(&own, &status), MPI_ERR_OTHER);
  MPI_Grequest_start(query_elements, release, cancel, &elements, &own);
  MPI_Grequest_complete(own);
  MPI_Wait(&own, &status);
  EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
}

static void communicators(void) {
  int result, *value, flag, ranks[2] = {0, MPI_PROC_NULL}, there[2], source, dest, dims[1] = {0}, periods[1] = {0};
  MPI_Comm comm, part;
  MPI_Request request;
  MPI_Group all, self;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  EXPECT_INT(result, MPI_CONGRUENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  EXPECT_INT(result, MPI_IDENT);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(MPI_COMM_SELF, &self);
  MPI_Group_translate_ranks(all, 2, ranks, self, there);
  EXPECT(there[0] == (rank == 0 ? 0 : MPI_UNDEFINED) && there[1] == MPI_PROC_NULL, "%d %d", there[0], there[1]);
  MPI_Group_difference(self, all, &self);
  EXPECT(self == MPI_GROUP_EMPTY, "%x", self);
  MPI_Group_free(&all);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &part);
  EXPECT((part == MPI_COMM_NULL) == (rank == 0), "%x", part);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
  MPI_Comm_size(part, &result);
  EXPECT(result >= 1 && result <= size, "%d", result);
  MPI_Comm_free(&part);
#ifndef OPEN_MPI
  if (is_weft) { /* What weft does not have is no other kind. */
    enum { neighborhood_of_4_0 = 4 };
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "nbhd_common_dirname", "/tmp");
    EXPECT_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, neighborhood_of_4_0, 0, info, &part), MPI_ERR_ARG);
    MPI_Info_free(&info);
    EXPECT_INT(MPI_Comm_split_type(MPI_COMM_WORLD, neighborhood_of_4_0, 0, MPI_INFO_NULL, &part), MPI_SUCCESS);
    EXPECT_INT(part, MPI_COMM_NULL);
  }
#endif
  dims[0] = size;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
  MPI_Topo_test(comm, &result);
  EXPECT_INT(result, MPI_CART);
  MPI_Cart_shift(comm, 0, 1, &source, &dest);
  EXPECT(source == (rank == 0 ? MPI_PROC_NULL : rank - 1) && dest == (rank == size - 1 ? MPI_PROC_NULL : rank + 1), "%d %d", source, dest);
  MPI_Comm_free(&comm);
  const int next[1] = {(rank + 1) % size}, before[1] = {(rank + size - 1) % size};
  int in, out, weighted, got = -1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, before, MPI_UNWEIGHTED, 1, next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  MPI_Topo_test(comm, &result);
  MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  EXPECT(result == MPI_DIST_GRAPH && in == 1 && out == 1 && !weighted, "%d %d %d %d", result, in, out, weighted);
  int one[1] = {1};
  const MPI_Datatype type[1] = {MPI_INT};
  MPI_Aint places[1] = {0};
  MPI_Neighbor_alltoallw(&rank, one, places, type, &got, one, places, type, comm);
  EXPECT_INT(got, before[0]);
  MPI_Comm_free(&comm);
  int* const given = calloc((size_t)size, sizeof(int));
  int* const taken = calloc((size_t)size, sizeof(int));
  int* const counts = calloc((size_t)size, sizeof(int));
  int* const bytes = calloc((size_t)size, sizeof(int));
  MPI_Datatype* const types = calloc((size_t)size, sizeof(MPI_Datatype));
  for (int i = 0; i < size; ++i) given[i] = rank * 100 + i, counts[i] = 1, bytes[i] = 4 * i, types[i] = MPI_INT;
  MPI_Ialltoallw(given, counts, bytes, types, taken, counts, bytes, types, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) EXPECT_INT(taken[i], i * 100 + rank);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, taken, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, given, size, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) EXPECT(taken[i] == i * 101 && given[i] == (size - 1) * 100 + i, "%d %d", taken[i], given[i]);
  free(given), free(taken), free(counts), free(bytes), free(types);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
  EXPECT(flag && (*value == MPI_ANY_SOURCE || *value >= 0 || *value == MPI_PROC_NULL), "%d", *value);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
  EXPECT(flag && *value == MPI_PROC_NULL, "%d", *value);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  EXPECT(flag && *value >= 32767, "%d", *value);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  EXPECT_INT(parent, MPI_COMM_NULL);
  EXPECT_INT(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)), MPI_COMM_SELF);
}

static void windows(void) {
  int *memory, *kind, flag, value = rank;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &kind, &flag);
  EXPECT(flag && *kind == MPI_WIN_FLAVOR_ALLOCATE, "%d", *kind);
  MPI_Win created;
  int* kind_of_created;
  MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
  MPI_Win_get_attr(created, MPI_WIN_CREATE_FLAVOR, &kind_of_created, &flag);
  EXPECT(flag && *kind_of_created == MPI_WIN_FLAVOR_CREATE && *kind == MPI_WIN_FLAVOR_ALLOCATE, "%d %d", *kind_of_created, *kind);
  MPI_Win_free(&created);
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &kind, &flag);
  EXPECT(flag && (*kind == MPI_WIN_UNIFIED || *kind == MPI_WIN_SEPARATE), "%d", *kind);
  void* base;
  MPI_Aint* bytes;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
  EXPECT(base != NULL && *bytes == 2 * sizeof(int), "%p %ld", base, (long)*bytes);
  memory[0] = memory[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, win);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, win);
  EXPECT_INT(memory[0], (rank + size - 1) % size);
  MPI_Barrier(MPI_COMM_WORLD);
  int one = 1, old = -1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 1, MPI_SUM, win);
  MPI_Win_unlock(0, win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Fetch_and_op(NULL, &old, MPI_INT, 0, 1, MPI_NO_OP, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
    EXPECT_INT(memory[1], size);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
  EXPECT_INT(win, MPI_WIN_NULL);
}

static void files(void) {
  char name[] = "of_mpich.XXXXXX";
  const int descriptor = rank == 0 ? mkstemp(name) : -1;
  (void)descriptor;
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file;
  int mode, got = -1, value = rank + 1;
  MPI_Offset where;
  MPI_Datatype element, tile;
  char representation[MPI_MAX_DATAREP_STRING];
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_get_amode(file, &mode);
  EXPECT_INT(mode, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_get_view(file, &where, &element, &tile, representation);
  EXPECT(where == 8 && element == MPI_INT && tile == MPI_INT && strcmp(representation, "native") == 0, "%ld %x %x %s", (long)where, element,
         tile, representation);
  MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, -1, MPI_SEEK_END);
  MPI_Status status;
  MPI_File_read(file, &got, 1, MPI_INT, &status);
  EXPECT_INT(got, size);
  MPI_Get_count(&status, MPI_INT, &got);
  EXPECT_INT(got, 1);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_seek(file, rank, MPI_SEEK_CUR);
  MPI_Request request;
  MPI_File_iread(file, &got, 1, MPI_INT, &request);
  MPI_Wait(&request, &status);
  EXPECT_INT(got, rank + 1);
  MPI_File_close(&file);
  EXPECT(file == MPI_FILE_NULL, "%p", (void*)file);
}

static void environment(void) {
  int level, length, found;
  char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
  MPI_Query_thread(&level);
  EXPECT(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE, "%d", level);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  EXPECT(level >= MPI_THREAD_SINGLE && level <= MPI_THREAD_MULTIPLE, "%d", level);
  MPI_T_cvar_get_num(&found);
  EXPECT(found > 0, "%d", found);
  int verbosity = -1, bind = -1, scope = -1, room = sizeof text, none = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum items;
  EXPECT_INT(MPI_T_cvar_get_info(0, text, &room, &verbosity, &type, &items, NULL, &none, &bind, &scope), MPI_SUCCESS);
  EXPECT(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL, "%d", verbosity);
  EXPECT(bind >= MPI_T_BIND_NO_OBJECT && bind <= MPI_T_BIND_MPI_INFO, "%d", bind);
  EXPECT(scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ, "%d", scope);
  EXPECT(type != MPI_DATATYPE_NULL, "%x", type);
  EXPECT_INT(MPI_T_cvar_get_info(1 << 20, text, &room, &verbosity, &type, &items, NULL, &none, &bind, &scope), MPI_T_ERR_INVALID_INDEX);
  MPI_T_pvar_session session;
  MPI_T_pvar_session_create(&session);
  EXPECT_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  MPI_Get_processor_name(name, &length);
  EXPECT(length > 0 && length < MPI_MAX_PROCESSOR_NAME && (int)strlen(name) == length, "%d", length);
  MPI_Get_library_version(text, &length);
  EXPECT(length > 4, "%d", length);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  learn_place();
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  is_weft = strncmp(version, "weft", 4) == 0;
  EXPECT(level >= MPI_THREAD_FUNNELED && level <= MPI_THREAD_MULTIPLE, "%d", level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  errors();
  statuses();
  buffered();
  datatypes();
  arguments_of_the_root();
  matched_sizes();
  alltoallw();
  spawning();
  callbacks();
  communicators();
  windows();
  files();
  environment();
  return end();
}
