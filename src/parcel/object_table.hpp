// The objects of a locality that others refer to, and in locality 0 the names of all. A job's own.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "weft/parcels/object.hpp"

namespace weft::detail {

// Called by any worker.
class object_table {
 public:
  [[nodiscard]] std::uint64_t add(std::shared_ptr<void> made, const char* type);
  [[nodiscard]] std::shared_ptr<void> find(std::uint64_t number, const char* type);
  void hold(std::uint64_t number, const char* type);
  void release(std::uint64_t number, std::uint64_t calls);
  void name(const std::string& name, int process, std::uint64_t number, const std::string& type);
  [[nodiscard]] object_id<void> find(const std::string& name, const std::string& type);

 private:
  struct known {
    std::shared_ptr<void> object;
    const char* type;
    std::uint64_t references = 1;  // How many processes refer to it.
    // Parcels overtake each other: calls that have come, and those that were sent by references which have gone.
    std::uint64_t calls = 0, calls_sent = 0;
    [[nodiscard]] bool is_left() const noexcept { return references == 0 && calls >= calls_sent; }
  };
  struct named {
    int process;
    std::uint64_t number;
    std::string type;
  };
  [[nodiscard]] known& at(std::uint64_t number, const char* type);

  std::mutex lock_;
  std::uint64_t last_ = 0;  // A number is never used again.
  std::unordered_map<std::uint64_t, known> objects_;
  std::unordered_map<std::string, named> names_;
};

}  // namespace weft::detail
