// A face sends to other processes by the port of its worker, which posts to the worker's device and counts each message.
// Nothing gives the device away, so a post that is not counted does not compile.
// The counts tell that no message is under way, so that a job ends, and a deadlock is reported, in time and never falsely
// (docs/protocols/processes.md).
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/network.hpp"
#include "sched/scheduler.hpp"
#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::remote {

// Calls `post` until it returns something other than retry, in a wait of the calling fiber. `post` returns done,
// posted, retry or failed, as the core's operations do. `describe` returns the wait's description, for reports.
template <class Post, class Describe>
status post_in_wait(worker& here, const Post& post, const Describe& describe) {
  status answer = post();
  if (answer != status::retry) [[likely]]
    return answer;
  const worker_device::awake until_there_is_room(network::of(here));
  const wait_description what = describe();
  // The condition is looked at once more after it was true: it must not post again then.
  here.wait_until(
      [&] {
        if (answer == status::retry) answer = post();
        return answer != status::retry;
      },
      what);
  return answer;
}

// Used by the device's worker, and by handlers that the progress worker calls in its place.
class port {
 public:
  explicit port(worker_device& of) noexcept : of_(&of) {}
  [[nodiscard]] static port of(const worker& here) noexcept { return port(network::of(here)); }
  // Whether the worker has a device. In a job of one process only those have one whose ranks have met another job.
  [[nodiscard]] static bool is_at(const worker& here) noexcept { return here.events() != nullptr; }

  [[nodiscard]] network& owner() const noexcept { return of_->owner(); }

  // --- Posts -------------------------------------------------------------------------------------
  // Counts the message and posts it, in a wait of the calling fiber. `describe` returns the wait's description, for
  // reports. done, posted, or failed: the process is dead.
  template <class Message, class Describe>
  requires std::same_as<Message, comm::am> || std::same_as<Message, comm::send> status
  send_in_wait(worker& here, const Message& what, const Describe& describe)
  const {
    of_->count_sent(what.to.process);
    return post_in_wait(
        here, [on = &of_->device_, &what] { return comm::post(*on, what); }, describe);
  }
  // The same for who may not wait, a handler for one: the core keeps what it has no room for. A dead process needs none.
  // Returns posted where what.local is still to be signalled.
  status start(comm::am& what) const noexcept;
  void send(comm::am& what) const noexcept { (void)start(what); }
  // Posts a receive, in a wait of the calling fiber. Whoever learns that the message is there says so:
  // uncounted_messages::have_come_from().
  template <class Describe>
  status receive_in_wait(worker& here, const comm::recv& what, const Describe& describe) const {
    return post_in_wait(
        here, [on = &of_->device_, &what] { return comm::post(*on, what); }, describe);
  }
  // A read of another process's memory into memory of ranks, or a write from there, before whose end they may not unwind:
  // begin_read() once, then try_transfer() until it returns something other than retry. Returned posted,
  // Ended(context, happened) will be called when it has ended; in all other cases the caller calls end_read().
  void begin_read() const noexcept { of_->begin_writing(); }
  template <void (*Ended)(void* context, const comm::event& happened) noexcept, class Transfer>
  requires std::same_as<Transfer, comm::get> || std::same_as<Transfer, comm::put> status
  try_transfer(Transfer& what, void* context)
  const noexcept {
    what.local = comm::completion(&read_ended<Ended>, context);
    return comm::post(of_->device_, what);
  }
  void end_read() const noexcept { of_->end_writing(); }
  // Opens memory to reads or writes by a process, until what it returns goes.
  [[nodiscard]] comm::registered_memory open_memory(std::span<std::byte> memory, peer_access peers,
                                                    int process) const {
    return {of_->device_, memory, peers, process};
  }
  // Handlers may not wait: this calls `attempt(context)` in each pass until it returns true. The attempt may call
  // keep_trying().
  void keep_trying(bool (*attempt)(worker& here, void* context), void* context) const {
    of_->keep_trying(attempt, context);
  }

  // Small messages for this handler may wait at a sender for the next pass of its worker, or for the progress worker, so that
  // those of a stream over a network go together. Called in all processes when it has been registered; null: a job of one.
  static void let_gather(network* between, comm::handler_id which) noexcept;

  // --- Questions ---------------------------------------------------------------------------------
  // False once the process is dead and this device has delivered all that had come from it.
  [[nodiscard]] bool is_alive(int process) const noexcept { return device().is_alive(process); }
  // Messages up to here are sent at once.
  [[nodiscard]] std::size_t eager_bytes_max(int process, int device_there = 0) const noexcept {
    return device().eager_bytes_max(process, device_there);
  }
  // The transport that messages to there take: "shm", "ofi", "sim".
  [[nodiscard]] std::string_view transport_to(const comm::address& there) const noexcept {
    return device().transport_to(there.process, there.device);
  }
  // Whether memory that is opened there is read and written by copies that are made here, without messages and registrations.
  [[nodiscard]] bool copies_in_place(const comm::address& there) const noexcept;
  [[nodiscard]] comm::device_statistics statistics() const noexcept {
    return device().statistics();
  }

 private:
  [[nodiscard]] const comm::device& device() const noexcept { return of_->device_; }

  template <void (*Ended)(void* context, const comm::event& happened) noexcept>
  static void read_ended(void* context, const comm::event& happened) noexcept {
    if (worker* const here = worker::current(); here != nullptr) network::of(*here).end_writing();
    Ended(context, happened);
  }

  worker_device* of_;
};

// Messages whose way a port does not see, so that their user counts them: those of a parcelport with a network of its own,
// and those that a posted receive gets.
class uncounted_messages {
 public:
  explicit uncounted_messages(const worker& here) noexcept : of_(network::of(here)) {}
  // Said before they are posted.
  void leave_for(int process, std::size_t count = 1) const noexcept {
    for (; count != 0; --count) of_.count_sent(process);
  }
  // Said before anybody acts on them.
  void have_come_from(int process, std::size_t count = 1) const noexcept {
    for (; count != 0; --count) of_.count_received(process);
  }

 private:
  worker_device& of_;
};

// Refuses a message that no sound peer sends: counts it, and reports the first.
[[gnu::cold]] void refuse(const worker& here, const comm::event& happened,
                          const char* why) noexcept;
[[gnu::cold]] void refuse(const worker& here, const comm::address& sender,
                          const char* why) noexcept;

}  // namespace weft::remote
