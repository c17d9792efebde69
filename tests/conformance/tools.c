/* The tools interface: each control variable, performance variable and category is described, found by its name and read.
   Not with: openmpi (4.1), which crashes where a control variable without a value is read. */
#include "conform.h"

#define WORKS(call) EXPECT((call) == MPI_SUCCESS, "an error")

enum { text_max = 8192 };
static char name[text_max], text[text_max];

/* Large enough for any value: what a count of elements of a datatype needs. */
static void* memory_for(MPI_Datatype type, int count) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  return calloc((size_t)count + 1, (size_t)bytes + 8);
}

static void control_variables(void) {
  int count = -1;
  WORKS(MPI_T_cvar_get_num(&count));
  EXPECT(count > 0, "%d", count);
  for (int i = 0; i < count; ++i) {
    int name_room = text_max, text_room = text_max, verbosity = 0, bind = -1, scope = 0, index = -1, elements = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values;
    if (MPI_T_cvar_get_info(i, name, &name_room, &verbosity, &type, &values, text, &text_room, &bind, &scope) != MPI_SUCCESS)
      continue; /* The numbers may have gaps. */
    EXPECT(name[0] != 0 && name_room == (int)strlen(name) + 1, "%d", name_room);
    WORKS(MPI_T_cvar_get_index(name, &index));
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements) != MPI_SUCCESS) continue;
    EXPECT(elements >= 1, "%d elements", elements);
    void* const memory = memory_for(type, elements);
    WORKS(MPI_T_cvar_read(handle, memory));
    free(memory);
    WORKS(MPI_T_cvar_handle_free(&handle));
    EXPECT(handle == MPI_T_CVAR_HANDLE_NULL, "the handle has a value");
  }
  int index = -1;
  EXPECT(MPI_T_cvar_get_index("no variable has this name", &index) != MPI_SUCCESS, "found %d", index);
}

static void performance_variables(void) {
  int count = -1;
  MPI_T_pvar_session session;
  WORKS(MPI_T_pvar_get_num(&count));
  WORKS(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < count; ++i) {
    int name_room = text_max, text_room = text_max, verbosity = 0, class = 0, bind = -1, readonly = 0, continuous = 0;
    int atomic = 0, index = -1, elements = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values;
    if (MPI_T_pvar_get_info(i, name, &name_room, &verbosity, &class, &type, &values, text, &text_room, &bind, &readonly,
                            &continuous, &atomic) != MPI_SUCCESS)
      continue;
    WORKS(MPI_T_pvar_get_index(name, class, &index));
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_pvar_handle handle;
    if (MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements) != MPI_SUCCESS) continue;
    void* const memory = memory_for(type, elements);
    if (!continuous) MPI_T_pvar_start(session, handle);
    WORKS(MPI_T_pvar_read(session, handle, memory));
    if (!continuous) MPI_T_pvar_stop(session, handle);
    free(memory);
    WORKS(MPI_T_pvar_handle_free(session, &handle));
    EXPECT(handle == MPI_T_PVAR_HANDLE_NULL, "the handle has a value");
  }
  WORKS(MPI_T_pvar_session_free(&session));
  EXPECT(session == MPI_T_PVAR_SESSION_NULL, "the session has a value");
}

static void categories(void) {
  int count = -1, total = 0;
  WORKS(MPI_T_category_get_num(&count));
  for (int i = 0; i < count; ++i) {
    int name_room = text_max, text_room = text_max, cvars = -1, pvars = -1, below = -1;
    if (MPI_T_category_get_info(i, name, &name_room, text, &text_room, &cvars, &pvars, &below) != MPI_SUCCESS) continue;
    EXPECT(cvars >= 0 && pvars >= 0 && below >= 0, "%d %d %d", cvars, pvars, below);
    int* const numbers = calloc((size_t)(cvars + pvars + below) + 1, sizeof(int));
    WORKS(MPI_T_category_get_cvars(i, cvars, numbers));
    WORKS(MPI_T_category_get_pvars(i, pvars, numbers));
    WORKS(MPI_T_category_get_categories(i, below, numbers));
    free(numbers);
    total += cvars + pvars;
  }
  EXPECT(count == 0 || total > 0, "nothing in %d categories", count);
}

int main(int argc, char** argv) {
  int level = -1, number = -1;
  const int early = MPI_T_cvar_get_num(&number);
  const int started = MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  begin(&argc, &argv);
  EXPECT(early != MPI_SUCCESS && started == MPI_SUCCESS, "%d %d", early, started);
  control_variables();
  performance_variables();
  categories();
  WORKS(MPI_T_finalize());
  return end();
}
