#include "rma/far.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "job/accounted_call.hpp"
#include "profile/counted_wait.hpp"
#include "rank/remote.hpp"
#include "remote/handlers.hpp"
#include "remote/port.hpp"
#include "remote/words.hpp"

namespace weft::rma {
namespace {

// Answers that one rank may wait for: each takes a packet at the target and a piece of the network's buffers.
constexpr std::uint32_t under_way_max = 64;

using remote::high_of;
using remote::low_of;
using remote::two;

// Calls `use(std::atomic_ref)` when these bytes are a word; false: they are not.
template <class Use>
bool as_word(std::byte* at, std::size_t bytes, const Use& use) noexcept {
  const auto when_aligned = [&]<class Word>(Word) {
    if (reinterpret_cast<std::uintptr_t>(at) % sizeof(Word) != 0) return false;
    use(std::atomic_ref<Word>(*reinterpret_cast<Word*>(at)));
    return true;
  };
  if (bytes == 8) return when_aligned(std::uint64_t{});
  if (bytes == 4) return when_aligned(std::uint32_t{});
  return bytes == 2 && when_aligned(std::uint16_t{});
}

// A word is written in one store: somebody may be looking at it.
void write(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const bool was_word = as_word(to, bytes, [&]<class Word>(std::atomic_ref<Word> word) {
    Word value;
    std::memcpy(&value, from, sizeof value);
    memory_word<>::store(word, value);
  });
  if (!was_word && bytes != 0) std::memcpy(to, from, bytes);
}

// The numbers that an update carries.
struct update_words {
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
};
struct update_kind {
  update what;
  number type;
  bool wants_old;
  [[nodiscard]] std::uint32_t packed() const noexcept {
    return static_cast<std::uint32_t>(what) | static_cast<std::uint32_t>(type) << 8 |
           (wants_old ? 1u << 16 : 0u);
  }
};
// One of several puts and updates in a message; its data follow in full words: those of a put, an update's operand.
struct gathered_head {
  std::uint64_t offset;
  std::uint32_t part;
  std::uint32_t what;  // Bytes of a put; update_kind and gathered_update.
};
constexpr std::uint32_t gathered_update = std::uint32_t{1} << 31;
// Longer puts go by themselves.
constexpr std::size_t gathered_put_bytes_max = 1024;
constexpr std::size_t in_words(std::size_t bytes) noexcept {
  return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
}

constexpr std::size_t bytes_of(number type) noexcept {
  return type == number::bits32 || type == number::float32 ? 4 : 8;
}

template <update Operation, class T>
std::uint64_t apply_to(std::byte* at, const update_words& with) noexcept {
  T operand, expected;
  std::memcpy(&operand, &with.operand, sizeof operand);
  std::memcpy(&expected, &with.expected, sizeof expected);
  const T old = apply<Operation>(reinterpret_cast<T*>(at), operand, expected);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &old, sizeof old);
  return bits;
}
template <class T>
std::uint64_t apply_any(update what, std::byte* at, const update_words& with) noexcept {
  switch (what) {
    case update::fetch:
      return apply_to<update::fetch, T>(at, with);
    case update::set:
      return apply_to<update::set, T>(at, with);
    case update::swap:
      return apply_to<update::swap, T>(at, with);
    case update::compare_swap:
      return apply_to<update::compare_swap, T>(at, with);
    case update::add:
      return apply_to<update::add, T>(at, with);
    case update::bit_and:
      return apply_to<update::bit_and, T>(at, with);
    case update::bit_or:
      return apply_to<update::bit_or, T>(at, with);
    case update::bit_xor:
      return apply_to<update::bit_xor, T>(at, with);
  }
  return 0;
}
std::uint64_t apply_any(update what, number type, std::byte* at,
                        const update_words& with) noexcept {
  switch (type) {
    case number::bits32:
      return apply_any<std::uint32_t>(what, at, with);
    case number::bits64:
      return apply_any<std::uint64_t>(what, at, with);
    case number::float32:
      return apply_any<float>(what, at, with);
    case number::float64:
      return apply_any<double>(what, at, with);
  }
  return 0;
}

}  // namespace

// --- Messages ------------------------------------------------------------------------------------

//            tag      head[0]              head[1]                  user         data
//   put      offset   part, target rank    -                        -            the bytes
//   get      offset   part, target rank    name, initiator's rank   bytes        -
//   update   offset   part, target rank    name, initiator's rank   update_kind  update_words
//   flush    -        -, target rank       name, initiator's rank   -            -
//   answer   -        -, initiator's rank  name, -                  -            the bytes
//   look     -        -, target rank       -                        -            -
//   gathered -        -, target rank       -                        -            puts and updates: gathered_head and data
//   elements offset   part, target rank    name, initiator's rank   update       their number, the operands
//
// A part is the number that the target has given it (exposed_memory.hpp). The initiator awaits the answer by the name; 0: none.

far_operations::far_operations(initiator& of, memory& shared)
    : of_(of), shared_(shared), answers_(under_way_max) {}

memory::names far_operations::add_handlers(detail::handler_numbers& numbers, memory& of) {
  using remote::message_form, remote::sender_in;
  remote::handlers handlers(numbers);
  // Messages that touch memory alone are carried out while the target computes, too.
  constexpr auto by = remote::called_by::also_progress_worker;
  constexpr message_form of_nothing{.bytes_max = 0, .sender = sender_in::head_1_low, .by = by};
  constexpr message_form of_words{.bytes_min = sizeof(update_words),
                                  .bytes_max = sizeof(update_words),
                                  .sender = sender_in::head_1_low,
                                  .by = by};
  memory::names made;
  made.put = handlers.add<&on_put, message_form{.by = by}>(of);
  made.get = handlers.add<&on_get, of_nothing>(of);
  made.update = handlers.add<&on_update, of_words>(of);
  made.flush = handlers.add<&on_flush, of_nothing>(of);
  made.answer = handlers.add<&on_answer>(of);
  made.look = handlers.add<&on_look>(of);
  made.gathered = handlers.add<&on_gathered, message_form{.by = by}>(of);
  made.elements = handlers.add<&on_elements, message_form{.bytes_min = sizeof(std::uint64_t),
                                                          .sender = sender_in::head_1_low,
                                                          .by = by}>(of);
  return made;
}

// Null when the rank has no such memory.
std::byte* far_operations::bytes_at(const memory& m, const detail::rank_state& to,
                                    std::uint32_t part, std::uint64_t offset,
                                    std::size_t bytes) noexcept {
  const initiator* const target = m.initiator_of(to);
  return target != nullptr ? target->exposed_.find(part, offset, bytes) : nullptr;
}

// The same; the message has been refused then.
std::byte* far_operations::bytes_meant(const memory& m, worker& here, const detail::rank_state& to,
                                       const comm::event& happened, std::size_t bytes) {
  std::byte* const at = bytes_at(m, to, high_of(happened.head[0]), happened.tag, bytes);
  if (at == nullptr) remote::refuse(here, happened, "it names memory that the rank does not have");
  return at;
}

void far_operations::answer(const memory& m, worker& here, const comm::event& asked,
                            std::span<const std::byte> data) noexcept {
  comm::am made;
  made.to = {asked.process, asked.device};
  made.handler = m.messages().answer;
  made.data = data;
  made.head = {low_of(asked.head[1]), high_of(asked.head[1])};
  remote::port::of(here).send(made);
}

void far_operations::on_put(memory& m, worker& here, detail::rank_state& to,
                            const comm::event& happened) {
  if (std::byte* const at = bytes_meant(m, here, to, happened, happened.size); at != nullptr)
    write(at, happened.data, happened.size);
}

void far_operations::on_get(memory& m, worker& here, detail::rank_state& to,
                            const comm::event& happened) {
  if (happened.user > remote::port::of(here).eager_bytes_max(happened.process, happened.device))
    return remote::refuse(here, happened, "it gets more than one answer holds");
  std::byte* const at = bytes_meant(m, here, to, happened, happened.user);
  if (at == nullptr) return;
  // A word is read in one load: somebody may be changing it.
  const bool was_word = as_word(at, happened.user, [&]<class Word>(std::atomic_ref<Word> word) {
    const Word value = memory_word<>::load(word);
    answer(m, here, happened, std::as_bytes(std::span(&value, 1)));
  });
  if (!was_word) answer(m, here, happened, {at, happened.user});
}

void far_operations::on_update(memory& m, worker& here, detail::rank_state& to,
                               const comm::event& happened) {
  const update_kind kind{static_cast<update>(happened.user & 0xff),
                         static_cast<number>(happened.user >> 8 & 0xff),
                         (happened.user >> 16 & 1) != 0};
  if (static_cast<int>(kind.what) >= updates || kind.type > number::float64)
    return remote::refuse(here, happened, "an update that there is not");
  const std::size_t bytes = bytes_of(kind.type);
  std::byte* const at = bytes_meant(m, here, to, happened, bytes);
  if (at == nullptr) return;
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
    return remote::refuse(here, happened, "an update of a word that is not aligned");
  update_words with;
  std::memcpy(&with, happened.data, sizeof with);
  const std::uint64_t old = apply_any(kind.what, kind.type, at, with);
  if (kind.wants_old) answer(m, here, happened, std::as_bytes(std::span(&old, 1)).first(bytes));
}

void far_operations::on_flush(memory& m, worker& here, detail::rank_state&,
                              const comm::event& happened) {
  answer(m, here, happened, {});
}

void far_operations::on_answer(memory& m, worker& here, detail::rank_state& to,
                               const comm::event& happened) {
  initiator* const asker = m.initiator_of(to);
  const auto name = static_cast<std::uint32_t>(happened.head[1]);
  const awaited* const one =
      asker != nullptr ? asker->far_->asked_.find(name, happened.process) : nullptr;
  if (one == nullptr || one->bytes != happened.size)
    return remote::refuse(here, happened, remote::unasked);
  if (one->bytes != 0) write(one->into, happened.data, happened.size);
  --*one->count;
  (void)asker->far_->asked_.take(name);
  asker->far_->answers_.give_back(here.owner(), 1);
}

void far_operations::on_gathered(memory& m, worker& here, detail::rank_state& to,
                                 const comm::event& happened) {
  const char* const wrong = "it gathers operations that there are not";
  for (std::size_t left = happened.size; left != 0;) {
    const std::byte* const from = happened.data + (happened.size - left);
    gathered_head head;
    if (left < sizeof head) return remote::refuse(here, happened, wrong);
    std::memcpy(&head, from, sizeof head);
    left -= sizeof head;
    const std::byte* const data = from + sizeof head;
    const bool is_update = (head.what & gathered_update) != 0;
    const auto type = static_cast<number>(head.what >> 8 & 0xff);
    if (is_update &&
        ((head.what & 0xff) >= static_cast<std::uint32_t>(updates) || type > number::float64))
      return remote::refuse(here, happened, wrong);
    const std::size_t bytes = is_update ? bytes_of(type) : head.what;
    const std::size_t taken = is_update ? sizeof(std::uint64_t) : in_words(bytes);
    std::byte* const at = bytes_at(m, to, head.part, head.offset, bytes);
    if (taken > left || at == nullptr ||
        (is_update && reinterpret_cast<std::uintptr_t>(at) % bytes != 0))
      return remote::refuse(here, happened, wrong);
    left -= taken;
    if (!is_update) {
      write(at, data, bytes);
      continue;
    }
    update_words with;
    std::memcpy(&with.operand, data, sizeof with.operand);
    (void)apply_any(static_cast<update>(head.what & 0xff), type, at, with);
  }
}

void far_operations::on_elements(memory& m, worker& here, detail::rank_state& to,
                                 const comm::event& happened) {
  const element_update what = find_element_update(happened.user);
  std::uint64_t count;
  std::memcpy(&count, happened.data, sizeof count);
  const std::size_t in_operands = happened.size - sizeof count;
  constexpr std::uint64_t count_max = std::uint64_t{1} << 32;
  const bool wants_old = high_of(happened.head[1]) != 0;
  const std::size_t answer_max =
      remote::port::of(here).eager_bytes_max(happened.process, happened.device);
  if (!what.is_defined() || count == 0 || count > count_max ||
      in_operands != count * what.operand_bytes ||
      (wants_old && count * what.element_bytes > answer_max))
    return remote::refuse(here, happened, "an update of elements that there is not");
  const std::size_t bytes = count * what.element_bytes;
  std::byte* const at = bytes_meant(m, here, to, happened, bytes);
  if (at == nullptr) return;
  std::unique_ptr<std::byte[]> old;
  if (wants_old) old = std::make_unique_for_overwrite<std::byte[]>(bytes);
  m.change_elements(here, to.number, happened.tag, at, what, happened.data + sizeof count,
                    old.get(), count);
  if (wants_old) answer(m, here, happened, {old.get(), bytes});
}

// The message has woken the worker, which looks at its fibers' words now.
void far_operations::on_look(memory&, worker&, const comm::event&) {}

// --- Initiating ----------------------------------------------------------------------------------

far_operations::target far_operations::target_of(const location& where) noexcept {
  return {where.in->number_in_job(where.rank), where.in->extent_of(where.rank).number,
          where.offset};
}

comm::am far_operations::message(comm::handler_id handler, const target& to) const noexcept {
  comm::am made;
  made.to = shared_.address_of(to.rank);
  made.handler = handler;
  made.tag = to.offset;
  made.head = {two(to.part, static_cast<std::uint32_t>(to.rank)), 0};
  return made;
}

std::size_t far_operations::piece_bytes_max(int rank) const noexcept {
  const comm::address there = shared_.address_of(rank);
  return remote::port::of(*of_.me_.home).eager_bytes_max(there.process, there.device);
}

void far_operations::send(const comm::am& what, int rank) {
  worker& here = *of_.me_.home;
  const auto describe = [&]() -> wait_description {
    return {"memory of another process (no room)", wait_description::no_context, rank};
  };
  if (remote::port::of(here).send_in_wait(here, what, describe) != status::failed) [[likely]]
    return;
  // A job that ends with any process says why; in one that goes on, the ranks are told.
  if (here.owner().stopping()) throw job_stopped{};
  // What it was asked is lost, and told by this.
  (void)end_operations_with_dead();
  has_lost_ = false;
  throw detail::dead_partner(formatted("rank {}: rank {} cannot be reached: its process {} is dead",
                                       of_.me_.number, rank, what.to.process));
}

// Called when the message has been posted: while an operation waits for room another thread of the rank may call quiet(),
// which asks those that are noted, and forgets them.
void far_operations::note_written(context& c, int rank) {
  c.is_busy_ = true;
  if (c.is_written_.empty()) c.is_written_.resize(shared_.job().places.size());
  const auto number = static_cast<std::size_t>(rank);
  if (c.is_written_[number]) return;
  c.is_written_[number] = true;
  c.written_.push_back(rank);
}

void far_operations::put(context& c, const location& to, const void* from, std::size_t bytes) {
  const target there = target_of(to);
  if (c.gathers_ != nullptr) {
    if (bytes <= gathered_put_bytes_max && gather(c, there, static_cast<std::uint32_t>(bytes),
                                                  {static_cast<const std::byte*>(from), bytes}))
      return note_written(c, there.rank);
    send_gathered(c, there.rank);
  }
  const std::size_t most = piece_bytes_max(there.rank);
  comm::am made = message(shared_.messages().put, there);
  for (std::size_t done = 0; done < bytes; done += most) {
    made.tag = there.offset + done;
    made.data = std::span(static_cast<const std::byte*>(from) + done, std::min(most, bytes - done));
    send(made, there.rank);
  }
  note_written(c, there.rank);
}

bool far_operations::gather(context& c, const target& to, std::uint32_t what,
                            std::span<const std::byte> data) {
  const gathered_head head{to.offset, to.part, what};
  const std::size_t in_data = in_words(data.size());
  const std::size_t bytes = sizeof head + in_data;
  const std::size_t most = std::min(context::gathered_bytes_max, piece_bytes_max(to.rank));
  if (bytes > most) return false;
  const auto rank = static_cast<std::size_t>(to.rank);
  std::byte* at;
  while ((at = c.gathers_->try_reserve(rank, bytes, most)) == nullptr) send_gathered(c, to.rank);
  std::memcpy(at, &head, sizeof head);
  // Data need not fill the last word.
  constexpr std::uint64_t nothing = 0;
  if (in_data != data.size()) std::memcpy(at + bytes - sizeof nothing, &nothing, sizeof nothing);
  std::memcpy(at + sizeof head, data.data(), data.size());
  return true;
}

void far_operations::send_bytes_gathered(int rank, std::span<const std::byte> bytes) {
  comm::am made = message(shared_.messages().gathered, {rank, 0, 0});
  made.data = bytes;
  send(made, rank);
}

void far_operations::send_gathered(context& c, int rank) {
  c.gathers_->send(
      static_cast<std::size_t>(rank),
      [&](std::size_t, std::span<const std::byte> bytes) { send_bytes_gathered(rank, bytes); });
}

void far_operations::send_gathered(context& c) {
  c.gathers_->send_all([&](std::size_t rank, std::span<const std::byte> bytes) {
    send_bytes_gathered(static_cast<int>(rank), bytes);
  });
}

template <class Wait>
void far_operations::wait_for_transfer(const char* what, const Wait& wait) {
  const auto whose = [this] {
    return detail::goes_on_beside(*of_.me_.home) ? profile::no_rank : of_.me_.number;
  };
  const profile::counted_wait counted(
      whose, what,
      profile::awaited_cause{trace_kind::wait_memory, profile::wait_state::transfer,
                             profile::no_keys{}});
  wait(wait_description{what});
}

// Told once: memory of ranks that live is read and written as ever.
void far_operations::check_nothing_lost() {
  if (std::exchange(has_lost_, false)) [[unlikely]]
    throw detail::dead_partner(formatted(
        "rank {}: memory of a rank whose process is dead was read or written", of_.me_.number));
}

std::uint64_t far_operations::expect(void* into, std::size_t bytes, std::uint32_t& count,
                                     int rank) {
  if (!answers_.try_take(1)) [[unlikely]]
    wait_for_transfer("memory of another process (many answers to come)",
                      [&](const wait_description& what) {
                        (void)answers_.take_in_wait(
                            *of_.me_.home, 1, [&] { return has_lost_; }, what);
                      });
  check_nothing_lost();
  const std::uint32_t name =
      asked_.add({static_cast<std::byte*>(into), bytes, &count}, shared_.address_of(rank).process);
  ++count;
  return two(name, static_cast<std::uint32_t>(of_.me_.number));
}

void far_operations::await(const std::uint32_t& count, const char* what) {
  if (count != 0)
    wait_for_transfer(what, [&](const wait_description& description) {
      of_.me_.home->wait_until([&] { return count == 0; }, description);
    });
  check_nothing_lost();
}

void far_operations::get(context& c, void* to, const location& from, std::size_t bytes,
                         bool waits) {
  const target there = target_of(from);
  if (c.gathers_ != nullptr) send_gathered(c, there.rank);
  // The count lies in the context, not in this frame: an answer may come after the job has stopped and unwound it.
  std::uint32_t& count = waits ? c.awaited_ : c.replies_;
  if (!waits) c.is_busy_ = true;
  const std::size_t most = piece_bytes_max(there.rank);
  for (std::size_t done = 0; done < bytes; done += most) {
    const std::size_t piece = std::min(most, bytes - done);
    comm::am made = message(shared_.messages().get, {there.rank, there.part, there.offset + done});
    made.user = static_cast<std::uint32_t>(piece);
    made.head[1] = expect(static_cast<std::byte*>(to) + done, piece, count, there.rank);
    send(made, there.rank);
  }
  if (waits) await(count, "get");
}

void far_operations::change(context& c, update what, number type, const location& at,
                            const void* operand, const void* expected, void* old, bool waits) {
  const std::size_t bytes = bytes_of(type);
  update_words words;
  std::memcpy(&words.operand, operand, bytes);
  if (expected != nullptr) std::memcpy(&words.expected, expected, bytes);
  const target there = target_of(at);
  if (c.gathers_ != nullptr) {
    if (old == nullptr && expected == nullptr) {
      const std::uint32_t kind = update_kind{what, type, false}.packed() | gathered_update;
      if (gather(c, there, kind, std::as_bytes(std::span(&words.operand, 1))))
        return note_written(c, there.rank);
    }
    send_gathered(c, there.rank);
  }
  comm::am made = message(shared_.messages().update, there);
  made.user = update_kind{what, type, old != nullptr}.packed();
  made.data = std::as_bytes(std::span(&words, 1));
  std::uint32_t& count = waits ? c.awaited_ : c.replies_;
  made.head[1] = old != nullptr ? expect(old, bytes, count, there.rank)
                                : two(0, static_cast<std::uint32_t>(of_.me_.number));
  if (!waits) c.is_busy_ = true;
  send(made, there.rank);
  // fence() orders a fetching update as well, whose answer may come later.
  if (!waits && what != update::fetch) note_written(c, there.rank);
  if (waits) await(count, "fetching update");
}

void far_operations::change_elements(context& c, const location& at, const element_update& what,
                                     const std::byte* operand, std::byte* old, std::size_t count,
                                     bool waits) {
  const target there = target_of(at);
  if (c.gathers_ != nullptr) send_gathered(c, there.rank);
  const bool has_answer = old != nullptr;
  std::uint32_t& replies = waits ? c.awaited_ : c.replies_;
  const std::size_t room = piece_bytes_max(there.rank);
  const std::size_t most =
      (room - sizeof(std::uint64_t)) / std::max(what.element_bytes, what.operand_bytes);
  if (most == 0)
    throw error(
        formatted("rank {}: an update of elements of {} bytes goes in a message of {} at most",
                  of_.me_.number, what.element_bytes, room));
  std::vector<std::byte> packed;
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t piece = std::min(most, count - done);
    packed.resize(sizeof piece + piece * what.operand_bytes);
    std::memcpy(packed.data(), &piece, sizeof piece);
    if (what.operand_bytes != 0)
      std::memcpy(packed.data() + sizeof piece, operand + done * what.operand_bytes,
                  piece * what.operand_bytes);
    comm::am made = message(shared_.messages().elements, there);
    made.tag = there.offset + done * what.element_bytes;
    made.user = what.name;
    made.data = packed;
    made.head[1] = has_answer ? expect(old + done * what.element_bytes, piece * what.element_bytes,
                                       replies, there.rank)
                              : two(0, static_cast<std::uint32_t>(of_.me_.number));
    if (has_answer && !waits) c.is_busy_ = true;
    send(made, there.rank);
    done += piece;
  }
  note_written(c, there.rank);
  if (has_answer && waits) await(replies, "update of elements");
}

void far_operations::ask(std::uint32_t& count, int rank) {
  comm::am made = message(shared_.messages().flush, {rank, 0, 0});
  made.head[1] = expect(nullptr, 0, count, rank);
  send(made, rank);
}

void far_operations::quiet(context& c) {
  if (c.gathers_ != nullptr) send_gathered(c);
  while (!c.written_.empty()) {
    const int rank = c.written_.back();
    c.written_.pop_back();
    c.is_written_[static_cast<std::size_t>(rank)] = false;
    ask(c.replies_, rank);
  }
  await(c.replies_, "quiet");
  c.is_busy_ = !c.written_.empty();  // A thread of the rank may have gone on meanwhile.
}

void far_operations::quiet(context& c, std::span<const int> ranks) {
  if (c.gathers_ != nullptr) send_gathered(c);
  for (const int rank : ranks) {
    if (std::erase(c.written_, rank) == 0) continue;
    c.is_written_[static_cast<std::size_t>(rank)] = false;
    ask(c.replies_, rank);
  }
  // The context does not keep which rank an answer comes from, so it awaits all.
  await(c.replies_, "quiet");
  if (c.written_.empty()) c.is_busy_ = false;
}

// Messages to a rank are in order among themselves, but a store overtakes them where another region of the rank is mapped.
void far_operations::fence(context& c) {
  std::vector<int> mixed;
  for (const int rank : c.written_)
    if (shared_.may_reach(rank)) mixed.push_back(rank);
  if (!mixed.empty()) quiet(c, mixed);
}

void far_operations::wake(int rank) {
  send(message(shared_.messages().look, {rank, 0, 0}), rank);
}

bool far_operations::end_operations_with_dead() {
  worker& here = *of_.me_.home;
  const remote::port from = remote::port::of(here);
  return asked_.end_lost([&](int process) { return !from.is_alive(process); },
                         [&](const awaited& one) {
                           --*one.count;
                           has_lost_ = true;
                           answers_.give_back(here.owner(), 1);
                         });
}

}  // namespace weft::rma
