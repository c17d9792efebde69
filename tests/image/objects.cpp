// What C++ programs keep outside of functions: constructed and destroyed once in each rank. The
// variables that the language merges across files are those that glibc would share between copies.
#include <cstdio>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include <weft/weft.hpp>

struct counted {
  int value = 0;
  counted() { std::printf("constructed\n"); }
  ~counted() { std::printf("destroyed with %d\n", value); }
};

counted global;
inline int merged = 0;
inline std::string text = "a text that is too long to lie in the string itself";
template <class T>
struct holder {
  static inline T value{};
};
thread_local int of_thread = 0;

inline int& in_inline_function() {
  static int value = 0;
  return value;
}

struct base {
  virtual ~base() = default;
};
struct derived : base {};

bool exceptions_work(int rank) {
  try {
    throw std::runtime_error("of rank " + std::to_string(rank));
  } catch (const std::exception& e) {
    weft::yield();
    return e.what() == "of rank " + std::to_string(rank);
  }
}

bool types_work() {
  derived d;
  base& b = d;
  return dynamic_cast<derived*>(&b) != nullptr && typeid(b) == typeid(derived);
}

int main() {
  const weft::communicator world = weft::this_world();
  const int rank = world.rank();
  for (int i = 0; i < rank + 1; ++i) {
    ++merged;
    ++holder<long>::value;
    ++of_thread;
    ++in_inline_function();
    ++global.value;
    weft::yield();
  }
  text += std::to_string(rank);
  std::vector<std::string> many(100, text);
  world.barrier();
  const int mine = rank + 1;
  const bool right = merged == mine && holder<long>::value == mine && of_thread == mine &&
                     in_inline_function() == mine && global.value == mine &&
                     text.ends_with(std::to_string(rank)) && many.back() == text &&
                     exceptions_work(rank) && types_work();
  std::cout << "rank " << rank << (right ? " right" : " wrong") << std::endl;
  const int sum = world.allreduce(merged, std::plus<>{});
  return right && sum == world.size() * (world.size() + 1) / 2 ? 0 : 1;
}
