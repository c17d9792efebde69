/* A hash table whose slots are shared out to the ranks. Each rank counts something of its share of numbers, here how many steps
   a number takes to 1 (halve it, or triple it and add 1), and adds it to the table, wherever the slot is, without the help of
   the rank that has it: one MPI_Compare_and_swap claims a slot for a key, MPI_Accumulate counts. Then each rank reads the
   slots of another one, and all agree on the commonest results.

     weftcc -O2 hash_table.c -o hash_table && weftrun -n 6 ./hash_table */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { slots_of_all = 1024, numbers = 3000, shown = 5 };

/* A slot is two words in the window. Key 0 is no key. */
typedef struct {
  long key, count;
} slot;

static int rank, size;
static MPI_Win table;

static int slots_of(int of) { return slots_of_all / size + (of < slots_of_all % size); }

/* Where slot `index` of all lies. */
static int place_of(int index, MPI_Aint* displacement) {
  *displacement = 2 * (MPI_Aint)(index / size);
  return index % size;
}

static void add(long key, long count) {
  const long none = 0;
  for (int index = (int)(key * 40503L % slots_of_all);; index = (index + 1) % slots_of_all) {
    MPI_Aint at;
    long found;
    const int target = place_of(index, &at);
    MPI_Compare_and_swap(&key, &none, &found, MPI_LONG, target, at, table);
    MPI_Win_flush(target, table);
    if (found != none && found != key) continue; /* Another key has it: the next slot. */
    MPI_Accumulate(&count, 1, MPI_LONG, target, at + 1, 1, MPI_LONG, MPI_SUM, table);
    return;
  }
}

static long steps(long n) {
  long taken = 0;
  for (; n != 1; ++taken) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return taken;
}

/* The commoner, or of two that are as common the smaller. */
static int is_before(slot a, slot b) { return a.count != b.count ? a.count > b.count : a.key < b.key; }

static void keep(slot best[shown], slot one) {
  for (int i = 0; i < shown; ++i)
    if (is_before(one, best[i])) {
      const slot worse = best[i];
      best[i] = one;
      one = worse;
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  slot* own;
  MPI_Win_allocate(slots_of(rank) * (MPI_Aint)sizeof(slot), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &table);
  memset(own, 0, (size_t)slots_of(rank) * sizeof(slot));
  MPI_Barrier(MPI_COMM_WORLD);

  MPI_Win_lock_all(0, table);
  for (long n = 2 + rank; n < numbers; n += size) add(steps(n), 1);
  MPI_Win_flush_all(table);
  MPI_Barrier(MPI_COMM_WORLD);

  slot theirs[slots_of_all], best[shown] = {{0, 0}};
  const int other = (rank + 1) % size, count = slots_of(other);
  MPI_Get(theirs, 2 * count, MPI_LONG, other, 0, 2 * count, MPI_LONG, table);
  MPI_Win_unlock_all(table);

  long totals[2] = {0, 0};
  for (int i = 0; i < count; ++i)
    if (theirs[i].key != 0) {
      keep(best, theirs[i]);
      totals[0] += 1;
      totals[1] += theirs[i].count;
    }
  MPI_Win_free(&table);

  slot all[shown * 64];
  MPI_Gather(best, 2 * shown, MPI_LONG, all, 2 * shown, MPI_LONG, 0, MPI_COMM_WORLD);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : totals, totals, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = shown; i < shown * size; ++i) keep(best, all[i]);
    printf("%ld numbers, %ld different counts of steps\n", totals[1], totals[0]);
    for (int i = 0; i < shown; ++i) printf("%3ld steps: %ld numbers\n", best[i].key, best[i].count);
  }
  MPI_Finalize();
  return 0;
}
