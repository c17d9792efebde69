/* Windows as objects: attributes, names, hints, groups, error handlers; what wrong calls return. */
#include "conform.h"

static int deletions, handled, last_code;

static int deleted(MPI_Win win, int key, void* value, void* state) {
  (void)win, (void)key;
  EXPECT(*(int*)state == 42, "state %d", *(int*)state);
  deletions += (int)(MPI_Aint)value;
  return MPI_SUCCESS;
}
static void on_error(MPI_Win* win, int* code, ...) {
  EXPECT(*win != MPI_WIN_NULL, "no window");
  ++handled;
  last_code = *code;
}

static MPI_Aint value_of(MPI_Win win, int key) {
  void* value = NULL;
  int flag = 0;
  MPI_Win_get_attr(win, key, &value, &flag);
  return flag ? (MPI_Aint)value : -1;
}

static void attributes(void) {
  int state = 42, key, other, memory;
  MPI_Win win;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deleted, &key, &state);
  MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  EXPECT_INT(value_of(win, key), -1);
  MPI_Win_set_attr(win, key, (void*)100);
  MPI_Win_set_attr(win, other, (void*)200);
  EXPECT(value_of(win, key) == 100 && value_of(win, other) == 200, "%ld", (long)value_of(win, key));
  MPI_Win_set_attr(win, key, (void*)300); /* The old value is deleted first. */
  EXPECT_INT(deletions, 100);
  MPI_Win_delete_attr(win, other);
  EXPECT_INT(value_of(win, other), -1);
  MPI_Win_free_keyval(&key);
  EXPECT(key == MPI_KEYVAL_INVALID, "%d", key);
  MPI_Win_free(&win);
  EXPECT_INT(deletions, 400);
  MPI_Win_free_keyval(&other);
}

static void names(void) {
  int memory, length = -1;
  char name[MPI_MAX_OBJECT_NAME] = "x";
  MPI_Win win;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
#ifdef WEFT_MPI_H /* Open MPI gives each window a name. */
  MPI_Win_get_name(win, name, &length);
  EXPECT(length == 0 && name[0] == 0, "%s", name);
#endif
  MPI_Win_set_name(win, "halo");
  MPI_Win_get_name(win, name, &length);
  EXPECT(length == 4 && strcmp(name, "halo") == 0, "%s", name);
  MPI_Group all, world;
  int result = -1;
  MPI_Win_get_group(win, &all);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(all, world, &result);
  EXPECT_INT(result, MPI_IDENT);
  MPI_Group_free(&all);
  MPI_Group_free(&world);
  MPI_Win_free(&win);
}

static void expect_hint(MPI_Info info, const char* key, const char* wanted) {
  char value[64] = "";
  int flag = 0;
  MPI_Info_get(info, key, 63, value, &flag);
  EXPECT(flag && strcmp(value, wanted) == 0, "%s is %s", key, flag ? value : "not there");
}

static void hints(void) {
  int memory;
  MPI_Win win;
  MPI_Info given, used;
  MPI_Info_create(&given);
  MPI_Info_set(given, "no_locks", "false");
  MPI_Info_set(given, "accumulate_ops", "same_op");
  MPI_Info_set(given, "weft_knows_no_such_hint", "1");
  MPI_Win_create(&memory, sizeof memory, 1, given, MPI_COMM_WORLD, &win);
  MPI_Win_get_info(win, &used);
  expect_hint(used, "no_locks", "false");
#ifdef WEFT_MPI_H /* Others leave out what they do not use. */
  expect_hint(used, "accumulate_ops", "same_op");
  expect_hint(used, "accumulate_ordering", "rar,raw,war,waw");
  expect_hint(used, "same_size", "false");
  char value[8];
  int flag = 1;
  MPI_Info_get(used, "weft_knows_no_such_hint", 7, value, &flag);
  EXPECT(!flag, "a hint that is not known is kept: %s", value);
#endif
  MPI_Info_free(&used);
  MPI_Info_set(given, "same_size", "true");
  MPI_Win_set_info(win, given);
#ifdef WEFT_MPI_H
  MPI_Win_get_info(win, &used);
  expect_hint(used, "same_size", "true");
  MPI_Info_free(&used);
#endif
  MPI_Info_free(&given);
  MPI_Win_free(&win);
}

static void error_handlers(void) {
  int memory, value = 1;
  MPI_Win win;
  MPI_Errhandler own, found;
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_errhandler(win, &found);
  EXPECT(found == MPI_ERRORS_ARE_FATAL, "another handler");
  MPI_Win_create_errhandler(on_error, &own);
  MPI_Win_set_errhandler(win, own);
  MPI_Win_get_errhandler(win, &found);
  EXPECT(found == own, "another handler");
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&own);
  MPI_Win_fence(0, win);
  int class = MPI_SUCCESS;
  const int code = MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win);
  MPI_Error_class(code, &class);
  EXPECT(class == MPI_ERR_RANK && handled == 1 && last_code == code, "class %d, %d errors", class, handled);
  MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  EXPECT(handled == 2 && last_code == MPI_ERR_OTHER, "%d errors, code %d", handled, last_code);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

/* The calls that fail on one rank alone; no other rank waits in them. */
static void wrong_calls(void) {
  int memory[4] = {0, 0, 0, 0}, value = 1;
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
#ifndef OPEN_MPI /* Which calls the first a conflict. */
  EXPECT_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  EXPECT_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
#endif
  EXPECT_CLASS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
  MPI_Win_unlock(0, win);
#ifdef WEFT_MPI_H /* What only weft tells. */
  EXPECT_CLASS(MPI_Win_lock(-5, 0, 0, win), MPI_ERR_LOCKTYPE);
  EXPECT_CLASS(MPI_Win_fence(12345678, win), MPI_ERR_ASSERT);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Get(memory, 3, MPI_INT, 0, 2, 3, MPI_INT, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Accumulate(&value, 1, MPI_INT, 0, 1l << 61, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Fetch_and_op(&value, memory, MPI_INT, 0, 4, MPI_SUM, win), MPI_ERR_RMA_RANGE);
  MPI_Datatype far_apart, mixed;
  MPI_Type_vector(2, 1, 3, MPI_INT, &far_apart);
  MPI_Type_commit(&far_apart);
  EXPECT_CLASS(MPI_Put(memory, 2, MPI_INT, 0, 1, 1, far_apart, win), MPI_ERR_RMA_RANGE);
  EXPECT_CLASS(MPI_Put(memory, 3, MPI_INT, 0, 0, 1, far_apart, win), MPI_ERR_TYPE);
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&mixed);
  EXPECT_CLASS(MPI_Accumulate(memory, 1, mixed, 0, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Accumulate(memory, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MINLOC, win), MPI_ERR_OP);
  double a = 1, b = 2, c = 3;
  EXPECT_CLASS(MPI_Compare_and_swap(&a, &b, &c, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
  MPI_Type_free(&mixed);
  MPI_Type_free(&far_apart);
  MPI_Win_unlock(0, win);
  EXPECT_CLASS(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
  MPI_Errhandler of_comm;
  MPI_Comm_create_errhandler((MPI_Comm_errhandler_function*)on_error, &of_comm);
  EXPECT_CLASS(MPI_Win_set_errhandler(win, of_comm), MPI_ERR_ERRHANDLER);
  MPI_Errhandler_free(&of_comm);
  MPI_Win none = MPI_WIN_NULL;
  EXPECT_CLASS(MPI_Win_fence(0, none), MPI_ERR_WIN);
  MPI_Win made;
  EXPECT_CLASS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_SIZE);
  EXPECT_CLASS(MPI_Win_create(memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_DISP);
  EXPECT_CLASS(MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_BASE);
  MPI_Win dynamic;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
  MPI_Win_attach(dynamic, memory, sizeof memory);
  EXPECT_CLASS(MPI_Win_attach(dynamic, memory + 1, 4), MPI_ERR_RMA_ATTACH);
  EXPECT_CLASS(MPI_Win_detach(dynamic, memory + 1), MPI_ERR_BASE);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, dynamic);
  MPI_Aint there;
  MPI_Get_address(memory + 3, &there);
  EXPECT_CLASS(MPI_Put(memory, 2, MPI_INT, rank, there, 2, MPI_INT, dynamic), MPI_ERR_RMA_RANGE);
  MPI_Win_unlock(rank, dynamic);
  MPI_Aint bytes;
  int unit;
  void* base;
  EXPECT_CLASS(MPI_Win_shared_query(dynamic, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
  MPI_Win_detach(dynamic, memory);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, dynamic);
  EXPECT_CLASS(MPI_Win_free(&dynamic), MPI_ERR_RMA_SYNC);
  MPI_Win_unlock(rank, dynamic);
  MPI_Win_free(&dynamic);
#endif
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  attributes();
  names();
  hints();
  error_handlers();
  wrong_calls();
  return end();
}
