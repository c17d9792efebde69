#include "rma/far.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "job/accounted_call.hpp"
#include "runtime/network.hpp"
#include "trace/accounts.hpp"
#include "weft/error.hpp"

namespace weft::rma {
namespace {

// Answers that one rank may wait for: each takes a packet at the target and a piece of the network's buffers.
constexpr std::uint32_t under_way_max = 64;

[[nodiscard]] std::uint64_t two(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}
[[nodiscard]] std::uint32_t high_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both >> 32);
}
[[nodiscard]] std::uint32_t low_of(std::uint64_t both) noexcept {
  return static_cast<std::uint32_t>(both);
}

[[gnu::cold]] void refuse(worker& here, const comm::event& happened, const char* why) noexcept {
  network::of(here).device().refuse(happened, why);
}

// A word is written in one store: somebody may be looking at it.
void write(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const auto as_word = [&]<class Word>(Word value) {
    std::memcpy(&value, from, sizeof value);
    std::atomic_ref<Word> word(*reinterpret_cast<Word*>(to));
    memory_word<>::store(word, value);
  };
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(to) % std::max<std::size_t>(bytes, 1) == 0;
  if (bytes == 8 && is_aligned)
    as_word(std::uint64_t{});
  else if (bytes == 4 && is_aligned)
    as_word(std::uint32_t{});
  else if (bytes == 2 && is_aligned)
    as_word(std::uint16_t{});
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

// What an update is asked with.
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
  std::uint64_t distance;
  std::uint32_t region;
  std::uint32_t what;  // Bytes of a put; update_kind and gathered_update.
};
constexpr std::uint32_t gathered_update = std::uint32_t{1} << 31;
// Longer puts go by themselves.
constexpr std::size_t gathered_put_bytes_max = 1024;
constexpr std::size_t gathered_bytes_max = 8192;
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

//            tag        head[0]               head[1]                   user         data
//   put      distance   region, target rank   -                         -            the bytes
//   get      distance   region, target rank   initiator's name for it   bytes        initiator's rank
//   update   distance   region, target rank   initiator's name for it   update_kind  update_words, initiator's rank
//   flush    -          -, target rank        initiator's name for it   -            initiator's rank
//   answer   -          -, initiator's rank   that name                 -            the bytes
//   look     -          -, target rank        -                         -            -
//   gathered -          -, target rank        -                         -            puts and updates: gathered_head and data

memory::names far_operations::add_handlers(detail::face_handlers& handlers, memory& of) {
  memory::names made;
  // Those that touch memory alone are carried out while the target computes, too.
  made.put = handlers.add(&call<&on_put>, &of, true);
  made.get = handlers.add(&call<&on_get>, &of, true);
  made.update = handlers.add(&call<&on_update>, &of, true);
  made.flush = handlers.add(&call<&on_flush>, &of, true);
  made.answer = handlers.add(&call<&on_answer>, &of);
  made.look = handlers.add(&call<&on_look>, &of);
  made.gathered = handlers.add(&call<&on_gathered>, &of, true);
  return made;
}

// As remote_messaging::call(). A worker that is driven by the progress worker may be about to sleep.
template <void (*Handle)(memory&, worker&, const comm::event&)>
void far_operations::call(void* shared, const comm::event& happened) noexcept {
  worker* const here = network::receiver();
  if (here == nullptr) return;
  network::of(*here).count_received(happened.process);
  if (here->owner().stopping()) [[unlikely]]
    return;
  Handle(*static_cast<memory*>(shared), *here, happened);
  if (here != worker::current()) here->notify();
}

// Null when no rank here has such memory.
std::byte* far_operations::place_in(memory& m, const worker& here, std::uint32_t rank,
                                    std::uint32_t region_number, std::uint64_t distance,
                                    std::size_t bytes) noexcept {
  initiator* const target = m.initiator_of(rank);
  if (target == nullptr || target->me_.home != &here ||
      region_number >= static_cast<std::uint32_t>(target->region_count_.value())) [[unlikely]]
    return nullptr;
  const region& r = target->regions_[region_number];
  if (distance >= r.size || bytes > r.size - distance) [[unlikely]]
    return nullptr;
  return reinterpret_cast<std::byte*>(r.begin) + distance;
}

// The same; the message has been refused then.
std::byte* far_operations::place_meant(memory& m, worker& here, const comm::event& happened,
                                       std::size_t bytes) {
  std::byte* const at =
      place_in(m, here, low_of(happened.head[0]), high_of(happened.head[0]), happened.tag, bytes);
  if (at == nullptr) refuse(here, happened, "it names memory that no rank of this worker has");
  return at;
}

void far_operations::answer(memory& m, worker& here, const comm::event& asked,
                            std::span<const std::byte> data) noexcept {
  // The rank that asked stands at the end of the data.
  std::uint32_t rank = 0;
  std::memcpy(&rank, asked.data + asked.size - sizeof rank, sizeof rank);
  port& p = network::of(here);
  comm::am made;
  made.to = {asked.process, asked.device};
  made.handler = m.messages().answer;
  made.data = data;
  made.head = {rank, asked.head[1]};
  made.allow.retry = false;
  p.count_answer(made.to.process);
  (void)comm::post(p.device(), made);  // A dead process needs no answer.
}

void far_operations::on_put(memory& m, worker& here, const comm::event& happened) {
  if (std::byte* const at = place_meant(m, here, happened, happened.size); at != nullptr)
    write(at, happened.data, happened.size);
}

void far_operations::on_get(memory& m, worker& here, const comm::event& happened) {
  if (happened.size != sizeof(std::uint32_t) ||
      happened.user > network::of(here).device().eager_bytes_max(happened.process, happened.device))
    return refuse(here, happened, "a get of the wrong length");
  const std::byte* const at = place_meant(m, here, happened, happened.user);
  if (at != nullptr) answer(m, here, happened, {at, happened.user});
}

void far_operations::on_update(memory& m, worker& here, const comm::event& happened) {
  const update_kind kind{static_cast<update>(happened.user & 0xff),
                         static_cast<number>(happened.user >> 8 & 0xff),
                         (happened.user >> 16 & 1) != 0};
  if (happened.size != sizeof(update_words) + sizeof(std::uint32_t) ||
      static_cast<int>(kind.what) >= updates || kind.type > number::float64)
    return refuse(here, happened, "an update that there is not");
  const std::size_t bytes = bytes_of(kind.type);
  std::byte* const at = place_meant(m, here, happened, bytes);
  if (at == nullptr) return;
  if (reinterpret_cast<std::uintptr_t>(at) % bytes != 0)
    return refuse(here, happened, "an update of a word that is not aligned");
  update_words with;
  std::memcpy(&with, happened.data, sizeof with);
  const std::uint64_t old = apply_any(kind.what, kind.type, at, with);
  if (kind.wants_old) answer(m, here, happened, std::as_bytes(std::span(&old, 1)).first(bytes));
}

void far_operations::on_flush(memory& m, worker& here, const comm::event& happened) {
  if (happened.size != sizeof(std::uint32_t))
    return refuse(here, happened, "a flush of a wrong length");
  answer(m, here, happened, {});
}

void far_operations::on_answer(memory& m, worker& here, const comm::event& happened) {
  initiator* const to = m.initiator_of(happened.head[0]);
  if (to == nullptr || to->me_.home != &here || to->far_ == nullptr)
    return refuse(here, happened, "it answers to no rank of this worker");
  far_operations& far = *to->far_;
  const std::uint32_t index = low_of(happened.head[1]);
  if (index >= far.awaited_.size()) return refuse(here, happened, "it answers what nobody asked");
  awaited& one = far.awaited_[index];
  if (one.count == nullptr || one.generation != high_of(happened.head[1]) ||
      one.process != happened.process || one.bytes != happened.size)
    return refuse(here, happened, "it answers what nobody asked");
  if (one.bytes != 0) write(one.into, happened.data, happened.size);
  --*one.count;
  --far.under_way_;
  one.count = nullptr;
  ++one.generation;
  far.free_.push_back(index);
}

void far_operations::on_gathered(memory& m, worker& here, const comm::event& happened) {
  const std::uint32_t rank = low_of(happened.head[0]);
  const char* const wrong = "it gathers operations that there are not";
  for (std::size_t left = happened.size; left != 0;) {
    const std::byte* const from = happened.data + (happened.size - left);
    gathered_head head;
    if (left < sizeof head) return refuse(here, happened, wrong);
    std::memcpy(&head, from, sizeof head);
    left -= sizeof head;
    const std::byte* const data = from + sizeof head;
    const bool is_update = (head.what & gathered_update) != 0;
    const auto type = static_cast<number>(head.what >> 8 & 0xff);
    if (is_update &&
        ((head.what & 0xff) >= static_cast<std::uint32_t>(updates) || type > number::float64))
      return refuse(here, happened, wrong);
    const std::size_t bytes = is_update ? bytes_of(type) : head.what;
    const std::size_t taken = is_update ? sizeof(std::uint64_t) : in_words(bytes);
    std::byte* const at = place_in(m, here, rank, head.region, head.distance, bytes);
    if (taken > left || at == nullptr ||
        (is_update && reinterpret_cast<std::uintptr_t>(at) % bytes != 0))
      return refuse(here, happened, wrong);
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

// It woke the worker, which looks at its fibers' words now.
void far_operations::on_look(memory&, worker&, const comm::event&) {}

// --- Initiating ----------------------------------------------------------------------------------

far_operations::place far_operations::find(const void* symmetric, std::size_t bytes,
                                           const char* what) const {
  for (int i = 0; i < of_.region_count_.hint(); ++i)
    if (of_.regions_[i].has(symmetric, bytes))
      return {static_cast<std::uint32_t>(i), of_.regions_[i].distance(symmetric)};
  of_.throw_not_symmetric(symmetric, bytes, what);
}

comm::am far_operations::message(int rank, comm::handler_id handler, place where) const noexcept {
  comm::am made;
  made.to = shared_.address_of(rank);
  made.handler = handler;
  made.tag = where.distance;
  made.head = {two(where.region, static_cast<std::uint32_t>(rank)), 0};
  return made;
}

std::size_t far_operations::piece_bytes_max(int rank) const noexcept {
  const comm::address there = shared_.address_of(rank);
  return network::of(*of_.me_.home).device().eager_bytes_max(there.process, there.device);
}

void far_operations::send(const comm::am& what, int rank) {
  worker& here = *of_.me_.home;
  port& p = network::of(here);
  p.count_sent(what.to.process);
  const auto post = [&] { return comm::post(p.device(), what); };
  const auto describe = [&]() -> wait_description {
    return {"memory of another process (no room)", wait_description::no_context, rank};
  };
  if (post_in_wait(here, post, describe) != status::failed) [[likely]]
    return;
  // Where the job ends with any process, it says why; where it goes on, its ranks are told.
  if (here.owner().stopping()) throw job_stopped{};
  throw error(formatted("rank {}: rank {} cannot be reached: its process {} is dead",
                        of_.me_.number, rank, what.to.process));
}

void far_operations::note_written(context& c, int rank) {
  c.is_busy_ = true;
  if (c.is_written_.empty()) c.is_written_.resize(shared_.job().places.size());
  const auto number = static_cast<std::size_t>(rank);
  if (c.is_written_[number]) return;
  c.is_written_[number] = true;
  c.written_.push_back(rank);
}

void far_operations::put(context& c, void* to, const void* from, std::size_t bytes, int rank) {
  place where = find(to, bytes, "put");
  note_written(c, rank);
  if (c.gathers_ != nullptr) {
    if (bytes <= gathered_put_bytes_max && gather(c, rank, where, static_cast<std::uint32_t>(bytes),
                                                  {static_cast<const std::byte*>(from), bytes}))
      return;
    send_gathered(c, rank);
  }
  const std::size_t most = piece_bytes_max(rank);
  for (std::size_t done = 0; done < bytes; done += most) {
    comm::am made = message(rank, shared_.messages().put, {where.region, where.distance + done});
    made.data = std::span(static_cast<const std::byte*>(from) + done, std::min(most, bytes - done));
    send(made, rank);
  }
}

bool far_operations::gather(context& c, int rank, place where, std::uint32_t what,
                            std::span<const std::byte> data) {
  const gathered_head head{where.distance, where.region, what};
  const std::size_t bytes = sizeof head + in_words(data.size());
  const std::size_t most = std::min(gathered_bytes_max, piece_bytes_max(rank));
  if (bytes > most) return false;
  context::gathered::of_one& here = c.gathers_->of_rank[static_cast<std::size_t>(rank)];
  if (here.bytes.size() + bytes > most) send_gathered(c, rank);
  if (!std::exchange(here.is_listed, true)) c.gathers_->filled.push_back(rank);
  std::vector<std::byte>& all = here.bytes;
  const std::size_t begin = all.size();
  all.resize(begin + bytes);
  std::memcpy(all.data() + begin, &head, sizeof head);
  std::memcpy(all.data() + begin + sizeof head, data.data(), data.size());
  return true;
}

// A thread of the rank may gather more while this one waits for room.
void far_operations::send_gathered(context& c, int rank) {
  std::vector<std::byte>& all = c.gathers_->of_rank[static_cast<std::size_t>(rank)].bytes;
  if (all.empty()) return;
  const std::vector<std::byte> taken = std::exchange(all, {});
  comm::am made = message(rank, shared_.messages().gathered, {0, 0});
  made.data = std::span(taken);
  send(made, rank);
}

void far_operations::send_gathered(context& c) {
  while (!c.gathers_->filled.empty()) {
    const int rank = c.gathers_->filled.back();
    c.gathers_->filled.pop_back();
    c.gathers_->of_rank[static_cast<std::size_t>(rank)].is_listed = false;
    send_gathered(c, rank);
  }
}

std::uint64_t far_operations::expect(void* into, std::size_t bytes, std::uint32_t& count,
                                     int rank) {
  await(under_way_, under_way_max, "memory of another process (many answers to come)");
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(awaited_.size()));
    awaited_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  awaited& one = awaited_[index];
  one.into = static_cast<std::byte*>(into);
  one.bytes = static_cast<std::uint32_t>(bytes);
  one.count = &count;
  one.process = shared_.address_of(rank).process;
  ++count;
  ++under_way_;
  return two(one.generation, index);
}

void far_operations::await(const std::uint32_t& count, std::uint32_t below, const char* what) {
  if (count >= below) {
    const wait_description waiting{what};
    if (tracing() && !detail::goes_on_beside(*of_.me_.home)) [[unlikely]] {
      accounts::begin_caused_wait(of_.me_.number, trace_kind::wait_memory, what);
      of_.me_.home->wait_until([&] { return count < below; }, waiting);
      accounts::end_caused_wait(of_.me_.number, trace_kind::wait_memory,
                                accounts::wait_state::transfer, {});
    } else {
      of_.me_.home->wait_until([&] { return count < below; }, waiting);
    }
  }
  if (has_lost_) [[unlikely]]
    throw error(formatted("rank {}: memory of a rank whose process is dead was read or written",
                          of_.me_.number));
}

void far_operations::get(context& c, void* to, const void* from, std::size_t bytes, int rank,
                         bool waits) {
  const place where = find(from, bytes, "get");
  if (c.gathers_ != nullptr) send_gathered(c, rank);
  const std::uint32_t me = static_cast<std::uint32_t>(of_.me_.number);
  // Not a number of this frame: an answer may come after the job has stopped and unwound it.
  std::uint32_t& count = waits ? c.awaited_ : c.replies_;
  if (!waits) c.is_busy_ = true;
  const std::size_t most = piece_bytes_max(rank);
  for (std::size_t done = 0; done < bytes; done += most) {
    const std::size_t piece = std::min(most, bytes - done);
    comm::am made = message(rank, shared_.messages().get, {where.region, where.distance + done});
    made.user = static_cast<std::uint32_t>(piece);
    made.data = std::as_bytes(std::span(&me, 1));
    made.head[1] = expect(static_cast<std::byte*>(to) + done, piece, count, rank);
    send(made, rank);
  }
  if (waits) await(count, 1, "get");
}

void far_operations::change(context& c, update what, number type, void* at, const void* operand,
                            const void* expected, void* old, int rank, bool waits) {
  const std::size_t bytes = bytes_of(type);
  struct {
    update_words words;
    std::uint32_t me;
  } asked{};
  std::memcpy(&asked.words.operand, operand, bytes);
  if (expected != nullptr) std::memcpy(&asked.words.expected, expected, bytes);
  asked.me = static_cast<std::uint32_t>(of_.me_.number);
  const place where = find(at, bytes, "update");
  if (c.gathers_ != nullptr) {
    if (old == nullptr && expected == nullptr) {
      note_written(c, rank);
      const std::uint32_t kind = update_kind{what, type, false}.packed() | gathered_update;
      if (gather(c, rank, where, kind, std::as_bytes(std::span(&asked.words.operand, 1)))) return;
    }
    send_gathered(c, rank);
  }
  comm::am made = message(rank, shared_.messages().update, where);
  made.user = update_kind{what, type, old != nullptr}.packed();
  made.data = std::as_bytes(std::span(&asked, 1)).first(sizeof asked.words + sizeof asked.me);
  std::uint32_t& count = waits ? c.awaited_ : c.replies_;
  if (old != nullptr) made.head[1] = expect(old, bytes, count, rank);
  // That of a fetching one is ordered by fence() as well; its answer may come later.
  if (!waits && what != update::fetch) note_written(c, rank);
  if (!waits) c.is_busy_ = true;
  send(made, rank);
  if (waits) await(count, 1, "fetching update");
}

void far_operations::ask(std::uint32_t& count, int rank) {
  const std::uint32_t me = static_cast<std::uint32_t>(of_.me_.number);
  comm::am made = message(rank, shared_.messages().flush, {0, 0});
  made.head[1] = expect(nullptr, 0, count, rank);
  made.data = std::as_bytes(std::span(&me, 1));
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
  await(c.replies_, 1, "quiet");
  c.is_busy_ = !c.written_.empty();  // A thread of the rank may have gone on meanwhile.
}

void far_operations::quiet(context& c, std::span<const int> ranks) {
  if (c.gathers_ != nullptr) send_gathered(c);
  for (const int rank : ranks) {
    if (std::erase(c.written_, rank) == 0) continue;
    c.is_written_[static_cast<std::size_t>(rank)] = false;
    ask(c.replies_, rank);
  }
  // Which of them what is to come is from is not kept.
  await(c.replies_, 1, "quiet");
  if (c.written_.empty()) c.is_busy_ = false;
}

// Messages to a rank are in order among themselves. Not so with stores, where another region of it is mapped.
void far_operations::fence(context& c) {
  std::vector<int> mixed;
  for (const int rank : c.written_)
    if (of_.reaches_heap_of(rank)) mixed.push_back(rank);
  if (!mixed.empty()) quiet(c, mixed);
}

void far_operations::wake(int rank) {
  send(message(rank, shared_.messages().look, {0, 0}), rank);
}

bool far_operations::end_operations_with_dead() {
  bool any = false;
  const comm::device& device = network::of(*of_.me_.home).device();
  for (std::uint32_t i = 0; i < awaited_.size(); ++i) {
    awaited& one = awaited_[i];
    if (one.count == nullptr || device.is_alive(one.process)) continue;
    --*one.count;
    --under_way_;
    one.count = nullptr;
    ++one.generation;
    free_.push_back(i);
    has_lost_ = any = true;
  }
  return any;
}

}  // namespace weft::rma
