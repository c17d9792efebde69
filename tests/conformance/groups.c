/* Groups: their set operations, ranges, translations and comparison. Groups of one rank's own need no
   communication, so odd ones are made everywhere. */
#include <limits.h>

#include "conform.h"

static MPI_Group world;

static MPI_Group of(int n, const int* ranks) {
  MPI_Group group;
  MPI_Group_incl(world, n, ranks, &group);
  return group;
}

static void expect_members(const char* what, MPI_Group group, int n, const int* wanted) {
  int found_size = -1, numbers[64], found[64];
  MPI_Group_size(group, &found_size);
  EXPECT(found_size == n, "%s: %d members, not %d", what, found_size, n);
  for (int i = 0; i < n; ++i) numbers[i] = i;
  if (found_size != n || n == 0) return;
  MPI_Group_translate_ranks(group, n, numbers, world, found);
  for (int i = 0; i < n; ++i) EXPECT(found[i] == wanted[i], "%s: member %d is %d, not %d", what, i, found[i], wanted[i]);
}

static int is(MPI_Group a, MPI_Group b) {
  int result = -1;
  MPI_Group_compare(a, b, &result);
  return result;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int n = -1, r = -1, all[64], reversed[64];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(world, &n);
  MPI_Group_rank(world, &r);
  EXPECT(n == size && r == rank, "%d of %d", r, n);
  for (int i = 0; i < size; ++i) all[i] = i, reversed[i] = size - 1 - i;

  MPI_Group backwards = of(size, reversed), copy = of(size, all), result;
  EXPECT_INT(is(world, copy), MPI_IDENT);
  EXPECT_INT(is(world, backwards), size == 1 ? MPI_IDENT : MPI_SIMILAR);
  EXPECT_INT(is(world, MPI_GROUP_EMPTY), MPI_UNEQUAL);
  expect_members("backwards", backwards, size, reversed);
  MPI_Group_rank(backwards, &r);
  EXPECT_INT(r, size - 1 - rank);

  const int last = size - 1, first = 0;
  MPI_Group low = of(1, &first), high = of(1, &last);
  MPI_Group_union(high, world, &result); /* The first group's order, then what is new. */
  int wanted[64] = {last};
  for (int i = 1; i < size; ++i) wanted[i] = i - 1;
  expect_members("union", result, size, wanted);
  MPI_Group_free(&result);
  EXPECT(result == MPI_GROUP_NULL, "the freed group has a value");
  MPI_Group_intersection(backwards, low, &result);
  expect_members("intersection", result, 1, &first);
  MPI_Group_free(&result);
  MPI_Group_intersection(backwards, world, &result);
  expect_members("whole intersection", result, size, reversed);
  MPI_Group_free(&result);
  MPI_Group_difference(world, low, &result);
  expect_members("difference", result, size - 1, all + 1);
  MPI_Group_rank(result, &r);
  EXPECT_INT(r, rank == 0 ? MPI_UNDEFINED : rank - 1);
  MPI_Group_free(&result);
  MPI_Group_difference(world, world, &result);
  EXPECT_INT(is(result, MPI_GROUP_EMPTY), MPI_IDENT);
  MPI_Group_free(&result);
  MPI_Group_excl(world, 1, &last, &result);
  expect_members("excl", result, size - 1, all);
  MPI_Group_free(&result);
  MPI_Group_incl(world, 0, NULL, &result);
  expect_members("nobody", result, 0, NULL);
  MPI_Group_free(&result);
  MPI_Group_excl(world, 0, NULL, &result);
  expect_members("everybody", result, size, all);
  MPI_Group_free(&result);

  int every_second[1][3] = {{0, last, 2}}, down[1][3] = {{last, 0, -1}}, far[1][3] = {{last, last, INT_MAX}};
#ifndef MPICH_NAME /* 4.0 faults. */
  MPI_Group_range_incl(world, 1, far, &result);
  expect_members("range with a stride beyond the last rank", result, 1, &last);
  MPI_Group_free(&result);
#else
  (void)far;
#endif
  MPI_Group_range_incl(world, 1, every_second, &result);
  for (int i = 0; 2 * i < size; ++i) wanted[i] = 2 * i;
  expect_members("range", result, (size + 1) / 2, wanted);
  MPI_Group_free(&result);
  MPI_Group_range_incl(world, 1, down, &result);
  expect_members("range down", result, size, reversed);
  MPI_Group_free(&result);
  MPI_Group_range_excl(world, 1, every_second, &result);
  for (int i = 0; 2 * i + 1 < size; ++i) wanted[i] = 2 * i + 1;
  expect_members("range without", result, size / 2, wanted);

  int from[3] = {0, MPI_PROC_NULL, last}, to[3];
  MPI_Group_translate_ranks(world, 3, from, size == 1 ? world : result, to);
  EXPECT(to[0] == (size == 1 ? 0 : MPI_UNDEFINED) && to[1] == MPI_PROC_NULL &&
             to[2] == (size == 1 ? 0 : size % 2 == 0 ? size / 2 - 1 : MPI_UNDEFINED),
         "%d %d %d", to[0], to[1], to[2]);
  MPI_Group_free(&result);

  MPI_Group_free(&low);
  MPI_Group_free(&high);
  MPI_Group_free(&copy);
  MPI_Group_free(&backwards);
  MPI_Group_free(&world);
  return end();
}
