/* Derived datatypes: every constructor, holes, negative strides, MPI_BOTTOM, extents, packing, and what
   a datatype was made of. */
#include "conform.h"
#include "large_counts.h"
#include <stddef.h>

/* Sends one buffer to oneself as (count, type) and receives it as plain ints. */
static int flattened(const void* buffer, int count, MPI_Datatype type, int* out, int room) {
  MPI_Status status;
  count_type got = -1;
  MPI_Sendrecv(buffer, count, type, rank, 1, out, room, MPI_INT, rank, 1, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  return (int)got;
}

static void expect_ints(const char* what, const int* found, int count, int wanted_count, const int* wanted) {
  EXPECT(count == wanted_count, "%s: %d ints, not %d", what, count, wanted_count);
  for (int i = 0; i < wanted_count && i < count; ++i)
    EXPECT(found[i] == wanted[i], "%s: element %d is %d, not %d", what, i, found[i], wanted[i]);
}
#define EXPECT_INTS(what, found, count, ...)                                    \
  do {                                                                          \
    const int wanted_[] = {__VA_ARGS__};                                        \
    expect_ints(what, found, count, LENGTH(wanted_), wanted_);                  \
  } while (0)

static void expect_extent(const char* what, MPI_Datatype type, int bytes, MPI_Aint lower, MPI_Aint extent,
                          MPI_Aint true_lower, MPI_Aint true_extent) {
  count_type found = -1;
  MPI_Aint a, b, c, d;
  MPI_Count count, e, f;
  MPI_Type_size(type, &found);
  MPI_Type_size_x(type, &count);
  MPI_Type_get_extent(type, &a, &b);
  MPI_Type_get_true_extent(type, &c, &d);
  MPI_Type_get_extent_x(type, &e, &f);
  MPI_Count g, h;
  MPI_Type_get_true_extent_x(type, &g, &h);
  EXPECT(found == bytes && count == bytes, "%s: size %d, not %d", what, (int)found, bytes);
  EXPECT(a == lower && b == extent && e == lower && f == extent, "%s: extent %ld + %ld, not %ld + %ld", what, (long)a,
         (long)b, (long)lower, (long)extent);
  EXPECT(c == true_lower && d == true_extent && g == c && h == d, "%s: true extent %ld + %ld, not %ld + %ld", what, (long)c, (long)d,
         (long)true_lower, (long)true_extent);
}

static int source[64], out[64];

static void constructors(void) {
  MPI_Datatype t, u;
  for (int i = 0; i < 64; ++i) source[i] = i;

  MPI_Type_contiguous(3, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("contiguous", out, flattened(source + 1, 2, t, out, 64), 1, 2, 3, 4, 5, 6);
  expect_extent("contiguous", t, 12, 0, 12, 0, 12);

  MPI_Type_vector(3, 2, 4, MPI_INT, &u);
  MPI_Type_commit(&u);
  EXPECT_INTS("vector", out, flattened(source, 1, u, out, 64), 0, 1, 4, 5, 8, 9);
  EXPECT_INTS("two vectors", out, flattened(source, 2, u, out, 64), 0, 1, 4, 5, 8, 9, 10, 11, 14, 15, 18, 19);
  expect_extent("vector", u, 24, 0, 40, 0, 40);
  MPI_Type_free(&u);
  EXPECT(u == MPI_DATATYPE_NULL, "the freed type has a value");

  MPI_Type_vector(3, 1, -2, MPI_INT, &u);
  MPI_Type_commit(&u);
  EXPECT_INTS("negative stride", out, flattened(source + 10, 1, u, out, 64), 10, 8, 6);
  expect_extent("negative stride", u, 12, -16, 20, -16, 20);
  MPI_Type_free(&u);

  MPI_Type_create_hvector(2, 1, 20, t, &u);
  MPI_Type_commit(&u);
  MPI_Type_free(&t); /* What was made of it lives on. */
  EXPECT_INTS("hvector", out, flattened(source, 1, u, out, 64), 0, 1, 2, 5, 6, 7);
  MPI_Type_free(&u);

  MPI_Type_indexed(4, (count_type[]){2, 0, 1, 3}, (count_type[]){5, 1, 0, 20}, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("indexed", out, flattened(source, 1, t, out, 64), 5, 6, 0, 20, 21, 22);
  expect_extent("indexed", t, 24, 0, 92, 0, 92);
  MPI_Type_free(&t);

  MPI_Type_create_indexed_block(3, 2, (count_type[]){7, -1, 3}, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("indexed block", out, flattened(source + 1, 1, t, out, 64), 8, 9, 0, 1, 4, 5);
  MPI_Type_free(&t);

  MPI_Type_create_hindexed(2, (count_type[]){1, 2}, (MPI_Aint[]){40, 4}, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("hindexed", out, flattened(source, 1, t, out, 64), 10, 1, 2);
  MPI_Type_free(&t);

  MPI_Type_create_hindexed_block(2, 2, (MPI_Aint[]){40, 4}, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("hindexed block", out, flattened(source, 1, t, out, 64), 10, 11, 1, 2);
  MPI_Type_free(&t);

  MPI_Type_create_resized(MPI_INT, -4, 12, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("resized", out, flattened(source, 3, t, out, 64), 0, 3, 6);
  expect_extent("resized", t, 4, -4, 12, 0, 4);
  MPI_Type_contiguous(2, t, &u);
  expect_extent("two resized", u, 8, -4, 24, 0, 16);
  MPI_Type_free(&u);
  MPI_Type_free(&t);

  /* A column of a matrix, so often sent: a vector resized to one element. */
  MPI_Type_vector(4, 1, 4, MPI_INT, &u);
  MPI_Type_create_resized(u, 0, sizeof(int), &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("transposed", out, flattened(source, 4, t, out, 64), 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  MPI_Type_free(&u);

  MPI_Type_dup(t, &u);
  EXPECT_INTS("dup", out, flattened(source, 1, u, out, 64), 0, 4, 8, 12); /* Committed as the original is. */
  MPI_Type_free(&u);
  MPI_Type_free(&t);
}

static void arrays(void) {
  MPI_Datatype t;
  MPI_Type_create_subarray(2, (count_type[]){4, 5}, (count_type[]){2, 3}, (count_type[]){1, 2}, MPI_ORDER_C, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("subarray", out, flattened(source, 1, t, out, 64), 7, 8, 9, 12, 13, 14);
  expect_extent("subarray", t, 24, 0, 80, 28, 32);
  MPI_Type_free(&t);

  MPI_Type_create_subarray(2, (count_type[]){4, 5}, (count_type[]){2, 3}, (count_type[]){1, 2}, MPI_ORDER_FORTRAN, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("Fortran subarray", out, flattened(source, 1, t, out, 64), 9, 10, 13, 14, 17, 18);
  MPI_Type_free(&t);

  MPI_Type_create_subarray(3, (count_type[]){2, 3, 4}, (count_type[]){2, 1, 2}, (count_type[]){0, 1, 1}, MPI_ORDER_C, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("cube", out, flattened(source, 1, t, out, 64), 5, 6, 17, 18);
  MPI_Type_free(&t);

  /* 8 x 4 over 2 x 2 processes: rows in blocks, columns cyclically. */
  MPI_Type_create_darray(4, 1, 2, (count_type[]){8, 4}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                         (int[]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2, 2}, MPI_ORDER_C, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("darray", out, flattened(source, 1, t, out, 64), 1, 3, 5, 7, 9, 11, 13, 15);
  MPI_Type_free(&t);
  MPI_Type_create_darray(3, 2, 1, (count_type[]){11}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){2}, (int[]){3}, MPI_ORDER_C,
                         MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INTS("cyclic(2)", out, flattened(source, 1, t, out, 64), 4, 5, 10);
  MPI_Type_free(&t);
}

struct particle {
  char kind;
  double place[3];
  int number;
};

static void structures(void) {
  struct particle some[4], got[4];
  MPI_Datatype t, u;
  memset(got, 0, sizeof got);
  for (int i = 0; i < 4; ++i) some[i] = (struct particle){(char)('a' + i), {i, i + 0.5, -i}, 100 + i};
  MPI_Type_create_struct(3, (count_type[]){1, 3, 1},
                         (MPI_Aint[]){offsetof(struct particle, kind), offsetof(struct particle, place),
                                      offsetof(struct particle, number)},
                         (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_INT}, &u);
  MPI_Type_create_resized(u, 0, sizeof(struct particle), &t);
  MPI_Type_commit(&t);
  MPI_Type_free(&u);
  MPI_Status status;
  count_type count = 0, elements = 0;
  MPI_Sendrecv(some, 4, t, (rank + 1) % size, 0, got, 4, t, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, t, &count);
  MPI_Get_elements(&status, t, &elements);
  EXPECT(count == 4 && elements == 20, "%d structures, %d elements", (int)count, (int)elements);
  for (int i = 0; i < 4; ++i)
    EXPECT(got[i].kind == 'a' + i && got[i].place[1] == i + 0.5 && got[i].place[2] == -i && got[i].number == 100 + i,
           "%d: %c %g %d", i, got[i].kind, got[i].place[1], got[i].number);
  /* Half of a structure: no whole number of them, but elements. */
  MPI_Datatype two = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, (count_type[]){1, 3}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE}, &two);
  MPI_Type_commit(&two);
  MPI_Sendrecv(some, 1, two, rank, 0, got, 4, t, rank, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, t, &count);
  MPI_Get_elements(&status, t, &elements);
  EXPECT(count == MPI_UNDEFINED && elements == 4, "%d structures, %d elements", (int)count, (int)elements);
  MPI_Type_free(&two);
  MPI_Type_free(&t);
}

/* Addresses instead of offsets. */
static void bottom(void) {
  static int a[3] = {1, 2, 3};
  static double b = 4.5;
  int c[3] = {0};
  double d = 0;
  MPI_Aint at[4];
  MPI_Datatype from, to;
  MPI_Get_address(a, &at[0]);
  MPI_Get_address(&b, &at[1]);
  MPI_Get_address(c, &at[2]);
  MPI_Get_address(&d, &at[3]);
  EXPECT_INT(MPI_Aint_diff(at[0] + 8, at[0]), 8);
  EXPECT(MPI_Aint_add(at[0], 4) == at[0] + 4, "address");
  MPI_Type_create_struct(2, (count_type[]){3, 1}, at, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &from);
  MPI_Type_create_struct(2, (count_type[]){3, 1}, at + 2, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &to);
  MPI_Type_commit(&from);
  MPI_Type_commit(&to);
  MPI_Request request;
  MPI_Irecv(MPI_BOTTOM, 1, to, rank, 0, MPI_COMM_WORLD, &request);
  MPI_Send(MPI_BOTTOM, 1, from, rank, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(c[0] == 1 && c[2] == 3 && d == 4.5, "%d %d %g", c[0], c[2], d);
  MPI_Bcast(MPI_BOTTOM, 1, to, 0, MPI_COMM_WORLD);
  EXPECT(d == 4.5, "%g", d);
  MPI_Type_free(&from);
  MPI_Type_free(&to);
}

static void holes_stay(void) {
  int in[12];
  MPI_Datatype t;
  for (int i = 0; i < 12; ++i) in[i] = -1;
  MPI_Type_vector(3, 1, 4, MPI_INT, &t);
  MPI_Type_commit(&t);
  MPI_Sendrecv(source, 3, MPI_INT, rank, 0, in, 1, t, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_INTS("holes", in, 12, 0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1);
  MPI_Type_free(&t);
  /* Long: more than a packet, from one shape to another. */
  enum { n = 30000 };
  static int from[2 * n], to[3 * n];
  MPI_Datatype u;
  for (int i = 0; i < 2 * n; ++i) from[i] = i;
  for (int i = 0; i < 3 * n; ++i) to[i] = -7;
  MPI_Type_vector(n, 1, 2, MPI_INT, &t);
  MPI_Type_vector(n / 2, 2, 6, MPI_INT, &u);
  MPI_Type_commit(&t);
  MPI_Type_commit(&u);
  MPI_Sendrecv(from, 1, t, (rank + 1) % size, 0, to, 1, u, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < n / 2; ++i)
    EXPECT(to[6 * i] == 4 * i && to[6 * i + 1] == 4 * i + 2 && (i + 1 == n / 2 || to[6 * i + 2] == -7), "%d: %d %d", i, to[6 * i],
           to[6 * i + 1]);
  MPI_Type_free(&t);
  MPI_Type_free(&u);
}

static void nothing(void) {
  MPI_Datatype t;
  MPI_Type_contiguous(0, MPI_INT, &t);
  MPI_Type_commit(&t);
  expect_extent("empty", t, 0, 0, 0, 0, 0);
  EXPECT_INT(flattened(source, 5, t, out, 64), 0);
  MPI_Type_free(&t);
  MPI_Type_vector(0, 1, 1, MPI_INT, &t);
  MPI_Type_commit(&t);
  EXPECT_INT(flattened(NULL, 1, t, out, 64), 0);
  MPI_Type_free(&t);
}

static void packing(void) {
  char room[200];
  count_type position = 0, bytes = 0;
  int a = 5, many[3] = {7, 8, 9}, got_a = 0, got[3] = {0};
  double b = 2.5, got_b = 0;
  MPI_Pack_size(4, MPI_INT, MPI_COMM_WORLD, &bytes);
  EXPECT(bytes >= 16, "%d", (int)bytes);
  MPI_Pack(&a, 1, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD);
  MPI_Pack(&b, 1, MPI_DOUBLE, room, sizeof room, &position, MPI_COMM_WORLD);
  MPI_Pack(many, 3, MPI_INT, room, sizeof room, &position, MPI_COMM_WORLD);
  char in[200];
  MPI_Status status;
  MPI_Sendrecv(room, position, MPI_PACKED, (rank + 1) % size, 0, in, sizeof in, MPI_PACKED, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, &status);
  count_type length = 0;
  MPI_Get_count(&status, MPI_PACKED, &length);
  EXPECT_INT(length, position);
  position = 0;
  MPI_Unpack(in, length, &position, &got_a, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(in, length, &position, &got_b, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Unpack(in, length, &position, got, 3, MPI_INT, MPI_COMM_WORLD);
  EXPECT(got_a == 5 && got_b == 2.5 && got[2] == 9 && position == length, "%d %g %d", got_a, got_b, got[2]);

  MPI_Aint external = 0, at = 0;
  MPI_Pack_external_size("external32", 2, MPI_INT, &external);
  EXPECT_INT(external, 8);
  MPI_Pack_external("external32", many, 2, MPI_INT, room, sizeof room, &at);
  EXPECT(at == 8 && room[0] == 0 && room[3] == 7 && room[7] == 8, "big-endian: %d %d", room[3], room[7]);
  at = 0;
  MPI_Unpack_external("external32", room, 8, &at, got, 2, MPI_INT);
  EXPECT(got[0] == 7 && got[1] == 8, "%d %d", got[0], got[1]);
}

#ifdef LARGE_COUNTS
/* What was given as counts and addresses are large counts; kinds and orders stay integers. */
static void made_of(void) {
  MPI_Datatype t, types[2];
  MPI_Count integers = -1, addresses = -1, counts = -1, count = -1, values[10];
  MPI_Aint places[1];
  int combiner = 0, numbers[10];
  MPI_Type_create_struct(2, (count_type[]){1, 2}, (MPI_Aint[]){0, 64}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &t);
  MPI_Type_get_envelope_c(t, &integers, &addresses, &counts, &count, &combiner);
  EXPECT(integers == 0 && addresses == 0 && counts == 5 && count == 2 && combiner == MPI_COMBINER_STRUCT, "%d %d %d %d %d",
         (int)integers, (int)addresses, (int)counts, (int)count, combiner);
  MPI_Type_get_contents_c(t, 0, 0, 5, 2, numbers, places, values, types);
  EXPECT(values[0] == 2 && values[1] == 1 && values[2] == 2 && values[3] == 0 && values[4] == 64 && types[1] == MPI_DOUBLE,
         "%d %d %d %d", (int)values[0], (int)values[1], (int)values[2], (int)values[4]);
  MPI_Type_free(&t);
  MPI_Type_create_subarray(1, (count_type[]){5}, (count_type[]){2}, (count_type[]){1}, MPI_ORDER_C, MPI_INT, &t);
  MPI_Type_get_envelope_c(t, &integers, &addresses, &counts, &count, &combiner);
  EXPECT(integers == 2 && counts == 3 && combiner == MPI_COMBINER_SUBARRAY, "%d %d", (int)integers, (int)counts);
  MPI_Type_get_contents_c(t, 2, 0, 3, 1, numbers, places, values, types);
  EXPECT(numbers[0] == 1 && numbers[1] == MPI_ORDER_C && values[0] == 5 && values[1] == 2 && values[2] == 1, "%d %d %d",
         numbers[0], numbers[1], (int)values[0]);
  MPI_Type_free(&t);
  /* One of small counts, asked by the large function. */
  MPI_Type_dup(MPI_INT, &t);
  MPI_Type_get_envelope_c(t, &integers, &addresses, &counts, &count, &combiner);
  EXPECT(integers == 0 && counts == 0 && count == 1 && combiner == MPI_COMBINER_DUP, "%d", combiner);
  MPI_Type_free(&t);
}
#else
static void made_of(void) {
  MPI_Datatype t, inner, types[2];
  int integers = 0, addresses = 0, count = 0, combiner = 0, values[10];
  MPI_Aint places[4];
  MPI_Type_vector(3, 2, 4, MPI_INT, &inner);
  MPI_Type_get_envelope(inner, &integers, &addresses, &count, &combiner);
  EXPECT(integers == 3 && addresses == 0 && count == 1 && combiner == MPI_COMBINER_VECTOR, "%d %d %d %d", integers, addresses,
         count, combiner);
  MPI_Type_get_contents(inner, 3, 0, 1, values, places, types);
  EXPECT(values[0] == 3 && values[1] == 2 && values[2] == 4 && types[0] == MPI_INT, "%d %d %d", values[0], values[1], values[2]);
  MPI_Type_create_struct(2, (count_type[]){1, 2}, (MPI_Aint[]){0, 64}, (MPI_Datatype[]){inner, MPI_DOUBLE}, &t);
  MPI_Type_get_envelope(t, &integers, &addresses, &count, &combiner);
  EXPECT(integers == 3 && addresses == 2 && count == 2 && combiner == MPI_COMBINER_STRUCT, "%d %d %d", integers, addresses, count);
  MPI_Type_get_contents(t, 3, 2, 2, values, places, types);
  EXPECT(values[0] == 2 && values[2] == 2 && places[1] == 64 && types[1] == MPI_DOUBLE, "%d %d", values[0], values[2]);
  MPI_Type_free(&types[0]);
  MPI_Type_free(&t);
  MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &count, &combiner);
  EXPECT_INT(combiner, MPI_COMBINER_NAMED);
  MPI_Type_create_subarray(1, (count_type[]){5}, (count_type[]){2}, (count_type[]){1}, MPI_ORDER_C, MPI_INT, &t);
  MPI_Type_get_envelope(t, &integers, &addresses, &count, &combiner);
  EXPECT(integers == 5 && combiner == MPI_COMBINER_SUBARRAY, "%d", integers);
  MPI_Type_free(&t);
  MPI_Type_dup(inner, &t);
  MPI_Type_get_envelope(t, &integers, &addresses, &count, &combiner);
  EXPECT(combiner == MPI_COMBINER_DUP && count == 1, "%d", count);
  MPI_Type_free(&t);
  MPI_Type_free(&inner);
}
#endif

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME] = "?";
  int length = -1;
  MPI_Datatype t;
  MPI_Type_get_name(MPI_DOUBLE, name, &length);
  EXPECT(strcmp(name, "MPI_DOUBLE") == 0 && length == 10, "%s", name);
  MPI_Type_get_name(MPI_LONG_LONG, name, &length); /* Of two names the same for both. */
  EXPECT(strcmp(name, "MPI_LONG_LONG_INT") == 0 && length == 17, "%s", name);
  MPI_Type_get_name(MPI_C_FLOAT_COMPLEX, name, &length);
  EXPECT(strcmp(name, "MPI_C_COMPLEX") == 0 && length == 13, "%s", name);
  MPI_Type_contiguous(2, MPI_INT, &t);
  MPI_Type_get_name(t, name, &length);
  EXPECT(name[0] == 0 && length == 0, "%s", name);
  MPI_Type_set_name(t, "pair");
  MPI_Type_get_name(t, name, &length);
  EXPECT(strcmp(name, "pair") == 0 && length == 4, "%s", name);
  MPI_Type_free(&t);
}

static void basic_sizes(void) {
  const struct { MPI_Datatype type; size_t bytes; } basic[] = {
      {MPI_CHAR, 1}, {MPI_SIGNED_CHAR, 1}, {MPI_UNSIGNED_CHAR, 1}, {MPI_BYTE, 1}, {MPI_PACKED, 1},
      {MPI_SHORT, 2}, {MPI_UNSIGNED_SHORT, 2}, {MPI_INT, 4}, {MPI_UNSIGNED, 4}, {MPI_LONG, sizeof(long)},
      {MPI_UNSIGNED_LONG, sizeof(long)}, {MPI_LONG_LONG, 8}, {MPI_UNSIGNED_LONG_LONG, 8}, {MPI_FLOAT, 4},
      {MPI_DOUBLE, 8}, {MPI_LONG_DOUBLE, sizeof(long double)}, {MPI_WCHAR, sizeof(wchar_t)}, {MPI_C_BOOL, 1},
      {MPI_INT8_T, 1}, {MPI_INT16_T, 2}, {MPI_INT32_T, 4}, {MPI_INT64_T, 8}, {MPI_UINT8_T, 1}, {MPI_UINT16_T, 2},
      {MPI_UINT32_T, 4}, {MPI_UINT64_T, 8}, {MPI_C_FLOAT_COMPLEX, 8}, {MPI_C_DOUBLE_COMPLEX, 16}, {MPI_AINT, sizeof(MPI_Aint)},
      {MPI_OFFSET, sizeof(MPI_Offset)}, {MPI_COUNT, sizeof(MPI_Count)}, {MPI_FLOAT_INT, 8}, {MPI_DOUBLE_INT, 12},
      {MPI_2INT, 8}, {MPI_SHORT_INT, 6}, {MPI_LONG_INT, sizeof(long) + 4}};
  for (int i = 0; i < LENGTH(basic); ++i) {
    count_type found = -1;
    MPI_Type_size(basic[i].type, &found);
    EXPECT(found == (int)basic[i].bytes, "type %d: %d bytes, not %d", i, (int)found, (int)basic[i].bytes);
  }
  struct { double a; int b; } pair;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(MPI_DOUBLE_INT, &lower, &extent);
  EXPECT(lower == 0 && extent == (MPI_Aint)sizeof pair, "extent %ld", (long)extent);
  MPI_Datatype t;
#ifdef MPI_ABI_VERSION /* Of MPI 4.1. */
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &t);
  EXPECT(t == MPI_DOUBLE_INT, "another pair");
  MPI_Type_get_value_index(MPI_INT, MPI_INT, &t);
  EXPECT(t == MPI_2INT, "another pair");
  MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &t);
  EXPECT(t == MPI_DATATYPE_NULL, "a pair that there is not");
#endif
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t);
  count_type found = 0;
  MPI_Type_size(t, &found);
  EXPECT_INT(found, 8);
}

/* By what Fortran's numbers can hold. */
static void parametrized(void) {
  MPI_Datatype type, again, pair;
  int bytes = -1, integers = -1, addresses = -1, types = -1, combiner = -1, contents[2] = {0, 0};
  MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type);
  MPI_Type_size(type, &bytes);
  EXPECT_INT(bytes, 4);
  MPI_Type_create_f90_real(15, 307, &type);
  MPI_Type_size(type, &bytes);
  EXPECT_INT(bytes, 8);
  MPI_Type_create_f90_real(15, 307, &again);
  EXPECT(type == again, "another handle");
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  EXPECT(integers == 2 && addresses == 0 && types == 0 && combiner == MPI_COMBINER_F90_REAL, "%d %d %d %d", integers,
         addresses, types, combiner);
  MPI_Aint none[1];
  MPI_Type_get_contents(type, 2, 0, 0, contents, none, &again);
  EXPECT(contents[0] == 15 && contents[1] == 307, "%d %d", contents[0], contents[1]);
  double values[2] = {rank, 1}, sums[2] = {-1, -1};
  MPI_Allreduce(values, sums, 2, type, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sums[0] == size * (size - 1) / 2.0 && sums[1] == size, "%g %g", sums[0], sums[1]);
  MPI_Type_contiguous(2, type, &pair);
  MPI_Type_commit(&pair);
  MPI_Sendrecv(values, 1, pair, rank, 0, sums, 2, type, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(sums[0] == rank && sums[1] == 1, "%g %g", sums[0], sums[1]);
  MPI_Type_free(&pair);
  MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type);
  MPI_Type_size(type, &bytes);
  EXPECT_INT(bytes, 16);
  MPI_Type_create_f90_integer(9, &type);
  MPI_Type_size(type, &bytes);
  EXPECT_INT(bytes, 4);
  MPI_Type_create_f90_integer(10, &type);
  MPI_Type_size(type, &bytes);
  EXPECT_INT(bytes, 8);
  long long one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, type, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_INT(all, size);
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  EXPECT(integers == 1 && types == 0 && combiner == MPI_COMBINER_F90_INTEGER, "%d %d %d", integers, types, combiner);
#ifdef MPI_ABI_VERSION
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  again = type;
  EXPECT_CLASS(MPI_Type_free(&again), MPI_ERR_TYPE);
  EXPECT_CLASS(MPI_Type_create_f90_integer(1000, &again), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Type_create_f90_real(100, 100, &again), MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
#endif
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  constructors();
  arrays();
  structures();
  bottom();
  holes_stay();
  nothing();
  packing();
  made_of();
  names();
  basic_sizes();
  parametrized();
  return end();
}
