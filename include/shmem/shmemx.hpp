// Calls of functions on other PEs, in C++, over active messages (shmemx.h):
//
//   shmemx::rpc_init();                                                       // Collective, once.
//   shmemx::result<long> sum = shmemx::rpc(pe, [](long a, long b) { return a + b; }, 1L, 2L);
//   use(sum.get());                                                           // Waits, and runs handlers meanwhile.
//
// The function runs on the target in a call that handles active messages (shmemx_am_poll, shmemx_am_wait, ..., get()), and
// may do there what handlers may. It is a lambda that captures nothing, or rpc<&function>(pe, ...): what it works on are
// arguments, copied as bytes, so no pointers and references, which mean nothing on another PE. A symmetric object is a global, or
// named by its place in the symmetric heap. An exception that leaves it ends the job.
//
// All PEs run the same program. Everything is called by a PE's own thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shmemx.h"

namespace shmemx {

// What may go to another PE: its bytes are all of it.
template <class T>
inline constexpr bool sendable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                                 !std::is_member_pointer_v<T> && !std::is_reference_v<T>;

namespace detail {

// A call whose answer is to come.
struct awaited {
  bool done = false;
  std::vector<unsigned char> answer;
};

// Reads the arguments from `from`, calls, and writes what is returned to `answer`.
using thunk = void (*)(const unsigned char* from, std::size_t bytes,
                       std::vector<unsigned char>& answer);

inline constexpr std::size_t head_words = 2;  // Of a call: name, number. Of an answer: number.

struct of_pe {
  int call_id = 0, answer_id = 0;
  std::unordered_map<std::uint64_t, thunk> functions;  // By the hash of their types' names.
  std::unordered_map<std::uint64_t, std::shared_ptr<awaited>> awaited_by_number;
  std::uint64_t next_number = 0;
  bool has_twins = false;  // Two functions with one name.
};
inline of_pe& state() {
  static of_pe of_this_pe;
  return of_this_pe;
}

inline std::uint64_t hash(const char* text) noexcept {
  std::uint64_t value = 0xcbf29ce484222325;
  for (; *text != 0; ++text) value = (value ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
  return value;
}

// Known to every PE before main(), since all run the same program: whoever calls a function has this object made.
template <class Call>
struct known {
  static std::uint64_t add() {
    const std::uint64_t name = hash(typeid(Call).name());
    const auto [at, is_new] = state().functions.try_emplace(name, &Call::run);
    if (!is_new && at->second != &Call::run) state().has_twins = true;
    return name;
  }
  static inline const std::uint64_t name = add();
};

template <class T>
T take(const unsigned char*& from) {
  alignas(T) unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  from += sizeof(T);
  return *std::launder(reinterpret_cast<T*>(bytes));
}

template <class Function, class... Args>
struct call {
  using result_type = std::invoke_result_t<Function, Args...>;
  static void run([[maybe_unused]] const unsigned char* from, std::size_t bytes,
                  std::vector<unsigned char>& answer) {
    if (bytes != (sizeof(Args) + ... + 0))
      throw std::runtime_error("its arguments are of another length");
    // In braces: from the first to the last.
    std::tuple<Args...> arguments{take<Args>(from)...};
    if constexpr (std::is_void_v<result_type>) {
      std::apply(Function{}, std::move(arguments));
    } else {
      const result_type value = std::apply(Function{}, std::move(arguments));
      answer.resize(sizeof value);
      std::memcpy(answer.data(), &value, sizeof value);
    }
  }
};

template <auto Function>
struct as_object {
  template <class... Args>
  auto operator()(Args... args) const -> std::invoke_result_t<decltype(Function), Args...> {
    return Function(args...);
  }
};

[[noreturn]] inline void end_job(const char* what, int source) {
  std::fprintf(stderr,
               "PE %d: a function that PE %d called by shmemx::rpc ended by an exception: %s\n",
               shmem_my_pe(), source, what);
  shmem_global_exit(1);
  std::terminate();
}

inline void on_call(void* payload, std::size_t length, void*, void*, int source) {
  std::uint64_t head[head_words];
  if (length < sizeof head) end_job("a call without a name", source);
  std::memcpy(head, payload, sizeof head);
  const auto function = state().functions.find(head[0]);
  if (function == state().functions.end()) end_job("the function is not of this program", source);
  std::vector<unsigned char> answer;
  try {
    function->second(static_cast<const unsigned char*>(payload) + sizeof head, length - sizeof head,
                     answer);
  } catch (const std::exception& e) {
    end_job(e.what(), source);
  }
  std::vector<unsigned char> message(sizeof head[1] + answer.size());
  std::memcpy(message.data(), &head[1], sizeof head[1]);
  if (!answer.empty()) std::memcpy(message.data() + sizeof head[1], answer.data(), answer.size());
  shmemx_am_send_nbi(state().answer_id, message.data(), message.size(), source);
}

inline void on_answer(void* payload, std::size_t length, void*, void*, int source) {
  std::uint64_t number = 0;
  if (length < sizeof number) end_job("an answer without a number", source);
  std::memcpy(&number, payload, sizeof number);
  const auto at = state().awaited_by_number.find(number);
  if (at == state().awaited_by_number.end()) end_job("an answer to no call", source);
  awaited& one = *at->second;
  const auto* const data = static_cast<const unsigned char*>(payload) + sizeof number;
  one.answer.assign(data, data + (length - sizeof number));
  one.done = true;
  state().awaited_by_number.erase(at);
}

}  // namespace detail

// What a function on another PE returns. It may go before that has come.
template <class T>
class [[nodiscard]] result {
 public:
  // Whether get() returns at once. Runs handlers.
  [[nodiscard]] bool ready() {
    if (!of_->done) shmemx_am_poll(nullptr);
    return of_->done;
  }
  // Waits until the function has run. Once. Not in a handler.
  T get() {
    while (!of_->done) shmemx_am_wait(nullptr);
    if constexpr (!std::is_void_v<T>) {
      if (of_->answer.size() != sizeof(T))
        throw std::runtime_error("shmemx::rpc: the answer is of another length");
      const unsigned char* from = of_->answer.data();
      return detail::take<T>(from);
    }
  }

 private:
  template <class Function, class... Args>
  friend std::optional<result<std::invoke_result_t<Function, Args...>>> start_rpc(bool, shmem_ctx_t,
                                                                                  int, Args...);
  explicit result(std::shared_ptr<detail::awaited> of) : of_(std::move(of)) {}
  std::shared_ptr<detail::awaited> of_;
};

template <class Function, class... Args>
std::optional<result<std::invoke_result_t<Function, Args...>>> start_rpc(bool waits,
                                                                         shmem_ctx_t ctx, int pe,
                                                                         Args... args) {
  using call = detail::call<Function, Args...>;
  using value = typename call::result_type;
  static_assert(
      (sendable<Args> && ...),
      "shmemx::rpc: an argument is copied as bytes to another PE, where pointers and what has a copy "
      "constructor mean nothing: pass numbers, or structs of them");
  static_assert(
      std::is_void_v<value> || sendable<value>,
      "shmemx::rpc: what the function returns is copied as bytes: return numbers, or structs of them");
  detail::of_pe& mine = detail::state();
  if (mine.call_id == 0)
    throw std::logic_error("shmemx::rpc: call shmemx::rpc_init() on all PEs before");
  std::vector<unsigned char> message(detail::head_words * sizeof(std::uint64_t) +
                                     (sizeof(Args) + ... + 0));
  const std::uint64_t number = mine.next_number++;
  const std::uint64_t head[detail::head_words] = {detail::known<call>::name, number};
  unsigned char* to = message.data();
  const auto add = [&to](const auto& one) {
    std::memcpy(to, &one, sizeof one);
    to += sizeof one;
  };
  add(head);
  (add(args), ...);
  auto slot = std::make_shared<detail::awaited>();
  mine.awaited_by_number.emplace(number, slot);
  if (waits) {
    shmemx_ctx_am_send_nbi(ctx, mine.call_id, message.data(), message.size(), pe);
  } else if (shmemx_am_try_send_nbi(mine.call_id, message.data(), message.size(), pe) == 0) {
    mine.awaited_by_number.erase(number);
    return std::nullopt;
  }
  return result<value>(std::move(slot));
}

// Collective; before the first rpc(), after shmem_init().
inline void rpc_init() {
  detail::of_pe& mine = detail::state();
  if (mine.has_twins)
    throw std::logic_error("shmemx::rpc: two functions have one name: give them different ones");
  if (mine.call_id != 0) return;
  shmemx_am_set_handler_all(&detail::on_call, nullptr, &mine.call_id);
  shmemx_am_set_handler_all(&detail::on_answer, nullptr, &mine.answer_id);
}

// Calls function(args...) on that PE. Waits while the target's queue of messages is full. In a session of the context calls
// are gathered, and so are the answers of PEs that are in one of SHMEM_CTX_DEFAULT.
template <class Function, class... Args>
auto rpc(shmem_ctx_t ctx, int pe, Function, Args... args) {
  static_assert(
      std::is_empty_v<Function>,
      "shmemx::rpc: the function captures something, which another PE does not have: pass it as an argument; "
      "a function by its name is rpc<&function>(pe, ...)");
  return *start_rpc<Function, Args...>(true, ctx, pe, args...);
}
template <auto Function, class... Args>
auto rpc(shmem_ctx_t ctx, int pe, Args... args) {
  return *start_rpc<detail::as_object<Function>, Args...>(true, ctx, pe, args...);
}
// The same by SHMEM_CTX_DEFAULT.
template <class Function, class... Args>
auto rpc(int pe, Function function, Args... args) {
  return rpc(SHMEM_CTX_DEFAULT, pe, function, args...);
}
template <auto Function, class... Args>
auto rpc(int pe, Args... args) {
  return rpc<Function>(SHMEM_CTX_DEFAULT, pe, args...);
}
// The same; empty where it would wait.
template <class Function, class... Args>
auto try_rpc(int pe, Function, Args... args) {
  static_assert(
      std::is_empty_v<Function>,
      "shmemx::try_rpc: the function captures something, which another PE does not have: pass it as an argument");
  return start_rpc<Function, Args...>(false, SHMEM_CTX_DEFAULT, pe, args...);
}
template <auto Function, class... Args>
auto try_rpc(int pe, Args... args) {
  return start_rpc<detail::as_object<Function>, Args...>(false, SHMEM_CTX_DEFAULT, pe, args...);
}

}  // namespace shmemx
