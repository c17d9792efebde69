/* Events of the tools interface: what is said of them, callbacks, what finds no room.

   Run with: -n 2 --timeout 60
   Run with: -n 2 --ranks-per-process 1 --timeout 60 */
#include "../conform.h"

enum { text_max = 512 };
static int unexpected, begun, ended, freed, bad_reads;
static MPI_Count dropped, last_stamps[2]; /* Of messages, of waits. */

static int index_of(const char* name) {
  int index = -1;
  EXPECT(MPI_T_event_get_index(name, &index) == MPI_SUCCESS, "no %s", name);
  return index;
}

static void see(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  int values[2] = {-7, -7}, first = -8, source = -1;
  MPI_Count stamp = 0;
  MPI_Count* const last_stamp = &last_stamps[data == &unexpected ? 0 : 1];
  (void)registration, (void)safety;
  if (MPI_T_event_copy(instance, values) != MPI_SUCCESS || MPI_T_event_read(instance, 0, &first) != MPI_SUCCESS ||
      first != values[0] || MPI_T_event_get_timestamp(instance, &stamp) != MPI_SUCCESS || stamp < *last_stamp ||
      MPI_T_event_get_source(instance, &source) != MPI_SUCCESS || source != 0 ||
      MPI_T_event_read(instance, 2, &first) != MPI_T_ERR_INVALID_INDEX)
    ++bad_reads;
  *last_stamp = stamp;
  if (data == &unexpected && (values[0] != 1 || (values[1] != 5 && values[1] != 6))) ++bad_reads;
  ++*(int*)data;
}
static void see_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void* data) {
  (void)registration, (void)source, (void)safety, (void)data;
  dropped += count;
}
static void see_end(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  (void)registration, (void)safety;
  ++*(int*)data;
}

/* Frees its own handle: the end is told when the callback has returned. */
static int in_callback, freed_late;
static void see_own_end(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  (void)registration, (void)safety, (void)data;
  freed_late += in_callback ? 100 : 1;
}
static void free_own(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void* data) {
  (void)instance, (void)safety, (void)data;
  in_callback = 1;
  EXPECT_INT(MPI_T_event_handle_free(registration, NULL, see_own_end), MPI_SUCCESS);
  in_callback = 0;
}

static void descriptions(void) {
  int count = 0, sources = 0, category = -1, listed[8], room = 1;
  EXPECT_INT(MPI_T_event_get_num(&count), MPI_SUCCESS);
  EXPECT_INT(count, 3);
  for (int i = 0; i < count; ++i) {
    char name[text_max], text[text_max];
    int name_room = text_max, text_room = text_max, verbosity = 0, elements = 8, bind = -1, index = -1;
    MPI_Datatype types[8];
    MPI_Aint places[8];
    MPI_T_enum values;
    MPI_Info info;
    EXPECT_INT(MPI_T_event_get_info(i, name, &name_room, &verbosity, types, places, &elements, &values, &info, text,
                                    &text_room, &bind),
               MPI_SUCCESS);
    EXPECT_INT(MPI_T_event_get_index(name, &index), MPI_SUCCESS);
    EXPECT_INT(index, i);
    EXPECT_INT(elements, 2);
    EXPECT(types[1] == MPI_INT && places[1] == sizeof(int), "another type or place");
    EXPECT_INT(bind, MPI_T_BIND_NO_OBJECT);
    MPI_Info_free(&info);
  }
  EXPECT_INT(MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
  EXPECT_INT(MPI_T_event_get_index("nothing", &count), MPI_T_ERR_INVALID_NAME);
  EXPECT_INT(MPI_T_category_get_index("weft_messages", &category), MPI_SUCCESS);
  EXPECT_INT(MPI_T_category_get_num_events(category, &count), MPI_SUCCESS);
  EXPECT_INT(count, 3);
  EXPECT_INT(MPI_T_category_get_events(category, 8, listed), MPI_SUCCESS);
  EXPECT_INT(listed[2], 2);
  EXPECT_INT(MPI_T_source_get_num(&sources), MPI_SUCCESS);
  EXPECT_INT(sources, 1);
  MPI_T_source_order order;
  MPI_Count per_second = 0, most = 0, now = 0, later = 0;
  MPI_Info info;
  EXPECT_INT(MPI_T_source_get_info(0, NULL, &room, NULL, NULL, &order, &per_second, &most, &info), MPI_SUCCESS);
  EXPECT(order == MPI_T_SOURCE_UNORDERED && per_second == 1000000000 && most > per_second, "another clock");
  MPI_Info_free(&info);
  EXPECT_INT(MPI_T_source_get_info(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  EXPECT_INT(MPI_T_source_get_timestamp(0, &now), MPI_SUCCESS);
  EXPECT_INT(MPI_T_source_get_timestamp(0, &later), MPI_SUCCESS);
  EXPECT(now > 0 && later >= now, "the clock goes back");
}

/* Rank 1 sends `count` messages that rank 0 receives later. */
static void surprise(int count) {
  for (int i = 0; rank == 1 && i < count; ++i) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0, value; rank == 0 && i < count; ++i) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int provided = 0;
  begin(&argc, &argv);
  MPI_T_event_registration of_messages, of_begin, of_end;
  EXPECT_INT(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &of_messages), MPI_T_ERR_NOT_INITIALIZED);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  descriptions();
  EXPECT_INT(MPI_T_event_handle_alloc(99, NULL, MPI_INFO_NULL, &of_messages), MPI_T_ERR_INVALID_INDEX);
  EXPECT_INT(MPI_T_event_handle_alloc(index_of("weft_message_unexpected"), NULL, MPI_INFO_NULL, &of_messages), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_handle_alloc(index_of("weft_wait_begun"), NULL, MPI_INFO_NULL, &of_begin), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_handle_alloc(index_of("weft_wait_ended"), NULL, MPI_INFO_NULL, &of_end), MPI_SUCCESS);
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_INT(MPI_T_event_handle_set_info(of_begin, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_handle_get_info(of_begin, &info), MPI_SUCCESS);
  MPI_Info_free(&info);
  EXPECT_INT(MPI_T_event_callback_get_info(of_begin, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID);
  /* A callback without demands runs in calls of the interface alone. */
  EXPECT_INT(MPI_T_event_register_callback(of_messages, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &unexpected, see), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_callback_set_info(of_messages, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_callback_get_info(of_messages, MPI_T_CB_REQUIRE_NONE, &info), MPI_SUCCESS);
  MPI_Info_free(&info);
  EXPECT_INT(MPI_T_event_register_callback(of_begin, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &begun, see), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_register_callback(of_end, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &ended, see), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_register_callback(of_end, (MPI_T_cb_safety)1, MPI_INFO_NULL, NULL, see), MPI_T_ERR_INVALID);
  EXPECT_INT(MPI_T_event_set_dropped_handler(of_messages, see_dropped), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  surprise(10);
  EXPECT(begun > 0 && ended == begun, "%d waits begun, %d ended", begun, ended);
  EXPECT_INT(unexpected, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Count now;
  MPI_T_source_get_timestamp(0, &now);
  EXPECT(rank == 0 ? unexpected >= 1 && unexpected <= 11 : unexpected == 0, "%d came unexpected", unexpected);
  EXPECT_INT(dropped, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const int before = unexpected;
  surprise(3000);
  MPI_T_source_get_timestamp(0, &now);
  EXPECT(unexpected - before <= 1024 && (unexpected - before == 1024) == (dropped != 0) && unexpected + dropped <= 3012,
         "%d came, %d dropped", unexpected, (int)dropped);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(bad_reads, 0);
  EXPECT_INT(MPI_T_event_handle_free(of_messages, &freed, see_end), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_handle_free(of_begin, &freed, see_end), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_handle_free(of_begin, &freed, see_end), MPI_T_ERR_INVALID_HANDLE);
  EXPECT_INT(MPI_T_event_handle_free(of_end, NULL, NULL), MPI_SUCCESS);
  EXPECT_INT(freed, 2);
  const int all = begun;
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(begun, all);
  EXPECT_INT(MPI_T_event_handle_alloc(index_of("weft_wait_ended"), NULL, MPI_INFO_NULL, &of_end), MPI_SUCCESS);
  EXPECT_INT(MPI_T_event_register_callback(of_end, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, free_own),
             MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_T_source_get_timestamp(0, &now);
  EXPECT_INT(freed_late, 1);
  EXPECT_INT(MPI_T_event_copy(NULL, &now), MPI_T_ERR_INVALID_HANDLE);
  MPI_T_finalize();
  return end();
}
