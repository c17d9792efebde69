#include <cstdio>
#include <weft/error.hpp>
#include <weft/options.hpp>

int main(int argc, char** argv) try {
  const weft::options options = weft::parse_options(argc, argv);
  std::printf("ranks %d\n", options.ranks);
} catch (const weft::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 2;
}
