// Keys of thread-specific values, of which the C library has 1,024 for a process, whatever ranks are in it. Those that a
// rank's own code makes are slots of the rank. What is in a slot belongs to the rank's main() or to a thread that the rank
// has made. Threads hang their values on one key of the process, whose destructor calls those of the rank when the thread
// ends. The values of main() are no thread's: the rank's worker has many. As in a process, they are destroyed when it ends by
// pthread_exit(), and not when it returns.
//
// Tables are kept until the process ends: threads that a rank leaves behind may use them.
#include "process/threads/own_keys.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "base/library_function.hpp"
#include "base/limits.hpp"
#include "job/state.hpp"
#include "sched/attached_thread.hpp"
#include "sched/worker.hpp"

namespace weft::process {
namespace {

constexpr std::uint32_t slots_of_block = 64;
constexpr std::uint32_t blocks_of_rank = own_keys_max / slots_of_block;
constexpr std::uint32_t slot_bits = 10;
static_assert(own_keys_max == 1u << slot_bits);
static_assert(ranks_max <= 1u << (weft_first_own_key_bit - slot_bits));

struct table;

// Atomic operations are relaxed here: a thread reads what it has written itself, or what the program has ordered. Chunks of
// a rank's loop may run on several threads at once, with the values of main().
struct value {
  std::atomic<void*> pointer{nullptr};
  std::atomic<std::uint32_t> life{0};  // That of the key under which it was set.
};
struct values {
  explicit values(table& t) noexcept : of(t) {}
  ~values() {
    for (auto& each : blocks) delete each.load(std::memory_order_relaxed);
  }
  values(const values&) = delete;
  values& operator=(const values&) = delete;

  using block = std::array<value, slots_of_block>;
  table& of;
  std::array<std::atomic<block*>, blocks_of_rank> blocks{};

  // Null: nothing has been set there.
  [[nodiscard]] value* find(std::uint32_t slot) const noexcept {
    block* const b = blocks[slot / slots_of_block].load(std::memory_order_relaxed);
    return b == nullptr ? nullptr : &(*b)[slot % slots_of_block];
  }
  // Null: there is no memory.
  [[nodiscard]] value* find_or_make(std::uint32_t slot) noexcept {
    if (value* const there = find(slot); there != nullptr) return there;
    auto* const made = new (std::nothrow) block;
    block* before = nullptr;
    if (made == nullptr) return nullptr;
    if (!blocks[slot / slots_of_block].compare_exchange_strong(before, made,
                                                               std::memory_order_relaxed))
      delete made;
    return find(slot);
  }
};

// The keys of a rank.
struct table {
  struct slot {
    std::atomic<std::uint32_t> life{0};  // Odd while there is a key; another one for each.
    std::atomic<void (*)(void*)> destructor{nullptr};
  };
  std::array<slot, own_keys_max> slots;
  std::mutex lock;  // Held by those who make and delete keys.
  values of_main{*this};
};

// The ranks' numbers are the index, in two steps: most processes have few of them.
constexpr std::size_t tables_of_block = 1024;
using table_block = std::array<std::atomic<table*>, tables_of_block>;
constexpr std::size_t table_blocks = (ranks_max + tables_of_block - 1) / tables_of_block;
constinit std::array<std::atomic<table_block*>, table_blocks> tables{};

template <class T>
T* made_once(std::atomic<T*>& place) {
  T* there = place.load(std::memory_order_relaxed);
  if (there != nullptr) return there;
  auto made = std::unique_ptr<T>(new (std::nothrow) T{});
  if (made == nullptr) return nullptr;
  // Relaxed: who uses a table of a rank is the rank, which makes it, or has the key from it.
  return place.compare_exchange_strong(there, made.get(), std::memory_order_relaxed)
             ? made.release()
             : there;
}

struct key_index {
  std::size_t rank;
  std::uint32_t slot;
};
key_index index_of(unsigned key) noexcept {
  const unsigned number = key & ~(1u << weft_first_own_key_bit);
  return {number >> slot_bits, number % own_keys_max};
}
table* find_table(std::size_t rank) noexcept {
  if (rank / tables_of_block >= table_blocks) return nullptr;
  table_block* const block = tables[rank / tables_of_block].load(std::memory_order_relaxed);
  return block == nullptr ? nullptr
                          : (*block)[rank % tables_of_block].load(std::memory_order_relaxed);
}

// The values of a thread that is no worker's; null: it has set none.
[[gnu::tls_model("initial-exec")]] thread_local constinit values* values_of_thread = nullptr;

bool is_main_of_rank() noexcept {
  return worker::current() != nullptr && origin_of_this_thread().identity == nullptr;
}

// What the caller has under keys of this table; null: nothing.
values* values_here(table& of) noexcept {
  values* const mine = values_of_thread;
  if (mine != nullptr) return &mine->of == &of ? mine : nullptr;
  return is_main_of_rank() ? &of.of_main : nullptr;
}

// A destructor may set values again, which are destroyed in the next round, a few times.
void destroy_values(values& all) noexcept {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    bool any = false;
    for (std::uint32_t at = 0; at < own_keys_max; ++at) {
      value* const one = all.find(at);
      if (one == nullptr) {
        at += slots_of_block - 1 - at % slots_of_block;
        continue;
      }
      table::slot& key = all.of.slots[at];
      const std::uint32_t life = key.life.load(std::memory_order_relaxed);
      void* const set = one->pointer.exchange(nullptr, std::memory_order_relaxed);
      auto* const destructor = key.destructor.load(std::memory_order_relaxed);
      if (set == nullptr || one->life.load(std::memory_order_relaxed) != life || life % 2 == 0 ||
          destructor == nullptr)
        continue;
      any = true;
      destructor(set);
    }
    if (!any) return;
  }
}

void end_of_thread(void* ended) {
  auto* const all = static_cast<values*>(ended);
  destroy_values(*all);
  values_of_thread = nullptr;
  delete all;
}

struct key_of_process {
  pthread_key_t number{};
  int error;
  int (*set)(pthread_key_t,
             const void*) = next_definition<int(pthread_key_t, const void*)>("pthread_setspecific");
  key_of_process()
      : error(next_definition<int(pthread_key_t*, void (*)(void*))>("pthread_key_create")(
            &number, &end_of_thread)) {}
};

// What the caller has from now on; null, with an error: it can have none.
values* values_to_set(table& of, int& error) noexcept {
  if (values* const mine = values_here(of); mine != nullptr) return mine;
  error = EINVAL;
  if (values_of_thread != nullptr) return nullptr;  // They are another rank's.
  static const key_of_process key;
  error = key.error;
  if (error != 0) return nullptr;
  error = ENOMEM;
  auto* const made = new (std::nothrow) values(of);
  if (made == nullptr) return nullptr;
  if (error = key.set(key.number, made); error != 0) {
    delete made;
    return nullptr;
  }
  return values_of_thread = made;
}

}  // namespace
}  // namespace weft::process

using namespace weft::process;

extern "C" {

int weft_make_key(int rank, unsigned* key, void (*destructor)(void*)) {
  const auto number = static_cast<std::size_t>(rank);
  table_block* const block = made_once(tables[number / tables_of_block]);
  table* const own = block == nullptr ? nullptr : made_once((*block)[number % tables_of_block]);
  if (own == nullptr) return ENOMEM;
  const std::lock_guard hold(own->lock);
  for (std::uint32_t at = 0; at < weft::own_keys_max; ++at) {
    table::slot& s = own->slots[at];
    const std::uint32_t life = s.life.load(std::memory_order_relaxed);
    if (life % 2 != 0) continue;
    s.destructor.store(destructor, std::memory_order_relaxed);
    s.life.store(life + 1, std::memory_order_relaxed);
    *key = 1u << weft_first_own_key_bit | static_cast<unsigned>(number) << slot_bits | at;
    return 0;
  }
  return EAGAIN;
}

int weft_delete_key(unsigned key) {
  const auto [rank, at] = index_of(key);
  table* const own = find_table(rank);
  if (own == nullptr) return EINVAL;
  const std::lock_guard hold(own->lock);
  table::slot& s = own->slots[at];
  const std::uint32_t life = s.life.load(std::memory_order_relaxed);
  if (life % 2 == 0) return EINVAL;
  s.life.store(life + 1, std::memory_order_relaxed);
  return 0;
}

int weft_set_value(unsigned key, const void* set) {
  const auto [rank, at] = index_of(key);
  table* const own = find_table(rank);
  if (own == nullptr) return EINVAL;
  const std::uint32_t life = own->slots[at].life.load(std::memory_order_relaxed);
  if (life % 2 == 0) return EINVAL;
  int error = 0;
  values* const mine = values_to_set(*own, error);
  if (mine == nullptr) return error;
  value* const one = mine->find_or_make(at);
  if (one == nullptr) return ENOMEM;
  one->life.store(life, std::memory_order_relaxed);
  one->pointer.store(const_cast<void*>(set), std::memory_order_relaxed);
  return 0;
}

void weft_destroy_values(void) {
  if (!is_main_of_rank() || weft::worker::caller() == nullptr) return;
  const int rank = static_cast<const weft::detail::job_rank*>(weft::worker::caller())->number;
  if (table* const own = find_table(static_cast<std::size_t>(rank)); own != nullptr)
    destroy_values(own->of_main);
}

void* weft_value(unsigned key) {
  const auto [rank, at] = index_of(key);
  table* const own = find_table(rank);
  const values* const mine = own == nullptr ? nullptr : values_here(*own);
  const value* const one = mine == nullptr ? nullptr : mine->find(at);
  if (one == nullptr || one->life.load(std::memory_order_relaxed) !=
                            own->slots[at].life.load(std::memory_order_relaxed))
    return nullptr;
  return one->pointer.load(std::memory_order_relaxed);
}
}
