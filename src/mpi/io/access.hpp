// One read or write of one rank: from the arguments of a call to bytes of the file. Alone it is carried out by this rank;
// together with those of the other ranks by collective_access.cpp.
#pragma once
#include <cstdint>
#include <memory>

#include "mpi/io/blocking_operations.hpp"
#include "mpi/io/file_state.hpp"

namespace weft::mpi {

enum class file_direction : bool { read, write };

class file_access {
 public:
  // Checks the arguments of a call. With a representation that is not native the data of a write are converted now.
  // `position` counts etypes.
  file_access(state& me, file_state& f, file_direction way, const void* buffer, MPI_Count count,
              const datatype_object& type);
  ~file_access();
  file_access(const file_access&) = delete;
  file_access& operator=(const file_access&) = delete;

  // How many etypes it takes, and so by how many pointers move.
  [[nodiscard]] std::uint64_t elements() const noexcept { return bytes() / view_->element_bytes(); }
  // Bytes in the file.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.size(); }
  [[nodiscard]] bool writes() const noexcept { return way_ == file_direction::write; }

  // Where it begins. Throws when no offset says where it ends.
  void set_position(std::uint64_t position);

  // Calls of the file system in this thread, for this access alone. Atomic accesses exclude each other.
  [[nodiscard]] file_outcome carry_out(open_file& in, bool atomic) noexcept {
    return carry_out(in, atomic, false);
  }
  // Of a short read that is not atomic: by the rank's worker, where the system has the bytes in memory. False: it has not, or
  // the access is another one, and carry_out() is to be called.
  [[nodiscard]] bool read_cached(open_file& in, bool atomic, file_outcome& outcome) noexcept;
  // All its pieces in ascending order.
  [[nodiscard]] std::vector<file_piece> pieces() const;
  // How many bytes of it lie before this place in the file.
  [[nodiscard]] std::uint64_t bytes_before(std::uint64_t offset) const;

  // Called once, on the rank's worker, when the data have been moved; `moved` counts bytes in the file. Converts what has
  // been read. Returns the bytes in the program's memory, as statuses count them.
  std::uint64_t conclude(std::uint64_t moved);

 private:
  [[nodiscard]] file_outcome carry_out(open_file& in, bool atomic, bool only_cached) noexcept;
  void convert_out();
  void give_back(std::uint64_t moved, std::uint64_t& told);

  state& me_;
  const file_direction way_;
  const std::shared_ptr<const file_view> view_;
  const std::shared_ptr<const file_representation> representation_;
  std::uint64_t data_ = 0;   // The first byte of the view's data.
  detail::segments memory_;  // The program's memory, or `converted_`.
  // With a representation that is not native:
  detail::segments programs_;
  const datatype_object* type_ = nullptr;  // Held.
  std::size_t count_ = 0;
  std::unique_ptr<std::byte[]> converted_;
};

// The access alone: returns when it has ended. Throws on errors.
std::uint64_t access_alone(state& me, file_state& f, file_access& access, const char* call);
// Likewise in the background; the request's status tells how many bytes were moved.
[[nodiscard]] MPI_Request begin_alone(state& me, const std::shared_ptr<file_state>& f,
                                      std::shared_ptr<file_access> access, const char* call);

// What a rank brings to a collective access: the access, or why there is none.
struct collective_access {
  std::shared_ptr<file_access> access;
  contribution_of_rank problem;
  bool is_ordered = false;  // It begins where the shared pointer says, behind those of lower ranks.
};
// Every rank of the file calls it, with the number of its turn. Returns the bytes moved; throws on all ranks when one has failed. The calls of the file
// system are made by a few ranks for all.
std::uint64_t access_together(state& me, file_state& f, std::uint64_t turn, collective_access& mine,
                              const char* call);
// The same on a fiber of its own. `moved` gets the bytes before the request is complete.
[[nodiscard]] weft::request begin_together(state& me, const std::shared_ptr<file_state>& f,
                                           collective_access mine,
                                           std::shared_ptr<std::uint64_t> moved, const char* call);

// An atomic access may wait for another one's lock, wherever the file lies.
[[nodiscard]] inline blocking_purpose purpose_of(const file_state& f, const char* call) noexcept {
  return {call, f.name, f.file->in_memory() && !f.atomic};
}
// Runs work(), which returns a file_outcome, and throws when it has failed.
template <class Work>
void run_on_file(state& me, const file_state& f, const char* call, const Work& work) {
  file_outcome outcome;
  run_blocking(me, purpose_of(f, call), [&] { outcome = work(); });
  check_outcome(f, outcome);
}

}  // namespace weft::mpi
