// The exceptions that leave a watched call are seen before anything unwinds, the others not at all.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/uncaught.hpp"

namespace weft {
namespace {

struct log {
  std::vector<std::string> lines;
  void (*body)(log&) = nullptr;
};

struct noted_end {
  log& to;
  ~noted_end() { to.lines.push_back("destructor"); }
};

// What was seen and done, in order.
std::vector<std::string> watched(void (*body)(log&)) {
  log all{{}, body};
  try {
    call_watched({[](void* argument) {
                    log& l = *static_cast<log*>(argument);
                    const noted_end end{l};
                    l.body(l);
                  },
                  &all,
                  [](void* argument, const std::exception* e, const std::type_info& type) {
                    static_cast<log*>(argument)->lines.push_back(e != nullptr          ? e->what()
                                                                 : type == typeid(int) ? "an int"
                                                                                       : "unknown");
                  }});
    all.lines.push_back("returned");
  } catch (...) {
    all.lines.push_back("caught");
  }
  return all.lines;
}

using lines = std::vector<std::string>;

struct other_base {
  virtual ~other_base() = default;
  int x = 1;
};
struct second_base : other_base, std::runtime_error {
  second_base() : std::runtime_error("of two bases") {}
};

TEST(a_watched_call, that_returns_is_not_seen) {
  EXPECT_EQ(watched([](log&) {}), (lines{"destructor", "returned"}));
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(a_watched_call, shows_its_exception_before_the_first_destructor) {
  EXPECT_EQ(watched([](log&) { throw std::runtime_error("late"); }),
            (lines{"late", "destructor", "caught"}));
  EXPECT_EQ(watched([](log&) { throw second_base(); }),
            (lines{"of two bases", "destructor", "caught"}));
  EXPECT_EQ(watched([](log&) { throw 5; }), (lines{"an int", "destructor", "caught"}));
}

TEST(a_watched_call, does_not_show_what_it_catches_itself) {
  EXPECT_EQ(watched([](log&) {
              try {
                throw std::runtime_error("mine");
              } catch (const std::exception&) {
              }
            }),
            (lines{"destructor", "returned"}));
}

TEST(a_watched_call, shows_an_exception_that_was_kept_and_thrown_again) {
  EXPECT_EQ(watched([](log&) {
              std::rethrow_exception(std::make_exception_ptr(std::out_of_range("again")));
            }),
            (lines{"again", "destructor", "caught"}));
}
#endif

}  // namespace
}  // namespace weft
