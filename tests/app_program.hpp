// Running the programs of apps as their users do.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace weft::tests {

struct program_run {
  int status;
  std::string output;  // Standard output and errors.
};

// `program` is a name in the build's bin.
inline program_run run_app(const std::string& program, const std::string& words,
                           const std::string& launcher = {}) {
  std::FILE* started =
      popen((launcher + " " WEFT_PROGRAM_DIR "/" + program + " " + words + " 2>&1").c_str(), "r");
  std::string output;
  char block[4096];
  while (const auto n = std::fread(block, 1, sizeof block, started)) output.append(block, n);
  return {WEXITSTATUS(pclose(started)), output};
}

// A path in the temporary directory that is removed at the end.
struct scratch_path {
  explicit scratch_path(const std::string& name)
      : path(
            (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name)).string()) {
  }
  scratch_path(const scratch_path&) = delete;
  scratch_path& operator=(const scratch_path&) = delete;
  ~scratch_path() { std::filesystem::remove(path); }
  std::string path;
};

// The column "stolen chunks" that --weft-stats prints, added up over `ranks` ranks.
inline std::uint64_t stolen_chunks_in(const std::string& output, int ranks) {
  EXPECT_NE(output.find("stolen chunks"), std::string::npos) << output;
  std::uint64_t all = 0;
  int rows = 0;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string speaker;
    words >> speaker;
    std::vector<std::uint64_t> row;
    for (std::uint64_t number = 0; words >> number;) row.push_back(number);
    if (speaker != "weft:" || row.size() != 10) continue;
    all += row.back();
    ++rows;
  }
  EXPECT_EQ(rows, ranks) << output;
  return all;
}

}  // namespace weft::tests
