/* Errors that return: their classes for every kind of bad argument, strings, handlers of the program's
   own, codes and classes that it adds. */
#include <limits.h>

#include "conform.h"

static void bad_arguments(void) {
  int value = 0, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type;
  MPI_Comm comm;
  MPI_Group group;
  const MPI_Comm w = MPI_COMM_WORLD;
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, w), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, -77, 0, w), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, w), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Recv(&value, 1, MPI_INT, size, 0, w, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -5, w), MPI_ERR_TAG);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, w), MPI_ERR_TAG);
  EXPECT_CLASS(MPI_Send(&value, -1, MPI_INT, 0, 0, w), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Irecv(&value, -1, MPI_INT, 0, 0, w, &request), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, w), MPI_ERR_TYPE);
  MPI_Type_contiguous(2, MPI_INT, &type);
  EXPECT_CLASS(MPI_Send(&value, 1, type, 0, 0, w), MPI_ERR_TYPE); /* Not committed. */
  MPI_Type_free(&type);
  EXPECT_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  EXPECT_CLASS(MPI_Bcast(&value, 1, MPI_INT, size, w), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Bcast(&value, 1, MPI_INT, -1, w), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Allreduce(&value, &flag, 1, MPI_INT, MPI_OP_NULL, w), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Comm_size(w, NULL), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Comm_group(MPI_COMM_NULL, &group), MPI_ERR_COMM);
  /* The standard names no class for this one. */
  EXPECT(MPI_Cart_create(w, 1, (int[]){size + 1}, (int[]){0}, 0, &comm) != MPI_SUCCESS, "a grid of too many");
  EXPECT_CLASS(MPI_Group_incl(MPI_GROUP_EMPTY, 1, (int[]){0}, &group), MPI_ERR_RANK);
}

static void truncation(void) {
  int out[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, in[10] = {0};
  MPI_Request request[2];
  MPI_Status status[2];
  MPI_Isend(out, 10, MPI_INT, rank, 0, MPI_COMM_WORLD, &request[0]);
  EXPECT_CLASS(MPI_Recv(in, 5, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  EXPECT_INT(in[5], 0);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
#ifndef OPEN_MPI /* 4.1.4 forgets that a posted receive from oneself was too short. */
  /* One of two fails: the code says to look at the statuses. */
  MPI_Irecv(in, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(in + 5, 5, MPI_INT, rank, 2, MPI_COMM_WORLD, &request[1]);
  MPI_Send(out, 5, MPI_INT, rank, 2, MPI_COMM_WORLD);
  MPI_Send(out, 3, MPI_INT, rank, 1, MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_Waitall(2, request, status), MPI_ERR_IN_STATUS);
  int class0 = -1, class1 = -1;
  MPI_Error_class(status[0].MPI_ERROR, &class0);
  MPI_Error_class(status[1].MPI_ERROR, &class1);
  EXPECT(class0 == MPI_ERR_TRUNCATE && (class1 == MPI_SUCCESS || class1 == MPI_ERR_PENDING), "%d %d", class0, class1);
  if (class1 == MPI_ERR_PENDING) MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  EXPECT_INT(in[9], 5);
  /* Likewise where nobody looks at statuses; between them what is no request. */
  MPI_Request list[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Irecv(in, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &list[0]);
  MPI_Recv_init(in, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &list[2]);
  MPI_Irecv(in + 5, 5, MPI_INT, rank, 2, MPI_COMM_WORLD, &list[3]);
  for (int i = 0; i < 5; ++i) out[i] = 20 + i;
  MPI_Send(out, 5, MPI_INT, rank, 2, MPI_COMM_WORLD);
  MPI_Send(out, 3, MPI_INT, rank, 1, MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_Waitall(4, list, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
  if (list[3] != MPI_REQUEST_NULL) MPI_Wait(&list[3], MPI_STATUS_IGNORE); /* As MPI_ERR_PENDING above. */
  EXPECT(list[0] == MPI_REQUEST_NULL && list[2] != MPI_REQUEST_NULL, "the requests after an error");
  EXPECT_INT(in[9], 24);
  MPI_Request_free(&list[2]);
#else
  (void)status;
#endif
}

/* Each is refused by each rank, before anything is sent. */
static void reductions(void) {
  double in[2] = {1, 2}, out[2];
  EXPECT_CLASS(MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_OP_NULL, 0, MPI_COMM_WORLD), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  EXPECT_CLASS(MPI_Allreduce(in, in, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
#ifdef MPI_ABI_VERSION /* Others let some of them pass, or fault. */
  EXPECT_CLASS(MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Reduce(MPI_IN_PLACE, out, 2, MPI_DOUBLE, MPI_SUM, (rank + 1) % size, MPI_COMM_WORLD),
               size > 1 ? MPI_ERR_BUFFER : MPI_SUCCESS);
  EXPECT_CLASS(MPI_Reduce(in, in, 2, MPI_DOUBLE, MPI_SUM, rank, MPI_COMM_SELF), rank == 0 ? MPI_ERR_BUFFER : MPI_ERR_ROOT);
  EXPECT_CLASS(MPI_Reduce(in, NULL, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Reduce(in, MPI_IN_PLACE, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Allreduce(in, NULL, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
#endif
}

static int handled, handled_code;
static MPI_Comm handled_comm;
static void handle(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *comm;
}

static void own_handlers(void) {
  MPI_Errhandler own, got;
  MPI_Comm comm, copy;
  int value = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Comm_get_errhandler(comm, &got);
  EXPECT(got == own, "another handler");
  MPI_Errhandler_free(&got);
  MPI_Errhandler_free(&own); /* It serves on where it is set. */
  EXPECT(own == MPI_ERRHANDLER_NULL, "the freed handler has a value");
  const int code = MPI_Send(&value, 1, MPI_INT, size + 3, 0, comm);
  int class = 0;
  MPI_Error_class(code, &class);
  EXPECT(handled == 1 && handled_code == code && handled_comm == comm && class == MPI_ERR_RANK, "%d times, class %d", handled,
         class);
  MPI_Comm_dup(comm, &copy); /* A copy has the handler. */
  MPI_Send(&value, 1, MPI_INT, size + 3, 0, copy);
  EXPECT(handled == 2 && handled_comm == copy, "%d times", handled);
  MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
  EXPECT(handled == 3 && handled_code == MPI_ERR_OTHER, "%d times", handled);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
  EXPECT(got == MPI_ERRORS_RETURN, "another handler");
}

static void strings(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  const int classes[] = {MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK,
                         MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG,
                         MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_IN_STATUS, MPI_ERR_PENDING,
                         MPI_ERR_KEYVAL, MPI_ERR_NO_MEM, MPI_ERR_INFO};
  for (int i = 0; i < LENGTH(classes); ++i) {
    int class = -1;
    MPI_Error_string(classes[i], text, &length);
    EXPECT(length > 0 && (int)strlen(text) == length, "class %d: %d", classes[i], length);
    MPI_Error_class(classes[i], &class);
    EXPECT_INT(class, classes[i]);
  }
}

static void added(void) {
  int class = 0, code = 0, found = 0, length = 0, *last = NULL, flag = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&class);
  MPI_Add_error_code(class, &code);
  MPI_Add_error_string(class, "a class");
  MPI_Add_error_string(code, "a code");
  MPI_Error_class(code, &found);
  EXPECT(found == class && class != code, "%d %d %d", found, class, code);
  MPI_Error_string(code, text, &length);
  EXPECT(strcmp(text, "a code") == 0 && length == 6, "%.200s", text);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  EXPECT(flag && *last >= class, "%d", flag ? *last : -1);
#ifdef MPI_ABI_VERSION /* Of MPI 4.1. */
  EXPECT_CLASS(MPI_Remove_error_code(code), MPI_ERR_OTHER); /* It has a string. */
  EXPECT_INT(MPI_Error_class(code, &found), MPI_SUCCESS);
  MPI_Remove_error_string(code);
  MPI_Error_string(code, text, &length);
  EXPECT(length == 0 && text[0] == 0, "%.200s", text);
  EXPECT_CLASS(MPI_Remove_error_class(class), MPI_ERR_OTHER); /* It has a code. */
  EXPECT_CLASS(MPI_Remove_error_code(class), MPI_ERR_ARG);
  EXPECT_INT(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Remove_error_class(class), MPI_ERR_OTHER); /* It has a string. */
  MPI_Remove_error_string(class);
  EXPECT_INT(MPI_Remove_error_class(class), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Error_class(code, &found), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Remove_error_class(MPI_ERR_RANK), MPI_ERR_ARG); /* The standard's stay. */
#endif
}

#ifdef MPI_ABI_VERSION /* Not all look. */
/* What a rank gives is where it takes: refused before anybody is asked. */
static void aliases(void) {
  int values[64] = {0}, counts[64], displs[64];
  MPI_Datatype types[64];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    displs[i] = i;
    types[i] = MPI_INT;
  }
  int* const own = values + rank;
  MPI_Comm alone = MPI_COMM_SELF;
  EXPECT_CLASS(MPI_Gather(values, 1, MPI_INT, values, 1, MPI_INT, 0, alone), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Gatherv(values, 1, MPI_INT, values, counts, displs, MPI_INT, 0, alone), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Scatterv(values, counts, displs, MPI_INT, values, 1, MPI_INT, 0, alone), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Allgather(own, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Allgather(values, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  if (rank == size - 1) {
    EXPECT_CLASS(MPI_Gather(own, 1, MPI_INT, values, 1, MPI_INT, rank, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Scatter(values, 1, MPI_INT, own, 1, MPI_INT, rank, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  }
  EXPECT_CLASS(MPI_Allgatherv(own, 1, MPI_INT, values, counts, displs, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Alltoallv(values, counts, displs, MPI_INT, values, counts, displs, MPI_INT, MPI_COMM_WORLD),
               MPI_ERR_BUFFER);
  for (int i = 0; i < size; ++i) displs[i] *= (int)sizeof(int);
  EXPECT_CLASS(MPI_Alltoallw(values, counts, displs, types, values, counts, displs, types, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  MPI_Comm all[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < LENGTH(all); ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_CLASS(MPI_Alltoall(values, 1, MPI_INT, values, 1, MPI_INT, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Allreduce(values, values, 2, MPI_INT, MPI_SUM, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Scan(values, values, 2, MPI_INT, MPI_SUM, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Exscan(values, values, 2, MPI_INT, MPI_SUM, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Reduce_scatter(values, values, counts, MPI_INT, MPI_SUM, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Reduce_scatter_block(values, values, 2, MPI_INT, MPI_SUM, all[i]), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Iexscan(values, values, 2, MPI_INT, MPI_SUM, all[i], &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Ireduce_scatter(values, values, counts, MPI_INT, MPI_SUM, all[i], &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Ireduce_scatter_block(values, values, 2, MPI_INT, MPI_SUM, all[i], &request), MPI_ERR_BUFFER);
    EXPECT_CLASS(MPI_Reduce_scatter_init(values, values, counts, MPI_INT, MPI_SUM, all[i], MPI_INFO_NULL, &request),
                 MPI_ERR_BUFFER);
  }
  EXPECT_CLASS(MPI_Reduce(values, values, 2, MPI_INT, MPI_SUM, 0, alone), MPI_ERR_BUFFER);
  for (int i = 1; i < size; ++i) counts[i] = 0; /* Whoever gets nothing refuses, too. */
  EXPECT_CLASS(MPI_Reduce_scatter(values, values, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  counts[0] = 0; /* Nothing may be anywhere. */
  EXPECT_CLASS(MPI_Alltoallw(values, counts, displs, types, values, counts, displs, types, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Reduce_scatter(values, values, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Exscan(values, values, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
}

/* The null handle of datatypes has a name, and is part of no pair. */
static void null_datatype(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Datatype pair;
  EXPECT_INT(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), MPI_SUCCESS);
  EXPECT(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == (int)strlen(name), "%s", name);
  EXPECT_CLASS(MPI_Type_set_name(MPI_DATATYPE_NULL, "a name"), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Type_get_value_index(MPI_INT, MPI_DATATYPE_NULL, &pair), MPI_ERR_TYPE);
}

/* Numbers whose products and sums are beyond all. */
static void far_beyond(void) {
  int dims[5] = {65536, 65536, 65536, 65536, 0};
  EXPECT_CLASS(MPI_Dims_create(4, 4, dims), MPI_ERR_DIMS);
  EXPECT_CLASS(MPI_Dims_create(4, 5, dims), MPI_ERR_DIMS);
  char packed[8] = {0};
  double value = 0;
  MPI_Aint at = 8;
  EXPECT_CLASS(MPI_Unpack_external("external32", packed, LONG_MIN, &at, &value, 1, MPI_DOUBLE), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Pack_external("external32", &value, 1, MPI_DOUBLE, packed, LONG_MIN, &at), MPI_ERR_ARG);
  at = 0;
  EXPECT_CLASS(MPI_Pack_external("external32", &value, 1, MPI_DOUBLE, packed, 7, &at), MPI_ERR_TRUNCATE);
  /* In 64 bits their bytes wrap to 0 and 8. */
  const MPI_Count none = (MPI_Count)1 << 61, one = none + 1;
  MPI_Count place = 0;
  MPI_Request request;
  EXPECT_CLASS(MPI_Send_c(&value, one, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Send_c(&value, one, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Irecv_c(&value, none, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Bcast_c(&value, one, MPI_DOUBLE, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Allgather_c(&value, one, MPI_DOUBLE, packed, one, MPI_DOUBLE, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Allreduce_c(MPI_IN_PLACE, &value, one, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Reduce_c(&value, packed, one, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Reduce_scatter_block_c(&value, packed, none, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
  MPI_Count needed = 0;
  EXPECT_CLASS(MPI_Pack_size_c(one, MPI_DOUBLE, MPI_COMM_WORLD, &needed), MPI_SUCCESS);
  EXPECT(needed == MPI_UNDEFINED, "%lld", (long long)needed);
  EXPECT_CLASS(MPI_Pack_external_size_c("external32", none, MPI_DOUBLE, &needed), MPI_SUCCESS);
  EXPECT(needed == MPI_UNDEFINED, "%lld", (long long)needed);
  EXPECT_CLASS(MPI_Pack_c(&value, one, MPI_DOUBLE, packed, 8, &place, MPI_COMM_WORLD), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Pack_external_c("external32", &value, one, MPI_DOUBLE, packed, 8, &place), MPI_ERR_COUNT);
}
#else
static void aliases(void) {}
static void null_datatype(void) {}
static void far_beyond(void) {}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  bad_arguments();
  truncation();
  reductions();
  aliases();
  null_datatype();
  far_beyond();
  own_handlers();
  strings();
  added();
  return end();
}
