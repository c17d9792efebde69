/* What mpi.h declares and weft has not: of the tools interface, what asks for what there is not.

   Run with: -n 2 --timeout 60 */
#include "../conform.h"

/* None of them looks at its arguments. */
typedef int anything(long, long, long, long, long, long, long, long, long, long, long, long, long);
struct function {
  const char* name;
  anything* call;
  int wanted;
};
#define NO_SUCH(error, name, parameters) {#name, (anything*)name, error}, {"P" #name, (anything*)P##name, error},
static const struct function tools[] = {WEFT_MPI_TOOLS(NO_SUCH)};

static int code_of(const struct function* f) { return f->call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); }

static int tools_before_init(void) {
  int number = -1, level = -1;
  if (MPI_T_cvar_get_num(&number) != MPI_T_ERR_NOT_INITIALIZED) return 0;
  return MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS && level == MPI_THREAD_SINGLE;
}

/* Variables and categories are in tools_of_weft.c. What asks for none that there is gets an error: an index of -1, a null
   pointer. */
static int code_of_none(const struct function* f) {
  return f->wanted == MPI_T_ERR_INVALID_INDEX ? f->call(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1) : code_of(f);
}

static void no_variables(void) {
  int number = -1;
#define EXPECT_NONE(call)                                                      \
  number = -1;                                                                 \
  EXPECT(call(&number) == MPI_SUCCESS && number == 0, "%s: %d", #call, number)
  EXPECT_NONE(MPI_T_category_changed);
  for (int i = 0; i < LENGTH(tools); ++i)
    EXPECT(code_of_none(&tools[i]) == tools[i].wanted, "%s does not return %d", tools[i].name, tools[i].wanted);
  EXPECT_INT(MPI_T_finalize(), MPI_SUCCESS);
  EXPECT_INT(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_INT(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
}

int main(int argc, char** argv) {
  const int started = tools_before_init();
  begin(&argc, &argv);
  EXPECT(started, "the tools interface does not start before MPI_Init");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  no_variables();
  return end();
}
