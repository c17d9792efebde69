// The parts that ranks give and take in collectives.
#include "mpi/collective/collective.hpp"

namespace weft::mpi {

using namespace detail;

void fail_alias() {
  fail(MPI_ERR_BUFFER,
       "the buffers to send from and to receive into are the same: pass MPI_IN_PLACE instead");
}

std::byte* row_of(const void* buffer, std::size_t bytes, const datatype_object& type) {
  if (is_no_memory(buffer) && bytes != 0) [[unlikely]]
    fail_buffer(buffer, type);
  return static_cast<std::byte*>(const_cast<void*>(buffer));  // Of a send it is only read.
}

part_list part_list::alike(const void* buffer, MPI_Count count, const datatype_object& type,
                           int first, int n, std::ptrdiff_t displacement) {
  part_list p(static_cast<const std::byte*>(buffer) + displacement, count, type, first, n);
  if (!type.contiguous) p.each_.push_back(layout_of(buffer, count, type, displacement));
  return p;
}

part_list part_list::blocks(const void* buffer, MPI_Count count, const datatype_object& type,
                            int first, int n) {
  part_list p(buffer, count, type, first, n);
  const std::ptrdiff_t stride = count * type.extent;
  p.rows_.stride = stride;
  if (type.contiguous) return p;
  p.each_.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) p.each_.push_back(layout_of(buffer, count, type, i * stride));
  return p;
}

part_list::part_list(const void* buffer, MPI_Count count, const datatype_object& type, int first,
                     int n)
    : rows_{first, n}, named_{&type, nullptr, count} {
  if (!type.contiguous) return;
  rows_.bytes = bytes_of(count, type);
  rows_.base = row_of(buffer, rows_.bytes, type);
}

parts part_list::view() const noexcept {
  parts p = rows_;
  if (each_.empty()) return p;
  p.of = each_.data();
  if (each_.size() == 1)
    p.laid_out = [](const void* of, int) { return *static_cast<const segments*>(of); };
  else
    p.laid_out = [](const void* of, int place) { return static_cast<const segments*>(of)[place]; };
  return p;
}

part_of_root part_in(const communicator_object& c, int root) {
  if (c.is_inter()) {
    if (root == MPI_ROOT) return {true, false, no_root};
    if (root == MPI_PROC_NULL) return {false, true, no_root};
    check_root(c, root);
    return {false, false, c.peers_first + root};
  }
  check_root(c, root);
  return {root == c.own, false, root};
}

void check_claims(const char* call, const claim_of_root& claim, const unequal_parts& found) {
  const auto& [giver, gives, only_taker, taker, takes] = found;
  // Ranks that agree about the root may still differ in their counts, which is another error.
  const bool agree = claim.root_gives     ? gives != 0 && giver == claim.mine.root
                     : claim.mine.is_root ? gives != 0 || only_taker == taker
                                          : false;
  if (agree || (gives != 0 && takes != 0)) return;
  const auto local = [&](int rank) { return formatted("rank {}", rank - claim.locals_first); };
  const auto remote = [&](int rank) {
    return formatted("rank {} of the remote group", rank - claim.peers_first);
  };
  // A rank that gives nothing may have named another root, or passed another count: the text says both.
  if (gives == 0 && (claim.root_gives ? giver == claim.mine.root : only_taker == no_root))
    fail(MPI_ERR_TRUNCATE,
         "{}: {} gives {} 0 bytes, which takes {}: pass the same counts on both sides, MPI_ROOT in "
         "the one rank that is the root, and the number of that one in the other group",
         call, remote(giver), local(taker), takes);
  const std::string theirs =
      claim.root_gives ? "passes MPI_ROOT"
                       : formatted("names {} as the root", local(gives != 0 ? taker : only_taker));
  const std::string own = claim.mine.is_root ? "passes MPI_ROOT"
                          : claim.mine.is_idle
                              ? "passes MPI_PROC_NULL"
                              : "names " + remote(claim.mine.root) + " as the root";
  fail(MPI_ERR_ROOT,
       "{}: {} {}, but {} {}: one rank passes MPI_ROOT, the others of its group MPI_PROC_NULL, and "
       "the ranks of the other group name it",
       call, remote(giver), theirs, local(taker), own);
}

bool is_in_place(const communicator_object& c, const void* buffer) {
  if (buffer != MPI_IN_PLACE) [[likely]]
    return false;
  if (c.is_inter()) fail(MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning between two groups");
  return true;
}

}  // namespace weft::mpi
