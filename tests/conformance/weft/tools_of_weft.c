/* What weft's variables say: settings as the job has them, counts of messages, each from when its handle was made.

   Run with: -n 2 --eager-max 2K --timeout 60
   Run with: -n 2 --eager-max 2K --ranks-per-process 1 --timeout 60 */
#include "../conform.h"

typedef unsigned long long count;

static MPI_T_pvar_session session;

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session of, const char* name, int class) {
  int index = -1, elements = 0;
  MPI_T_pvar_handle made = MPI_T_PVAR_HANDLE_NULL;
  EXPECT(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS, "no %s", name);
  EXPECT_INT(MPI_T_pvar_handle_alloc(of, index, NULL, &made, &elements), MPI_SUCCESS);
  EXPECT_INT(elements, 1);
  return made;
}
static count read_of(MPI_T_pvar_session of, MPI_T_pvar_handle h) {
  count value = 12345;
  EXPECT_INT(MPI_T_pvar_read(of, h, &value), MPI_SUCCESS);
  return value;
}

static void settings(void) {
  int index = -1, elements = 0;
  MPI_T_cvar_handle handle;
  char value[64] = "";
  EXPECT_INT(MPI_T_cvar_get_index("WEFT_EAGER_MAX", &index), MPI_SUCCESS);
  EXPECT_INT(MPI_T_cvar_handle_alloc(index, NULL, &handle, &elements), MPI_SUCCESS);
  EXPECT(elements <= (int)sizeof value, "%d", elements);
  EXPECT_INT(MPI_T_cvar_read(handle, value), MPI_SUCCESS);
  EXPECT(strcmp(value, "2K") == 0, "%s", value);
  EXPECT_INT(MPI_T_cvar_write(handle, "4K"), MPI_T_ERR_CVAR_SET_NEVER);
  EXPECT_INT(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
  EXPECT_INT(MPI_T_cvar_read(handle, value), MPI_T_ERR_INVALID_HANDLE);
  EXPECT_INT(MPI_T_cvar_get_index("WEFT_NOTHING", &index), MPI_T_ERR_INVALID_NAME);
  /* A text that finds no room is cut, and its length told. */
  char few[5] = "....";
  int room = sizeof few;
  EXPECT_INT(MPI_T_cvar_get_info(index, few, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
  EXPECT(strcmp(few, "WEFT") == 0 && room == (int)sizeof "WEFT_EAGER_MAX", "%s, %d", few, room);
}

static void counts(void) {
  MPI_T_pvar_session other;
  const int peer = 1 - rank;
  EXPECT_INT(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_session_create(&other), MPI_SUCCESS);
  const MPI_T_pvar_handle sent = handle_of(session, "weft_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  const MPI_T_pvar_handle bytes = handle_of(session, "weft_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
  const MPI_T_pvar_handle level = handle_of(session, "weft_requests", MPI_T_PVAR_CLASS_LEVEL);
  int value = 0, got = 0;
  for (int i = 0; i < 3; ++i)
    MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_INT(read_of(session, sent), 3);
  EXPECT_INT(read_of(session, bytes), 12);
  /* A handle of another session counts from when it was made. */
  MPI_T_pvar_handle late = handle_of(other, "weft_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  EXPECT_INT(read_of(other, late), 0);
  MPI_Sendrecv(&value, 1, MPI_INT, peer, 0, &got, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_INT(read_of(other, late), 1);
  count before = 0, set = 100;
  EXPECT_INT(MPI_T_pvar_readreset(session, sent, &before), MPI_SUCCESS);
  EXPECT(before == 4 && read_of(session, sent) == 0, "%llu", before);
  EXPECT_INT(MPI_T_pvar_write(session, sent, &set), MPI_SUCCESS);
  EXPECT_INT(read_of(session, sent), 100);
  EXPECT_INT(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT(read_of(session, sent) == 0 && read_of(session, bytes) == 0 && read_of(other, late) == 1, "not reset");
  EXPECT_INT(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_INT(MPI_T_pvar_start(session, sent), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_INT(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_read(other, sent, &before), MPI_T_ERR_INVALID_SESSION);
  /* Requests that live. */
  const count requests = read_of(session, level);
  MPI_Request r;
  MPI_Send_init(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &r);
  EXPECT_INT(read_of(session, level), requests + 1);
  MPI_Request_free(&r);
  EXPECT_INT(read_of(session, level), requests);
  EXPECT_INT(MPI_T_pvar_handle_free(other, &late), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_session_free(&other), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
  EXPECT_INT(MPI_T_pvar_read(session, sent, &before), MPI_T_ERR_INVALID_HANDLE);
}

static void categories(void) {
  int index = -1, cvars = 0, all = 0, pvars = 0, numbers[2] = {-1, -1};
  EXPECT_INT(MPI_T_category_get_index("weft_settings", &index), MPI_SUCCESS);
  MPI_T_cvar_get_num(&all);
  EXPECT_INT(MPI_T_category_get_info(index, NULL, NULL, NULL, NULL, &cvars, &pvars, NULL), MPI_SUCCESS);
  EXPECT(cvars == all && pvars == 0, "%d of %d", cvars, all);
  EXPECT_INT(MPI_T_category_get_index("weft_workers", &index), MPI_SUCCESS);
  EXPECT_INT(MPI_T_category_get_pvars(index, 2, numbers), MPI_SUCCESS);
  char name[64];
  int room = sizeof name;
  MPI_T_pvar_get_info(numbers[0], name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
  EXPECT(strcmp(name, "weft_switches") == 0 && numbers[1] == numbers[0] + 1, "%s", name);
}

int main(int argc, char** argv) {
  int level;
  begin(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
  settings();
  counts();
  categories();
  MPI_T_finalize();
  return end();
}
