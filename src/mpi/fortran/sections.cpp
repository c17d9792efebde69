// Datatypes for sections of Fortran's arrays. Each is made for one call; those of blocks of predefined elements are kept for the next
// calls with the same section, as programs exchange the same parts of arrays again and again.
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "mpi/datatype/datatype_builder.hpp"
#include "mpi/datatype/section.hpp"
#include "mpi/fortran/section.h"

namespace weft::mpi {

struct section_cache {
  // The last ones used, in no order. Each holds its datatype.
  struct entry {
    weft_section section{};
    MPI_Count count = 0;
    MPI_Datatype element = MPI_DATATYPE_NULL;
    datatype_object* made = nullptr;
  };
  std::array<entry, 16> entries;
  std::size_t next = 0;  // Where the next one goes.

  [[nodiscard]] static bool are_same(const weft_section& a, const weft_section& b) noexcept {
    return a.rank == b.rank && a.element_bytes == b.element_bytes &&
           std::memcmp(a.dimensions, b.dimensions,
                       static_cast<std::size_t>(a.rank) * sizeof a.dimensions[0]) == 0;
  }
};

namespace {

array_section section_of(const weft_section& given) {
  std::vector<detail::repeat> dimensions;
  for (int i = 0; i < given.rank; ++i) {
    const auto& d = given.dimensions[i];
    dimensions.push_back({static_cast<std::size_t>(d.extent), d.stride});
  }
  return {static_cast<std::size_t>(given.element_bytes), std::move(dimensions)};
}

// Kept: null where it is none yet.
datatype_object* find_kept(const state& me, const weft_section& section, MPI_Count count,
                           MPI_Datatype element) {
  if (me.last_sections == nullptr) return nullptr;
  for (const auto& e : me.last_sections->entries)
    if (e.element == element && e.count == count && section_cache::are_same(e.section, section))
      return e.made;
  return nullptr;
}

void keep(state& me, const weft_section& section, MPI_Count count, MPI_Datatype element,
          datatype_object& made) {
  if (me.last_sections == nullptr) me.last_sections = std::make_shared<section_cache>();
  auto& e = me.last_sections->entries[me.last_sections->next++ % me.last_sections->entries.size()];
  if (e.made != nullptr) release(me, *e.made);
  e = {section, count, element, &made};
  hold(made);
  if (me.births != nullptr) me.births->ended(object_kind::datatype, &made);
}

// Makes a datatype for one call by make(the new one, the program's). Null: the call has no valid datatype. With `kept_for` it is kept.
template <class Make>
MPI_Datatype made_for_call(MPI_Datatype datatype, const Make& make,
                           const weft_section* kept_for = nullptr, MPI_Count count = 0) {
  const entrance in;
  try {
    state& me = in.checked("MPI");
    if (kept_for != nullptr)
      if (datatype_object* const kept = find_kept(me, *kept_for, count, datatype);
          kept != nullptr) {
        hold(*kept);
        return handle_of(*kept);
      }
    datatype_object& old = committed_datatype(datatype);
    datatype_object& made = make_likeness(me, old);
    made.committed = true;
    made.sections = std::make_shared<sections_of_call>();
    made.made = recorder(MPI_COMBINER_DUP, false).type(old).result();
    try {
      make(made, old);
    } catch (const failure& why) {
      made.committed = false;
      made.name = why.what();
      return handle_of(made);
    }
    if (kept_for != nullptr && is_predefined(datatype)) keep(me, *kept_for, count, datatype, made);
    return handle_of(made);
  } catch (const std::exception&) {
    return nullptr;
  } catch (const job_stopped&) {
    pass_on_stop();
    return nullptr;  // Not reached.
  }
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

MPI_Datatype weft_section_block(const weft_section* section, MPI_Count count,
                                MPI_Datatype datatype) {
  if (count < 0) return nullptr;
  const auto make = [&](datatype_object& made, datatype_object& old) {
    conclude_layout(
        made, section_of(*section).place(nullptr, 0, {static_cast<std::size_t>(count), old.extent},
                                         old.where));
    made.basic_count = old.basic_count * static_cast<std::size_t>(count);
    set_bounds(made, made.true_lower, made.true_extent);
  };
  return made_for_call(datatype, make, section, count);
}

MPI_Datatype weft_section_list(const weft_section* section, MPI_Datatype datatype) {
  return made_for_call(datatype, [&](datatype_object& made, datatype_object& old) {
    made.contiguous = false;
    made.sections = std::make_shared<sections_of_call>(sections_of_call{
        std::make_shared<const array_section>(section_of(*section)), nullptr, &old, datatype});
  });
}

MPI_Datatype weft_section_reduced(const weft_section* from, const weft_section* to,
                                  MPI_Datatype datatype) {
  const auto shared = [](const weft_section* given) {
    return given == nullptr ? nullptr : std::make_shared<const array_section>(section_of(*given));
  };
  return made_for_call(datatype, [&](datatype_object& made, datatype_object& old) {
    made.contiguous = false;
    made.sections = std::make_shared<sections_of_call>(
        sections_of_call{shared(from), shared(to), &old, datatype});
  });
}

void weft_section_end(MPI_Datatype made) {
  const entrance in;
  try {
    state& me = in.checked("MPI");
    auto* const type = find_object<datatype_object>(made);
    if (type == nullptr || type->sections == nullptr) return;
    if (me.births != nullptr && type->holders == 1) me.births->ended(object_kind::datatype, type);
    release(me, *type);
  } catch (const std::exception&) {  // The call has ended MPI; the datatype ends with it.
  }
}

int weft_section_refuse(const char* call, const char* argument, MPI_Comm comm) {
  return in_call(call, comm, [&](state&) {
    fail(MPI_ERR_BUFFER,
         "{} is an array section whose elements do not lie in a row, and this call needs memory in "
         "a row: pass a whole array, or a section without gaps",
         argument);
  });
}
