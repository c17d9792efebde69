// Datatypes against a model: random constructions, each of which is also made as a plain list of basic
// elements (the type map of the standard). Sizes, bounds, packing and messages must agree with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "job.hpp"
#include "mpi/mpi.h"

namespace weft {
namespace {

struct basic_element {
  std::ptrdiff_t offset;
  std::size_t size;
};

// What the standard says a datatype is.
struct type_map {
  std::vector<basic_element> elements;
  bool explicit_bounds = false;
  std::ptrdiff_t lower = 0, upper = 0;
  std::size_t alignment = 1;
  std::string text;  // How it was made.

  [[nodiscard]] std::ptrdiff_t extent() const { return upper - lower; }
  [[nodiscard]] std::size_t size() const {
    return std::accumulate(elements.begin(), elements.end(), std::size_t{0},
                           [](std::size_t sum, const basic_element& e) { return sum + e.size; });
  }
};

struct copy_of {
  const type_map* of;
  std::ptrdiff_t displacement;
};

// The type map of copies one after the other.
type_map combined(const std::vector<copy_of>& copies, std::string text) {
  type_map all;
  all.text = std::move(text);
  bool any = false;
  for (const copy_of& c : copies) all.explicit_bounds |= c.of->explicit_bounds;
  for (const copy_of& c : copies) {
    for (const basic_element& e : c.of->elements)
      all.elements.push_back({e.offset + c.displacement, e.size});
    all.alignment = std::max(all.alignment, c.of->alignment);
    if (c.of->explicit_bounds != all.explicit_bounds) continue;
    if (c.of->elements.empty() && !c.of->explicit_bounds) continue;
    const std::ptrdiff_t lower = c.of->lower + c.displacement;
    const std::ptrdiff_t upper = c.of->upper + c.displacement;
    all.lower = any ? std::min(all.lower, lower) : lower;
    all.upper = any ? std::max(all.upper, upper) : upper;
    any = true;
  }
  const auto unit = static_cast<std::ptrdiff_t>(all.alignment);
  if (!all.explicit_bounds)
    while (all.extent() % unit != 0) ++all.upper;
  return all;
}

struct made_type {
  MPI_Datatype handle;
  type_map model;
};

class type_maker {
 public:
  explicit type_maker(unsigned seed) : random_(seed) {}
  [[nodiscard]] int number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  }

  made_type basic() {
    switch (number(0, 3)) {
      case 0:
        return {MPI_CHAR, one(1, "char")};
      case 1:
        return {MPI_SHORT, one(2, "short")};
      case 2:
        return {MPI_INT, one(4, "int")};
      default:
        return {MPI_DOUBLE, one(8, "double")};
    }
  }

  made_type any(int depth) {
    if (depth == 0) return basic();
    made_type old = any(depth - 1);
    switch (number(0, 6)) {
      case 0:
        return contiguous(old);
      case 1:
        return vector(old);
      case 2:
        return indexed(old);
      case 3:
        return structure(old, any(number(0, depth - 1)));
      case 4:
        return resized(old);
      case 5:
        return subarray(old);
      default:
        return hindexed(old);
    }
  }

 private:
  static type_map one(std::size_t size, const char* name) {
    type_map m;
    m.elements = {{0, size}};
    m.upper = static_cast<std::ptrdiff_t>(size);
    m.alignment = size;
    m.text = name;
    return m;
  }
  static void append(std::vector<copy_of>& copies, const type_map& of, int count,
                     std::ptrdiff_t at) {
    for (int i = 0; i < count; ++i) copies.push_back({&of, at + i * of.extent()});
  }

  made_type contiguous(const made_type& old) {
    const int count = number(0, 4);
    made_type made;
    MPI_Type_contiguous(count, old.handle, &made.handle);
    std::vector<copy_of> copies;
    append(copies, old.model, count, 0);
    made.model =
        combined(copies, "contiguous " + std::to_string(count) + " of (" + old.model.text + ")");
    return made;
  }
  made_type vector(const made_type& old) {
    const int count = number(0, 4), length = number(0, 3), stride = number(-4, 4);
    const bool in_bytes = number(0, 1) == 1;
    const std::ptrdiff_t bytes = in_bytes ? stride * 5 : stride * old.model.extent();
    made_type made;
    if (in_bytes)
      MPI_Type_create_hvector(count, length, bytes, old.handle, &made.handle);
    else
      MPI_Type_vector(count, length, stride, old.handle, &made.handle);
    std::vector<copy_of> copies;
    for (int i = 0; i < count; ++i) append(copies, old.model, length, i * bytes);
    made.model = combined(copies, (in_bytes ? "hvector " : "vector ") + std::to_string(count) +
                                      ' ' + std::to_string(length) + ' ' + std::to_string(stride) +
                                      " of (" + old.model.text + ")");
    return made;
  }
  made_type indexed(const made_type& old) {
    const int count = number(0, 4);
    std::vector<int> lengths, at;
    std::vector<copy_of> copies;
    std::string text = "indexed";
    for (int i = 0; i < count; ++i) {
      lengths.push_back(number(0, 3));
      at.push_back(number(-6, 6));
      append(copies, old.model, lengths.back(), at.back() * old.model.extent());
      text += ' ' + std::to_string(lengths.back()) + '@' + std::to_string(at.back());
    }
    made_type made;
    MPI_Type_indexed(count, lengths.data(), at.data(), old.handle, &made.handle);
    made.model = combined(copies, text + " of (" + old.model.text + ")");
    return made;
  }
  made_type hindexed(const made_type& old) {
    const int count = number(0, 4), length = number(0, 3);
    std::vector<MPI_Aint> at;
    std::vector<copy_of> copies;
    std::string text = "hindexed_block " + std::to_string(length);
    for (int i = 0; i < count; ++i) {
      at.push_back(number(-40, 40));
      append(copies, old.model, length, at.back());
      text += " @" + std::to_string(at.back());
    }
    made_type made;
    MPI_Type_create_hindexed_block(count, length, at.data(), old.handle, &made.handle);
    made.model = combined(copies, text + " of (" + old.model.text + ")");
    return made;
  }
  made_type structure(const made_type& first, const made_type& second) {
    const int count = number(1, 4);
    std::vector<int> lengths;
    std::vector<MPI_Aint> at;
    std::vector<MPI_Datatype> types;
    std::vector<copy_of> copies;
    std::string text = "struct";
    for (int i = 0; i < count; ++i) {
      const made_type& old = i % 2 == 0 ? first : second;
      lengths.push_back(number(0, 3));
      at.push_back(number(-50, 50));
      types.push_back(old.handle);
      append(copies, old.model, lengths.back(), at.back());
      text += ' ' + std::to_string(lengths.back()) + '@' + std::to_string(at.back());
    }
    made_type made;
    MPI_Type_create_struct(count, lengths.data(), at.data(), types.data(), &made.handle);
    made.model =
        combined(copies, text + " of (" + first.model.text + ") and (" + second.model.text + ")");
    return made;
  }
  made_type resized(const made_type& old) {
    const MPI_Aint lower = number(-10, 10), extent = number(-20, 40);
    made_type made;
    MPI_Type_create_resized(old.handle, lower, extent, &made.handle);
    made.model = old.model;
    made.model.explicit_bounds = true;
    made.model.lower = lower;
    made.model.upper = lower + extent;
    made.model.text = "resized " + std::to_string(lower) + ' ' + std::to_string(extent) + " of (" +
                      old.model.text + ")";
    return made;
  }
  made_type subarray(const made_type& old) {
    const int dimensions = number(1, 3);
    const int order = number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    std::vector<int> sizes, parts, starts;
    for (int d = 0; d < dimensions; ++d) {
      sizes.push_back(number(1, 4));
      parts.push_back(number(1, sizes.back()));
      starts.push_back(number(0, sizes.back() - parts.back()));
    }
    made_type made;
    MPI_Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(), order,
                             old.handle, &made.handle);
    // Every index of the part, the fastest dimension fastest.
    std::vector<copy_of> copies;
    std::vector<int> index(static_cast<std::size_t>(dimensions), 0);
    const auto at = [&](int d) {
      return static_cast<std::size_t>(order == MPI_ORDER_C ? dimensions - 1 - d : d);
    };
    for (;;) {
      std::ptrdiff_t offset = 0, stride = old.model.extent();
      for (int d = 0; d < dimensions; ++d) {
        offset += (starts[at(d)] + index[at(d)]) * stride;
        stride *= sizes[at(d)];
      }
      copies.push_back({&old.model, offset});
      int d = 0;
      while (d < dimensions && ++index[at(d)] == parts[at(d)]) index[at(d++)] = 0;
      if (d == dimensions) break;
    }
    made.model = combined(copies, "subarray of (" + old.model.text + ")");
    made.model.explicit_bounds = true;
    made.model.lower = 0;
    made.model.upper = old.model.extent();
    for (const int s : sizes) made.model.upper *= s;
    return made;
  }

  std::mt19937 random_;
};

// Memory around the address 0 of a datatype, numbered byte by byte.
struct numbered_memory {
  static constexpr std::ptrdiff_t reach = 1 << 20;
  std::vector<unsigned char> bytes;
  explicit numbered_memory(bool filled) : bytes(2 * reach) {
    if (!filled) return;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<unsigned char>(1 + i * 7919 % 251);
  }
  [[nodiscard]] unsigned char* at(std::ptrdiff_t offset) { return bytes.data() + reach + offset; }
};

bool within_reach(const type_map& m, int count) {
  for (const basic_element& e : m.elements)
    for (const int i : {0, count})
      if (std::abs(e.offset + i * m.extent()) > numbered_memory::reach / 2) return false;
  return m.elements.size() < 20000;
}

// Whether a receive into it is defined: no byte twice.
bool overlaps(const type_map& m, int count) {
  std::vector<std::ptrdiff_t> all;
  for (int i = 0; i < count; ++i)
    for (const basic_element& e : m.elements)
      for (std::size_t b = 0; b < e.size; ++b)
        all.push_back(e.offset + i * m.extent() + static_cast<std::ptrdiff_t>(b));
  std::ranges::sort(all);
  return std::ranges::adjacent_find(all) != all.end();
}

std::vector<unsigned char> packed_by_model(numbered_memory& memory, const type_map& m, int count) {
  std::vector<unsigned char> all;
  for (int i = 0; i < count; ++i)
    for (const basic_element& e : m.elements) {
      const unsigned char* from = memory.at(e.offset + i * m.extent());
      all.insert(all.end(), from, from + e.size);
    }
  return all;
}

void check_bounds(const made_type& t) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  int size = 0;
  MPI_Type_size(t.handle, &size);
  MPI_Type_get_extent(t.handle, &lower, &extent);
  MPI_Type_get_true_extent(t.handle, &true_lower, &true_extent);
  EXPECT_EQ(static_cast<std::size_t>(size), t.model.size()) << t.model.text;
  EXPECT_EQ(lower, t.model.lower) << t.model.text;
  EXPECT_EQ(extent, t.model.extent()) << t.model.text;
  if (t.model.elements.empty()) return;
  std::ptrdiff_t first = t.model.elements[0].offset, last = first;
  for (const basic_element& e : t.model.elements) {
    first = std::min(first, e.offset);
    last = std::max(last, e.offset + static_cast<std::ptrdiff_t>(e.size));
  }
  EXPECT_EQ(true_lower, first) << t.model.text;
  EXPECT_EQ(true_extent, last - first) << t.model.text;
}

void check_elements(const made_type& t) {
  MPI_Status status{};
  std::size_t bytes = 0;
  int elements = 0;
  for (const basic_element& e : t.model.elements) {
    bytes += e.size;
    ++elements;
    MPI_Status_set_elements(&status, MPI_BYTE, static_cast<int>(bytes));
    int found = -1;
    MPI_Get_elements(&status, t.handle, &found);
    ASSERT_EQ(found, elements) << bytes << " bytes of " << t.model.text;
    MPI_Status_set_elements(&status, t.handle, elements);
    MPI_Get_elements(&status, MPI_BYTE, &found);
    ASSERT_EQ(static_cast<std::size_t>(found), bytes) << elements << " of " << t.model.text;
    if (elements > 200) break;
  }
}

void check_packing(const made_type& t, int count) {
  static numbered_memory memory(true);
  const std::vector<unsigned char> wanted = packed_by_model(memory, t.model, count);
  std::vector<unsigned char> packed(wanted.size() + 1, 0);
  int position = 0;
  MPI_Pack(memory.at(0), count, t.handle, packed.data(), static_cast<int>(packed.size()), &position,
           MPI_COMM_WORLD);
  EXPECT_EQ(static_cast<std::size_t>(position), wanted.size());
  packed.pop_back();
  EXPECT_EQ(packed, wanted) << count << " of " << t.model.text;
}

// From layout to layout: what rank 1 receives is what rank 0 sent, and nothing beside it is written.
void check_message(const made_type& t, int count, int rank) {
  static numbered_memory memory(true);
  if (rank == 0) {
    MPI_Send(memory.at(0), count, t.handle, 1, 0, MPI_COMM_WORLD);
    return;
  }
  numbered_memory arrived(false);
  MPI_Status status;
  MPI_Recv(arrived.at(0), count, t.handle, 0, 0, MPI_COMM_WORLD, &status);
  EXPECT_EQ(packed_by_model(arrived, t.model, count), packed_by_model(memory, t.model, count))
      << count << " of " << t.model.text;
  for (int i = 0; i < count; ++i)
    for (const basic_element& e : t.model.elements)
      std::memset(arrived.at(e.offset + i * t.model.extent()), 0, e.size);
  EXPECT_TRUE(std::ranges::all_of(arrived.bytes, [](unsigned char c) { return c == 0; }))
      << count << " of " << t.model.text;
}

TEST(mpi_datatype, random_constructions_are_what_the_standard_says) {
  const char* const given = std::getenv("WEFT_TEST_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 1;
  run_ranks(2, 2, [&](communicator& world) {
    MPI_Init(nullptr, nullptr);
    type_maker maker(seed);
    for (int i = 0; i < (sanitized ? 100 : 600) && !testing::Test::HasFailure(); ++i) {
      made_type t = maker.any(maker.number(1, 4));
      const int count = maker.number(0, 3);
      if (!within_reach(t.model, count)) continue;
      MPI_Type_commit(&t.handle);
      check_bounds(t);
      check_elements(t);
      check_packing(t, count);
      if (!overlaps(t.model, count)) check_message(t, count, world.rank());
      MPI_Type_free(&t.handle);
      EXPECT_EQ(t.handle, MPI_DATATYPE_NULL);
    }
    MPI_Finalize();
  });
}

// Both distributions of every dimension, together all processes have every element once.
TEST(mpi_datatype, the_parts_of_a_distributed_array_are_the_array) {
  run_ranks(1, 1, [](communicator&) {
    MPI_Init(nullptr, nullptr);
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
      for (const int first : {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC})
        for (const int argument : {static_cast<int>(MPI_DISTRIBUTE_DFLT_DARG), 2}) {
          const int sizes[] = {first == MPI_DISTRIBUTE_BLOCK && argument == 2 ? 4 : 7, 5};
          const int kinds[] = {first, MPI_DISTRIBUTE_CYCLIC};
          const int arguments[] = {argument, argument};
          const int processes[] = {2, 3};
          std::vector<int> seen(static_cast<std::size_t>(sizes[0] * sizes[1]), 0);
          for (int rank = 0; rank < 6; ++rank) {
            MPI_Datatype part;
            MPI_Type_create_darray(6, rank, 2, sizes, kinds, arguments, processes, order, MPI_INT,
                                   &part);
            MPI_Type_commit(&part);
            int size = 0;
            MPI_Type_size(part, &size);
            std::vector<int> ones(static_cast<std::size_t>(size) / sizeof(int), 1);
            std::vector<int> whole(seen.size(), 0);
            int position = 0;
            MPI_Unpack(ones.data(), size, &position, whole.data(), 1, part, MPI_COMM_WORLD);
            for (std::size_t i = 0; i < seen.size(); ++i) seen[i] += whole[i];
            // Of the dimension shared out in blocks, the first processes have the first elements.
            if (first == MPI_DISTRIBUTE_BLOCK && rank < 3) {
              EXPECT_EQ(whole.back(), 0);
            }
            MPI_Aint lower = -1, extent = 0;
            MPI_Type_get_extent(part, &lower, &extent);
            EXPECT_EQ(lower, 0);
            EXPECT_EQ(extent, static_cast<MPI_Aint>(seen.size() * sizeof(int)));
            MPI_Type_free(&part);
          }
          EXPECT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; }));
        }
    MPI_Finalize();
  });
}

TEST(mpi_datatype, a_freed_or_uncommitted_datatype_is_refused) {
  for (const bool freed : {true, false}) {
    const failed_job job = run_to_failure(job_of(1, 1), [&](communicator&) {
      MPI_Init(nullptr, nullptr);
      MPI_Datatype pair = MPI_DATATYPE_NULL;
      MPI_Type_contiguous(2, MPI_INT, &pair);
      const MPI_Datatype copy = pair;
      if (freed) MPI_Type_free(&pair);
      int values[2] = {};
      MPI_Send(values, 1, copy, 0, 0, MPI_COMM_WORLD);
    });
    EXPECT_EQ(job.status, 1);
    expect_contains(job.text, freed
                                  ? "is no datatype, or has been freed (MPI_ERR_TYPE)"
                                  : "is not committed: call MPI_Type_commit first (MPI_ERR_TYPE)");
  }
}

}  // namespace
}  // namespace weft
