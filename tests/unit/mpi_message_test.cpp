// What MPI's messages say when something is wrong; that they are right is shown by tests/conformance.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/log.hpp"
#include "job.hpp"
#include "mpi/mpi.h"
#include "unit/shell.hpp"

namespace weft {
namespace {

failed_job failing(int ranks, const std::function<void(int rank)>& body) {
  return run_to_failure(job_of(ranks, 1), [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    body(world.rank());
    MPI_Finalize();
  });
}

TEST(mpi_message, truncation_names_both_sizes) {
  for (const bool blocking : {true, false}) {
    const failed_job job = failing(2, [&](int rank) {
      int values[3] = {};
      if (rank == 0) {
        MPI_Send(values, 3, MPI_INT, 1, 5, MPI_COMM_WORLD);
      } else if (blocking) {
        MPI_Recv(values, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Request request;
        MPI_Irecv(values, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, "a receive of 8 bytes got a message of 12 bytes from rank 0, tag 5");
    expect_contains(job.text, "(MPI_ERR_TRUNCATE)");
  }
}

TEST(mpi_message, the_string_of_a_code_that_was_returned_names_both_sizes) {
  const int status = run(job_of(1, 1), [](communicator&) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int values[3] = {1, 2, 3};
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Request request;
    MPI_Isend(values, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    const int code = MPI_Recv(values, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(code, MPI_ERR_TRUNCATE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_string(code, text, &length);
    expect_contains(text, "MPI_ERR_TRUNCATE: ");
    expect_contains(text, "a receive of 8 bytes got a message of 12 bytes from rank 0, tag 5");
    EXPECT_EQ(std::string(text).size(), static_cast<std::size_t>(length));
    // Another code has its own text.
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    EXPECT_EQ(std::string(text).find("bytes"), std::string::npos) << text;
    MPI_Finalize();
  });
  EXPECT_EQ(status, 0);
}

TEST(mpi_message, a_deadlock_names_the_calls_of_mpi) {
  const failed_job job = failing(3, [](int rank) {
    std::vector<int> values(1 << 20);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Recv(values.data(), 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Ssend(values.data(), 2, MPI_INT, 2, 6, MPI_COMM_WORLD);
    if (rank == 2) {
      MPI_Irecv(values.data(), 3, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0: in MPI_Recv, source 1, tag 4, 4 bytes");
  expect_contains(job.text, "rank 1: in MPI_Ssend, to rank 2, tag 6, 8 bytes");
  expect_contains(job.text, "rank 2: in MPI_Waitall (MPI_Irecv), source 0, tag any, 12 bytes");
  expect_contains(job.text, "cycle: rank 0 waits for rank 1 waits for rank 2 waits for rank 0");
}

TEST(mpi_message, wrong_arguments_are_named_with_their_class) {
  struct wrong_call {
    std::function<void(int* value)> call;
    const char* text;
  };
  const wrong_call calls[] = {
      {[](int* v) { MPI_Send(v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); },
       "count -1 is negative: pass 0 or more (MPI_ERR_COUNT)"},
      {[](int* v) { MPI_Send_c(v, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); },
       "count -1 is negative: pass 0 or more (MPI_ERR_COUNT)"},
      {[](int* v) { MPI_Send(v, static_cast<int>(3'000'000'000), MPI_INT, 0, 0, MPI_COMM_WORLD); },
       "count -1294967296 is negative: pass 0 or more; what an int cannot hold goes to the function "
       "whose name ends in _c (MPI_ERR_COUNT)"},
      {[](int* v) { MPI_Send(v, 1, MPI_INT, 0, -5, MPI_COMM_WORLD); },
       "tag -5: pass one from 0 to 2147483647, or to receives MPI_ANY_TAG (MPI_ERR_TAG)"},
      {[](int* v) { MPI_Send(v, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD); },
       "the datatype is MPI_DATATYPE_NULL: it has not been made yet, or MPI_Type_free has set it so "
       "(MPI_ERR_TYPE)"},
      {[](int* v) { MPI_Send(v, 1, MPI_INT, 0, 0, MPI_COMM_NULL); },
       "the communicator is MPI_COMM_NULL: this rank is no member of it (MPI_ERR_COMM)"},
      {[](int*) { MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); },
       "the buffer is NULL, which MPI_INT cannot be read from or written to (MPI_ERR_BUFFER)"},
      {[](int* v) { MPI_Recv(v, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); },
       "from rank 1: ranks of MPI_COMM_WORLD are 0 to 0, and MPI_PROC_NULL is nobody (MPI_ERR_RANK)"},
      {[](int* v) { MPI_Bcast(v, 1, MPI_INT, 5, MPI_COMM_SELF); },
       "root 5: ranks of MPI_COMM_SELF are 0 to 0 (MPI_ERR_ROOT)"},
      {[](int* v) { MPI_Bsend(v, -2, MPI_INT, 0, 0, MPI_COMM_WORLD); }, "count -2 is negative"},
  };
  for (const wrong_call& wrong : calls) {
    const failed_job job = failing(1, [&](int) {
      int value = 0;
      wrong.call(&value);
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, wrong.text);
  }
}

TEST(mpi_message, a_request_that_was_waited_for_is_gone) {
  const failed_job job = failing(1, [](int) {
    int out = 1, in = 0;
    MPI_Request request, copy;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    copy = request;
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(in, 1);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    MPI_Wait(&copy, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "is no request, or is complete and was freed (MPI_ERR_REQUEST)");
}

TEST(mpi_message, a_buffered_send_without_room_says_how_much_is_in_use) {
  const failed_job job = failing(2, [](int rank) {
    static std::vector<double> data(1 << 16);
    static std::vector<char> buffer(sizeof(double) * data.size() + MPI_BSEND_OVERHEAD);
    if (rank == 1) return;
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    MPI_Bsend(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    MPI_Bsend(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "524800 of 524800 attached are in use");
}

// What a checked job says of a request that rank 1 of two makes and leaves over.
std::string told_of_left_over(const std::function<void(MPI_Request* request)>& make) {
  options how = job_of(2, 1);
  how.check = true;
  const failed_job job = run_to_failure(how, [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    MPI_Request request = MPI_REQUEST_NULL;
    if (world.rank() == 1) make(&request);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  return job.text;
}

int left_value[4];

void receive_and_forget(MPI_Request* request) {
  MPI_Irecv(left_value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, request);
}

TEST(mpi_message, a_request_left_over_at_finalize_is_found_by_check) {
  const std::string first =
      "rank 1 called MPI_Finalize with 1 request neither waited for nor freed; the first: ";
  const std::pair<std::function<void(MPI_Request*)>, std::string> cases[] = {
      {receive_and_forget, "MPI_Irecv from rank 0 of MPI_COMM_WORLD, tag 9, 4 bytes, started in "},
      {[](MPI_Request* r) {
         MPI_Irecv(left_value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, r);
       },
       "MPI_Irecv from any rank of MPI_COMM_WORLD, tag any, 8 bytes, started in "},
      {[](MPI_Request* r) {
         MPI_Comm_set_name(MPI_COMM_WORLD, "the {} of \x01 {0}");
         receive_and_forget(r);
       },
       "MPI_Irecv from rank 0 of the {} of \\x01 {0}, tag 9, 4 bytes, started in "},
      // Short ones, which share a request where nothing is checked.
      {[](MPI_Request* r) { MPI_Isend(left_value, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, r); },
       "MPI_Isend to rank 0 of MPI_COMM_WORLD, tag 5, 8 bytes, started in "},
      {[](MPI_Request* r) {
         MPI_Datatype gaps;
         MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
         MPI_Type_commit(&gaps);
         MPI_Isend(left_value, 1, gaps, 0, 5, MPI_COMM_WORLD, r);
         MPI_Type_free(&gaps);
       },
       "MPI_Isend to rank 0 of MPI_COMM_WORLD, tag 5, 8 bytes, started in "},
      {[](MPI_Request* r) {
         static char room[1000];
         MPI_Buffer_attach(room, sizeof room);
         MPI_Ibsend(left_value, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, r);
       },
       "MPI_Ibsend to rank 0 of MPI_COMM_WORLD, tag 5, "},
      {[](MPI_Request* r) {
         MPI_Isend(left_value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, r);
       },
       "MPI_Isend to MPI_PROC_NULL, tag 5, "},
      {[](MPI_Request* r) {
         MPI_Irecv(left_value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, r);
       },
       "MPI_Irecv from MPI_PROC_NULL, tag 5, "},
      {[](MPI_Request* r) {
         MPI_Isendrecv(left_value, 1, MPI_INT, 0, 5, left_value, 1, MPI_INT, MPI_PROC_NULL, 6,
                       MPI_COMM_WORLD, r);
       },
       "MPI_Isendrecv from MPI_PROC_NULL, tag 6, "},
      {[](MPI_Request* r) {
         MPI_Send_init(left_value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, r);
         MPI_Start(r);
       },
       "MPI_Send_init to MPI_PROC_NULL, tag 5, "},
      {[](MPI_Request* r) {
         MPI_Recv_init(left_value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, r);
         MPI_Start(r);
       },
       "MPI_Recv_init from rank 0 of MPI_COMM_WORLD, tag 5, 4 bytes, started in "},
      {[](MPI_Request* r) { MPI_Ibarrier(MPI_COMM_SELF, r); },
       "MPI_Ibarrier on MPI_COMM_SELF, started in "},
      {[](MPI_Request* r) {
         MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, r);
         MPI_Start(r);
       },
       "MPI_Barrier_init on MPI_COMM_SELF, started in "},
      {[](MPI_Request* r) { MPI_Grequest_start(nullptr, nullptr, nullptr, nullptr, r); },
       "MPI_Grequest_start, started in "},
  };
  for (const auto& [make, text] : cases) expect_contains(told_of_left_over(make), first + text);
}

TEST(mpi_message, a_request_left_over_at_finalize_is_named_with_its_place) {
  if (!has_debug_library()) GTEST_SKIP() << "libdw is not installed";
  expect_contains(told_of_left_over(receive_and_forget), "started in receive_and_forget at ");
}

// Ranks 0 and 1 are one group, 2 and 3 the other.
MPI_Comm make_bridge(int rank) {
  const int side = rank / 2;
  MPI_Comm mine, between;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &mine);
  MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, side == 0 ? 2 : 0, 0, &between);
  MPI_Comm_free(&mine);
  MPI_Comm_set_name(between, "the bridge");
  return between;
}

TEST(mpi_message, a_collective_between_groups_that_fails_names_the_rank_and_has_its_class) {
  struct told {
    int error_class = 0;
    std::string text;
  };
  const auto fails = [](int (*call)(int rank, MPI_Comm between)) {
    std::array<told, 4> all;
    const int status = run(alone(job_of(4, 2)), [&](communicator& world) {
      MPI_Init(nullptr, nullptr);
      const int rank = world.rank();
      const MPI_Comm between = make_bridge(rank);
      MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
      const int code = call(rank, between);
      char text[MPI_MAX_ERROR_STRING];
      int length = 0;
      told& mine = all[static_cast<std::size_t>(rank)];
      MPI_Error_string(code, text, &length);
      MPI_Error_class(code, &mine.error_class);
      mine.text = text;
      MPI_Finalize();
    });
    EXPECT_EQ(status, 0);
    return all;
  };
  // The remote rank 0 takes less than it is given.
  const std::array<told, 4> sizes = fails([](int rank, MPI_Comm between) {
    int values[2] = {};
    const int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;
    return MPI_Bcast(values, rank == 2 ? 1 : 2, MPI_INT, root, between);
  });
  for (const told& one : sizes) EXPECT_EQ(one.error_class, MPI_ERR_TRUNCATE) << one.text;
  for (const int other : {0, 1})
    expect_contains(sizes[static_cast<std::size_t>(other)].text,
                    "MPI_Bcast on the bridge failed on rank 0 of the remote group, which says: ");
  expect_contains(sizes[3].text,
                  "MPI_Bcast on the bridge failed on rank 0 of the local group, which says: ");
  for (const told& one : sizes)
    expect_contains(
        one.text,
        "rank 0 of the remote group gives 8 bytes to rank 0 of the local group, which takes 4");
  // The same of a persistent one, which has a context of its own.
  const std::array<told, 4> kept = fails([](int rank, MPI_Comm between) {
    int values[2] = {};
    const int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;
    MPI_Request request;
    MPI_Bcast_init(values, rank == 2 ? 1 : 2, MPI_INT, root, between, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  expect_contains(
      kept[0].text,
      "MPI_Bcast_init on the bridge failed on rank 0 of the remote group, which says: ");
  for (const told& one : kept)
    expect_contains(
        one.text,
        "rank 0 of the remote group gives 8 bytes to rank 0 of the local group, which takes 4");
  // The remote rank 1 takes another one for the root.
  const std::array<told, 4> roots = fails([](int rank, MPI_Comm between) {
    int values[2] = {};
    const int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : rank == 2 ? 0 : 1;
    return MPI_Bcast(values, 2, MPI_INT, root, between);
  });
  for (const told& one : roots) EXPECT_EQ(one.error_class, MPI_ERR_ROOT) << one.text;
  for (const int other : {0, 1})
    expect_contains(roots[static_cast<std::size_t>(other)].text,
                    "MPI_Bcast on the bridge failed on rank 1 of the remote group, which says: ");
}

// Also where their data have gone to other processes, which refuse them.
TEST(mpi_message, two_roots_of_a_broadcast_between_groups_are_told_with_all_others) {
  for (const int processes : {1, 4}) {
    options how = job_of(4, 1);
    how.processes = processes;
    const failed_job job = run_to_failure(how, [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      const int rank = world.rank();
      const MPI_Comm between = make_bridge(rank);
      MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
      int values[2] = {};
      const int code = MPI_Bcast(values, 2, MPI_INT, rank < 2 ? MPI_ROOT : 0, between);
      int error_class = 0;
      MPI_Error_class(code, &error_class);
      if (error_class == MPI_ERR_ROOT) log_line("rank {} is told", rank);
      MPI_Finalize();
    });
    for (int rank = 0; rank < 4; ++rank)
      expect_contains(job.text, formatted("rank {} is told\n", rank));
  }
}

TEST(mpi_message, memory_that_one_rank_has_not_in_a_collective_is_told_as_such_to_all) {
  std::atomic<int> told = 0;
  const int status = run(job_of(4, 1), [&](communicator&) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) { throw std::bad_alloc(); }, 1, &op);
    int in = 1, out = 0;
    if (MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD) == MPI_ERR_NO_MEM) ++told;
    MPI_Op_free(&op);
    MPI_Finalize();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(told, 4);
}

TEST(mpi_message, a_deadlock_names_a_freed_communicator_of_two_groups_and_its_ranks) {
  const failed_job job = failing(4, [](int rank) {
    MPI_Comm between = make_bridge(rank);
    MPI_Request request;
    int value = 0;
    MPI_Irecv(&value, 1, MPI_INT, 1, 5, between, &request);
    MPI_Comm_free(&between);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(job.status, 1);
  for (const int rank : {0, 2})
    expect_contains(
        job.text,
        formatted("rank {}: in MPI_Wait (MPI_Irecv), source 1 of the remote group, tag 5, 4 "
                  "bytes, the bridge, freed\n",
                  rank));
}

// What a job of two ranks under check says at its end; rank 0 sends, rank 1 does not receive.
std::string told_at_the_end(const std::function<void(int rank)>& body) {
  options how = job_of(2, 1);
  how.check = true;
  testing::internal::CaptureStderr();
  run(how, [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    body(world.rank());
    MPI_Finalize();
  });
  return testing::internal::GetCapturedStderr();
}

TEST(mpi_message, a_message_left_over_at_finalize_is_found_by_check) {
  const std::string text = told_at_the_end([](int rank) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "the copy");
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 6, copy);
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  });
  expect_contains(
      text,
      "rank 1 ended without receiving 2 messages; the first: 4 bytes from rank 0 of the copy, "
      "tag 6: receive what is sent, or do not send it");
}

TEST(mpi_message, a_message_taken_by_mprobe_and_not_received_is_found_by_check) {
  const std::string text = told_at_the_end([](int rank) {
    MPI_Message message;
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
    if (rank == 1) MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  });
  expect_contains(
      text,
      "rank 1 called MPI_Finalize with 1 message that MPI_Mprobe took and nobody received; the "
      "first: from rank 0 of MPI_COMM_WORLD, tag 6: call MPI_Mrecv");
}

TEST(mpi_message, requests_that_are_complete_when_they_are_made_pass_the_check) {
  const std::string text = told_at_the_end([](int rank) {
    int value = 0;
    MPI_Request requests[3];
    MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Start(&requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[2]);
  });
  EXPECT_EQ(count_of(text, "check:"), 1u) << text;  // That locks are not looked for.
}

TEST(mpi_message, requests_on_overlapping_memory_are_found_by_check) {
  options how = job_of(1, 1);
  how.check = true;
  const failed_job job = run_to_failure(how, [](communicator&) {
    MPI_Init(nullptr, nullptr);
    int values[4] = {}, out[2] = {};
    MPI_Request requests[2];
    MPI_Irecv(values, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(values + 1, 2, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(out, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(out, 2, MPI_INT, 0, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(values, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);  // Nothing is active now.
    MPI_Send(out, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "whose memory overlaps that of");
  EXPECT_EQ(count_of(job.text, "whose memory overlaps"), 1u) << job.text;
}

TEST(mpi_message, calls_that_receive_into_what_they_send_are_found_by_check) {
  const auto said_of = [](auto call) {
    return told_at_the_end([call](int) {
      int values[16] = {};
      call(values);
    });
  };
  const auto finds = [&](const std::string& name, auto call) {
    const std::string text = said_of(call);
    EXPECT_EQ(count_of(text, "called " + name + " with"), 2u) << text;  // Each rank.
    EXPECT_EQ(count_of(text, "that are in part what it sends"), 2u) << text;
  };
  finds("MPI_Sendrecv", [](int* v) {
    MPI_Sendrecv(v, 4, MPI_INT, 0, 1, v + 3, 4, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  });
  finds("MPI_Allreduce",
        [](int* v) { MPI_Allreduce(v, v + 1, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
  finds("MPI_Alltoall",
        [](int* v) { MPI_Alltoall(v, 1, MPI_INT, v + 1, 1, MPI_INT, MPI_COMM_WORLD); });
  finds("MPI_Gather",
        [](int* v) { MPI_Gather(v + 1, 2, MPI_INT, v, 2, MPI_INT, 0, MPI_COMM_SELF); });
  const std::string apart = said_of([](int* v) {
    MPI_Sendrecv(v, 4, MPI_INT, 0, 1, v + 4, 4, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Allreduce(v, v + 4, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, v, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(v, 2, MPI_INT, v + 4, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, v, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Bcast(v, 4, MPI_INT, 0, MPI_COMM_WORLD);
  });
  EXPECT_EQ(count_of(apart, "in part"), 0u) << apart;
}

void do_nothing(void*, void*, int*, MPI_Datatype*) {}
void handle_nothing(MPI_Comm*, int*, ...) {}

TEST(mpi_message, objects_left_over_at_finalize_are_found_by_check_with_where_they_were_made) {
  const auto said_of = [](auto make) {
    return told_at_the_end([make](int rank) {
      if (rank == 0) make();
    });
  };
  const auto finds = [&](const std::string& what, const std::string& remedy, auto make) {
    const std::string text = said_of(make);
    const std::string line =
        "check: rank 0 called MPI_Finalize with " + what + " not freed, made in ";
    EXPECT_EQ(count_of(text, line), 1u) << text;
    EXPECT_EQ(count_of(text, "check: "), 2u) << text;  // And that locks are not looked for.
    expect_contains(text, ": call " + remedy + "\n");
    EXPECT_EQ(text.find("a function without a name"), std::string::npos) << text;
  };
  finds("2 communicators", "MPI_Comm_free", [] {
    volatile int left = 2;  // The compiler makes one call of it.
    while (left != 0) {
      MPI_Comm c;
      MPI_Comm_dup(MPI_COMM_SELF, &c);
      left = left - 1;
    }
  });
  finds("1 communicator", "MPI_Comm_free", [] {
    MPI_Comm c;
    MPI_Request r;
    MPI_Comm_idup(MPI_COMM_SELF, &c, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  });
  finds("1 window", "MPI_Win_free", [] {
    MPI_Win w;
    static int memory;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &w);
  });
  finds("1 group", "MPI_Group_free", [] {
    MPI_Group g;
    MPI_Comm_group(MPI_COMM_WORLD, &g);
  });
  finds("1 datatype", "MPI_Type_free", [] {
    MPI_Datatype inner, outer;
    MPI_Type_contiguous(3, MPI_INT, &inner);
    MPI_Type_vector(2, 1, 2, inner, &outer);
    MPI_Type_free(&inner);  // The outer one still has it.
  });
  finds("1 operation", "MPI_Op_free", [] {
    MPI_Op op;
    MPI_Op_create(&do_nothing, 1, &op);
  });
  finds("1 info", "MPI_Info_free", [] {
    MPI_Info info;
    MPI_Info_create(&info);
  });
  finds("1 error handler", "MPI_Errhandler_free", [] {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(&handle_nothing, &handler);
  });
  finds("1 file", "MPI_File_close", [] {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  });
  finds("1 key of attributes", "MPI_Comm_free_keyval, MPI_Type_free_keyval or MPI_Win_free_keyval",
        [] {
          int key;
          MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        });
  finds("1 inactive request of MPI_Send_init", "MPI_Request_free", [] {
    MPI_Request r;
    MPI_Send_init(left_value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r);
  });
  finds("1 inactive request of MPI_Allreduce_init", "MPI_Request_free", [] {
    MPI_Request r;
    MPI_Allreduce_init(left_value, left_value + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF,
                       MPI_INFO_NULL, &r);
  });
  const std::string freed = said_of([] {
    MPI_Comm c, other;
    MPI_Group g;
    MPI_Datatype t, real;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler, got;
    MPI_Request r;
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    MPI_Comm_dup(MPI_COMM_SELF, &c);
    MPI_Comm_set_attr(c, key, &key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_create_errhandler(&handle_nothing, &handler);
    MPI_Comm_set_errhandler(c, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_get_errhandler(c, &got);
    MPI_Errhandler_free(&got);
    MPI_Bcast_init(left_value, 1, MPI_INT, 0, c, MPI_INFO_NULL, &r);
    MPI_Request_free(&r);
    MPI_Comm_dup(c, &other);
    MPI_Comm_disconnect(&other);
    MPI_Comm_free(&c);
    MPI_Comm_group(MPI_COMM_SELF, &g);
    MPI_Group_free(&g);
    MPI_Type_contiguous(3, MPI_INT, &t);
    MPI_Type_free(&t);
    MPI_Type_create_f90_real(6, 30, &real);  // Not to be freed.
    MPI_Op_create(&do_nothing, 1, &op);
    MPI_Op_free(&op);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
  });
  EXPECT_EQ(count_of(freed, "check: "), 1u) << freed;
}

TEST(mpi_message, calls_on_the_memory_of_active_requests_are_found_by_check) {
  // Into and out of the memory of a receive of rank 1.
  const auto said_of = [](auto call) {
    return told_at_the_end([call](int rank) {
      int values[8] = {}, others[8] = {};
      MPI_Request r = MPI_REQUEST_NULL;
      if (rank == 1) MPI_Irecv(values, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &r);
      call(values, others);
      if (rank == 0) MPI_Send(values, 4, MPI_INT, 1, 5, MPI_COMM_WORLD);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    });
  };
  const auto finds = [&](const std::string& what, auto call) {
    const std::string text = said_of(call);
    EXPECT_EQ(count_of(text, "check: error: rank 1 " + what + ", called in "), 1u) << text;
    expect_contains(text,
                    "that overlaps that of a receive of 16 bytes from rank 0, tag 5, which is "
                    "still active, started in ");
    EXPECT_EQ(count_of(text, "check: error: "), 1u) << text;
  };
  finds("writes memory in MPI_Bcast",
        [](int* v, int*) { MPI_Bcast(v, 4, MPI_INT, 0, MPI_COMM_WORLD); });
  finds("writes memory in MPI_Allreduce",
        [](int* v, int* o) { MPI_Allreduce(o, v, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD); });
  finds("reads memory in MPI_Reduce",
        [](int* v, int* o) { MPI_Reduce(v + 3, o, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); });
  finds("writes memory in MPI_Alltoall",
        [](int* v, int* o) { MPI_Alltoall(o, 1, MPI_INT, v + 2, 1, MPI_INT, MPI_COMM_WORLD); });
  finds("writes memory in MPI_Sendrecv (recv)", [](int* v, int* o) {
    MPI_Sendrecv(o, 1, MPI_INT, 0, 1, v, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  });
  const std::string apart = said_of([](int* v, int* o) {
    MPI_Bcast(v + 4, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(v + 4, o, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(o, nullptr, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Request later;  // It uses the memory when it is started.
    MPI_Bcast_init(v, 4, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &later);
    MPI_Request_free(&later);
  });
  EXPECT_EQ(count_of(apart, "check: error"), 0u) << apart;
}

TEST(mpi_message, a_receive_whose_datatype_overlaps_itself_is_found_by_check) {
  const auto said_of = [](auto receive) {
    return told_at_the_end([receive](int rank) {
      int values[8] = {};
      const int lengths[] = {2, 2}, places[] = {0, 1};
      MPI_Datatype twice;
      MPI_Type_indexed(2, lengths, places, MPI_INT, &twice);
      MPI_Type_commit(&twice);
      if (rank == 0) MPI_Ssend(values, 1, twice, 1, 5, MPI_COMM_WORLD);  // That is allowed.
      if (rank == 1) receive(values, twice);
      MPI_Type_free(&twice);
    });
  };
  const std::string blocking = said_of([](int* v, MPI_Datatype twice) {
    MPI_Recv(v, 1, twice, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(count_of(blocking, "check: error: rank 1 receives 16 bytes in MPI_Recv, called in "),
            1u)
      << blocking;
  const std::string started = said_of([](int* v, MPI_Datatype twice) {
    MPI_Request r;
    MPI_Irecv(v, 1, twice, 0, 5, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(count_of(started, "whose layout has the same memory more than once"), 1u) << started;
  const std::string sound = said_of([](int* v, MPI_Datatype) {
    MPI_Recv(v, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(count_of(sound, "check: error"), 0u) << sound;
}

TEST(mpi_message, sends_that_need_a_buffer_are_found_by_check_and_no_others) {
  const auto send = [](int to, int tag) {
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
  };
  const auto receive = [](int from, int tag) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, 1);
  };
  const auto said_of = [](int workers, auto body) {
    options how = job_of(3, workers);
    how.check = true;
    testing::internal::CaptureStderr();
    const int status = run(how, [&](communicator& world) {
      MPI_Init(nullptr, nullptr);
      body(world.rank());
      MPI_Finalize();
    });
    EXPECT_EQ(status, 0);
    return testing::internal::GetCapturedStderr();
  };
  for (const int workers : {1, 2}) {
    const std::string both = said_of(workers, [&](int rank) {
      if (rank == 2) return;
      send(1 - rank, 4);
      receive(1 - rank, 4);
    });
    expect_contains(both, "sends 4 bytes to rank ");
    expect_contains(both, " of MPI_COMM_WORLD, tag 4, by MPI_Send in ");
    EXPECT_GE(count_of(both, "only while such messages are buffered"), 1u) << both;
    const std::string all = said_of(workers, [&](int rank) {
      send((rank + 1) % 3, 4);
      receive((rank + 2) % 3, 4);
    });
    EXPECT_GE(count_of(all, "only while such messages are buffered"), 1u) << all;
    const std::string to_itself = said_of(workers, [&](int rank) {
      send(rank, 4);
      receive(rank, 4);
    });
    EXPECT_GE(count_of(to_itself, "only while such messages are buffered"), 1u) << to_itself;
    // Some receive first; one never receives, of which something else is said; one has begun its receive.
    const std::string safe = said_of(workers, [&](int rank) {
      for (int i = 0; i < 100; ++i) {
        if (rank == 1) receive(0, i);
        if (rank != 2) send(1 - rank, i);
        if (rank == 0) receive(1, i);
      }
      int value = 0;
      MPI_Request r;
      MPI_Irecv(&value, 1, MPI_INT, (rank + 2) % 3, 200, MPI_COMM_WORLD, &r);
      send((rank + 1) % 3, 200);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      if (rank == 0) send(2, 300);
    });
    EXPECT_EQ(count_of(safe, "are buffered"), 0u) << safe;
    expect_contains(safe, "rank 2 ended without receiving 1 message");
  }
}

// Two ranks of one worker, of two, and of two processes.
std::vector<options> near_and_far() {
  std::vector<options> all{job_of(2, 1), job_of(2, 2), job_of(2, 2)};
  all.back().processes = 2;
  return all;
}

TEST(mpi_message, a_send_that_nothing_has_matched_is_taken_back) {
  for (const options& how : near_and_far())
    run_ranks(how, [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      static std::vector<double> data(1 << 16);
      const int tags[] = {1, 2, 3};
      MPI_Request requests[3];
      int flag = -1, value = 7;
      if (world.rank() == 0) {
        MPI_Issend(&value, 1, MPI_INT, 1, tags[0], MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, 1, tags[1],
                  MPI_COMM_WORLD, &requests[1]);
        MPI_Ssend_init(&value, 1, MPI_INT, 1, tags[2], MPI_COMM_WORLD, &requests[2]);
        MPI_Start(&requests[2]);
        for (MPI_Request& r : requests) {
          MPI_Status status;
          MPI_Cancel(&r);
          MPI_Wait(&r, &status);
          MPI_Test_cancelled(&status, &flag);
          EXPECT_TRUE(flag);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&requests[2]);  // Not taken back this time.
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[2]);
      } else {
        MPI_Barrier(MPI_COMM_WORLD);
        for (const int tag : {tags[0], tags[1]}) {
          MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
          EXPECT_FALSE(flag);
        }
        MPI_Recv(&value, 1, MPI_INT, 0, tags[2], MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(0, tags[2], MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        EXPECT_FALSE(flag);
      }
      MPI_Finalize();
    });
}

TEST(mpi_message, what_has_no_communicator_any_more_is_taken_back) {
  for (const options& how : near_and_far())
    run_ranks(how, [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      static std::vector<double> data(1 << 16);
      MPI_Comm copy;
      MPI_Comm_dup(MPI_COMM_WORLD, &copy);
      MPI_Request requests[3];
      int flag = -1, value = 7;
      if (world.rank() == 0) {
        MPI_Issend(&value, 1, MPI_INT, 1, 1, copy, &requests[0]);
        MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, 1, 2, copy, &requests[1]);
        MPI_Irecv(&value, 1, MPI_INT, 1, 3, copy, &requests[2]);
      }
      MPI_Comm_free(&copy);
      MPI_Barrier(MPI_COMM_WORLD);
      if (world.rank() == 0)
        for (MPI_Request& r : requests) {
          MPI_Comm another;  // Whose handle is not the one that was freed.
          MPI_Comm_dup(MPI_COMM_SELF, &another);
          MPI_Status status;
          MPI_Cancel(&r);
          MPI_Wait(&r, &status);
          MPI_Test_cancelled(&status, &flag);
          EXPECT_TRUE(flag);
          MPI_Comm_free(&another);
        }
      MPI_Finalize();
    });
}

TEST(mpi_message, an_exchange_that_is_refused_receives_nothing) {
  run_ranks(1, 1, [](communicator&) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int value = 7, got = 0;
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Sendrecv(nullptr, 1, MPI_INT, 0, 2, &got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
              MPI_ERR_BUFFER);
    EXPECT_EQ(got, 0);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, 7);
    MPI_Finalize();
  });
}

TEST(mpi_message, a_send_that_a_receive_has_matched_is_not_taken_back) {
  for (const options& how : near_and_far())
    run_ranks(how, [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      int value = 7 * world.rank(), flag = -1;
      MPI_Request request;
      MPI_Status status;
      if (world.rank() == 0) MPI_Irecv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD);
      if (world.rank() == 1) {
        MPI_Issend(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
      }
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &flag);
      EXPECT_FALSE(flag);
      EXPECT_EQ(value, 7);
      MPI_Finalize();
    });
}

TEST(mpi_message, a_send_that_has_gone_is_not_taken_back) {
  for (const options& how : near_and_far())
    run_ranks(how, [](communicator& world) {
      MPI_Init(nullptr, nullptr);
      int value = 7 * (1 - world.rank()), flag = -1;
      if (world.rank() == 0) {
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        EXPECT_FALSE(flag);
      } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(value, 7);
      }
      MPI_Finalize();
    });
}

TEST(mpi_message, a_deadlock_names_generalized_requests_as_such) {
  const failed_job job = failing(1, [](int) {
    MPI_Request request;
    MPI_Grequest_start([](void*, MPI_Status*) -> int { return MPI_SUCCESS; },
                       [](void*) -> int { return MPI_SUCCESS; },
                       [](void*, int) -> int { return MPI_SUCCESS; }, nullptr, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0: in MPI_Wait (generalized request)\n");
}

TEST(mpi_message, a_deadlock_names_communicators_as_the_program_does) {
  const failed_job job = run_to_failure(job_of(2, 1), [](communicator& world) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm halo;
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_set_name(halo, "halo");
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 1 - world.rank(), 3, world.rank() == 0 ? halo : MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Finalize();
  });
  EXPECT_EQ(job.status, 1);
  expect_contains(job.text, "rank 0: in MPI_Recv, source 1, tag 3, 4 bytes, halo\n");
  expect_contains(job.text, "rank 1: in MPI_Recv, source 0, tag 3, 4 bytes, MPI_COMM_WORLD\n");
}

}  // namespace
}  // namespace weft
