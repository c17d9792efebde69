// Collectives that move data: each is an exchange of parts, in one group or between two. In one group
// all ranks are peers; between two they are the ranks of the other group.
#include <algorithm>

#include "mpi/collective.hpp"
#include "mpi/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

// --- Data ----------------------------------------------------------------------------------------

void fail_alias() {
  fail(MPI_ERR_BUFFER,
       "the buffers to send from and to receive into are the same: pass MPI_IN_PLACE instead");
}

segments layout_of(const void* buffer, MPI_Count count, const datatype_object& type) {
  const auto elements = static_cast<std::size_t>(count);
  if (type.contiguous)
    return segments({static_cast<const std::byte*>(buffer), elements * type.size});
  return type.where.placed(buffer, {elements, type.extent});
}

namespace {

// Octets in a row that begin at `buffer`.
std::byte* row_of(const void* buffer, std::size_t bytes, const datatype_object& type) {
  if (value_of(buffer) < 3 && bytes != 0) [[unlikely]]
    fail_buffer(buffer, type);
  return static_cast<std::byte*>(const_cast<void*>(buffer));  // Of a send it is only read.
}

}  // namespace

part_list part_list::alike(const void* buffer, MPI_Count count, const datatype_object& type,
                           int first, int n) {
  part_list p;
  p.rows_ = {first, n};
  p.named_ = {&type, nullptr, count};
  const std::size_t bytes = static_cast<std::size_t>(count) * type.size;
  if (type.contiguous) {
    p.rows_.base = row_of(buffer, bytes, type);
    p.rows_.bytes = bytes;
  } else {
    p.each_.push_back(layout_of(buffer, count, type));
  }
  return p;
}

part_list part_list::blocks(const void* buffer, MPI_Count count, const datatype_object& type,
                            int first, int n) {
  part_list p;
  p.rows_ = {first, n};
  p.named_ = {&type, nullptr, count};
  const std::size_t bytes = static_cast<std::size_t>(count) * type.size;
  const std::ptrdiff_t stride = count * type.extent;
  if (type.contiguous) {
    p.rows_.base = row_of(buffer, bytes, type);
    p.rows_.bytes = bytes;
    p.rows_.stride = stride;
    return p;
  }
  p.each_.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    p.each_.push_back(layout_of(static_cast<const std::byte*>(buffer) + i * stride, count, type));
  return p;
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

namespace {

struct exchange_call {
  communicator_state* c;
  int rank;
  exchange_plan plan;
  part_list give;
  part_list take;
  bool replaces = false;  // What is taken comes where what is given was.

  void operator()() const {
    if (replaces)
      exchange_copies();
    else
      exchange(*c, rank, plan, give.view(), take.view());
  }

 private:
  void exchange_copies() const {
    std::vector<std::byte> copies;
    std::vector<segments> copied;
    std::size_t bytes = 0;
    for (int i = 0; i < take.count(); ++i) bytes += take.at(i).size();
    copies.resize(bytes);
    std::size_t at = 0;
    for (int i = 0; i < take.count(); ++i) {
      const segments part = take.at(i);
      copied.emplace_back(octets(copies.data() + at, part.size()));
      if (part.size() != 0) copy_octets(copied.back(), part, 0, part.size());
      at += part.size();
    }
    parts from = take.view();
    from.laid_out = [](const void* of, int place) {
      return static_cast<const segments*>(of)[place];
    };
    from.of = copied.data();
    exchange(*c, rank, plan, from, take.view());
  }
};

exchange_call make_call(communicator_object& c, const char* name) {
  exchange_call x{};
  x.c = c.shared;
  x.rank = c.own;
  x.plan.call = {name, no_root, false, 0};
  x.plan.per_reader = true;
  x.plan.known = sizes::of_each;
  return x;
}

// In one group parts that all are equal need no words about their lengths.
void set_equal(exchange_call& x, const communicator_object& c, std::size_t part_bytes, int root) {
  if (c.is_inter()) return;
  x.plan.call.root = root;
  x.plan.call.same_size = true;
  x.plan.call.bytes = part_bytes;
  x.plan.known = sizes::of_all;
  x.plan.part_bytes = part_bytes;
}

// In a checked job: as what this rank gives to others and takes of them. In place it gives as it takes;
// its own part is nobody else's.
void note(state& me, const communicator_object& c, const exchange_call& x) {
  if (!keeps_ledger(me)) [[likely]]
    return;
  (x.replaces ? x.take : x.give)
      .each_named([&](int taker, const datatype_object& type, MPI_Count count) {
        if (taker != c.own && (x.plan.only_reader == no_root || x.plan.only_reader == taker))
          note_given(me, c, taker, type, count);
      });
  x.take.each_named([&](int giver, const datatype_object& type, MPI_Count count) {
    if (giver != c.own && (x.plan.only_shower == no_root || x.plan.only_shower == giver))
      note_taken(me, c, x.plan.call.name, giver, type, count);
  });
}

std::size_t octets_of(MPI_Count count, const datatype_object& type) {
  return static_cast<std::size_t>(count) * type.size;
}

// The same of a rank's own part of `listed`, which it gives or takes as `other`.
template <class Count, class Displacement>
void check_own_not_aliased(const communicator_object& c, const void* listed, const Count* counts,
                           const Displacement* displs, const datatype_object& type,
                           const void* other, MPI_Count other_count) {
  if (c.is_inter() || counts[c.own] == 0 || other_count == 0) return;
  check_not_aliased(static_cast<const std::byte*>(listed) + displs[c.own] * type.extent, other,
                    type.size);
}

template <class Count>
bool are_all_zero(const Count* counts, int n) {
  return std::all_of(counts, counts + n, [](Count count) { return count == 0; });
}
// Of two lists.
template <class Count>
void check_lists_not_aliased(const communicator_object& c, const void* sent,
                             const Count* sendcounts, const void* received,
                             const Count* recvcounts) {
  if (sent != received || c.is_inter()) [[likely]]
    return;
  const bool nothing =
      are_all_zero(sendcounts, c.peers_count) || are_all_zero(recvcounts, c.peers_count);
  check_not_aliased(sent, received, nothing ? 0 : 1);
}

}  // namespace

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

bool is_in_place(const communicator_object& c, const void* buffer) {
  if (buffer != MPI_IN_PLACE) [[likely]]
    return false;
  if (c.is_inter()) fail(MPI_ERR_BUFFER, "MPI_IN_PLACE has no meaning between two groups");
  return true;
}

namespace {

// --- Barrier and broadcast -------------------------------------------------------------------------

auto prepare_barrier(state& me, const char* name, MPI_Comm comm) {
  const communicator_object& c = checked_communicator(me, comm);
  return [shared = c.shared, own = c.own, name] { meet(*shared, own, name); };
}

struct broadcast_call {
  communicator_state* c;
  int rank;
  int root;
  const char* name;
  std::span<std::byte> row;
  std::shared_ptr<const segments> layout;  // When the data do not lie in a row.
  std::shared_ptr<const exchange_call> between_groups;

  void operator()() const {
    if (between_groups != nullptr)
      (*between_groups)();
    else if (layout != nullptr)
      broadcast(*c, rank, *layout, root, name);
    else
      broadcast(*c, rank, row, root, name);
  }
};

void note_broadcast(state& me, const communicator_object& c, const char* name, int root,
                    const datatype_object& type, MPI_Count count) {
  if (c.own != root) return note_taken(me, c, name, root, type, count);
  for (int r = 0; r < c.peers_count; ++r)
    if (r != root) note_given(me, c, r, type, count);
}

broadcast_call prepare_bcast(state& me, const char* name, void* buffer, MPI_Count count,
                             MPI_Datatype datatype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  const part_of_root mine = part_in(c, root);
  broadcast_call b{c.shared, c.own, root, name, {}, {}, {}};
  if (c.is_inter()) {
    exchange_call x = make_call(c, name);
    if (mine.is_root)
      x.give = part_list::alike(buffer, count, type, c.peers_first, c.peers_count);
    else if (!mine.is_idle)
      x.take = part_list::alike(buffer, count, type, mine.root, 1);
    note(me, c, x);
    b.between_groups = std::make_shared<const exchange_call>(std::move(x));
    return b;
  }
  if (keeps_ledger(me)) [[unlikely]]
    note_broadcast(me, c, name, root, type, count);
  const std::size_t bytes = octets_of(count, type);
  if (type.contiguous) {
    b.row = {row_of(buffer, bytes, type), bytes};
    return b;
  }
  b.layout = std::make_shared<const segments>(layout_of(buffer, count, type));
  return b;
}

// --- Gather and scatter ------------------------------------------------------------------------------

exchange_call prepare_gather(state& me, const char* name, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_call(c, name);
  std::size_t bytes = 0;
  if (mine.is_root) {
    check_count(recvcount);
    const datatype_object& type = committed_datatype(recvtype);
    bytes = octets_of(recvcount, type);
    x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
    x.plan.leaves_own = is_in_place(c, sendbuf);
  }
  const bool gives = c.is_inter() ? !mine.is_root && !mine.is_idle : !x.plan.leaves_own;
  if (gives) {
    check_count(sendcount);
    const datatype_object& type = committed_datatype(sendtype);
    if (mine.is_root) check_not_aliased(sendbuf, recvbuf, bytes);
    if (!mine.is_root) bytes = octets_of(sendcount, type);
    // In one group to all: only the root looks.
    x.give = part_list::alike(sendbuf, sendcount, type, c.is_inter() ? mine.root : 0,
                              c.is_inter() ? 1 : c.peers_count);
  }
  set_equal(x, c, bytes, root);
  if (!c.is_inter()) {
    x.plan.per_reader = false;
    x.plan.only_reader = root;
  }
  note(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_gatherv(state& me, const char* name, const void* sendbuf, Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                              const Displacement* displs, MPI_Datatype recvtype, int root,
                              MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_call(c, name);
  if (mine.is_root) {
    x.take = part_list::listed(recvbuf, recvcounts, displs, committed_datatype(recvtype),
                               c.peers_first, c.peers_count);
    x.plan.leaves_own = is_in_place(c, sendbuf);
  }
  if (c.is_inter() ? !mine.is_root && !mine.is_idle : !x.plan.leaves_own) {
    check_count(sendcount);
    if (mine.is_root)
      check_own_not_aliased(c, recvbuf, recvcounts, displs, checked_datatype(recvtype), sendbuf,
                            sendcount);
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), mine.root, 1);
  }
  if (!c.is_inter()) {
    x.plan.call.root = root;
    x.plan.only_reader = root;
  }
  note(me, c, x);
  return x;
}

exchange_call prepare_scatter(state& me, const char* name, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                              MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_call(c, name);
  std::size_t bytes = 0;
  bool takes = c.is_inter() ? !mine.is_root && !mine.is_idle : true;
  if (mine.is_root) {
    check_count(sendcount);
    const datatype_object& type = committed_datatype(sendtype);
    bytes = octets_of(sendcount, type);
    x.give = part_list::blocks(sendbuf, sendcount, type, c.peers_first, c.peers_count);
    if (is_in_place(c, recvbuf)) takes = false;
  }
  if (takes) {
    check_count(recvcount);
    const datatype_object& type = committed_datatype(recvtype);
    if (mine.is_root)
      check_not_aliased(sendbuf, recvbuf, bytes);
    else
      bytes = octets_of(recvcount, type);
    x.take = part_list::alike(recvbuf, recvcount, type, mine.root, 1);
  }
  set_equal(x, c, bytes, root);
  if (!c.is_inter()) x.plan.only_shower = root;
  note(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_scatterv(state& me, const char* name, const void* sendbuf,
                               const Count* sendcounts, const Displacement* displs,
                               MPI_Datatype sendtype, void* recvbuf, Count recvcount,
                               MPI_Datatype recvtype, int root, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  exchange_call x = make_call(c, name);
  bool takes = c.is_inter() ? !mine.is_root && !mine.is_idle : true;
  if (mine.is_root) {
    x.give = part_list::listed(sendbuf, sendcounts, displs, committed_datatype(sendtype),
                               c.peers_first, c.peers_count);
    if (is_in_place(c, recvbuf)) takes = false;
  }
  if (takes) {
    check_count(recvcount);
    if (mine.is_root)
      check_own_not_aliased(c, sendbuf, sendcounts, displs, checked_datatype(sendtype), recvbuf,
                            recvcount);
    x.take = part_list::alike(recvbuf, recvcount, committed_datatype(recvtype), mine.root, 1);
  }
  if (!c.is_inter()) {
    x.plan.call.root = root;
    x.plan.only_shower = root;
  }
  note(me, c, x);
  return x;
}

// --- Everybody to everybody ----------------------------------------------------------------------

exchange_call prepare_allgather(state& me, const char* name, const void* sendbuf,
                                MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                                MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(recvcount);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_call(c, name);
  x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
  x.plan.leaves_own = is_in_place(c, sendbuf);
  if (x.plan.leaves_own) {
    const auto* const own =
        static_cast<const std::byte*>(recvbuf) + c.own * recvcount * type.extent;
    x.give = part_list::alike(own, recvcount, type, c.peers_first, c.peers_count);
  } else {
    check_count(sendcount);
    check_not_aliased(sendbuf, recvbuf, octets_of(recvcount, type));
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                              c.peers_count);
  }
  set_equal(x, c, octets_of(recvcount, type), no_root);
  x.plan.per_reader = c.is_inter();
  note(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_allgatherv(state& me, const char* name, const void* sendbuf, Count sendcount,
                                 MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                 const Displacement* displs, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_call(c, name);
  x.take = part_list::listed(recvbuf, recvcounts, displs, type, c.peers_first, c.peers_count);
  x.plan.leaves_own = is_in_place(c, sendbuf);
  if (x.plan.leaves_own) {
    const auto* const own = static_cast<const std::byte*>(recvbuf) + displs[c.own] * type.extent;
    x.give = part_list::alike(own, recvcounts[c.own], type, c.peers_first, c.peers_count);
  } else {
    check_count(sendcount);
    check_own_not_aliased(c, recvbuf, recvcounts, displs, type, sendbuf, sendcount);
    x.give = part_list::alike(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                              c.peers_count);
  }
  x.plan.per_reader = c.is_inter();
  note(me, c, x);
  return x;
}

exchange_call prepare_alltoall(state& me, const char* name, const void* sendbuf,
                               MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(recvcount);
  const datatype_object& type = committed_datatype(recvtype);
  exchange_call x = make_call(c, name);
  x.take = part_list::blocks(recvbuf, recvcount, type, c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    check_count(sendcount);
    check_not_aliased(sendbuf, recvbuf, octets_of(recvcount, type));
    x.give = part_list::blocks(sendbuf, sendcount, committed_datatype(sendtype), c.peers_first,
                               c.peers_count);
  }
  set_equal(x, c, octets_of(recvcount, type), no_root);
  note(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_alltoallv(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const Displacement* sdispls,
                                MPI_Datatype sendtype, void* recvbuf, const Count* recvcounts,
                                const Displacement* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  exchange_call x = make_call(c, name);
  x.take = part_list::listed(recvbuf, recvcounts, rdispls, committed_datatype(recvtype),
                             c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    x.give = part_list::listed(sendbuf, sendcounts, sdispls, committed_datatype(sendtype),
                               c.peers_first, c.peers_count);
    check_lists_not_aliased(c, sendbuf, sendcounts, recvbuf, recvcounts);
  }
  note(me, c, x);
  return x;
}

template <class Count, class Displacement>
exchange_call prepare_alltoallw(state& me, const char* name, const void* sendbuf,
                                const Count* sendcounts, const Displacement* sdispls,
                                const MPI_Datatype* sendtypes, void* recvbuf,
                                const Count* recvcounts, const Displacement* rdispls,
                                const MPI_Datatype* recvtypes, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  exchange_call x = make_call(c, name);
  x.take =
      part_list::of_types(recvbuf, recvcounts, rdispls, recvtypes, c.peers_first, c.peers_count);
  x.replaces = is_in_place(c, sendbuf);
  if (!x.replaces) {
    x.give =
        part_list::of_types(sendbuf, sendcounts, sdispls, sendtypes, c.peers_first, c.peers_count);
    check_lists_not_aliased(c, sendbuf, sendcounts, recvbuf, recvcounts);
  }
  note(me, c, x);
  return x;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

// MPI_Barrier has no counts, and so no second form.
WEFT_MPI_COLLECTIVE_SIZED(Barrier, Ibarrier, , prepare_barrier, (MPI_Comm comm),
                          (MPI_Comm comm, MPI_Request* request),
                          (MPI_Comm comm, MPI_Info info, MPI_Request* request), comm)

#define BCAST(Count, Displacement) \
  void *buffer, Count count, MPI_Datatype datatype, int root, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Bcast, Ibcast, prepare_bcast, BCAST, buffer, count, datatype, root, comm)

#define GATHER(Count, Displacement)                                                            \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
      MPI_Datatype recvtype, int root, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Gather, Igather, prepare_gather, GATHER, sendbuf, sendcount, sendtype, recvbuf,
                    recvcount, recvtype, root, comm)
WEFT_MPI_COLLECTIVE(Scatter, Iscatter, prepare_scatter, GATHER, sendbuf, sendcount, sendtype,
                    recvbuf, recvcount, recvtype, root, comm)

#define GATHERV(Count, Displacement)                                                          \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf,                 \
      const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, int root, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Gatherv, Igatherv, prepare_gatherv, GATHERV, sendbuf, sendcount, sendtype,
                    recvbuf, recvcounts, displs, recvtype, root, comm)

#define SCATTERV(Count, Displacement)                                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement displs[],                 \
      MPI_Datatype sendtype, void *recvbuf, Count recvcount, MPI_Datatype recvtype, int root, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Scatterv, Iscatterv, prepare_scatterv, SCATTERV, sendbuf, sendcounts, displs,
                    sendtype, recvbuf, recvcount, recvtype, root, comm)

#define ALLGATHER(Count, Displacement)                                                         \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, Count recvcount, \
      MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Allgather, Iallgather, prepare_allgather, ALLGATHER, sendbuf, sendcount,
                    sendtype, recvbuf, recvcount, recvtype, comm)
WEFT_MPI_COLLECTIVE(Alltoall, Ialltoall, prepare_alltoall, ALLGATHER, sendbuf, sendcount, sendtype,
                    recvbuf, recvcount, recvtype, comm)

#define ALLGATHERV(Count, Displacement)                                       \
  const void *sendbuf, Count sendcount, MPI_Datatype sendtype, void *recvbuf, \
      const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Allgatherv, Iallgatherv, prepare_allgatherv, ALLGATHERV, sendbuf, sendcount,
                    sendtype, recvbuf, recvcounts, displs, recvtype, comm)

#define ALLTOALLV(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], \
      MPI_Datatype sendtype, void *recvbuf, const Count recvcounts[],          \
      const Displacement rdispls[], MPI_Datatype recvtype, MPI_Comm comm
WEFT_MPI_COLLECTIVE(Alltoallv, Ialltoallv, prepare_alltoallv, ALLTOALLV, sendbuf, sendcounts,
                    sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm)

#define ALLTOALLW(Count, Displacement)                                         \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], \
      const MPI_Datatype sendtypes[], void *recvbuf, const Count recvcounts[], \
      const Displacement rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm
WEFT_MPI_COLLECTIVE(Alltoallw, Ialltoallw, prepare_alltoallw, ALLTOALLW, sendbuf, sendcounts,
                    sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm)
