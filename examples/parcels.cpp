// Calls of functions in other processes. Each locality knows some words; the first asks all of them for theirs, counts
// letters where the words are, and sends a vector round. Several localities:
//
//   weftrun --processes 4 example-parcels
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
#include <weft/parcels.hpp>

namespace {

// An aggregate travels without further code.
struct word {
  std::string text;
  int letters = 0;
};

std::vector<word> words_here() {
  const std::string mine = "weft" + std::to_string(weft::here().number());
  return {{mine, static_cast<int>(mine.size())}, {"parcel", 6}};
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// A function that is called elsewhere may itself call further: here, the next locality, until it is round.
std::vector<double> pass_on(std::vector<double> values, int left) {
  for (double& v : values) v += 1;
  if (left == 0) return values;
  const int next = (weft::here().number() + 1) % weft::locality_count();
  return weft::sync(weft::locality(next), weft::action<&pass_on>, std::move(values), left - 1);
}

int divide(int a, int b) {
  if (b == 0) throw std::invalid_argument("division by zero");
  return a / b;
}

WEFT_ACTION(words_here);
WEFT_ACTION(sum);
WEFT_ACTION(divide);

// A coroutine: it waits without a stack.
weft::future<int> count_letters() {
  int letters = 0;
  for (const weft::locality there : weft::all_localities())
    for (const word& each : co_await weft::async(there, words_here)) letters += each.letters;
  co_return letters;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run_tasks(argc, argv, [] {
    if (weft::here() != weft::locality(0)) return;  // The others serve.
    const int n = weft::locality_count();
    const weft::locality last(n - 1);
    std::printf("%d letters at %d localities\n", count_letters().get(), n);
    std::printf("sum: %g\n", weft::sync(last, sum, std::vector<double>{1, 2, 3.5}));
    const auto round =
        weft::sync(last, weft::action<&pass_on>, std::vector<double>(100'000, 1.0), n);
    std::printf("round: %zu values of %g\n", round.size(), round[12'345]);
    std::printf("here: %d\n", weft::sync(
                                  last, [](int x) { return 2 * x; }, 21));
    try {
      weft::sync(last, divide, 1, 0);
    } catch (const std::exception& e) {
      std::printf("failed: %s\n", e.what());
    }
  });
}
