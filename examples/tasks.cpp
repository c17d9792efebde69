// Blocked Cholesky factorisation as a graph of tasks, and the check as a loop, on the same workers. Each block's task
// waits for the futures of the blocks that it needs; nobody says in which order tasks run.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <vector>
#include <weft/loop.hpp>
#include <weft/tasks.hpp>

namespace {

constexpr std::size_t n = 256, size = 32, blocks = n / size;

struct matrix {
  std::vector<double> values = std::vector<double>(n * n);
  double& at(std::size_t i, std::size_t j) { return values[i * n + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * n + j]; }
};

// Of block (i, j), with all blocks left of it in rows i and j done, and (j, j) as well where i > j.
void factorise(matrix& a, std::size_t i, std::size_t j) {
  for (std::size_t r = i * size; r < (i + 1) * size; ++r)
    for (std::size_t c = j * size; c < std::min(r + 1, (j + 1) * size); ++c) {
      double sum = a.at(r, c);
      for (std::size_t k = 0; k < c; ++k) sum -= a.at(r, k) * a.at(c, k);
      a.at(r, c) = r == c ? std::sqrt(sum) : sum / a.at(c, c);
    }
}

}  // namespace

int main(int argc, char** argv) {
  bool right = false;
  const int status = weft::run_tasks(argc, argv, [&] {
    matrix original;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        original.at(i, j) = i == j ? 2.0 * n : 1.0 / static_cast<double>(1 + i - j);
    matrix a = original;

    std::vector<weft::shared_future<void>> done(blocks * blocks);
    for (std::size_t j = 0; j < blocks; ++j)
      for (std::size_t i = j; i < blocks; ++i) {
        std::vector<weft::shared_future<void>> needed;
        for (std::size_t k = 0; k < j; ++k) {
          needed.push_back(done[i * blocks + k]);
          needed.push_back(done[j * blocks + k]);
        }
        if (i > j) needed.push_back(done[j * blocks + j]);
        done[i * blocks + j] = weft::spawn([&a, i, j, needed = std::move(needed)] {
          for (const weft::shared_future<void>& one : needed) one.get();
          factorise(a, i, j);
        });
      }
    for (const weft::shared_future<void>& one : done)
      if (one.valid()) one.get();

    const double error = weft::parallel_reduce(
        0, n, 0.0,
        [&](std::size_t i) {
          double largest = 0;
          for (std::size_t j = 0; j <= i; ++j) {
            double product = 0;
            for (std::size_t k = 0; k <= j; ++k) product += a.at(i, k) * a.at(j, k);
            largest = std::max(largest, std::abs(product - original.at(i, j)));
          }
          return largest;
        },
        [](double x, double y) { return std::max(x, y); });
    right = error < 1e-9;
    std::printf("%zu x %zu in %zu tasks, largest error %.1e\n", n, n, blocks * (blocks + 1) / 2,
                error);
  });
  return status == 0 && right ? 0 : 1;
}
