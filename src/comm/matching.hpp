// Receives meet messages here, the oldest first. Of one key either receives or messages wait, never both. Nothing is
// copied or allocated: receives and messages are linked through nodes of their own.
//
// One thread at a time uses a table, unless it is shared and has a lock.
#pragma once
#include <array>
#include <cstddef>
#include <memory>

#include "comm/match_node.hpp"
#include "comm/spin_lock.hpp"
#include "weft/comm/operations.hpp"

namespace weft::comm {

// A key with only the fields that the policy `by` looks at, so that a match is equality.
[[nodiscard]] inline match_key key_of(matching by, int process, std::uint64_t tag) noexcept {
  const bool source = by == matching::source_and_tag || by == matching::source;
  const bool tagged = by == matching::source_and_tag || by == matching::tag;
  return {tagged ? tag : 0, source ? process : -1, static_cast<std::uint8_t>(by)};
}

class match_table {
 public:
  explicit match_table(bool shared);

  // Takes out and returns the oldest node of the other sort with this node's key. Null: there is none, and `node`
  // waits.
  [[nodiscard]] match_node* meet(match_node* node) noexcept;
  // Take out the oldest message, or receive, with this key; null: there is none.
  [[nodiscard]] match_node* take_message(const match_key& key) noexcept;
  [[nodiscard]] match_node* take_receive(const match_key& key) noexcept;
  // Takes `node` out; false when it is not here any more.
  bool remove(match_node* node) noexcept;
  // Takes out the first node for which wanted(node, context) is true; null when there is none.
  [[nodiscard]] match_node* take_if(bool (*wanted)(const match_node&, const void*),
                                    const void* context) noexcept;

 private:
  struct bucket {
    match_node* oldest = nullptr;
    match_node* newest = nullptr;
  };

  [[nodiscard]] bucket& bucket_of(const match_key& key) noexcept;
  [[nodiscard]] static match_node* take_other(bucket& from, const match_key& key,
                                              bool receive) noexcept;
  static void unlink(bucket& from, match_node* before, match_node* node) noexcept;

  static constexpr std::size_t bucket_count = 1024;
  std::unique_ptr<spin_lock> lock_;
  std::unique_ptr<bucket[]> buckets_;
};

}  // namespace weft::comm
