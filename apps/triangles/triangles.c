/* Triangles of an undirected graph, counted by all PEs in three ways: by active messages, by active messages in a
   session that gathers them, and by puts with atomic operations.

   Vertex v belongs to PE v % n. Each edge goes from the vertex of lower degree to the other; for every pair of edges
   out of u, to v and w, PE owner(v) is asked whether v has an edge to w. */
#include <getopt.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me, pes;
static long vertex_count, edge_count;
static int (*edges)[2];           /* All of the graph, on each PE while it is read. */
static long *first_of, *first_here; /* Edges out of own vertices: places in targets, and where they end. */
static int* targets;
static int* degree;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static _Noreturn void refuse(const char* text, const char* value) {
  if (me == 0) fprintf(stderr, "weft-triangles: %s%s\n", text, value);
  shmem_global_exit(2);
  exit(2);
}

static int by_ends(const void* a, const void* b) {
  const int* const x = a;
  const int* const y = b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}
static int by_value(const void* a, const void* b) {
  const int x = *(const int*)a, y = *(const int*)b;
  return (x > y) - (x < y);
}

/* Lower vertex first, each edge once, no loops. */
static void clean(void) {
  long kept = 0;
  for (long i = 0; i < edge_count; ++i) {
    int a = edges[i][0], b = edges[i][1];
    if (a == b) continue;
    edges[kept][0] = a < b ? a : b;
    edges[kept++][1] = a < b ? b : a;
  }
  qsort(edges, (size_t)kept, sizeof *edges, by_ends);
  edge_count = 0;
  for (long i = 0; i < kept; ++i)
    if (edge_count == 0 || memcmp(edges[i], edges[edge_count - 1], sizeof *edges) != 0)
      memcpy(edges[edge_count++], edges[i], sizeof *edges);
}

/* Few vertices have many edges, as in real graphs. */
static void generate(long vertices, long count, uint64_t state) {
  vertex_count = vertices, edge_count = count;
  edges = malloc((size_t)count * sizeof *edges);
  for (long i = 0; i < count; ++i)
    for (int end = 0; end < 2; ++end) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const double x = (double)(state >> 11) * 0x1p-53;
      edges[i][end] = (int)(x * x * (double)vertices);
    }
}

/* SNAP's form: two numbers in each line, comments after #. */
static void read_graph(const char* name) {
  FILE* const file = fopen(name, "r");
  if (file == NULL) refuse("cannot read ", name);
  long room = 1024;
  edges = malloc((size_t)room * sizeof *edges);
  char line[256];
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '#' || line[0] == '\n') continue;
    int a, b;
    if (sscanf(line, "%d %d", &a, &b) != 2 || a < 0 || b < 0) refuse("not two vertices in the line ", line);
    if (edge_count == room) edges = realloc(edges, (size_t)(room *= 2) * sizeof *edges);
    edges[edge_count][0] = a, edges[edge_count++][1] = b;
    if (a >= vertex_count) vertex_count = a + 1;
    if (b >= vertex_count) vertex_count = b + 1;
  }
  fclose(file);
}

static int comes_before(int a, int b) { return degree[a] != degree[b] ? degree[a] < degree[b] : a < b; }

static void spread(void) {
  degree = calloc((size_t)vertex_count, sizeof *degree);
  for (long i = 0; i < edge_count; ++i) ++degree[edges[i][0]], ++degree[edges[i][1]];
  first_of = calloc((size_t)vertex_count + 2, sizeof *first_of);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      for (long v = 0; v <= vertex_count; ++v) first_of[v + 1] += first_of[v];
      targets = malloc((size_t)(first_of[vertex_count + 1] + 1) * sizeof *targets);
      first_here = malloc((size_t)(vertex_count + 1) * sizeof *first_here);
      memcpy(first_here, first_of, (size_t)(vertex_count + 1) * sizeof *first_here);
    }
    for (long i = 0; i < edge_count; ++i) {
      const int a = edges[i][0], b = edges[i][1];
      const int from = comes_before(a, b) ? a : b, to = from == a ? b : a;
      if (from % pes != me) continue;
      if (pass == 0)
        ++first_of[from + 1];
      else
        targets[first_here[from]++] = to;
    }
  }
  for (long v = me; v < vertex_count; v += pes)
    qsort(targets + first_of[v], (size_t)(first_here[v] - first_of[v]), sizeof *targets, by_value);
}

static int has_edge(int from, int to) {
  return bsearch(&to, targets + first_of[from], (size_t)(first_here[from] - first_of[from]), sizeof to, by_value) != NULL;
}

/* --- By active messages --- */
static long found;
struct question {
  int from, to;
};
static void answer(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)length, (void)args_r, (void)args_p, (void)source;
  const struct question* const q = payload;
  found += has_edge(q->from, q->to);
}

/* --- By puts --- each PE has a box for the questions of each other, which it is told of by its length. */
enum { box = 4096 };
static struct question* boxes;
static uint64_t* lengths; /* Of the box of each PE: questions, and 1; 0 while it may be filled. */
static uint64_t* ended;
static struct question* filled;
static long* filled_count;
static long ended_count(void) { return (long)shmem_uint64_atomic_fetch(ended, me); }
static void answer_boxes(void) {
  for (int pe = 0; pe < pes; ++pe) {
    const uint64_t length = shmem_signal_fetch(lengths + pe);
    if (length == 0) continue;
    for (uint64_t i = 0; i + 1 < length; ++i) {
      const struct question q = boxes[(size_t)pe * box + i];
      found += has_edge(q.from, q.to);
    }
    shmem_uint64_atomic_set(lengths + pe, 0, me);
  }
}
static void send_box(int pe) {
  if (filled_count[pe] == 0) return;
  while (shmem_uint64_atomic_fetch(lengths + me, pe) != 0) answer_boxes();
  shmem_putmem_signal(boxes + (size_t)me * box, filled + (size_t)pe * box, (size_t)filled_count[pe] * sizeof *filled,
                      lengths + me, (uint64_t)filled_count[pe] + 1, SHMEM_SIGNAL_SET, pe);
  filled_count[pe] = 0;
}
static void ask_by_box(struct question q, int pe) {
  filled[(size_t)pe * box + (size_t)filled_count[pe]] = q;
  if (++filled_count[pe] == box) send_box(pe);
}

static long count(int way, int id, shmem_ctx_t ctx, int shows_progress) {
  found = 0;
  long asked = 0;
  shmem_barrier_all();
  for (long u = me; u < vertex_count; u += pes) {
    for (long i = first_of[u]; i < first_here[u]; ++i)
      for (long j = first_of[u]; j < first_here[u]; ++j) {
        if (!comes_before(targets[i], targets[j])) continue;
        const struct question q = {targets[i], targets[j]};
        const int pe = q.from % pes;
        if (way == 2)
          ask_by_box(q, pe);
        else
          shmemx_ctx_am_send_nbi(ctx, id, (void*)&q, sizeof q, pe);
        if (++asked % 512 != 0) continue;
        if (way == 2)
          answer_boxes();
        else
          shmemx_am_poll(NULL);
      }
    if (shows_progress && me == 0 && u / pes % 64 == 0)
      fprintf(stderr, "\r  %3ld %%", 100 * u / vertex_count);
  }
  if (way == 2) {
    for (int pe = 0; pe < pes; ++pe) send_box(pe);
    shmem_quiet();
    for (int pe = 0; pe < pes; ++pe) shmem_uint64_atomic_inc(ended, pe);
    while (ended_count() < pes) answer_boxes();
    answer_boxes();
    shmem_barrier_all();
    *ended = 0;
  } else {
    shmemx_am_barrier_all(NULL);
  }
  if (shows_progress && me == 0) fprintf(stderr, "\r  100 %%\n");
  static long own, all;
  own = found;
  shmem_sync_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &own, 1);
  return all;
}

static long count_by_force(void) {
  char* const has = calloc((size_t)(vertex_count * vertex_count), 1);
  long all = 0;
  for (long i = 0; i < edge_count; ++i) has[edges[i][0] * vertex_count + edges[i][1]] = 1;
  for (long a = 0; a < vertex_count; ++a)
    for (long b = a + 1; b < vertex_count; ++b)
      if (has[a * vertex_count + b])
        for (long c = b + 1; c < vertex_count; ++c) all += has[a * vertex_count + c] && has[b * vertex_count + c];
  free(has);
  return all;
}

static const char usage[] =
    "Usage: weft-triangles [OPTIONS] [FILE]\n"
    "\n"
    "Counts the triangles of an undirected graph on all PEs: by active messages, by active\n"
    "messages in a session that gathers them, and by puts with atomic operations. FILE has an\n"
    "edge in each line, as the files of SNAP; without one a graph is generated. Several PEs:\n"
    "weftrun -n N weft-triangles.\n"
    "\n"
    "Options:\n"
    "  --vertices N  vertices of the graph that is generated (2000)\n"
    "  --edges N     its edges, before those that come twice are left out (40000)\n"
    "  --seed S      another graph for each S (1)\n"
    "  --check       count by brute force, too (up to 5,000 vertices)\n"
    "  --help        print this text\n"
    "  --version     print the version of OpenSHMEM and of weft\n";

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe(), pes = shmem_n_pes();
  long vertices = 2000, generated = 40000, seed = 1;
  int check = 0;
  const struct option options[] = {{"vertices", 1, NULL, 'v'}, {"edges", 1, NULL, 'e'}, {"seed", 1, NULL, 's'},
                                   {"check", 0, NULL, 'c'},    {"help", 0, NULL, 'h'},  {"version", 0, NULL, 'V'},
                                   {0}};
  for (int word; (word = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
    if (word == 'v') vertices = atol(optarg);
    else if (word == 'e') generated = atol(optarg);
    else if (word == 's') seed = atol(optarg);
    else if (word == 'c') check = 1;
    else {
      if (me == 0 && word == 'V')
        printf("weft-triangles (%s) OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
      else if (me == 0)
        fputs(usage, word == 'h' ? stdout : stderr);
      shmem_barrier_all();
      shmem_finalize();
      return word == 'h' || word == 'V' ? 0 : 2;
    }
  }
  if (vertices < 3 || generated < 1 || vertices > INT32_MAX) refuse("--vertices is 3 or more, --edges 1 or more", "");
  if (optind < argc)
    read_graph(argv[optind]);
  else
    generate(vertices, generated, 88172645463325252u ^ (uint64_t)seed * 2654435761u);
  clean();
  spread();
  if (me == 0) printf("%ld vertices, %ld edges, %d PEs\n", vertex_count, edge_count, pes);
  boxes = shmem_malloc((size_t)pes * box * sizeof *boxes);
  lengths = shmem_calloc((size_t)pes, sizeof *lengths);
  ended = shmem_calloc(1, sizeof *ended);
  if (boxes == NULL || lengths == NULL || ended == NULL) refuse("no room in the symmetric heap", "");
  filled = malloc((size_t)pes * box * sizeof *filled);
  filled_count = calloc((size_t)pes, sizeof *filled_count);
  int id;
  shmemx_am_set_handler_all(answer, NULL, &id);
  shmem_ctx_t ctx;
  if (shmem_ctx_create(0, &ctx) != 0) refuse("no context", "");
  const char* const names[3] = {"active messages", "active messages, in a session", "puts and atomics"};
  long results[3];
  for (int way = 0; way < 3; ++way) {
    if (way == 1) shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    const double begin = seconds();
    results[way] = count(way, id, way == 1 ? ctx : SHMEM_CTX_DEFAULT, isatty(2));
    if (me == 0) {
      printf("%-29s %ld triangles\n", names[way], results[way]);
      fprintf(stderr, "%-29s %.3f s\n", names[way], seconds() - begin);
    }
    if (way == 1) shmem_ctx_session_stop(ctx);
  }
  int wrong = results[0] != results[1] || results[0] != results[2];
  if (check && vertex_count <= 5000) wrong = wrong || results[0] != count_by_force();
  if (me == 0) puts(wrong ? "WRONG" : check ? "right" : "all ways agree");
  shmem_ctx_destroy(ctx);
  shmem_finalize();
  return wrong;
}
