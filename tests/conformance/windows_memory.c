/* Windows whose memory is shared, in a row or apart, and windows to which memory is attached. */
#include "conform.h"

static MPI_Comm node;
static int place, members;

static void shared(int apart) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
  const MPI_Aint bytes = (MPI_Aint)sizeof(int) * (2 + place % 3); /* Of each rank another size. */
  int* mine = NULL;
  MPI_Win win;
  MPI_Win_allocate_shared(bytes, sizeof(int), info, node, &mine, &win);
  MPI_Info_free(&info);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  mine[0] = 100 + place;
  mine[1] = 200 + place;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  int* behind = NULL;
  for (int r = 0; r < members; ++r) {
    MPI_Aint size_there = -1;
    int unit = -1, *there = NULL;
    MPI_Win_shared_query(win, r, &size_there, &unit, &there);
    const MPI_Aint wanted = (MPI_Aint)sizeof(int) * (2 + r % 3); /* Open MPI says whole pages where memory lies apart. */
    EXPECT((apart ? size_there >= wanted : size_there == wanted) && unit == (int)sizeof(int), "%ld, %d", (long)size_there, unit);
    EXPECT(there != NULL && there[0] == 100 + r && there[1] == 200 + r, "%p", (void*)there);
    if (!apart && behind != NULL) EXPECT(there == behind, "rank %d lies at %p, not at %p", r, (void*)there, (void*)behind);
    behind = there + 2 + r % 3;
  }
  MPI_Barrier(node);
  /* Stores of one and operations of others meet in one memory. */
  MPI_Aint first_size;
  int unit, *first = NULL, *root = NULL;
  MPI_Win_shared_query(win, MPI_PROC_NULL, &first_size, &unit, &first);
  MPI_Win_shared_query(win, 0, &first_size, &unit, &root);
  EXPECT(first == root, "%p", (void*)first);
  if (place == 0) mine[0] = 0;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  const int one = 1;
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_flush(0, win);
  const int right = (place + 1) % members, value = 300 + place;
  MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win);
  MPI_Win_flush(right, win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  EXPECT_INT(first[0], members);
  EXPECT_INT(mine[1], 300 + (place + members - 1) % members);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Only some ranks have memory. */
static void shared_by_one(void) {
  double* mine = NULL;
  MPI_Win win;
  const int last = members - 1;
  MPI_Win_allocate_shared(place == last ? 10 * (MPI_Aint)sizeof *mine : 0, sizeof *mine, MPI_INFO_NULL, node, &mine, &win);
  MPI_Aint bytes = -1;
  int unit = -1;
  double* there = NULL;
  MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &there);
  EXPECT(bytes == 10 * (MPI_Aint)sizeof *mine && there != NULL, "%ld bytes at %p", (long)bytes, (void*)there);
  MPI_Win_fence(0, win);
  if (place < 10) there[place] = place + 0.5;
  MPI_Win_fence(0, win);
  for (int i = 0; i < members && i < 10; ++i) EXPECT(there[i] == i + 0.5, "%g", there[i]);
  MPI_Win_free(&win);
#if MPI_VERSION >= 4
  MPI_Win_allocate_shared_c(8, 8, MPI_INFO_NULL, node, &mine, &win);
  MPI_Aint large_unit = -1;
  MPI_Win_shared_query_c(win, last, &bytes, &large_unit, &there);
  EXPECT(bytes == 8 && large_unit == 8, "%ld %ld", (long)bytes, (long)large_unit);
  MPI_Win_free(&win);
  long* large = NULL;
  long value = 7;
  MPI_Win_allocate_c(16, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &large, &win);
  large[0] = large[1] = 0;
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 1, 1, MPI_LONG, win);
  MPI_Win_fence(0, win);
  EXPECT_INT(large[1], 7);
  MPI_Win_free(&win);
  long memory[2] = {0, 0};
  MPI_Win_create_c(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 1, 1, MPI_LONG, win);
  MPI_Win_fence(0, win);
  EXPECT_INT(memory[1], 7);
  MPI_Win_free(&win);
#endif
}

/* A list whose elements each rank attaches as it needs them: addresses are displacements. */
static void attached(void) {
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  void* base = &win;
  int flag = 0;
  MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
  EXPECT(flag && base == MPI_BOTTOM, "%p", base);
  long one[3] = {rank, rank + 1, rank + 2}, other[2] = {-1, -1};
  MPI_Win_attach(win, one, sizeof one);
  MPI_Win_attach(win, other, sizeof other);
  MPI_Aint places[2], there[2];
  MPI_Get_address(one, &places[0]);
  MPI_Get_address(other, &places[1]);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(places, 2, MPI_AINT, left, 0, there, 2, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
  long got[3] = {-1, -1, -1}, value = 1000 + rank, ten = 10, before = -1;
  MPI_Get(got, 3, MPI_LONG, right, there[0], 3, MPI_LONG, win);
  MPI_Put(&value, 1, MPI_LONG, right, MPI_Aint_add(there[1], sizeof(long)), 1, MPI_LONG, win);
  MPI_Win_flush(right, win);
  EXPECT(got[0] == right && got[2] == right + 2, "%ld %ld", got[0], got[2]);
  MPI_Fetch_and_op(&ten, &before, MPI_LONG, right, there[1], MPI_SUM, win);
  MPI_Accumulate(&ten, 1, MPI_LONG, right, there[1], 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_unlock(right, win);
  EXPECT_INT(before, -1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  EXPECT(other[0] == 19 && other[1] == 1000 + left, "%ld %ld", other[0], other[1]);
  MPI_Win_unlock(rank, win);
  /* Both at once, by a datatype of addresses behind MPI_BOTTOM. */
  MPI_Datatype both;
  const int lengths[2] = {1, 2};
  MPI_Type_create_hindexed(2, lengths, there, MPI_LONG, &both);
  MPI_Type_commit(&both);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_fence(0, win);
  const long three[3] = {7, 8, 9};
  MPI_Put(three, 3, MPI_LONG, right, 0, 1, both, win);
  MPI_Win_fence(0, win);
  EXPECT(one[0] == 7 && other[0] == 8 && other[1] == 9 && one[1] == rank + 1, "%ld %ld %ld", one[0], other[0], other[1]);
  MPI_Type_free(&both);
  MPI_Win_detach(win, one);
  /* Its place is taken by many more. */
  enum { many = 100 };
  static int cells[2 * many];
  for (int i = 0; i < many; ++i) MPI_Win_attach(win, &cells[2 * i], sizeof(int));
  MPI_Aint first, first_there;
  MPI_Get_address(cells, &first);
  MPI_Sendrecv(&first, 1, MPI_AINT, left, 0, &first_there, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, win);
  for (int i = 0; i < many; ++i) MPI_Put(&i, 1, MPI_INT, right, first_there + 2 * i * (MPI_Aint)sizeof(int), 1, MPI_INT, win), MPI_Win_fence(0, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < many; ++i) EXPECT_INT(cells[2 * i], i);
  for (int i = 0; i < many; ++i) MPI_Win_detach(win, &cells[2 * i]);
  MPI_Win_detach(win, other);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_size(node, &members);
  shared(0);
  shared(1);
  shared_by_one();
  attached();
  MPI_Comm_free(&node);
  return end();
}
