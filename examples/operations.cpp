// Reductions with operations of one's own: a structure, and one in which order matters.
// Run with: --weft-ranks 7 --weft-map cyclic
#include <cmath>
#include <cstdio>
#include <functional>
#include <weft/weft.hpp>

namespace {
// Count, mean and sum of squared deviations, which can be joined in any order (Chan et al.).
struct moments {
  double count = 0, mean = 0, squares = 0;
};
moments joined(const moments& a, const moments& b) {
  const double count = a.count + b.count;
  const double delta = b.mean - a.mean;
  return {count, a.mean + delta * b.count / count,
          a.squares + b.squares + delta * delta * a.count * b.count / count};
}

// y = slope * x + offset; one after the other is not the other after the one.
struct line {
  long slope, offset;
};
line first_then(const line& first, const line& then) {
  return {then.slope * first.slope, then.slope * first.offset + then.offset};
}
}  // namespace

int main(int argc, char** argv) {
  bool right = false;
  const int status = weft::run(argc, argv, [&](weft::communicator& world) {
    const double n = world.size();
    const moments all = world.allreduce(moments{1, world.rank() * 1.0, 0}, joined);
    const line chain = world.reduce(line{2, world.rank()}, weft::non_commutative(first_then), 0);
    const int before = world.exscan(1, std::plus<>{});
    if (world.rank() != 0) return;

    long y = 0;
    for (int r = 0; r < world.size(); ++r) y = 2 * y + r;
    const double variance = all.squares / all.count;
    right = chain.offset == y && std::abs(variance - (n * n - 1) / 12) < 1e-9 && before == 1;
    std::printf("variance %g, chain gives %ld\n", variance, chain.offset);
  });
  return status == 0 && right ? 0 : 1;
}
