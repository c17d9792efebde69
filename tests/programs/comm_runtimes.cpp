// Started by weftrun with several processes: runtimes that find their job themselves, several at a time
// and one after the other. Prints one line of process 0 when all was right. `die N`: process N kills
// itself, and each runtime of the others hears of it.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm_check.hpp"
#include "weft/run.hpp"

namespace {

using weft::tests::meet;
using weft::tests::until;
namespace comm = weft::comm;

// A runtime, and what its handler has been given.
class one_of_several {
 public:
  explicit one_of_several(int number) : number_(number) {}

  // Every process sends every one, itself too, which runtime it means.
  void exchange() {
    const auto processes = static_cast<std::uint64_t>(core.process_count());
    for (int to = 0; to < core.process_count(); ++to) {
      const std::array<int, 1> data{number_};
      until(core,
            [&] { return post_am(core.device(), {to}, handler_, data) != weft::status::retry; });
    }
    ++rounds_;
    until(core, [&] { return arrived_ == processes * rounds_; });
    meet(core, all_);
  }
  void signal(const comm::event& happened) noexcept {
    int number = -1;
    REQUIRE(happened.size == sizeof number);
    std::memcpy(&number, happened.data, sizeof number);
    REQUIRE(number == number_);
    ++arrived_;
  }

  std::vector<int> dead;
  comm::runtime core{telling()};

 private:
  comm::runtime_options telling() {
    comm::runtime_options how;
    how.on_peer_failure = [this](int process, const char*) { dead.push_back(process); };
    return how;
  }
  const int number_;
  std::uint64_t arrived_ = 0;
  std::uint64_t rounds_ = 0;
  comm::handler_id handler_ = core.register_handler(*this);
  comm::team all_{core.device()};
};

// Two at a time, of which either may go first, then another one beside the one that is left, then one
// when there was none.
void come_and_go() {
  auto first = std::make_unique<one_of_several>(1), second = std::make_unique<one_of_several>(2);
  first->exchange();
  second->exchange();
  first->exchange();
  first.reset();
  second->exchange();
  auto third = std::make_unique<one_of_several>(3);
  third->exchange();
  second->exchange();
  second.reset();
  third.reset();
  one_of_several last(4);
  last.exchange();
  // Which would join the job once more.
  weft::options how;
  how.ranks = last.core.process_count();
  how.pin = false;
  const bool joins = last.core.process_count() > 1;
  REQUIRE(weft::run(how, [](weft::communicator&) {}) == (joins ? 2 : 0));
  last.exchange();
  if (last.core.process() == 0)
    std::printf("%d processes over %s: all right\n", last.core.process_count(),
                weft::tests::transport_of(last.core).c_str());
}

void go_on_without(int victim) {
  one_of_several first(1), second(2);
  first.exchange();
  second.exchange();
  if (first.core.process() == victim) ::kill(::getpid(), SIGKILL);
  const std::vector<int> only{victim};
  until(first.core, [&] { return first.dead == only; });
  until(second.core, [&] { return second.dead == only; });
  if (first.core.process() == 0) std::printf("both heard of it\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3)
    go_on_without(std::atoi(argv[2]));
  else
    come_and_go();
}
