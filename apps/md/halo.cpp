#include "md/halo.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace md {
namespace {

struct migrant {
  site at;
  vec3 velocity;
  std::uint64_t id;
};

double& coordinate(site& s, int axis) {
  return axis == 0 ? s.x : axis == 1 ? s.y : s.z;
}

}  // namespace

halo_exchange::halo_exchange(weft::communicator ranks, const domain& where, double width)
    : ranks_(std::move(ranks)), domain_(where), width_(width) {
  for (int axis = 0; axis < 3; ++axis)
    for (int upper = 0; upper < 2; ++upper) {
      direction& d = directions_[2 * axis + upper];
      const int side = upper == 1 ? 1 : -1;
      d.to = domain_.neighbor(axis, side);
      d.from = domain_.neighbor(axis, -side);
      d.tag = 2 * axis + upper;  // Both neighbours may be the same rank.
      d.axis = axis;
      d.shift = domain_.shift(axis, side);
    }
}

// Sends out[0] down and out[1] up along the axis of `pair`; lengths are not known beforehand.
template <class Record>
void halo_exchange::exchange(direction* pair, std::vector<Record> (&out)[2],
                             std::vector<Record> (&in)[2]) {
  if (pair[0].to == ranks_.rank()) {
    in[0] = std::move(out[0]);
    in[1] = std::move(out[1]);
    return;
  }
  weft::request sends[2] = {ranks_.isend(out[0], pair[0].to, pair[0].tag),
                            ranks_.isend(out[1], pair[1].to, pair[1].tag)};
  in[0] = ranks_.recv_vector<Record>(pair[0].from, pair[0].tag);
  in[1] = ranks_.recv_vector<Record>(pair[1].from, pair[1].tag);
  weft::wait_all(sends);
}

void halo_exchange::migrate(atom_store& atoms) {
  atoms.sites.resize(atoms.owned);
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<migrant> out[2], in[2];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < atoms.owned; ++i) {
      const double x = coordinate(atoms.sites[i], axis);
      const bool down = x < domain_.low[axis], up = x >= domain_.high[axis];
      if (down || up) {
        migrant m{atoms.sites[i], atoms.velocity[i], atoms.id[i]};
        coordinate(m.at, axis) += directions_[2 * axis + (up ? 1 : 0)].shift;
        out[up ? 1 : 0].push_back(m);
        continue;
      }
      atoms.sites[kept] = atoms.sites[i];
      atoms.velocity[kept] = atoms.velocity[i];
      atoms.id[kept] = atoms.id[i];
      ++kept;
    }
    atoms.sites.resize(kept);
    atoms.velocity.resize(kept);
    atoms.id.resize(kept);
    atoms.owned = kept;
    exchange(&directions_[2 * axis], out, in);
    for (const auto& arrived : in)
      for (const migrant& m : arrived) atoms.add(m.id, {m.at.x, m.at.y, m.at.z}, m.velocity);
  }
}

void halo_exchange::build(atom_store& atoms) {
  auto& sites = atoms.sites;
  sites.resize(atoms.owned);
  for (int axis = 0; axis < 3; ++axis) {
    direction* pair = &directions_[2 * axis];
    const double low = domain_.low[axis] + width_, high = domain_.high[axis] - width_;
    pair[0].chosen.clear();
    pair[1].chosen.clear();
    for (std::uint32_t i = 0; i < sites.size(); ++i) {
      const double x = coordinate(sites[i], axis);
      if (x < low) pair[0].chosen.push_back(i);
      if (x >= high) pair[1].chosen.push_back(i);
    }
    std::vector<site> out[2], in[2];
    for (int k = 0; k < 2; ++k)
      for (const std::uint32_t i : pair[k].chosen) {
        out[k].push_back(sites[i]);
        coordinate(out[k].back(), axis) += pair[k].shift;
      }
    exchange(pair, out, in);
    for (int k = 0; k < 2; ++k) {
      pair[k].ghosts_begin = sites.size();
      pair[k].ghosts = in[k].size();
      sites.insert(sites.end(), in[k].begin(), in[k].end());
      pair[k].subgroups_out.resize(pair[k].chosen.size());
      pair[k].slopes_out.resize(pair[k].chosen.size());
      pair[k].slopes_in.resize(in[k].size());
    }
  }
  sites.push_back(eam_kernel::remote_subgroup());
}

void halo_exchange::forward_positions(std::vector<site>& sites) {
  for (int axis = 0; axis < 3; ++axis) {
    direction* pair = &directions_[2 * axis];
    const bool alone = pair->to == ranks_.rank();
    for (direction* d = pair; d != pair + 2; ++d) {
      // A rank that is its own neighbour writes its ghosts at once.
      site* out = alone ? &sites[d->ghosts_begin] : d->subgroups_out.data();
      for (const std::uint32_t i : d->chosen) {
        *out = sites[i];
        coordinate(*out++, axis) += d->shift;
      }
    }
    if (alone) continue;
    std::span<site> in[2];
    for (int k = 0; k < 2; ++k)
      in[k] = std::span(sites).subspan(pair[k].ghosts_begin, pair[k].ghosts);
    weft::request requests[4] = {ranks_.irecv(in[0], pair[0].from, pair[0].tag),
                                 ranks_.irecv(in[1], pair[1].from, pair[1].tag),
                                 ranks_.isend(pair[0].subgroups_out, pair[0].to, pair[0].tag),
                                 ranks_.isend(pair[1].subgroups_out, pair[1].to, pair[1].tag)};
    weft::wait_all(requests);
  }
}

void halo_exchange::forward_slopes(std::vector<site>& sites) {
  for (int axis = 0; axis < 3; ++axis) {
    direction* pair = &directions_[2 * axis];
    const bool alone = pair->to == ranks_.rank();
    for (direction* d = pair; d != pair + 2; ++d)
      for (std::size_t k = 0; k < d->chosen.size(); ++k) {
        const double slope = sites[d->chosen[k]].embedding_slope;
        if (alone)
          sites[d->ghosts_begin + k].embedding_slope = slope;
        else
          d->slopes_out[k] = slope;
      }
    if (alone) continue;
    weft::request requests[4] = {ranks_.irecv(pair[0].slopes_in, pair[0].from, pair[0].tag),
                                 ranks_.irecv(pair[1].slopes_in, pair[1].from, pair[1].tag),
                                 ranks_.isend(pair[0].slopes_out, pair[0].to, pair[0].tag),
                                 ranks_.isend(pair[1].slopes_out, pair[1].to, pair[1].tag)};
    weft::wait_all(requests);
    for (direction* d = pair; d != pair + 2; ++d)
      for (std::size_t k = 0; k < d->ghosts; ++k)
        sites[d->ghosts_begin + k].embedding_slope = d->slopes_in[k];
  }
}

std::vector<std::size_t> halo_exchange::message_subgroups() const {
  std::vector<std::size_t> sizes;
  for (const direction& d : directions_) sizes.push_back(d.chosen.size());
  return sizes;
}

}  // namespace md
