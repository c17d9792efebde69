// A face of the smallest kind beside the others: ranks of a process ring each other's bells. It has state of its own
// for each rank, mail of its own, and words in a report, and the job knows nothing of it.
#include "job/face.hpp"

#include <array>
#include <string>
#include <vector>

#include "job.hpp"
#include "job/known_faces.hpp"
#include "job/state.hpp"
#include "mpi/object/state.hpp"
#include "shmem/state.hpp"
#include "weft/parcels/locality.hpp"

namespace weft {
namespace {

struct bell final : detail::face_state {
  int rung = 0;
  completion_counter told;
};

void on_ring(worker& here, record_header header, const std::byte*);
constexpr std::array<scheduler::mail_handler, 1> mail{&on_ring};
constexpr detail::face as_face{.name = "bells", .mail = mail};
const std::size_t slot = detail::register_face(as_face);

// Made by the one that comes first: the rank, or its mail.
bell& bell_of(detail::job_rank& r) {
  if (r.faces[slot] == nullptr) r.faces[slot] = std::make_unique<bell>();
  return static_cast<bell&>(*r.faces[slot]);
}

void on_ring(worker& here, record_header header, const std::byte*) {
  bell& rung = bell_of(detail::job_rank_of(here, header.target()));
  ++rung.rung;
  here.complete(rung.told);
}

void ring(int number) {
  detail::job_rank& me = detail::calling_job_rank("ring");
  me.home->post(me.of->places[static_cast<std::size_t>(number)].worker,
                detail::first_mail_kind(slot), static_cast<std::uint32_t>(number), {});
}

struct words final : detail::wait_words {
  int times = 0;
  int ringer = -1;  // Who rings, where only one does.
  [[nodiscard]] std::string text() const override {
    return " until its bell has rung " + std::to_string(times) + " times";
  }
  bool awaited(std::vector<int>& ranks) const override {
    if (ringer >= 0) ranks.push_back(ringer);
    return false;
  }
};

void wait_for_rings(int times, int ringer = -1) {
  detail::job_rank& me = detail::calling_job_rank("wait_for_rings");
  bell& mine = bell_of(me);
  words said;
  said.times = times;
  said.ringer = ringer;
  wait_description what{"wait_for_rings", wait_description::in_words};
  what.subject = &said;
  while (mine.rung < times) {
    mine.told.pending = 1;
    me.home->wait(mine.told, what);
  }
}

// Each is called, so that the linker takes it in.
void call_all_other_faces(const communicator& world) {
  (void)mpi::calling_at_any_time("face_test");
  (void)shmem::entrance().any_state();
  EXPECT_EQ(here().number(), 0);
  EXPECT_EQ(world.allreduce(1, std::plus<>{}), world.size());
}

TEST(face, is_a_fifth_in_a_program_that_has_all_others) {
  EXPECT_EQ(detail::own_faces().names,
            (std::vector<std::string>{"MPI", "OpenSHMEM", "bells", "memory", "parcels"}));
  run_ranks(alone(job_of(4, 2)), [](communicator& world) {
    call_all_other_faces(world);
    ring((world.rank() + 1) % world.size());
    wait_for_rings(1);
    EXPECT_EQ(bell_of(detail::calling_job_rank("face_test")).rung, 1);
  });
}

TEST(faces_of_a_job, are_numbered_alike_whatever_programs_its_processes_run) {
  const auto all = detail::faces_of_job::of({{"MPI", "bells"}, {"parcels"}, {}, {"bells", "MPI"}});
  EXPECT_EQ(all.names, (std::vector<std::string>{"MPI", "bells", "parcels"}));
  EXPECT_TRUE(all.has(0, "bells"));
  EXPECT_FALSE(all.has(0, "parcels"));
  EXPECT_TRUE(all.has(1, "parcels"));
  EXPECT_FALSE(all.has(2, "MPI"));
  EXPECT_TRUE(all.has(3, "MPI"));
  EXPECT_FALSE(all.has(3, "memory")) << "no program has it";
}

TEST(face, ranks_ring_each_other_beside_messages) {
  run_ranks(alone(job_of(5, 2)), [](communicator& world) {
    const int next = (world.rank() + 1) % world.size();
    for (int round = 1; round <= 20; ++round) {
      ring(next);
      wait_for_rings(round);
      EXPECT_EQ(world.allreduce(1, std::plus<>{}), 5);
    }
  });
}

TEST(face, a_wait_is_reported_in_its_words_beside_those_of_others) {
  const failed_job job = run_to_failure(alone(job_of(2, 2)), [](communicator& world) {
    if (world.rank() == 0)
      wait_for_rings(3);
    else
      (void)world.recv<int>(0);
  });
  EXPECT_NE(job.status, 0);
  expect_contains(job.text, "in wait_for_rings until its bell has rung 3 times");
  expect_contains(job.text, "in recv, source 0");
}

TEST(face, waits_of_a_face_and_for_messages_are_one_cycle) {
  const failed_job job = run_to_failure(alone(job_of(2, 1)), [](communicator& world) {
    if (world.rank() == 0)
      wait_for_rings(1, 1);
    else
      (void)world.recv<int>(0);
  });
  EXPECT_NE(job.status, 0);
  expect_contains(job.text, "cycle: rank 0 waits for rank 1 waits for rank 0");
}

}  // namespace
}  // namespace weft
