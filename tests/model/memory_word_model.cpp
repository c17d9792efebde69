#include "sync/memory_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

using word = model_atomics::atomic<int>;
using on = memory_word<model_atomics>;

using operation = std::function<int(word&, int)>;

// One puts data and then changes the word; the other one looks at the word and reads the data.
model::setup change_then_look(operation change) {
  return [=] {
    struct state {
      word flag{0};
      model_atomics::plain<int> data;
    };
    auto shared = std::make_shared<state>();
    return scenario{.threads = {[=] {
                                  shared->data.set(7);
                                  change(shared->flag, 1);
                                },
                                [=] {
                                  model::wait_until([&] { return on::load(shared->flag) != 0; });
                                  model::require(shared->data.get() == 7, "what came before");
                                }}};
  };
}

// One puts data and stores the word; the other one finds out by an update that leaves it changed or not.
model::setup store_then_update(operation update, int left_as) {
  return [=] {
    struct state {
      word flag{0};
      model_atomics::plain<int> data;
    };
    auto shared = std::make_shared<state>();
    return scenario{.threads = {[=] {
                                  shared->data.set(7);
                                  on::store(shared->flag, 1);
                                },
                                [=] {
                                  if (update(shared->flag, left_as) == 1)
                                    model::require(shared->data.get() == 7, "what came before");
                                }}};
  };
}

const std::vector<model::setup> scenarios{
    change_then_look([](word& w, int v) { return on::store(w, v), 0; }),
    change_then_look([](word& w, int v) { return on::swap(w, v); }),
    change_then_look([](word& w, int v) { return on::compare_swap(w, 0, v); }),
    change_then_look([](word& w, int v) { return on::add(w, v); }),
    change_then_look([](word& w, int v) { return on::bit_or(w, v); }),
    change_then_look([](word& w, int v) { return on::bit_xor(w, v); }),
    // From a word in which more bits are set.
    [] {
      struct state {
        word flag{3};
        model_atomics::plain<int> data;
      };
      auto shared = std::make_shared<state>();
      return scenario{.threads = {[=] {
                                    shared->data.set(7);
                                    on::bit_and(shared->flag, 1);
                                  },
                                  [=] {
                                    model::wait_until([&] { return on::load(shared->flag) == 1; });
                                    model::require(shared->data.get() == 7, "what came before");
                                  }}};
    },
    store_then_update([](word& w, int v) { return on::swap(w, v); }, 2),
    store_then_update([](word& w, int v) { return on::compare_swap(w, 1, v); }, 2),
    // Which finds another value than it looks for.
    store_then_update([](word& w, int v) { return on::compare_swap(w, 5, v); }, 2),
    store_then_update([](word& w, int v) { return on::add(w, v); }, 2),
    store_then_update([](word& w, int v) { return on::bit_or(w, v); }, 2),
    store_then_update([](word& w, int v) { return on::bit_xor(w, v); }, 2),
    store_then_update([](word& w, int v) { return on::bit_and(w, v); }, 2),
};

TEST(memory_word_model, whoever_reads_a_word_sees_what_its_writer_wrote_before) {
  const std::string failures = model::failures(scenarios, 3);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(memory_word_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 2), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
