/* Datatypes made at random, up to three deep, against a model that lists every basic element: the bytes that go,
   in their order, sizes and bounds. SEED is the first argument; the seed of what is wrong is told. */
#include "conform.h"
#include <stddef.h>

enum { elements_max = 4096, room = 1 << 20 };

/* The bytes of a datatype in the order of its elements, and its bounds; set ones count alone. */
struct map {
  int count;
  long at[elements_max];
  int bytes[elements_max];
  int lower_is_set, upper_is_set;
  long lower, upper;
  int alignment;
};

static unsigned long random_state;
static int pick(int n) {
  random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((random_state >> 33) % (unsigned long)n);
}

static const struct { int bytes, alignment; } basic_sizes[] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {4, 4}};
static MPI_Datatype basic_types[5];

static void start(struct map* m) {
  memset(m, 0, offsetof(struct map, at));
  m->lower_is_set = m->upper_is_set = 0;
  m->lower = m->upper = 0;
  m->alignment = 1;
}

/* Puts `part` into `m`, `by` bytes away. What has no elements and no set bounds counts for nothing. */
static int empty_so_far;
static void put(struct map* m, const struct map* part, long by) {
  const int is_set = part->lower_is_set;
  if (part->alignment > m->alignment) m->alignment = part->alignment;
  for (int i = 0; i < part->count && m->count < elements_max; ++i, ++m->count)
    m->at[m->count] = part->at[i] + by, m->bytes[m->count] = part->bytes[i];
  if ((part->count == 0 && !is_set) || (m->lower_is_set && !is_set)) return;
  const long lower = part->lower + by, upper = part->upper + by;
  if (empty_so_far || (is_set && !m->lower_is_set) || lower < m->lower) m->lower = lower;
  if (empty_so_far || (is_set && !m->upper_is_set) || upper > m->upper) m->upper = upper;
  if (is_set) m->lower_is_set = m->upper_is_set = 1;
  empty_so_far = 0;
}

static void finish(struct map* m) {
  const long beyond = (m->upper - m->lower) % m->alignment;
  if (!m->upper_is_set && beyond != 0) m->upper += m->alignment - beyond;
}

static long extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return (long)extent;
}

static MPI_Datatype make(int depth, struct map* m);

/* `n` blocks of `length` elements of an older type at displacements in bytes. */
static void put_blocks(struct map* m, const struct map* old, long extent, int n, const int* lengths, const long* at) {
  empty_so_far = 1;
  start(m);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < lengths[i]; ++k) put(m, old, at[i] + k * extent);
  finish(m);
}

static MPI_Datatype make_structure(int depth, struct map* m) {
  const int n = pick(4);
  int lengths[4];
  long at[4], extents[4];
  MPI_Aint places[4];
  MPI_Datatype types[4], made;
  struct map* const old = malloc(4 * sizeof *old);
  for (int i = 0; i < n; ++i) {
    lengths[i] = pick(3);
    places[i] = at[i] = 8 * pick(30) - 40;
    types[i] = make(depth - 1, &old[i]);
    extents[i] = extent_of(types[i]);
  }
  MPI_Type_create_struct(n, lengths, places, types, &made);
  empty_so_far = 1;
  start(m);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < lengths[i]; ++k) put(m, &old[i], at[i] + k * extents[i]);
  finish(m);
  free(old);
  return made;
}

static MPI_Datatype make(int depth, struct map* m) {
  if (depth == 0) {
    const int which = pick(5);
    start(m);
    m->count = 1;
    m->at[0] = 0;
    m->bytes[0] = basic_sizes[which].bytes;
    m->upper = m->bytes[0];
    m->alignment = basic_sizes[which].alignment;
    return basic_types[which];
  }
  const int kind = pick(10);
  if (kind == 0) return make_structure(depth, m);
  struct map* const old = malloc(sizeof *old);
  const MPI_Datatype type = make(depth - 1, old);
  MPI_Datatype made;
  const long extent = extent_of(type);
  const int n = pick(4), length = pick(3), stride = pick(9) - 3;
  int lengths[4], places[4], same[4] = {length, length, length, length};
  long at[4];
  MPI_Aint bytes[4];
  for (int i = 0; i < 4; ++i) lengths[i] = pick(3), places[i] = pick(12) - 4, bytes[i] = 4 * pick(40) - 40;
  switch (kind) {
    case 1:
      MPI_Type_contiguous(n, type, &made);
      put_blocks(m, old, extent, 1, &n, (long[]){0});
      break;
    case 2:
    case 3:
      for (int i = 0; i < n; ++i) at[i] = i * (kind == 2 ? stride * extent : 12L * stride);
      if (kind == 2)
        MPI_Type_vector(n, length, stride, type, &made);
      else
        MPI_Type_create_hvector(n, length, 12 * stride, type, &made);
      put_blocks(m, old, extent, n, same, at);
      break;
    case 4:
    case 5:
      for (int i = 0; i < n; ++i) at[i] = kind == 4 ? places[i] * extent : (long)bytes[i];
      if (kind == 4)
        MPI_Type_indexed(n, lengths, places, type, &made);
      else
        MPI_Type_create_hindexed(n, lengths, bytes, type, &made);
      put_blocks(m, old, extent, n, lengths, at);
      break;
    case 6:
    case 7:
      for (int i = 0; i < n; ++i) at[i] = kind == 6 ? places[i] * extent : (long)bytes[i];
      if (kind == 6)
        MPI_Type_create_indexed_block(n, length, places, type, &made);
      else
        MPI_Type_create_hindexed_block(n, length, bytes, type, &made);
      put_blocks(m, old, extent, n, same, at);
      break;
    case 8:
      *m = *old;
      m->lower_is_set = m->upper_is_set = 1;
      m->lower = bytes[0];
      m->upper = bytes[0] + 4 * pick(20);
      MPI_Type_create_resized(type, bytes[0], m->upper - m->lower, &made);
      break;
    default: { /* A box of a box, C's order: the last dimension runs fastest. */
      const int rows = 1 + pick(4), columns = 1 + pick(4), high = 1 + pick(rows), wide = 1 + pick(columns);
      const int row = pick(rows - high + 1), column = pick(columns - wide + 1);
      MPI_Type_create_subarray(2, (int[]){rows, columns}, (int[]){high, wide}, (int[]){row, column}, MPI_ORDER_C, type, &made);
      empty_so_far = 1;
      start(m);
      for (int i = row; i < row + high; ++i)
        for (int k = column; k < column + wide; ++k) put(m, old, (i * columns + k) * extent);
      m->lower_is_set = m->upper_is_set = 1;
      m->lower = 0;
      m->upper = rows * columns * extent;
    }
  }
  free(old);
  return made;
}

/* Two elements of the type, as the model lists their bytes. */
static int listed(const struct map* m, long extent, const char* base, char* to) {
  int n = 0;
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < m->count; ++i) {
      memcpy(to + n, base + m->at[i] + k * extent, (size_t)m->bytes[i]);
      n += m->bytes[i];
    }
  return n;
}

static void try_one(unsigned long seed) {
  static char memory[room], wanted[room], got[room];
  static struct map m;
  random_state = seed * 7919 + 1;
  MPI_Datatype type = make(1 + pick(3), &m);
  int bytes = -1, position = 0, size_of_one = 0;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &bytes);
  for (int i = 0; i < m.count; ++i) size_of_one += m.bytes[i];
  EXPECT(bytes == size_of_one, "seed %lu: %d bytes, not %d", seed, bytes, size_of_one);
#ifdef MPI_ABI_VERSION /* Others round otherwise, and count parts in which there is nothing. */
  if (m.count != 0) {
    long first = m.at[0], last = m.at[0];
    for (int i = 0; i < m.count; ++i) {
      if (m.at[i] < first) first = m.at[i];
      if (m.at[i] + m.bytes[i] > last) last = m.at[i] + m.bytes[i];
    }
    MPI_Aint true_lower, true_extent;
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    EXPECT(true_lower == first && true_extent == last - first, "seed %lu: true extent %ld + %ld, not %ld + %ld", seed,
           (long)true_lower, (long)true_extent, first, last - first);
    EXPECT(lower == m.lower && extent == m.upper - m.lower, "seed %lu: extent %ld + %ld, not %ld + %ld", seed, (long)lower,
           (long)extent, m.lower, m.upper - m.lower);
  }
#endif
  if (bytes > 0 && m.count < elements_max && extent > -100000 && extent < 100000) {
    for (int i = 0; i < room; ++i) memory[i] = (char)(i * 31 + i / 253);
    const int n = listed(&m, (long)extent, memory + room / 2, wanted);
    MPI_Type_commit(&type);
    MPI_Pack(memory + room / 2, 2, type, got, room, &position, MPI_COMM_SELF);
    EXPECT(position == n && memcmp(got, wanted, (size_t)n) == 0, "seed %lu: packed otherwise, %d bytes of %d", seed, position, n);
#ifndef MPICH_NAME /* 4.0 sends some otherwise than it packs them. */
    memset(got, 0, (size_t)n);
    MPI_Sendrecv(memory + room / 2, 2, type, 0, 0, got, n, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    EXPECT(memcmp(got, wanted, (size_t)n) == 0, "seed %lu: sent otherwise", seed);
#endif
  }
  if (type != basic_types[0] && type != basic_types[1] && type != basic_types[2] && type != basic_types[3] && type != basic_types[4])
    MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const MPI_Datatype types[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT};
  memcpy(basic_types, types, sizeof types);
  const unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
#ifndef OPEN_MPI /* 4.1 faults. */
  for (unsigned long seed = first; seed < first + 150; ++seed) try_one(1000 * (unsigned long)rank + seed);
#else
  (void)first, (void)try_one;
#endif
  return end();
}
