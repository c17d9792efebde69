#include "trace/call_tree.hpp"

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/limits.hpp"

namespace weft::call_tree {
namespace {

// A node is written before its number is told, and never again; a thread that uses a number has it from add(), whose lock
// orders the two.
class tree {
 public:
  std::uint32_t add(const call& one) {
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = numbers_.try_emplace({one.caller, one.address}, next_);
    if (!is_new) return at->second;
    if (next_ == nodes_.size()) {
      numbers_.erase(at);
      return 0;
    }
    nodes_[next_] = one;
    return next_++;
  }
  [[nodiscard]] const call& at(std::uint32_t path) const noexcept { return nodes_[path]; }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::uint32_t, std::uintptr_t>, std::uint32_t> numbers_;
  std::uint32_t next_ = 1;  // 0 stands for none.
  std::array<call, call_path_nodes_max> nodes_{};
};
tree& all() {
  static tree& instance = *new tree;  // Stays until the process ends, whatever is destroyed before.
  return instance;
}

}  // namespace

std::uint32_t add(const call& last) {
  return all().add(last);
}
call at(std::uint32_t path) noexcept {
  return all().at(path);
}

}  // namespace weft::call_tree
