/* Making, comparing, naming and freeing communicators; many of them.
   Run with: -n 16 --processes 2
   Run with: -n 16 --ranks-per-process 1 */
#include "conform.h"

static int sum_over(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

static void duplicates(void) {
  MPI_Comm copy, same_copy;
  int result = -1, got = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
  EXPECT_INT(result, MPI_CONGRUENT);
  MPI_Comm_compare(copy, copy, &result);
  EXPECT_INT(result, MPI_IDENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result);
  EXPECT_INT(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
  /* A message of one is not received in the other, whatever its tag. */
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int one = 1, two = 2;
  MPI_Request r[2];
  MPI_Isend(&one, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(&two, 1, MPI_INT, right, 0, copy, &r[1]);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 2);
  MPI_Recv(&got, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 1);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  MPI_Request request;
  MPI_Comm_idup(copy, &same_copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(sum_over(same_copy), size);
  MPI_Comm_free(&same_copy);
  MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, &same_copy);
  EXPECT_INT(sum_over(same_copy), size);
  MPI_Comm_free(&same_copy);
  MPI_Comm_free(&copy);
  EXPECT(copy == MPI_COMM_NULL, "the freed communicator has a value");
}

static void splits(void) {
  MPI_Comm part;
  int r = -1, n = -1, result = -1;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part); /* In reverse order. */
  MPI_Comm_rank(part, &r);
  MPI_Comm_size(part, &n);
  const int wanted = rank % 2 ? size / 2 : (size + 1) / 2;
  EXPECT(n == wanted && r == wanted - 1 - rank / 2, "%d of %d", r, n);
  int first = rank;
  MPI_Bcast(&first, 1, MPI_INT, 0, part);
  EXPECT_INT(first, (size - 1 - rank % 2) / 2 * 2 + rank % 2);
  MPI_Comm_free(&part);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, 0, &part); /* Equal keys: the old order. */
  EXPECT((part == MPI_COMM_NULL) == (rank == 0), "rank %d", rank);
  if (part != MPI_COMM_NULL) {
    MPI_Comm_rank(part, &r);
    EXPECT(r == rank - 1 && sum_over(part) == size - 1, "%d", r);
    MPI_Comm_free(&part);
  }
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &part);
  MPI_Comm_compare(MPI_COMM_WORLD, part, &result);
  EXPECT_INT(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  MPI_Comm_free(&part);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
  EXPECT_INT(sum_over(part), size); /* All tests run on one node. */
  MPI_Comm_free(&part);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, rank, MPI_INFO_NULL, &part);
  EXPECT(part == MPI_COMM_NULL, "undefined type");
}

/* Down to the parts of the machine: each communicator is smaller than the one before, and then there is
   none. */
static void by_hardware(void) {
#if MPI_VERSION >= 4
  MPI_Comm whole, part;
  MPI_Comm_dup(MPI_COMM_WORLD, &whole);
  for (int steps = 0; whole != MPI_COMM_NULL && steps < 20; ++steps) {
    int before = 0, now = 0;
    MPI_Comm_size(whole, &before);
    MPI_Info chosen;
    MPI_Info_create(&chosen);
    MPI_Comm_split_type(whole, MPI_COMM_TYPE_HW_UNGUIDED, 0, chosen, &part);
    if (part != MPI_COMM_NULL) MPI_Comm_size(part, &now);
    /* Which kind of part it was is told, and leads to the same parts. */
    if (part != MPI_COMM_NULL && MPI_VERSION >= 5) {
      MPI_Comm same;
      char type[64] = "";
      int length = sizeof type, found = 0;
      MPI_Info_get_string(chosen, "mpi_hw_resource_type", &length, type, &found);
      EXPECT(found, "no word of the kind of part");
      MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_GUIDED, 0, chosen, &same);
      EXPECT_INT(sum_over(same), now);
      MPI_Comm_free(&same);
    }
    MPI_Info_free(&chosen);
    EXPECT(now < before, "%d of %d ranks", now, before);
    MPI_Comm_free(&whole);
    whole = part;
  }
  EXPECT(whole == MPI_COMM_NULL, "parts without end");
  MPI_Info kind;
  MPI_Info_create(&kind);
  MPI_Info_set(kind, "mpi_hw_resource_type", "mpi_shared_memory");
#ifdef MPI_ABI_VERSION /* Not all know the name. */
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, rank, kind, &part);
  EXPECT_INT(sum_over(part), size);
  MPI_Comm_free(&part);
#endif
  MPI_Info_set(kind, "mpi_hw_resource_type", "of nobody's making");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, rank, kind, &part);
  EXPECT(part == MPI_COMM_NULL, "an unknown kind of part");
  MPI_Info_free(&kind);
#endif
}

static void from_groups(void) {
  MPI_Group world, odd;
  MPI_Comm part;
  int ranks[64], n = 0, r = -1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = size - 1; i >= 0; --i)
    if (i % 2 == 1 || size == 1) ranks[n++] = i;
  MPI_Group_incl(world, n, ranks, &odd);
  MPI_Comm_create(MPI_COMM_WORLD, odd, &part);
  const int member = rank % 2 == 1 || size == 1;
  EXPECT((part != MPI_COMM_NULL) == member, "rank %d", rank);
  if (member) {
    MPI_Comm_rank(part, &r);
    EXPECT(ranks[r] == rank && sum_over(part) == n, "%d", r);
    MPI_Comm_free(&part);
    /* Only the members call this one. */
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 17, &part);
    MPI_Comm_rank(part, &r);
    EXPECT(ranks[r] == rank && sum_over(part) == n, "%d", r);
    MPI_Comm_free(&part);
  }
  MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &part);
  EXPECT(part == MPI_COMM_NULL, "a communicator of nobody");
  /* Two parts by one call. */
  MPI_Group mine;
  n = 0;
  for (int i = 0; i < size; ++i)
    if ((i < (size + 1) / 2) == (rank < (size + 1) / 2)) ranks[n++] = i;
  MPI_Group_incl(world, n, ranks, &mine);
  MPI_Comm_create(MPI_COMM_WORLD, mine, &part);
  EXPECT_INT(sum_over(part), n);
  MPI_Comm_free(&part);
  MPI_Group_free(&mine);
  MPI_Group_free(&odd);
  MPI_Group_free(&world);
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Comm copy;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  EXPECT(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "%s", name);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_get_name(copy, name, &length);
  EXPECT(length == 0 && name[0] == 0, "%s", name);
  MPI_Comm_set_name(copy, "a name");
  MPI_Comm_get_name(copy, name, &length);
  EXPECT(length == 6 && strcmp(name, "a name") == 0, "%s", name);
  MPI_Comm_free(&copy);
}

/* Of this process, in KiB. */
static long resident(void) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return pages * 4;
}

static void make_and_free(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm copy;
    const int is_split = i % 10 == 9;
    if (is_split)
      MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &copy);
    else
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (i % 100 >= 98) EXPECT_INT(sum_over(copy), is_split ? (size + 1 - rank % 2) / 2 : size);
    MPI_Comm_free(&copy);
  }
}

static void many(void) {
#if defined MPICH_VERSION || defined OPEN_MPI
  enum { rounds = 30, block = 15, alive = 10 }; /* They take seconds for more. */
#else
  enum { rounds = 10000, block = 1000, alive = 100 };
#endif
  make_and_free(block);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = resident();
  make_and_free(rounds - block);
  /* Of all ranks of a process: 200 bytes kept for each communicator of one of 16 would be more. */
  EXPECT(resident() - before < 16 << 10, "%ld KiB after %d, and %ld before", resident(), rounds, before);
  static MPI_Comm some[alive];
  for (int i = 0; i < alive; ++i) MPI_Comm_dup(i ? some[i - 1] : MPI_COMM_WORLD, &some[i]);
  for (int i = 0; i < alive; i += 37) EXPECT_INT(sum_over(some[i]), size);
  for (int i = 0; i < alive; ++i) MPI_Comm_free(&some[(i * 7) % alive]);
}

static void hints(void) {
  MPI_Comm copy, other;
  MPI_Info info, got;
  MPI_Request request;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
#if MPI_VERSION >= 4
  MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &other, &request);
#else
  MPI_Comm_idup(MPI_COMM_WORLD, &other, &request);
#endif
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_INT(sum_over(other), size);
  MPI_Comm_get_info(other, &got);
  EXPECT(got != MPI_INFO_NULL, "no info");
#ifdef MPI_ABI_VERSION /* The standard lets a library forget what means nothing to it. */
  char value[8];
  int flag = 0, keys = 0;
  MPI_Info_get(got, "mpi_assert_no_any_tag", 7, value, &flag);
  EXPECT(flag && strcmp(value, "true") == 0, "%d", flag);
  MPI_Info_free(&got);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
  MPI_Info_set(info, "another", "hint");
  MPI_Comm_set_info(copy, info);
  MPI_Comm_get_info(copy, &got);
  MPI_Info_get(got, "mpi_assert_no_any_tag", 7, value, &flag);
  MPI_Info_get_nkeys(got, &keys);
  EXPECT(flag && strcmp(value, "false") == 0 && keys == 3, "%d, %d keys", flag, keys);
  MPI_Info_free(&got);
  MPI_Comm third; /* A copy has none of them (MPI 4.1 section 7.4.2). */
  MPI_Comm_dup(copy, &third);
  MPI_Comm_get_info(third, &got);
  MPI_Info_get_nkeys(got, &keys);
  EXPECT_INT(keys, 1); /* Which kinds of memory it takes. */
  MPI_Comm_free(&third);
#endif
  MPI_Info_free(&got);
  MPI_Info_free(&info);
  MPI_Comm_disconnect(&copy);
  EXPECT(copy == MPI_COMM_NULL, "the disconnected communicator has a value");
  MPI_Comm_free(&other);
  MPI_Comm_get_parent(&other);
  EXPECT(other == MPI_COMM_NULL, "a parent");
}

static void freed_while_used(void) {
  MPI_Comm copy;
  MPI_Request r[2];
  int got = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, copy, &r[0]);
  MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 3, copy, &r[1]);
  MPI_Comm_free(&copy); /* What is under way ends all the same. */
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  EXPECT_INT(got, (rank + size - 1) % size);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  duplicates();
  splits();
  by_hardware();
  from_groups();
  names();
  many();
  hints();
  freed_while_used();
  return end();
}
