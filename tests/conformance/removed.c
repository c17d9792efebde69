/* What MPI 3.0 has removed and what MPI 2.0 has deprecated, as old programs call it. */
#include "conform.h"

#ifndef OPEN_MPI /* 4.1 refuses to compile them. */
static void datatypes(void) {
  struct { int a[3]; double b; } from = {{1, 2, 3}, 4.5}, to = {{0}, 0};
  MPI_Aint places[4], extent = -1, lower = -1, upper = -1;
  MPI_Datatype t, u;
  MPI_Address(&from.a, &places[0]);
  MPI_Address(&from.b, &places[1]);
  places[1] -= places[0];
  places[0] = 0;
  MPI_Type_struct(2, (int[]){3, 1}, places, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &t);
  MPI_Type_commit(&t);
  MPI_Sendrecv(&from, 1, t, rank, 0, &to, 1, t, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(to.a[2] == 3 && to.b == 4.5, "%d %g", to.a[2], to.b);
  MPI_Type_extent(t, &extent);
  EXPECT_INT(extent, sizeof from);
  MPI_Type_free(&t);

  /* Bounds: each for itself, and kept by what is made of the type. */
  MPI_Type_struct(2, (int[]){1, 1}, (MPI_Aint[]){-8, 0}, (MPI_Datatype[]){MPI_LB, MPI_INT}, &t);
  MPI_Type_lb(t, &lower);
  MPI_Type_ub(t, &upper);
  EXPECT(lower == -8 && upper == 4, "from %ld to %ld", (long)lower, (long)upper);
  MPI_Type_free(&t);
  MPI_Type_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){-4, 0, 12}, (MPI_Datatype[]){MPI_LB, MPI_INT, MPI_UB}, &t);
  MPI_Type_contiguous(2, t, &u);
  MPI_Type_lb(u, &lower);
  MPI_Type_ub(u, &upper);
  MPI_Type_extent(u, &extent);
  EXPECT(lower == -4 && upper == 28 && extent == 32, "from %ld to %ld", (long)lower, (long)upper);
  int bytes = -1;
  MPI_Type_size(u, &bytes);
  EXPECT_INT(bytes, 8);
  MPI_Type_free(&u);
  MPI_Type_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 100}, (MPI_Datatype[]){t, MPI_INT}, &u);
#ifndef MPICH_NAME /* 4.0 forgets the bounds. */
  MPI_Type_ub(u, &upper); /* Nothing else counts where there is a bound. */
  EXPECT_INT(upper, 12);
#endif
  MPI_Type_free(&u);
  MPI_Type_commit(&t); /* Every fourth int. */
  int numbers[12], got[3] = {-1, -1, -1};
  for (int i = 0; i < 12; ++i) numbers[i] = i;
  MPI_Sendrecv(numbers, 3, t, rank, 0, got, 3, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == 0 && got[1] == 4 && got[2] == 8, "%d %d %d", got[0], got[1], got[2]);
  MPI_Type_free(&t);

  MPI_Type_hvector(2, 1, 20, MPI_INT, &t);
  MPI_Type_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){40, 4}, MPI_INT, &u);
  MPI_Type_commit(&t);
  MPI_Type_commit(&u);
  MPI_Sendrecv(numbers, 1, t, rank, 0, got, 3, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == 0 && got[1] == 5, "%d %d", got[0], got[1]);
  MPI_Sendrecv(numbers, 1, u, rank, 0, got, 3, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == 10 && got[1] == 1 && got[2] == 2, "%d %d %d", got[0], got[1], got[2]);
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(t, &integers, &addresses, &types, &combiner);
  EXPECT(combiner == MPI_COMBINER_HVECTOR && combiner != MPI_COMBINER_HVECTOR_INTEGER, "%d", combiner);
  MPI_Type_free(&t);
  MPI_Type_free(&u);
}

static int handled;
static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  MPI_Error_class(*code, &handled);
}

static void error_handlers(void) {
  MPI_Errhandler handler, got;
  MPI_Errhandler_create(on_error, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &got);
  EXPECT(got == handler, "another handler");
  MPI_Errhandler_free(&got);
  MPI_Send(NULL, 0, MPI_INT, size, 0, MPI_COMM_WORLD);
  EXPECT_INT(handled, MPI_ERR_RANK);
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}
#endif

/* Deprecated only. */
static int deleted;
static int on_copy(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)state;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int on_delete(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value;
  deleted += *(int*)state;
  return MPI_SUCCESS;
}

static void attributes(void) {
  static char value[4];
  int step = 10, key = MPI_KEYVAL_INVALID, flag = 0;
  char* got = NULL;
  MPI_Comm copy;
  MPI_Keyval_create(on_copy, on_delete, &key, &step);
  MPI_Attr_put(MPI_COMM_WORLD, key, value);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Attr_get(copy, key, &got, &flag);
  EXPECT(flag && got == value + 1, "%d", flag);
  MPI_Attr_delete(copy, key);
  MPI_Attr_get(copy, key, &got, &flag);
  EXPECT(!flag && deleted == 10, "%d", deleted);
  MPI_Comm_free(&copy);
  MPI_Attr_delete(MPI_COMM_WORLD, key);
  EXPECT_INT(deleted, 20);
  MPI_Keyval_free(&key);
  EXPECT_INT(key, MPI_KEYVAL_INVALID);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL);
  MPI_Keyval_free(&key);
  int* bound = NULL;
  MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  EXPECT(flag && *bound >= 32767, "%d", flag);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
#ifndef OPEN_MPI
  datatypes();
  error_handlers();
#endif
  attributes();
  return end();
}
