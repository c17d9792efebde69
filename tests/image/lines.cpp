// Each rank writes lines piece by piece in every way there is, and waits between the pieces.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <weft/weft.hpp>

int main() {
  const int rank = weft::this_rank();
  static char buffer[4096];
  bool failed = std::setvbuf(stdout, nullptr, _IOFBF, sizeof buffer) != 0;
  std::setbuf(stderr, buffer);
  for (int line = 0; line < 5; ++line) {
    std::printf("printf %d:", rank);
    for (int i = 0; i < 4; ++i) {
      weft::yield();
      std::printf(" %d", rank);
    }
    std::printf("\n");
    std::cout << "cout " << rank << ":";
    for (int i = 0; i < 4; ++i) {
      weft::yield();
      std::cout << ' ' << rank;
    }
    std::cout << '\n';
    const std::string digit = " " + std::to_string(rank);
    const std::string head = "write " + std::to_string(rank) + ":";
    if (::write(1, head.data(), head.size()) < 0) return 1;
    for (int i = 0; i < 4; ++i) {
      weft::yield();
      if (::write(1, digit.data(), digit.size()) < 0) return 1;
    }
    if (::write(1, "\n", 1) < 0) return 1;
    std::fprintf(stderr, "stderr %d:", rank);
    for (int i = 0; i < 4; ++i) {
      weft::yield();
      std::fprintf(stderr, " %d", rank);
    }
    std::fprintf(stderr, "\n");
  }
  ::setbuffer(stdout, buffer, sizeof buffer);
  failed |= std::fclose(stdout) != 0 || std::fclose(stderr) != 0;
  // Threads that the rank makes write as the rank.
  const auto write_lines = [rank](const char* name) {
    for (int line = 0; line < 5; ++line) {
      std::printf("%s %d:", name, rank);
      for (int i = 0; i < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        std::printf(" %d", rank);
        const std::string digit = " " + std::to_string(rank);
        if (::write(1, digit.data(), digit.size()) < 0) std::abort();
      }
      std::printf("\n");
    }
  };
  std::thread(write_lines, "thread").join();
  const auto own_thread = std::this_thread::get_id();
#pragma omp parallel num_threads(2)
  if (std::this_thread::get_id() != own_thread) write_lines("openmp");
  std::printf("last %d: %d %d %d %d", rank, rank, rank, rank, rank);  // Without its end.
  return failed ? 1 : 0;
}
