// The bases and members of an aggregate, as far as a program can learn of them: how many, and what they are. What has bases
// with members and members of its own cannot be taken apart by a structured binding: there the place of each member
// follows from the types before it, as every compiler of this platform lays them out (the C++ ABI of Itanium).
#pragma once
#include <cstddef>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/element.hpp"

namespace weft::detail {

inline constexpr std::size_t aggregate_members_max = 16;
// The elements of all built-in arrays of one that has bases with members.
inline constexpr std::size_t aggregate_elements_max = 4096;

// Whether T{{}, ..., {}, Last{}...} is well formed, with I pairs of braces: each makes a base or member empty, an array as
// a whole.
template <class T, std::size_t I, class... Last>
consteval bool takes_empty() {
  if constexpr (I == 0) return requires {
      T{Last{}...};
    };
  else if constexpr (I == 1)
    return requires {
      T{{}, Last{}...};
    };
  else if constexpr (I == 2)
    return requires {
      T{{}, {}, Last{}...};
    };
  else if constexpr (I == 3)
    return requires {
      T{{}, {}, {}, Last{}...};
    };
  else if constexpr (I == 4)
    return requires {
      T{{}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 5)
    return requires {
      T{{}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 6)
    return requires {
      T{{}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 7)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 8)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 9)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 10)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 11)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 12)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 13)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 14)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 15)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else if constexpr (I == 16)
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
  else
    return requires {
      T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, Last{}...};
    };
}

// The members where no array is among them: each element of one counts.
template <class T, std::size_t I = 0>
consteval std::size_t count_initializers() {
  if constexpr (I == aggregate_members_max + 1)
    return I;
  else if constexpr (!can_begin_with<T, any_member<T>>(std::make_index_sequence<I>()))
    return I;
  else
    return count_initializers<T, I + 1>();
}
template <class T, std::size_t I = 0>
consteval std::size_t count_empty() {
  if constexpr (I == aggregate_members_max + 1)
    return I;
  else if constexpr (!takes_empty<T, I + 1>())
    return I;
  else
    return count_empty<T, I + 1>();
}
// Bases and members; aggregate_members_max + 1 for more than that many. Members that braces cannot make empty are counted
// one by one.
template <class T>
consteval std::size_t count_parts() {
  constexpr std::size_t n = count_empty<T>();
  if constexpr (n <= aggregate_members_max && takes_empty<T, n, any_member<T>>())
    return count_initializers<T>();
  else
    return n;
}

// --- Bases -----------------------------------------------------------------------------------------

template <class T>
struct any_base {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>) operator B() const noexcept;
};
// A first member that can be made of anything is none.
template <class T>
consteval bool has_base() {
  return takes_empty<T, 0, any_base<T>>() && !takes_empty<T, 0, no_member>();
}

// The type of each part, or of an element of it where it is an array. It is noted where the compiler looks for a
// conversion to it, by a friend that is defined then.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#pragma GCC diagnostic ignored "-Wundefined-internal"
#pragma GCC diagnostic ignored "-Wundefined-inline"
template <class T, std::size_t I>
struct part_place {
  friend auto type_at(part_place<T, I>);
};
#pragma GCC diagnostic pop
template <class T, std::size_t I, class Part>
struct part_note {
  friend auto type_at(part_place<T, I>) { return std::type_identity<Part>{}; }
};
// The compiler tries an array as a whole before its elements.
struct no_note {};
template <class T, std::size_t I>
struct noted_part {
  template <class Part, std::size_t = sizeof(std::conditional_t<std::is_array_v<Part>, no_note,
                                                                part_note<T, I, Part>>)>
  requires(!std::is_same_v<Part, T> && !std::is_array_v<Part>) operator Part() const noexcept;
};
template <class T, std::size_t I>
struct part_at {
  static_assert(takes_empty<T, I, noted_part<T, I>>());  // Which notes it.
  using type = typename decltype(type_at(part_place<T, I>{}))::type;
};

// The initializers that the parts from I on take, when each element of an array has one.
template <class T, std::size_t I, std::size_t... N>
consteval bool takes_any(std::index_sequence<N...>) {
  return takes_empty<T, I, std::enable_if_t<(N >= 0), any_member<T>>...>();
}
template <class T, std::size_t I, std::size_t Least = 0, std::size_t Step = 1>
consteval std::size_t count_from() {
  if constexpr (Least + Step > aggregate_elements_max)
    return aggregate_elements_max + 1;
  else if constexpr (takes_any<T, I>(std::make_index_sequence<Least + Step>()))
    return count_from<T, I, Least + Step, 2 * Step>();
  else if constexpr (Step == 1)
    return Least;
  else
    return count_from<T, I, Least, 1>();
}

// Bases come first. One that is a base of a base before it is a member: as a base it would be ambiguous.
template <class T, std::size_t I = 0, class... Before>
consteval auto find_bases() {
  if constexpr (I == count_parts<T>()) {
    return std::type_identity<std::tuple<Before...>>{};
  } else {
    using part = typename part_at<T, I>::type;
    if constexpr (std::is_base_of_v<part, T> && !(std::is_base_of_v<part, Before> || ...))
      return find_bases<T, I + 1, Before..., part>();
    else
      return std::type_identity<std::tuple<Before...>>{};
  }
}
// Of the part at I, which is none.
template <class T, std::size_t I>
consteval auto find_member_type() {
  constexpr std::size_t left = count_from<T, I>();
  static_assert(left <= aggregate_elements_max,
                "weft: the built-in arrays of an aggregate with bases have too many elements for a "
                "parcel: use std::array, or give it a `template <class A> void serialize(A& "
                "archive)`");
  constexpr std::size_t count = left - count_from<T, I + 1>();
  using part = typename part_at<T, I>::type;
  if constexpr (count > 1)
    return std::type_identity<part[count]>{};
  else
    return std::type_identity<part>{};
}
template <class T, std::size_t I>
using member_at = typename decltype(find_member_type<T, I>())::type;

template <class Bases>
struct about_bases;
template <class... B>
struct about_bases<std::tuple<B...>> {
  static constexpr bool are_empty = (std::is_empty_v<B> && ...);
  struct followed : B... {
    char next;
  };
};

[[nodiscard]] consteval std::size_t aligned_place(std::size_t at, std::size_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}
// Where the members from `First` on begin: the one at I, and what follows the last.
template <class T, class Bases, std::size_t First, std::size_t I>
consteval std::size_t place_of_part() {
  if constexpr (I == First) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
    constexpr std::size_t behind_bases =
        __builtin_offsetof(typename about_bases<Bases>::followed, next);
#pragma GCC diagnostic pop
    return aligned_place(behind_bases, alignof(member_at<T, I>));
  } else {
    constexpr std::size_t end =
        place_of_part<T, Bases, First, I - 1>() + sizeof(member_at<T, I - 1>);
    if constexpr (I == count_parts<T>())
      return end;
    else
      return aligned_place(end, alignof(member_at<T, I>));
  }
}

// Of an aggregate that has bases.
template <class T>
class parts_of {
  static constexpr std::size_t part_count = count_parts<T>();
  static_assert(part_count <= aggregate_members_max,
                "weft: an aggregate in a parcel has at most 16 bases and members: nest it, or give "
                "it a `template <class A> void serialize(A& archive)`");
  using bases = typename decltype(find_bases<T>())::type;

 public:
  static constexpr std::size_t base_count = std::tuple_size_v<bases>;
  static constexpr std::size_t member_count = part_count - base_count;
  static constexpr bool has_empty_bases = about_bases<bases>::are_empty;
  template <std::size_t I>
  using base = std::tuple_element_t<I, bases>;

  // Where bases have members, too.
  template <std::size_t I, class Of>
  [[nodiscard]] static auto& member(Of& of) noexcept {
    static_assert(
        aligned_place(place_of_part<T, bases, base_count, part_count>(), alignof(T)) == sizeof(T),
        "weft: a parcel cannot carry an aggregate with bases that has bit-fields, or "
        "members with alignas or [[no_unique_address]]: give it a `template <class A> "
        "void serialize(A& archive)`");
    constexpr std::size_t at = base_count + I;
    using type = std::conditional_t<std::is_const_v<Of>, const member_at<T, at>, member_at<T, at>>;
    using byte = std::conditional_t<std::is_const_v<Of>, const std::byte, std::byte>;
    return *std::launder(reinterpret_cast<type*>(reinterpret_cast<byte*>(&of) +
                                                 place_of_part<T, bases, base_count, at>()));
  }
};

// A base, told apart from a member.
template <class B>
struct base_part {
  B& of;
};
template <class From, class To>
using copied_constness = std::conditional_t<std::is_const_v<From>, const To, To>;

}  // namespace weft::detail
