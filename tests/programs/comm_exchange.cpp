// Started by weftrun with several processes: every primitive with every completion object at either
// side, between each pair of processes; then collectives. Prints one line of process 0 when all was
// right. `die N`: process N kills itself in the middle, and the others must go on without it.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weft/comm.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;

[[noreturn]] void fail(int line, const char* what) {
  std::fprintf(stderr, "comm_exchange: line %d: %s\n", line, what);
  std::exit(1);
}
#define REQUIRE(condition) ((condition) ? void() : fail(__LINE__, #condition))

char letter(std::size_t i, std::uint64_t seed) {
  return static_cast<char>('a' + (i * 7 + i / 251 + seed) % 26);
}
std::string text_of(std::size_t size, std::uint64_t seed) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = letter(i, seed);
  return text;
}

// One of each sort, waited for in the same way.
struct objects {
  static constexpr int count = 4;
  comm::counter counter;
  comm::synchronizer synchronizer;
  comm::completion_queue queue{64};
  comm::event last;
  bool called = false;
  std::string text;
  std::uint64_t seen = 0;

  comm::completion of(int sort) {
    if (sort == 0) return counter;
    if (sort == 1) return synchronizer;
    if (sort == 2) return queue;
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
    for (int sort = 0; sort < objects::count; ++sort)
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
    for (int from = 0; from < core_.process_count(); ++from)
      for (int to = 0; to < core_.process_count(); ++to)
        for (int near = 0; near < objects::count; ++near)
          for (int far = 0; far < objects::count; ++far)
            for (const std::size_t size : {std::size_t{8}, std::size_t{6000}, longest}) {
              active_message(from, to, near, far, size);
              one_sided(from, to, near, far, size);
              two_sided(from, to, near, far, size);
            }
  }

  void atomics() {
    std::memset(memory_.data(), 0, 64);
    barrier();
    std::uint64_t old;
    for (int i = 0; i < 100; ++i)
      for (const auto& each : everywhere_)
        REQUIRE(post_fetch_add(on_, each, 1, with::old(&old), with::posted(false)) == status::done);
    barrier();
    std::uint64_t sum;
    std::memcpy(&sum, memory_.data(), 8);
    REQUIRE(sum == 100ull * static_cast<std::uint64_t>(core_.process_count()));
    barrier();
  }

  void collectives() {
    for (const std::size_t count : {std::size_t{1}, std::size_t{50000}}) {
      std::vector<long> numbers(count, core_.process() + 1);
      REQUIRE(team_
                  .all_reduce(std::as_writable_bytes(std::span(numbers)),
                              comm::combination_of<long, std::plus<>>())
                  .wait() == comm::outcome::complete);
      const long n = core_.process_count();
      for (const long each : numbers) REQUIRE(each == n * (n + 1) / 2);
    }
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
      while (said == status::posted && !ended.test()) on_.progress();
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
  void until(Condition&& condition) {
    // There may be more processes than cores.
    while (!condition())
      if (on_.progress() == 0) std::this_thread::yield();
  }
  template <class Post>
  void insist(int near, Post&& post) {
    status said;
    while ((said = post()) == status::retry) on_.progress();
    REQUIRE(said == status::posted);
    until([&] { return local_.happened(near); });
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
      insist(near, [&] {
        return post_am(on_, {to}, handlers_[static_cast<std::size_t>(far)], text, with::tag(tag),
                       with::head({round_, 2}), with::local(local_.of(near)), with::done(false));
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
      insist(near, [&] {
        return post_put(on_, target, text, with::notify(handler), with::tag(tag),
                        with::local(local_.of(near)), with::done(false));
      });
    if (am(to)) {
      until([&] { return remote_.happened(far); });
      REQUIRE(memory_.compare(0, size, text) == 0);
      REQUIRE(far == 0 || (remote_.last.process == from && remote_.last.tag == tag));
    }
    barrier();
    if (am(from)) {
      std::string got(size, '?');
      insist(near, [&] {
        return post_get(on_, target, got, with::notify(handler), with::tag(tag - 1),
                        with::local(local_.of(near)), with::done(false));
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
    const auto receive = [&] {
      said = post_recv(on_, from, got, with::tag(round_), with::local(remote_.of(far)),
                       with::result(&result));
      REQUIRE(said == status::done || said == status::posted);
    };
    if (am(to) && receive_first) receive();
    if (am(to) && from == to && !receive_first) {
      // A message to oneself that is not received yet must not be waited for.
      receive();
    }
    if (am(from))
      insist(near, [&] {
        return post_send(on_, {to}, text, with::tag(round_), with::local(local_.of(near)),
                         with::done(false));
      });
    if (am(to)) {
      if (!receive_first && from != to) receive();
      if (said == status::posted) until([&] { return remote_.happened(far); });
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
  here.collectives();
  here.barrier();
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                std::string(core.device().transport_to(core.process_count() - 1)).c_str());
}
