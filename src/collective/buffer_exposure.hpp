// Large data in collectives: ranks show each other their buffers, and each rank copies or reduces its own part (Pure
// section 4.2.2). docs/protocols/collectives.md has the proof.
//
// An owner shows a buffer, a reader reads it. Between processes the leaders send what readers there need.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/padded.hpp"
#include "collective/collective_turn.hpp"
#include "collective/direct_transfers.hpp"
#include "collective/exchange.hpp"

namespace weft::detail {

// The most bytes that one process sends to another in one collective.
inline constexpr std::uint64_t exchanged_bytes_max = std::uint64_t{1} << 39;

// Who shows what to whom. `part(member of the owner, rank of the reader)` returns the bytes; it is called in the
// owner's process.
template <class Part>
struct exposure {
  Part part;
  int only_owner = no_root;   // no_root: all ranks show.
  int only_reader = no_root;  // no_root: all ranks read.
  bool per_reader = false;    // False: all readers get the same part of an owner.
  sizes known = sizes::of_all;
  std::size_t part_bytes = 0;  // With sizes::of_all.
  bool ends_together = false;  // No rank returns before all have moved, in other processes too.
  bool leaves_shown = false;   // To move writes to nothing that is shown.
};

// One rank's view of the buffers that are shown, for show_and_move().
template <class Part>
class buffer_exposure {
 public:
  buffer_exposure(communicator_state& c, int rank, collective_turn& turn,
                  const exposure<Part>& what)
      : c_(c), rank_(rank), turn_(turn), what_(what) {}

  // Bytes in a row, or a layout.
  using piece = std::invoke_result_t<const Part&, const member&, int>;

  // The part of `owner` that this rank reads.
  [[nodiscard]] piece part(int owner) const {
    const member& m = c_.at(owner);
    if (m.rank != nullptr) return what_.part(m, rank_);
    return piece(c_.staged.parts[place(owner, what_.per_reader ? c_.local_place(rank_) : 0)]);
  }

  // Called by who speaks for this process, once all its ranks show their buffers: meets the other subgroups.
  void meet_subgroups() {
    if (!goes_directly()) return detail::meet_subgroups(c_, call(), rank_, turn_.description());
    clear_staging();
    for_each_other([&](std::size_t s) { place_parts_of(s); });
    const bool written = owner_share() != 0;
    direct().meet(
        [&](int subgroup, opened_memory& opened) {
          const auto to = static_cast<std::size_t>(subgroup);
          each_row_to(to, [&](byte_view row) { opened.add(row, peer_access::read); });
          if (written)
            each_part(c_.subgroups[to], c_.subgroups[here()], [&](int owner, int, std::size_t r) {
              opened.add(c_.staged.parts[place(owner, r)], peer_access::write);
            });
        },
        written);
  }

  // Called by the leader while the other ranks of this process wait: receives what other subgroups show to this one,
  // into communicator_state::staged, and sends them what this one shows.
  void exchange_with_subgroups() {
    if (goes_directly()) {
      transfer_directly();
      if (!moves_early()) direct().end();
      return;
    }
    const std::size_t subgroups = c_.subgroups.size();
    clear_staging();
    std::vector<std::vector<std::uint64_t>> lengths_in(subgroups);
    for (std::size_t s = 0; s < subgroups; ++s)
      if (s != here())
        lengths_in[s].assign(entries(c_.subgroups[s], c_.subgroups[here()]), what_.part_bytes);
    if (what_.known != sizes::of_all) exchange_lengths(lengths_in);
    if (go_alone()) {
      transfer([&](subgroup_messages& messages, std::size_t by,
                   std::size_t of) { receive_each(messages, by, of); },
               [&](subgroup_messages& messages, std::size_t to, std::size_t of) {
                 if (of == here())
                   send_each(messages, to);
                 else
                   hand_on_each(messages, to, of);
               });
      return;
    }
    std::vector<std::size_t> bytes_in(subgroups);
    // Before any message is under way: lengths that another process sent may be refused here.
    for (std::size_t s = 0; s < subgroups; ++s)
      if (bytes_in[s] = total(lengths_in[s]); bytes_in[s] != 0)
        c_.staged.buffers[s] = std::make_unique_for_overwrite<std::byte[]>(bytes_in[s]);
    const auto arrived = [&](std::size_t of) {
      return std::span(c_.staged.buffers[of].get(), bytes_in[of]);
    };
    transfer([&](subgroup_messages& messages, std::size_t by,
                 std::size_t of) { receive(messages, by, tag_of_parts, arrived(of)); },
             [&](subgroup_messages& messages, std::size_t to, std::size_t of) {
               send(messages, to, tag_of_parts,
                    of == here() ? in_a_row(to) : byte_view(arrived(of)));
             });
    for (std::size_t s = 0; s < subgroups; ++s)
      if (s != here()) place_parts(s, lengths_in[s]);
  }
  // Called by the leader once it has moved its data: returns when nobody uses memory of this process any more.
  void end_with_subgroups() {
    if (goes_directly() && moves_early()) direct().end();
  }

 private:
  [[nodiscard]] std::size_t here() const noexcept { return static_cast<std::size_t>(c_.here); }
  [[nodiscard]] const collective_call& call() const noexcept { return turn_.self().call; }
  [[nodiscard]] direct_transfers direct() const noexcept {
    return {c_, call(), rank_, turn_.description()};
  }
  template <class Visit>
  void for_each_other(const Visit& visit) const {
    for (std::size_t step = 1; step < c_.subgroups.size(); ++step)
      visit((here() + step) % c_.subgroups.size());
  }
  void clear_staging() {
    c_.staged.buffers.clear();
    c_.staged.buffers.resize(2 * c_.subgroups.size());
    c_.staged.parts.assign(c_.members.size() * readers_here(), {});
  }

  // --- Directly, between the memories of processes of a node -------------------------------------

  // The same answer in all subgroups. Called on the leader's worker.
  [[nodiscard]] bool goes_directly() const {
    if (what_.known != sizes::of_all || what_.part_bytes < direct_transfers::part_bytes_min ||
        c_.subgroups.size() > direct_transfers::subgroups_max)
      return false;
    std::size_t ranks = 0;
    for (const subgroup& s : c_.subgroups) ranks = std::max(ranks, s.members.size());
    const std::size_t regions = what_.per_reader ? ranks * ranks : ranks;
    return 2 * regions <= opened_memory::regions_max && direct().reach();
  }
  // How much of a part its owner writes; its reader reads what is before. So all processes move as much, also where one
  // gives to all or takes from all.
  [[nodiscard]] std::size_t owner_share() const noexcept {
    const std::size_t count = c_.subgroups.size();
    const bool gives = what_.only_owner != no_root, takes = what_.only_reader != no_root;
    if (gives == takes) return 0;
    const std::size_t share = what_.part_bytes / count / cache_line * cache_line;
    if (share < direct_part_bytes_min) return 0;
    return gives ? share : share * (count - 1);
  }
  // Whether ranks here move their data while other subgroups still read what this one shows. Not when they write here.
  [[nodiscard]] bool moves_early() const noexcept {
    return what_.leaves_shown && owner_share() == 0;
  }
  void transfer_directly() {
    direct_transfers to_others = direct();
    to_others.run([&] {
      const std::size_t read = what_.part_bytes - owner_share();
      for_each_other([&](std::size_t of) {
        std::size_t region = 0;
        each_part(c_.subgroups[of], c_.subgroups[here()], [&](int owner, int, std::size_t r) {
          std::byte* const to = const_cast<std::byte*>(c_.staged.parts[place(owner, r)].data());
          to_others.read(static_cast<int>(of), region++, 0, {to, read});
        });
        if (owner_share() == 0) return;
        // What this subgroup reads has been told first.
        region = entries(c_.subgroups[of], c_.subgroups[here()]);
        each_row_to(of, [&](byte_view row) {
          to_others.write(static_cast<int>(of), region++, read, row.subspan(read));
        });
      });
    });
  }

  // --- By messages -----------------------------------------------------------------------------

  [[nodiscard]] std::size_t readers_here() const noexcept {
    return what_.per_reader ? c_.local().size() : 1;
  }
  [[nodiscard]] std::size_t place(int owner, std::size_t reader) const noexcept {
    return static_cast<std::size_t>(owner) * readers_here() + reader;
  }
  [[nodiscard]] std::size_t node_of(std::size_t subgroup) const noexcept {
    return static_cast<std::size_t>(c_.node_of_subgroup[subgroup]);
  }

  // Whether what all subgroups of a node read goes to one of them, which forwards it to the others.
  [[nodiscard]] bool is_forwarded() const noexcept {
    return !what_.per_reader && what_.only_reader == no_root &&
           c_.nodes.size() < c_.subgroups.size();
  }
  // The subgroup to which `from` sends what `to` reads: `to` itself, or the one of its node that forwards it.
  // Subgroups of one node use different ones.
  [[nodiscard]] std::size_t first_to_get(std::size_t from, std::size_t to) const noexcept {
    if (!is_forwarded() || node_of(from) == node_of(to)) return to;
    const std::vector<int>& beside = node_subgroups(c_, static_cast<int>(to));
    return static_cast<std::size_t>(
        beside[place_on_node(c_, static_cast<int>(from)) % beside.size()]);
  }

  // Calls `receive_from(messages, by, of)` for what subgroup `of` shows and `by` sends here, and
  // `send_to(messages, to, of)` for what this subgroup sends of `of`'s: first its own, then what it forwards.
  template <class Receive, class Send>
  void transfer(const Receive& receive_from, const Send& send_to) {
    const std::size_t subgroups = c_.subgroups.size();
    const wait_description waiting = turn_.description();
    subgroup_messages messages(c_, turn_.rank(), waiting);
    // Each begins with the subgroup after its own, so that not all send to the same one.
    for (std::size_t step = 1; step < subgroups; ++step) {
      const std::size_t from = (here() + subgroups - step) % subgroups;
      const std::size_t to = (here() + step) % subgroups;
      if (first_to_get(from, here()) == here()) receive_from(messages, from, from);
      if (first_to_get(here(), to) == to) send_to(messages, to, here());
    }
    if (!is_forwarded()) return messages.wait();
    // Messages between two subgroups keep their order, so what is forwarded comes after what is the sender's own.
    subgroup_messages forwarded(c_, turn_.rank(), waiting);
    for (std::size_t of = 0; of < subgroups; ++of)
      if (const std::size_t by = first_to_get(of, here()); by != here())
        receive_from(forwarded, by, of);
    messages.wait();
    for (std::size_t of = 0; of < subgroups; ++of)
      if (node_of(of) != node_of(here()) && first_to_get(of, here()) == here())
        for (const int other : node_subgroups(c_, c_.here))
          if (other != c_.here) send_to(forwarded, static_cast<std::size_t>(other), of);
    forwarded.wait();
  }
  static void send(subgroup_messages& messages, std::size_t to, int tag, byte_view data) {
    if (!data.empty()) messages.send(static_cast<int>(to), tag, data);
  }
  static void receive(subgroup_messages& messages, std::size_t from, int tag,
                      std::span<std::byte> into) {
    if (!into.empty()) messages.receive(static_cast<int>(from), tag, into);
  }

  void exchange_lengths(std::vector<std::vector<std::uint64_t>>& in) {
    std::vector<std::vector<std::uint64_t>> out(c_.subgroups.size());
    transfer(
        [&](subgroup_messages& messages, std::size_t by, std::size_t of) {
          receive(messages, by, tag_of_lengths, std::as_writable_bytes(std::span(in[of])));
        },
        [&](subgroup_messages& messages, std::size_t to, std::size_t of) {
          if (of == here()) out[to] = lengths_to(c_.subgroups[to]);
          send(messages, to, tag_of_lengths,
               std::as_bytes(std::span(of == here() ? out[to] : in[of])));
        });
  }
  [[nodiscard]] bool shows(int rank) const noexcept {
    return what_.only_owner == no_root || what_.only_owner == rank;
  }
  [[nodiscard]] bool reads(const subgroup& s) const noexcept {
    return what_.only_reader == no_root ||
           std::binary_search(s.members.begin(), s.members.end(), what_.only_reader);
  }
  // Calls `visit(owner, reader, place of the reader)` for all parts from one subgroup to another, in
  // the order in which they travel.
  template <class Visit>
  void each_part(const subgroup& from, const subgroup& to, const Visit& visit) const {
    if (!reads(to)) return;
    for (const int owner : from.members) {
      if (!shows(owner)) continue;
      const std::size_t readers = what_.per_reader ? to.members.size() : 1;
      for (std::size_t r = 0; r < readers; ++r) visit(owner, to.members[r], r);
    }
  }
  [[nodiscard]] std::size_t entries(const subgroup& from, const subgroup& to) const {
    std::size_t count = 0;
    each_part(from, to, [&](int, int, std::size_t) { ++count; });
    return count;
  }
  [[nodiscard]] std::vector<std::uint64_t> lengths_to(const subgroup& to) const {
    std::vector<std::uint64_t> lengths;
    each_part(c_.subgroups[here()], to, [&](int owner, int reader, std::size_t) {
      lengths.push_back(what_.part(c_.at(owner), reader).size());
    });
    return lengths;
  }
  // The sum of lengths that another process may have sent.
  [[nodiscard]] static std::size_t total(const std::vector<std::uint64_t>& lengths) {
    std::uint64_t sum = 0;
    for (const std::uint64_t length : lengths) {
      if (length > exchanged_bytes_max - sum) [[unlikely]]
        throw error("a process gives more than " + std::to_string(exchanged_bytes_max) +
                    " bytes to another one in a collective, or what it says is wrong");
      sum += length;
    }
    return sum;
  }
  [[nodiscard]] static bool lies_in_a_row(byte_view) noexcept { return true; }
  [[nodiscard]] static bool lies_in_a_row(const segments& s) noexcept { return s.contiguous(); }
  [[nodiscard]] static byte_view row_of(byte_view data) noexcept { return data; }
  [[nodiscard]] static byte_view row_of(const segments& s) noexcept { return s.flat(); }
  // Whether each part goes in a message of its own, from the owner's buffer into the reader's: for large parts.
  [[nodiscard]] bool go_alone() const noexcept {
    return what_.known == sizes::of_all && what_.part_bytes >= direct_part_bytes_min;
  }
  // Where a part is received without a copy: the place in the reader's buffer (member::takes), for a part that all read
  // in that of one reader here. Null: the part goes into a staged buffer.
  [[nodiscard]] std::byte* destination(int owner, int reader) const noexcept {
    if (!what_.per_reader)
      reader = what_.only_reader != no_root ? what_.only_reader : c_.local()[0];
    const parts* const takes = c_.at(reader).takes;
    if (takes == nullptr || !takes->has(owner) || takes->bytes != what_.part_bytes) return nullptr;
    return const_cast<std::byte*>(takes->row(owner));
  }
  // Where the parts from a subgroup will be: each in the reader's buffer, or in a staged one.
  void place_parts_of(std::size_t of) {
    std::size_t staged = 0;
    const auto visit_all = [&](const auto& visit) {
      each_part(c_.subgroups[of], c_.subgroups[here()], visit);
    };
    visit_all([&](int owner, int reader, std::size_t) {
      if (destination(owner, reader) == nullptr) staged += what_.part_bytes;
    });
    if (staged != 0) c_.staged.buffers[of] = std::make_unique_for_overwrite<std::byte[]>(staged);
    std::byte* at = c_.staged.buffers[of].get();
    visit_all([&](int owner, int reader, std::size_t place_of_reader) {
      std::byte* to = destination(owner, reader);
      if (to == nullptr) to = std::exchange(at, at + what_.part_bytes);
      c_.staged.parts[place(owner, place_of_reader)] = {to, what_.part_bytes};
    });
  }
  void receive_each(subgroup_messages& messages, std::size_t by, std::size_t of) {
    place_parts_of(of);
    each_part(c_.subgroups[of], c_.subgroups[here()], [&](int owner, int, std::size_t r) {
      const auto to = c_.staged.parts[place(owner, r)];
      messages.receive(static_cast<int>(by), tag_of_parts,
                       {const_cast<std::byte*>(to.data()), to.size()});
    });
  }
  void hand_on_each(subgroup_messages& messages, std::size_t to, std::size_t of) {
    each_part(c_.subgroups[of], c_.subgroups[to], [&](int owner, int, std::size_t) {
      messages.send(static_cast<int>(to), tag_of_parts, c_.staged.parts[place(owner, 0)]);
    });
  }
  // Calls `visit(bytes)` for each part that goes to a subgroup: where it lies, or a copy of what lies scattered.
  template <class Visit>
  void each_row_to(std::size_t to, const Visit& visit) {
    const subgroup& there = c_.subgroups[to];
    std::size_t scattered = 0;
    each_part(c_.subgroups[here()], there, [&](int owner, int reader, std::size_t) {
      const piece part = what_.part(c_.at(owner), reader);
      if (!lies_in_a_row(part)) scattered += part.size();
    });
    auto& buffer = c_.staged.buffers[c_.subgroups.size() + to];
    const bool is_copied = buffer != nullptr;  // Others may be reading the copy.
    if (scattered != 0 && !is_copied)
      buffer = std::make_unique_for_overwrite<std::byte[]>(scattered);
    std::byte* at = buffer.get();
    each_part(c_.subgroups[here()], there, [&](int owner, int reader, std::size_t) {
      const piece part = what_.part(c_.at(owner), reader);
      byte_view row(at, part.size());
      if (lies_in_a_row(part)) {
        row = row_of(part);
      } else {
        if (!is_copied) copy_out(at, part);
        at += part.size();
      }
      visit(row);
    });
  }
  void send_each(subgroup_messages& messages, std::size_t to) {
    each_row_to(to, [&](byte_view row) { messages.send(static_cast<int>(to), tag_of_parts, row); });
  }
  // All parts for subgroup `to` as bytes in a row: a copy, or the buffer itself when it is a single part in a row.
  [[nodiscard]] byte_view in_a_row(std::size_t to) {
    std::size_t bytes = 0;
    int count = 0;
    byte_view row;
    const auto visit_all = [&](const auto& visit) {
      each_part(c_.subgroups[here()], c_.subgroups[to], [&](int owner, int reader, std::size_t) {
        visit(what_.part(c_.at(owner), reader));
      });
    };
    visit_all([&](const piece& part) {
      bytes += part.size();
      ++count;
      if (lies_in_a_row(part)) row = row_of(part);
    });
    if (bytes == 0 || (count == 1 && !row.empty())) return row;
    auto& buffer = c_.staged.buffers[c_.subgroups.size() + to];
    buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* at = buffer.get();
    visit_all([&](const piece& part) {
      if (part.size() != 0) copy_out(at, part);
      at += part.size();
    });
    return {buffer.get(), bytes};
  }
  void place_parts(std::size_t from, const std::vector<std::uint64_t>& lengths) {
    const std::byte* at = c_.staged.buffers[from].get();
    std::size_t i = 0;
    each_part(c_.subgroups[from], c_.subgroups[here()], [&](int owner, int, std::size_t reader) {
      c_.staged.parts[place(owner, reader)] = {at, lengths[i]};
      at += lengths[i++];
    });
  }

  communicator_state& c_;
  const int rank_;
  collective_turn& turn_;
  const exposure<Part>& what_;
};

// What a rank shows in a collective: the fields of `member` of the same names.
struct shown {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0;
  const void* more = nullptr;
  std::ptrdiff_t stride = 0;
  const parts* takes = nullptr;
};

inline void show(member& m, const shown& mine) noexcept {
  m.in = mine.in;
  m.out = mine.out;
  m.bytes = mine.bytes;
  m.more = mine.more;
  m.stride = mine.stride;
  m.takes = mine.takes;
}

// Called when all ranks have shown their buffers and met: each calls move(buffer_exposure), then each waits until all
// ranks of its process have moved.
template <class Part, class Move>
void move_shown(communicator_state& c, int rank, collective_turn& turn, const exposure<Part>& what,
                buffer_exposure<Part>& all, const Move& move) {
  if (c.spans_processes()) {
    if (rank == c.local()[0]) turn.lead([&] { all.exchange_with_subgroups(); });
    turn.meet_here();
  }
  // A user's reduction operator may throw. Other ranks read this rank's buffers until all have met.
  std::exception_ptr failure;
  try {
    move(all);
  } catch (const job_stopped&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
    note_failure(c, turn.failed_here());
  }
  if (c.spans_processes() && rank == c.local()[0]) turn.lead([&] { all.end_with_subgroups(); });
  turn.meet_here();
  turn.end_of_moving(failure);
  if (what.ends_together && c.spans_processes()) turn.meet_moved();
}

// The whole of a collective with large data: all ranks show their buffers, and meet before and after they move.
template <class Part, class Move>
void show_and_move(communicator_state& c, int rank, const collective_call& call, const shown& mine,
                   const exposure<Part>& what, const Move& move) {
  collective_turn turn(c, rank, call);
  show(turn.self(), mine);
  buffer_exposure<Part> all(c, rank, turn, what);
  turn.meet_prepared([](worker_group&) {}, [&] { all.meet_subgroups(); });
  move_shown(c, rank, turn, what, all, move);
}

// The commonest `Part`: the owner's whole buffer.
[[nodiscard]] inline std::span<const std::byte> whole(const member& m, int) noexcept {
  return {static_cast<const std::byte*>(m.in), m.bytes};
}

// The input of a rank, or a copy when the output overlaps it: a rank writes its output while others still read its
// input. `in_place`: the input lies in the output, where only the rank's own part belongs, and no copy is made.
class input_apart {
 public:
  input_apart(byte_view in, byte_view out, bool in_place) : data_(in.data()) {
    const auto a = reinterpret_cast<std::uintptr_t>(in.data());
    const auto b = reinterpret_cast<std::uintptr_t>(out.data());
    if (in_place || a >= b + out.size() || b >= a + in.size()) [[likely]]
      return;
    copy_.assign(in.begin(), in.end());
    data_ = copy_.data();
  }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }

 private:
  const std::byte* data_;
  padded_vector<std::byte> copy_;  // Aligned for any element.
};

inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0 && to != from) std::memmove(to, from, bytes);
}

}  // namespace weft::detail
