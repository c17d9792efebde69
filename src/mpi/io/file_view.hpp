// What a rank sees of a file: the bytes of the filetype, tile behind tile from the displacement on. The data that it
// reads and writes are numbered by their place among those bytes.
//
// A view is copied out of its datatypes when it is set, and constant from then on: any thread may read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpi/object/datatype.hpp"
#include "weft/layout.hpp"

namespace weft::mpi {

// Bytes that follow one another in the file.
struct file_run {
  std::uint64_t offset = 0;  // From the begin of the tile.
  std::uint64_t bytes = 0;
  std::uint64_t before = 0;  // Bytes of the runs before it in the tile.
};

// Bytes of a file and where they lie in memory.
struct file_piece {
  std::uint64_t offset = 0;
  std::byte* memory = nullptr;
  std::size_t bytes = 0;
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes; }
};

class file_view {
 public:
  // The bytes of the file from its begin on.
  file_view() : file_view(0, 1, std::vector<file_run>{file_run{0, 1, 0}}, 1) {}
  file_view(std::uint64_t displacement, std::uint64_t element_bytes, std::vector<file_run> runs,
            std::uint64_t extent);
  // With the layout that the datatype has in memory.
  file_view(std::uint64_t displacement, const datatype_object& etype,
            const datatype_object& filetype);

  // Bytes of an etype in the file: offsets and pointers count in these.
  [[nodiscard]] std::uint64_t element_bytes() const noexcept { return element_bytes_; }
  [[nodiscard]] std::uint64_t displacement() const noexcept { return displacement_; }
  // The place in the file of byte `data` of the data. Throws when no offset can say it.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t data) const;
  // How many bytes of the data lie before this place in the file.
  [[nodiscard]] std::uint64_t data_before(std::uint64_t offset) const noexcept;

 private:
  friend class access_walk;
  std::uint64_t displacement_;
  std::uint64_t element_bytes_;
  std::uint64_t extent_;
  std::uint64_t tile_bytes_ = 0;
  std::vector<file_run> runs_;
};

// Goes through the pieces of one access: bytes of the view from `data` on, and as many of a layout in memory. Both outlive it.
class access_walk {
 public:
  access_walk(const file_view& view, std::uint64_t data, const detail::segments& memory);
  // The next piece; nothing at the end.
  [[nodiscard]] std::optional<file_piece> next();

 private:
  void find_block() noexcept;
  void next_block() noexcept;

  const file_view& view_;
  const detail::segments& memory_;
  std::uint64_t left_;          // Bytes of the access.
  std::uint64_t tile_ = 0;      // Where the tile of the file begins, without the displacement.
  std::size_t run_ = 0;         // In the tile.
  std::uint64_t in_run_ = 0;    // Bytes of the run that are done.
  std::size_t pass_ = 0;        // Of memory: which repetition of the list,
  std::size_t listed_ = 0;      // which run of it,
  std::size_t row_ = 0;         // which row of that,
  std::size_t column_ = 0;      // which block of the row.
  std::byte* block_ = nullptr;  // What is left of the block.
  std::size_t block_bytes_ = 0;
};

// Of an etype or filetype: its bytes in the order of the data, joined where they follow one another. Throws when displacements are
// negative or decrease (MPI 5.0 section 14.1.1).
[[nodiscard]] std::vector<file_run> runs_of(const datatype_object& type);
// Throws when some byte lies in two places, as in files that are written none may.
void check_no_overlap(const std::vector<file_run>& runs, std::uint64_t extent);

}  // namespace weft::mpi
