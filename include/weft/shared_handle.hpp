// Shared ownership of what the library makes, in one word. std::shared_ptr would do; its header brings 15,000 lines into
// every program.
#pragma once
#include <cstddef>
#include <utility>

namespace weft::detail {

// Whoever holds one owns the object together with all who hold another. The library counts the owners by two functions
// beside T: add_owner(T&), and remove_owner(T&), which deletes an object that nobody owns any more. Different threads may
// copy and destroy different handles of one object at the same time.
template <class T>
class shared_handle {
 public:
  shared_handle() noexcept = default;
  shared_handle(std::nullptr_t) noexcept {}
  // Takes over one owner of the object, who has been counted.
  explicit shared_handle(T* counted) noexcept : object_(counted) {}
  shared_handle(const shared_handle& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) add_owner(*object_);
  }
  shared_handle(shared_handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  shared_handle& operator=(shared_handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~shared_handle() {
    if (object_ != nullptr) remove_owner(*object_);
  }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const shared_handle&, const shared_handle&) = default;

 private:
  T* object_ = nullptr;
};

}  // namespace weft::detail
