#include "comm/matching.hpp"

namespace weft::comm {

match_table::match_table(bool shared)
    : lock_(shared ? std::make_unique<spin_lock>() : nullptr),
      buckets_(std::make_unique<bucket[]>(bucket_count)) {}

match_table::bucket& match_table::bucket_of(const match_key& key) noexcept {
  // Multiplication spreads what differs in the low bits into the high ones.
  std::uint64_t mixed = key.tag * 0x9e3779b97f4a7c15u;
  mixed ^= (static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.process)) << 8 | key.by) *
           0xc2b2ae3d27d4eb4fu;
  mixed *= 0x9e3779b97f4a7c15u;
  return buckets_[mixed >> 54];
}
static_assert(1024 == std::uint64_t{1} << (64 - 54));

void match_table::unlink(bucket& from, match_node* before, match_node* node) noexcept {
  (before != nullptr ? before->after : from.oldest) = node->after;
  if (from.newest == node) from.newest = before;
  node->after = nullptr;
}

match_node* match_table::take_other(bucket& from, const match_key& key, bool receive) noexcept {
  match_node* before = nullptr;
  for (match_node* each = from.oldest; each != nullptr; before = each, each = each->after) {
    if (!(each->key == key)) continue;
    // All of one key are of one sort, so the first decides.
    if (each->is_receive == receive) return nullptr;
    unlink(from, before, each);
    return each;
  }
  return nullptr;
}

match_node* match_table::meet(match_node* node) noexcept {
  const lock_guard guard(lock_.get());
  bucket& in = bucket_of(node->key);
  if (match_node* other = take_other(in, node->key, node->is_receive); other != nullptr)
    return other;
  node->after = nullptr;
  (in.newest != nullptr ? in.newest->after : in.oldest) = node;
  in.newest = node;
  return nullptr;
}

match_node* match_table::take_message(const match_key& key) noexcept {
  const lock_guard guard(lock_.get());
  return take_other(bucket_of(key), key, true);
}

match_node* match_table::take_receive(const match_key& key) noexcept {
  const lock_guard guard(lock_.get());
  return take_other(bucket_of(key), key, false);
}

bool match_table::remove(match_node* node) noexcept {
  const lock_guard guard(lock_.get());
  bucket& in = bucket_of(node->key);
  match_node* before = nullptr;
  for (match_node* each = in.oldest; each != nullptr; before = each, each = each->after) {
    if (each != node) continue;
    unlink(in, before, node);
    return true;
  }
  return false;
}

match_node* match_table::take_if(bool (*wanted)(const match_node&, const void*),
                                 const void* context) noexcept {
  const lock_guard guard(lock_.get());
  for (std::size_t i = 0; i < bucket_count; ++i) {
    match_node* before = nullptr;
    for (match_node* each = buckets_[i].oldest; each != nullptr;
         before = each, each = each->after) {
      if (!wanted(*each, context)) continue;
      unlink(buckets_[i], before, each);
      return each;
    }
  }
  return nullptr;
}

}  // namespace weft::comm
