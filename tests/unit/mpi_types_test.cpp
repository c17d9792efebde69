// What a checked job says about the datatypes of messages and collectives: with all ranks in one process,
// and in several.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.hpp"
#include "job.hpp"
#include "mpi/mpi.h"

namespace weft {
namespace {

options checked(int ranks, int processes) {
  options how = job_of(ranks, processes);
  how.processes = processes;
  how.check = true;
  return how;
}

TEST(mpi_types, datatypes_that_do_not_match_are_found) {
  for (const int processes : {1, 2}) {
    const failed_job job = run_to_failure(checked(2, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      double doubles[4] = {};
      float floats[8] = {}, more[2] = {};
      MPI_Request requests[3];
      if (world.rank() == 0) {
        MPI_Send(doubles, 2, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);  // These match,
        MPI_Send(doubles, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Send(doubles, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);  // and this does not.
      } else {
        // Waited for in another order than they were posted in.
        MPI_Irecv(doubles, 4, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(more, 2, MPI_FLOAT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(floats, 8, MPI_FLOAT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[2]);
        for (const int i : {2, 0, 1}) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text,
                    "rank 1 received as 8 MPI_FLOAT what rank 0 of MPI_COMM_WORLD sent as 1 "
                    "MPI_DOUBLE, tag 2: name the same basic datatypes on both sides");
    EXPECT_EQ(count_of(job.text, "received as"), 1u) << job.text;
  }
}

TEST(mpi_types, datatypes_that_do_not_match_in_collectives_are_found) {
  for (const int processes : {1, 3}) {
    const failed_job job = run_to_failure(checked(3, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      const int rank = world.rank();
      MPI_Comm copy;
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
      MPI_Comm_set_name(copy, "the copy");
      int in[6] = {}, out[6] = {};
      float floats[6] = {};
      const int counts[] = {1, 1, 2}, places[] = {0, 1, 2};
      MPI_Datatype pair;
      MPI_Type_contiguous(2, MPI_INT, &pair);
      MPI_Type_commit(&pair);
      // These match: in place, as parts of others, as bytes.
      MPI_Gather(rank == 0 ? MPI_IN_PLACE : in, 1, MPI_INT, out, 1, MPI_INT, 0, copy);
      MPI_Gather(floats, 1, MPI_FLOAT, floats + 3, 1, MPI_FLOAT, 0, copy);
      MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, copy);
      MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, pair, copy);
      MPI_Alltoall(in, 1, MPI_INT, out, 4, MPI_BYTE, copy);
      MPI_Bcast(in, rank == 1 ? 1 : 2, rank == 1 ? pair : MPI_INT, 0, copy);
      MPI_Reduce(in, out, 2, MPI_INT, MPI_SUM, 2, copy);
      // These do not. What is known of a predefined operation is compared without --check, too.
      MPI_Op own;
      MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own);
      MPI_Request request;
      MPI_Ibcast(in, 2, rank == 1 ? MPI_FLOAT : MPI_INT, 0, copy, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (rank == 2)
        MPI_Allreduce(MPI_IN_PLACE, floats, 3, MPI_FLOAT, own, MPI_COMM_WORLD);
      else
        MPI_Allreduce(MPI_IN_PLACE, in, 3, MPI_INT, own, MPI_COMM_WORLD);
      MPI_Op_free(&own);
      MPI_Type_free(&pair);
      MPI_Comm_free(&copy);
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, "rank 1 took as 2 MPI_FLOAT what rank 0 of ");
    expect_contains(
        job.text, "gave as 2 MPI_INT, in MPI_Ibcast: name the same basic datatypes on both sides");
    expect_contains(
        job.text,
        "rank 0 took as 3 MPI_INT what rank 2 of MPI_COMM_WORLD gave as 3 MPI_FLOAT, in "
        "MPI_Allreduce");
    EXPECT_EQ(count_of(job.text, " took as "), 2u) << job.text;
  }
}

TEST(mpi_types, those_of_neighbours_are_compared) {
  for (const int processes : {1, 3}) {
    const failed_job job = run_to_failure(checked(3, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      const int rank = world.rank();
      const int around[] = {1}, of_all[] = {3};
      MPI_Comm ring;
      MPI_Cart_create(MPI_COMM_WORLD, 1, of_all, around, 0, &ring);
      MPI_Comm_set_name(ring, "the ring");
      int in[2] = {}, out[2] = {};
      float floats[2] = {};
      // Whoever is below gets integers and whoever is above numbers, as they expect it.
      const int counts[] = {1, 1};
      const MPI_Aint places[] = {0, sizeof(int)};
      const MPI_Datatype down_up[] = {MPI_INT, MPI_FLOAT}, up_down[] = {MPI_FLOAT, MPI_INT};
      MPI_Neighbor_alltoallw(in, counts, places, down_up, out, counts, places, up_down, ring);
      MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring);
      // One of them is mistaken.
      MPI_Request request;
      MPI_Ineighbor_allgather(in, 1, MPI_INT, rank == 1 ? static_cast<void*>(floats) : out, 1,
                              rank == 1 ? MPI_FLOAT : MPI_INT, ring, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    for (const char* from : {"0", "2"})
      expect_contains(job.text,
                      formatted("rank 1 took as 1 MPI_FLOAT what rank {} of the ring gave as 1 "
                                "MPI_INT, in MPI_Ineighbor_allgather",
                                from));
    EXPECT_EQ(count_of(job.text, " took as "), 2u) << job.text;
  }
}

TEST(mpi_types, those_of_reductions_between_groups_are_compared) {
  for (const int processes : {1, 3}) {
    const failed_job job = run_to_failure(checked(3, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      const int rank = world.rank(), side = rank == 2 ? 1 : 0;
      MPI_Comm mine, between;
      MPI_Comm_split(MPI_COMM_WORLD, side, 0, &mine);
      MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, side == 0 ? 2 : 0, 0, &between);
      MPI_Comm_set_name(between, "the bridge");
      int in[2] = {}, out[2] = {};
      MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, between);
      MPI_Reduce(in, out, 2, MPI_INT, MPI_SUM, side == 1 ? MPI_ROOT : 0, between);
      MPI_Reduce(in, out, 2, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, side == 1 ? MPI_ROOT : 0,
                 between);
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(
        job.text,
        "rank 2 took as 2 MPI_INT what rank 1 of the remote group of the bridge gave as 2 MPI_FLOAT, in "
        "MPI_Reduce");
    EXPECT_EQ(count_of(job.text, " took as "), 1u) << job.text;
  }
}

TEST(mpi_types, pairs_are_what_the_standard_says) {
  const failed_job job = run_to_failure(checked(1, 1), [](communicator&) {
    MPI_Init(nullptr, nullptr);
    int values[2] = {}, got[2] = {};
    MPI_Sendrecv(values, 2, MPI_INT, 0, 1, got, 1, MPI_2INT, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(values, 1, MPI_2INT, 0, 2, got, 1, MPI_FLOAT_INT, 0, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0 received as 1 MPI_FLOAT, 1 MPI_INT what rank 0 of");
  expect_contains(job.text, "sent as 2 MPI_INT, tag 2");
  EXPECT_EQ(count_of(job.text, "received as"), 1u) << job.text;
}

// What a receive that was freed got belongs before what later ones got.
TEST(mpi_types, a_receive_that_was_freed_has_its_turn) {
  EXPECT_EQ(run_job_of(checked(2, 1),
                       [](communicator& world) {
                         MPI_Init(nullptr, nullptr);
                         float number = 0;
                         int value = 0;
                         if (world.rank() == 0) {
                           MPI_Send(&number, 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
                           MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
                         } else {
                           MPI_Request request;
                           MPI_Irecv(&number, 1, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, &request);
                           MPI_Request_free(&request);
                           MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                         }
                         MPI_Finalize();
                       }),
            0);
}

TEST(mpi_types, those_of_persistent_messages_are_compared) {
  for (const int processes : {1, 2}) {
    const failed_job job = run_to_failure(checked(2, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      int values[2] = {};
      float number = 0;
      MPI_Request requests[2];
      if (world.rank() == 0) {
        MPI_Send_init(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(values + 1, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
      } else {
        MPI_Recv_init(values, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Recv_init(&number, 1, MPI_FLOAT, 0, 2, MPI_COMM_WORLD, &requests[1]);
      }
      for (int i = 0; i < 3; ++i) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      }
      for (MPI_Request& r : requests) MPI_Request_free(&r);
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text,
                    "rank 1 received as 1 MPI_FLOAT what rank 0 of MPI_COMM_WORLD sent as");
    EXPECT_EQ(count_of(job.text, "received as"), 1u) << job.text;
  }
}

// A call that fails and returns has sent nothing, and a receive that was too short has received.
TEST(mpi_types, calls_that_fail_do_not_shift_what_is_compared) {
  for (const int processes : {1, 2})
    EXPECT_EQ(run_job_of(
                  checked(2, processes),
                  [](communicator& world) {
                    MPI_Init(nullptr, nullptr);
                    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
                    std::vector<int> many(1 << 20);
                    float number = 0;
                    int value = 0;
                    MPI_Request request;
                    MPI_Status status;
                    const auto refused = [](int code) { EXPECT_NE(code, MPI_SUCCESS); };
                    const auto well = [](int code) { EXPECT_EQ(code, MPI_SUCCESS); };
                    if (world.rank() == 0) {
                      // Without a buffer, and without room for what waits.
                      refused(MPI_Send(nullptr, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
                      well(MPI_Send(&number, 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD));
                      refused(MPI_Isend(nullptr, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request));
                      well(MPI_Send(&number, 1, MPI_FLOAT, 1, 2, MPI_COMM_WORLD));
                      const int count = static_cast<int>(many.size());
                      // Before rank 1 receives: else they would need no room.
                      refused(MPI_Bsend(many.data(), count, MPI_INT, 1, 3, MPI_COMM_WORLD));
                      well(MPI_Send(nullptr, 0, MPI_INT, 1, 23, MPI_COMM_WORLD));
                      well(MPI_Send(&number, 1, MPI_FLOAT, 1, 3, MPI_COMM_WORLD));
                      MPI_Bsend_init(many.data(), count, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
                      refused(MPI_Start(&request));
                      well(MPI_Send(nullptr, 0, MPI_INT, 1, 24, MPI_COMM_WORLD));
                      well(MPI_Send(&number, 1, MPI_FLOAT, 1, 4, MPI_COMM_WORLD));
                      well(MPI_Wait(&request, &status));  // It is inactive.
                      MPI_Request_free(&request);
                      refused(MPI_Sendrecv(nullptr, 1, MPI_INT, 1, 5, &value, 1, MPI_INT, 1, 5,
                                           MPI_COMM_WORLD, &status));
                      well(MPI_Send(&number, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD));
                      // Either half: nothing is left for MPI_Finalize.
                      refused(MPI_Isendrecv(nullptr, 1, MPI_INT, 1, 5, &value, 1, MPI_INT, 1, 5,
                                            MPI_COMM_WORLD, &request));
                      refused(MPI_Isendrecv(&value, 1, MPI_INT, 1, 5, nullptr, 1, MPI_INT, 1, 5,
                                            MPI_COMM_WORLD, &request));
                      // Two for one, received in every way.
                      for (int tag = 6; tag < 10; ++tag) {
                        well(MPI_Send(many.data(), 2, MPI_INT, 1, tag, MPI_COMM_WORLD));
                        well(MPI_Send(&number, 1, MPI_FLOAT, 1, tag, MPI_COMM_WORLD));
                      }
                    } else {
                      for (int tag = 1; tag < 6; ++tag) {
                        if (tag == 3 || tag == 4)
                          well(MPI_Recv(nullptr, 0, MPI_INT, 0, 20 + tag, MPI_COMM_WORLD, &status));
                        well(MPI_Recv(&number, 1, MPI_FLOAT, 0, tag, MPI_COMM_WORLD, &status));
                      }
                      refused(MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &status));
                      MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
                      refused(MPI_Wait(&request, &status));
                      MPI_Recv_init(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
                      MPI_Start(&request);
                      refused(MPI_Wait(&request, &status));
                      MPI_Request_free(&request);
                      MPI_Message message;
                      MPI_Mprobe(0, 9, MPI_COMM_WORLD, &message, &status);
                      refused(MPI_Mrecv(nullptr, 1, MPI_INT, &message, &status));
                      refused(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
                      for (int tag = 6; tag < 10; ++tag)
                        well(MPI_Recv(&number, 1, MPI_FLOAT, 0, tag, MPI_COMM_WORLD, &status));
                    }
                    MPI_Finalize();
                  }),
              0);
}

TEST(mpi_types, those_of_matched_probes_are_compared) {
  for (const int processes : {1, 2}) {
    const failed_job job = run_to_failure(checked(2, processes), [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      int value = 0;
      float number = 0;
      if (world.rank() == 0) {
        for (int i = 0; i < 2; ++i) {
          MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
          MPI_Send(&number, 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
        }
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
      } else {
        // Received after what came later: these match.
        MPI_Message messages[2];
        MPI_Request requests[2];
        for (MPI_Message& m : messages) MPI_Mprobe(0, 1, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Imrecv(&number, 1, MPI_FLOAT, &messages[1], &requests[0]);
        MPI_Imrecv(&value, 1, MPI_INT, &messages[0], &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        // These do not.
        MPI_Mprobe(0, 2, MPI_COMM_WORLD, &messages[0], MPI_STATUS_IGNORE);
        MPI_Mrecv(&number, 1, MPI_FLOAT, &messages[0], MPI_STATUS_IGNORE);
        MPI_Mprobe(0, 3, MPI_COMM_WORLD, &messages[0], MPI_STATUS_IGNORE);
        MPI_Imrecv(&number, 1, MPI_FLOAT, &messages[0], &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      }
      MPI_Finalize();
    });
    EXPECT_EQ(job.status, 1);
    for (const char* tag : {"tag 2", "tag 3"})
      expect_contains(job.text,
                      formatted("rank 1 received as 1 MPI_FLOAT what rank 0 of MPI_COMM_WORLD sent "
                                "as 1 MPI_INT, {}",
                                tag));
    EXPECT_EQ(count_of(job.text, "received as"), 2u) << job.text;
  }
}

// Each rank keeps the notes of its own messages; those alike are one note.
TEST(mpi_types, many_messages_between_processes_are_compared_to_the_last) {
  const failed_job job = run_to_failure(checked(2, 2), [](communicator& world) {
    MPI_Init(nullptr, nullptr);
    const int rounds = sanitized ? 1000 : 20'000;
    int value = 0;
    for (int i = 0; i <= rounds; ++i)
      if (world.rank() == 0)
        MPI_Send(&value, 1, i % 3 == 0 ? MPI_INT : MPI_UNSIGNED, 1, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(&value, 1,
                 i == rounds  ? MPI_FLOAT
                 : i % 3 == 0 ? MPI_INT
                              : MPI_UNSIGNED,
                 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 1 received as 1 MPI_FLOAT what rank 0 of MPI_COMM_WORLD sent as");
}

}  // namespace
}  // namespace weft
