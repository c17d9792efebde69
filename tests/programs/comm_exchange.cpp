// Started by weftrun with several processes: every primitive with every completion object at either
// side, between each pair of processes. Prints one line of process 0 when all was right. `die N`:
// process N kills itself in the middle, and the others must go on without it.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "comm_check.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;
using weft::tests::text_of;

// One of each sort, waited for in the same way. Graphs are no objects that a peer can name: they take
// part at the side that posts.
struct objects {
  static constexpr int named_count = 5;
  static constexpr int graph = 5;
  static constexpr int count = 6;
  // A type of the user's own, which holds one event at a time and may be full.
  struct one_place {
    objects& whole;
    bool taken = false;
    bool reserve() noexcept { return !std::exchange(taken, true); }
    void cancel() noexcept { taken = false; }
    void signal(const comm::event& happened) noexcept {
      whole.take(happened);
      whole.called = true;
      taken = false;
    }
  };
  comm::counter counter;
  comm::synchronizer synchronizer;
  comm::completion_queue queue{64};
  one_place own{*this};
  comm::event last;
  bool called = false;
  std::string text;
  std::uint64_t seen = 0;

  comm::completion of(int sort) {
    if (sort == 0) return counter;
    if (sort == 1) return synchronizer;
    if (sort == 2) return queue;
    if (sort == 3) return own;
    return comm::completion(
        [](void* context, const comm::event& happened) noexcept {
          auto& here = *static_cast<objects*>(context);
          here.take(happened);
          here.called = true;
        },
        this);
  }
  void take(const comm::event& happened) {
    last = happened;
    text.assign(reinterpret_cast<const char*>(happened.bytes().data()), happened.bytes().size());
    release(happened);
  }
  bool happened(int sort) {
    if (sort == 0) return counter.value() == seen + 1 && ++seen != 0;
    if (sort == 1) {
      if (!synchronizer.test()) return false;
      take(synchronizer.events()[0]);
      synchronizer.reset();
      return true;
    }
    if (sort == 2) {
      comm::event popped;
      if (!queue.try_pop(popped)) return false;
      take(popped);
      return true;
    }
    return std::exchange(called, false);
  }
};

class exchange {
 public:
  explicit exchange(comm::runtime& core) : core_(core), on_(core.device()), team_(on_) {
    for (int sort = 0; sort < objects::named_count; ++sort)
      handlers_.push_back(core.register_handler(remote_.of(sort)));
    memory_.resize(longest);
    exposed_ = comm::registered_memory(on_, std::as_writable_bytes(std::span(memory_)));
    // Everybody's memory, known to all.
    everywhere_.resize(static_cast<std::size_t>(core.process_count()));
    const comm::remote_memory mine[] = {exposed_.remote()};
    REQUIRE(team_.all_gather(bytes(mine), std::as_writable_bytes(std::span(everywhere_))).wait() ==
            comm::outcome::complete);
  }

  void all_pairs() {
    // Of more than two processes each pair has one size of the three for each pair of objects.
    const bool all_sizes = core_.process_count() <= 2;
    for (int from = 0; from < core_.process_count(); ++from)
      for (int to = 0; to < core_.process_count(); ++to)
        for (int near = 0; near < objects::count; ++near)
          for (int far = 0; far < objects::count; ++far)
            for (int size = 0; size < 3; ++size) {
              if (!all_sizes && size != (near + far + from + to) % 3) continue;
              constexpr std::size_t sizes[] = {8, 6000, longest};
              two_sided(from, to, near, far, sizes[size]);
              if (far == objects::graph) continue;
              active_message(from, to, near, far, sizes[size]);
              one_sided(from, to, near, far, sizes[size]);
            }
  }

  // All on one number of each process, then everybody on a number of its own there, whose old values
  // are known, with each object.
  void atomics() {
    std::memset(memory_.data(), 0, 4096);
    barrier();
    std::uint64_t old;
    for (int i = 0; i < 100; ++i)
      for (const auto& each : everywhere_) {
        REQUIRE(post_fetch_add(on_, each, 1, with::old(&old), with::posted(false)) == status::done);
        std::uint64_t expected = old;
        do {
          expected = old;
          REQUIRE(post_compare_swap(on_, each, expected, expected + 1, with::old(&old),
                                    with::posted(false)) == status::done);
        } while (old != expected);
      }
    barrier();
    std::uint64_t sum;
    std::memcpy(&sum, memory_.data(), 8);
    REQUIRE(sum == 200ull * static_cast<std::uint64_t>(core_.process_count()));
    const std::uint64_t mine = 64 + 8 * static_cast<std::uint64_t>(core_.process());
    for (int near = 0; near < objects::count; ++near)
      for (const auto& each : everywhere_) {
        const auto was = [&](std::uint64_t expected, const auto& post) {
          old = ~std::uint64_t{0};
          insist(near, post);
          REQUIRE(old == expected);
          REQUIRE(near == 0 || near == objects::graph || local_.last.tag == expected);
        };
        was(0, [&](const comm::completion& ended) {
          return post_fetch_add(on_, each, 5, with::offset(mine), with::old(&old),
                                with::local(ended), with::done(false));
        });
        was(5, [&](const comm::completion& ended) {
          return post_swap(on_, each, 7, with::offset(mine), with::old(&old), with::local(ended),
                           with::done(false));
        });
        was(7, [&](const comm::completion& ended) {
          return post_compare_swap(on_, each, 7, 9, with::offset(mine), with::old(&old),
                                   with::local(ended), with::done(false));
        });
        was(9, [&](const comm::completion& ended) {
          return post_compare_swap(on_, each, 7, 1, with::offset(mine), with::old(&old),
                                   with::local(ended), with::done(false));
        });
        was(9, [&](const comm::completion& ended) {
          return post_swap(on_, each, 0, with::offset(mine), with::old(&old), with::local(ended),
                           with::done(false));
        });
      }
    barrier();
  }

  // Process `victim` dies while all write to it; the others see errors and go on.
  void death_of(int victim) {
    comm::counter came, bye;
    const comm::handler_id message = core_.register_handler(came);
    const comm::handler_id farewell = core_.register_handler(bye);
    barrier();
    if (core_.process() == victim) {
      ::kill(::getpid(), SIGKILL);
    }
    const std::string text = text_of(longest, 1);
    for (;;) {
      comm::synchronizer ended;
      const status said =
          post_put(on_, everywhere_[static_cast<std::size_t>(victim)], text, with::local(ended));
      if (said == status::failed) break;
      until([&] { return said != status::posted || ended.test(); });
      on_.progress();
    }
    until([&] { return !on_.is_alive(victim); });
    // The living: everybody sends to everybody else, first much, then that it has all.
    std::uint64_t others = 0;
    for (int p = 0; p < core_.process_count(); ++p) {
      if (p == victim) continue;
      ++others;
      send_all(p, message, text);
    }
    until([&] { return came.value() == others; });
    for (int p = 0; p < core_.process_count(); ++p)
      if (p != victim) send_all(p, farewell, "bye");
    until([&] { return bye.value() == others; });
    REQUIRE(came.failures() == 0);
  }

  void barrier() { REQUIRE(team_.barrier().wait() == comm::outcome::complete); }

 private:
  static constexpr std::size_t longest = 300'000;

  template <class T, std::size_t N>
  static std::span<const std::byte> bytes(const T (&of)[N]) {
    return std::as_bytes(std::span(of));
  }
  template <class Condition>
  void until(const Condition& condition) {
    weft::tests::until(core_, condition);
  }
  // Posts with that object, and waits for it.
  template <class Post>
  void insist(int near, const Post& post) {
    if (near == objects::graph) return step(post);
    status said = status::retry;
    until([&] { return (said = post(local_.of(near))) != status::retry; });
    REQUIRE(said == status::posted);
    until([&] { return local_.happened(near); });
  }
  // The operation as a node, and a callback that waits for it.
  template <class Post>
  void step(const Post& post) {
    comm::graph steps;
    bool called = false;
    const auto posted = steps.add([&](const comm::completion& ended) { return post(ended); });
    steps.add_edge(posted, steps.add_callback([&] { called = true; }));
    comm::counter over;
    steps.start(over);
    until([&] { return steps.advance(); });
    REQUIRE(called && over.value() == 1 && steps.result() == comm::outcome::complete);
  }
  void send_all(int to, comm::handler_id handler, const std::string& text) {
    comm::counter sent;
    status said;
    while ((said = post_am(on_, {to}, handler, text, with::local(sent))) == status::retry)
      on_.progress();
    REQUIRE(said != status::failed);
    if (said == status::posted) until([&] { return sent.value() != 0; });
    REQUIRE(sent.failures() == 0);
  }
  [[nodiscard]] bool am(int process) const { return core_.process() == process; }

  void active_message(int from, int to, int near, int far, std::size_t size) {
    const std::uint64_t tag = (1ull << 60) + ++round_;
    if (am(from)) {
      const std::string text = text_of(size, round_);
      // To oneself both ends happen in one progress().
      insist(near, [&](const comm::completion& ended) {
        return post_am(on_, {to}, handlers_[static_cast<std::size_t>(far)], text, with::tag(tag),
                       with::head({round_, 2}), with::local(ended), with::done(false));
      });
    }
    if (am(to)) {
      until([&] { return remote_.happened(far); });
      if (far != 0) {
        REQUIRE(remote_.last.process == from);
        REQUIRE(remote_.last.tag == tag);
        REQUIRE(remote_.last.head[0] == round_);
        REQUIRE(remote_.text == text_of(size, round_));
      }
    }
    barrier();
  }

  void one_sided(int from, int to, int near, int far, std::size_t size) {
    const std::uint64_t tag = ~0ull - ++round_;
    const auto& target = everywhere_[static_cast<std::size_t>(to)];
    const comm::handler_id handler = handlers_[static_cast<std::size_t>(far)];
    const std::string text = text_of(size, round_);
    if (am(from))
      insist(near, [&](const comm::completion& ended) {
        return post_put(on_, target, text, with::notify(handler), with::tag(tag),
                        with::local(ended), with::done(false));
      });
    if (am(to)) {
      until([&] { return remote_.happened(far); });
      REQUIRE(memory_.compare(0, size, text) == 0);
      REQUIRE(far == 0 || (remote_.last.process == from && remote_.last.tag == tag));
    }
    barrier();
    if (am(from)) {
      std::string got(size, '?');
      insist(near, [&](const comm::completion& ended) {
        return post_get(on_, target, got, with::notify(handler), with::tag(tag - 1),
                        with::local(ended), with::done(false));
      });
      REQUIRE(got == text);
    }
    if (am(to)) {
      until([&] { return remote_.happened(far); });
      REQUIRE(far == 0 || (remote_.last.process == from && remote_.last.tag == tag - 1));
    }
    barrier();
  }

  void two_sided(int from, int to, int near, int far, std::size_t size) {
    ++round_;
    const std::string text = text_of(size, round_);
    std::string got(size, '?');
    const bool receive_first = round_ % 2 == 0;
    status said = status::done;
    comm::event result;
    comm::graph steps;  // Of a single receive.
    const auto post = [&](const comm::completion& ended) {
      return post_recv(on_, from, got, with::tag(round_), with::local(ended),
                       with::result(&result));
    };
    steps.add(post);
    const auto receive = [&] {
      if (far == objects::graph)
        steps.start();
      else
        said = post(remote_.of(far));
      REQUIRE(said == status::done || said == status::posted);
    };
    if (am(to) && receive_first) receive();
    if (am(to) && from == to && !receive_first) {
      // A message to oneself that is not received yet must not be waited for.
      receive();
    }
    if (am(from))
      insist(near, [&](const comm::completion& ended) {
        return post_send(on_, {to}, text, with::tag(round_), with::local(ended), with::done(false));
      });
    if (am(to)) {
      if (!receive_first && from != to) receive();
      if (far == objects::graph)
        until([&] { return steps.advance(); });
      else if (said == status::posted)
        until([&] { return remote_.happened(far); });
      REQUIRE(got == text);
    }
    barrier();
  }

  comm::runtime& core_;
  comm::device& on_;
  comm::team team_;
  objects local_, remote_;
  std::vector<comm::handler_id> handlers_;
  std::string memory_;
  comm::registered_memory exposed_;
  std::vector<comm::remote_memory> everywhere_;
  std::uint64_t round_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  comm::runtime core;
  exchange here(core);
  if (argc == 3 && std::string(argv[1]) == "die") {
    const int victim = std::atoi(argv[2]);
    here.death_of(victim);
    if (core.process() == (victim == 0 ? 1 : 0)) std::printf("the living went on\n");
    return 0;
  }
  here.all_pairs();
  here.atomics();
  here.barrier();
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}
