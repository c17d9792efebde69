/* Attributes of communicators and datatypes: copied on dup, deleted when freed or replaced; the
   predefined ones; those of MPI_COMM_SELF go first in MPI_Finalize. */
#include "conform.h"

static int copies, deletions, last_deleted;

static int copy_next(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm;
  (void)key;
  ++copies;
  EXPECT(*(int*)state == 42, "state %d", *(int*)state);
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int copy_not(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)state, (void)in, (void)out;
  ++copies;
  *flag = 0;
  return MPI_SUCCESS;
}
static int deleted(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)state;
  ++deletions;
  last_deleted = (int)(MPI_Aint)value;
  return MPI_SUCCESS;
}

static MPI_Aint value_of(MPI_Comm comm, int key) {
  void* value = NULL;
  int flag = 0;
  MPI_Comm_get_attr(comm, key, &value, &flag);
  return flag ? (MPI_Aint)value : -1;
}

static void of_communicators(void) {
  int state = 42, next, not, dup, none;
  MPI_Comm comm, copy;
  MPI_Comm_create_keyval(copy_next, deleted, &next, &state);
  MPI_Comm_create_keyval(copy_not, deleted, &not, NULL);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, deleted, &dup, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  EXPECT_INT(value_of(comm, next), -1);
  MPI_Comm_set_attr(comm, next, (void*)100);
  MPI_Comm_set_attr(comm, not, (void*)200);
  MPI_Comm_set_attr(comm, dup, (void*)300);
  MPI_Comm_set_attr(comm, none, (void*)400);
  EXPECT_INT(value_of(comm, next), 100);
  MPI_Comm_dup(comm, &copy);
  EXPECT(copies == 2 && value_of(copy, next) == 101 && value_of(copy, not) == -1 && value_of(copy, dup) == 300 &&
             value_of(copy, none) == -1,
         "%d copies: %ld %ld %ld", copies, (long)value_of(copy, next), (long)value_of(copy, not), (long)value_of(copy, dup));
  MPI_Comm_set_attr(copy, dup, (void*)301); /* The old value is deleted first. */
  EXPECT(deletions == 1 && last_deleted == 300 && value_of(copy, dup) == 301, "%d", deletions);
  MPI_Comm_delete_attr(copy, dup);
  EXPECT(deletions == 2 && last_deleted == 301 && value_of(copy, dup) == -1, "%d", deletions);
  MPI_Comm_free(&copy);
  EXPECT(deletions == 3 && last_deleted == 101, "%d", deletions);
  MPI_Comm part; /* A split copies none. */
  MPI_Comm_split(comm, 0, rank, &part);
  EXPECT_INT(value_of(part, next), -1);
  MPI_Comm_free(&part);
  const int key = next; /* A key that is freed serves on where it is in use. */
  MPI_Comm_free_keyval(&next);
  EXPECT(next == MPI_KEYVAL_INVALID, "%d", next);
  EXPECT_INT(value_of(comm, key), 100);
  MPI_Comm_free(&comm);
  EXPECT_INT(deletions, 6);
  MPI_Comm_free_keyval(&not);
  MPI_Comm_free_keyval(&dup);
  MPI_Comm_free_keyval(&none);
}

static int refuse(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)state, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static void refused_copies(void) {
  int key;
  MPI_Comm comm, copy = MPI_COMM_SELF;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, (void*)1);
  const int code = MPI_Comm_dup(comm, &copy);
  EXPECT(code != MPI_SUCCESS, "the copy succeeded");
  EXPECT(copy == MPI_COMM_NULL, "a handle of no communicator was left");
  MPI_Comm_delete_attr(comm, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&comm);
}

static int refuse_type(MPI_Datatype type, int key, void* state, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)state, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static void refused_copies_of_types(void) {
  int key;
  MPI_Datatype type, copy = MPI_INT;
  MPI_Type_dup(MPI_INT, &type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_create_keyval(refuse_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_set_attr(type, key, (void*)1);
  const int code = MPI_Type_dup(type, &copy);
  EXPECT(code != MPI_SUCCESS, "the copy succeeded");
#ifndef OPEN_MPI /* It leaves the handle as it was. */
  EXPECT(copy == MPI_DATATYPE_NULL, "a handle of no datatype was left");
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free_keyval(&key);
  MPI_Type_free(&type);
}

#ifndef OPEN_MPI
static int free_key(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)value, (void)state;
  return MPI_Comm_free_keyval(&key);
}

/* A key lives until its last attribute has gone; until then it may be freed through any copy of it. */
static void freed_again(void) {
  MPI_Comm comm, other;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_dup(MPI_COMM_SELF, &other);
  int key, copy, again;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_key, &key, NULL);
  copy = again = key;
  MPI_Comm_set_attr(comm, key, (void*)7);
  MPI_Comm_set_attr(other, key, (void*)8);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free_keyval(&again);
  EXPECT_INT(value_of(other, copy), 8);
  MPI_Comm_free(&other);
}
#endif

static int type_copies;
static int copy_type(MPI_Datatype type, int key, void* state, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)state;
  ++type_copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void of_types(void) {
  int key, flag = 0;
  void* value = NULL;
  MPI_Datatype type, copy;
  MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, (void*)77);
  MPI_Type_dup(type, &copy);
  MPI_Type_get_attr(copy, key, &value, &flag);
  EXPECT(flag && (MPI_Aint)value == 77 && type_copies == 1, "%d", flag);
  MPI_Type_delete_attr(copy, key);
  MPI_Type_get_attr(copy, key, &value, &flag);
  EXPECT_INT(flag, 0);
  MPI_Type_free(&copy);
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&key);
}

static void predefined(void) {
  const int keys[] = {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE};
  for (int i = 0; i < LENGTH(keys); ++i) {
    int *value = NULL, flag = -1;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag);
    EXPECT(flag == 0 || value != NULL, "attribute %d", i);
    if (keys[i] == MPI_TAG_UB) EXPECT(flag && *value >= 32767, "%d", *value);
    if (keys[i] == MPI_LASTUSEDCODE) EXPECT(flag && *value >= MPI_ERR_LASTCODE - MPI_ERR_LASTCODE, "%d", flag);
  }
}

static int ended_rank, ended_wrong;
static int at_end(MPI_Comm comm, int key, void* value, void* state) {
  int is_finalized = -1, me = -1;
  (void)comm, (void)key, (void)state;
  MPI_Finalized(&is_finalized);
  MPI_Comm_rank(MPI_COMM_WORLD, &me); /* MPI is still there. */
  if (is_finalized || me != ended_rank || (MPI_Aint)value != 5) ended_wrong = 1;
  ended_rank = -1;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int key = 0;
  begin(&argc, &argv);
  of_communicators();
  refused_copies();
  refused_copies_of_types();
#ifndef OPEN_MPI /* It forgets a key when it is freed. */
  freed_again();
#endif
  of_types();
  predefined();
  ended_rank = rank;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)5);
  const int status = end();
  if (ended_wrong || ended_rank != -1) {
    printf("rank %d: the attribute of MPI_COMM_SELF was not deleted in MPI_Finalize\n", rank);
    return 1;
  }
  return status;
}
