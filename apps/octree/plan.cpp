#include "octree/plan.hpp"

namespace octree {
namespace {

int direction_to(int face) {
  index3 step{};
  step[static_cast<std::size_t>(axis_of(face))] = is_upper(face) ? 1 : -1;
  return 9 * (step[0] + 1) + 3 * (step[1] + 1) + step[2] + 1;
}

// The four children of a neighbour beyond `face` that touch it, by quarter.
int child_at_face(int face, int quarter) {
  index3 at{};
  at[static_cast<std::size_t>(axis_of(face))] = is_upper(face) ? 0 : 1;
  const auto [b, c] = axes_across(axis_of(face));
  at[static_cast<std::size_t>(b)] = quarter / 2;
  at[static_cast<std::size_t>(c)] = quarter % 2;
  return 4 * at[0] + 2 * at[1] + at[2];
}

std::uint32_t size_of(link_kind kind, bool from_leaf, int place) {
  constexpr std::size_t layers = fields * ghost_layers * face_cells;
  switch (kind) {
    case link_kind::layers:
    case link_kind::prolonged:
      return layers;
    case link_kind::restricted:
      return layers / 4;
    case link_kind::fluxes:
      return fields * face_cells / 4;
    case link_kind::up:
      return moments * cells / 8;
    case link_kind::down:
      return field_terms * cells / 8;
    case link_kind::beside:
      break;
  }
  std::uint32_t size = from_leaf ? 1 : moments;
  for (const int step : step_of(place)) {
    const near_range range = near_layers(step);
    size *= static_cast<std::uint32_t>(range.end - range.begin);
  }
  return size;
}

}  // namespace

const char* name_of(link_kind kind) noexcept {
  constexpr const char* names[link_kinds] = {"layers",    "restricted layers", "prolonged layers",
                                             "fluxes",    "moments up",        "moments beside",
                                             "field down"};
  return names[static_cast<std::size_t>(kind)];
}

void plan::add(link l) {
  std::size_t& inbox = inbox_[static_cast<std::size_t>(l.to)];
  l.offset = static_cast<std::uint32_t>(inbox);
  inbox += l.size;
  links_.push_back(l);
}

void plan::add_leaf(const tree& of, int index) {
  const node& n = of[index];
  const auto make = [&](int from, link_kind kind, int face, int quarter) {
    add({from, index, kind, static_cast<std::uint8_t>(face), static_cast<std::uint8_t>(quarter), 0,
         size_of(kind, true, face)});
  };
  for (int face = 0; face < faces; ++face) {
    const int direction = direction_to(face);
    const int other = n.neighbors[static_cast<std::size_t>(direction)];
    if (other >= 0 && of[other].is_leaf()) {
      make(other, link_kind::layers, face, 0);
    } else if (other >= 0) {
      for (const link_kind kind : {link_kind::restricted, link_kind::fluxes})
        for (int quarter = 0; quarter < 4; ++quarter)
          make(of[other].children[static_cast<std::size_t>(child_at_face(face, quarter))], kind,
               face, quarter);
    } else if (const node_key key = beside(n.key, step_of(direction)); key != 0) {
      make(of.find(parent_of(key)), link_kind::prolonged, face, 0);
    }
  }
}

plan::plan(const tree& of) : inbox_(static_cast<std::size_t>(of.size())) {
  std::vector<std::size_t> leaving(inbox_.size());
  for (int index = 0; index < of.size(); ++index) {
    in_.push_back(static_cast<int>(links_.size()));
    const node& n = of[index];
    if (n.is_leaf()) {
      add_leaf(of, index);
    } else {
      for (std::size_t child = 0; child < 8; ++child)
        add({n.children[child], index, link_kind::up, static_cast<std::uint8_t>(child), 0, 0,
             size_of(link_kind::up, false, 0)});
    }
    for (int direction = 0; direction < directions; ++direction) {
      const int other = n.neighbors[static_cast<std::size_t>(direction)];
      if (other < 0 || direction == no_direction) continue;
      add({other, index, link_kind::beside, static_cast<std::uint8_t>(direction), 0, 0,
           size_of(link_kind::beside, of[other].is_leaf(), direction)});
    }
    if (n.parent >= 0)
      add({n.parent, index, link_kind::down, static_cast<std::uint8_t>(n.key & 7), 0, 0,
           size_of(link_kind::down, false, 0)});
  }
  in_.push_back(static_cast<int>(links_.size()));

  first_out_.resize(inbox_.size() + 1);
  for (const link& l : links_) ++first_out_[static_cast<std::size_t>(l.from) + 1];
  for (std::size_t i = 1; i < first_out_.size(); ++i) first_out_[i] += first_out_[i - 1];
  out_.resize(links_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto from = static_cast<std::size_t>(links_[i].from);
    out_[first_out_[from] + leaving[from]++] = static_cast<int>(i);
  }
}

}  // namespace octree
