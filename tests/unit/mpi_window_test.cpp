// Windows between nodes, where every word of their synchronisation and all their memory is reached by messages; and what is
// there of a window where it cannot be shared. That windows are right is shown by tests/conformance.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "job.hpp"
#include "mpi/mpi.h"

namespace weft {
namespace {

using tests::run_on_nodes;

// Ranks on two nodes, and on three processes of two.
void on_nodes(int ranks, const std::function<void(int rank, int size)>& body) {
  for (const std::vector<int>& nodes : {std::vector<int>{0, 1}, std::vector<int>{0, 0, 1}}) {
    const auto ended = run_on_nodes(nodes, job_of(ranks, 3), [&](communicator& world) {
      MPI_Init(nullptr, nullptr);
      body(world.rank(), world.size());
      MPI_Finalize();
    });
    EXPECT_EQ(ended.status, 0);
  }
}

struct window {
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  explicit window(int longs) {
    MPI_Win_allocate(longs * MPI_Aint{sizeof(long)}, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &win);
  }
  ~window() { MPI_Win_free(&win); }
  [[nodiscard]] long look(int target, int place) const {
    long value = -1;
    MPI_Get(&value, 1, MPI_LONG, target, place, 1, MPI_LONG, win);
    MPI_Win_flush(target, win);
    return value;
  }
};

TEST(mpi_window, exclusive_locks_exclude_each_other_and_those_of_all_between_nodes) {
  on_nodes(6, [](int rank, int size) {
    constexpr int rounds = 12;
    const window w(3);
    const long one = 1;
    for (int i = 0; i < rounds; ++i) {
      if ((rank + i) % 3 == 0) {
        MPI_Win_lock_all(0, w.win);
        for (int to = 0; to < size; ++to) {
          EXPECT_EQ(w.look(to, 0), w.look(to, 1));
          MPI_Accumulate(&one, 1, MPI_LONG, to, 2, 1, MPI_LONG, MPI_SUM, w.win);
        }
        MPI_Win_unlock_all(w.win);
        continue;
      }
      const int to = i % 2;
      MPI_Win_lock((rank + i) % 3 == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, to, 0, w.win);
      const long first = w.look(to, 0);
      if ((rank + i) % 3 == 1) {
        const long next = first + 1;
        MPI_Put(&next, 1, MPI_LONG, to, 0, 1, MPI_LONG, w.win);
        MPI_Win_flush(to, w.win);
        EXPECT_EQ(w.look(to, 1), first);
        MPI_Put(&next, 1, MPI_LONG, to, 1, 1, MPI_LONG, w.win);
      } else {
        EXPECT_EQ(w.look(to, 1), first);
      }
      MPI_Win_unlock(to, w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    long mine[3] = {w.memory[0], w.memory[1], w.memory[2]}, all[3];
    MPI_Win_unlock(rank, w.win);
    MPI_Allreduce(mine, all, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(all[0], size * rounds / 3);
    EXPECT_EQ(all[2], size * size * rounds / 3);
  });
}

TEST(mpi_window, groups_and_fences_work_between_nodes) {
  on_nodes(5, [](int rank, int size) {
    const window w(size + 1);
    MPI_Group all;
    MPI_Win_get_group(w.win, &all);
    for (int round = 0; round < 5; ++round) {
      MPI_Win_post(all, 0, w.win);
      MPI_Win_start(all, 0, w.win);
      for (int to = 0; to < size; ++to) {
        const long value = 100 * round + 10 * rank + to;
        MPI_Put(&value, 1, MPI_LONG, to, rank, 1, MPI_LONG, w.win);
      }
      MPI_Win_complete(w.win);
      MPI_Win_wait(w.win);
      for (int from = 0; from < size; ++from)
        EXPECT_EQ(w.memory[from], 100 * round + 10 * from + rank);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Group_free(&all);
    MPI_Win_fence(0, w.win);
    const double nothing = 0;
    double old = -1;
    MPI_Get_accumulate(&nothing, 1, MPI_DOUBLE, &old, 1, MPI_DOUBLE, (rank + 1) % size, size, 1,
                       MPI_DOUBLE, MPI_REPLACE, w.win);
    MPI_Win_fence(0, w.win);
    EXPECT_EQ(old, 0);
    for (int i = 1; i < 100; ++i) {
      const double more[1] = {0.5 * i};
      MPI_Accumulate(more, 1, MPI_DOUBLE, 0, size, 1, MPI_DOUBLE, MPI_SUM, w.win);
    }
    MPI_Win_fence(0, w.win);
    if (rank == 0) {
      EXPECT_EQ(*reinterpret_cast<double*>(&w.memory[size]), 0.5 * 99 * 50 * size);
    }
  });
}

TEST(mpi_window, memory_of_several_nodes_is_not_shared) {
  on_nodes(4, [](int rank, int) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    long* memory = nullptr;
    MPI_Win win;
    EXPECT_EQ(MPI_Win_allocate_shared(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win),
              MPI_ERR_RMA_SHARED);
    EXPECT_EQ(win, MPI_WIN_NULL);
    MPI_Info apart;
    MPI_Info_create(&apart);
    MPI_Info_set(apart, "alloc_shared_noncontig", "true");
    EXPECT_EQ(MPI_Win_allocate_shared(8, 8, apart, MPI_COMM_WORLD, &memory, &win),
              MPI_ERR_RMA_SHARED);
    MPI_Info_free(&apart);
    const window w(1);
    MPI_Aint bytes = -1;
    int unit = -1;
    void* base = &win;
    MPI_Win_shared_query(w.win, rank, &bytes, &unit, &base);
    EXPECT_EQ(bytes, 8);
    EXPECT_EQ(base, w.memory);
    MPI_Win_shared_query(w.win, 3 - rank, &bytes, &unit, &base);  // Of the other node.
    EXPECT_EQ(bytes, base == nullptr ? 0 : 8);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  });
}

}  // namespace
}  // namespace weft
