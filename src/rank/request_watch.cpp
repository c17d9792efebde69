#include "rank/request_watch.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"

namespace weft::detail {
namespace {

const char* name_of_start(const operation& op) {
  return op.what == operation::kind::collective ? "a collective"
         : op.what == operation::kind::recv     ? "a receive"
                                                : "a send";
}

std::string described(const operation& op) {
  if (op.what == operation::kind::collective) return "a collective";
  const int peer = op.what == operation::kind::recv ? op.match.source : op.peer;
  return formatted("{} of {} bytes {} {}, tag {}", name_of_start(op), op.bytes,
                   op.what == operation::kind::recv ? "from" : "to",
                   peer == any_source ? "any rank" : formatted("rank {}", peer),
                   tag_name(op.match.tag));
}

// Bytes in a row, by address.
struct interval {
  std::uintptr_t begin;
  std::uintptr_t end;
};

// Where the bytes of a layout are, in order of address; nothing for layouts of too many pieces.
std::vector<interval> pieces_of(const segments& all) {
  std::vector<interval> pieces;
  for (std::size_t pass = 0; pass < all.all().count; ++pass)
    for (const block_run& r : all.runs())
      for (std::size_t row = 0; row < r.middle.count; ++row)
        for (std::size_t i = 0; i < r.inner.count; ++i) {
          if (pieces.size() == checked_pieces_max) return {};
          const std::ptrdiff_t offset = r.offset +
                                        static_cast<std::ptrdiff_t>(pass) * all.all().stride +
                                        static_cast<std::ptrdiff_t>(row) * r.middle.stride +
                                        static_cast<std::ptrdiff_t>(i) * r.inner.stride;
          const std::uintptr_t begin = all.base() + static_cast<std::uintptr_t>(offset);
          pieces.push_back({begin, begin + r.block});
        }
  std::ranges::sort(pieces, {}, &interval::begin);
  return pieces;
}

std::vector<interval> pieces_of(const operation& op) {
  if (op.layout != nullptr) return pieces_of(*op.layout);
  const auto begin = reinterpret_cast<std::uintptr_t>(op.data);
  return {{begin, begin + op.bytes}};
}

// Whether some byte belongs to two pieces.
bool overlaps_itself(const segments& all) {
  if (all.contiguous()) return false;
  const std::vector<interval> pieces = pieces_of(all);
  std::uintptr_t end = 0;
  for (const interval& piece : pieces) {
    if (piece.begin < end && piece.begin < piece.end) return true;
    end = std::max(end, piece.end);
  }
  return false;
}

bool overlap(const operation& a, const operation& b) {
  const std::vector<interval> of_a = pieces_of(a);
  const std::vector<interval> of_b = pieces_of(b);
  for (auto x = of_a.begin(), y = of_b.begin(); x != of_a.end() && y != of_b.end();) {
    if (x->begin < y->end && y->begin < x->end) return true;
    (x->end <= y->end ? x : y)++;
  }
  return false;
}

bool has_memory(const operation& op) noexcept {
  return op.what != operation::kind::collective && op.bytes != 0;
}

using diagnosis::memory_range;

std::vector<memory_range> ranges_of(const std::vector<interval>& pieces) {
  std::vector<memory_range> ranges;
  for (const interval& piece : pieces)
    if (piece.begin != piece.end) ranges.push_back({piece.begin, piece.end});
  return ranges;
}

// A sum by which memory that has changed is recognised. Of long memory the first bytes count.
constexpr std::size_t summed_bytes_max = 1 << 20;
std::uint64_t sum_of(const std::vector<memory_range>& memory) {
  std::uint64_t sum = 0xcbf29ce484222325;
  std::size_t left = summed_bytes_max;
  for (const memory_range& range : memory) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(range.begin);
    const std::size_t count = std::min<std::size_t>(range.end - range.begin, left);
    for (std::size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 0x100000001b3;
    left -= count;
  }
  return sum;
}

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

request_watch::extent request_watch::extent_of(const operation& op) {
  if (!has_memory(op)) return {};
  extent all;
  for (const interval& piece : pieces_of(op)) {
    if (all.end == 0) all.begin = piece.begin;  // They are in order.
    all.end = std::max(all.end, piece.end);
  }
  return all;
}

request_watch::memories::by_begin::iterator request_watch::memories::add(extent where,
                                                                         const entry& of) {
  if (pieces_.empty()) longest_ = 0;
  longest_ = std::max(longest_, where.end - where.begin);
  return pieces_.emplace(where.begin, piece{where.end, &of});
}

const request_watch::entry* request_watch::memories::find_overlap(const operation& op,
                                                                  extent where) const {
  const std::uintptr_t first = where.begin - std::min(where.begin, longest_);
  for (auto at = pieces_.lower_bound(first); at != pieces_.end() && at->first < where.end; ++at)
    if (at->second.end > where.begin && overlap(op, *at->second.of->op)) return at->second.of;
  return nullptr;
}

void request_watch::started(diagnosis::job_checks& to, const operation& op) {
  active& mine = active_.emplace_back();
  mine.op = &op;
  mine.calls = diagnosis::calls_here();
  by_operation_[&op] = std::prev(active_.end());
  const extent where = extent_of(op);
  if (where.end == 0) return;
  const bool receives = op.what == operation::kind::recv;
  if (receives && op.layout != nullptr && overlaps_itself(*op.layout))
    to.add(
        {diagnosis::finding::kind::error,
         formatted("rank {} starts {} in {}, whose layout has the same memory more than once: what "
                   "is received needs memory of its own for each element",
                   op.owner->number, described(op), diagnosis::place_mark),
         {mine.calls}});
  if (const entry* const other = find_overlap(op, where); other != nullptr)
    to.add({diagnosis::finding::kind::error,
            formatted("rank {} starts {} in {}, whose memory overlaps that of {}, which is still "
                      "active, started in {}: wait for that one first, or use other memory",
                      op.owner->number, described(op), diagnosis::place_mark, described(*other->op),
                      diagnosis::place_mark),
            {mine.calls, other->calls}});
  mine.in = receives ? &received_ : &sent_;
  mine.at = mine.in->add(where, mine);
}

// Sends only read.
const request_watch::entry* request_watch::find_overlap(const operation& op, extent where) const {
  const entry* const other = received_.find_overlap(op, where);
  return other != nullptr || op.what == operation::kind::send ? other
                                                              : sent_.find_overlap(op, where);
}

void request_watch::used(diagnosis::job_checks& to, int rank, const char* call,
                         const segments& memory, bool writes) const {
  if (memory.size() == 0) return;
  operation use;
  use.what = writes ? operation::kind::recv : operation::kind::send;
  set_memory(use, memory);
  if (writes && overlaps_itself(memory))
    to.add({diagnosis::finding::kind::error,
            formatted("rank {} receives {} bytes in {}, called in {}, with a layout that has the "
                      "same memory more than once: what is received needs memory of its own for "
                      "each element",
                      rank, memory.size(), call, diagnosis::place_mark),
            {diagnosis::calls_here()}});
  if (const entry* const other = find_overlap(use, extent_of(use)); other != nullptr)
    to.add({diagnosis::finding::kind::error,
            formatted("rank {} {} memory in {}, called in {}, that overlaps that of {}, which is "
                      "still active, started in {}: wait for that one first, or use other memory",
                      rank, writes ? "writes" : "reads", call, diagnosis::place_mark,
                      described(*other->op), diagnosis::place_mark),
            {diagnosis::calls_here(), other->calls}});
}

// --- Memory of operations under way ----------------------------------------------------------------

request_watch::active* request_watch::find_active(const operation& op) noexcept {
  const auto found = by_operation_.find(&op);
  return found == by_operation_.end() ? nullptr : &*found->second;
}

void request_watch::hold(const active& by, const std::vector<memory_range>& memory, bool writes) {
  if (races_ == nullptr) return;
  for (const memory_range& where : memory)
    races_->begin({by.op->owner->number, where, writes, {by.op}, by.call, by.calls}, true);
}

void request_watch::use_memory(const operation& op, const char* call) {
  active* const mine = find_active(op);
  if (mine == nullptr) return;
  mine->call = call;
  if (!has_memory(op)) return;
  const bool receives = op.what == operation::kind::recv;
  mine->memory = ranges_of(pieces_of(op));
  mine->sum = sum_of(mine->memory);
  mine->is_final = !receives;
  hold(*mine, mine->memory, receives);
}

void request_watch::tell_changed(diagnosis::job_checks& to, active& by) {
  const std::uint64_t sum = sum_of(by.memory);
  if (sum == by.sum) return;
  by.sum = sum;
  std::size_t bytes = 0;
  for (const memory_range& range : by.memory) bytes += range.end - range.begin;
  const bool receives = by.op->what == operation::kind::recv;
  to.add({diagnosis::finding::kind::error,
          formatted("rank {} has written to the {} bytes that {}, started in {}, {}: leave them "
                    "alone until it has been waited for",
                    by.op->owner->number, bytes, by.call, diagnosis::place_mark,
                    receives ? "receives into" : "sends from"),
          {by.calls}});
}

void request_watch::waited_for(diagnosis::job_checks& to, const operation& op) {
  active* const mine = find_active(op);
  if (mine != nullptr && mine->is_final && !mine->memory.empty()) tell_changed(to, *mine);
}

void request_watch::seen_complete(const operation& op) {
  active* const mine = find_active(op);
  if (mine == nullptr) return;
  mine->memory.clear();
  if (races_ == nullptr) return;
  races_->end(op.owner->number, {&op});
  races_->take_all(op.owner->number);
}

void request_watch::came_at_once(const operation& op) {
  active* const mine = find_active(op);
  if (mine == nullptr || mine->memory.empty()) return;
  mine->sum = sum_of(mine->memory);
  mine->is_final = true;
}

void request_watch::look_at_unmatched(diagnosis::job_checks& to, const operation& op) {
  active* const mine = find_active(op);
  if (mine != nullptr && !mine->is_final && !mine->memory.empty()) tell_changed(to, *mine);
}

void request_watch::will_use(const segments& memory, bool writes) {
  if (memory.size() == 0) return;
  operation use;
  set_memory(use, memory);
  to_be_used_.push_back({ranges_of(pieces_of(use)), writes});
}

void request_watch::started_collective(const operation& op, const char* call) {
  const auto uses = std::exchange(to_be_used_, {});
  active* const mine = find_active(op);
  if (mine == nullptr) return;
  mine->call = call;
  const auto is_written = [&](const memory_range& range) {
    return std::ranges::any_of(uses, [&](const to_be_used& u) {
      return u.writes && std::ranges::any_of(u.memory, [&](const memory_range& other) {
               return other.overlaps(range);
             });
    });
  };
  for (const to_be_used& u : uses) {
    hold(*mine, u.memory, u.writes);
    if (u.writes) continue;
    for (const memory_range& range : u.memory)
      if (!is_written(range)) mine->memory.push_back(range);
  }
  mine->sum = sum_of(mine->memory);
  mine->is_final = true;
}

void request_watch::give_memory_back(active& of) noexcept {
  if (races_ != nullptr) {
    races_->end(of.op->owner->number, {of.op});
    races_->end_of_request(of.op->owner->number, of.op);
  }
  if (memories* const in = std::exchange(of.in, nullptr); in != nullptr) in->remove(of.at);
}

void request_watch::freed(const operation& op) noexcept {
  active* const mine = find_active(op);
  if (mine == nullptr) return;
  give_memory_back(*mine);
  mine->memory.clear();
}

const request_watch::entry* request_watch::find(const operation& op) const noexcept {
  const auto found = by_operation_.find(&op);
  return found == by_operation_.end() ? nullptr : &*found->second;
}

void request_watch::name(const operation& op, const char* call) noexcept {
  const auto found = by_operation_.find(&op);
  if (found != by_operation_.end()) found->second->call = call;
}

void request_watch::ended(const operation& op) noexcept {
  const auto found = by_operation_.find(&op);
  if (found == by_operation_.end()) return;
  give_memory_back(*found->second);
  active_.erase(found->second);
  by_operation_.erase(found);
}

void request_watch::look_when_quiescent(diagnosis::job_checks& to) const {
  for (const entry& e : active_)
    to.add({diagnosis::finding::kind::error,
            formatted("rank {} ended, but {}, started in {}, is still active: wait() for it or "
                      "cancel() it before the rank ends",
                      e.op->owner->number, described(*e.op), diagnosis::place_mark),
            {e.calls}});
}

// --- Messages ------------------------------------------------------------------------------------

namespace {

std::string described(const unexpected_message& m, const rank_state& r) {
  const std::size_t bytes = m.rts ? m.rts.bytes : m.bytes;
  if (face_names* const names = names_of(&r); names != nullptr)
    return formatted("{} bytes from {}, tag {}", bytes,
                     names->name_of_source(m.from.context, m.from.source), m.from.tag);
  return formatted("{} bytes from rank {}, tag {}, communicator {}", bytes, m.from.source,
                   m.from.tag, m.from.context);
}

}  // namespace

void look_at_dropped(diagnosis::job_checks& to, const rank_state& r, const unexpected_message& m) {
  if (r.home->owner().stopping()) return;
  to.add({diagnosis::finding::kind::warning,
          formatted("rank {} took a message of {} by mprobe and gave it up in {}: recv() it",
                    r.number, described(m, r), diagnosis::place_mark),
          {diagnosis::calls_here()}});
}

void look_at_unreceived(diagnosis::job_checks& to, job& j) {
  for (const auto& of : j.ranks) {
    const auto* const r = static_cast<const rank_state*>(of.get());
    std::size_t count = 0;
    for (const unexpected_message* m = r->lists.oldest(); m != nullptr; m = match_lists::after(*m))
      ++count;
    if (count == 0) continue;
    to.add(
        {diagnosis::finding::kind::warning,
         formatted("rank {} ended without receiving {} message{}; the first: {}: receive what is "
                   "sent, or do not send it",
                   r->number, count, count == 1 ? "" : "s", described(*r->lists.oldest(), *r)),
         {}});
  }
}

}  // namespace weft::detail
