#include "diagnosis/races.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/kernel.hpp"

namespace weft::diagnosis {
namespace {

// Uses of exposed memory that are remembered; messages between two ranks with one tag that are not received; turns of a
// communicator; receives from any rank, of each rank; names under which clocks are published. Of more, races may be missed.
constexpr std::size_t uses_max = 1 << 16;
constexpr std::size_t messages_max = 256;
constexpr std::size_t turns_max = 64;
constexpr std::size_t names_max = 1 << 13;
constexpr std::size_t wildcards_max = 64;
constexpr std::size_t told_max = 1 << 12;
// What one load reads at most.
constexpr std::size_t loaded_bytes_max = 8;

bool writes(use_kind kind) noexcept {
  return kind == use_kind::store || kind == use_kind::put || kind == use_kind::update;
}
bool is_atomic(use_kind kind) noexcept {
  return kind == use_kind::fetch || kind == use_kind::update;
}
const char* verb_of(use_kind kind) noexcept {
  return writes(kind) ? "writes" : "reads";
}

}  // namespace

// It is held over no wait and no call of other parts.
class race_watch::guard {
 public:
  explicit guard(race_watch& of) noexcept : of_(of) {
    while (!of_.lock_.try_take(1)) give_core_up();
  }
  ~guard() { of_.lock_.give(); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

 private:
  race_watch& of_;
};

std::atomic<int> race_watch::alive_{0};

race_watch::race_watch(job_checks& to, int ranks) : to_(to) {
  const auto count = static_cast<std::size_t>(ranks);
  clocks_.assign(count, clock(count, 0));
  for (std::size_t r = 0; r < count; ++r) clocks_[r][r] = 1;
  wildcards_.resize(count);
  polled_.resize(count);
  alive_.fetch_add(1, std::memory_order_relaxed);
}
race_watch::~race_watch() {
  alive_.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<race_watch> race_watch::of(job_checks& checks, int ranks) {
  static std::mutex lock;
  static std::map<const job_checks*, std::weak_ptr<race_watch>> all;
  if (ranks > ranks_max) return nullptr;
  const std::lock_guard locked(lock);
  std::erase_if(all, [](const auto& one) { return one.second.expired(); });
  if (const auto known = all.find(&checks); known != all.end())
    if (auto there = known->second.lock(); there != nullptr) return there;
  auto made = std::make_shared<race_watch>(checks, ranks);
  all[&checks] = made;
  return made;
}

// --- Order -----------------------------------------------------------------------------------------

void race_watch::merge(int rank, const clock& other) {
  clock& mine = clocks_[static_cast<std::size_t>(rank)];
  for (std::size_t r = 0; r < mine.size(); ++r) mine[r] = std::max(mine[r], other[r]);
}

void race_watch::merge_all(int rank) {
  for (std::size_t other = 0; other < clocks_.size(); ++other)
    if (polled_[other].begin != polled_[other].end)
      end_of_seen(static_cast<int>(other), polled_[other]);
  for (std::size_t other = 0; other < clocks_.size(); ++other) {
    if (other == static_cast<std::size_t>(rank)) continue;
    merge(rank, clocks_[other]);
    ++clocks_[other][other];
  }
}

void race_watch::publish(int rank, const name& where) {
  const guard locked(*this);
  catch_up(rank);
  clock& mine = clocks_[static_cast<std::size_t>(rank)];
  const auto found = published_.find(where);
  clock& there = found != published_.end()       ? found->second
                 : published_.size() < names_max ? published_[where]
                                                 : published_besides_;
  there.resize(mine.size());
  for (std::size_t r = 0; r < mine.size(); ++r) there[r] = std::max(there[r], mine[r]);
  ++mine[static_cast<std::size_t>(rank)];
}

void race_watch::take(int rank, const name& where) {
  const guard locked(*this);
  if (const auto found = published_.find(where); found != published_.end())
    merge(rank, found->second);
  else if (!published_besides_.empty())
    merge(rank, published_besides_);
}

void race_watch::take_from(int rank, int other) {
  if (rank == other) return;
  // A rank of another job: what it knows of this one's is not known here.
  if (other < 0 || static_cast<std::size_t>(other) >= clocks_.size()) return take_all(rank);
  const guard locked(*this);
  catch_up(other);
  clock& theirs = clocks_[static_cast<std::size_t>(other)];
  merge(rank, theirs);
  ++theirs[static_cast<std::size_t>(other)];
}

void race_watch::take_all(int rank) {
  const guard locked(*this);
  merge_all(rank);
}

void race_watch::entered(int rank, const collective& what) {
  const guard locked(*this);
  catch_up(rank);
  clock& mine = clocks_[static_cast<std::size_t>(rank)];
  auto& all = collectives_[{what.context, what.first}];
  clock& there = all[what.turn].known;
  there.resize(mine.size());
  for (std::size_t r = 0; r < mine.size(); ++r) there[r] = std::max(there[r], mine[r]);
  ++mine[static_cast<std::size_t>(rank)];
  if (all.size() > turns_max) all.erase(all.begin());
}

void race_watch::left(int rank, const collective& what) {
  const guard locked(*this);
  const auto all = collectives_.find({what.context, what.first});
  if (all == collectives_.end()) return merge_all(rank);
  const auto found = all->second.find(what.turn);
  if (found == all->second.end()) return merge_all(rank);
  merge(rank, found->second.known);
  // Nobody asks for it again.
  if (++found->second.left == what.ranks) all->second.erase(found);
  if (all->second.empty()) collectives_.erase(all);
}

void race_watch::sent(const message& m, int from) {
  if (m.to < 0 || static_cast<std::size_t>(m.to) >= clocks_.size()) return;  // To another job.
  const guard locked(*this);
  catch_up(from);
  clock& mine = clocks_[static_cast<std::size_t>(from)];
  sent_messages& all = messages_[m];
  all.waiting.push_back(mine);
  ++mine[static_cast<std::size_t>(from)];
  if (all.waiting.size() <= messages_max) return;
  all.waiting.pop_front();
  ++all.dropped;
}

void race_watch::lost(const message& m) {
  const guard locked(*this);
  if (const auto found = messages_.find(m); found != messages_.end()) found->second.has_lost = true;
}

void race_watch::received(const message& m, const receive& by) {
  std::vector<finding> found;
  bool is_known = false;
  {
    const guard locked(*this);
    const auto me = static_cast<std::size_t>(m.to);
    auto& taken = wildcards_[me];
    sent_messages& all = messages_[m];
    is_known = !all.waiting.empty();
    if (is_known) {
      // Which of them it is, is known only when receives end in the order in which they were posted.
      const bool is_exact = by.is_first && all.dropped == 0 && !all.has_lost;
      const clock sent_at = is_exact ? all.waiting.front() : all.waiting.back();
      all.waiting.pop_front();
      const wildcard_receive* other = nullptr;
      for (wildcard_receive& w : taken) {
        const bool fits = w.by.turn < by.turn && w.taken.context == m.context &&
                          w.taken.source != m.source && (w.by.tag < 0 || w.by.tag == m.tag);
        if (!fits || !w.sources.insert(m.source).second) continue;
        const bool is_elsewhere = by.names_source || w.by.calls != by.calls;
        if (other == nullptr && is_elsewhere && sent_at[me] < w.when) other = &w;
      }
      if (is_exact && other != nullptr && !is_told(other->by.calls, by.calls))
        found.push_back(
            {finding::kind::warning,
             formatted("{}rank {} took the message of rank {}, tag {}, by {} from any rank in {}, "
                       "which could as well have taken that of rank {}, tag {}, received by {} in "
                       "{}: which of them comes first is not determined; name the source, or use "
                       "different tags",
                       by.names_source ? std::string() : std::string(1, names_differ_mark), m.to,
                       other->taken.source, other->taken.tag, other->by.call, place_mark, m.source,
                       m.tag, by.call, place_mark),
             {other->by.calls, by.calls}});
      merge(m.to, sent_at);
    }
    // Those that were dropped come last.
    if (!is_known && all.dropped != 0) --all.dropped;
    if (all.waiting.empty() && all.dropped == 0 && !all.has_lost) messages_.erase(m);
    if (!by.names_source) {
      taken.push_back({m, clocks_[me][me], by, {}});
      if (taken.size() > wildcards_max) taken.pop_front();
    }
  }
  if (!is_known) take_all(m.to);
  tell(std::move(found));
}

// --- Memory ----------------------------------------------------------------------------------------

void race_watch::grow_bounds(const memory_range& where) noexcept {
  if (where.begin < lowest_.load(std::memory_order_relaxed))
    lowest_.store(where.begin, std::memory_order_relaxed);
  if (where.end > highest_.load(std::memory_order_relaxed))
    highest_.store(where.end, std::memory_order_relaxed);
}

bool race_watch::is_told(const call_list& one, const call_list& two) {
  return told_.size() >= told_max || !told_.emplace(one, two).second;
}

void race_watch::tell(std::vector<finding> found) {
  for (finding& f : found) to_.add(std::move(f));
}

void race_watch::compare_with_holds(int rank, memory_range where, bool is_write, const char* call,
                                    const call_list& calls, bool is_request,
                                    std::vector<finding>& found) {
  holds_.each_overlap(where, [&](const auto& at) {
    const held& h = at->second;
    if (h.rank != rank || (!is_write && !h.writes) || (is_request && h.is_request)) return false;
    if (is_told(h.calls, calls)) return true;
    found.push_back(
        {finding::kind::error,
         formatted(
             "rank {} {} {} bytes {}{}, while {}, called in {}, {} them: complete that first, or "
             "use other memory",
             rank, is_write ? "writes" : "reads", where.end - where.begin,
             call != nullptr ? formatted("by {} in ", call) : std::string("in "), place_mark,
             h.call, place_mark, h.writes ? "may still write" : "may still read"),
         {calls, h.calls}});
    return true;
  });
}

race_watch::held* race_watch::find_held(const pending& what) {
  return holds_.find(what.where, [&](const held& h) {
    return !h.is_request && h.rank == what.rank && h.writes == what.writes &&
           h.of.of == what.of.of && h.of.target == what.of.target &&
           h.of.request == what.of.request && h.calls == what.calls;
  });
}

void race_watch::begin(pending what, bool is_request) {
  std::vector<finding> found;
  {
    const guard locked(*this);
    grow_bounds(what.where);
    compare_with_holds(what.rank, what.where, what.writes, what.call, what.calls, is_request,
                       found);
    const std::pair key{what.rank, what.of.of};
    if (what.of.request != nullptr) requests_.emplace(what.rank, what.of.request);
    const auto mine = static_cast<std::size_t>(what.rank);
    const std::uint32_t now = clocks_[mine][mine];
    if (held* const same = is_request ? nullptr : find_held(what); same != nullptr)
      same->since = now;
    else
      holds_of_[key].push_back(holds_.add(held{std::move(what), is_request, now}));
  }
  tell(std::move(found));
}

void race_watch::end(int rank, const use_owner& of) {
  const guard locked(*this);
  const auto found = holds_of_.find({rank, of.of});
  if (found == holds_of_.end()) return;
  std::erase_if(found->second, [&](const auto& at) {
    if (of.target >= 0 && at->second.of.target != of.target) return false;
    holds_.erase(at);
    return true;
  });
  if (found->second.empty()) holds_of_.erase(found);
}

void race_watch::end_of_answered(int rank) {
  const guard locked(*this);
  for (auto& [key, holds] : holds_of_)
    if (key.first == rank)
      std::erase_if(holds, [&](const auto& at) {
        const held& h = at->second;
        if (h.is_request || h.writes || h.of.target < 0) return false;
        const auto target = static_cast<std::size_t>(h.of.target);
        if (clocks_[target][static_cast<std::size_t>(rank)] < h.since) return false;
        holds_.erase(at);
        return true;
      });
}

void race_watch::end_of_request(int rank, const void* request) {
  const guard locked(*this);
  if (requests_.erase({rank, request}) == 0) return;
  for (auto& [key, holds] : holds_of_)
    if (key.first == rank)
      std::erase_if(holds, [&](const auto& at) {
        if (at->second.of.request != request) return false;
        holds_.erase(at);
        return true;
      });
  const auto mine = static_cast<std::size_t>(rank);
  for (auto& [key, open] : open_uses_)
    if (key.first == rank)
      std::erase_if(open, [&](const auto& at) {
        use& u = at->second;
        if (u.of.request != request || writes(u.kind)) return false;
        u.is_over = true;
        u.when = clocks_[mine][mine];
        return true;
      });
}

void race_watch::expose(int rank, memory_range where, bool may_be_polled) {
  if (where.begin == where.end) return;
  const guard locked(*this);
  grow_bounds(where);
  exposed_.add({where, rank, may_be_polled});
}

void race_watch::hide(int rank, const void* begin) {
  const guard locked(*this);
  const memory_range first = memory_range::of(begin, 1);
  std::optional<by_begin<exposed>::iterator> gone;
  exposed_.each_overlap(first, [&](const auto& at) {
    const exposed& e = at->second;
    if (e.rank != rank || e.where.begin != first.begin) return false;
    gone = at;
    return true;
  });
  if (!gone) return;
  const memory_range where = (*gone)->second.where;
  exposed_.erase(*gone);
  bool is_still_exposed = false;
  exposed_.each_overlap(where, [&](const auto&) { return is_still_exposed = true; });
  if (is_still_exposed) return;  // By another window.
  const auto lies_there = [&](const use& u) { return u.where.overlaps(where); };
  for (auto& [key, open] : open_uses_)
    std::erase_if(open, [&](const auto& at) { return lies_there(at->second); });
  uses_.erase_if(lies_there);
}

bool race_watch::is_ordered(const use& before, int rank) const {
  if (!before.is_over) return false;
  return before.rank == rank ||
         clocks_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(before.rank)] >=
             before.when;
}

bool race_watch::conflict(const use& one, const use& two) {
  if (!writes(one.kind) && !writes(two.kind)) return false;
  if (!is_atomic(one.kind) || !is_atomic(two.kind)) return true;
  if (one.element != two.element) return true;
  const std::uintptr_t apart = one.where.begin > two.where.begin
                                   ? one.where.begin - two.where.begin
                                   : two.where.begin - one.where.begin;
  return apart % std::max<std::uint32_t>(one.element_bytes, 1) != 0;
}

bool race_watch::is_poll(const use& load, const use& other) {
  if (load.kind != use_kind::load || load.call != nullptr ||
      load.element_bytes > loaded_bytes_max || load.rank == other.rank)
    return false;
  bool may_be = false;
  exposed_.each_overlap(load.where,
                        [&](const auto& at) { return may_be = at->second.may_be_polled; });
  return may_be;
}

bool race_watch::make_room() {
  // Between two looks at all of them come so many new ones, although nearly all may be open.
  constexpr std::size_t between_looks = uses_max / 8;
  ++uses_since_look_;
  if (uses_.size() < uses_max) return true;
  if (uses_since_look_ < between_looks) return false;
  uses_since_look_ = 0;
  uses_.erase_if([](const use& u) { return u.is_over; });
  return uses_.size() < uses_max;
}

void race_watch::record(use what, std::vector<finding>& found) {
  std::optional<by_begin<use>::iterator> same;
  std::optional<by_begin<use>::iterator>
      before;  // Of the same place and time, and ends where this begins.
  bool is_known = false;
  const use* beside = nullptr;
  const use* polled = nullptr;  // Likewise, and one of the two may wait for the other by it.
  // One that ends where this begins is looked at, too.
  uses_.each_overlap({what.where.begin - 1, what.where.end}, [&](const auto& at) {
    const use& other = at->second;
    if (other.rank == what.rank && other.kind == what.kind && other.of.of == what.of.of &&
        other.of.target == what.of.target && other.element == what.element &&
        other.calls == what.calls) {
      const bool is_of_now = other.is_over && what.is_over && other.when == what.when;
      if (other.where.begin == what.where.begin && other.where.end == what.where.end)
        same = at;
      else if (is_of_now && other.where.begin <= what.where.begin &&
               what.where.end <= other.where.end)
        is_known = true;
      else if (is_of_now && other.where.end == what.where.begin)
        before = at;
      return false;
    }
    if (!other.where.overlaps(what.where) || !conflict(other, what) || is_ordered(other, what.rank))
      return false;
    const use* const load = is_poll(what, other) ? &what : is_poll(other, what) ? &other : nullptr;
    if (load != nullptr) polled_[static_cast<std::size_t>(load->rank)] = load->where;
    const use*& first = load != nullptr ? polled : beside;
    if (first == nullptr) first = &other;
    return false;
  });
  const bool is_only_polled = beside == nullptr;
  if (is_only_polled) beside = polled;
  if (beside != nullptr && !is_told(beside->calls, what.calls)) {
    const auto said = [](const use& u) {
      return formatted("rank {} {} {} bytes {}in {}", u.rank, verb_of(u.kind),
                       u.where.end - u.where.begin,
                       u.call != nullptr ? formatted("by {} ", u.call) : std::string(), place_mark);
    };
    found.push_back(
        {is_only_polled ? finding::kind::warning : finding::kind::error,
         formatted(
             "{}, and {}, and nothing orders the two: {}", said(*beside), said(what),
             is_only_polled
                 ? "which value is read is not determined; order them, or poll by an atomic "
                   "operation"
             : beside->rank == what.rank
                 ? "complete the first before, by a flush or the end of its epoch"
                 : "let one be complete, by a flush or the end of its epoch, and known to the "
                   "other rank, by a fence, a lock, a message or a barrier, before the other"),
         {beside->calls, what.calls}});
  }
  if (is_known) return;
  const std::pair key{what.rank, what.of.of};
  const bool is_open = !what.is_over;
  if (same) {
    // Again: the last time is what others must come after.
    use& last = (*same)->second;
    const bool was_open = !last.is_over;
    if (was_open && !is_open) return;  // What is open ends later.
    last.when = what.when;
    last.is_over = what.is_over;
    last.of = what.of;  // Another request may end it now.
    if (is_open && !was_open) open_uses_[key].push_back(*same);
    return;
  }
  if (before) {
    use longer = std::move((*before)->second);
    uses_.erase(*before);
    longer.where.end = what.where.end;
    longer.element_bytes = std::max(longer.element_bytes, what.element_bytes);
    uses_.add(std::move(longer));
    return;
  }
  if (!make_room()) return;
  const auto at = uses_.add(std::move(what));
  if (is_open) open_uses_[key].push_back(at);
}

void race_watch::start(use what) {
  std::vector<finding> found;
  {
    const guard locked(*this);
    what.is_over = false;
    catch_up(what.rank);
    if (what.of.request != nullptr) requests_.emplace(what.rank, what.of.request);
    record(std::move(what), found);
  }
  tell(std::move(found));
}

void race_watch::record_at_once(use what) {
  std::vector<finding> found;
  {
    const guard locked(*this);
    catch_up(what.rank);
    const auto mine = static_cast<std::size_t>(what.rank);
    what.is_over = true;
    what.when = clocks_[mine][mine];
    record(std::move(what), found);
  }
  tell(std::move(found));
}

void race_watch::over(int rank, const use_owner& of, which those) {
  const guard locked(*this);
  const auto found = open_uses_.find({rank, of.of});
  if (found == open_uses_.end()) return;
  const auto mine = static_cast<std::size_t>(rank);
  std::erase_if(found->second, [&](const auto& at) {
    use& u = at->second;
    if (of.target >= 0 && u.of.target != of.target) return false;
    if (those != which::all && writes(u.kind) != (those == which::writes)) return false;
    u.is_over = true;
    u.when = clocks_[mine][mine];
    return true;
  });
  if (found->second.empty()) open_uses_.erase(found);
}

void race_watch::end_of_seen(int rank, memory_range where) {
  uses_.each_overlap(where, [&](const auto& at) {
    use& u = at->second;
    if (u.is_over || u.rank == rank || !writes(u.kind)) return false;
    const auto theirs = static_cast<std::size_t>(u.rank);
    u.is_over = true;
    u.when = clocks_[theirs][theirs];
    const auto open = open_uses_.find({u.rank, u.of.of});
    if (open == open_uses_.end()) return false;
    std::erase(open->second, at);
    if (open->second.empty()) open_uses_.erase(open);
    return false;
  });
}

void race_watch::see(int rank, memory_range where) {
  end_of_seen(rank, where);
  merge_all(rank);
}

// What a rank's load has seen is known when the rank goes on, since it is noted before it is made.
void race_watch::catch_up(int rank) {
  memory_range& range = polled_[static_cast<std::size_t>(rank)];
  if (range.begin != range.end) see(rank, std::exchange(range, {}));
}

void race_watch::seen(int rank, memory_range where) {
  const guard locked(*this);
  see(rank, where);
}

void race_watch::look(int rank, memory_range where, bool is_write, const char* call,
                      const call_list& calls) {
  std::vector<finding> found;
  {
    const guard locked(*this);
    compare_with_holds(rank, where, is_write, call, calls, true, found);
  }
  tell(std::move(found));
}

void race_watch::touch(int rank, memory_range where, bool is_write, const char* call,
                       const call_list& calls) {
  if (where.begin >= where.end) return;
  std::vector<finding> found;
  {
    const guard locked(*this);
    // What a call uses is compared with requests elsewhere.
    compare_with_holds(rank, where, is_write, call, calls, call != nullptr, found);
    bool is_exposed = false;
    exposed_.each_overlap(where, [&](const auto&) { return is_exposed = true; });
    if (is_exposed) {
      catch_up(rank);
      const auto mine = static_cast<std::size_t>(rank);
      record(
          {rank,
           is_write ? use_kind::store : use_kind::load,
           where,
           0,
           static_cast<std::uint32_t>(std::min<std::uintptr_t>(where.end - where.begin, 1u << 31)),
           {},
           call,
           calls,
           true,
           clocks_[mine][mine]},
          found);
    }
  }
  tell(std::move(found));
}

}  // namespace weft::diagnosis
