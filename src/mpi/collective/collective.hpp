// What the files of collectives share: the six functions of each collective (blocking, non-blocking, persistent, each
// with int and MPI_Count), and the data that a rank gives and takes. A prepare_ function checks the arguments and
// returns an object that makes the collective when it is called: a blocking function calls it at once, the others on
// a fiber of its own. The object refers to the program's buffers and to nothing else of the program. A blocking
// function may have a way without it for the commonest calls.
#pragma once
#include <functional>
#include <vector>

#include "collective/collectives.hpp"
#include "mpi/datatype/data.hpp"
#include "mpi/datatype/overlap.hpp"
#include "mpi/datatype/section.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {

// --- The functions -------------------------------------------------------------------------------

// A blocking collective. `directly(me)` is the way for the commonest calls; it returns false when it has done nothing.
template <class Directly, class Prepare, class... Arguments>
[[gnu::always_inline]] inline int run_collective(const char* name, MPI_Comm comm,
                                                 const Directly& directly, const Prepare& prepare,
                                                 const Arguments&... arguments) {
  return in_call(
      name, comm,
      [&](state& me) {
        if (!directly(me)) [[unlikely]]
          prepare(me)();
      },
      arguments...);
}
inline constexpr auto never_directly = [](const auto&...) noexcept { return false; };

// Inline, as is what follows: the return address in it is the public function's, which events show as the place.
template <class Prepare, class... Arguments>
[[gnu::always_inline]] inline int start_collective(const char* name, MPI_Comm comm,
                                                   MPI_Request* request, const Prepare& prepare,
                                                   const Arguments&... arguments) {
  return in_call(
      name, comm,
      [&](state& me) {
        check_not_null(request, "request");
        // In a checked job: what a call that fails has noted is nobody's.
        const struct notes {
          state& of;
          ~notes() {
            if (of.rank.watch != nullptr) [[unlikely]]
              forget_uses(of);
          }
        } noted{me};
        auto work = prepare(me);
        const communicator_object& c = checked_communicator(me, comm);
        *request = add_request(
            me, comm, detail::start_collective(c.ranks.shared_state(), c.own, std::move(work)),
            name);
      },
      arguments...);
}

// Ranks may start their persistent collectives in any order, so each has a communicator of its own, which replaces
// `comm`.
template <class Prepare, class... Arguments>
[[gnu::always_inline]] inline int make_persistent(const char* name, MPI_Comm& comm, MPI_Info info,
                                                  MPI_Request* request, const Prepare& prepare,
                                                  const Arguments&... arguments) {
  const MPI_Comm given = comm;
  return in_call(
      name, given,
      [&](state& me) {
        check_not_null(request, "request");
        check_hints(me, info);
        (void)prepare(me);  // Checks the arguments before there is anything new.
        const auto own = with_own_context(me, checked_communicator(me, given), name);
        own->shared->revoked_with.store(
            checked_communicator(me, given).shared->context,
            std::memory_order_relaxed);  // Relaxed: MPI_Start asks `given` itself.
        comm = handle_of(*own);
        *request = add_persistent(
            me, given,
            [own, work = std::function<void()>(prepare(me))] {
              return detail::start_collective(own->ranks.shared_state(), own->own, work);
            },
            name);
      },
      arguments...);
}

// Defines the six functions: WEFT_MPI_COLLECTIVE(Bcast, Ibcast, prepare_bcast, BCAST, buffer, count, datatype, root,
// comm), where BCAST(Count, Displacement) are the parameters. Ranks may mix calls with counts of either size: both
// have the same name in checks.
#define WEFT_MPI_COLLECTIVE(Name, IName, prepare, ...) \
  WEFT_MPI_DIRECT_COLLECTIVE(Name, IName, never_directly, prepare, __VA_ARGS__)
#define WEFT_MPI_DIRECT_COLLECTIVE(Name, IName, directly, prepare, PARAMETERS, ...)       \
  WEFT_MPI_COLLECTIVE_SIZED(Name, IName, , directly, prepare, (PARAMETERS(int, int)),     \
                            (PARAMETERS(int, int), MPI_Request * request),                \
                            (PARAMETERS(int, int), MPI_Info info, MPI_Request * request), \
                            __VA_ARGS__)                                                  \
  WEFT_MPI_COLLECTIVE_SIZED(                                                              \
      Name, IName, _c, directly, prepare, (PARAMETERS(MPI_Count, MPI_Aint)),              \
      (PARAMETERS(MPI_Count, MPI_Aint), MPI_Request * request),                           \
      (PARAMETERS(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request * request), __VA_ARGS__)
#define WEFT_MPI_COLLECTIVE_SIZED(Name, IName, suffix, directly, prepare, blocking, started,     \
                                  persistent, ...)                                               \
  WEFT_MPI_FUNCTION(int, MPI_##Name##suffix, blocking) {                                         \
    return run_collective(                                                                       \
        "MPI_" #Name #suffix, comm,                                                              \
        [&](state& me) { return directly(me, "MPI_" #Name, __VA_ARGS__); },                      \
        [&](state& me) { return prepare(me, "MPI_" #Name, __VA_ARGS__); }, __VA_ARGS__);         \
  }                                                                                              \
  WEFT_MPI_FUNCTION(int, MPI_##IName##suffix, started) {                                         \
    return start_collective(                                                                     \
        "MPI_" #IName #suffix, comm, request,                                                    \
        [&](state& me) { return prepare(me, "MPI_" #IName, __VA_ARGS__); }, __VA_ARGS__);        \
  }                                                                                              \
  WEFT_MPI_FUNCTION(int, MPI_##Name##_init##suffix, persistent) {                                \
    return make_persistent(                                                                      \
        "MPI_" #Name "_init" #suffix, comm, info, request,                                       \
        [&](state& me) { return prepare(me, "MPI_" #Name "_init", __VA_ARGS__); }, __VA_ARGS__); \
  }

// --- Data ----------------------------------------------------------------------------------------

// A part for each of some ranks, like detail::parts, but it owns the layouts.
class part_list {
 public:
  part_list() = default;  // No parts.
  // The same part for each of the ranks first, ..., first + n - 1.
  static part_list alike(const void* buffer, MPI_Count count, const datatype_object& type,
                         int first, int n, std::ptrdiff_t displacement = 0);
  // Blocks of `count` elements, one after the other.
  static part_list blocks(const void* buffer, MPI_Count count, const datatype_object& type,
                          int first, int n);
  // Parts with a count for each rank, at displacements in units of the extent.
  template <class Count, class Displacement>
  static part_list listed(const void* buffer, const Count* counts,
                          const Displacement* displacements, const datatype_object& type, int first,
                          int n);
  // Parts with a count and a datatype for each rank, at displacements in bytes.
  template <class Count, class Displacement>
  static part_list of_types(const void* buffer, const Count* counts,
                            const Displacement* displacements, const MPI_Datatype* types, int first,
                            int n);

  [[nodiscard]] detail::parts view() const noexcept;
  [[nodiscard]] detail::segments at(int place) const { return view().at(rows_.first + place); }
  [[nodiscard]] int count() const noexcept { return rows_.count; }
  // Calls visit(rank, datatype, count) for each part. Called only while a collective is prepared: it reads the
  // program's arrays.
  template <class Visit>
  void each_named(const Visit& visit) const {
    for (int i = 0; i < rows_.count; ++i)
      visit(rows_.first + i,
            named_.types != nullptr ? committed_datatype(named_.types[i]) : *named_.type,
            named_.counts != nullptr ? named_.count_at(named_.counts, i) : named_.count);
  }

 private:
  // Makes the first part only; the caller adds the layouts of the others.
  part_list(const void* buffer, MPI_Count count, const datatype_object& type, int first, int n);

  // The program's arguments.
  struct names {
    const datatype_object* type = nullptr;  // One for all parts, or
    const MPI_Datatype* types = nullptr;    // one for each.
    MPI_Count count = 0;                    // One for all parts, or
    const void* counts = nullptr;           // one for each.
    MPI_Count (*count_at)(const void* counts, int i) = nullptr;
  };
  template <class Count>
  static names named_by(const datatype_object* type, const MPI_Datatype* types,
                        const Count* counts) {
    return {type, types, 0, counts,
            [](const void* all, int i) { return MPI_Count{static_cast<const Count*>(all)[i]}; }};
  }

  detail::parts rows_;                  // Used when the parts are bytes in a row.
  std::vector<detail::segments> each_;  // Otherwise the layouts by place; a single one is for all.
  names named_;
};

// The role of a rank in a collective with a root.
struct part_of_root {
  bool is_root = false;
  bool is_idle = false;  // It is in the root's group of an inter-communicator (MPI_PROC_NULL).
  int root = detail::no_root;  // The root's number in communicator_object::ranks, if it is known.
};
[[nodiscard]] part_of_root part_in(const communicator_object& c, int root);

// What a rank says about the root of a collective of an inter-communicator.
struct claim_of_root {
  bool root_gives;  // The root gives to all others; false: all others give to it.
  part_of_root mine;
  int peers_first;
  int locals_first;
};
// Throws when the parts show that another rank names another root.
void check_claims(const char* call, const claim_of_root& claim, const detail::unequal_parts& found);
// Whether the buffer is MPI_IN_PLACE, which inter-communicators refuse.
[[nodiscard]] bool is_in_place(const communicator_object& c, const void* buffer);

// The bytes in a row that a buffer with this datatype begins with.
[[nodiscard]] std::byte* row_of(const void* buffer, std::size_t bytes, const datatype_object& type);
[[noreturn, gnu::cold]] void fail_alias();
// Checks that the two buffers are not the same; empty ones may be.
inline void check_not_aliased(const void* sent, const void* received, std::size_t bytes) {
  if (sent == received && bytes != 0 && sent != nullptr) [[unlikely]]
    fail_alias();
}

template <class Count, class Displacement>
part_list part_list::listed(const void* buffer, const Count* counts,
                            const Displacement* displacements, const datatype_object& type,
                            int first, int n) {
  part_list p;
  p.rows_ = {first, n};
  p.named_ = named_by(&type, nullptr, counts);
  check_not_null(counts, "the array of counts");
  check_not_null(displacements, "the array of displacements");
  p.each_.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    check_count(counts[i]);
    p.each_.push_back(counts[i] == 0
                          ? detail::segments()
                          : layout_of(buffer, counts[i], type, displacements[i] * type.extent));
    if (counts[i] != 0 && type.contiguous && is_no_memory(buffer)) fail_buffer(buffer, type);
  }
  return p;
}

template <class Count, class Displacement>
part_list part_list::of_types(const void* buffer, const Count* counts,
                              const Displacement* displacements, const MPI_Datatype* types,
                              int first, int n) {
  part_list p;
  p.rows_ = {first, n};
  p.named_ = named_by(nullptr, types, counts);
  check_not_null(counts, "the array of counts");
  check_not_null(displacements, "the array of displacements");
  check_not_null(types, "the array of datatypes");
  p.each_.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    check_count(counts[i]);
    const datatype_object& type = committed_datatype(types[i]);
    p.each_.push_back(counts[i] == 0 ? detail::segments()
                                     : layout_of(buffer, counts[i], type, displacements[i]));
  }
  return p;
}

}  // namespace weft::mpi
