// The objects that handles point to. The first word of an object says its kind and whether it lives. Its memory is only
// used again for objects of the same kind, and is freed with the rank: so a handle that has been freed, or is of
// another kind, is recognised. Handles below 0x1000 are the predefined ones, which the standard numbers.
//
// A pool belongs to one rank, which alone uses it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/mpi.h"

namespace weft::mpi {

// Arbitrary values, with which other memory is unlikely to begin.
enum class object_kind : std::uint32_t {
  none = 0,
  freed = 0x6d706900,
  communicator = 0x6d706901,
  group = 0x6d706902,
  datatype = 0x6d706903,
  request = 0x6d706904,
  operation = 0x6d706905,
  info = 0x6d706906,
  error_handler = 0x6d706907,
  message = 0x6d706908,
  file = 0x6d70690c,
  retired = 0x6d706909,  // Freed by the program, and kept while operations use it.
  window = 0x6d70690a,
  session = 0x6d70690b,
};

// The first base of every object.
struct object {
  object_kind kind = object_kind::none;
};

template <class Handle>
[[nodiscard]] inline std::uintptr_t value_of(Handle h) noexcept {
  return reinterpret_cast<std::uintptr_t>(h);
}
// MPI_BOTTOM, MPI_IN_PLACE or MPI_BUFFER_AUTOMATIC.
[[nodiscard]] inline bool is_no_memory(const void* buffer) noexcept {
  return value_of(buffer) < 3;
}
template <class Handle>
[[nodiscard]] inline bool is_predefined(Handle h) noexcept {
  return value_of(h) < 0x1000;
}

// The object of a handle; null when it is predefined, has been freed or is of another kind.
template <class T>
[[nodiscard]] inline T* find_object(typename T::handle h, object_kind kind = T::own_kind) noexcept {
  if (is_predefined(h) || value_of(h) % alignof(T) != 0) return nullptr;
  auto* const o = reinterpret_cast<object*>(h);
  return o->kind == kind ? static_cast<T*>(o) : nullptr;
}
template <class T>
[[nodiscard]] inline typename T::handle handle_of(T& o) noexcept {
  return reinterpret_cast<typename T::handle>(static_cast<object*>(&o));
}

class birth_list;  // births.hpp
void note_birth(birth_list& in, object_kind kind, const void* made);
void note_end(birth_list& in, object_kind kind, const void* gone) noexcept;

template <class T>
class pool {
 public:
  pool() = default;
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() {
    each_of(T::own_kind, [](T& o) { std::destroy_at(&o); });
    each_of(object_kind::retired, [](T& o) { std::destroy_at(&o); });
  }

  // Called before anything is made: what is made from then on is noted.
  void note_births(birth_list* in) noexcept { births_ = in; }

  template <class... Arguments>
  [[nodiscard]] T& make(Arguments&&... arguments) {
    if (first_free_ == nullptr) [[unlikely]]
      add_slab();
    slot* const s = first_free_;
    slot* const next = s->next_free;
    T* const made =
        std::construct_at(reinterpret_cast<T*>(s), std::forward<Arguments>(arguments)...);
    made->kind = T::own_kind;
    first_free_ = next;
    if (next == nullptr) last_free_ = nullptr;
    ++live_;
    if constexpr (has_births)
      if (births_ != nullptr) [[unlikely]]
        note_birth(*births_, T::own_kind, made);
    return *made;
  }
  // Uses the memory that was free longest, so that freed handles are recognised for as long as possible.
  void free(T& o) noexcept {
    if constexpr (has_births)
      if (births_ != nullptr) [[unlikely]]
        note_end(*births_, T::own_kind, &o);
    std::destroy_at(&o);
    put(*reinterpret_cast<slot*>(&o));
    --live_;
  }
  // Whether make() needs no new memory.
  [[nodiscard]] bool has_spare() const noexcept { return first_free_ != nullptr; }
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  // Calls visit(T&) for each that lives; it may free that one.
  template <class Visit>
  void each(const Visit& visit) {
    each_of(T::own_kind, visit);
  }

 private:
  // Requests and messages end by themselves; a program that leaves a session is told in every job.
  static constexpr bool has_births = T::own_kind != object_kind::request &&
                                     T::own_kind != object_kind::message &&
                                     T::own_kind != object_kind::session;

  template <class Visit>
  void each_of(object_kind kind, const Visit& visit) {
    if (live_ == 0) return;
    for (const auto& slab : slabs_)
      for (std::size_t i = 0; i < slab_size; ++i)
        if (slab[i].kind == kind) visit(*reinterpret_cast<T*>(&slab[i]));
  }

  static constexpr std::size_t slab_size = 64;
  struct alignas(T) alignas(void*) slot {
    object_kind kind;
    slot* next_free;
    std::byte rest[sizeof(T) > 16 ? sizeof(T) - 16 : 1];
  };
  static_assert(sizeof(slot) >= sizeof(T));

  void add_slab() {
    auto slab = std::make_unique<slot[]>(slab_size);
    for (std::size_t i = 0; i < slab_size; ++i) put(slab[i]);
    slabs_.push_back(std::move(slab));
  }
  void put(slot& s) noexcept {
    s.kind = object_kind::freed;
    s.next_free = nullptr;
    (last_free_ == nullptr ? first_free_ : last_free_->next_free) = &s;
    last_free_ = &s;
  }

  std::vector<std::unique_ptr<slot[]>> slabs_;
  slot* first_free_ = nullptr;
  slot* last_free_ = nullptr;
  std::size_t live_ = 0;
  birth_list* births_ = nullptr;  // Null: nobody asks for them.
};

}  // namespace weft::mpi
