#include "sync/question.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/checker.hpp"

namespace weft {
namespace {

using model::scenario;

struct conversation {
  question<model_atomics> word;
  model_atomics::plain<int> asked{0};
  model_atomics::plain<int> said{0};

  void ask(int whom, int what) {
    asked.set(what);
    word.ask(whom);
  }
  // What was said; 0 when it was too late to say anything.
  int hear(int whom) {
    if (word.withdraw(whom)) return 0;
    model::wait_until([&] { return word.is_answered(); });
    const int heard = said.get();
    word.end();
    return heard;
  }
  void answer(int me) {
    if (!word.try_answer(me)) return;
    said.set(10 * me + asked.get());
    word.answer();
  }
};

// Two questions to different threads, each of which looks once: at any time, also while the other is
// asked.
scenario two_are_asked() {
  auto it = std::make_shared<conversation>();
  scenario scene;
  scene.threads.push_back([=] {
    for (const int whom : {1, 2}) {
      it->ask(whom, whom + 2);
      const int heard = it->hear(whom);
      model::require(heard == 0 || heard == 10 * whom + whom + 2, "the answer of who was asked");
    }
  });
  for (const int me : {1, 2}) scene.threads.push_back([=] { it->answer(me); });
  return scene;
}

// One that is asked twice and comes at any time.
scenario asked_again() {
  auto it = std::make_shared<conversation>();
  scenario scene;
  scene.threads.push_back([=] {
    for (const int what : {3, 4}) {
      it->ask(1, what);
      const int heard = it->hear(1);
      model::require(heard == 0 || heard == 10 + what, "the answer to this question");
    }
  });
  scene.threads.push_back([=] {
    it->answer(1);
    it->answer(1);
  });
  return scene;
}

const std::vector<model::setup> scenarios{two_are_asked, asked_again};

TEST(question_model, in_every_schedule_an_answer_is_whole_and_of_who_was_asked) {
  const std::string failures = model::failures(scenarios, model::unbounded);
  EXPECT_TRUE(failures.empty()) << failures;
}

TEST(question_model, each_ordering_is_needed) {
  EXPECT_EQ(model::unneeded_places(scenarios, 3), std::vector<std::string>{});
}

}  // namespace
}  // namespace weft
