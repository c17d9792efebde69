/* Passive targets: locks that exclude each other and locks that do not, MPI_Win_lock_all, flushes, a hash table and counters
   in memory of the program and of MPI.

   Not with: mpich (4.0), whose ranks wait in MPI_Win_lock_all for ever. */
#include "conform.h"

enum { rounds = 60 };

static long read_one(MPI_Win win, int target, MPI_Aint place) {
  long value = -1;
  MPI_Get(&value, 1, MPI_LONG, target, place, 1, MPI_LONG, win);
  MPI_Win_flush(target, win);
  return value;
}
static void write_one(MPI_Win win, int target, MPI_Aint place, long value) {
  MPI_Put(&value, 1, MPI_LONG, target, place, 1, MPI_LONG, win);
  MPI_Win_flush(target, win);
}

/* Whoever has the exclusive lock of a rank is alone there: what it reads, changes and writes is not torn. */
static void exclusive(MPI_Win win, long* own) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  own[0] = own[1] = own[2] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rounds; ++i) {
    const int target = (rank + i) % size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    const long first = read_one(win, target, 0);
    write_one(win, target, 0, first + 1);
    const long second = read_one(win, target, 1);
    EXPECT(first == second, "two words that change together are %ld and %ld", first, second);
    write_one(win, target, 1, second + 1);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  long sum = own[0], all = 0;
  EXPECT(own[0] == own[1], "%ld and %ld", own[0], own[1]);
  MPI_Win_unlock(rank, win);
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_INT(all, (long)rounds * size);
}

/* All at one target. Readers between writers see the words agree. */
static void readers_and_writers(MPI_Win win, long* own) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  own[0] = own[1] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  long written = 0, all = 0;
  for (int i = 0; i < rounds; ++i) {
    const int writes = (i + rank) % 3 == 0;
    MPI_Win_lock(writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
    const long first = read_one(win, 0, 0);
    if (writes) write_one(win, 0, 0, first + 1);
    const long second = read_one(win, 0, 1);
    EXPECT(first == second, "%ld and %ld", first, second);
    if (writes) write_one(win, 0, 1, second + 1);
    written += writes;
    MPI_Win_unlock(0, win);
  }
  MPI_Allreduce(&written, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
  EXPECT_INT(read_one(win, 0, 0), all);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Some lock all, others one rank alone. */
static void all_and_one(MPI_Win win, long* own) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  own[0] = own[1] = own[2] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const long one = 1;
  for (int i = 0; i < rounds / 2; ++i) {
    if ((rank + i) % 2 == 0) {
      MPI_Win_lock_all(0, win);
      for (int to = 0; to < size; ++to) {
        const long first = read_one(win, to, 0), second = read_one(win, to, 1);
        EXPECT(first == second, "%ld and %ld", first, second);
        MPI_Accumulate(&one, 1, MPI_LONG, to, 2, 1, MPI_LONG, MPI_SUM, win);
      }
      MPI_Win_unlock_all(win);
    } else {
      const int to = (rank + i / 2) % size;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
      const long value = read_one(win, to, 0);
      write_one(win, to, 0, value + 1);
      write_one(win, to, 1, value + 1);
      MPI_Win_unlock(to, win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  long mine[3] = {own[0], own[1], own[2]}, sums[3];
  MPI_Win_unlock(rank, win);
  MPI_Allreduce(mine, sums, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  long alls = 0, ones = 0;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < rounds / 2; ++i) (r + i) % 2 == 0 ? ++alls : ++ones;
  EXPECT(sums[0] == ones && sums[1] == ones && sums[2] == alls * size, "%ld %ld %ld of %ld and %ld", sums[0], sums[1],
         sums[2], ones, alls * size);
}

/* Locks of several ranks at once, in the same order everywhere. */
static void several_locks(MPI_Win win, long* own) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  own[0] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i) {
    const int few = size < 3 ? size : 3;
    for (int to = 0; to < few; ++to) MPI_Win_lock(to == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win);
    const long one = 1;
    for (int to = few - 1; to >= 0; --to) MPI_Accumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Win_flush_local_all(win);
    for (int to = 0; to < few; ++to) MPI_Win_unlock(to, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  EXPECT_INT(own[0], rank < 3 ? 10L * size : 0);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Keys are put in by MPI_Compare_and_swap, and counted; every rank looks them all up. */
static void hash_table(MPI_Win win, long* own) {
  enum { slots = 64, keys = 20 };
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memset(own, 0, 2 * slots * sizeof *own);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < keys; ++k) {
    const long key = 1 + k; /* The same of all ranks: all but one find it there. */
    const long none = 0, one = 1;
    const int target = (int)(key * 7 % size);
    for (long place = key * 31 % slots;; place = (place + 1) % slots) {
      long found = -1;
      MPI_Compare_and_swap(&key, &none, &found, MPI_LONG, target, place, win);
      MPI_Win_flush(target, win);
      if (found != 0 && found != key) continue;
      MPI_Accumulate(&one, 1, MPI_LONG, target, slots + place, 1, MPI_LONG, MPI_SUM, win);
      break;
    }
  }
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int k = 0; k < keys; ++k) {
    const long key = 1 + k;
    const int target = (int)(key * 7 % size);
    long all[2 * slots];
    MPI_Get(all, 2 * slots, MPI_LONG, target, 0, 2 * slots, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    int times = 0;
    for (int place = 0; place < slots; ++place)
      if (all[place] == key) {
        ++times;
        EXPECT_INT(all[slots + place], size);
      }
    EXPECT(times == 1, "key %ld stands in %d places", key, times);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A rank looks again and again until the one before it has written. */
static void chain(MPI_Win win, long* own) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  own[0] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  long value = rank == 0 ? 1 : 0, none = 0;
  while (value == 0) {
    MPI_Fetch_and_op(&none, &value, MPI_LONG, rank, 0, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
  }
  EXPECT_INT(value, rank == 0 ? 1 : rank);
  if (rank + 1 < size) {
    const long next = rank + 1;
    MPI_Accumulate(&next, 1, MPI_LONG, rank + 1, 0, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Win_flush(rank + 1, win);
  }
  MPI_Win_sync(win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void all_of(MPI_Win win, long* own) {
  exclusive(win, own);
  readers_and_writers(win, own);
  all_and_one(win, own);
  several_locks(win, own);
  hash_table(win, own);
  chain(win, own);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  enum { n = 200 };
  long* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(n * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  all_of(win, memory);
  MPI_Win_free(&win);
  memory = malloc(n * sizeof *memory);
  MPI_Win_create(memory, n * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  all_of(win, memory);
  MPI_Win_free(&win);
  free(memory);
  return end();
}
