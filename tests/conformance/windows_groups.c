/* Epochs between groups: MPI_Win_post, start, complete, wait and test; each rank with its neighbours, all with all, one with
   many, and a rank that is origin and target at once. */
#include "conform.h"

static MPI_Group group_of(const int* ranks, int n) {
  MPI_Group world, made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, n, ranks, &made);
  MPI_Group_free(&world);
  return made;
}

static void ring(MPI_Win win, int* own) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Group before = group_of(&left, 1), behind = group_of(&right, 1);
  for (int round = 0; round < 50; ++round) {
    own[0] = -1;
    MPI_Win_post(before, 0, win);
    MPI_Win_start(behind, 0, win);
    const int value = 1000 * round + rank;
    MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    if (round % 2 == 0) {
      MPI_Win_wait(win);
    } else {
      int flag = 0;
      while (!flag) MPI_Win_test(win, &flag);
    }
    EXPECT_INT(own[0], 1000 * round + left);
  }
  MPI_Group_free(&before);
  MPI_Group_free(&behind);
}

static void all_with_all(MPI_Win win, int* own) {
  MPI_Group all;
  MPI_Win_get_group(win, &all);
  int members;
  MPI_Group_size(all, &members);
  EXPECT_INT(members, size);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < size; ++i) own[i] = 0;
    MPI_Win_post(all, MPI_MODE_NOSTORE, win);
    MPI_Win_start(all, 0, win);
    for (int to = 0; to < size; ++to) {
      const int value = round + rank + to;
      MPI_Put(&value, 1, MPI_INT, to, rank, 1, MPI_INT, win);
    }
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    for (int from = 0; from < size; ++from) EXPECT_INT(own[from], round + from + rank);
  }
  MPI_Group_free(&all);
}

/* The first rank is the target of all others, of some later ones more than once. */
static void many_to_one(MPI_Win win, int* own) {
  int ranks[64];
  const int one = 1, zero = 0;
  for (int round = 1; round < 4; ++round) {
    int others = 0;
    for (int r = 1; r < size; ++r)
      if (r % round == 0) ranks[others++] = r;
    MPI_Group origins = group_of(ranks, others), target = group_of(&zero, 1);
    if (rank == 0) {
      own[0] = 0;
      MPI_Win_post(origins, 0, win);
      MPI_Win_wait(win);
      EXPECT_INT(own[0], others);
    } else if (rank % round == 0) {
      int before = -1;
      MPI_Win_start(target, 0, win);
      MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
      MPI_Win_complete(win);
      EXPECT(before >= 0 && before < others, "%d", before);
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&target);
  }
}

/* A handle that another group had in the epoch before: its ranks count, not the handle. */
static void handle_again(MPI_Win win, int* own) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Group origins = group_of(&left, 1), targets = group_of(&right, 1);
  const MPI_Group of_origins = origins, of_targets = targets;
  for (int round = 0; round < 2; ++round) {
    const int to = round == 0 ? right : left, from = round == 0 ? left : right;
    own[0] = -1;
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    MPI_Put(&rank, 1, MPI_INT, to, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    EXPECT_INT(own[0], from);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    /* What is freed comes again in time. */
    for (int tries = 0; round == 0 && tries < 1000; ++tries) {
      MPI_Group made = group_of(&right, 1);
      if (made == of_origins && origins == MPI_GROUP_NULL)
        origins = made;
      else
        MPI_Group_free(&made);
      made = group_of(&left, 1);
      if (made == of_targets && targets == MPI_GROUP_NULL)
        targets = made;
      else
        MPI_Group_free(&made);
    }
#ifdef MPI_ABI_VERSION
    EXPECT(round != 0 || origins != MPI_GROUP_NULL || targets != MPI_GROUP_NULL, "no handle has come again");
#endif
    if (round == 0 && origins == MPI_GROUP_NULL) origins = group_of(&right, 1);
    if (round == 0 && targets == MPI_GROUP_NULL) targets = group_of(&left, 1);
  }
}

/* Nobody. */
static void empty(MPI_Win win) {
  MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
  MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int kind = 0; kind < 2; ++kind) {
    int* memory = NULL;
    int mine[64];
    MPI_Win win;
    if (kind == 0) {
      MPI_Win_allocate(64 * (MPI_Aint)sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
      memory = mine;
      MPI_Win_create(mine, sizeof mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    ring(win, memory);
    all_with_all(win, memory);
    many_to_one(win, memory);
    handle_again(win, memory);
    empty(win);
    ring(win, memory);
    MPI_Win_free(&win);
  }
  return end();
}
