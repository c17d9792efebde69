/* Collectives at random, the same on all ranks: kinds, roots, lengths, communicators, up to four under way at
   once, ended in any order, with messages between. What must come is known to each rank. SEED is the first
   argument. */
#include "conform.h"

enum { slots = 4, communicators = 4, longest = 300, room = 64 * longest };

static unsigned long shared_state, own_state;
static int pick_by(unsigned long* state, int n) {
  *state = *state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((*state >> 33) % (unsigned long)n);
}
static int pick(int n) { return pick_by(&shared_state, n); } /* The same on all ranks. */

static struct place {
  MPI_Comm comm;
  int rank, size;
  int members; /* How many of the world have this one: its collectives are skipped by others. */
} places[communicators];

enum { bcast, reduce, allreduce, gather, allgather, scatter, alltoall, scan, gatherv, alltoallv, reduce_scatter, barrier, kinds };

static struct slot {
  MPI_Request request;
  int kind, n, root, step, in_place;
  const struct place* at;
  unsigned in[room], out[room];
  int counts[64], starts[64];
} all[slots];

static unsigned value(const struct slot* s, int r, int i) { return (unsigned)s->step * 1000003u + (unsigned)r * 10007u + (unsigned)i * 7u; }
static unsigned sum_of(const struct slot* s, int from_zero_to, int i) {
  unsigned sum = 0;
  for (int r = 0; r < from_zero_to; ++r) sum += value(s, r, i);
  return sum;
}
/* Rank r has a little more than rank r - 1. */
static int count_of(const struct slot* s, int r) { return s->n / 2 + (r + s->step) % 4; }

static void fill(struct slot* s) {
  const int length = s->n * s->at->size > room ? room : s->n * s->at->size;
  for (int i = 0; i < length + 4 * 64 && i < room; ++i) s->in[i] = value(s, s->at->rank, i), s->out[i] = 0xdeadbeef;
  if (s->kind == bcast && s->at->rank == s->root)
    for (int i = 0; i < s->n; ++i) s->out[i] = s->in[i];
  if (s->in_place)
    for (int i = 0; i < s->n; ++i) s->out[i] = s->in[i];
  for (int r = 0, at = 0; r < s->at->size; ++r) {
    s->counts[r] = s->kind == gatherv ? count_of(s, r) : s->kind == alltoallv ? (r + s->at->rank + s->step) % 5 : s->n;
    s->starts[r] = at;
    at += s->counts[r];
  }
}

/* Blocking when `request` is null. */
#define START(Name, IName, ...) \
  (request == NULL ? MPI_##Name(__VA_ARGS__, comm) : MPI_##IName(__VA_ARGS__, comm, request))
static void start(struct slot* s, MPI_Request* request) {
  const MPI_Comm comm = s->at->comm;
  const void* const in = s->in_place ? MPI_IN_PLACE : s->in;
  const MPI_Datatype t = MPI_UNSIGNED;
  switch (s->kind) {
    case bcast: START(Bcast, Ibcast, s->out, s->n, t, s->root); break;
    case reduce: START(Reduce, Ireduce, s->in, s->out, s->n, t, MPI_SUM, s->root); break;
    case allreduce: START(Allreduce, Iallreduce, in, s->out, s->n, t, MPI_SUM); break;
    case gather: START(Gather, Igather, s->in, s->n, t, s->out, s->n, t, s->root); break;
    case allgather: START(Allgather, Iallgather, s->in, s->n, t, s->out, s->n, t); break;
    case scatter: START(Scatter, Iscatter, s->in, s->n, t, s->out, s->n, t, s->root); break;
    case alltoall: START(Alltoall, Ialltoall, s->in, s->n, t, s->out, s->n, t); break;
    case scan: START(Scan, Iscan, in, s->out, s->n, t, MPI_SUM); break;
    case gatherv: START(Gatherv, Igatherv, s->in, count_of(s, s->at->rank), t, s->out, s->counts, s->starts, t, s->root); break;
    case alltoallv: START(Alltoallv, Ialltoallv, s->in, s->counts, s->starts, t, s->out, s->counts, s->starts, t); break;
    case reduce_scatter: START(Reduce_scatter_block, Ireduce_scatter_block, s->in, s->out, s->n, t, MPI_SUM); break;
    default: request == NULL ? MPI_Barrier(comm) : MPI_Ibarrier(comm, request);
  }
}

static unsigned wanted(const struct slot* s, int i) {
  const struct place* const p = s->at;
  const int at_root = p->rank == s->root;
  switch (s->kind) {
    case bcast: return value(s, s->root, i);
    case reduce: return at_root ? sum_of(s, p->size, i) : 0xdeadbeef;
    case allreduce: return sum_of(s, p->size, i);
    case gather: return at_root ? value(s, i / s->n, i % s->n) : 0xdeadbeef;
    case allgather: return value(s, i / s->n, i % s->n);
    case scatter: return value(s, s->root, p->rank * s->n + i);
    case alltoall: return value(s, i / s->n, p->rank * s->n + i % s->n);
    case scan: return sum_of(s, p->rank + 1, i);
    default: return sum_of(s, p->size, p->rank * s->n + i);
  }
}

static void check(const struct slot* s) {
  const struct place* const p = s->at;
  if (s->kind == barrier) return;
  if (s->kind == gatherv || s->kind == alltoallv) {
    for (int r = 0; r < p->size && (s->kind == alltoallv || p->rank == s->root); ++r) {
      int sent_from = 0; /* Where rank r had what it gave to this one. */
      for (int k = 0; s->kind == alltoallv && k < p->rank; ++k) sent_from += (k + r + s->step) % 5;
      for (int i = 0; i < s->counts[r]; ++i)
        EXPECT(s->out[s->starts[r] + i] == value(s, r, sent_from + i), "step %d, kind %d: element %d of rank %d is %u", s->step, s->kind, i,
               r, s->out[s->starts[r] + i]);
    }
    return;
  }
  const int blocks = s->kind == gather || s->kind == allgather || s->kind == alltoall ? p->size : 1;
  for (int i = 0; i < s->n * blocks; ++i)
    EXPECT(s->out[i] == wanted(s, i), "step %d, kind %d of %d, root %d: element %d is %u, not %u", s->step, s->kind, s->n, s->root, i,
           s->out[i], wanted(s, i));
}

static void end_one(int which) {
  if (all[which].request == MPI_REQUEST_NULL) return;
  MPI_Wait(&all[which].request, MPI_STATUS_IGNORE);
  check(&all[which]);
}

static void message_to_the_next(int step) {
  unsigned mine = (unsigned)(step + rank), got = 0;
  MPI_Sendrecv(&mine, 1, MPI_UNSIGNED, (rank + 1) % size, step, &got, 1, MPI_UNSIGNED, (rank + size - 1) % size, step, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  EXPECT_INT(got, step + (rank + size - 1) % size);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  shared_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  own_state = shared_state * 1000 + (unsigned long)rank;
  for (int k = 0; k < communicators; ++k) {
    if (k == 0) MPI_Comm_dup(MPI_COMM_WORLD, &places[k].comm);
    if (k == 1) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &places[k].comm);
    if (k == 2) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &places[k].comm);
    if (k == 3) MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2, rank, &places[k].comm);
    MPI_Comm_rank(places[k].comm, &places[k].rank);
    MPI_Comm_size(places[k].comm, &places[k].size);
  }
  for (int i = 0; i < slots; ++i) all[i].request = MPI_REQUEST_NULL;
#if defined MPICH_NAME || defined OPEN_MPI
  enum { steps = 150 };
#else
  enum { steps = 400 };
#endif
  for (int step = 0; step < steps; ++step) {
    const int which = pick(slots), started = pick(3) != 0;
    end_one(which);
    struct slot* const s = &all[which];
    s->kind = pick(kinds);
    s->n = pick(4) == 0 ? 1 + pick(longest - 1) : 1 + pick(8);
    s->step = step;
    s->at = &places[pick(communicators)];
    s->root = pick(64) % s->at->size;
    /* Each rank for itself: in all-reduces the standard promises that only where all ranks do. */
#if defined MPICH_NAME || defined OPEN_MPI
    const int with_others = pick(2);
#else
    const int with_others = pick_by(&own_state, 2);
#endif
    s->in_place = s->kind == scan ? pick_by(&own_state, 2) : s->kind == allreduce && with_others;
    fill(s);
    start(s, started ? &s->request : NULL);
    if (!started) check(s);
    if (pick(5) == 0) message_to_the_next(step);
    if (pick_by(&own_state, 6) == 0) end_one(pick_by(&own_state, slots)); /* Each rank another one. */
  }
  for (int i = 0; i < slots; ++i) end_one((i + rank) % slots);
  for (int k = 0; k < communicators; ++k) MPI_Comm_free(&places[k].comm);
  return end();
}
