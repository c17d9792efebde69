// What a PE has of active messages: a queue from each worker of its process (am_queue.hpp), handlers, calls.
//
// The bytes of all chunks of a PE's queues are counted (am_state::bytes); who would bring them over the limit waits.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "shmem/am_queue.hpp"
#include "shmem/shmemx.h"
#include "sync/published.hpp"

namespace weft::shmem {

struct am_handler {
  shmemx_am_handler_t function = nullptr;
  void* args_r = nullptr;
};

// A call that waits for its reply.
struct am_call_slot {
  void* reply;
  std::size_t reply_max;
  int pe;  // Who replies.
  std::size_t length = 0;
  bool done = false;
};

// A message of another process of which some parts are still to come. Its record lies in the queue already.
struct am_unfinished {
  int source;
  std::uint32_t id;
  std::size_t length;
  std::size_t arrived;
  am_record* record;
};

class handled_counts;

// Of one PE.
struct am_state {
  std::vector<am_unfinished> unfinished;
  // By PE: bytes sent to those of other processes and not handled yet; empty until the first.
  std::vector<std::size_t> unread_far;
  // Likewise: whether a thread of this PE sends one a message, of which parts are still to go.
  std::vector<bool> is_sending_far;
  // By worker of this process; made by the writer's side with its first message.
  std::vector<published<am_queue*>> from;
  std::vector<std::unique_ptr<am_queue>> storage;  // By worker, each written by that worker alone.
  // Written by senders; then by those that have handled what this PE has sent; what follows by the PE alone.
  alignas(padding_bytes) std::atomic<std::size_t> bytes{0};  // Of all chunks.
  alignas(padding_bytes) published<std::uint64_t> sent_and_handled{0};
  alignas(padding_bytes) std::uint64_t sent = 0;
  std::uint64_t handled = 0;  // By this PE.
  std::vector<am_handler> handlers;
  std::vector<am_call_slot*> calls;  // By call - 1; null: free.
  // While a handler runs: what it would reply to.
  const am_record* replies_to = nullptr;
  bool replied = false;
  // Of messages that are being handled now, by one thread of the PE; null: nobody handles any.
  handled_counts* being_handled = nullptr;
  const void* handled_by = nullptr;
  unsigned empty_polls = 0;
};

struct pe_state;
class am_bundle;
// Before the PE waits for others: sources may wait to be told what it has handled.
void tell_handled(pe_state& me);
// What it holds goes to that PE of the world, in one message; it is empty then.
void send_bundle(pe_state& me, const char* call, int pe, am_bundle& bundle);

}  // namespace weft::shmem
