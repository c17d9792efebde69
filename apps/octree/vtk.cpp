#include "octree/vtk.hpp"

#include <bit>
#include <cstdint>
#include <string>

namespace octree {
namespace {

constexpr std::size_t corner_side = side + 1, corners = corner_side * corner_side * corner_side;
constexpr std::uint8_t voxel = 11;  // VTK_VOXEL: its corners with x fastest, then y, then z.

// Where the arrays begin behind the XML; each has its size in bytes before it.
struct array_of_values {
  const char* name;
  const char* type;
  int components;
  std::uint64_t bytes;
};

void write_array(front::output_file& file, const auto& values) {
  const std::uint64_t bytes = values.size() * sizeof(values[0]);
  file.write(&bytes, sizeof bytes);
  file.write(values.data(), static_cast<std::size_t>(bytes));
}

}  // namespace

void write_vtk(front::output_file& file, const std::vector<leaf_record>& leaves, double time) {
  const std::uint64_t cell_count = leaves.size() * cells, point_count = leaves.size() * corners;
  const array_of_values arrays[] = {
      {"Points", "Float32", 3, 12 * point_count},  {"connectivity", "Int64", 1, 64 * cell_count},
      {"offsets", "Int64", 1, 8 * cell_count},     {"types", "UInt8", 1, cell_count},
      {"density", "Float32", 1, 4 * cell_count},   {"potential", "Float32", 1, 4 * cell_count},
      {"velocity", "Float32", 3, 12 * cell_count}, {"level", "UInt8", 1, cell_count},
      {"locality", "Int32", 1, 4 * cell_count},
  };
  std::uint64_t offset = 0;
  const auto declare = [&](const array_of_values& a) {
    file.print(
        "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" "
        "offset=\"%llu\"/>\n",
        a.type, a.name, a.components, static_cast<unsigned long long>(offset));
    offset += a.bytes + 8;
  };
  file.print(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
      "byte_order=\"%s\" header_type=\"UInt64\">\n<UnstructuredGrid>\n",
      std::endian::native == std::endian::little ? "LittleEndian" : "BigEndian");
  file.print(
      "<FieldData><DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" "
      "format=\"ascii\">%.17g</DataArray></FieldData>\n",
      time);
  file.print("<Piece NumberOfPoints=\"%llu\" NumberOfCells=\"%llu\">\n<Points>\n",
             static_cast<unsigned long long>(point_count),
             static_cast<unsigned long long>(cell_count));
  declare(arrays[0]);
  file.print("</Points>\n<Cells>\n");
  for (int i = 1; i < 4; ++i) declare(arrays[i]);
  file.print("</Cells>\n<CellData Scalars=\"density\">\n");
  for (int i = 4; i < 9; ++i) declare(arrays[i]);
  file.print("</CellData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_");

  std::vector<float> points;
  std::vector<std::int64_t> connectivity, offsets;
  points.reserve(3 * point_count);
  connectivity.reserve(8 * cell_count);
  std::int64_t first = 0;
  for (const leaf_record& leaf : leaves) {
    const int level = level_of(leaf.key);
    const index3 at = place_of(leaf.key);
    const double cell = cell_width(level);
    for (int i = 0; i <= width; ++i)
      for (int j = 0; j <= width; ++j)
        for (int k = 0; k <= width; ++k)
          for (const int place : {at[0] * width + i, at[1] * width + j, at[2] * width + k})
            points.push_back(static_cast<float>(cell * place - 0.5 * domain_edge));
    for (std::size_t i = 0; i < cells; ++i)
      for (std::size_t corner = 0; corner < 8; ++corner)
        connectivity.push_back(
            first + static_cast<std::int64_t>(
                        ((i / 64 + (corner & 1)) * corner_side + i / 8 % 8 + (corner >> 1 & 1)) *
                            corner_side +
                        i % 8 + (corner >> 2)));
    first += static_cast<std::int64_t>(corners);
  }
  for (std::uint64_t i = 1; i <= cell_count; ++i)
    offsets.push_back(static_cast<std::int64_t>(8 * i));
  write_array(file, points);
  write_array(file, connectivity);
  write_array(file, offsets);
  write_array(file, std::vector<std::uint8_t>(cell_count, voxel));
  std::vector<float> values, velocities;
  const auto write_field = [&](const auto& of) {
    values.clear();
    for (const leaf_record& leaf : leaves)
      values.insert(values.end(), of(leaf).begin(), of(leaf).end());
    write_array(file, values);
  };
  write_field([](const leaf_record& l) -> const auto& { return l.density; });
  write_field([](const leaf_record& l) -> const auto& { return l.potential; });
  std::vector<std::uint8_t> levels;
  std::vector<std::int32_t> owners;
  for (const leaf_record& leaf : leaves) {
    for (std::size_t i = 0; i < cells; ++i)
      for (std::size_t axis = 0; axis < 3; ++axis)
        velocities.push_back(leaf.velocity[axis * cells + i]);
    levels.insert(levels.end(), cells, static_cast<std::uint8_t>(level_of(leaf.key)));
    owners.insert(owners.end(), cells, static_cast<std::int32_t>(leaf.owner));
  }
  write_array(file, velocities);
  write_array(file, levels);
  write_array(file, owners);
  file.print("\n</AppendedData>\n</VTKFile>\n");
  file.flush();
}

}  // namespace octree
