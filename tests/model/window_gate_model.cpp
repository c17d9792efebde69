// The gate of a window's locks, with the orders that updates of words have. A word that is weakened in one way of use must
// make some schedule fail: the list of those who wait, and the state, are no more ordered than they need be.
#include "mpi/window/gate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"
#include "sync/memory_word.hpp"

namespace weft {
namespace {

using model::scenario;
using word = model_atomics::atomic<std::uint64_t>;
using on = memory_word<model_atomics>;

constexpr int ranks = 3;

// Which use of a word is relaxed.
enum class relaxed { none, add, change, list, take, link, wake };

struct shared_words {
  word state{0};
  word waiters{0};
  std::array<word, ranks> links{};
  model_atomics::plain<int> data{0};
};

struct words_of_rank {
  shared_words* in;
  int me;
  relaxed weak;

  [[nodiscard]] int rank() const { return me; }
  std::uint64_t add(std::uint64_t value) {
    if (weak == relaxed::add) return in->state.fetch_add(value, std::memory_order_relaxed);
    return on::add(in->state, value);
  }
  std::uint64_t change(std::uint64_t from, std::uint64_t to) {
    return change_word(in->state, from, to, weak == relaxed::change);
  }
  std::uint64_t waiters() { return on::load(in->waiters); }
  std::uint64_t change_waiters(std::uint64_t from, std::uint64_t to) {
    return change_word(in->waiters, from, to, weak == relaxed::list);
  }
  std::uint64_t take_waiters() {
    if (weak == relaxed::take)
      return in->waiters.exchange(std::uint64_t{0}, std::memory_order_relaxed);
    return on::swap(in->waiters, std::uint64_t{0});
  }
  std::uint64_t link_of(int rank) { return on::load(in->links[static_cast<std::size_t>(rank)]); }
  void set_link(std::uint64_t value) { store(me, value, weak == relaxed::link); }
  void wake(int rank) { store(rank, 0, weak == relaxed::wake); }
  void wait() {
    model::wait_until([this] { return on::load(in->links[static_cast<std::size_t>(me)]) == 0; });
  }

 private:
  void store(int rank, std::uint64_t value, bool is_weak) {
    word& link = in->links[static_cast<std::size_t>(rank)];
    if (is_weak)
      link.store(value, std::memory_order_relaxed);
    else
      on::store(link, value);
  }
  static std::uint64_t change_word(word& w, std::uint64_t from, std::uint64_t to, bool is_weak) {
    if (!is_weak) return on::compare_swap(w, from, to);
    w.compare_exchange_strong(from, to, std::memory_order_relaxed, std::memory_order_relaxed);
    return from;
  }
};
static_assert(mpi::gate_words<words_of_rank>);

using thread = std::function<void(const std::shared_ptr<shared_words>&, int, relaxed)>;

mpi::gate<words_of_rank> gate_at(const std::shared_ptr<shared_words>& s, int me, relaxed weak) {
  return mpi::gate<words_of_rank>({s.get(), me, weak});
}

const thread alone = [](const std::shared_ptr<shared_words>& s, int me, relaxed weak) {
  auto gate = gate_at(s, me, weak);
  gate.enter_alone();
  s->data.set(s->data.get() + 1);
  gate.leave_alone();
};
const thread with_others = [](const std::shared_ptr<shared_words>& s, int me, relaxed weak) {
  auto gate = gate_at(s, me, weak);
  gate.enter_shared();
  (void)s->data.get();
  gate.leave_shared();
};
const thread against_shared = [](const std::shared_ptr<shared_words>& s, int me, relaxed weak) {
  auto gate = gate_at(s, me, weak);
  gate.enter_against_shared();
  s->data.set(s->data.get() + 1);
  gate.leave_against_shared();
};

model::setup all_of(std::vector<thread> threads, relaxed weak = relaxed::none) {
  return [threads, weak] {
    auto shared = std::make_shared<shared_words>();
    scenario made;
    for (std::size_t i = 0; i < threads.size(); ++i)
      made.threads.push_back([=] { threads[i](shared, static_cast<int>(i), weak); });
    made.check = [shared] {
      bool is_empty = shared->state.load(std::memory_order_relaxed) == 0;
      for (word& link : shared->links) is_empty &= link.load(std::memory_order_relaxed) == 0;
      return is_empty;
    };
    return made;
  };
}

std::vector<model::setup> scenarios(relaxed weak = relaxed::none) {
  return {all_of({alone, alone}, weak), all_of({alone, with_others}, weak),
          all_of({with_others, alone, with_others}, weak), all_of({alone, alone, alone}, weak),
          all_of({against_shared, with_others}, weak)};
}

TEST(window_gate_model, whoever_is_alone_is_alone_and_nobody_waits_for_ever) {
  const std::string failures = model::failures(scenarios(), 2);
  EXPECT_TRUE(failures.empty()) << failures;
}

// A link is written before the update that makes it known, and who is woken looks at the state by an update: their stores need
// no order of their own.
TEST(window_gate_model, each_use_of_a_word_needs_its_order) {
  for (const relaxed weak : {relaxed::add, relaxed::change, relaxed::list, relaxed::take}) {
    const std::string failures = model::failures(scenarios(weak), 2);
    EXPECT_FALSE(failures.empty()) << "use " << static_cast<int>(weak) << " may be relaxed";
  }
}

// Posts and completions: each a count that one rank writes and the other one compares with what it has taken note of.
TEST(window_gate_model, what_an_origin_wrote_is_there_when_it_has_completed) {
  const model::setup epochs = [] {
    struct state {
      word posts{0}, completions{0};
      model_atomics::plain<int> data{0};
    };
    auto shared = std::make_shared<state>();
    constexpr unsigned rounds = 2;
    return scenario{
        .threads = {[=] {  // The target.
                      for (unsigned taken = 0; taken < rounds; ++taken) {
                        const int i = static_cast<int>(taken) + 1;
                        shared->data.set(-i);
                        on::store(shared->posts, std::uint64_t{taken} + 1);
                        model::wait_until([&] { return on::load(shared->completions) != taken; });
                        model::require(shared->data.get() == i, "what was put");
                      }
                    },
                    [=] {  // The origin.
                      for (unsigned taken = 0; taken < rounds; ++taken) {
                        const int i = static_cast<int>(taken) + 1;
                        model::wait_until([&] { return on::load(shared->posts) != taken; });
                        model::require(shared->data.get() == -i, "what the target wrote");
                        shared->data.set(i);
                        on::store(shared->completions, std::uint64_t{taken} + 1);
                      }
                    }}};
  };
  const std::string failures = model::failures({epochs}, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

}  // namespace
}  // namespace weft
