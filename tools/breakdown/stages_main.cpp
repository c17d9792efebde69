// weft-stages, which weft-breakdown measure starts: the pair with stage points, of which one is looked at.
//   weft-stages FACE TRANSPORT BYTES SAMPLES
#include <cstdlib>

#include "weft-breakdown/pair.hpp"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("weft-stages is started by weft-breakdown measure\n", stderr);
    return 2;
  }
  return weft::pair::run(
      {argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), std::atoi(argv[4])});
}
