// Large data in collectives: the ranks show each other their buffers, and each moves its part
// itself (Pure section 4.2.2). docs/protocols/collectives.md has the proof.
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

#include "rank/exchange.hpp"
#include "rank/in_turn.hpp"

namespace weft::detail {

// What the ranks of one process give to those of another in one collective.
inline constexpr std::uint64_t brought_bytes_max = std::uint64_t{1} << 39;

// What each rank shows to which, of what it gave. `part(shower, reader)` is it; of a rank of another
// process it is asked over there.
template <class Part>
struct exhibit {
  Part part;
  int only_shower = no_root;  // No_root: all show.
  int only_reader = no_root;
  bool per_reader = false;  // Otherwise all see the same.
  sizes known = sizes::of_all;
  std::size_t part_bytes = 0;  // When known.
};

// Shows the buffers of all ranks to all, lets each move what it wants, and holds everyone until
// all have done so.
template <class Part>
class exhibition {
 public:
  exhibition(communicator_state& c, int rank, in_turn& turn, const exhibit<Part>& what)
      : c_(c), rank_(rank), turn_(turn), what_(what) {}

  // Octets in a row, or a layout.
  using piece = std::invoke_result_t<const Part&, const member&, int>;

  // What this rank may read of the one that shows.
  [[nodiscard]] piece part(int shower) const {
    const member& m = c_.at(shower);
    if (m.rank != nullptr) return what_.part(m, rank_);
    return piece(c_.staged.parts[place(shower, what_.per_reader ? c_.local_place(rank_) : 0)]);
  }

  // Called by the leader while the other ranks of this process wait: brings here what other sites
  // show to this one, and sends them what they are to see.
  void bring() {
    const std::size_t sites = c_.sites.size();
    c_.staged.buffers.clear();
    c_.staged.buffers.resize(2 * sites);
    c_.staged.parts.assign(c_.members.size() * readers_here(), {});
    std::vector<std::vector<std::uint64_t>> lengths_out(sites), lengths_in(sites);
    const wait_description waiting = turn_.description();
    site_talk talk(c_, turn_.rank(), waiting);
    for (std::size_t s = 0; s < sites; ++s) {
      if (static_cast<int>(s) == c_.here) continue;
      lengths_out[s] = lengths_to(c_.sites[s]);
      lengths_in[s].assign(entries(c_.sites[s], c_.sites[here()]), what_.part_bytes);
      if (what_.known == sizes::of_all) continue;
      if (!lengths_in[s].empty())
        talk.receive(static_cast<int>(s), tag_of_lengths,
                     std::as_writable_bytes(std::span(lengths_in[s])));
      if (!lengths_out[s].empty())
        talk.send(static_cast<int>(s), tag_of_lengths, std::as_bytes(std::span(lengths_out[s])));
    }
    talk.wait();
    std::vector<std::size_t> bytes_in(sites);
    if (!go_alone()) {
      // Before anything is under way: what another process says may be refused.
      for (std::size_t s = 0; s < sites; ++s)
        if (bytes_in[s] = s == here() ? 0 : total(lengths_in[s]); bytes_in[s] != 0)
          c_.staged.buffers[s] = std::make_unique_for_overwrite<std::byte[]>(bytes_in[s]);
    }
    // Starting with the next site, so that not all send to one at a time.
    for (std::size_t step = 1; step < sites; ++step) {
      const std::size_t from = (here() + sites - step) % sites;
      const std::size_t to = (here() + step) % sites;
      if (go_alone()) {
        receive_each(talk, from);
        send_each(talk, to);
        continue;
      }
      if (bytes_in[from] != 0)
        talk.receive(static_cast<int>(from), tag_of_parts,
                     {c_.staged.buffers[from].get(), bytes_in[from]});
      if (const std::size_t bytes = total(lengths_out[to]); bytes != 0)
        talk.send(
            static_cast<int>(to), tag_of_parts,
            in_a_row(c_.sites[to], lengths_out[to].size(), bytes, c_.staged.buffers[sites + to]));
    }
    talk.wait();
    if (go_alone()) return;
    for (std::size_t s = 0; s < sites; ++s)
      if (s != here()) place_parts(s, lengths_in[s]);
  }

 private:
  [[nodiscard]] std::size_t here() const noexcept { return static_cast<std::size_t>(c_.here); }
  [[nodiscard]] std::size_t readers_here() const noexcept {
    return what_.per_reader ? c_.local().size() : 1;
  }
  [[nodiscard]] std::size_t place(int shower, std::size_t reader) const noexcept {
    return static_cast<std::size_t>(shower) * readers_here() + reader;
  }
  [[nodiscard]] bool shows(int rank) const noexcept {
    return what_.only_shower == no_root || what_.only_shower == rank;
  }
  [[nodiscard]] bool reads(const site& s) const noexcept {
    return what_.only_reader == no_root ||
           std::binary_search(s.members.begin(), s.members.end(), what_.only_reader);
  }
  // Calls `visit(shower, reader, place of the reader)` for all parts from one site to another, in
  // the order in which they travel.
  template <class Visit>
  void each_part(const site& from, const site& to, const Visit& visit) const {
    if (!reads(to)) return;
    for (const int shower : from.members) {
      if (!shows(shower)) continue;
      const std::size_t readers = what_.per_reader ? to.members.size() : 1;
      for (std::size_t r = 0; r < readers; ++r) visit(shower, to.members[r], r);
    }
  }
  [[nodiscard]] std::size_t entries(const site& from, const site& to) const {
    std::size_t count = 0;
    each_part(from, to, [&](int, int, std::size_t) { ++count; });
    return count;
  }
  [[nodiscard]] std::vector<std::uint64_t> lengths_to(const site& to) const {
    std::vector<std::uint64_t> lengths;
    each_part(c_.sites[here()], to, [&](int shower, int reader, std::size_t) {
      lengths.push_back(what_.part(c_.at(shower), reader).size());
    });
    return lengths;
  }
  // The lengths may be what another process says.
  [[nodiscard]] static std::size_t total(const std::vector<std::uint64_t>& lengths) {
    std::uint64_t sum = 0;
    for (const std::uint64_t length : lengths) {
      if (length > brought_bytes_max - sum) [[unlikely]]
        throw error("a process gives more than " + std::to_string(brought_bytes_max) +
                    " octets to another one in a collective, or what it says is wrong");
      sum += length;
    }
    return sum;
  }
  [[nodiscard]] static bool lies_in_a_row(octets) noexcept { return true; }
  [[nodiscard]] static bool lies_in_a_row(const segments& s) noexcept { return s.contiguous(); }
  [[nodiscard]] static octets row_of(octets data) noexcept { return data; }
  [[nodiscard]] static octets row_of(const segments& s) noexcept { return s.flat(); }
  // Large parts: each in a message of its own, from where it is to where it belongs.
  [[nodiscard]] bool go_alone() const noexcept {
    return what_.known == sizes::of_all && what_.part_bytes >= landing_bytes_min;
  }
  // Where a part belongs: in a row at whoever reads it, or at one of those here who read the same.
  [[nodiscard]] std::byte* landing(int shower, int reader) const noexcept {
    if (!what_.per_reader)
      reader = what_.only_reader != no_root ? what_.only_reader : c_.local()[0];
    const parts* const takes = c_.at(reader).takes;
    if (takes == nullptr || !takes->has(shower) || takes->bytes != what_.part_bytes) return nullptr;
    return const_cast<std::byte*>(takes->row(shower));
  }
  void receive_each(site_talk& talk, std::size_t from) {
    std::size_t staged = 0;
    const auto visit_all = [&](const auto& visit) {
      each_part(c_.sites[from], c_.sites[here()], visit);
    };
    visit_all([&](int shower, int reader, std::size_t) {
      if (landing(shower, reader) == nullptr) staged += what_.part_bytes;
    });
    if (staged != 0) c_.staged.buffers[from] = std::make_unique_for_overwrite<std::byte[]>(staged);
    std::byte* at = c_.staged.buffers[from].get();
    visit_all([&](int shower, int reader, std::size_t place_of_reader) {
      std::byte* to = landing(shower, reader);
      if (to == nullptr) to = std::exchange(at, at + what_.part_bytes);
      c_.staged.parts[place(shower, place_of_reader)] = {to, what_.part_bytes};
      talk.receive(static_cast<int>(from), tag_of_parts, {to, what_.part_bytes});
    });
  }
  void send_each(site_talk& talk, std::size_t to) {
    const site& there = c_.sites[to];
    std::size_t scattered = 0;
    each_part(c_.sites[here()], there, [&](int shower, int reader, std::size_t) {
      const piece part = what_.part(c_.at(shower), reader);
      if (!lies_in_a_row(part)) scattered += part.size();
    });
    auto& buffer = c_.staged.buffers[c_.sites.size() + to];
    if (scattered != 0) buffer = std::make_unique_for_overwrite<std::byte[]>(scattered);
    std::byte* at = buffer.get();
    each_part(c_.sites[here()], there, [&](int shower, int reader, std::size_t) {
      const piece part = what_.part(c_.at(shower), reader);
      octets row(at, part.size());
      if (lies_in_a_row(part)) {
        row = row_of(part);
      } else {
        copy_out(at, part);
        at += part.size();
      }
      talk.send(static_cast<int>(to), tag_of_parts, row);
    });
  }
  // A single part goes from where it is.
  [[nodiscard]] std::span<const std::byte> in_a_row(const site& to, std::size_t count,
                                                    std::size_t bytes,
                                                    std::unique_ptr<std::byte[]>& buffer) const {
    std::span<const std::byte> row;
    std::size_t at = 0;
    each_part(c_.sites[here()], to, [&](int shower, int reader, std::size_t) {
      const piece part = what_.part(c_.at(shower), reader);
      if (part.size() == 0) return;
      if (count == 1 && lies_in_a_row(part)) {
        row = row_of(part);
        return;
      }
      if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
      copy_out(buffer.get() + at, part);
      at += part.size();
    });
    return buffer == nullptr ? row : std::span<const std::byte>(buffer.get(), bytes);
  }
  void place_parts(std::size_t from, const std::vector<std::uint64_t>& lengths) {
    const std::byte* at = c_.staged.buffers[from].get();
    std::size_t i = 0;
    each_part(c_.sites[from], c_.sites[here()], [&](int shower, int, std::size_t reader) {
      c_.staged.parts[place(shower, reader)] = {at, lengths[i]};
      at += lengths[i++];
    });
  }

  communicator_state& c_;
  const int rank_;
  in_turn& turn_;
  const exhibit<Part>& what_;
};

// What a rank gives to a collective for others to see.
struct shown {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t bytes = 0;
  const void* more = nullptr;
  std::ptrdiff_t stride = 0;
  const parts* takes = nullptr;
};

template <class Part, class Move>
void show_and_move(communicator_state& c, int rank, const collective_call& call, const shown& mine,
                   const exhibit<Part>& what, const Move& move) {
  in_turn turn(c, rank, call);
  member& m = turn.self();
  m.in = mine.in;
  m.out = mine.out;
  m.bytes = mine.bytes;
  m.more = mine.more;
  m.stride = mine.stride;
  m.takes = mine.takes;
  turn.meet();
  exhibition<Part> all(c, rank, turn, what);
  if (c.spans_processes()) {
    if (rank == c.local()[0]) turn.lead([&] { all.bring(); });
    turn.meet_here();
  }
  // A user's operation may throw; the others still read this rank's buffers until all have met.
  std::exception_ptr failure;
  try {
    move(all);
  } catch (const job_stopped&) {
    throw;
  } catch (...) {
    failure = std::current_exception();
    note_failure(c, turn.failed_here());
  }
  turn.meet_here();
  turn.end_of_moving(failure);
}

// Parts of the commonest kind: all that a rank gave.
[[nodiscard]] inline std::span<const std::byte> whole(const member& m, int) noexcept {
  return {static_cast<const std::byte*>(m.in), m.bytes};
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes != 0 && to != from) std::memmove(to, from, bytes);
}

}  // namespace weft::detail
