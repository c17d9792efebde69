// What a PE has of active messages: a queue from each worker of its process (am_queue.hpp), handlers, calls.
//
// The bytes of all chunks of a PE's queues are counted (am_state::bytes); who would bring them over the limit waits.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "remote/credit_window.hpp"
#include "remote/reply_table.hpp"
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

// What a PE has handled of another one's messages, and not told it yet.
struct am_owed {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool is_answered = false;  // A message has gone there since the last time.
};

class handled_counts;

// A PE has one.
struct am_state {
  std::vector<am_unfinished> unfinished;
  // What is owed to PEs of other processes, by PE; empty until one of them is owed something.
  std::vector<am_owed> owed_far;
  std::vector<int> told_later;      // PEs that are told when this one next polls or waits.
  bool is_telling_in_pass = false;  // Or else in the next pass of the worker: it has been asked to.
  bool has_sent_far = false;        // Since handlers of a poll or a wait have begun to run.
  // What this PE may have under way to each PE of other processes, by PE; empty until the first message.
  std::vector<remote::credit_window<remote::worker_credits>> rooms_far;
  // Whether a thread of this PE is sending that PE a message, of which parts are still to go; by PE.
  std::vector<bool> is_sending_far;
  // One for each worker of this process; the writer's side makes it with its first message.
  std::vector<published<am_queue*>> from;
  std::vector<std::unique_ptr<am_queue>> storage;  // Each worker alone writes its own.
  // Senders write this; those that have handled what this PE has sent write the next; the PE alone writes what follows.
  alignas(padding_bytes) std::atomic<std::size_t> bytes{0};  // All chunks together have so many.
  std::size_t limit_of_near =
      0;  // PEs of this process wait at so many of them; the rest is the share of other processes.
  alignas(padding_bytes) published<std::uint64_t> sent_and_handled{0};
  alignas(padding_bytes) std::uint64_t sent = 0;
  std::uint64_t handled = 0;  // This PE has handled so many.
  std::vector<am_handler> handlers;
  // Calls that wait for a reply, and the PE that replies.
  remote::reply_table<am_call_slot*, std::uint32_t, 16, 16> calls;
  // The message that the running handler may reply to.
  const am_record* replies_to = nullptr;
  bool replied = false;
  // Counts the messages that one thread of the PE is handling now; null: nobody handles any.
  handled_counts* being_handled = nullptr;
  const void* handled_by = nullptr;
  unsigned polls = 0;
};

struct pe_state;
// The PE calls it before it waits for others: sources may wait until they know what it has handled.
void tell_handled(pe_state& me);
// Sends what has been gathered to that PE of the world, in one message.
void send_bundle(pe_state& me, const char* call, int pe, std::span<const std::byte> bundle);

}  // namespace weft::shmem
