// The checker itself: litmus tests with a known answer.
#include "model/checker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "base/format.hpp"

namespace weft {
namespace {

using model::scenario;
template <class T>
using atomic = model_atomics::atomic<T>;
template <class T>
using plain = model_atomics::plain<T>;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto seq_cst = std::memory_order_seq_cst;

struct shared_words {
  std::array<atomic<int>, 4> word;
  std::array<plain<int>, 2> field;
  std::array<int, 4> seen{};  // By the threads, for the check.
};

// Runs `threads` on shared_words; `check` gets them at the end.
using step = std::function<void(shared_words&)>;
model::result run(std::vector<step> threads, std::function<bool(shared_words&)> check,
                  int bound = model::unbounded) {
  return model::explore(
      [&] {
        auto words = std::make_shared<shared_words>();
        scenario scene;
        for (const step& body : threads) scene.threads.push_back([words, body] { body(*words); });
        scene.check = [words, check] { return check(*words); };
        return scene;
      },
      bound);
}
bool always(shared_words&) {
  return true;
}

// --- how many executions there are ---

TEST(checker_model, two_threads_of_n_operations_have_all_interleavings) {
  const auto stores = [](std::size_t word, int count) {
    return [=](shared_words& w) {
      for (int i = 0; i < count; ++i) w.word[word].store(i, relaxed);
    };
  };
  EXPECT_EQ(run({stores(0, 1), stores(1, 1)}, always).executions, 2u);
  EXPECT_EQ(run({stores(0, 2), stores(1, 2)}, always).executions, 6u);
  EXPECT_EQ(run({stores(0, 3), stores(1, 4)}, always).executions, 35u);
  EXPECT_EQ(run({stores(0, 2), stores(1, 2), stores(2, 2)}, always).executions, 90u);
}

TEST(checker_model, without_preemptions_threads_run_one_after_another) {
  const step two = [](shared_words& w) {
    w.word[0].fetch_add(1, relaxed);
    w.word[0].fetch_add(1, relaxed);
  };
  EXPECT_EQ(run({two, two, two}, always, 0).executions, 6u);
}

TEST(checker_model, a_load_reads_each_store_that_is_not_hidden) {
  std::set<int> seen;
  const auto result = run({[](shared_words& w) {
                             w.word[0].store(1, relaxed);
                             w.word[0].store(2, relaxed);
                           },
                           [](shared_words& w) { w.seen[0] = w.word[0].load(relaxed); }},
                          [&](shared_words& w) { return seen.insert(w.seen[0]), true; });
  // Before, between and after the stores the load can read 1, 2 and 3 values.
  EXPECT_EQ(result.executions, 6u);
  EXPECT_EQ(seen, (std::set<int>{0, 1, 2}));
}

// --- visibility ---

model::result message_passing(std::memory_order store_order, std::memory_order load_order) {
  return run({[=](shared_words& w) {
                w.word[0].store(1, relaxed);
                w.word[1].store(1, store_order);
              },
              [=](shared_words& w) {
                w.seen[1] = w.word[1].load(load_order);
                w.seen[0] = w.word[0].load(relaxed);
              }},
             [](shared_words& w) { return w.seen[1] == 0 || w.seen[0] == 1; });
}

TEST(checker_model, message_passing_needs_release_and_acquire) {
  EXPECT_FALSE(message_passing(release, acquire).error);
  EXPECT_FALSE(message_passing(seq_cst, seq_cst).error);
  EXPECT_TRUE(message_passing(relaxed, acquire).error);
  EXPECT_TRUE(message_passing(release, relaxed).error);
  EXPECT_TRUE(message_passing(relaxed, relaxed).error);
}

// Each thread stores its word and loads the other's; `between` is what stands between.
model::result store_buffering(std::memory_order store_order, std::memory_order load_order,
                              void (*between_0)() = nullptr, void (*between_1)() = nullptr) {
  const auto thread = [=](std::size_t mine, void (*between)()) {
    return [=](shared_words& w) {
      w.word[mine].store(1, store_order);
      if (between != nullptr) between();
      w.seen[mine] = w.word[1 - mine].load(load_order);
    };
  };
  return run({thread(0, between_0), thread(1, between_1)},
             [](shared_words& w) { return w.seen[0] == 1 || w.seen[1] == 1; });
}

void light() {
  model_atomics::light_fence("L1");
}
void heavy() {
  model_atomics::heavy_fence("H1");
}

TEST(checker_model, store_buffering_needs_seq_cst) {
  EXPECT_TRUE(store_buffering(relaxed, relaxed).error);
  EXPECT_TRUE(store_buffering(release, acquire).error);
  EXPECT_TRUE(store_buffering(seq_cst, acquire).error);
  EXPECT_TRUE(store_buffering(release, seq_cst).error);
  EXPECT_FALSE(store_buffering(seq_cst, seq_cst).error);
}

TEST(checker_model, a_heavy_fence_pairs_with_a_light_or_a_heavy_one_only) {
  EXPECT_FALSE(store_buffering(relaxed, relaxed, light, heavy).error);
  EXPECT_FALSE(store_buffering(relaxed, relaxed, heavy, light).error);
  EXPECT_FALSE(store_buffering(relaxed, relaxed, heavy, heavy).error);
  EXPECT_TRUE(store_buffering(relaxed, relaxed, light, light).error);
  EXPECT_TRUE(store_buffering(relaxed, relaxed, heavy, nullptr).error);
  EXPECT_TRUE(store_buffering(relaxed, relaxed, nullptr, light).error);
}

TEST(checker_model, independent_readers_agree_under_seq_cst_only) {
  const auto readers = [](std::memory_order order) {
    const auto writer = [=](std::size_t word) {
      return [=](shared_words& w) { w.word[word].store(1, order); };
    };
    const auto reader = [=](std::size_t first, std::size_t into) {
      return [=](shared_words& w) {
        w.seen[into] = w.word[first].load(order);
        w.seen[into + 1] = w.word[1 - first].load(order);
      };
    };
    return [=] {
      return run({writer(0), writer(1), reader(0, 0), reader(1, 2)}, [](shared_words& w) {
        return !(w.seen == std::array{1, 0, 1, 0});
      });
    };
  };
  EXPECT_FALSE(readers(seq_cst)().error);
  EXPECT_TRUE(readers(relaxed)().error);
}

TEST(checker_model, reads_of_one_location_never_go_back) {
  const auto result = run({[](shared_words& w) {
                             w.word[0].store(1, relaxed);
                             w.word[0].store(2, relaxed);
                           },
                           [](shared_words& w) {
                             w.seen[0] = w.word[0].load(relaxed);
                             w.seen[1] = w.word[0].load(relaxed);
                           }},
                          [](shared_words& w) { return w.seen[0] <= w.seen[1]; });
  EXPECT_FALSE(result.error) << *result.error;
}

TEST(checker_model, a_release_sequence_goes_through_an_exchange_not_through_a_store) {
  const auto middle = [](bool exchange) {
    return run({[](shared_words& w) {
                  w.field[0].set(1);
                  w.word[0].store(1, release);
                },
                [=](shared_words& w) {
                  if (exchange)
                    w.word[0].fetch_add(1, relaxed);
                  else if (w.word[0].load(relaxed) == 1)
                    w.word[0].store(2, relaxed);
                },
                [](shared_words& w) {
                  if (w.word[0].load(acquire) == 2) (void)w.field[0].get();
                }},
               always);
  };
  EXPECT_FALSE(middle(true).error);
  EXPECT_TRUE(middle(false).error);
}

TEST(checker_model, visibility_is_handed_on) {
  const auto chain = [](std::memory_order middle) {
    return run({[](shared_words& w) {
                  w.field[0].set(1);
                  w.word[0].store(1, release);
                },
                [=](shared_words& w) {
                  if (w.word[0].load(middle) == 1) w.word[1].store(1, release);
                },
                [](shared_words& w) {
                  if (w.word[1].load(acquire) == 1) (void)w.field[0].get();
                }},
               always);
  };
  EXPECT_FALSE(chain(acquire).error);
  EXPECT_TRUE(chain(relaxed).error);
}

// --- read-modify-write ---

TEST(checker_model, exchanges_lose_nothing_and_load_then_store_does) {
  const auto add = [](bool atomically) {
    const step body = [=](shared_words& w) {
      if (atomically)
        w.word[0].fetch_add(1, relaxed);
      else
        w.word[0].store(w.word[0].load(relaxed) + 1, relaxed);
    };
    return run({body, body, body}, [](shared_words& w) { return w.word[0].load(relaxed) == 3; });
  };
  EXPECT_FALSE(add(true).error);
  EXPECT_TRUE(add(false).error);
}

TEST(checker_model, one_of_two_compare_exchanges_succeeds_and_the_other_sees_why) {
  const step body = [](shared_words& w) {
    int expected = 0;
    if (w.word[0].compare_exchange_strong(expected, 7, acq_rel, acquire))
      ++w.seen[0];
    else
      w.seen[1] = expected;
  };
  const auto result =
      run({body, body}, [](shared_words& w) { return w.seen[0] == 1 && w.seen[1] == 7; });
  EXPECT_FALSE(result.error) << *result.error;
}

// --- plain fields and lifetimes ---

TEST(checker_model, a_plain_field_written_and_read_without_order_is_a_race) {
  const auto result = run(
      {[](shared_words& w) { w.field[0].set(1); }, [](shared_words& w) { (void)w.field[0].get(); }},
      always);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->find("data race"), std::string::npos) << *result.error;
  EXPECT_NE(result.error->find("checker_model.cpp:"), std::string::npos) << *result.error;
}

TEST(checker_model, plain_fields_read_by_all_or_used_by_one_each_are_no_race) {
  const auto user = [](std::size_t field) {
    return [=](shared_words& w) { w.field[field].set(w.field[field].get() + 1); };
  };
  EXPECT_FALSE(run({user(0), user(1)}, always).error);
  const step reader = [](shared_words& w) { (void)w.field[0].get(); };
  EXPECT_FALSE(run({reader, reader}, always).error);
}

TEST(checker_model, destroying_what_another_thread_may_use_is_an_error) {
  const auto destroy_after = [](std::memory_order order) {
    return model::explore(
        [=] {
          auto object =
              std::make_shared<std::unique_ptr<atomic<int>>>(std::make_unique<atomic<int>>(0));
          auto done = std::make_shared<atomic<int>>(0);
          return scenario{.threads = {[=] {
                                        (*object)->store(1, relaxed);
                                        done->store(1, order);
                                      },
                                      [=] {
                                        model::wait_until([&] { return done->load(acquire) == 1; });
                                        object->reset();
                                      }}};
        },
        model::unbounded);
  };
  EXPECT_FALSE(destroy_after(release).error);
  const auto unordered = destroy_after(relaxed);
  ASSERT_TRUE(unordered.error);
  EXPECT_NE(unordered.error->find("destroyed"), std::string::npos) << *unordered.error;
}

// --- waiting ---

TEST(checker_model, wait_until_adds_no_executions_and_synchronises) {
  const auto result = run({[](shared_words& w) {
                             w.field[0].set(1);
                             w.word[0].store(1, release);
                           },
                           [](shared_words& w) {
                             model::wait_until([&] { return w.word[0].load(acquire) == 1; });
                             (void)w.field[0].get();
                           }},
                          always);
  EXPECT_FALSE(result.error) << *result.error;
  EXPECT_EQ(result.executions, 2u);  // Either thread may start.
}

TEST(checker_model, threads_that_wait_for_each_other_are_a_deadlock) {
  const auto thread = [](std::size_t mine) {
    return [=](shared_words& w) {
      model::wait_until([&] { return w.word[1 - mine].load(acquire) == 1; });
      w.word[mine].store(1, release);
    };
  };
  const auto result = run({thread(0), thread(1)}, always);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->find("deadlock: thread 1 waits"), std::string::npos) << *result.error;
}

TEST(checker_model, a_retry_goes_on_when_something_changed_and_ends_when_nothing_can) {
  const auto retry = [](int awaited) {
    return run({[](shared_words& w) { w.word[0].store(1, release); },
                [=](shared_words& w) {
                  while (w.word[0].load(acquire) != awaited) model::pause();
                }},
               always);
  };
  EXPECT_FALSE(retry(1).error);
  const auto in_vain = retry(2);
  ASSERT_TRUE(in_vain.error);
  EXPECT_NE(in_vain.error->find("thread 2 retries in vain"), std::string::npos) << *in_vain.error;
}

TEST(checker_model, a_loop_without_end_is_reported) {
  const auto result = run({[](shared_words& w) {
                            for (;;) w.word[0].store(1, relaxed);
                          }},
                          always);
  ASSERT_TRUE(result.error);
  EXPECT_NE(result.error->find("does not end"), std::string::npos);
}

TEST(checker_model, a_futex_sleeps_only_on_the_expected_value_and_until_woken) {
  const auto sleeper = [](bool wakes) {
    return model::explore(
        [=] {
          auto word = std::make_shared<atomic<std::uint32_t>>(0u);
          return scenario{.threads = {[=] { model_atomics::wait(*word, 0, -1); },
                                      [=] {
                                        word->store(1, relaxed);
                                        if (wakes) model_atomics::wake(*word);
                                      }}};
        },
        model::unbounded);
  };
  EXPECT_FALSE(sleeper(true).error);
  const auto lost = sleeper(false);
  ASSERT_TRUE(lost.error);
  EXPECT_NE(lost.error->find("sleeps for ever"), std::string::npos) << *lost.error;
}

TEST(checker_model, a_sleep_on_two_words_ends_when_either_is_woken) {
  const auto sleeper = [](std::optional<std::size_t> woken) {
    return model::explore(
        [=] {
          using word = atomic<std::uint32_t>;
          const std::array words{std::make_shared<word>(0u), std::make_shared<word>(0u)};
          return scenario{
              .threads = {
                  [=] { model_atomics::wait_for_either(*words[0], 0, *words[1], 0, false, -1); },
                  [=] {
                    words[woken.value_or(0)]->store(1, relaxed);
                    if (woken) model_atomics::wake(*words[*woken]);
                  }}};
        },
        model::unbounded);
  };
  EXPECT_FALSE(sleeper(0).error);
  EXPECT_FALSE(sleeper(1).error);
  const auto lost = sleeper(std::nullopt);
  ASSERT_TRUE(lost.error);
  EXPECT_NE(lost.error->find("sleeps for ever"), std::string::npos) << *lost.error;
}

// --- labels and where they stand ---

TEST(checker_model, a_place_that_no_scenario_needs_is_named_though_its_label_is_needed_elsewhere) {
  static std::source_location needless;
  const auto make = [](bool superfluous) {
    return [=] {
      auto words = std::make_shared<shared_words>();
      return scenario{.threads = {[=] {
                                    words->field[0].set(1);
                                    if (superfluous) {
                                      needless = std::source_location::current();
                                      words->word[1].store(1,
                                                           model_atomics::release("R1", needless));
                                    }
                                    words->word[0].store(1, model_atomics::release("R1"));
                                  },
                                  [=] {
                                    if (words->word[0].load(model_atomics::acquire("A1")) == 1)
                                      (void)words->field[0].get();
                                  }}};
    };
  };
  EXPECT_EQ(model::unneeded_places({make(false)}, 2), std::vector<std::string>{});
  const auto unneeded = model::unneeded_places({make(true), make(false)}, 2);
  const std::vector<std::string> expected{formatted("R1 at checker_model.cpp:{}", needless.line())};
  EXPECT_EQ(unneeded, expected);
  EXPECT_EQ(model::unneeded_places({make(true)}, 2, "model.cpp"), expected);
  EXPECT_EQ(model::unneeded_places({make(true)}, 2, "checker_model.cpp"),
            std::vector<std::string>{});
}

TEST(checker_model, places_of_seq_cst_and_fences_are_weakened_too) {
  const auto buffering = [](bool fences) {
    return [=] {
      auto words = std::make_shared<shared_words>();
      const auto thread = [=](std::size_t mine) {
        return [=] {
          if (fences) {
            words->word[mine].store(1, relaxed);
            mine == 0 ? light() : heavy();
            words->seen[mine] = words->word[1 - mine].load(relaxed);
          } else {
            words->word[mine].store(1, model_atomics::seq_cst("S1"));
            words->seen[mine] = words->word[1 - mine].load(model_atomics::seq_cst("S2"));
          }
        };
      };
      return scenario{.threads = {thread(0), thread(1)},
                      .check = [=] { return words->seen[0] + words->seen[1] > 0; }};
    };
  };
  EXPECT_EQ(model::unneeded_places({buffering(true)}, 4), std::vector<std::string>{});
  EXPECT_EQ(model::unneeded_places({buffering(false)}, 4), std::vector<std::string>{});
  EXPECT_EQ(model::explore(buffering(true), 4).places.size(),
            2u);  // The fences, however often met.
}

}  // namespace
}  // namespace weft
