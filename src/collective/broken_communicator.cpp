// What holds when the ranks of a communicator disagree about a collective, or one of them leaves it
// by an exception while the others are inside: the communicator is broken for good. Whoever waits
// in a collective of it is woken and throws, and so does every later call; nobody waits for ranks
// that will not come. docs/protocols/collectives.md says why nobody reads what they leave behind.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "base/uncaught.hpp"
#include "collective/broken_communicator.hpp"
#include "collective/calls.hpp"
#include "collective/peer_failure.hpp"
#include "collective/remote_subgroups.hpp"
#include "collective/subgroups.hpp"
#include "rank/messages.hpp"
#include "rank/names.hpp"
#include "rank/remote.hpp"
#include "rank/source_validation.hpp"
#include "rank/state.hpp"
#include "sync/memory_use.hpp"

namespace weft::detail {
namespace {

// Wakes the ranks of this worker that wait for the others of their group.
void release_waiting(worker& here, communicator_state& c) noexcept {
  for (std::size_t i = 0; i < c.groups.size(); ++i) {
    if (c.workers[i] != here.index()) continue;
    for (completion_counter& all : c.groups[i].waits) here.end(all);
  }
}

void list_broken(communicator_list& in, std::uint32_t context, int leader, const std::string& why) {
  const std::lock_guard hold(in.lock);
  in.broken.try_emplace({context, leader}, why);
  // Relaxed: a message that is kept meanwhile is refused with those that wait: end_control_messages().
  in.any_broken.store(true, std::memory_order_relaxed);
}

// Such a text begins with this byte: "rank code length", and of that length what stands before the name of the
// rank; what follows it comes behind. Of no rank (-1) nothing is named. It may have come from another process, cut
// at its end.
constexpr char failure_mark = '\x01';
constexpr int no_rank = -1;

std::string encoded_failure(int rank, int code, const std::string& before, const std::string& why) {
  return formatted("{}{} {} {} {}{}", failure_mark, rank, code, before.size(), before, why);
}

coded_error read_failure(const communicator_state& c, const std::string& encoded) {
  std::istringstream from(encoded.substr(encoded.empty() || encoded[0] != failure_mark ? 0 : 1));
  int rank = no_rank, code = no_code;
  std::size_t length = 0;
  if (from.str().size() == encoded.size() || !(from >> rank >> code >> length) || from.get() != ' ')
    return {encoded, no_code};
  const auto begin = static_cast<std::size_t>(from.tellg());
  const std::string text = from.str().substr(std::min(begin, from.str().size()));
  if (rank == no_rank) return {text, code};
  const std::size_t before = std::min(length, text.size());
  const std::string name =
      name_of_peer(static_cast<const rank_state*>(worker::caller()), c.context, rank);
  // A rank of another group calls others in its own way.
  return {formatted("{}{}{}: {}", std::string_view(text).substr(0, before), name,
                    name == rank_name(rank) ? "" : ", which says",
                    std::string_view(text).substr(before)),
          code};
}

// From now on messages of other subgroups are refused. Returns false when they were refused before.
bool cut_off(communicator_state& c) {
  list_broken(*c.listed_in, c.context, c.to(c.local()[0]).number, c.failure);
  return !c.cut_off.exchange(true, std::memory_order_relaxed);  // Relaxed: the mail orders it.
}

// No rank may leave the collective while data are copied or sent to other subgroups. The ranks of this process meet once more, or the leader fails first; then they see the failure. Called where the leader is at home.
bool may_be_left(communicator_state& c) {
  return c.conversations == 0 && !c.at(c.local()[0]).moving;
}

bool is_of_revocation(const std::string& encoded);

// Called where the leader is at home.
void end_collectives(worker& here, communicator_state& c, const std::string& why) {
  note_failure(c, why);
  static_cast<void>(cut_off(c));
  end_control_messages(here, c);
  if (may_be_left(c)) break_communicator(here, c, why);
}

std::string encoded_revocation(const communicator_state& c) {
  return encoded_failure(no_rank, revoked, "", formatted("{} is revoked", name_of(c)));
}
bool is_of_revocation(const std::string& encoded) {
  std::istringstream from(encoded.substr(encoded.empty() ? 0 : 1));
  int rank = 0, code = no_code;
  return !encoded.empty() && encoded[0] == failure_mark && from >> rank >> code && code == revoked;
}

// What this worker's ranks do on the communicator ends.
void take_revocation(worker& here, communicator_state& c) {
  end_operations_of_revoked(here, c);
  if (c.at(c.local()[0]).rank->home == &here) end_collectives(here, c, encoded_revocation(c));
}

void tell_workers(worker& here, communicator_state& c) {
  const communicator_state* const subject = &c;
  for (std::size_t i = 0; i < c.groups.size(); ++i)
    if (c.workers[i] != here.index())
      here.post(c.workers[i], mail_broken,
                static_cast<std::uint32_t>(c.to(c.groups[i].members.front()).number),
                std::as_bytes(std::span(&subject, 1)));
}

// Those that are revoked with it. Its siblings of one split have the same context and other ranks.
std::vector<shared_handle<communicator_state>> followers_of(const communicator_state& c) {
  std::vector<shared_handle<communicator_state>> found;
  const std::lock_guard hold(c.listed_in->lock);
  for (const auto& [context, one] : c.listed_in->by_context)
    // Relaxed: calls on one that does not follow yet begin later, and look at `revoked` of `c`.
    if (one->revoked_with.load(std::memory_order_relaxed) == c.context &&
        one->to(0).number == c.to(0).number)
      if (auto owned = owned_too(*one); owned != nullptr) found.push_back(std::move(owned));
  return found;
}

}  // namespace

void revoke(worker& here, communicator_state& c) {
  // Relaxed, here and in the list: the mail orders them. It may be revoked already, by early news, which nobody has passed on.
  c.revoked.store(true, std::memory_order_relaxed);
  if (c.has_told_revocation.exchange(true, std::memory_order_relaxed)) return;
  c.listed_in->any_revoked.store(true, std::memory_order_relaxed);
  const std::string why = encoded_revocation(c);
  note_failure(c, why);
  if (c.spans_processes()) c.of.subgroups->tell_broken(here, c, why);
  tell_workers(here, c);
  take_revocation(here, c);
  for (const auto& follower : followers_of(c)) revoke(here, *follower);
}

void note_failure(communicator_state& c, const std::string& why) {
  const std::lock_guard hold(c.listed_in->lock);
  if (c.failed.load(std::memory_order_relaxed)) return;  // Relaxed: written under this lock only.
  c.failure = why;
  // Relaxed: whoever sees it reads the text under the lock.
  c.failed.store(true, std::memory_order_relaxed);
}

void break_communicator(worker& here, communicator_state& c, const std::string& why) {
  note_failure(c, why);
  if (!memory_use::close(c.broken)) return;  // Before anybody is woken: see begin_moving().
  if (here.owner().stopping()) return;       // All are woken, and what waits here may be gone.
  if (c.spans_processes()) {
    if (cut_off(c)) c.of.subgroups->tell_broken(here, c, c.failure);
    end_control_messages(here, c);
  }
  release_waiting(here, c);
  tell_workers(here, c);
}

void throw_failed(communicator_state& c, const char* call) {
  std::string encoded;
  {
    const std::lock_guard hold(c.listed_in->lock);
    // Relaxed: its text is the same, whenever it is read.
    encoded = c.revoked.load(std::memory_order_relaxed) ? encoded_revocation(c) : c.failure;
  }
  const coded_error first = read_failure(c, encoded);
  if (call == nullptr) throw first;
  throw coded_error(
      formatted("{} on a broken communicator, on which no collective can work any more: {}", call,
                first.what()),
      first.code());
}

int code_of(const std::exception& e) noexcept {
  if (const auto* const coded = dynamic_cast<const coded_error*>(&e); coded != nullptr)
    return coded->code();
  return dynamic_cast<const dead_partner*>(&e) != nullptr ? process_died : no_code;
}

std::string peer_failure(const communicator_state& c, int rank, const collective_call& call) {
  std::string why = "it ended with an exception";
  int code = no_code;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    why = "there is no memory for it";
    code = no_memory;
  } catch (const std::exception& e) {
    code = code_of(e);
    why = code == no_code ? text_of(e) : e.what();
  } catch (...) {
  }
  return encoded_failure(rank, code,
                         formatted("{} on {} failed on rank ", described(call), name_of(c)), why);
}

std::string encoded_mismatch(const std::string& text) {
  return encoded_failure(no_rank, calls_differ, "", text);
}

void on_broken(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  communicator_state* subject = nullptr;
  std::memcpy(&subject, payload, sizeof subject);
  // Once all that waited are gone it may be gone, too: then it is not listed.
  communicator_list& listed = *rank_of(here, header.target()).shared->communicators;
  shared_handle<communicator_state> c;
  {
    const std::lock_guard hold(listed.lock);
    for (const auto& [context, listed_one] : listed.by_context)
      if (listed_one == subject) c = owned_too(*subject);
  }
  if (c == nullptr) return;
  if (c->revoked.load(std::memory_order_relaxed)) take_revocation(here, *c);  // Relaxed: the mail.
  if (!c->broken.load(std::memory_order_relaxed)) return;  // Its leader's worker ends collectives.
  if (c->spans_processes()) end_control_messages(here, *c);
  release_waiting(here, *c);
}

void on_subgroups_broken(worker& here, rank_state& to, std::uint32_t context,
                         const comm::address& sender, const std::string& why) {
  shared_handle<communicator_state> c;
  {
    const std::lock_guard hold(to.shared->communicators->lock);
    c = find_listed(to, context);
    if (c == nullptr) {  // It may not have been made yet.
      auto& early = to.shared->communicators->failures;
      if (early.size() == early_questions_max) early.erase(early.begin());
      early.push_back({context, to.number, sender, why});
    }
  }
  if (c == nullptr) return;
  if (!c->has_ranks_in(sender.process)) [[unlikely]]
    return remote::refuse(here, sender, foreign_word);
  if (is_of_revocation(why)) return revoke(here, *c);
  end_collectives(here, *c, why);
}

bool break_communicators_with_dead(worker& here, messaging& of) {
  if (of.ways == nullptr || !of.ways->survives() || !remote::port::is_at(here)) return false;
  const remote::port mine = remote::port::of(here);
  std::vector<std::pair<shared_handle<communicator_state>, int>> found;
  {
    const std::lock_guard hold(of.communicators->lock);
    for (const auto& [context, c] : of.communicators->by_context) {
      if (!c->spans_processes() || c->here < 0 || c->at(c->local()[0]).rank->home != &here)
        continue;
      // Relaxed: this worker sets the second, and to break one again does no harm. One whose ranks may not leave yet is
      // looked at again in the next pass.
      if (c->broken.load(std::memory_order_relaxed) ||
          (c->cut_off.load(std::memory_order_relaxed) && !may_be_left(*c)))
        continue;
      const auto dead = std::ranges::find_if(
          c->subgroups, [&](const subgroup& s) { return !mine.is_alive(s.process); });
      if (dead == c->subgroups.end()) continue;
      if (auto owned = owned_too(*c); owned != nullptr)
        found.emplace_back(std::move(owned), dead->process);
    }
  }
  for (const auto& [c, process] : found)
    end_collectives(here, *c,
                    encoded_failure(no_rank, process_died, "",
                                    formatted("{}: {}, which holds some of its ranks, is dead",
                                              name_of(*c), of.ways->name_of_process(process))));
  return !found.empty();
}

void take_early_news(communicator_state& c) {
  communicator_list& listed = *c.listed_in;
  const int leader = c.to(c.local()[0]).number;
  std::erase_if(listed.failures, [&](const communicator_list::early_failure& f) {
    if (f.context != c.context || f.number != leader) return false;
    if (!c.has_ranks_in(f.sender.process)) {
      remote::refuse(*worker::current(), f.sender, foreign_word);
      return true;
    }
    c.failure = listed.broken.try_emplace({c.context, leader}, f.why).first->second;
    // Relaxed: nobody else has it yet.
    for (auto* flag : {&listed.any_broken, &c.failed, &c.broken, &c.cut_off})
      flag->store(true, std::memory_order_relaxed);
    if (is_of_revocation(f.why))
      for (auto* flag : {&listed.any_revoked, &c.revoked})
        flag->store(true, std::memory_order_relaxed);
    return true;
  });
  std::erase_if(listed.questions, [&](const communicator_list::early_question& q) {
    if (q.context != c.context || q.rank < 0 || q.rank >= c.size()) return false;
    member& m = c.at(q.rank);
    if (m.rank == nullptr || m.rank->number != q.number) return false;
    if (c.process_of(q.asked.rank) != q.sender.process)
      remote::refuse(*worker::current(), q.sender, foreign_source);
    else if (q.asked.turn < m.asked.turn)
      m.asked = q.asked;
    return true;
  });
}

}  // namespace weft::detail
