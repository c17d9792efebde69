/* Set-up, queries, memory, teams, contexts. */
#include "conform.h"

#include <pthread.h>
#include <shmemx.h>
#include <unistd.h>

static int global = 3;

static void of_queries(void) {
  int major = 0, minor = 0, level = -1, open = 0;
  char name[SHMEM_MAX_NAME_LEN];
  shmem_info_get_version(&major, &minor);
  shmem_info_get_name(name);
  EXPECT(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && strcmp(name, SHMEM_VENDOR_STRING) == 0);
  shmem_query_thread(&level);
  EXPECT(level == SHMEM_THREAD_MULTIPLE);
  shmem_query_initialized(&open);
  EXPECT(open);
  EXPECT(_my_pe() == me && _num_pes() == pes);
  start_pes(0); /* Open already: nothing. */
  EXPECT(shmem_pe_accessible(pes - 1) && !shmem_pe_accessible(pes) && !shmem_pe_accessible(-1));
  int local = 0;
  EXPECT(shmem_addr_accessible(&global, NEXT) && !shmem_addr_accessible(&local, NEXT));
  EXPECT(shmem_ptr(&local, me) == NULL && shmem_ptr(&global, pes) == NULL);
  EXPECT(shmem_ptr(&global, me) == &global);
  EXPECT(shmem_team_ptr(SHMEM_TEAM_WORLD, &global, me) == &global);
  shmem_pcontrol(1);
  /* Every PE has its own. */
  global = me;
  shmem_barrier_all();
  EXPECT(shmem_int_g(&global, NEXT) == NEXT);
  shmem_barrier_all();
}

static void of_memory(void) {
  long* const one = shmem_malloc(sizeof(long) * 10);
  long* const two = shmem_calloc(10, sizeof(long));
  char* const three = shmem_align(4096, 100);
  EXPECT(shmem_malloc_with_hints(0, ~0L) == NULL);  /* Hints that it does not know are none. */
  char* const four = shmem_malloc_with_hints(100, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
  EXPECT(one != NULL && two != NULL && four != NULL && (uintptr_t)three % 4096 == 0);
  for (int i = 0; i < 10; ++i) {
    EXPECT(two[i] == 0);
    one[i] = me * 100 + i;
  }
  shmem_barrier_all();
  EXPECT(shmem_long_g(one + 9, NEXT) == NEXT * 100 + 9);
  shmem_barrier_all();
  long* const larger = shmem_realloc(one, sizeof(long) * 10000);
  for (int i = 0; i < 10; ++i) EXPECT(larger[i] == me * 100 + i);
  EXPECT(shmem_long_g(larger + 9, NEXT) == NEXT * 100 + 9);
  long* const other = shmem_ptr(larger, NEXT);
  EXPECT(other == NULL || other[3] == NEXT * 100 + 3);
  shmem_barrier_all();
  EXPECT(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL);
  shmem_free(NULL);
  shmem_free(larger), shmem_free(two), shmem_free(three), shmem_free(four);
  EXPECT(shmem_malloc((size_t)1 << 62) == NULL);
  void* const even = shmem_align((size_t)1 << 20, 8);
  EXPECT(even == NULL || (uintptr_t)even % ((size_t)1 << 20) == 0);
  shmem_free(even);
  /* The names of earlier versions; the same place again, which was freed. */
  char* const old = shmalloc(64);
  EXPECT((void*)old == (void*)one || (void*)old == (void*)two);
  char* const old_larger = shrealloc(old, 128);
  shfree(shmemalign(1, 64));
  char* const aligned = shmemalign(256, 64);
  EXPECT(old_larger != NULL && (uintptr_t)aligned % 256 == 0);
  shfree(old_larger), shfree(aligned);
}

static void of_teams(void) {
  EXPECT(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == pes);
  EXPECT(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
  const int near = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  EXPECT(near >= 1 && near <= pes);
  EXPECT(shmem_team_translate_pe(SHMEM_TEAM_SHARED, shmem_team_my_pe(SHMEM_TEAM_SHARED), SHMEM_TEAM_WORLD) == me);
  shmem_team_t even, across, down;
  shmem_team_config_t config = {3}, found = {0};
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
  EXPECT((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
  if (even != SHMEM_TEAM_INVALID) {
    EXPECT(shmem_team_my_pe(even) == me / 2 && shmem_team_n_pes(even) == (pes + 1) / 2);
    EXPECT(shmem_team_get_config(even, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 3);
    EXPECT(shmem_team_translate_pe(even, 0, SHMEM_TEAM_WORLD) == 0);
    EXPECT(pes < 2 || shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, even) == -1);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, even) == me / 2);
    /* A context of the team counts PEs as the team does. */
    static int word;
    shmem_ctx_t ctx;
    shmem_team_t of;
    EXPECT(shmem_team_create_ctx(even, SHMEM_CTX_SERIALIZED, &ctx) == 0);
    EXPECT(shmem_ctx_get_team(ctx, &of) == 0 && of == even);
    const int size = shmem_team_n_pes(even);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_int_p(ctx, &word, me + 1, (me / 2 + 1) % size);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_int_wait_until(&word, SHMEM_CMP_EQ, (me / 2 + size - 1) % size * 2 + 1);
    shmem_ctx_destroy(ctx);
    EXPECT(shmem_team_sync(even) == 0);
    shmem_team_destroy(even);
  }
  EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes + 1, NULL, 0, &even) != 0);
  EXPECT(even == SHMEM_TEAM_INVALID);
  EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &across, NULL, 0, &down) == 0);
  EXPECT(shmem_team_my_pe(across) == (pes == 1 ? 0 : me % 2));
  EXPECT(shmem_team_my_pe(down) == (pes == 1 ? 0 : me / 2));
  static int sum, one = 1;
  EXPECT(shmem_int_sum_reduce(down, &sum, &one, 1) == 0 && sum == shmem_team_n_pes(down));
  shmem_team_destroy(across);
  shmem_team_destroy(down);
  shmem_team_t of = SHMEM_TEAM_INVALID;
  EXPECT(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
  shmem_ctx_t none;
  EXPECT(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &none) != 0 && none == SHMEM_CTX_INVALID);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_barrier_all();
}

static long by_thread;
static pthread_barrier_t both;
static void* puts_one(void* none) {
  (void)none;
  int open = 0;
  shmem_query_initialized(&open);
  EXPECT(open);
  shmem_long_p(&by_thread, 1, NEXT);
  pthread_barrier_wait(&both);
  return NULL;
}

/* Threads of a PE send to the same one, messages of several parts, and handle them while the PE meets others: a handler
   that waits leaves the PE to them. */
enum { long_messages = 20, meetings = 50 };
static char long_ones[2][300000];
static int messages_id;
static long handled, answer;
static void reads_there(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_r, (void)args_p;
  EXPECT(length == sizeof long_ones[0] && ((char*)payload)[0] == ((char*)payload)[length - 1]);
  EXPECT(shmem_long_g(&answer, source) == 42);
  ++handled;
}
static void* sends_and_handles(void* none) {
  (void)none;
  for (int i = 0; i < long_messages; ++i) shmemx_am_send_nbi(messages_id, long_ones[1], sizeof long_ones[1], NEXT);
  while (handled < 2 * long_messages) shmemx_am_poll(NULL);
  return NULL;
}
static void of_messages_and_threads(void) {
  pthread_t thread;
  answer = 42;
  memset(long_ones[1], 1, sizeof long_ones[1]);
  shmemx_am_set_handler_all(reads_there, NULL, &messages_id);
  shmem_barrier_all();
  pthread_create(&thread, NULL, sends_and_handles, NULL);
  for (int i = 0; i < long_messages; ++i) shmemx_am_send_nbi(messages_id, long_ones[0], sizeof long_ones[0], NEXT);
  for (int i = 0; i < meetings; ++i) shmem_barrier_all();
  pthread_join(thread, NULL);
  shmemx_am_barrier_all(NULL);
  EXPECT(handled == 2 * long_messages);
}

/* A thread calls while its PE waits for it, outside of OpenSHMEM. */
static void of_threads(void) {
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, puts_one, NULL);
  pthread_barrier_wait(&both);
  pthread_join(thread, NULL);
  shmem_long_wait_until(&by_thread, SHMEM_CMP_EQ, 1);
}

static void* leaves(void* status) {
  printf("right\n");
  fflush(stdout);
  shmem_global_exit(atoi(status));
  printf("shmem_global_exit has returned\n");
  _exit(3);
}

int main(int argc, char** argv) {
  int level = -1, open = 1;
  shmem_query_initialized(&open);
  EXPECT(!open);
  setenv("SHMEMX_AM_PAYLOAD_MAX", "300000", 1);
  /* One comes late: the others sleep in the call. */
  if (atoi(getenv("WEFT_RANK")) == 0) usleep(50000);
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
  EXPECT(level == SHMEM_THREAD_MULTIPLE);
  begin(); /* Counted. */
  of_threads();
  of_messages_and_threads();
#ifdef _OPENMP
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  ++threads;
  EXPECT(threads >= 1);
#endif
  of_queries();
  of_memory();
  of_teams();
  if (argc > 2) { /* exit STATUS, or thread STATUS. */
    pthread_t thread;
    if (me == pes - 1 && strcmp(argv[1], "thread") == 0) {
      pthread_create(&thread, NULL, leaves, argv[2]);
      pthread_join(thread, NULL);
    } else if (me == pes - 1) {
      leaves(argv[2]);
    }
    for (;;) shmem_barrier_all();
  }
  const int result = end();
  EXPECT(shmem_my_pe() == me); /* Still open once. */
  shmem_finalize();
  shmem_finalize(); /* Once more than opened: nothing. */
  return result;
}
