// Started by weftrun with several processes, one of which dies: `survivors VICTIM MODE`. The process
// of rank VICTIM kills itself in the middle of what MODE names. The others see errors of everything
// that concerns its ranks, and only of that, and go on without them. `traffic`: nobody dies, and all
// exchange messages for ever. `cut`: somebody cuts VICTIM's host off.
// `nodes`: who shares one, and by what each process is reached. `deadlock`: the living wait for each other.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "collective/control_messages.hpp"
#include "mpi/mpi.h"
#include "remote/port.hpp"

namespace {

using namespace std::chrono_literals;
using weft::communicator;

[[noreturn]] void fail(const communicator& world, const std::string& what) {
  std::fprintf(stderr, "survivors: rank %d: %s\n", world.rank(), what.c_str());
  std::_Exit(3);
}

// Process numbers are not those of one host, nor of one namespace.
unsigned this_process() {
  static const unsigned token = std::random_device{}();
  return token;
}

void die() {
  ::kill(::getpid(), SIGKILL);
}

// Whether the call ends with a weft::error.
bool fails(const std::function<void()>& call) {
  try {
    call();
    return false;
  } catch (const weft::error&) {
    return true;
  }
}

class cast {
 public:
  cast(communicator& world, int victim)
      : world_(world),
        victim_(victim),
        processes_(world.allgather(this_process())),
        doomed_(is_doomed(world.rank())),
        living_(*world.split(doomed_ ? 1 : 0, 0)) {}

  // Everybody with everybody, short and long, until the doomed have failed; when they are cut off, both
  // sides take the other for failed.
  void messages(bool cut_off = false) {
    std::vector<char> in(600'000), out(in.size(), static_cast<char>(world_.rank()));
    for (int peer = 0; peer < world_.size(); ++peer)
      if (peer != world_.rank() && is_doomed(peer) == doomed_) exchange(peer, in, out);
    int rounds = 0;
    std::map<int, bool> lost;
    for (;;) {
      bool all_lost = true;
      for (int peer = 0; peer < world_.size(); ++peer) {
        if (is_doomed(peer) == doomed_ || lost[peer]) continue;
        if (world_.rank() == victim_ && ++rounds == 7) {
          if (!cut_off) die();
          std::printf("under way\n");
          std::fflush(stdout);
        }
        lost[peer] = fails([&] { exchange(peer, in, out); });
        if (doomed_ && lost[peer] && !cut_off) fail(world_, "a living rank is said to be dead");
        all_lost = all_lost && lost[peer];
      }
      if (all_lost) return;
    }
  }

  // A rank that waits in a receive or a synchronous send.
  void waiting() {
    if (doomed_) {
      if (world_.rank() != victim_) return (void)world_.recv<int>(world_.rank(), 9);
      weft::sleep_for(100ms);
      die();
    }
    std::vector<char> long_message(400'000);
    const bool failed = world_.rank() % 2 == 0
                            ? fails([&] { (void)world_.recv<int>(victim_, 7); })
                            : fails([&] { world_.ssend(long_message, victim_, 8); });
    if (!failed) fail(world_, "an operation with a dead rank succeeded");
    // What is posted when the death has been known for long.
    if (!fails([&] { (void)world_.recv<int>(victim_, 7); }))
      fail(world_, "a late receive from a dead rank succeeded");
  }

  // A rank that looks for a message before it receives it.
  void probing() {
    constexpr int early = 6, never = 7, has_come = 8;
    if (doomed_) {
      if (world_.rank() != victim_) return (void)world_.recv<int>(world_.rank(), 9);
      for (int to = 0; to < world_.size(); ++to)
        if (!is_doomed(to)) world_.send(to, to, early);
      for (int from = 0; from < world_.size(); ++from)
        if (!is_doomed(from)) (void)world_.recv<int>(from, has_come);
      weft::sleep_for(100ms);
      die();
    }
    (void)world_.probe(victim_, early);
    world_.send(0, victim_, has_come);
    const std::vector<std::function<void()>> probes{[&] { (void)world_.probe(victim_, never); },
                                                    [&] { (void)world_.mprobe(victim_, never); },
                                                    [&] {
                                                      while (!world_.iprobe(victim_, never)) {
                                                      }
                                                    },
                                                    [&] {
                                                      while (!world_.improbe(victim_, never)) {
                                                      }
                                                    }};
    // Each in some rank begins while the victim lives, and in the others when it has been dead for long.
    for (std::size_t i = 0; i < probes.size(); ++i)
      if (!fails(probes[(i + static_cast<std::size_t>(living_.rank())) % probes.size()]))
        fail(world_, "a message that a dead rank has not sent was found");
    if (world_.probe(victim_, early).bytes != sizeof(int)) fail(world_, "not the message");
    int got = -1;
    world_.mprobe(victim_, early).recv(std::span(&got, 1));
    if (got != world_.rank()) fail(world_, "not what the dead rank has sent");
  }

  // MPI_Sendrecv, whose send to a dead rank fails when the message of its receive is being read.
  void exchanging() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (doomed_) {
      if (world_.rank() != victim_) return (void)world_.recv<int>(world_.rank(), 9);
      weft::sleep_for(100ms);
      die();
    }
    constexpr int count = 4'000'000, never = 7, tag = 8;
    std::vector<char> in(count), out(count, static_cast<char>(1 + world_.rank()));
    if (MPI_Recv(in.data(), 1, MPI_CHAR, victim_, never, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS)
      fail(world_, "a receive from a dead rank succeeded");
    // Each has a partner in another process.
    const std::vector<int> living = living_.allgather(world_.rank());
    const int half = living_.size() / 2;
    const int partner = living[static_cast<std::size_t>((living_.rank() + half) % living_.size())];
    for (const bool lower_half : {true, false}) {
      if ((living_.rank() < half) != lower_half) {
        MPI_Send(out.data(), count, MPI_CHAR, partner, tag, MPI_COMM_WORLD);
        continue;
      }
      MPI_Probe(partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (MPI_Sendrecv(out.data(), count, MPI_CHAR, victim_, tag, in.data(), count, MPI_CHAR,
                       partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        fail(world_, "an exchange with a dead rank succeeded");
      if (in != std::vector<char>(count, static_cast<char>(1 + partner)))
        fail(world_, "a receive was left while its message was being read");
    }
    if (MPI_Finalize() != MPI_SUCCESS) fail(world_, "the living cannot end MPI");
  }

  // Messages of the run time that are under way together: a send to a dead rank fails when one is being read and another has
  // been offered. The first comes whole, the second is taken back.
  void leaving() {
    using namespace weft::detail;
    std::vector<int> alive;
    for (const int rank : world_.allgather(doomed_ ? -1 : world_.rank()))
      if (rank >= 0) alive.push_back(rank);
    if (doomed_) {
      if (world_.rank() != victim_) return (void)world_.recv<int>(world_.rank(), 9);
      weft::sleep_for(100ms);
      die();
    }
    const int middle = alive[0], beside = alive[1], far = alive.back();
    constexpr int from_far = 1, from_middle = 2, go = 7;
    rank_state& me = calling_rank("leaving");
    const communicator_state& all = *me.shared->world;
    const weft::wait_description what{"leaving", all.context};
    const auto envelope_of = [](int rank, int tag) {
      return envelope{hidden_context | group_context | neighbor_context, rank, tag};
    };
    std::vector<char> in(4'000'000), out(in.size(), static_cast<char>(1 + world_.rank()));
    if (world_.rank() == far) {
      control_messages with(me, what, lengths::equal);
      with.send(all.to(middle), middle, envelope_of(far, from_far), std::as_bytes(std::span(out)));
      with.wait();
    }
    if (world_.rank() == middle) {
      if (!fails([&] { (void)world_.recv<int>(victim_, 9); }))
        fail(world_, "a receive from a dead rank succeeded");
      me.home->wait_until([&] { return me.lists.find(envelope_of(far, from_far)) != nullptr; },
                          what);
      const bool failed = fails([&] {
        control_messages with(me, what, lengths::equal);
        with.receive(me, envelope_of(far, from_far), std::as_writable_bytes(std::span(in)));
        for (const int to : {beside, victim_})
          with.send(all.to(to), to, envelope_of(middle, from_middle),
                    std::as_bytes(std::span(out)));
      });
      if (!failed) fail(world_, "a send to a dead rank succeeded");
      if (in != std::vector<char>(in.size(), static_cast<char>(1 + far)))
        fail(world_, "a receive was left while its message was being read");
      world_.send(0, beside, go);
      out.assign(1, 0);
      control_messages with(me, what, lengths::equal);
      with.send(all.to(beside), beside, envelope_of(middle, from_middle),
                std::as_bytes(std::span(out)));
      with.wait();
    }
    if (world_.rank() == beside) {
      (void)world_.recv<int>(middle, go);
      in.resize(1);
      control_messages with(me, what, lengths::equal);
      with.receive(me, envelope_of(middle, from_middle), std::as_writable_bytes(std::span(in)));
      with.wait();
      if (in[0] != 0) fail(world_, "a message that was left was received");
    }
  }

  // All are in collectives, small and large, of all kinds.
  void collectives() {
    std::vector<long> large(40'000, 1);
    for (int i = 0;; ++i) {
      const bool failed = fails([&] {
        (void)world_.allreduce(1, std::plus<>{});
        if (i == 20 && world_.rank() == victim_) die();
        (void)world_.bcast(i, i % world_.size());
        world_.allreduce(large, std::plus<>{});
        world_.bcast(large, (i + 1) % world_.size());
        (void)world_.allgather(i);
        world_.barrier();
      });
      if (failed) break;
    }
    if (doomed_) fail(world_, "a collective of the living failed");
    if (!fails([&] { world_.barrier(); })) fail(world_, "a collective without the dead succeeded");
  }

  // The ranks of one process come to no collective any more, since they have found the dead; the others are in one.
  void absent() {
    const int first = living_.bcast(world_.rank(), 0);
    if (doomed_) {
      if (world_.rank() != victim_) return (void)world_.recv<int>(world_.rank(), 9);
      weft::sleep_for(100ms);
      die();
    }
    if (processes_[static_cast<std::size_t>(world_.rank())] ==
        processes_[static_cast<std::size_t>(first)]) {
      if (!fails([&] { (void)world_.recv<int>(victim_, 7); }))
        fail(world_, "an operation with a dead rank succeeded");
    } else if (!fails([&] { world_.barrier(); })) {
      fail(world_, "a collective without the dead succeeded");
    }
  }

  // All are in large collectives, of which the death may meet any step.
  void large_collectives() {
    const auto n = static_cast<std::size_t>(world_.size());
    std::vector<unsigned long> large(40'000, 1), all(n * large.size());
    if (world_.rank() == victim_)
      std::thread([] {
        std::this_thread::sleep_for(100ms);
        die();
      }).detach();
    for (int i = 0;; ++i) {
      const bool failed = fails([&] {
        world_.allreduce(large, std::plus<>{});
        world_.bcast(large, i % world_.size());
        world_.allgather(large, all);
        world_.reduce(large, large, std::plus<>{}, i % world_.size());
        (void)world_.allgatherv(large);
      });
      if (failed) break;
    }
    if (doomed_) fail(world_, "a collective of the living failed");
    if (!fails([&] { world_.barrier(); })) fail(world_, "a collective without the dead succeeded");
  }

  // Some of the living have heard of the death when they come to wait for each other, some have not.
  void deadlock() {
    if (doomed_) {
      if (world_.rank() == victim_) die();
      return (void)world_.recv<int>(world_.rank(), 9);
    }
    if (world_.rank() % 2 == 0) (void)fails([&] { (void)world_.recv<int>(victim_, 7); });
    living_.ssend(1, (living_.rank() + 1) % living_.size());
  }

  // The living are as good as before.
  void go_on() {
    for (int i = 0; i < 50; ++i)
      if (living_.allreduce(1, std::plus<>{}) != living_.size()) fail(world_, "a wrong sum");
    std::vector<int> large(100'000, living_.rank());
    living_.bcast(large, living_.size() - 1);
    if (large[5] != living_.size() - 1) fail(world_, "a wrong broadcast");
    living_.send(living_.rank(), (living_.rank() + 1) % living_.size());
    (void)living_.recv<int>(weft::any_source);
    std::printf("rank %d went on\n", world_.rank());
  }

  // Those of this rank's host, as the block map has them.
  void nodes() {
    const communicator here = world_.split_node();
    const std::vector<int> ranks = here.allgather(world_.rank());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] != ranks[0] + static_cast<int>(i)) fail(world_, "a rank of another node");
    std::printf("rank %d is one of %d from %d\n", world_.rank(), here.size(), ranks[0]);
    const weft::remote::port mine = weft::remote::port::of(*weft::worker::current());
    for (int other = 0; other < mine.owner().process_count(); ++other)
      if (other != mine.owner().process())
        std::printf("rank %d reaches process %d by %s\n", world_.rank(), other,
                    std::string(mine.transport_to({other, 0})).c_str());
  }

  void traffic() {
    std::vector<char> in(600'000), out(in.size());
    std::printf("rank %d is of process %d\n", world_.rank(), static_cast<int>(::getpid()));
    for (int i = 0;; ++i) {
      const int next = (world_.rank() + 1) % world_.size();
      const int before = (world_.rank() + world_.size() - 1) % world_.size();
      world_.sendrecv(out, next, in, before);
      (void)world_.allreduce(i, std::plus<>{});
      if (i == 20 && world_.rank() == 0) std::printf("under way\n");
      if (i == 20) std::fflush(stdout);
    }
  }

 private:
  [[nodiscard]] bool is_doomed(int rank) const {
    return victim_ >= 0 && processes_[static_cast<std::size_t>(rank)] ==
                               processes_[static_cast<std::size_t>(victim_)];
  }
  void exchange(int peer, std::vector<char>& in, const std::vector<char>& out) {
    world_.sendrecv(std::span(out).first(8), peer, std::span(in).first(8), peer);
    world_.sendrecv(out, peer, in, peer);
    if (in[0] != static_cast<char>(peer) || in.back() != static_cast<char>(peer))
      fail(world_, "a wrong message");
  }

  communicator& world_;
  const int victim_;
  const std::vector<unsigned> processes_;  // Of the ranks.
  const bool doomed_;
  communicator living_;  // Of those that are not doomed, or of those that are.
};

}  // namespace

int main(int argc, char** argv) {
  return weft::run(argc, argv, [&](communicator& world) {
    const std::string mode = argc > 2 ? argv[2] : "";
    cast all(world, mode == "traffic" ? -1 : std::atoi(argv[1]));
    if (mode == "messages") all.messages();
    if (mode == "cut") all.messages(true);
    if (mode == "waiting") all.waiting();
    if (mode == "probing") all.probing();
    if (mode == "exchanging") all.exchanging();
    if (mode == "leaving") all.leaving();
    if (mode == "collectives") all.collectives();
    if (mode == "absent") all.absent();
    if (mode == "large") all.large_collectives();
    if (mode == "deadlock") all.deadlock();
    if (mode == "nodes") all.nodes();
    if (mode == "traffic") all.traffic();
    all.go_on();
  });
}
