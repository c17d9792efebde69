// Messages of data that do not lie in a row, as layouts of weft and as derived datatypes of MPI: a
// column of a matrix, members of structures, the faces of a block of a three-dimensional array. Beside
// each the same message packed and unpacked by the program ("packed"), which every library can do.
#include <array>
#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "adapter.hpp"

namespace {

struct vector3 {
  double x, y, z;
};
struct particle {
  vector3 position;
  vector3 velocity;
  std::int32_t kind;
  std::int32_t owner;
};
constexpr std::size_t rows = 1024, columns = 64;  // Of the matrix.
constexpr std::size_t particles = 1024;
constexpr std::size_t edge = 64, stored = edge + 2;  // Of the block, without and with its halo.
constexpr std::size_t directions = 6;

using doubles = std::vector<double>;
using block_index = std::array<std::size_t, 3>;

// --- Where the data of a message are --------------------------------------------------------------
#ifdef BENCH_OVER_MPI
struct shape {
  void* base;
  MPI_Datatype type;
};
MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
shape column_of(doubles& matrix, std::size_t column) {
  MPI_Datatype type;
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &type);
  return {matrix.data() + column, committed(type)};
}
shape part_of(std::vector<particle>& all) {
  const int lengths[] = {3, 1};
  const MPI_Aint at[] = {offsetof(particle, position), offsetof(particle, kind)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT32_T};
  MPI_Datatype one, resized, type;
  MPI_Type_create_struct(2, lengths, at, types, &one);
  MPI_Type_create_resized(one, 0, sizeof(particle), &resized);
  MPI_Type_contiguous(static_cast<int>(all.size()), resized, &type);
  return {all.data(), committed(type)};
}
shape block_of(doubles& grid, const block_index& first, const block_index& count) {
  const int sizes[] = {stored, stored, stored};
  const int counts[] = {static_cast<int>(count[0]), static_cast<int>(count[1]),
                        static_cast<int>(count[2])};
  const int starts[] = {static_cast<int>(first[0]), static_cast<int>(first[1]),
                        static_cast<int>(first[2])};
  MPI_Datatype type;
  MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  return {grid.data(), committed(type)};
}
void send(bench::peers&, const shape& s, int to) {
  MPI_Send(s.base, 1, s.type, to, 0, MPI_COMM_WORLD);
}
void recv(bench::peers&, const shape& s, int from) {
  MPI_Recv(s.base, 1, s.type, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
bench::request isend(bench::peers&, const shape& s, int to, int tag) {
  bench::request r;
  MPI_Isend(s.base, 1, s.type, to, tag, MPI_COMM_WORLD, &r);
  return r;
}
bench::request irecv(bench::peers&, const shape& s, int from, int tag) {
  bench::request r;
  MPI_Irecv(s.base, 1, s.type, from, tag, MPI_COMM_WORLD, &r);
  return r;
}
#else
using shape = weft::layout;
shape column_of(doubles& matrix, std::size_t column) {
  return weft::strided(matrix, {.first = column, .stride = columns, .count = rows});
}
shape part_of(std::vector<particle>& all) {
  return weft::members(all, &particle::position, &particle::kind);
}
shape block_of(doubles& grid, const block_index& f, const block_index& n) {
  return weft::sub_array(grid, {stored, stored, stored}, {f[0], f[1], f[2]}, {n[0], n[1], n[2]});
}
void send(bench::peers& p, const shape& s, int to) {
  p.world().send(s, to);
}
void recv(bench::peers& p, const shape& s, int from) {
  p.world().recv(s, from);
}
bench::request isend(bench::peers& p, const shape& s, int to, int tag) {
  return p.world().isend(s, to, tag);
}
bench::request irecv(bench::peers& p, const shape& s, int from, int tag) {
  return p.world().irecv(s, from, tag);
}
#endif

// --- What is measured -----------------------------------------------------------------------------
template <class Send, class Recv>
void one_way(bench::peers& p, const std::string& name, const Send& send_it, const Recv& recv_it) {
  bench::measure(
      p, "datatypes/one_way/" + name,
      [&](long n) {
        for (long i = 0; i < n; ++i) {
          if (p.rank() == 0) send_it();
          recv_it();
          if (p.rank() == 1) send_it();
        }
      },
      2);
}

// `pack(bytes)` and `unpack(bytes)` are the program's own loops.
template <class Element, class Pack, class Unpack>
void one_way_both(bench::peers& p, const std::string& name, const shape& where,
                  std::size_t elements, const Pack& pack, const Unpack& unpack) {
  const int other = 1 - p.rank();
  one_way(
      p, name, [&] { send(p, where, other); }, [&] { recv(p, where, other); });
  std::vector<Element> out(elements), in(elements);
  one_way(
      p, name + "/packed",
      [&] {
        pack(out);
        p.send_span(std::span<const Element>(out), other);
      },
      [&] {
        p.recv_span(std::span(in), other);
        unpack(in);
      });
}

void columns_of_a_matrix(bench::peers& p) {
  doubles matrix(rows * columns);
  const auto at = [&](std::size_t row) -> double& { return matrix[row * columns + 5]; };
  if (p.rank() == 0)
    for (std::size_t row = 0; row < rows; ++row) at(row) = static_cast<double>(row);
  one_way_both<double>(
      p, "column/8KiB", column_of(matrix, 5), rows,
      [&](doubles& out) {
        for (std::size_t row = 0; row < rows; ++row) out[row] = at(row);
      },
      [&](const doubles& in) {
        for (std::size_t row = 0; row < rows; ++row) at(row) = in[row];
      });
  for (std::size_t row = 0; row < rows; ++row)
    if (at(row) != static_cast<double>(row) && bench::wanted("datatypes/one_way/column/8KiB"))
      throw std::runtime_error("the column arrived changed");
}

void members_of_structures(bench::peers& p) {
  struct part {
    vector3 position;
    std::int32_t kind;
  };
  std::vector<particle> all(particles);
  one_way_both<part>(
      p, "members/28KiB", part_of(all), particles,
      [&](std::vector<part>& out) {
        for (std::size_t i = 0; i < particles; ++i) out[i] = {all[i].position, all[i].kind};
      },
      [&](const std::vector<part>& in) {
        for (std::size_t i = 0; i < particles; ++i)
          all[i].position = in[i].position, all[i].kind = in[i].kind;
      });
}

// The layer of the block inside (or the one outside, its halo) at the lower or upper end of a dimension.
struct face {
  block_index first{1, 1, 1};
  block_index count{edge, edge, edge};
  face(std::size_t dimension, bool upper, bool outside) {
    count[dimension] = 1;
    first[dimension] = upper ? edge + outside : 1 - outside;
  }
};

void copy_face(const face& f, doubles& grid, doubles& line, bool out) {
  std::size_t next = 0;
  for (std::size_t x = f.first[0]; x < f.first[0] + f.count[0]; ++x)
    for (std::size_t y = f.first[1]; y < f.first[1] + f.count[1]; ++y) {
      double* const row = grid.data() + (x * stored + y) * stored + f.first[2];
      for (std::size_t z = 0; z < f.count[2]; ++z, ++next)
        (out ? line[next] : row[z]) = out ? row[z] : line[next];
    }
}

void faces_of_a_block(bench::peers& p) {
  doubles grid(stored * stored * stored);
  for (std::size_t d = 0; d < 3; ++d) {
    const face f(d, false, false);
    one_way_both<double>(
        p, std::string("face_") + "xyz"[d] + "/32KiB", block_of(grid, f.first, f.count),
        edge * edge, [&](doubles& out) { copy_face(f, grid, out, true); },
        [&](doubles& in) { copy_face(f, grid, in, false); });
  }
}

// Both ranks exchange all six faces of their blocks.
void halo(bench::peers& p) {
  doubles grid(stored * stored * stored);
  std::iota(grid.begin(), grid.end(), 0.0);
  const int other = 1 - p.rank();
  std::vector<face> inside, outside;
  std::vector<shape> from, into;
  for (std::size_t i = 0; i < directions; ++i) {
    inside.emplace_back(i / 2, i % 2 != 0, false);
    outside.emplace_back(i / 2, i % 2 != 0, true);
    from.push_back(block_of(grid, inside[i].first, inside[i].count));
    into.push_back(block_of(grid, outside[i].first, outside[i].count));
  }
  std::vector<bench::request> requests(2 * directions);
  bench::measure(p, "datatypes/halo/64^3", [&](long n) {
    for (long step = 0; step < n; ++step) {
      for (std::size_t i = 0; i < directions; ++i)
        requests[i] = irecv(p, into[i], other, static_cast<int>(i));
      for (std::size_t i = 0; i < directions; ++i)
        requests[directions + i] = isend(p, from[i], other, static_cast<int>(i));
      p.wait_all(requests);
    }
  });
  std::vector<doubles> out(directions, doubles(edge * edge)), in = out;
  bench::measure(p, "datatypes/halo/64^3/packed", [&](long n) {
    for (long step = 0; step < n; ++step) {
      for (std::size_t i = 0; i < directions; ++i)
        requests[i] = p.irecv(std::span(in[i]), other, static_cast<int>(i));
      for (std::size_t i = 0; i < directions; ++i) {
        copy_face(inside[i], grid, out[i], true);
        requests[directions + i] =
            p.isend(std::span<const double>(out[i]), other, static_cast<int>(i));
      }
      p.wait_all(requests);
      for (std::size_t i = 0; i < directions; ++i) copy_face(outside[i], grid, in[i], false);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    columns_of_a_matrix(p);
    members_of_structures(p);
    faces_of_a_block(p);
    halo(p);
  });
}
