#include "parcel/remote_exception.hpp"

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "base/format.hpp"
#include "base/stack_trace.hpp"
#include "weft/error.hpp"

namespace weft {

std::string remote_error::explanation() const {
  return formatted("{} (thrown by {} in locality {})", printable(what()), action_, from_.number());
}

namespace detail {
namespace {

// What is thrown. Its text is its own: not every type of the standard keeps one.
template <class E>
class remote_exception final : public E, public remote_error {
 public:
  template <class... A>
  remote_exception(std::string text, locality from, std::string type, std::string action,
                   A&&... of_base)
      : E(std::forward<A>(of_base)...),
        remote_error(from, std::move(type), std::move(action)),
        text_(std::make_shared<const std::string>(std::move(text))) {}
  [[nodiscard]] const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;  // A copy of an exception throws nothing.
};

// Calls visit(std::type_identity<E>{}, which) for each type, those that are derived from others before these.
template <class Visit>
void each_standard_exception(const Visit& visit) {
  using enum standard_exception;
  visit(std::type_identity<std::domain_error>{}, domain_error);
  visit(std::type_identity<std::invalid_argument>{}, invalid_argument);
  visit(std::type_identity<std::length_error>{}, length_error);
  visit(std::type_identity<std::out_of_range>{}, out_of_range);
  visit(std::type_identity<std::logic_error>{}, logic_error);
  visit(std::type_identity<std::range_error>{}, range_error);
  visit(std::type_identity<std::overflow_error>{}, overflow_error);
  visit(std::type_identity<std::underflow_error>{}, underflow_error);
  visit(std::type_identity<std::system_error>{}, system_error);
  visit(std::type_identity<std::bad_array_new_length>{}, bad_array_new_length);
  visit(std::type_identity<std::bad_alloc>{}, bad_alloc);
  visit(std::type_identity<std::bad_cast>{}, bad_cast);
  visit(std::type_identity<std::bad_typeid>{}, bad_typeid);
  visit(std::type_identity<std::bad_function_call>{}, bad_function_call);
  visit(std::type_identity<std::bad_optional_access>{}, bad_optional_access);
  visit(std::type_identity<std::bad_variant_access>{}, bad_variant_access);
  visit(std::type_identity<std::bad_weak_ptr>{}, bad_weak_ptr);
}

const std::error_category& category_named(std::string_view name) noexcept {
  return name == std::system_category().name() ? std::system_category() : std::generic_category();
}

}  // namespace

failure_description described_exception() {
  failure_description made;
  const std::type_info* const type = std::current_exception().__cxa_exception_type();
  made.type = type != nullptr ? demangled(type->name()) : std::string();
  try {
    throw;
  } catch (const std::exception& e) {
    made.text = e.what();
    if (const auto* const passed_on = dynamic_cast<const remote_error*>(&e); passed_on != nullptr)
      made.type = passed_on->type();
    made.words.is = dynamic_cast<const std::runtime_error*>(&e) != nullptr
                        ? standard_exception::runtime_error
                        : standard_exception::exception;
    bool is_found = false;
    each_standard_exception([&]<class E>(std::type_identity<E>, standard_exception which) {
      const auto* const it = dynamic_cast<const E*>(&e);
      if (it == nullptr || is_found) return;
      is_found = true;
      made.words.is = which;
      if constexpr (std::is_same_v<E, std::system_error>) {
        made.words.code = it->code().value();
        made.category = it->code().category().name();
      }
    });
  } catch (...) {
    made.text = "an exception of type " + (made.type.empty() ? "another language" : made.type);
  }
  return made;
}

std::string failure_description::line() const {
  return text.empty() ? "an exception of type " + type + ", whose what() is empty"
                      : printable(text);
}

std::exception_ptr remote_exception_of(const failure_words& words, std::string type,
                                       std::string text, std::string_view category, locality from,
                                       std::string action) {
  std::exception_ptr made;
  each_standard_exception([&]<class E>(std::type_identity<E>, standard_exception which) {
    if (which != words.is || made != nullptr) return;
    const auto make = [&](const auto&... of_base) {
      made = std::make_exception_ptr(remote_exception<E>(std::move(text), from, std::move(type),
                                                         std::move(action), of_base...));
    };
    if constexpr (std::is_same_v<E, std::system_error>)
      make(std::error_code(words.code, category_named(category)));
    else if constexpr (std::is_default_constructible_v<E>)
      make();
    else
      make("");
  });
  // A weft::error is a std::runtime_error.
  if (made == nullptr)
    made = std::make_exception_ptr(
        remote_exception<error>(std::move(text), from, std::move(type), std::move(action), ""));
  return made;
}

}  // namespace detail
}  // namespace weft
