#include "mpi/datatype/datatype_builder.hpp"

#include <algorithm>

namespace weft::mpi {

using namespace detail;

namespace {

// The lowest and the highest of several bounds. An upper bound may be below the lower one: programs
// may set them so.
class extremes {
 public:
  void add(std::ptrdiff_t lower, std::ptrdiff_t upper) noexcept {
    lower_ = empty_ ? lower : std::min(lower_, lower);
    upper_ = empty_ ? upper : std::max(upper_, upper);
    empty_ = false;
  }
  // The same again `copies.count` times.
  void repeat_each(const repeat& copies) noexcept {
    if (empty_) return;
    const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(copies.count - 1) * copies.stride;
    add(lower_ + last, upper_ + last);
  }
  [[nodiscard]] std::ptrdiff_t lower() const noexcept { return lower_; }
  [[nodiscard]] std::ptrdiff_t upper() const noexcept { return upper_; }
  [[nodiscard]] std::ptrdiff_t size() const noexcept { return upper_ - lower_; }

 private:
  bool empty_ = true;
  std::ptrdiff_t lower_ = 0;
  std::ptrdiff_t upper_ = 0;
};

extremes of_runs(const segments& where) {
  extremes all;
  if (where.size() == 0) return all;
  for (const block_run& r : where.runs()) {
    extremes one;
    const auto from = static_cast<std::ptrdiff_t>(where.base()) + r.offset;
    one.add(from, from + static_cast<std::ptrdiff_t>(r.block));
    one.repeat_each(r.inner);
    one.repeat_each(r.middle);
    all.add(one.lower(), one.upper());
  }
  all.repeat_each(where.all());
  return all;
}

// A bound that the program has set counts alone where there is one (MPI 4.1 section 5.1.6), each of the
// two for itself: MPI_LB and MPI_UB set one. Others leave room for the alignment of the next element.
void describe_bounds(datatype_object& made, std::span<const placement> parts,
                     const repeat& copies) {
  for (const placement& p : parts) {
    if (p.count == 0) continue;
    made.explicit_lower = made.explicit_lower || p.type->explicit_lower;
    made.explicit_upper = made.explicit_upper || p.type->explicit_upper;
  }
  extremes for_lower;
  extremes for_upper;
  for (const placement& p : parts) {
    if (p.count == 0) continue;
    extremes one;
    one.add(p.displacement + p.type->lower, p.displacement + p.type->lower + p.type->extent);
    one.repeat_each({p.count, p.stride});
    const bool has_data = p.type->size != 0;
    if (made.explicit_lower ? p.type->explicit_lower : has_data)
      for_lower.add(one.lower(), one.upper());
    if (made.explicit_upper ? p.type->explicit_upper : has_data)
      for_upper.add(one.lower(), one.upper());
  }
  for_lower.repeat_each(copies);
  for_upper.repeat_each(copies);
  made.lower = for_lower.lower();
  made.extent = for_upper.upper() - made.lower;
  const auto unit = static_cast<std::ptrdiff_t>(made.alignment);
  if (!made.explicit_upper && made.extent % unit != 0) made.extent += unit - made.extent % unit;
}

}  // namespace

void conclude_layout(datatype_object& made, segments where) {
  const extremes covered = of_runs(where);
  made.size = where.size();
  made.true_lower = covered.lower();
  made.true_extent = covered.size();
  made.where = std::move(where);
}

void set_bounds(datatype_object& made, std::ptrdiff_t lower, std::ptrdiff_t extent) {
  made.lower = lower;
  made.extent = extent;
  made.contiguous =
      made.size == 0 || (made.where.contiguous() && made.where.flat().data() == nullptr &&
                         static_cast<std::ptrdiff_t>(made.size) == extent);
}

void describe(datatype_object& made, std::span<const placement> parts, repeat copies) {
  if (copies.count == 0) parts = {};
  std::vector<block_run> runs;
  segments where;
  std::size_t basic_count = 0;
  std::size_t basic_size = 0;
  bool mixed = false;
  for (const placement& p : parts) {
    if (p.count == 0) continue;
    made.alignment = std::max(made.alignment, p.type->alignment);
    if (p.type->size == 0) continue;
    basic_count += p.count * p.type->basic_count;
    mixed =
        mixed || p.type->basic_size == 0 || (basic_size != 0 && basic_size != p.type->basic_size);
    basic_size = p.type->basic_size;
    // A displacement is an address relative to whatever address a message will have.
    const segments part =
        p.type->where.placed(reinterpret_cast<const void*>(p.displacement), {p.count, p.stride});
    if (parts.size() == 1)
      where = part;
    else
      append(runs, part);
  }
  if (parts.size() > 1) where = segments(nullptr, {}, std::move(runs));
  conclude_layout(made, where.placed(nullptr, copies));
  made.basic_count = basic_count * copies.count;
  made.basic_size = mixed ? 0 : basic_size;
  describe_bounds(made, parts, copies);
  set_bounds(made, made.lower, made.extent);
}

datatype_object& make_likeness(state& me, const datatype_object& old) {
  datatype_object& made = me.datatypes.make();
  made.size = old.size;
  made.contiguous = old.contiguous;
  made.explicit_lower = old.explicit_lower;
  made.explicit_upper = old.explicit_upper;
  made.lower = old.lower;
  made.extent = old.extent;
  made.true_lower = old.true_lower;
  made.true_extent = old.true_extent;
  made.alignment = old.alignment;
  made.where = old.where;
  made.basic_count = old.basic_count;
  made.basic_size = old.basic_size;
  return made;
}

void hold(datatype_object& type) noexcept {
  if (type.made != nullptr) ++type.holders;
}

void release(state& me, datatype_object& type) {
  if (type.made == nullptr || --type.holders != 0) return;
  const auto made = type.made;
  me.datatypes.free(type);
  for (datatype_object* part : made->types) release(me, *part);
}

}  // namespace weft::mpi
