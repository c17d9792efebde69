// Handlers of a face's messages between processes. A handler gets a message only when it is counted, the job runs, and the
// message has the form that the handler was added with; every other message is refused in one way, and reported.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "job/face.hpp"
#include "job/state.hpp"
#include "remote/port.hpp"
#include "remote/words.hpp"

namespace weft::remote {

using called_by = network::called_by;

// The place at which a message has the number, in the world, of the rank that sends it.
enum class sender_in : std::uint8_t {
  nothing,
  head_0,
  head_0_high,
  head_1,
  head_1_high,
  head_1_low
};

// What a handler accepts, beside its parameters.
struct message_form {
  std::size_t bytes_min = 0;
  std::size_t bytes_max = ~std::size_t{0};
  sender_in sender = sender_in::nothing;
  called_by by = called_by::worker;
};
// The form of a message of so many bytes.
[[nodiscard]] constexpr message_form of_bytes(std::size_t bytes) noexcept {
  return {.bytes_min = bytes, .bytes_max = bytes};
}

// Why messages of no sound peer are refused.
inline constexpr const char* for_no_rank = "it is for no rank of this worker";
inline constexpr const char* of_wrong_length = "it is longer or shorter than such a message is";
inline constexpr const char* unasked = "it answers what nobody asked";
inline constexpr const char* of_foreign_rank =
    "it names a rank that is none of the sending process";

// The rank of this worker that the low half of head[0] names; null when there is none.
[[nodiscard]] inline detail::job_rank* addressee(const detail::job& j, const worker& here,
                                                 const comm::event& happened) noexcept {
  const std::uint32_t number = low_of(happened.head[0]);
  detail::job_rank* const to = number < j.places.size() ? j.places[number].rank : nullptr;
  return to != nullptr && to->home == &here ? to : nullptr;
}
// Whether the rank of this number lives in the process that has sent the message.
[[nodiscard]] inline bool is_of_sender(const detail::job& j, std::uint64_t number,
                                       const comm::event& happened) noexcept {
  return number < j.places.size() && j.places[number].process == happened.process;
}

// The parameters of a handler: Handle(context, here, happened), or Handle(context, here, to, happened) for messages that
// name a rank of the receiving worker in the low half of head[0]. A member function has its object as the context.
template <class Function>
struct parameters_of;
template <class Self>
struct parameters_of<void (Self::*)(worker&, const comm::event&)> {
  using context = Self;
  using rank = void;
};
template <class Self, class Rank>
struct parameters_of<void (Self::*)(worker&, Rank&, const comm::event&)> {
  using context = Self;
  using rank = Rank;
};
template <class Self>
struct parameters_of<void (*)(Self&, worker&, const comm::event&)> {
  using context = Self;
  using rank = void;
};
template <class Self, class Rank>
struct parameters_of<void (*)(Self&, worker&, Rank&, const comm::event&)> {
  using context = Self;
  using rank = Rank;
};

[[nodiscard]] constexpr std::uint64_t sender_of(const comm::event& happened,
                                                sender_in where) noexcept {
  switch (where) {
    case sender_in::nothing:
      break;
    case sender_in::head_0:
      return happened.head[0];
    case sender_in::head_0_high:
      return high_of(happened.head[0]);
    case sender_in::head_1:
      return happened.head[1];
    case sender_in::head_1_high:
      return high_of(happened.head[1]);
    case sender_in::head_1_low:
      return low_of(happened.head[1]);
  }
  return 0;
}

class handlers {
 public:
  explicit handlers(detail::handler_numbers& numbers) noexcept : numbers_(numbers) {}
  // Null in a job of one process.
  [[nodiscard]] network* between() const noexcept { return numbers_.between(); }
  // Called by face::begin, in the same order in all processes. `context` lives as long as the job. Before(here) is called
  // before the message is counted.
  template <auto Handle, message_form Form = message_form{},
            void (*Before)(worker&) noexcept = nullptr>
  [[nodiscard]] comm::handler_id add(typename parameters_of<decltype(Handle)>::context& context) {
    return numbers_.add<&checked<Handle, Form>, Form.by, Before>(&context);
  }

 private:
  template <auto Handle, message_form Form>
  static void checked(void* context, worker& here, const comm::event& happened) noexcept {
    using parameters = parameters_of<decltype(Handle)>;
    auto& self = *static_cast<typename parameters::context*>(context);
    if constexpr (Form.bytes_min != 0 || Form.bytes_max != message_form{}.bytes_max)
      if (happened.size < Form.bytes_min || happened.size > Form.bytes_max) [[unlikely]]
        return refuse(here, happened, of_wrong_length);
    if constexpr (Form.sender != sender_in::nothing)
      if (!is_of_sender(detail::job_of(here), sender_of(happened, Form.sender), happened))
          [[unlikely]]
        return refuse(here, happened, of_foreign_rank);
    if constexpr (std::is_void_v<typename parameters::rank>) {
      call<Handle>(self, here, happened);
    } else {
      detail::job_rank* const to = addressee(detail::job_of(here), here, happened);
      if (to == nullptr) [[unlikely]]
        return refuse(here, happened, for_no_rank);
      call<Handle>(self, here, static_cast<typename parameters::rank&>(*to), happened);
    }
  }
  // Does what std::invoke() does, so that the compiler can inline the handler.
  template <auto Handle, class Self, class... Arguments>
  [[gnu::always_inline]] static void call(Self& self, Arguments&... arguments) {
    if constexpr (std::is_member_function_pointer_v<decltype(Handle)>)
      (self.*Handle)(arguments...);
    else
      Handle(self, arguments...);
  }

  detail::handler_numbers& numbers_;
};

}  // namespace weft::remote
