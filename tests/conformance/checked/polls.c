/* Compiled by weftcc -check and run with --check, with a worker for each of two ranks: what is learnt by looking again and again
   orders what comes after, whenever it was written. Nothing is printed. */
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { rounds = 300 };

static int rank, sum;

__attribute__((noinline)) static void load_value(const int *from) { sum += *from; }
__attribute__((noinline)) static void store_value(int *to, int value) { *to = value; }

static void wait_for(_Atomic int *word, int value) {
  while (atomic_load(word) != value) sched_yield();
}

/* The ranks share memory, and wait for atomic variables. */
static void by_atomic_variables(void) {
  struct shared {
    _Atomic int has_stored, has_loaded, turn;
    int value;
  } *all;
  MPI_Win win;
  MPI_Aint bytes;
  int unit;
  MPI_Win_allocate_shared(rank == 0 ? sizeof *all : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &all, &win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &all);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    atomic_store(&all->has_stored, 0);
    atomic_store(&all->has_loaded, 0);
    atomic_store(&all->turn, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i <= rounds; ++i) {
    if (rank == 0) {
      store_value(&all->value, i);
      atomic_store(&all->has_stored, i);
      wait_for(&all->has_loaded, i);
    } else {
      wait_for(&all->has_stored, i);
      load_value(&all->value);
      if (all->value != i) printf("wrong\n");
      atomic_store(&all->has_loaded, i);
    }
  }
  /* By exchanges: both write in turns. */
  for (int i = 0; i < rounds; ++i) {
    int wanted = 2 * i + rank;
    while (!atomic_compare_exchange_strong(&all->turn, &wanted, wanted)) {
      wanted = 2 * i + rank;
      sched_yield();
    }
    store_value(&all->value, wanted);
    atomic_fetch_add(&all->turn, 1);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Each rank waits for a word of its own window. */
static int word_of_own(MPI_Win win) {
  int found = 0;
  MPI_Fetch_and_op(NULL, &found, MPI_INT, rank, 0, MPI_NO_OP, win);
  MPI_Win_flush(rank, win);
  return found;
}
static void by_updates(void) {
  int *memory;
  const int other = 1 - rank;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  store_value(&memory[0], 0);
  store_value(&memory[1], 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i <= rounds; ++i) {
    if (rank == 1) {
      while (word_of_own(win) != i) sched_yield();
      load_value(&memory[1]);
      if (memory[1] != i) printf("wrong\n");
      store_value(&memory[1], 0);
    }
    /* The value goes first, and is there before the word says so. */
    MPI_Put(&i, 1, MPI_INT, other, 1, 1, MPI_INT, win);
    MPI_Win_flush(other, win);
    MPI_Accumulate(&i, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(other, win);
    if (rank == 0) {
      while (word_of_own(win) != i) sched_yield();
      load_value(&memory[1]);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Pairs lie further apart than they are large. */
static void updates_of_pairs(void) {
  struct pair {
    double value;
    int index;
  } *memory, mine[2] = {{1, rank}, {2, rank}};
  MPI_Win win;
  MPI_Win_allocate(3 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 3; ++i) memory[i] = (struct pair){0, 0};
  MPI_Win_fence(0, win);
  MPI_Accumulate(mine, 2, MPI_DOUBLE_INT, 0, rank, 2, MPI_DOUBLE_INT, MPI_MAXLOC, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  by_atomic_variables();
  by_updates();
  updates_of_pairs();
  MPI_Finalize();
  return sum == 0x7fffffff;
}
