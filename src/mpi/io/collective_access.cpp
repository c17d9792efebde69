// Collective reads and writes. Where the accesses of the ranks lie among each other, a few ranks, the aggregators, make the
// calls of the file system for all: each has a part of the range that is accessed, and goes through it window by window.
//
// Within a process there is no exchange of data: the ranks show each other their pieces, and an aggregator reads into and
// writes from the ranks' own memory. With ranks of other processes it exchanges messages, window by window:
//
//   write   rank -> aggregator    the pieces' places, then their bytes
//   read    rank -> aggregator    the pieces' places
//           aggregator -> rank    where the file ended, then the bytes
//
// Both sides know from the first exchange which ranks have anything in a window, so nobody waits for a message that does not
// come. A failure of the file system is kept to the end, when all ranks are told: the messages flow as if nothing had happened.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/kernel.hpp"
#include "collective/collectives.hpp"
#include "mpi/io/access.hpp"

namespace weft::mpi {
namespace {

constexpr int tag_of_places = 1;
constexpr int tag_of_data = 2;
// A part has no more windows than this: where accesses are far apart, windows grow instead.
constexpr std::uint64_t windows_max = 1024;
constexpr std::uint64_t part_alignment = 4096;
// Ranks whose accesses have at least this size, and do not interleave, carry them out themselves.
constexpr std::uint64_t own_access_bytes_min = 256 * 1024;

// What each rank tells all others.
struct shown_access {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // In the file.
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;  // The address of its list, for ranks of its process.
  std::int32_t code = MPI_SUCCESS;
  std::int32_t unused = 0;
  [[nodiscard]] bool meets(std::uint64_t from, std::uint64_t to) const noexcept {
    return bytes != 0 && begin < to && end > from;
  }
};

// A place of a piece in a message.
struct sent_place {
  std::uint64_t offset;
  std::uint64_t bytes;
};

// What each rank tells at the end.
struct shown_outcome {
  std::uint64_t end_of_file = file_outcome::no_end;
  std::uint64_t at = 0;
  std::int32_t error = 0;
  std::int32_t reads = 0;
};

struct window {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The pieces of a list, in ascending order, that lie in the window; those at its bounds are cut.
void append_in_window(std::vector<file_piece>& to, const std::vector<file_piece>& list,
                      const window& w) {
  auto at = std::ranges::upper_bound(list, w.begin, {}, &file_piece::offset);
  if (at != list.begin()) --at;  // It may reach into the window.
  for (; at != list.end() && at->offset < w.end; ++at) {
    if (at->end() <= w.begin) continue;
    file_piece p = *at;
    if (p.offset < w.begin) {
      const auto cut = static_cast<std::size_t>(w.begin - p.offset);
      p = {w.begin, p.memory + cut, p.bytes - cut};
    }
    p.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(p.bytes, w.end - p.offset));
    to.push_back(p);
  }
}

class together {
 public:
  together(state& me, file_state& f, const file_access& access, const char* call,
           std::vector<shown_access> shown, const std::vector<file_piece>& own)
      : me_(me), f_(f), call_(call), writes_(access.writes()), shown_(std::move(shown)), own_(own) {
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    for (const shown_access& s : shown_)
      if (s.bytes != 0) {
        low = std::min(low, s.begin);
        high = std::max(high, s.end);
      }
    low_ = low / part_alignment * part_alignment;
    high_ = high;
    const std::uint64_t count = f.aggregators.size();
    part_ = (high_ - low_ + count - 1) / count;
    part_ = (part_ + part_alignment - 1) / part_alignment * part_alignment;
    window_ = std::max(f.hints.buffer_bytes, (part_ + windows_max - 1) / windows_max);
  }

  // Returns what became of the windows of this rank; of a read also what its aggregators told it.
  file_outcome run() {
    const auto mine = std::ranges::find(f_.aggregators, f_.own());
    for (std::uint64_t done = 0; done < part_; done += window_) {
      std::vector<std::vector<std::byte>> sent;
      std::vector<weft::request> sending;
      send_own(done, sent, sending);
      if (mine != f_.aggregators.end())
        serve(window_of(static_cast<std::size_t>(mine - f_.aggregators.begin()), done), sent,
              sending);
      if (!writes_) receive_own(done);
      for (weft::request& r : sending) go_on_without([&] { r.wait(); });
    }
    return outcome_;
  }

 private:
  // Messages with a process that has died throw. The others still wait for this rank's messages: it goes on, and the exchange of
  // outcomes fails on all of them.
  template <class Step>
  void go_on_without(const Step& step) {
    try {
      step();
    } catch (const weft::error&) {
      outcome_.add({.error = ECONNRESET, .action = "exchanging data for", .at = low_});
    }
  }
  [[nodiscard]] window window_of(std::size_t aggregator, std::uint64_t done) const noexcept {
    const std::uint64_t begin = low_ + aggregator * part_;
    const std::uint64_t end = std::min(begin + part_, high_);
    return {std::min(begin + done, end), std::min(begin + done + window_, end)};
  }
  [[nodiscard]] const shown_access& shown_by(int rank) const noexcept {
    return shown_[static_cast<std::size_t>(rank)];
  }
  // Calls visit(aggregator, window) for those of other processes that get or give bytes of this rank.
  template <class Visit>
  void each_far_window(std::uint64_t done, const Visit& visit) const {
    for (std::size_t i = 0; i < f_.aggregators.size(); ++i) {
      const window w = window_of(i, done);
      if (!f_.is_here(f_.aggregators[i]) && shown_by(f_.own()).meets(w.begin, w.end))
        visit(f_.aggregators[i], w);
    }
  }

  static void append(std::vector<std::byte>& message, const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    message.insert(message.end(), begin, begin + bytes);
  }

  void send_own(std::uint64_t done, std::vector<std::vector<std::byte>>& sent,
                std::vector<weft::request>& sending) {
    std::vector<file_piece> pieces;
    each_far_window(done, [&](int aggregator, const window& w) {
      pieces.clear();
      append_in_window(pieces, own_, w);
      std::vector<std::byte>& message = sent.emplace_back();
      const std::uint64_t count = pieces.size();
      append(message, &count, sizeof count);
      for (const file_piece& p : pieces) {
        const sent_place place{p.offset, p.bytes};
        append(message, &place, sizeof place);
      }
      if (writes_)
        for (const file_piece& p : pieces) append(message, p.memory, p.bytes);
      go_on_without([&] {
        sending.push_back(
            f_.ranks().isend(std::span<const std::byte>(message), aggregator, tag_of_places));
      });
    });
  }

  void receive_own(std::uint64_t done) {
    std::vector<file_piece> pieces;
    each_far_window(done, [&](int aggregator, const window& w) {
      std::vector<std::byte> message;
      go_on_without(
          [&] { message = f_.ranks().recv<std::vector<std::byte>>(aggregator, tag_of_data); });
      if (message.empty()) return;
      pieces.clear();
      append_in_window(pieces, own_, w);
      std::size_t wanted = sizeof(std::uint64_t);
      for (const file_piece& p : pieces) wanted += p.bytes;
      if (message.size() != wanted) return note_refused();
      std::uint64_t end_of_file = 0;
      std::memcpy(&end_of_file, message.data(), sizeof end_of_file);
      const std::byte* from = message.data() + sizeof end_of_file;
      for (const file_piece& p : pieces) {
        // What lies behind the end of the file stays as it is in memory.
        if (p.offset < end_of_file)
          std::memcpy(p.memory, from, std::min<std::uint64_t>(p.bytes, end_of_file - p.offset));
        from += p.bytes;
      }
    });
  }

  // What has come is not what a rank of this access sends. The others wait for this rank's messages: it goes on.
  void note_refused() noexcept {
    outcome_.add({.error = EPROTO, .action = "exchanging data for", .at = low_});
  }

  // What a rank of another process has in this window.
  struct far_part {
    int rank = 0;
    std::vector<std::byte> message;  // Of a write; of a read the bytes that go back.
  };
  // Checks what has come before anything of it is used. False: it is refused.
  [[nodiscard]] bool take_places(far_part& part, const window& w,
                                 std::vector<file_piece>& pieces) const {
    std::uint64_t count = 0;
    const std::size_t size = part.message.size();
    if (size >= sizeof count) std::memcpy(&count, part.message.data(), sizeof count);
    if (size < sizeof count || count > (size - sizeof count) / sizeof(sent_place)) return false;
    std::size_t at = sizeof count;
    const std::size_t begin_of_data = at + static_cast<std::size_t>(count) * sizeof(sent_place);
    std::size_t data = begin_of_data;
    std::vector<sent_place> places(static_cast<std::size_t>(count));
    if (count != 0) std::memcpy(places.data(), part.message.data() + at, begin_of_data - at);
    std::uint64_t total = 0;
    for (const sent_place& p : places) {
      if (p.offset < w.begin || p.bytes > w.end - w.begin || p.offset > w.end - p.bytes)
        return false;
      total += p.bytes;
      if (total > shown_by(part.rank).bytes) return false;
    }
    if (size - begin_of_data != (writes_ ? total : 0)) return false;
    if (!writes_) {
      part.message.assign(sizeof(std::uint64_t) + static_cast<std::size_t>(total), std::byte{});
      data = sizeof(std::uint64_t);
    }
    for (const sent_place& p : places) {
      pieces.push_back({p.offset, part.message.data() + data, static_cast<std::size_t>(p.bytes)});
      data += static_cast<std::size_t>(p.bytes);
    }
    return true;
  }

  // This rank's part of the work of an aggregator, in one window.
  void serve(const window& w, std::vector<std::vector<std::byte>>& sent,
             std::vector<weft::request>& sending) {
    if (w.begin >= w.end) return;
    std::vector<file_piece> pieces;
    std::vector<far_part> far;
    for (int r = 0; r < f_.ranks().size(); ++r) {
      const shown_access& s = shown_by(r);
      if (!s.meets(w.begin, w.end)) continue;
      if (f_.is_here(r)) {
        append_in_window(pieces, *reinterpret_cast<const std::vector<file_piece>*>(s.pieces), w);
      } else {
        far_part part{r, {}};
        go_on_without(
            [&] { part.message = f_.ranks().recv<std::vector<std::byte>>(r, tag_of_places); });
        if (part.message.empty()) continue;
        if (!take_places(part, w, pieces)) {
          note_refused();
          part.message.assign(sizeof(std::uint64_t), std::byte{});  // It waits for an answer.
        }
        far.push_back(std::move(part));
      }
    }
    if (!std::ranges::is_sorted(pieces, {}, &file_piece::offset))
      std::ranges::stable_sort(pieces, {}, &file_piece::offset);
    file_outcome now;
    if (outcome_.is_good() && !pieces.empty()) {
      // From here on memory of other ranks is used, also when the job stops.
      me_.rank.home->check_stopped();
      f_.file->borrowed.expect_another();
      run_blocking(me_, purpose_of(f_, call_), [&] {
        now = writes_ ? f_.file->write(pieces) : f_.file->read(pieces);
        f_.file->borrowed.arrive();
      });
      outcome_.add(now);
    }
    if (writes_) return;
    for (far_part& part : far) {
      std::vector<std::byte>& message = sent.emplace_back(std::move(part.message));
      std::memcpy(message.data(), &outcome_.end_of_file, sizeof outcome_.end_of_file);
      go_on_without([&] {
        sending.push_back(
            f_.ranks().isend(std::span<const std::byte>(message), part.rank, tag_of_data));
      });
    }
  }

  state& me_;
  file_state& f_;
  const char* call_;
  const bool writes_;
  const std::vector<shown_access> shown_;
  const std::vector<file_piece>& own_;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t part_ = 0;    // Bytes of an aggregator's part.
  std::uint64_t window_ = 0;  // Bytes of a window.
  file_outcome outcome_;
};

// A rank that leaves early waits until no operation of its process uses memory of other ranks any more.
class lent_memory {
 public:
  explicit lent_memory(const open_file& f) noexcept : of_(f) {}
  ~lent_memory() {
    while (!of_.borrowed.all_arrived()) sleep_in_kernel(std::chrono::microseconds(50));
  }
  lent_memory(const lent_memory&) = delete;
  lent_memory& operator=(const lent_memory&) = delete;

 private:
  const open_file& of_;
};

// Whether the ranks' accesses follow one another in the order of the ranks, without lying among each other.
bool are_apart(const std::vector<shown_access>& shown) noexcept {
  std::uint64_t behind = 0;
  for (const shown_access& s : shown) {
    if (s.bytes == 0) continue;
    if (s.begin < behind) return false;
    behind = s.end;
  }
  return true;
}

bool goes_alone(const file_state& f, const std::vector<shown_access>& shown, bool writes) noexcept {
  const file_hints::choice wish = writes ? f.hints.collective_writes : f.hints.collective_reads;
  if (f.atomic || wish == file_hints::choice::disable) return true;
  if (wish == file_hints::choice::enable) return false;
  std::uint64_t bytes = 0;
  std::uint64_t ranks = 0;
  for (const shown_access& s : shown) {
    bytes += s.bytes;
    ranks += s.bytes != 0 ? 1U : 0U;
  }
  return ranks <= 1 || (are_apart(shown) && bytes / ranks >= own_access_bytes_min);
}

// All ranks have come; some may bring no access. Throws on all when one brings none.
std::vector<shown_access> show(const file_state& f, const collective_access& mine,
                               const std::vector<file_piece>& pieces) {
  shown_access own;
  own.code = mine.problem.code;
  if (own.code == MPI_SUCCESS && !pieces.empty()) {
    own.begin = pieces.front().offset;
    for (const file_piece& p : pieces) own.end = std::max(own.end, p.end());
    own.bytes = mine.access->bytes();
    own.pieces = reinterpret_cast<std::uintptr_t>(&pieces);
  }
  std::vector<shown_access> all = f.ranks().allgather(own);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].code != MPI_SUCCESS)
      fail_as(f.ranks(), static_cast<int>(r), all[r].code, mine.problem);
  return all;
}

// Sets the access behind those of lower ranks, from where the shared pointer is, and moves that behind them all.
void set_order(state& me, file_state& f, collective_access& mine, const char* call) {
  const std::uint64_t own = mine.problem.code == MPI_SUCCESS ? mine.access->elements() : 0;
  const std::vector<std::uint64_t> all = f.ranks().allgather(own);
  std::uint64_t total = 0;
  std::uint64_t before = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (r == static_cast<std::size_t>(f.own())) before = total;
    total += all[r];
  }
  struct answer {
    std::uint64_t begin = 0;
    std::int32_t error = 0;
    std::int32_t unused = 0;
  } found;
  if (f.own() == 0) {
    file_outcome outcome;
    const auto work = [&] { outcome = f.pointer->add(total, found.begin); };
    if (f.pointer->is_file())
      run_blocking(me, {call, f.name}, work);
    else
      work();
    found.error = outcome.error;
  }
  found = f.ranks().bcast(found, 0);
  mine.problem.note([&] {
    if (found.error != 0)
      fail(class_of_error(found.error), "the shared pointer of file \"{}\": {}", printable(f.name),
           text_of_error(found.error));
    if (mine.access != nullptr) mine.access->set_position(found.begin + before);
  });
}

// Tells all ranks what became of it. Returns where reads have found the end of the file; throws when one has failed.
std::uint64_t tell_outcome(const file_state& f, const file_outcome& own) {
  shown_outcome mine{own.end_of_file, own.at, own.error, std::strcmp(own.action, "reading") == 0};
  const std::vector<shown_outcome> all = f.ranks().allgather(mine);
  std::uint64_t end_of_file = file_outcome::no_end;
  for (const shown_outcome& s : all) end_of_file = std::min(end_of_file, s.end_of_file);
  check_outcome(f, own);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].error != 0)
      fail(class_of_error(all[r].error), "rank {} failed at byte {} of file \"{}\": {}", r,
           all[r].at, printable(f.name), text_of_error(all[r].error));
  return end_of_file;
}

std::uint64_t access_in_turn(state& me, file_state& f, collective_access& mine, const char* call) {
  if (mine.is_ordered) set_order(me, f, mine, call);
  std::vector<file_piece> pieces;
  mine.problem.note([&] {
    if (mine.access != nullptr) pieces = mine.access->pieces();
  });
  // What others read of this rank's ends with the exchange of outcomes.
  const lent_memory lent(*f.file);
  const std::vector<shown_access> shown = show(f, mine, pieces);
  if (std::ranges::all_of(shown, [](const shown_access& s) { return s.bytes == 0; })) return 0;
  file_access& access = *mine.access;
  file_outcome own;
  std::uint64_t end_of_file = file_outcome::no_end;
  if (goes_alone(f, shown, access.writes())) {
    run_blocking(me, purpose_of(f, call), [&] { own = access.carry_out(*f.file, f.atomic); });
    (void)tell_outcome(f, own);
    end_of_file = own.end_of_file;
  } else {
    own = together(me, f, access, call, shown, pieces).run();
    end_of_file = tell_outcome(f, own);
  }
  return access.conclude(access.bytes_before(end_of_file));
}

}  // namespace

std::uint64_t access_together(state& me, file_state& f, std::uint64_t turn, collective_access& mine,
                              const char* call) {
  const file_turn now(me, f, call, turn);
  return access_in_turn(me, f, mine, call);
}

weft::request begin_together(state& me, const std::shared_ptr<file_state>& f,
                             collective_access mine, std::shared_ptr<std::uint64_t> moved,
                             const char* call) {
  const std::uint64_t turn = file_turn::take_number(*f);
  return detail::start_activity(
      f->ranks().shared_state(),
      [&me, f, turn, mine = std::make_shared<collective_access>(std::move(mine)),
       moved = std::move(moved), call] {
        try {
          *moved = access_together(me, *f, turn, *mine, call);
        } catch (...) {
          // The handler of the file is called, not that of a communicator.
          const failure why = current_failure();
          throw failure(why.code(), why.what(), MPI_COMM_NULL, f->handle);
        }
      });
}

}  // namespace weft::mpi
