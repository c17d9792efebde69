/* Start and end, versions, clocks, names, memory, info objects. */
#include "conform.h"

static void info(void) {
  MPI_Info one, copy;
  char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
  int flag = -1, n = -1, length = -1;
  MPI_Info_create(&one);
  MPI_Info_get_nkeys(one, &n);
  EXPECT_INT(n, 0);
  MPI_Info_set(one, "colour", "green");
  MPI_Info_set(one, "size", "17");
  MPI_Info_set(one, "colour", "blue");
  MPI_Info_get_nkeys(one, &n);
  EXPECT_INT(n, 2);
  MPI_Info_get(one, "colour", MPI_MAX_INFO_VAL, value, &flag);
  EXPECT(flag && strcmp(value, "blue") == 0, "%s", value);
#ifndef MPICH_VERSION /* It takes a short room for an error. */
  MPI_Info_get(one, "colour", 2, value, &flag);
  EXPECT(flag && strcmp(value, "bl") == 0, "%s", value);
#endif
  MPI_Info_get_valuelen(one, "size", &length, &flag);
  EXPECT(flag && length == 2, "%d", length);
  MPI_Info_get(one, "weight", 10, value, &flag);
  EXPECT_INT(flag, 0);
  MPI_Info_get_nthkey(one, 1, key);
  EXPECT(strcmp(key, "size") == 0, "%s", key);
  MPI_Info_dup(one, &copy);
  MPI_Info_delete(one, "colour");
  MPI_Info_get_nkeys(one, &n);
  EXPECT_INT(n, 1);
  MPI_Info_get_nkeys(copy, &n);
  EXPECT_INT(n, 2);
#if MPI_VERSION >= 4
  int room = 3;
  MPI_Info_get_string(copy, "colour", &room, value, &flag);
  EXPECT(flag && room == 5 && strcmp(value, "bl") == 0, "%d %s", room, value);
  room = 0;
  MPI_Info_get_string(copy, "colour", &room, value, &flag);
  EXPECT_INT(room, 5);
#endif
  MPI_Info_free(&one);
  EXPECT(one == MPI_INFO_NULL, "the freed object has a value");
  MPI_Comm comm;
  MPI_Comm_dup_with_info(MPI_COMM_SELF, copy, &comm);
  MPI_Comm_set_info(comm, copy);
  MPI_Comm_get_info(comm, &one);
  MPI_Info_free(&one);
  MPI_Comm_free(&comm);
  MPI_Info_free(&copy);
}

#if MPI_VERSION >= 4
static void environment(void) {
  MPI_Info info;
  char value[32];
  int flag = 0;
  MPI_Info_create_env(0, NULL, &info);
  MPI_Info_get(info, "thread_level", 31, value, &flag);
#ifdef MPI_ABI_VERSION /* Keys may be absent. */
  EXPECT(flag && strncmp(value, "MPI_THREAD_", 11) == 0, "%d", flag);
  MPI_Info_get(info, "maxprocs", 31, value, &flag);
  EXPECT(flag && atoi(value) == size, "%d", flag);
#endif
  MPI_Info_set(info, "another", "key"); /* It may be changed, unlike MPI_INFO_ENV. */
  MPI_Info_get(info, "another", 31, value, &flag);
  EXPECT_INT(flag, 1);
  MPI_Info_free(&info);
}

static void info_at_any_time(const char* when) {
  MPI_Info info, copy;
  char value[8] = "", key[MPI_MAX_INFO_KEY];
  int flag = 0, count = 0, room = sizeof value;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_dup(info, &copy);
  MPI_Info_free(&info);
  MPI_Info_get_nkeys(copy, &count);
  MPI_Info_get_nthkey(copy, 0, key);
  MPI_Info_get_string(copy, "key", &room, value, &flag);
  if (flag != 1 || count != 1 || strcmp(key, "key") != 0 || strcmp(value, "value") != 0)
    printf("info %s: %d of %d is %s, %s\n", when, flag, count, key, value), ++wrong_count;
  MPI_Info_free(&copy);
}
#endif

int main(int argc, char** argv) {
  int flag = -1, version = 0, subversion = 0, length = 0, level = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Initialized(&flag);
  if (flag != 0) printf("initialised before MPI_Init\n"), ++wrong_count;
  MPI_Get_version(&version, &subversion); /* Allowed before. */
#if MPI_VERSION >= 4
  info_at_any_time("before MPI_Init");
#endif
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  learn_place();
  EXPECT(level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SERIALIZED ||
             level == MPI_THREAD_MULTIPLE, "level %d", level);
  EXPECT(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
             MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE, "order of levels");
  int queried = -1;
  MPI_Query_thread(&queried);
  EXPECT_INT(queried, level);
  MPI_Is_thread_main(&flag);
  EXPECT_INT(flag, 1);
  MPI_Initialized(&flag);
  EXPECT_INT(flag, 1);
  MPI_Finalized(&flag);
  EXPECT_INT(flag, 0);
  EXPECT(version == MPI_VERSION && subversion == MPI_SUBVERSION && version >= 3, "%d.%d", version, subversion);
  MPI_Get_library_version(text, &length);
  EXPECT(length > 0 && (int)strlen(text) <= length, "%d", length);
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  EXPECT(length > 0 && (int)strlen(name) == length, "%d", length);
  const double before = MPI_Wtime(), tick = MPI_Wtick();
  double after = before;
  while (after == before) after = MPI_Wtime();
  EXPECT(after > before && tick > 0 && tick < 1e-2, "tick %g", tick);
  void* memory = NULL;
  MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
  EXPECT(memory != NULL, "no memory");
  memset(memory, 1, 1000);
  MPI_Free_mem(memory);
  MPI_Pcontrol(1);
#ifdef MPI_ABI_VERSION
  MPI_Info kinds = MPI_INFO_NULL;
  MPI_Get_hw_resource_info(&kinds);
  EXPECT(kinds != MPI_INFO_NULL, "no info");
  MPI_Info_free(&kinds);
#endif
  info();
#if MPI_VERSION >= 4
  environment();
#endif
  const int status = end();
  MPI_Finalized(&flag); /* Allowed after. */
  MPI_Initialized(&version);
#if MPI_VERSION >= 4
  info_at_any_time("after MPI_Finalize");
#endif
  if (wrong_count != 0 || flag != 1 || version != 1) {
    printf("rank %d: finalised %d, initialised %d\n", rank, flag, version);
    return 1;
  }
  return status;
}
