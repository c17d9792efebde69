// Started by weftrun with several processes, which share the first two cores that they may use. Nothing here
// sleeps or yields, as in a program that counts on a core for each process; all must get on even so. Prints
// one line of process 0 when all was right.
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "comm_check.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;
using weft::tests::bytes_of;
using weft::tests::text_of;

void share_two_cores() {
  cpu_set_t allowed, two;
  CPU_ZERO(&two);
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++core)
    if (CPU_ISSET(core, &allowed)) CPU_SET(core, &two);
  REQUIRE(::sched_setaffinity(0, sizeof two, &two) == 0);
}

class one_of_a_crowd {
 public:
  explicit one_of_a_crowd(comm::runtime& core)
      : core_(core),
        on_(core.device()),
        team_(on_),
        self_(core.process()),
        count_(core.process_count()),
        arrived_(core.register_handler(*this)),
        came_(static_cast<std::size_t>(count_)),
        memory_(long_bytes, '?'),
        exposed_(on_, bytes_of(memory_)),
        everywhere_(static_cast<std::size_t>(count_)) {
    const comm::remote_memory mine[] = {exposed_.remote()};
    REQUIRE(team_.all_gather(std::as_bytes(std::span(mine)), bytes_of(everywhere_)).wait() ==
            comm::outcome::complete);
  }

  // Calls that come back when it is done: weft waits in them.
  void calls_that_wait() {
    for (int round = 0; round < 20; ++round) {
      for (int step = 1; step < count_; ++step) {
        const int to = (self_ + step) % count_, from = (self_ + count_ - step) % count_;
        const std::string text = text_of(long_bytes, static_cast<std::uint64_t>(self_));
        std::string got(long_bytes, '?');
        comm::counter received;
        comm::event result;
        const status said = post_recv(on_, from, got, with::local(received), with::result(&result));
        REQUIRE(said == status::done || said == status::posted);
        REQUIRE(post_send(on_, {to}, text, with::posted(false), with::retry(false)) ==
                status::done);
        if (said == status::posted) until([&] { return received.value() == 1; });
        REQUIRE(got == text_of(long_bytes, static_cast<std::uint64_t>(from)));
      }
      std::uint64_t sum[] = {1};
      REQUIRE(team_.all_reduce(bytes_of(sum), comm::combination_of<std::uint64_t, std::plus<>>())
                  .wait() == comm::outcome::complete);
      REQUIRE(sum[0] == static_cast<std::uint64_t>(count_));
    }
  }

  // Far more than there is room for, from each to each at once; what is refused is posted again.
  void posts_that_are_refused() {
    constexpr std::uint64_t messages = 3000;
    const std::string text = text_of(short_bytes, 1);
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < messages; ++i)
      for (int to = 0; to < count_; ++to)
        until([&] {
          const status said = post_am(on_, {to}, arrived_, text, with::tag(i));
          REQUIRE(said == status::done || said == status::retry);
          refused += said == status::retry;
          return said == status::done;
        });
    until([&] {
      return std::all_of(came_.begin(), came_.end(), [](auto each) { return each == messages; });
    });
    const std::uint64_t mine[] = {refused};
    std::vector<std::uint64_t> all(static_cast<std::size_t>(count_));
    REQUIRE(team_.all_gather(std::as_bytes(std::span(mine)), bytes_of(all)).wait() ==
            comm::outcome::complete);
    REQUIRE(std::any_of(all.begin(), all.end(), [](auto each) { return each != 0; }));
  }

  // One after the other: nobody can go on before the one that is without a core.
  void a_token_goes_round() {
    std::fill(came_.begin(), came_.end(), 0);
    REQUIRE(team_.barrier().wait() == comm::outcome::complete);
    const int before = (self_ + count_ - 1) % count_;
    std::uint64_t& token = came_[static_cast<std::size_t>(before)];
    for (std::uint64_t round = 0; round < 100; ++round) {
      if (self_ != 0) until([&] { return token == round + 1; });
      until([&] {
        return post_am(on_, {(self_ + 1) % count_}, arrived_, text_of(short_bytes, 1),
                       with::tag(round)) == status::done;
      });
      if (self_ == 0) until([&] { return token == round + 1; });
    }
  }

  void puts_and_gets() {
    for (int step = 1; step < count_; ++step) {
      const auto& theirs = everywhere_[static_cast<std::size_t>((self_ + step) % count_)];
      const std::string text = text_of(long_bytes, static_cast<std::uint64_t>(self_));
      std::string got(long_bytes, '?');
      comm::counter ended;
      std::uint64_t posted = 0;
      const auto complete = [&](const auto& post) {
        until([&] {
          const status said = post();
          REQUIRE(said != status::failed);
          posted += said == status::posted;
          return said != status::retry;
        });
        until([&] { return ended.value() == posted; });
      };
      complete([&] { return post_put(on_, theirs, text, with::local(ended)); });
      // Its end says that the put has arrived.
      complete([&] { return post_get(on_, theirs, {}, with::local(ended)); });
      complete([&] { return post_get(on_, theirs, got, with::local(ended)); });
      REQUIRE(got == text);
      REQUIRE(team_.barrier().wait() == comm::outcome::complete);
    }
  }

  void signal(const comm::event& happened) noexcept {
    std::uint64_t& count = came_[static_cast<std::size_t>(happened.process)];
    REQUIRE(happened.tag == count && happened.size == short_bytes);
    ++count;
  }

 private:
  static constexpr std::size_t short_bytes = 300, long_bytes = 200'000;

  template <class Condition>
  void until(const Condition& condition) {
    while (!condition()) on_.progress();
  }

  comm::runtime& core_;
  comm::device& on_;
  comm::team team_;
  const int self_, count_;
  const comm::handler_id arrived_;
  std::vector<std::uint64_t> came_;  // From each.
  std::string memory_;
  comm::registered_memory exposed_;
  std::vector<comm::remote_memory> everywhere_;
};

}  // namespace

int main() {
  share_two_cores();
  comm::runtime core;
  one_of_a_crowd self(core);
  self.calls_that_wait();
  self.posts_that_are_refused();
  self.a_token_goes_round();
  self.puts_and_gets();
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}
