// Regions are made and released by all ranks of a group. The ranks of one process fill one table: its first rank of the
// group, the leader, makes the table and the memory, the others write their rows, and in a job of several processes all
// rows go to all. Then each leader finds out which parts its process reaches by loads and stores.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/format.hpp"
#include "rank/communicator_state.hpp"
#include "rma/initiator.hpp"
#include "rma/memory.hpp"
#include "rma/shared_statics.hpp"
#include "rma/statics.hpp"
#include "weft/communicator.hpp"
#include "weft/error.hpp"
#include "weft/reduction.hpp"

namespace weft::rma {

// The part that the calling rank brings.
struct initiator::new_part {
  std::span<std::byte> own{};
  std::size_t bytes = 0;
  std::size_t unit = 1;
  bool is_allocated = false;              // weft makes the memory.
  std::shared_ptr<shared_parts> parts{};  // The own part lies there,
  std::uint64_t in_arena = 0;             // so many bytes behind the begin.
  bool is_in_a_row = false;  // All parts lie there, one behind the other, in all processes.
  const attached_memory* attached = nullptr;  // In place of memory of its own.
};

namespace {

using detail::communicator_state;

int leader_of(const communicator_state& group) noexcept {
  return group.local().front();
}

// The number that the leader of this process passes.
std::uintptr_t of_leader(const communicator& group, std::uintptr_t mine) {
  const communicator_state& state = group.state();
  if (!state.spans_processes()) return group.bcast(mine, leader_of(state));
  std::vector<std::uintptr_t> all(static_cast<std::size_t>(state.size()));
  group.allgather(mine, all);
  return all[static_cast<std::size_t>(leader_of(state))];
}

// The table that the leader of this process has made.
region_table& table_of_leader(const communicator& group, memory& shared) {
  const communicator_state& state = group.state();
  std::uintptr_t mine = 0;
  if (leader_of(state) == group.rank()) {
    region_table& made = shared.add_table(static_cast<int>(state.local().size()));
    made.size = state.size();
    made.rows.resize(static_cast<std::size_t>(state.size()));
    mine = reinterpret_cast<std::uintptr_t>(&made);
  }
  return *reinterpret_cast<region_table*>(of_leader(group, mine));
}

// A rank sends its row to those of other processes.
struct exchanged_row {
  region_table::row row;
  signs_address signs;
  arena_address arena;
};
using row_words = std::array<std::uint64_t, sizeof(exchanged_row) / sizeof(std::uint64_t)>;
static_assert(sizeof(exchanged_row) % sizeof(std::uint64_t) == 0);
static_assert(std::is_trivially_copyable_v<exchanged_row>);

std::vector<exchanged_row> exchange_rows(const communicator& group, const exchanged_row& mine) {
  row_words words;
  std::memcpy(words.data(), &mine, sizeof mine);
  std::vector<std::uint64_t> all(words.size() * static_cast<std::size_t>(group.size()));
  group.allgather(words, all);
  std::vector<exchanged_row> of_ranks(static_cast<std::size_t>(group.size()));
  std::memcpy(static_cast<void*>(of_ranks.data()), all.data(), all.size() * sizeof all[0]);
  return of_ranks;
}

// The leader makes memory for the parts of its process, whose sizes stand in the rows.
void make_parts(region_table& table, const communicator_state& group, bool shared) {
  std::size_t bytes = arena::alignment;
  for (const int rank : group.local())
    bytes += part_stride(table.rows[static_cast<std::size_t>(rank)].what.bytes);
  try {
    table.parts = std::make_shared<shared_parts>(arena(bytes, shared));
  } catch (const error& e) {
    table.failure = e.what();
  }
}

// Returns how far behind the begin of that memory the part of a rank of this process lies.
std::uint64_t offset_of_part(const region_table& table, const communicator_state& group, int rank) {
  std::uint64_t offset = arena::alignment;
  for (const int before : group.local()) {
    if (before == rank) break;
    offset += part_stride(table.rows[static_cast<std::size_t>(before)].what.bytes);
  }
  return offset;
}

void note_failure(region_table& table) {
  if (!table.failure.empty()) return;
  const auto failed = std::ranges::find_if(
      table.rows, [](const region_table::row& row) { return row.has_failed != 0; });
  if (failed != table.rows.end())
    table.failure = formatted("the process of rank {} has no room for its parts of a region",
                              failed - table.rows.begin());
}

void note_extents(region_table& table) {
  table.common = table.rows.front().what;
  const bool is_uniform = std::ranges::all_of(
      table.rows, [&](const region_table::row& row) { return row.what == table.common; });
  if (is_uniform) return;
  for (const region_table::row& row : table.rows) table.extents.push_back(row.what);
}

void note_numbers(region_table& table, const communicator_state& group) {
  std::vector<int> numbers(static_cast<std::size_t>(table.size));
  bool is_same = true;
  for (int rank = 0; rank < table.size; ++rank) {
    numbers[static_cast<std::size_t>(rank)] = group.to(rank).number;
    is_same &= group.to(rank).number == rank;
  }
  if (!is_same) table.numbers = std::move(numbers);
}

// The memory of all ranks lies in one arena, which this process has made or mapped.
void note_bases_in_a_row(region_table& table, memory& shared, const communicator_state& group,
                         const std::vector<exchanged_row>& of_ranks) {
  for (int rank = 0; rank < table.size; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    table.bases.push_back(table.parts->own().at(table.rows[i].in_arena));
    const int process = group.process_of(rank);
    if (process != shared.job().process) (void)shared.meet(process, of_ranks[i].signs);
  }
}

// `of_ranks`: the rows of all ranks; empty where all are of this process.
void note_bases(region_table& table, const communicator_state& group, memory& shared,
                const std::vector<exchanged_row>& of_ranks) {
  table.bases.resize(static_cast<std::size_t>(table.size));
  for (int rank = 0; rank < table.size; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    const region_table::row& row = table.rows[i];
    const int process = group.process_of(rank);
    if (process == shared.job().process) {
      table.bases[i] = row.base;
    } else if (shared.meet(process, of_ranks[i].signs) && table.parts != nullptr &&
               row.in_arena != 0) {
      const arena* const there = table.parts->of(process, of_ranks[i].arena);
      if (there != nullptr && row.in_arena <= there->size() &&
          row.what.bytes <= there->size() - row.in_arena)
        table.bases[i] = there->at(row.in_arena);
    }
  }
}

void note_attached(region_table& table, const communicator_state& group, const memory& shared) {
  for (int rank = 0; rank < table.size; ++rank)
    table.attached.push_back(group.process_of(rank) == shared.job().process
                                 ? table.rows[static_cast<std::size_t>(rank)].attached
                                 : nullptr);
}

// The memory of a region in a row: the process of the group's first rank makes it, those of the others map it. Every rank
// calls it. Returns null where that is not possible in some process.
std::shared_ptr<shared_parts> make_parts_in_a_row(const communicator& group, memory& shared,
                                                  std::uint64_t bytes) {
  const communicator_state& state = group.state();
  const bool leads = leader_of(state) == group.rank();
  std::shared_ptr<shared_parts> made;
  arena_address address;
  if (group.rank() == 0) {
    try {
      made = std::make_shared<shared_parts>(
          arena(arena::alignment + bytes, shared.between() != nullptr));
      address = made->own().address();
    } catch (const error&) {
    }
  }
  address = group.bcast(address, 0);
  const auto node_of = [&](int process) {
    return shared.job().node_of_process[static_cast<std::size_t>(process)];
  };
  // The number of a process means another one on another node.
  const bool is_near = state.process_of(0) == shared.job().process ||
                       node_of(state.process_of(0)) == node_of(shared.job().process);
  if (leads && group.rank() != 0 && is_near)
    if (auto opened = arena::open(address))
      made = std::make_shared<shared_parts>(std::move(*opened));
  const int has = !leads || made != nullptr ? 1 : 0;
  if (group.allreduce(has, weft::min{}) == 0) return nullptr;
  // The other ranks of the process hold it, too, until the table does.
  const auto* const from = reinterpret_cast<const std::shared_ptr<shared_parts>*>(
      of_leader(group, reinterpret_cast<std::uintptr_t>(&made)));
  const std::shared_ptr<shared_parts> found = *from;
  group.barrier();
  return found;
}

}  // namespace

const region& initiator::make(const communicator& group, new_part what) {
  const communicator_state& state = group.state();
  const int me = group.rank();
  const bool leads = leader_of(state) == me;
  region_table& table = table_of_leader(group, shared_);
  region_table::row& row = table.rows[static_cast<std::size_t>(me)];
  const std::uint32_t number = exposed_.reserve();
  row.what = {what.bytes, what.unit, number};
  if (what.is_allocated) {
    group.barrier();
    if (leads) make_parts(table, state, shared_.between() != nullptr);
    group.barrier();
    if (table.parts != nullptr) {
      what.in_arena = offset_of_part(table, state, me);
      what.own = {table.parts->own().at(what.in_arena), what.bytes};
    }
  } else if (leads) {
    table.parts = what.parts;
  }
  row.base = what.own.data();
  row.in_arena = what.in_arena;
  row.attached = what.attached;
  row.has_failed = number == 0 || (what.is_allocated && table.parts == nullptr) ? 1 : 0;
  if (number != 0 && what.attached != nullptr)
    exposed_.expose(number, *what.attached);
  else if (number != 0)
    exposed_.expose(number, what.own);
  std::vector<exchanged_row> of_ranks;
  if (state.spans_processes()) {
    exchanged_row mine{row, shared_.own_signs().address(), {}};
    const shared_parts* const parts = what.is_allocated ? table.parts.get() : what.parts.get();
    if (parts != nullptr) mine.arena = parts->own().address();
    of_ranks = exchange_rows(group, mine);
  } else {
    group.barrier();
  }
  if (leads) {
    for (std::size_t i = 0; i < of_ranks.size(); ++i) table.rows[i] = of_ranks[i].row;
    note_failure(table);
    note_extents(table);
    note_numbers(table, state);
    if (what.is_in_a_row && table.failure.empty())
      note_bases_in_a_row(table, shared_, state, of_ranks);
    else
      note_bases(table, state, shared_, of_ranks);
    if (what.attached != nullptr) note_attached(table, state, shared_);
    table.rows = {};
  }
  group.barrier();
  if (!table.failure.empty()) {
    const std::string why = table.failure;
    if (number != 0) exposed_.remove(number);
    shared_.drop(table);
    throw error(why);
  }
  return add(table, me, what.own, number);
}

const region& initiator::add(region_table& table, int rank, std::span<std::byte> own,
                             std::uint32_t number) {
  return *regions_.emplace_back(std::make_unique<region>(table, rank, own, number));
}

const region& initiator::allocate(const communicator& group, std::size_t bytes, std::size_t unit) {
  return make(group, {.bytes = bytes, .unit = unit, .is_allocated = true});
}

const region& initiator::allocate_in_a_row(const communicator& group, std::size_t bytes,
                                           std::size_t unit) {
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(group.size()));
  group.allgather(std::uint64_t{bytes}, sizes);
  std::uint64_t before = arena::alignment, all = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    if (static_cast<int>(rank) < group.rank()) before += sizes[rank];
    if (__builtin_add_overflow(all, sizes[rank], &all)) all = ~std::uint64_t{0} >> 1;
  }
  const std::shared_ptr<shared_parts> parts = make_parts_in_a_row(group, shared_, all);
  if (parts == nullptr)
    throw error(formatted(
        "rank {}: there is no memory of {} bytes that all ranks of the group reach by loads and stores",
        me_.number, all));
  return make(group, {.own = {parts->own().at(before), bytes},
                      .bytes = bytes,
                      .unit = unit,
                      .parts = parts,
                      .in_arena = before,
                      .is_in_a_row = true});
}

const region& initiator::expose_attached(const communicator& group, const attached_memory& ranges,
                                         std::size_t unit) {
  return make(group, {.bytes = ~std::size_t{0}, .unit = unit, .attached = &ranges});
}

const region& initiator::expose(const communicator& group, void* begin, std::size_t bytes,
                                std::size_t unit) {
  return make(group,
              {.own = {static_cast<std::byte*>(begin), bytes}, .bytes = bytes, .unit = unit});
}

// All ranks are in this call while the globals of one move, so none of the process writes them.
std::vector<const region*> initiator::expose_globals(const communicator& group) {
  if (!globals_.empty()) return globals_;
  std::vector<std::span<std::byte>> parts = statics_of(me_);
  parts.resize(group.allreduce(parts.size(), weft::min{}));
  std::size_t room = 0;
  for (const std::span<std::byte> part : parts) room += bytes_of_pages(part);
  const std::shared_ptr<shared_parts> memory = shared_.parts_for_globals(room);
  room = 0;
  std::vector<const region*> made;  // Only all of them are the globals.
  for (const std::span<std::byte> part : parts) {
    const std::uint64_t in_arena = shared_.move_globals(me_, part, room);
    made.push_back(
        &make(group, {.own = part, .bytes = part.size(), .parts = memory, .in_arena = in_arena}));
    room += bytes_of_pages(part);
  }
  return globals_ = std::move(made);
}

void initiator::release(const communicator& group, const region& gone) {
  group.barrier();
  exposed_.remove(gone.number_);
  shared_.drop(gone.table_);
  std::erase_if(regions_, [&](const auto& one) { return one.get() == &gone; });
}

std::size_t initiator::bytes_at_most(const communicator& group, std::size_t wanted,
                                     std::size_t least) {
  std::size_t bytes = wanted;
  while (bytes > least && !shared_.has_room(bytes)) bytes = std::max(least, bytes / 2);
  return group.allreduce(bytes, weft::min{});
}

}  // namespace weft::rma
