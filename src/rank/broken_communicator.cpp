// What holds when the ranks of a communicator disagree about a collective, or one of them leaves it
// by an exception while the others are inside: the communicator is broken for good. Whoever waits
// in a collective of it is woken and throws, and so does every later call; nobody waits for ranks
// that will not come. docs/protocols/collectives.md says why nobody reads what they leave behind.
#include <cstring>
#include <span>
#include <string>

#include "rank/state.hpp"

namespace weft::detail {
namespace {

// Wakes the ranks of this worker that wait for the others of their group.
void release_waiting(worker& here, communicator_state& c) noexcept {
  for (std::size_t i = 0; i < c.groups.size(); ++i) {
    if (c.workers[i] != here.index()) continue;
    for (arrival* waiting : c.groups[i].waiting) here.complete(waiting->all);
    c.groups[i].waiting.clear();
  }
}

}  // namespace

void note_failure(communicator_state& c, const std::string& why) {
  const std::lock_guard hold(c.listed_in->lock);
  if (c.failed.load(std::memory_order_relaxed)) return;  // Relaxed: written under this lock only.
  c.failure = why;
  // Relaxed: whoever sees it reads the text under the lock.
  c.failed.store(true, std::memory_order_relaxed);
}

void break_communicator(worker& here, communicator_state& c, const std::string& why) {
  note_failure(c, why);
  if (c.broken.exchange(true, std::memory_order_relaxed)) return;  // Relaxed: the mail orders it.
  if (here.owner().stopping()) return;  // All are woken, and what waits here may be gone.
  release_waiting(here, c);
  const communicator_state* const subject = &c;
  for (std::size_t i = 0; i < c.groups.size(); ++i)
    if (c.workers[i] != here.index())
      here.post(c.workers[i], mail_broken,
                static_cast<std::uint32_t>(c.to(c.groups[i].members.front()).number),
                std::as_bytes(std::span(&subject, 1)));
}

void throw_failed(communicator_state& c, const char* call) {
  const std::lock_guard hold(c.listed_in->lock);
  if (call == nullptr) throw error(c.failure);
  throw error(std::string(call) +
              " on a broken communicator, on which no collective can work any more: " + c.failure);
}

void on_broken(worker& here, record_header header, const std::byte* payload) {
  if (here.owner().stopping()) [[unlikely]]
    return;
  communicator_state* subject = nullptr;
  std::memcpy(&subject, payload, sizeof subject);
  // Once all that waited are gone it may be gone, too: then it is not listed.
  communicator_list& listed = *rank_of(here, header.target).of->communicators;
  const std::lock_guard hold(listed.lock);
  for (const auto& [context, listed_one] : listed.by_context)
    if (listed_one == subject) return release_waiting(here, *subject);
}

}  // namespace weft::detail
