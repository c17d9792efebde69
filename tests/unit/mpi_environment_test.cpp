// MPI in ranks that weft::run() starts: start and end, errors, handles.
#include <gtest/gtest.h>

#include <string>

#include "job.hpp"
#include "mpi/mpi.h"
#include "mpi/object/handles.hpp"

namespace weft {
namespace {

void in_mpi(int ranks, int workers, const std::function<void(int rank)>& body) {
  run_ranks(ranks, workers, [&](communicator&) {
    MPI_Init(nullptr, nullptr);
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    body(rank);
    MPI_Finalize();
  });
}

TEST(mpi_environment, ranks_pass_messages_on) {
  in_mpi(4, 2, [](int rank) {
    int got = 0;
    const int next = (rank + 1) % 4;
    if (rank == 0) MPI_Send(&next, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
    MPI_Status status;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    EXPECT_EQ(got, rank);
    EXPECT_EQ(status.MPI_SOURCE, (rank + 3) % 4);
    EXPECT_EQ(status.MPI_TAG, 3);
    if (rank != 0) PMPI_Send(&next, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  });
}

TEST(mpi_environment, an_error_names_rank_call_arguments_limit_and_class) {
  const failed_job job = run_to_failure(job_of(2, 1), [](communicator& world) {
    MPI_Init(nullptr, nullptr);
    int value = 0;
    if (world.rank() == 1) MPI_Send(&value, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  EXPECT_NE(job.text.find("rank 1: MPI_Send("), std::string::npos) << job.text;
  EXPECT_NE(
      job.text.find("1, MPI_INT, 7, 0, MPI_COMM_WORLD): to rank 7: ranks of MPI_COMM_WORLD are "
                    "0 to 1, and MPI_PROC_NULL is nobody (MPI_ERR_RANK)"),
      std::string::npos)
      << job.text;
}

TEST(mpi_environment, calls_before_init_and_after_finalize_are_refused) {
  for (const bool before : {true, false}) {
    const failed_job job = run_to_failure(job_of(1, 1), [&](communicator&) {
      int value = 0;
      if (!before) MPI_Init(nullptr, nullptr);
      if (!before) MPI_Finalize();
      MPI_Comm_rank(MPI_COMM_WORLD, &value);
    });
    EXPECT_EQ(job.status, 1);
    EXPECT_NE(job.text.find(before ? "call MPI_Init first" : "MPI has been finalised"),
              std::string::npos)
        << job.text;
  }
}

TEST(mpi_environment, a_rank_that_ends_without_finalize_is_reported) {
  const failed_job job =
      run_to_failure(job_of(2, 1), [](communicator&) { MPI_Init(nullptr, nullptr); });
  EXPECT_EQ(job.status, 1);
  EXPECT_NE(job.text.find("without MPI_Finalize"), std::string::npos) << job.text;
}

TEST(mpi_environment, abort_ends_the_job_with_its_code) {
  const failed_job job = run_to_failure(job_of(2, 1), [](communicator& world) {
    MPI_Init(nullptr, nullptr);
    if (world.rank() == 0) MPI_Abort(MPI_COMM_WORLD, 17);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 17);
  EXPECT_NE(job.text.find("MPI_Abort(MPI_COMM_WORLD, 17)"), std::string::npos) << job.text;
}

struct thing : mpi::object {
  using handle = MPI_Info;
  static constexpr mpi::object_kind own_kind = mpi::object_kind::info;
  int value = 0;
};

TEST(mpi_handles, a_freed_handle_is_recognised_until_its_memory_is_used_again) {
  mpi::pool<thing> things;
  thing& first = things.make();
  const MPI_Info handle = mpi::handle_of(first);
  EXPECT_EQ(mpi::find_object<thing>(handle), &first);
  things.free(first);
  EXPECT_EQ(mpi::find_object<thing>(handle), nullptr);
  (void)things.make();
  EXPECT_EQ(mpi::find_object<thing>(handle), nullptr);  // Others were free for longer.
  EXPECT_EQ(things.live(), 1u);
}

}  // namespace
}  // namespace weft
