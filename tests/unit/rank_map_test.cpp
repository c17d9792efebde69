#include "base/rank_map.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "weft/error.hpp"

namespace weft {
namespace {

using homes = std::vector<int>;

// A file that lives as long as the test needs it.
class rank_order {
 public:
  explicit rank_order(const std::string& text) { std::ofstream(path_) << text; }
  ~rank_order() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

  // The message of the error, without the file's name.
  std::string error_for(int ranks) const {
    try {
      map_ranks(path_, ranks, 2);
    } catch (const error& failure) {
      return std::string(failure.what()).substr(4 + path_.size());
    }
    return "no error";
  }

 private:
  std::string path_ = ::testing::TempDir() + "weft_rank_order_" + std::to_string(::getpid());
};

TEST(rank_map, block_keeps_neighbours_together) {
  EXPECT_EQ(map_ranks("block", 4, 2), (homes{0, 0, 1, 1}));
  EXPECT_EQ(map_ranks("block", 3, 2), (homes{0, 0, 1}));
  EXPECT_EQ(map_ranks("block", 2, 2), (homes{0, 1}));
}

TEST(rank_map, cyclic_deals_ranks_out) {
  EXPECT_EQ(map_ranks("cyclic", 5, 2), (homes{0, 1, 0, 1, 0}));
}

TEST(rank_map, a_file_gives_the_order_in_which_ranks_fill_the_workers) {
  EXPECT_EQ(map_ranks(rank_order("0,2\n1,3\n").path(), 4, 2), (homes{0, 1, 0, 1}));
  EXPECT_EQ(map_ranks(rank_order("# two rows\n4-5, 0-3,\n\n").path(), 6, 3),
            (homes{1, 1, 2, 2, 0, 0}));
  EXPECT_EQ(map_ranks(rank_order("1,0").path(), 2, 2), (homes{1, 0}));
}

TEST(rank_map, a_bad_file_is_refused_with_line_and_column) {
  EXPECT_EQ(rank_order("0,1\n2,x\n").error_for(4),
            ", line 2, column 3: expected a rank or a range such as 0-3");
  EXPECT_EQ(rank_order("0 1").error_for(2), ", line 1, column 3: '1' where a comma is expected");
  EXPECT_EQ(rank_order("0,\n1,0").error_for(2), ", line 2, column 3: rank 0 is there twice");
  EXPECT_EQ(rank_order("0-4").error_for(4),
            ", line 1, column 1: there is no rank 4; the job has 4");
  EXPECT_EQ(rank_order("1-0").error_for(2), ", line 1, column 1: the range 1-0 runs backwards");
  EXPECT_EQ(rank_order("0-").error_for(2),
            ", line 1, column 3: expected a rank or a range such as 0-3");
  EXPECT_EQ(rank_order("99999999999").error_for(2),
            ", line 1, column 1: expected a rank or a range such as 0-3");
  EXPECT_EQ(rank_order("-1").error_for(2),
            ", line 1, column 1: expected a rank or a range such as 0-3");
  EXPECT_EQ(rank_order("0,2").error_for(3), ": rank 1 of 3 is not in it; name every rank once");
  EXPECT_EQ(rank_order("").error_for(2), ": rank 0 of 2 is not in it; name every rank once");
}

TEST(rank_map, a_missing_file_is_named) {
  try {
    map_ranks("blok", 2, 2);
    FAIL() << "no error";
  } catch (const error& failure) {
    EXPECT_STREQ(failure.what(),
                 "map blok: No such file or directory; give block, cyclic or a file in "
                 "MPICH_RANK_ORDER format");
  }
}

TEST(rank_map, what_is_no_file_is_refused_and_not_read) {
  for (const char* endless : {"/dev/zero", "/"}) {
    try {
      (void)map_ranks(endless, 4, 2);
      FAIL() << "no error";
    } catch (const error& failure) {
      EXPECT_EQ(failure.what(), "map " + std::string(endless) +
                                    ": not a regular file; give block, cyclic or a file in "
                                    "MPICH_RANK_ORDER format");
    }
  }
}

TEST(ranks_of_process, are_the_block_that_map_ranks_gives_a_worker) {
  for (int ranks = 1; ranks <= 20; ++ranks)
    for (int processes = 1; processes <= ranks; ++processes) {
      const homes block = map_ranks("block", ranks, processes);
      int next = 0;
      for (int process = 0; process < processes; ++process) {
        const rank_block mine = ranks_of_process(process, ranks, processes);
        EXPECT_EQ(mine.first, next);
        EXPECT_GE(mine.count, ranks / processes);
        for (int i = 0; i < mine.count; ++i)
          EXPECT_EQ(block[static_cast<std::size_t>(next++)], process);
      }
      EXPECT_EQ(next, ranks);
    }
}

}  // namespace
}  // namespace weft
