// Collectives that combine data.
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "mpi/collective/collective.hpp"
#include "mpi/datatype/overlap.hpp"
#include "mpi/point_to_point/type_ledger.hpp"

namespace weft::mpi {

using namespace detail;

namespace {

enum class reduction_kind { to_root, to_all, inclusive_scan, exclusive_scan, scattered };

struct reduce_call {
  communicator_state* c;
  int rank;
  const char* name;
  reduction_kind what;
  int root = no_root;
  reducer how{};
  std::size_t count = 0;  // Elements that a rank gives.
  const void* in = nullptr;
  void* out = nullptr;
  std::vector<std::size_t>
      starts{};               // Of a scattered one with counts: where each rank's part begins.
  std::size_t own_count = 0;  // Of a scattered one: elements of this rank's part.

  void operator()() const {
    if (how.shape == nullptr) [[likely]]
      run(in, out);
    else
      run_on_copies();
  }

 private:
  void run(const void* from, void* to) const {
    switch (what) {
      case reduction_kind::to_root:
      case reduction_kind::to_all:
        reduce(*c, rank, from, to, how.of(count), root, name);
        return;
      case reduction_kind::inclusive_scan:
      case reduction_kind::exclusive_scan:
        scan(*c, rank, from, to, how.of(count), what == reduction_kind::inclusive_scan, name);
        return;
      case reduction_kind::scattered:
        reduce_scatter(*c, rank, from, to, how.of(own_count), starts, name);
        return;
    }
  }

  void run_on_copies() const {
    const std::size_t room = how.room(count);
    const auto from = std::make_unique_for_overwrite<std::byte[]>(room);
    how.shape->copy_in(from.get(), room, in, count);
    const bool gets = what != reduction_kind::to_root || root == rank;
    const auto to = std::make_unique_for_overwrite<std::byte[]>(room);
    if (what == reduction_kind::scattered) return run_scattered(from.get(), to.get());
    run(from.get(), to.get());
    if (gets && !(what == reduction_kind::exclusive_scan && rank == 0))
      how.shape->copy_out(out, to.get(), 0, count);
  }

  // Elements that overlap cannot be divided among ranks: all are reduced to every rank, which takes its part.
  void run_scattered(const std::byte* from, std::byte* to) const {
    std::size_t first = 0;
    if (how.divisible()) {
      run(from, to);
    } else {
      reduce(*c, rank, from, to, how.of(count), no_root, name);
      const auto r = static_cast<std::size_t>(rank);
      first = starts.empty() ? r * own_count : starts[r];
    }
    how.shape->copy_out(out, to, first, own_count);
  }
};

// A reduction between two groups. Each rank that gets the result, or a part of it, takes all inputs of the other group and
// combines them itself.
struct reduce_between_groups {
  communicator_state* c;
  int rank;
  const char* name;
  reducer how;
  std::size_t count;               // Elements that a rank gives.
  const void* in;                  // Null: this rank gives nothing.
  void* out;                       // Null: it gets nothing.
  int givers_first, givers_count;  // Where among all ranks those are of whom it takes.
  int takers_first, takers_count;
  std::size_t part_first, part_count;    // Which elements it gets.
  bool gives, gets;                      // Also where it is nothing that is given or got.
  std::optional<claim_of_root> claim{};  // With a root.

  void operator()() const {
    const std::size_t room = how.room(count);
    std::vector<std::byte> copy;
    const void* from = in;
    if (in != nullptr && how.shape != nullptr) {
      copy.resize(room);
      how.shape->copy_in(copy.data(), room, in, count);
      from = copy.data();
    }
    std::vector<std::byte> taken(out != nullptr ? room * static_cast<std::size_t>(givers_count)
                                                : 0);
    parts give, take;
    if (in != nullptr) {
      give.first = takers_first;
      give.count = takers_count;
      give.base = static_cast<std::byte*>(const_cast<void*>(from));  // It is only read.
      give.bytes = room;
    }
    if (out != nullptr) {
      take.first = givers_first;
      take.count = givers_count;
      take.base = taken.data();
      take.stride = static_cast<std::ptrdiff_t>(room);
      take.bytes = room;
    }
    exchange_plan plan;
    plan.call = {name, no_root, false, 0};
    plan.per_reader = true;
    plan.known = sizes::of_each;
    explanation explain;
    if (claim) {
      explain = [this](const unequal_parts& found) { check_claims(name, *claim, found); };
      plan.explain = &explain;
    }
    exchange(*c, rank, plan, give, take);
    if (out == nullptr || count == 0) return;
    const reduction each = how.of(count);
    for (int i = 1; i < givers_count; ++i)
      each.combine(each.op, taken.data(), taken.data() + static_cast<std::size_t>(i) * room,
                   each.count);
    if (how.shape != nullptr)
      how.shape->copy_out(out, taken.data(), part_first, part_count);
    else
      std::memcpy(out, taken.data() + part_first * how.element_bytes,
                  part_count * how.element_bytes);
  }
};

// A reduction within a group (`one`) or between two groups (`two` is set).
struct any_reduce_call {
  reduce_call one;
  std::shared_ptr<const reduce_between_groups> two;
  void operator()() const {
    if (two != nullptr) [[unlikely]]
      (*two)();
    else
      one();
  }
};

void check_buffer(const void* buffer, std::size_t count, const datatype_object& type) {
  const std::size_t bytes = bytes_of(static_cast<MPI_Count>(count), type);
  if (type.contiguous && is_no_memory(buffer) && bytes != 0) [[unlikely]]
    fail_buffer(buffer, type);
}

// Whether `count` elements lie within the section of a Fortran array, if there is one.
void check_section(const array_section* section, std::size_t count, const datatype_object& type) {
  if (section != nullptr) (void)section->place(nullptr, 0, {count, type.extent}, type.where);
}

// The part of the preparation that all reductions share. `recvbuf` is null on a rank that gets nothing.
any_reduce_call make_call(communicator_object& c, const char* name, reduction_kind what,
                          const void* sendbuf, void* recvbuf, MPI_Count count,
                          MPI_Datatype datatype, MPI_Op op) {
  check_count(count);
  const datatype_object& type = committed_datatype(datatype);
  any_reduce_call call{{c.shared, c.own, name, what}, nullptr};
  reduce_call& r = call.one;
  r.count = static_cast<std::size_t>(count);
  r.how = make_reducer(op, datatype, type, r.count);
  r.in = is_in_place(c, sendbuf) ? recvbuf : sendbuf;
  r.out = recvbuf;
  check_buffer(r.in, r.count, type);
  if (type.sections != nullptr) [[unlikely]]
    check_section(type.sections->from.get(), r.count, type);
  return call;
}

// In a checked job: the memory that the rank reads and writes.
void note_use_of(state& me, const communicator_object& c, const any_reduce_call& call,
                 const datatype_object& type) {
  const reduce_call& one = call.one;
  const bool is_part = one.what == reduction_kind::scattered;
  const void* in = one.in;
  void* out = one.out;
  std::size_t taken = is_part ? one.own_count : one.count;
  if (one.what == reduction_kind::exclusive_scan && c.own == 0) out = nullptr;
  if (call.two != nullptr) {
    in = call.two->in;
    out = call.two->out;
    taken = call.two->part_count;
  }
  if (in != nullptr && in != out)
    note_use(me, one.name, layout_of(in, static_cast<MPI_Count>(one.count), type), false);
  if (out != nullptr)
    note_use(me, one.name,
             type.sections != nullptr ? one.how.shape->written(out, taken)
                                      : layout_of(out, static_cast<MPI_Count>(taken), type),
             true);
}

// In a checked job: notes the datatypes of what this rank gives and takes (type_ledger.hpp), and buffers that overlap.
void note(state& me, const communicator_object& c, const any_reduce_call& call,
          MPI_Datatype datatype) {
  if (!keeps_ledger(me)) [[likely]]
    return;
  const datatype_object& type = checked_datatype(datatype);
  const reduce_call& one = call.one;
  const auto count = static_cast<MPI_Count>(one.count);
  note_use_of(me, c, call, type);
  if (type.contiguous && one.in != one.out && one.in != nullptr && one.out != nullptr) {
    const auto taken = one.what == reduction_kind::scattered ? one.own_count : one.count;
    note_overlap(me, one.name, one_part(one.in, count, type),
                 one_part(one.out, static_cast<MPI_Count>(taken), type));
  }
  if (call.two == nullptr)
    return note_reduced(me, c, one.name, one.root == no_root ? 0 : one.root, type, count);
  const reduce_between_groups& two = *call.two;
  if (two.gives)
    for (int i = 0; i < two.takers_count; ++i) note_given(me, c, two.takers_first + i, type, count);
  if (two.gets)
    for (int i = 0; i < two.givers_count; ++i)
      note_taken(me, c, one.name, two.givers_first + i, type, count);
}

// Checks that input and output are not the same buffer, by the number of elements that the rank gives. What a rank gets may
// differ between ranks: so either all of them refuse, or none.
void check_output_apart(const reduce_call& r, const void* sendbuf, const datatype_object& type) {
  check_not_aliased(sendbuf, r.out, bytes_of(static_cast<MPI_Count>(r.count), type));
}

// check_output_apart(), and whether there is memory for the `count` elements that the rank gets.
void check_output(const reduce_call& r, const void* sendbuf, std::size_t count,
                  const datatype_object& type) {
  check_buffer(r.out, count, type);
  if (type.sections != nullptr) [[unlikely]]
    check_section(type.sections->to.get(), count, type);
  check_output_apart(r, sendbuf, type);
}

void make_between_groups(any_reduce_call& call, const communicator_object& c, bool gives, bool gets,
                         std::size_t part_first, std::size_t part_count) {
  const reduce_call& r = call.one;
  static const std::byte nothing{};
  call.two = std::make_shared<const reduce_between_groups>(
      reduce_between_groups{c.shared, c.own, r.name, r.how, r.count,
                            !gives            ? nullptr
                            : r.in != nullptr ? r.in
                                              : &nothing,
                            gets ? r.out : nullptr, c.peers_first, c.peers_count, c.peers_first,
                            c.peers_count, part_first, part_count, gives, gets});
}

any_reduce_call prepare_reduce(state& me, const char* name, const void* sendbuf, void* recvbuf,
                               MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                               MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  const part_of_root mine = part_in(c, root);
  if (mine.is_idle) {  // What it passes besides the root does not matter: any that go together.
    datatype = MPI_INT;
    op = MPI_SUM;
  }
  const datatype_object& type = committed_datatype(datatype);
  if (sendbuf == MPI_IN_PLACE && !mine.is_root)
    fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE at rank {}, which is not the root", c.rank());
  if (c.is_inter()) {
    any_reduce_call call =
        make_call(c, name, reduction_kind::to_root, mine.is_root ? recvbuf : sendbuf, recvbuf,
                  mine.is_idle ? 0 : count, datatype, op);
    make_between_groups(call, c, !mine.is_root && !mine.is_idle, mine.is_root, 0, call.one.count);
    auto two = *call.two;
    two.claim = claim_of_root{false, mine, c.peers_first, c.locals_first};
    if (!mine.is_root && !mine.is_idle) {
      two.takers_first = mine.root;
      two.takers_count = 1;
    }
    call.two = std::make_shared<const reduce_between_groups>(two);
    note(me, c, call, datatype);
    return call;
  }
  any_reduce_call call = make_call(c, name, reduction_kind::to_root, sendbuf,
                                   mine.is_root ? recvbuf : nullptr, count, datatype, op);
  call.one.root = root;
  if (mine.is_root) check_output(call.one, sendbuf, call.one.count, type);
  note(me, c, call, datatype);
  return call;
}

any_reduce_call prepare_allreduce(state& me, const char* name, const void* sendbuf, void* recvbuf,
                                  MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                  MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  any_reduce_call call =
      make_call(c, name, reduction_kind::to_all, sendbuf, recvbuf, count, datatype, op);
  check_output(call.one, sendbuf, call.one.count, committed_datatype(datatype));
  if (c.is_inter()) make_between_groups(call, c, true, true, 0, call.one.count);
  note(me, c, call, datatype);
  return call;
}

// The commonest reduction: a predefined operation on a predefined datatype within one group. It keeps no copy of the
// arguments. Returns false, and has done nothing, when the call is another one. `root` is as in reduce().
[[gnu::always_inline]] inline bool reduced_directly(state& me, const char* name,
                                                    const void* sendbuf, void* recvbuf,
                                                    MPI_Count count, MPI_Datatype datatype,
                                                    MPI_Op op, int root, MPI_Comm comm) {
  const communicator_object* const c = find_communicator(me, comm);
  const std::size_t element = size_without_gaps(datatype);
  const bool fits_int = count > 0 && count <= std::numeric_limits<int>::max();
  if (c == nullptr || c->is_inter() || keeps_ledger(me) || element == 0 || !fits_int ||
      root >= c->locals_count()) [[unlikely]]
    return false;
  const bool gets = root == no_root || root == c->own;
  const void* const in = gets && sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
  if (is_no_memory(in) || (gets && (is_no_memory(recvbuf) || sendbuf == recvbuf))) [[unlikely]]
    return false;
  const auto [combine, combines] = find_combine(op, datatype);
  if (combine == nullptr) [[unlikely]]
    return false;
  reduce(*c->shared, c->own, in, gets ? recvbuf : nullptr,
         {nullptr, combine, element, static_cast<std::size_t>(count), true, combines}, root, name);
  return true;
}
bool reduce_directly(state& me, const char* name, const void* sendbuf, void* recvbuf,
                     MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  return root >= 0 && reduced_directly(me, name, sendbuf, recvbuf, count, datatype, op, root, comm);
}
[[gnu::always_inline]] inline bool allreduce_directly(state& me, const char* name,
                                                      const void* sendbuf, void* recvbuf,
                                                      MPI_Count count, MPI_Datatype datatype,
                                                      MPI_Op op, MPI_Comm comm) {
  return reduced_directly(me, name, sendbuf, recvbuf, count, datatype, op, no_root, comm);
}

any_reduce_call prepare_prefix(state& me, const char* name, reduction_kind what,
                               const void* sendbuf, void* recvbuf, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  communicator_object& c = checked_intracommunicator(me, comm);
  any_reduce_call call = make_call(c, name, what, sendbuf, recvbuf, count, datatype, op);
  const datatype_object& type = committed_datatype(datatype);
  // In an exclusive scan rank 0 gets nothing, but refuses the same buffers as the others: else it would wait for them.
  if (what == reduction_kind::inclusive_scan || c.own != 0)
    check_output(call.one, sendbuf, call.one.count, type);
  else
    check_output_apart(call.one, sendbuf, type);
  note(me, c, call, datatype);
  return call;
}
any_reduce_call prepare_scan(state& me, const char* name, const void* sendbuf, void* recvbuf,
                             MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return prepare_prefix(me, name, reduction_kind::inclusive_scan, sendbuf, recvbuf, count, datatype,
                        op, comm);
}
any_reduce_call prepare_exscan(state& me, const char* name, const void* sendbuf, void* recvbuf,
                               MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  return prepare_prefix(me, name, reduction_kind::exclusive_scan, sendbuf, recvbuf, count, datatype,
                        op, comm);
}

[[noreturn, gnu::cold]] void fail_sum() {
  fail(MPI_ERR_COUNT, "the counts of all ranks together are beyond all memory");
}

any_reduce_call prepare_reduce_scatter_block(state& me, const char* name, const void* sendbuf,
                                             void* recvbuf, MPI_Count recvcount,
                                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_count(recvcount);
  MPI_Count all = 0;
  if (__builtin_mul_overflow(recvcount, c.locals_count(), &all)) fail_sum();
  any_reduce_call call =
      make_call(c, name, reduction_kind::scattered, sendbuf, recvbuf, all, datatype, op);
  call.one.own_count = static_cast<std::size_t>(recvcount);
  check_output(call.one, sendbuf, call.one.own_count, committed_datatype(datatype));
  if (c.is_inter())
    make_between_groups(call, c, true, true,
                        call.one.own_count * static_cast<std::size_t>(c.rank()),
                        call.one.own_count);
  note(me, c, call, datatype);
  return call;
}

template <class Count>
any_reduce_call prepare_reduce_scatter(state& me, const char* name, const void* sendbuf,
                                       void* recvbuf, const Count* recvcounts,
                                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  communicator_object& c = checked_communicator(me, comm);
  check_not_null(recvcounts, "recvcounts");
  std::vector<std::size_t> starts{0};
  MPI_Count all = 0;
  for (int r = 0; r < c.locals_count(); ++r) {
    check_count(recvcounts[r]);
    if (__builtin_add_overflow(all, recvcounts[r], &all)) fail_sum();
    starts.push_back(static_cast<std::size_t>(all));
  }
  any_reduce_call call =
      make_call(c, name, reduction_kind::scattered, sendbuf, recvbuf, all, datatype, op);
  const auto rank = static_cast<std::size_t>(c.rank());
  call.one.own_count = starts[rank + 1] - starts[rank];
  check_output(call.one, sendbuf, call.one.own_count, committed_datatype(datatype));
  if (c.is_inter())
    make_between_groups(call, c, true, true, starts[rank], call.one.own_count);
  else
    call.one.starts = std::move(starts);
  note(me, c, call, datatype);
  return call;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

#define REDUCE(Count, Displacement)                                                            \
  const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, MPI_Op op, int root, \
      MPI_Comm comm
WEFT_MPI_DIRECT_COLLECTIVE(Reduce, Ireduce, reduce_directly, prepare_reduce, REDUCE, sendbuf,
                           recvbuf, count, datatype, op, root, comm)

#define ALLREDUCE(Count, Displacement) \
  const void *sendbuf, void *recvbuf, Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm
WEFT_MPI_DIRECT_COLLECTIVE(Allreduce, Iallreduce, allreduce_directly, prepare_allreduce, ALLREDUCE,
                           sendbuf, recvbuf, count, datatype, op, comm)
WEFT_MPI_COLLECTIVE(Scan, Iscan, prepare_scan, ALLREDUCE, sendbuf, recvbuf, count, datatype, op,
                    comm)
WEFT_MPI_COLLECTIVE(Exscan, Iexscan, prepare_exscan, ALLREDUCE, sendbuf, recvbuf, count, datatype,
                    op, comm)

#define REDUCE_SCATTER_BLOCK(Count, Displacement)                                        \
  const void *sendbuf, void *recvbuf, Count recvcount, MPI_Datatype datatype, MPI_Op op, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, prepare_reduce_scatter_block,
                    REDUCE_SCATTER_BLOCK, sendbuf, recvbuf, recvcount, datatype, op, comm)

#define REDUCE_SCATTER(Count, Displacement)                                                       \
  const void *sendbuf, void *recvbuf, const Count recvcounts[], MPI_Datatype datatype, MPI_Op op, \
      MPI_Comm comm
WEFT_MPI_COLLECTIVE(Reduce_scatter, Ireduce_scatter, prepare_reduce_scatter, REDUCE_SCATTER,
                    sendbuf, recvbuf, recvcounts, datatype, op, comm)
