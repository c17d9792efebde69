/* Windows at random, the same on all ranks: kinds of memory, units, synchronisation, operations. Each rank knows every
   operation of all, and works out what its own memory must hold: those of a round that meet at one place commute. The first
   argument is the first seed, the second how many follow. */
#include "conform.h"

enum {
  summed = 24,              /* Places at which all operations of a round are one accumulate. */
  written = 48,             /* From `summed` on: places that one operation of a round writes. */
  places = 64,              /* From `written` on: places that are only read. */
  operations_max = 40,
  ranks_max = 64
};

static unsigned long state;
static int pick(int n) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)n);
}

enum { by_create, by_allocate, by_shared, by_dynamic, kinds };
enum { by_fence, by_groups, by_locks, by_exclusive_locks, by_lock_all, synchronisations };

static struct operation {
  int origin, target, what, place, count, strided, value;
} all[operations_max];
enum { put, get, accumulate, fetch, swap_in, what_kinds };

static long model[ranks_max][places];
static long* own;
static MPI_Aint bases[ranks_max]; /* Of dynamic windows. */
static int units[ranks_max];
static MPI_Win win;

static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_BXOR, MPI_BOR, MPI_BAND, MPI_MAX, MPI_MIN};
static long combined(int op, long a, long b) {
  switch (op) {
    case 0: return (long)((unsigned long)a + (unsigned long)b);
    case 1: return (long)((unsigned long)a * (unsigned long)b);
    case 2: return a ^ b;
    case 3: return a | b;
    case 4: return a & b;
    case 5: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}

static MPI_Aint displacement(int target, int place) {
  return bases[target] + (MPI_Aint)place * (MPI_Aint)sizeof(long) / units[target];
}
static long value_of(const struct operation* o, int i) { return 1 + o->value * 31 + i * 7; }
static int place_of(const struct operation* o, int i) { return o->place + i * (o->strided ? 2 : 1); }

/* The operations of a round. No two write one place. */
static int draw(void) {
  static char taken[ranks_max][places];
  memset(taken, 0, sizeof taken);
  const int n = 1 + pick(operations_max - 1);
  int made = 0;
  for (int k = 0; k < n; ++k) {
    struct operation* const o = &all[made];
    *o = (struct operation){.origin = pick(size), .target = pick(size), .what = pick(what_kinds), .count = 1 + pick(6),
                            .strided = pick(3) == 0, .value = pick(1000)};
    const int step = o->strided ? 2 : 1;
    if (o->what == fetch) o->count = 1, o->strided = 0;
    if (o->what == swap_in) o->count = 1, o->strided = 0;
    switch (o->what) {
      case get: o->place = written + pick(places - written - step * o->count + 1); break;
      case accumulate:
      case fetch: o->place = pick(summed - step * o->count + 1); break;
      default: {
        o->place = summed + pick(written - summed - step * o->count + 1);
        int is_free = 1;
        for (int i = 0; i < o->count; ++i) is_free &= !taken[o->target][place_of(o, i)];
        if (!is_free) continue;
        for (int i = 0; i < o->count; ++i) taken[o->target][place_of(o, i)] = 1;
      }
    }
    ++made;
  }
  return made;
}

static void carry_out(const struct operation* o, int op, long* room) {
  const MPI_Aint at = displacement(o->target, o->place);
  const int count = o->strided ? 1 : o->count;
  MPI_Datatype type = MPI_LONG;
  if (o->strided) {
    MPI_Type_vector(o->count, 1, 2, MPI_LONG, &type);
    MPI_Type_commit(&type);
  }
  for (int i = 0; i < o->count; ++i) room[i] = value_of(o, i);
  switch (o->what) {
    case put: MPI_Put(room, o->count, MPI_LONG, o->target, at, count, type, win); break;
    case get: MPI_Get(room, o->count, MPI_LONG, o->target, at, count, type, win); break;
    case accumulate: MPI_Accumulate(room, o->count, MPI_LONG, o->target, at, count, type, ops[op], win); break;
    case fetch: MPI_Fetch_and_op(&room[0], &room[6], MPI_LONG, o->target, at, ops[op], win); break;
    default:
      room[1] = model[o->target][o->place];
      MPI_Compare_and_swap(&room[0], &room[1], &room[6], MPI_LONG, o->target, at, win);
  }
  if (o->strided) MPI_Type_free(&type);
}

static void expect_result(const struct operation* o, const long* room, unsigned long seed) {
  if (o->what == get)
    for (int i = 0; i < o->count; ++i)
      EXPECT(room[i] == model[o->target][place_of(o, i)], "seed %lu: place %d of rank %d is %ld, not %ld", seed, place_of(o, i),
             o->target, room[i], model[o->target][place_of(o, i)]);
  if (o->what == swap_in)
    EXPECT(room[6] == model[o->target][o->place], "seed %lu: place %d of rank %d was %ld, not %ld", seed, o->place, o->target,
           room[6], model[o->target][o->place]);
}

static void apply_to_model(const struct operation* o, int op) {
  for (int i = 0; i < o->count; ++i) {
    long* const at = &model[o->target][place_of(o, i)];
    if (o->what == put || o->what == swap_in) *at = value_of(o, i);
    if (o->what == accumulate || o->what == fetch) *at = combined(op, *at, value_of(o, i));
  }
}

static void round_of(int synchronisation, unsigned long seed) {
  static long rooms[operations_max][7];
  const int op = pick(LENGTH(ops));
  const int n = draw();
  MPI_Group group;
  MPI_Win_get_group(win, &group);
  switch (synchronisation) {
    case by_fence: MPI_Win_fence(MPI_MODE_NOPRECEDE, win); break;
    case by_groups:
      MPI_Win_post(group, 0, win);
      MPI_Win_start(group, 0, win);
      break;
    case by_lock_all: MPI_Win_lock_all(0, win); break;
    default: break;
  }
  for (int k = 0; k < n; ++k) {
    if (all[k].origin != rank) continue;
    const int locks = synchronisation == by_locks || synchronisation == by_exclusive_locks;
    if (locks)
      MPI_Win_lock(synchronisation == by_locks ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, all[k].target, 0, win);
    carry_out(&all[k], op, rooms[k]);
    if (locks) MPI_Win_unlock(all[k].target, win);
    if (synchronisation == by_lock_all && k % 3 == 0) MPI_Win_flush(all[k].target, win);
  }
  switch (synchronisation) {
    case by_fence: MPI_Win_fence(MPI_MODE_NOSUCCEED, win); break;
    case by_groups:
      MPI_Win_complete(win);
      MPI_Win_wait(win);
      break;
    case by_lock_all: MPI_Win_unlock_all(win); break;
    default: break;
  }
  MPI_Group_free(&group);
  for (int k = 0; k < n; ++k)
    if (all[k].origin == rank) expect_result(&all[k], rooms[k], seed);
  for (int k = 0; k < n; ++k) apply_to_model(&all[k], op);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int i = 0; i < places; ++i)
    EXPECT(own[i] == model[rank][i], "seed %lu: place %d is %ld, not %ld, by synchronisation %d", seed, i, own[i],
           model[rank][i], synchronisation);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void one_program(unsigned long seed) {
  state = seed * 2654435761ul + 12345;
  const int kind = pick(kinds);
  for (int r = 0; r < size; ++r) {
    units[r] = kind == by_dynamic ? 1 : 1 << pick(4);
    bases[r] = 0;
  }
  const MPI_Aint bytes = places * (MPI_Aint)sizeof(long);
  long* memory = NULL;
  switch (kind) {
    case by_create:
      own = memory = malloc((size_t)bytes);
      MPI_Win_create(own, bytes, units[rank], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      break;
    case by_allocate: MPI_Win_allocate(bytes, units[rank], MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win); break;
    case by_shared: MPI_Win_allocate_shared(bytes, units[rank], MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win); break;
    default: {
      own = memory = malloc((size_t)bytes);
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      MPI_Win_attach(win, own, bytes);
      MPI_Aint mine;
      MPI_Get_address(own, &mine);
      MPI_Allgather(&mine, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
    }
  }
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < places; ++i) model[r][i] = (long)pick(1 << 20) - (1 << 19);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memcpy(own, model[rank], (size_t)bytes);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const int rounds = 1 + pick(4);
  for (int i = 0; i < rounds; ++i) round_of(pick(synchronisations), seed);
  if (kind == by_dynamic) MPI_Win_detach(win, own);
  MPI_Win_free(&win);
  free(memory);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
  const unsigned long seeds = argc > 2 ? strtoul(argv[2], NULL, 0) : 50;
  MPI_Comm node;
  int of_node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &of_node);
  MPI_Comm_free(&node);
  for (unsigned long seed = first; of_node == size && seed < first + seeds; ++seed) one_program(seed);
  return end();
}
