// What a checked job says about memory that is used by two at a time: requests and the program, windows and the program,
// two operations on a window; and of messages whose order is not determined. Each mistake stands beside the same program
// without it, of which nothing is said.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "job.hpp"
#include "mpi/mpi.h"

// What the compiler calls for the program's own loads and stores (weftcc -check).
extern "C" {
void __tsan_read4(void* at);
void __tsan_write4(void* at);
}

namespace weft {
namespace {

// Loads and stores as instrumented code has them.
[[gnu::noinline]] int load(const int& from) {
  if (!sanitized) __tsan_read4(const_cast<int*>(&from));
  return from;
}
[[gnu::noinline]] void store(int& to, int value) {
  if (!sanitized) __tsan_write4(&to);
  to = value;
}

failed_job checked(int ranks, const std::function<void(communicator&)>& body, int workers = 1) {
  options how = job_of(ranks, workers);
  how.check = true;
  return run_to_failure(how, [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    body(world);
    MPI_Finalize();
  });
}

// The findings, without the lines about locks and about the end.
std::size_t findings_of(const failed_job& job) {
  return count_of(job.text, "weft: check: ") -
         count_of(job.text, "weft: check: mutexes held across a wait are not looked for") -
         count_of(job.text, "weft: check: the job ran to its end");
}
void expect_clean(const failed_job& job) {
  EXPECT_EQ(job.status, 0) << job.text;
  EXPECT_EQ(findings_of(job), 0u) << job.text;
}
void expect_error(const failed_job& job, const std::string& what) {
  EXPECT_EQ(job.status, 1) << job.text;
  EXPECT_EQ(findings_of(job), 1u) << job.text;
  expect_contains(job.text, what);
}

// --- Requests --------------------------------------------------------------------------------------

TEST(memory_of_a_request, that_the_program_writes_is_found_by_its_sum) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      int value = 1;
      MPI_Request request;
      if (world.rank() == 0) {
        MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        if (wrong) value = 2;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    });
    if (wrong)
      expect_error(job, "rank 0 has written to the 4 bytes that ");
    else
      expect_clean(job);
    if (wrong) expect_contains(job.text, "that MPI_Isend, started in ");
  }
}

TEST(memory_of_a_receive, that_the_program_writes_before_a_message_comes_is_found) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      int value = 1;
      MPI_Request request;
      if (world.rank() == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        if (wrong) value = 2;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      }
    });
    if (wrong)
      expect_error(job, "that MPI_Irecv, started in ");
    else
      expect_clean(job);
  }
}

TEST(memory_of_a_persistent_send, may_be_written_between_its_messages) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      int value = 1;
      MPI_Request request;
      if (world.rank() == 0) {
        MPI_Send_init(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; ++i) {
          value = i + 10;
          MPI_Start(&request);
          if (wrong) value = i + 20;
          MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
      } else {
        for (int i = 0; i < 2; ++i)
          MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    });
    if (wrong)
      expect_error(job, "that MPI_Send_init, started in ");
    else
      expect_clean(job);
  }
}

TEST(memory_of_a_collective, that_is_sent_from_may_not_be_written_meanwhile) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator&) {
      int in = 1, out[2] = {};
      MPI_Request request;
      MPI_Iallgather(&in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, &request);
      if (wrong) in = 2;
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    if (wrong)
      expect_error(job, "that MPI_Iallgather, started in ");
    else
      expect_clean(job);
  }
}

TEST(partitions, may_be_filled_in_after_the_start) {
  expect_clean(checked(2, [](communicator& world) {
    int parts[2] = {};
    MPI_Request request;
    if (world.rank() == 0) {
      MPI_Psend_init(parts, 2, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      for (int i = 0; i < 2; ++i) {
        store(parts[i], i + 1);
        MPI_Pready(i, request);
      }
    } else {
      MPI_Precv_init(parts, 2, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }));
}

TEST(a_load_of_memory_that_is_received_into, is_found_in_instrumented_code) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      int value = 1;
      MPI_Request request;
      if (world.rank() == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        if (wrong) (void)load(value);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        (void)load(value);
        MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        (void)load(value);  // Others may read what is sent.
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    });
    if (wrong)
      expect_error(job, "rank 0 reads 4 bytes in ");
    else
      expect_clean(job);
    if (wrong) expect_contains(job.text, "may still write them");
  }
}

TEST(memory_of_a_request, that_was_seen_complete_is_free) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  expect_clean(checked(2, [](communicator& world) {
    int value = 1;
    if (world.rank() == 1) {
      MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      return;
    }
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    for (int flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    store(value, load(value) + 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }));
}

TEST(memory_of_many_pieces, costs_each_look_a_few_of_them) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  // Where each look met all pieces behind the longest one, this took minutes.
  expect_clean(checked(2, [](communicator& world) {
    constexpr int pieces = 20'000;
    std::vector<int> apart(2 * pieces), row(1 << 20);
    MPI_Datatype type;
    MPI_Type_vector(pieces, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Request requests[2];
    const int other = 1 - world.rank();
    MPI_Irecv(row.data(), 1 << 20, MPI_INT, other, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(apart.data(), 1, type, other, 5, MPI_COMM_WORLD, &requests[1]);
    for (std::size_t i = 1; i < apart.size(); i += 2) store(apart[i], 1);
    const std::vector<int> sent(pieces);
    MPI_Send(sent.data(), pieces, MPI_INT, other, 5, MPI_COMM_WORLD);
    MPI_Send(sent.data(), pieces, MPI_INT, other, 6, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&type);
  }));
}

TEST(memory_of_a_request_that_is_freed, may_be_used_when_an_answer_has_come) {
  expect_clean(checked(2, [](communicator& world) {
    int value = 1;
    if (world.rank() == 0) {
      MPI_Request request;
      MPI_Issend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
      MPI_Recv(nullptr, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      store(value, 2);
      MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
      MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
  }));
}

TEST(a_request_that_is_freed, is_complete_after_finalize) {
  expect_clean(checked(2, [](communicator& world) {
    static int value;
    if (world.rank() == 0) {
      MPI_Request request;
      MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    } else {
      int got = 0;
      MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }));
}

// --- Messages --------------------------------------------------------------------------------------

TEST(a_receive_from_any_rank, that_could_have_taken_another_message_is_told_of) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(3, [&](communicator& world) {
      int value = world.rank();
      if (world.rank() != 0) {
        // What the first message tells is known before the second is sent.
        if (world.rank() == 2 && !wrong)
          MPI_Recv(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        return;
      }
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!wrong) MPI_Send(nullptr, 0, MPI_INT, 2, 6, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, value == 1 ? 2 : 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    EXPECT_EQ(job.status, 0) << job.text;
    EXPECT_EQ(findings_of(job), wrong ? 1u : 0u) << job.text;
    if (wrong) expect_contains(job.text, "which of them comes first is not determined");
  }
}

TEST(receives_from_any_rank_in_a_loop, are_the_programs_way) {
  expect_clean(checked(3, [](communicator& world) {
    int value = world.rank();
    if (world.rank() != 0) {
      MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
      return;
    }
    for (int i = 1; i < world.size(); ++i)
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }));
}

// --- Windows ---------------------------------------------------------------------------------------

struct window {
  int memory[4] = {};
  MPI_Win handle = MPI_WIN_NULL;
  window() {
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &handle);
  }
  ~window() { MPI_Win_free(&handle); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;
};

TEST(two_puts_to_one_place, need_an_order) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(3, [&](communicator& world) {
      window w;
      const int value = 1;
      MPI_Win_fence(0, w.handle);
      if (world.rank() == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
      if (!wrong) MPI_Win_fence(0, w.handle);
      if (world.rank() == 2) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
      MPI_Win_fence(0, w.handle);
    });
    if (wrong)
      expect_error(job, "and nothing orders the two");
    else
      expect_clean(job);
  }
}

TEST(a_put_and_a_get, are_ordered_by_a_flush_and_a_message) {
  enum class way { flush_and_message, message_alone, flush_alone };
  for (const way how : {way::flush_and_message, way::message_alone, way::flush_alone}) {
    const failed_job job = checked(3, [&](communicator& world) {
      window w;
      int value = 1;
      MPI_Win_lock_all(0, w.handle);
      if (world.rank() == 0) {
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
        if (how != way::message_alone) MPI_Win_flush(1, w.handle);
        if (how != way::flush_alone) MPI_Send(nullptr, 0, MPI_INT, 2, 5, MPI_COMM_WORLD);
      } else if (world.rank() == 2) {
        if (how != way::flush_alone)
          MPI_Recv(nullptr, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
      }
      MPI_Win_unlock_all(w.handle);
    });
    if (how == way::flush_and_message)
      expect_clean(job);
    else
      expect_error(job, "by MPI_Put in ");
  }
}

TEST(exclusive_locks, order_what_is_done_under_them_and_shared_ones_do_not) {
  for (const int type : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
    const failed_job job = checked(3, [&](communicator& world) {
      window w;
      const int value = 1;
      if (world.rank() != 1) {
        MPI_Win_lock(type, 1, 0, w.handle);
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
        MPI_Win_unlock(1, w.handle);
      }
    });
    if (type == MPI_LOCK_SHARED)
      expect_error(job, "by MPI_Put in ");
    else
      expect_clean(job);
  }
}

TEST(updates_of_one_datatype, are_atomic_to_each_other) {
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(3, [&](communicator& world) {
      window w;
      const int value = 1;
      const float other = 1;
      MPI_Win_fence(0, w.handle);
      if (world.rank() == 0)
        MPI_Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, w.handle);
      if (world.rank() == 2 && !wrong)
        MPI_Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, w.handle);
      if (world.rank() == 2 && wrong)
        MPI_Accumulate(&other, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_SUM, w.handle);
      MPI_Win_fence(0, w.handle);
    });
    if (wrong)
      expect_error(job, "by MPI_Accumulate in ");
    else
      expect_clean(job);
  }
}

TEST(memory_of_a_window_that_its_rank_stores_to, is_no_place_for_puts_of_others) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      window w;
      const int value = 1;
      MPI_Win_fence(0, w.handle);
      if (world.rank() == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
      if (world.rank() == 1) store(w.memory[wrong ? 0 : 1], 2);
      MPI_Win_fence(0, w.handle);
      if (world.rank() == 1) store(w.memory[0], 3);
    });
    if (wrong)
      expect_error(job, "and nothing orders the two");
    else
      expect_clean(job);
  }
}

TEST(the_result_of_a_get, is_there_after_its_epoch) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      window w;
      int value = 1;
      MPI_Win_lock_all(0, w.handle);
      if (world.rank() == 0) {
        MPI_Request request;
        MPI_Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle, &request);
        if (wrong) (void)load(value);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        (void)load(value);
      }
      MPI_Win_unlock_all(w.handle);
    });
    if (wrong)
      expect_error(job, "while MPI_Rget, called in ");
    else
      expect_clean(job);
  }
}

TEST(epochs_of_groups, order_origin_and_target) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  for (const bool wrong : {true, false}) {
    const failed_job job = checked(2, [&](communicator& world) {
      window w;
      MPI_Group all, other;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      const int number = 1 - world.rank();
      MPI_Group_incl(all, 1, &number, &other);
      const int value = 1;
      if (world.rank() == 0) {
        MPI_Win_start(other, 0, w.handle);
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
        MPI_Win_complete(w.handle);
      } else {
        store(w.memory[0], 1);
        MPI_Win_post(other, 0, w.handle);
        if (wrong) store(w.memory[0], 2);
        MPI_Win_wait(w.handle);
        store(w.memory[0], 3);
      }
      MPI_Group_free(&other);
      MPI_Group_free(&all);
    });
    if (wrong)
      expect_error(job, "and nothing orders the two");
    else
      expect_clean(job);
  }
}

TEST(a_load_that_polls_a_window, is_no_error_and_orders_what_comes_after) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  const failed_job job = checked(2, [](communicator& world) {
    window w;
    MPI_Win_lock_all(0, w.handle);
    if (world.rank() == 0) {
      const int value = 1;
      MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, w.handle);
      MPI_Win_flush(1, w.handle);
      MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
    } else {
      for (int flag = 0; load(w.memory[0]) == 0;)
        MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      store(w.memory[0], 2);
      store(w.memory[1], 2);
    }
    MPI_Win_unlock_all(w.handle);
  });
  EXPECT_EQ(job.status, 0) << job.text;
  EXPECT_LE(findings_of(job), 1u) << job.text;
  EXPECT_EQ(count_of(job.text, "check: error"), 0u) << job.text;
}

TEST(a_request_of_a_window, that_is_made_again_ends_what_it_has_started) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  expect_clean(checked(2, [](communicator& world) {
    window w;
    MPI_Win_lock_all(0, w.handle);
    if (world.rank() == 0) {
      int value = 0;
      MPI_Request between = MPI_REQUEST_NULL;  // Where the first request was.
      for (int i = 0; i < 2; ++i) {
        MPI_Request request;
        MPI_Rget(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i == 0) MPI_Irecv(nullptr, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, &between);
      }
      MPI_Wait(&between, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else {
      MPI_Send(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
      MPI_Recv(nullptr, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      store(w.memory[0], 2);
    }
    MPI_Win_unlock_all(w.handle);
  }));
}

TEST(a_message_behind_one_that_was_cancelled, orders_what_its_sender_had_done) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  expect_clean(checked(2, [](communicator& world) {
    window w;
    MPI_Win_lock_all(0, w.handle);
    const int value = 1;
    if (world.rank() == 0) {
      MPI_Request request;
      MPI_Issend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Send(nullptr, 0, MPI_INT, 1, 6, MPI_COMM_WORLD);
      MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, w.handle);
      MPI_Win_flush(1, w.handle);
      MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else {
      int got = 0;
      MPI_Recv(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      store(w.memory[0], 2);
    }
    MPI_Win_unlock_all(w.handle);
  }));
}

TEST(memory_of_a_dynamic_window, is_the_ranks_own_when_the_window_is_freed) {
  if (sanitized) GTEST_SKIP() << "the sanitizer has the calls of instrumented code";
  expect_clean(checked(2, [](communicator& world) {
    int memory = 0;
    MPI_Win dynamic;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_attach(dynamic, &memory, sizeof memory);
    MPI_Win_free(&dynamic);
    // Each rank reaches the other's memory as a thread of the program may.
    int* both[2] = {};
    int* const mine = &memory;
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, both, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    store(*both[1 - world.rank()], 1);
    store(memory, 2);
    MPI_Barrier(MPI_COMM_WORLD);
  }));
}

}  // namespace
}  // namespace weft
