// A kernel thread, pinned to a core, that runs fibers; and the one wait of the code base.
//
// Everything here is called on the worker's own thread, or by its attached thread (attached_thread.hpp), unless it says otherwise.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "fiber/stack_pool.hpp"
#include "sched/attached_thread.hpp"
#include "sched/fiber.hpp"
#include "sched/look_limit.hpp"
#include "sched/loop.hpp"
#include "sched/outside.hpp"
#include "sched/seeded_clock.hpp"
#include "sched/work_source.hpp"
#include "sync/memory_watch.hpp"
#include "sync/parking.hpp"
#include "sync/record_ring.hpp"
#include "trace/trace.hpp"

namespace weft {

class scheduler;

// How long a worker sleeps that waits for memory which others may write without telling it: at first, and at most.
inline constexpr std::uint64_t silent_sleep_ns_min = 200'000;
inline constexpr std::uint64_t silent_sleep_ns_max = 10'000'000;

// What more is to happen around fibers of the program's code; all are called on the worker's own thread. Set before
// any worker runs, or null.
struct fiber_hooks {
  // A fiber that is apart goes on, or another after one that is.
  void (*change)(const fiber& next) noexcept = nullptr;
  // On the stack of a fiber that is called, in its wait. May throw what the wait may.
  void (*answer)(fiber& self) = nullptr;
  // After scheduler::look_for_calls().
  void (*look)(worker& here) noexcept = nullptr;
};

class worker {
 public:
  using ring = record_ring<>;

  worker(scheduler& owner, int index, int core);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  // The calling thread's worker; null on other threads.
  [[nodiscard]] static worker* current() noexcept { return current_worker_; }

  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] int core() const noexcept { return core_; }
  [[nodiscard]] scheduler& owner() const noexcept { return owner_; }
  // Whose code the calling thread, a worker's or an attached thread's, runs now; and whether that is a chunk of
  // a loop.
  [[nodiscard]] static void* identity() noexcept {
    if (caller_ != nullptr) return caller_;
    return chunk_of_ != nullptr ? chunk_of_->identity : nullptr;
  }
  [[nodiscard]] static bool in_chunk() noexcept { return chunk_of_ != nullptr; }
  // The number of that rank. Async-signal-safe. Code without the hand-off lock asks too, while an attached thread runs another fiber.
  [[nodiscard]] int number() const noexcept {
    return chunk_of_ != nullptr ? chunk_of_->number : running_here().number;
  }
  // The identity of code that may wait; null in chunks and on other threads.
  [[nodiscard]] static void* caller() noexcept { return caller_; }

  // Makes the fiber, to be run by this worker. Before start, by the starting thread; later by the
  // worker itself. The fiber object stays valid until reclaimed() is called for it or the end.
  // Throws weft::error when there is no memory for its stack.
  void spawn(fiber& f);

  // --- Waiting -------------------------------------------------------------------------------
  // Returns when nothing is pending any more.
  [[gnu::always_inline]] void wait(completion_counter& c, const wait_description& description,
                                   int victim = -1) {
    if (c.pending != 0) wait_for_pending(c, description, victim);
  }
  // The same for what ends by itself when the job stops, and leaves nothing behind before that.
  void wait_to_the_end(completion_counter& c, const wait_description& description);
  // The same where something is. What is awaited, or some of it, probably comes as mail of worker `sender`, or
  // from -1, anywhere.
  [[gnu::always_inline]] void wait_for_pending(completion_counter& c,
                                               const wait_description& description, int victim = -1,
                                               int sender = -1) {
    // The short way: straight to the next ready fiber, from the caller's own frame, since each
    // frame between here and the fiber's code costs a mispredicted return (5 frames: 50 ns). Mail
    // is looked at where there is no such fiber, and every few times, fewer as long as there is none.
    fiber* next = first_ready();
    if (next == nullptr || --short_ways_left_ <= 0) [[unlikely]] {
      next = look_on_the_way(c, sender);
      if (c.pending == 0) return;
    }
    if (next != nullptr && next->flow) [[likely]] {
      pop_ready(*next);
      fiber& self = *running_;
      self.waiting_in = &description;
      self.told_by = &c;
      c.add(self);
      switch_to(*next);
      self.waiting_in = nullptr;
      if (c.pending == 0) [[likely]]
        return;
    }
    wait_in_loop(c, description, victim);
  }
  [[gnu::noinline]] void wait_in_loop(completion_counter& c, const wait_description& description,
                                      int victim) {
    short_ways_left_ = short_ways_from_now();
    waiter w{nullptr, nullptr, &description, &c};
    w.victim = victim;
    block(w);
  }
  // Returns when `holds()` is true; other threads make it so. Keep it cheap and free of effects.
  template <class Holds>
  void wait_until(const Holds& holds, const wait_description& description, bool may_stop = true) {
    if (holds()) return;
    waiter w{[](const void* subject) noexcept { return (*static_cast<const Holds*>(subject))(); },
             &holds, &description};
    w.may_stop = may_stop;
    block(w);
  }
  // The same for so long at most; a seeded schedule knows no limit.
  template <class Holds>
  void wait_until(const Holds& holds, std::uint64_t duration_ns,
                  const wait_description& description) {
    if (holds()) return;
    const struct limited {
      const Holds& holds;
      std::uint64_t deadline_ns;
    } both{holds, now_ns() + duration_ns};
    waiter w{[](const void* subject) noexcept {
               const auto& l = *static_cast<const limited*>(subject);
               return l.holds() || now_ns() >= l.deadline_ns;
             },
             &both, &description};
    w.deadline_ns = both.deadline_ns;
    block_as_timer(w);
  }
  // The same for words of memory that others write, who then look at the memory watch of this worker and wake it:
  // see memory_watch.hpp. `may_be_silent`: others write them who do not; then the worker sleeps for short times.
  template <class Holds>
  void wait_for_memory(const Holds& holds, const wait_description& description,
                       bool may_be_silent = false) {
    if (holds()) return;
    const struct watching {
      worker& here;
      explicit watching(worker& w) noexcept : here(w) { ++here.watching_; }
      ~watching() { --here.watching_; }
    } watched(*this);
    if (!may_be_silent) return wait_until(holds, description);
    for (std::uint64_t most_ns = silent_sleep_ns_min; !holds();
         most_ns = std::min(2 * most_ns, silent_sleep_ns_max))
      wait_until(holds, most_ns, description);
  }
  // Called before any fiber of this worker waits for memory.
  void set_memory_watch(memory_watch<>& watch) noexcept { memory_watch_ = &watch; }
  // The same for what somebody outside of the job ends, or `holds()` itself looks at the end of the job: it counts as a
  // wait for a time, and no stop ends it.
  template <class Holds>
  void wait_for_outside(const Holds& holds, const wait_description& description) {
    waiter w{[](const void* subject) noexcept { return (*static_cast<const Holds*>(subject))(); },
             &holds, &description};
    w.may_stop = false;
    block_as_timer(w);
  }
  // With a seed those who sleep wake in the order of their times, by the seeded clock: what a sleep meets does not
  // depend on how fast the machine is.
  void sleep(std::uint64_t duration_ns, const wait_description& description, bool may_stop = true);
  // A wait of length zero: makes progress and lets every ready fiber of this worker run.
  void yield();
  // Throws job_stopped when the job is ending: before memory of another rank is read. Others unwind
  // once all workers have acknowledged the stop, so no rank goes further than here after its worker
  // has; and it waits for the others, which may be reading what it would free.
  void check_stopped() {
    if (stop_acknowledged_) [[unlikely]]
      wait_for_the_end();
  }
  // perturb(), then check_stopped(): what a call begins with.
  void begin_call() {
    if (is_hindered_) [[unlikely]]
      begin_hindered_call();
  }
  // The job stops, and waits end that may; what still waits does so for something that no stop reaches.
  [[nodiscard]] bool is_unwinding() const noexcept { return unwinding_; }
  // Whether begin_call() does anything, or calls are traced: then no short way is taken.
  [[nodiscard]] bool is_hindered() const noexcept { return is_hindered_; }
  // Ends the job, and returns when no other worker can begin to read what this fiber leaves behind.
  // For destructors: throws nothing.
  void stop_and_wait() noexcept;
  // In a seeded schedule: another fiber may run here.
  void perturb() {
    if (seeded_) [[unlikely]]
      perturb_seeded();
  }

  // In a seeded schedule: one of `first`, next(first), ... that no earlier one is `same` as.
  template <class Node, class Next, class Same>
  [[nodiscard]] Node* pick(Node* first, const Next& next, const Same& same) {
    std::vector<Node*> choices;
    for (Node* at = first; at != nullptr && choices.size() < 64; at = next(at)) {
      bool again = false;
      for (const Node* earlier : choices) again = again || same(*earlier, *at);
      if (!again) choices.push_back(at);
    }
    return choices[next_random() % choices.size()];
  }

  // Counts down; the last count makes the fiber ready that waits, and there is one at most.
  [[gnu::always_inline]] void complete(completion_counter& c) noexcept {
    // A wait for any of several ends with the first; the others find nothing pending.
    if (c.pending != 0 && --c.pending == 0 && c.last != nullptr)
      make_ready(*std::exchange(c.last, nullptr));
  }
  // Ends it for all that wait for it: they are ready, in the order in which they came.
  void end(completion_counter& c) noexcept {
    c.pending = 0;
    release(c);
  }
  void make_ready(fiber& f) noexcept {
    f.next = nullptr;
    append_ready(f, f);
  }
  [[nodiscard]] fiber& running() const noexcept { return *running_; }
  // The same for code that may not have the hand-off lock, when an attached thread may be running another: the fiber of the calling
  // thread, which is the worker's own. Async-signal-safe.
  [[nodiscard]] const fiber& running_here() const noexcept {
    return handoff_lock_ == nullptr || handoff_lock_->held_here() ? *running_
                                                                  : *runs_on_own_thread_;
  }

  static constinit fiber_hooks hooks;
  // A fiber of this worker, on whose stack hooks.answer is to run as soon as it waits.
  void call(fiber& f) noexcept;

  // Delivers what has arrived, with a waiter until that one is over or, at a line's end, while another fiber
  // can run. True when anything was there.
  bool poll(const waiter* w = nullptr);

  // --- Mail to other workers -----------------------------------------------------------------
  // Room for a record in the mailbox of another worker; false when there is none.
  struct mail_room {
    ring* in = nullptr;
    ring::room place;
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(place); }
    [[nodiscard]] std::byte* payload() const noexcept {
      return reinterpret_cast<std::byte*>(place.payload());
    }
  };
  [[nodiscard]] mail_room try_reserve(int to, std::size_t size) {
    ring* r = outbound_[static_cast<std::size_t>(to)];
    if (r == nullptr) [[unlikely]]
      r = connect(to);
    return {r, r->try_reserve(size)};
  }
  // The same, none also where no record has been sent to that worker yet.
  [[nodiscard]] mail_room try_reserve_known(int to, std::size_t size) noexcept {
    ring* const r = outbound_[static_cast<std::size_t>(to)];
    return r != nullptr ? mail_room{r, r->try_reserve(size)} : mail_room();
  }
  // A record with this header word has come from worker `from`.
  void expect_answer(int from, std::uint64_t header) noexcept {
    if (ring* const back = outbound_[static_cast<std::size_t>(from)]; back != nullptr)
      back->expect_answer(header);
  }
  // What was reserved for `to`, when its payload is written.
  void send_reserved(const mail_room& record, int to, std::uint8_t kind,
                     std::uint32_t target) noexcept;
  // For handlers, which may not wait: a full ring makes the record wait here. Short payloads only.
  void post(int to, std::uint8_t kind, std::uint32_t target, std::span<const std::byte> payload);

  // For a fiber that knows what the next record of worker `sender` will be: the mailbox of that worker,
  // when it has sent any and the fiber waits here alone. Null when something rare is to be done, after a
  // few records in a row, and after a look in vain, until poll() has given all else its turn.
  [[nodiscard]] ring* undivided_mail(int sender) noexcept;
  // Looks into it for about as long as an answer of the next core takes: the header of its next record, 0
  // when none came.
  [[nodiscard]] std::uint64_t look_for_mail(ring& from) noexcept;
  // The record has been used.
  void drop_front(ring& from, int sender, std::uint64_t header) noexcept;

  // --- Other processes -------------------------------------------------------------------------
  // Called before run(), which it outlives.
  void set_outside(class outside& view) noexcept {
    outside_ = &view;
    add_rare_source();
  }
  [[nodiscard]] class outside* outside() const noexcept { return outside_; }

  // --- Threads that ranks make (attached_thread.hpp) -----------------------------------------------------
  // From now on there may be attached threads. Called by the worker's own thread, which then holds the hand-off lock.
  void share();
  [[nodiscard]] bool is_shared() const noexcept { return handoff_lock_ != nullptr; }
  // From the program's code into the worker's and back, on the worker's own thread. False: the thread
  // holds the hand-off lock already, or the worker is not shared, and nothing is to be left.
  [[nodiscard]] bool enter_shared();
  void leave_shared() noexcept;
  [[nodiscard]] bool has_attached_thread() const noexcept { return attached_thread_ != nullptr; }
  // Whether the calling thread is a worker's own, in the program's code, and the worker may have attached threads. Not so in
  // functions of the program that weft calls.
  [[nodiscard]] static bool in_shared_program() noexcept {
    return current_worker_ != nullptr && caller_ != nullptr &&
           current_worker_->handoff_lock_ != nullptr &&
           !current_worker_->handoff_lock_->held_here();
  }
  // Whether the worker has fibers besides the one that runs.
  [[nodiscard]] bool has_others() const noexcept { return oldest_ != newest_; }

  // --- Work of other kinds (work_source.hpp) -----------------------------------------------------
  // Null until some worker has opened the job's sources.
  [[nodiscard]] work_source* source() const noexcept { return source_; }
  // Opens them if nobody has, all at once: `make` gives one for each worker.
  void open_sources(std::vector<std::unique_ptr<work_source>> (*make)(scheduler&));
  // A fiber that a source keeps and gives work to: it does not end, and counts only while it is at work. Throws
  // weft::error when there is no memory for its stack.
  void adopt(fiber& f);
  // Whether it is among those that reports and waits look at: while it has work.
  void enlist(fiber& f) noexcept;
  void dismiss(fiber& f) noexcept;
  // The running fiber, which has no more work, leaves; returns when take_own() or take_others() has chosen it.
  void retire() noexcept;
  // There is work to share: wakes somebody who sleeps, at most once in a while.
  void call_thieves(int owner) noexcept;
  // Work that is no rank's runs on the stack of a fiber that waits for it.
  class without_identity {
   public:
    explicit without_identity(worker& here) noexcept
        : self_(here.running()), before_(std::exchange(self_.identity, nullptr)) {
      caller_ = nullptr;
    }
    ~without_identity() { caller_ = self_.identity = before_; }
    without_identity(const without_identity&) = delete;
    without_identity& operator=(const without_identity&) = delete;

   private:
    fiber& self_;
    void* const before_;
  };

  // --- Loops ---------------------------------------------------------------------------------
  // Runs all chunks, with whoever comes to help; rethrows the first exception of a chunk.
  void execute(loop& l);
  // Takes a claim of some other worker's loop and runs it. `first` is tried before the others.
  bool steal(int first);
  // A loop that its opener does not wait for: poll() calls `ended(context)` here when its last
  // chunk is done. `l` must live until then. False when no slot is free.
  bool open_detached(loop& l, void (*ended)(worker&, void*), void* context);

  // --- The life of the thread, called by the scheduler -----------------------------------------
  void run();
  // Called by any thread: wakes the worker when it is parked.
  void notify() noexcept;
  // Called by any thread: wakes the worker, if it is parked and may steal, for a loop of worker `victim`. True when
  // this call woke it.
  bool wake_to_steal(int victim) noexcept;
  [[nodiscard]] bool is_parked() const noexcept { return spot_.is_parked(); }
  [[nodiscard]] std::uint64_t passes() const noexcept {
    return passes_.load(std::memory_order_relaxed);
  }
  // Called by any thread, hints.
  [[nodiscard]] bool has_open_loops() const noexcept {
    return open_slots_.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] bool has_ready() const noexcept { return first_ready() != nullptr; }
  // Called by any thread, a hint: the number of the fiber that runs now, -1 for none.
  [[nodiscard]] int running_number() const noexcept {
    return running_number_.load(std::memory_order_relaxed);
  }
  // Called by any thread, a hint: whose loop the chunk is of that this worker has stolen and runs now, -1 for none.
  [[nodiscard]] int stolen_from_number() const noexcept {
    return stolen_from_number_.load(std::memory_order_relaxed);
  }
  // The calls that a fiber of this worker is in, innermost first; none when it has not begun or has
  // no room left on its stack. Returns how many.
  std::size_t calls_of(fiber& f, std::span<std::uintptr_t> calls) noexcept;
  // Called by any thread: the kernel's number of the worker's thread; 0 before it runs and after.
  [[nodiscard]] int thread() const noexcept {
    return thread_number_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const stack_pool& stacks() const noexcept { return stacks_; }
  // Calls `visit(fiber)` for each living fiber of this worker, oldest first.
  template <class Visit>
  void each_fiber(Visit&& visit) {
    for (fiber* f = oldest_; f != nullptr; f = f->newer) visit(*f);
  }

  // Threads of the worker's ranks that wait as attached threads, the longest first.
  [[nodiscard]] std::span<const attached_thread* const> waiting_attached() const noexcept {
    return waiting_attached_;
  }

  // xorshift*: for choices, not for chance.
  [[nodiscard]] std::uint32_t next_random() noexcept {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return static_cast<std::uint32_t>((random_ * 0x2545'f491'4f6c'dd1d) >> 32);
  }

  struct statistics {
    std::uint64_t switches = 0;
    std::uint64_t parks = 0;
    std::uint64_t steals = 0;
    std::uint64_t failed_steals = 0;
  };
  [[nodiscard]] const statistics& counts() const noexcept { return counts_; }

 private:
  friend class scheduler;
  friend class attached_thread;

  struct waiting_record {
    int to;
    std::uint8_t kind;
    std::uint32_t target;
    std::vector<std::byte> payload;
  };
  struct inbound {
    ring* records;
    int sender;
  };
  struct detached_loop {
    std::size_t slot;
    void (*ended)(worker&, void*);
    void* context;
  };

  // The wait loop: condition, progress, ready fibers, stealing, spinning, parking.
  [[gnu::noinline]] void block(waiter& w);
  void block_attached(waiter& w);
  void block_as_timer(waiter& w);  // Of a wait with a deadline: it is no deadlock.
  void yield_attached();
  void suspend(waiter& w, fiber& next);
  [[gnu::always_inline]] void switch_to(fiber& next) noexcept {
    fiber& self = *running_;
    running_ = &next;
    // Relaxed: others take it as a hint.
    running_number_.store(next.number, std::memory_order_relaxed);
    caller_ = next.identity;
    ++counts_.switches;
    if (tracing()) [[unlikely]]
      trace_switch(self, next);
    if (self.is_apart || next.is_apart) [[unlikely]]
      hooks.change(next);
    context::switch_to(*self.flow, *next.flow, thread_);
  }
  // Relaxed, here and below: of other threads only the monitor looks, whether there is any.
  [[nodiscard]] fiber* first_ready() const noexcept {
    return ready_head_.load(std::memory_order_relaxed);
  }
  void pop_ready(fiber& first) noexcept {
    ready_head_.store(first.next, std::memory_order_relaxed);
  }
  void append_ready(fiber& first, fiber& last) noexcept {
    if (first_ready() == nullptr)
      ready_head_.store(&first, std::memory_order_relaxed);
    else
      ready_tail_->next = &first;
    ready_tail_ = &last;
  }
  // Makes ready all that wait for it; they wait on when it is pending.
  void release(completion_counter& c) noexcept {
    fiber* const last = std::exchange(c.last, nullptr);
    if (last == nullptr) return;
    fiber* const first = std::exchange(last->next, nullptr);
    append_ready(*first, *last);
  }
  void prepare(fiber& f);
  [[gnu::noinline]] static void trace_switch(const fiber& from, const fiber& to) noexcept;
  void unlink_ready(fiber& previous, fiber& taken) noexcept {
    previous.next = taken.next;
    if (&taken == ready_tail_) ready_tail_ = &previous;
  }
  [[nodiscard]] fiber* take_ready() noexcept;
  [[nodiscard]] fiber* take_next();
  [[nodiscard]] fiber* take_urgent() noexcept;
  static void fiber_main(void* self);
  [[noreturn]] void finish(fiber& self) noexcept;
  void reclaim() noexcept;
  [[gnu::noinline]] void begin_hindered_call();
  [[gnu::noinline]] void perturb_seeded();
  [[gnu::cold]] void tick_seeded() noexcept;
  [[gnu::noinline]] void wait_for_the_end();

  // How often a wait may go the short way until mail is looked at; a seeded schedule chooses every
  // time, and a wait that begins when the job ends must see that.
  [[nodiscard]] int short_ways_from_now() const noexcept {
    return seeded_ || stop_acknowledged_ || watched_ || attached_thread_ != nullptr ? 0
                                                                                    : short_ways_;
  }
  // Null: the wait takes the long way.
  [[nodiscard, gnu::noinline]] fiber* look_on_the_way(completion_counter& c, int sender);
  [[nodiscard]] int undivided_from_now() const noexcept;
  // Whether all that can come here comes through one mailbox or is for one fiber.
  [[nodiscard]] bool awaits_one_mailbox() const noexcept {
    return inbound_.size() == 1 || oldest_ == newest_;
  }
  bool take_mail_of(int sender, const completion_counter& c);
  void deliver_front(ring& r, int sender, record_header header);
  bool drain(const inbound& from, const waiter* w);
  bool look() noexcept;
  // Something that poll_rare() looks at.
  void add_rare_source() noexcept {
    ++rare_sources_;
    undivided_left_ = 0;
  }
  [[gnu::noinline]] bool poll_rare();
  bool flush_posted();
  bool end_detached();
  [[gnu::noinline]] bool attend();  // To what is rare: stop requests, new rings, reports.
  [[gnu::noinline]] ring* connect(int to);
  [[nodiscard]] bool take_arrival(const waiter& w);
  [[nodiscard]] bool has_work(const waiter& w) noexcept;
  // That part of it which code of this worker brings about, and nobody else.
  [[nodiscard]] bool has_own_work(const waiter& w) noexcept;
  void park(waiter& w);
  // Before the worker's own thread gives the hand-off lock up, or offers it.
  void note_running() noexcept { runs_on_own_thread_ = running_; }
  [[nodiscard]] parked_count<>::outcome lie_down(const waiter& w);
  void sleep(std::int64_t timeout_ns);
  void release_waiters() noexcept;

  // How long a chunk of this body took when it was last measured.
  struct body_time {
    decltype(loop::invoke) body = nullptr;
    std::uint64_t chunk_ticks = 0;
  };
  // Where the time of the loop's body is noted, or that of another, which has come later.
  [[nodiscard]] body_time& note_for(const loop& l) noexcept;
  [[nodiscard]] bool is_worth_waking(const loop& l) noexcept;

  [[nodiscard]] loop_slot* open_slot(loop& l);
  void run_claims(loop& l, loop_slot& slot);
  void note_time(const loop& l, std::int64_t chunks, std::uint64_t time) noexcept;
  // Called by any thread, a hint: one whose chunks are not all claimed, or null.
  [[nodiscard]] loop_slot* slot_with_chunks() noexcept;
  void run_chunks(loop& l, chunk_claim claim) noexcept;
  void close_slot(loop_slot& slot) noexcept;
  bool steal_from(worker& victim, bool was_woken = false);
  [[nodiscard]] std::int64_t claim_size(const loop_slot& slot, bool single) const noexcept;

  [[gnu::tls_model("initial-exec")]] static thread_local constinit worker* current_worker_;
  // By thread, not by worker: the program's code asks for them while an attached thread has the hand-off lock.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit void* caller_;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit const loop* chunk_of_;

  scheduler& owner_;
  const int index_;
  const int core_;

  // What the worker writes is apart from that, which all senders read: each of its switches would take
  // their line. With 16 ranks on two workers a message took 410 ns instead of 290.
  alignas(padding_bytes) bool seeded_ = false;
  bool is_hindered_ = false;  // seeded_, stop_acknowledged_, or tracing() when its thread began.
  bool watched_ = false;      // The scheduler has a watcher of waits.
  // How many records a fiber may take from a mailbox by itself between two polls, when nothing or something
  // else may come to others; and how many of them are left, none while something rare is to be done.
  static constexpr int undivided_in_a_row_max = 16;
  static constexpr int undivided_beside_others_max = 2;
  int undivided_left_ = 0;
  thread_state thread_{};

  // Fibers.
  fiber* running_ = nullptr;
  std::atomic<int> running_number_{-1};
  std::atomic<int> thread_number_{0};
  std::atomic<int> stolen_from_number_{-1};
  fiber root_;
  std::atomic<fiber*> ready_head_{nullptr};
  fiber* ready_tail_ = nullptr;  // Means nothing without a head.
  fiber* oldest_ = nullptr;
  fiber* newest_ = nullptr;
  fiber* dead_ = nullptr;
  work_source* source_ = nullptr;
  bool source_first_ = false;         // Before fibers that are ready, which have had many turns.
  std::uint64_t thieves_called_ = 0;  // When, in ticks.
  // Waits that may yet go the short way before mail is looked at, and how many may after the next
  // look: the more, the more looks in a row have found nothing.
  static constexpr int short_ways_min = 4, short_ways_max = 32;
  int short_ways_left_ = 0;
  int short_ways_ = short_ways_min;
  stack_pool stacks_;
  struct looked_at {
    waiter* w;
    fiber* f;
  };
  std::vector<looked_at> looked_at_;
  std::size_t next_look_ = 0;
  std::atomic<std::uint64_t> passes_{0};
  // What poll() looks at that most workers do not have: posted records, detached loops, the
  // outside. One number, so that a pass without any looks once.
  std::size_t rare_sources_ = 0;

  // Mail.
  std::vector<ring*> outbound_;   // By receiving worker; null before the first record.
  std::vector<inbound> inbound_;  // Rings that others have opened to here.
  std::vector<ring*> mail_of_;    // The same by sending worker; null where there is none.
  std::size_t next_ring_ = 0;
  std::deque<waiting_record> posted_;
  class outside* outside_ = nullptr;

  // Fibers in wait_for_memory(), and what those who write it look at.
  std::size_t watching_ = 0;
  memory_watch<>* memory_watch_ = nullptr;

  // All null unless ranks make threads that communicate. `attached_thread_` has the hand-off lock now; `asleep_for_` is
  // what the worker's own thread sleeps for, having given the hand-off lock up.
  std::unique_ptr<handoff_lock> handoff_lock_;
  attached_thread* attached_thread_ = nullptr;
  const waiter* asleep_for_ = nullptr;
  fiber* runs_on_own_thread_ = nullptr;  // While that has given the hand-off lock up.
  std::vector<const attached_thread*> waiting_attached_;

  // Loops.
  std::vector<detached_loop> detached_;
  int sticky_victim_ = -1;
  int follows_ = -1;  // For whose loops it was woken, until a theft from him fails.
  const std::uint64_t long_loop_ticks_ = static_cast<std::uint64_t>(long_loop_ns / ns_per_tick());
  std::array<body_time, timed_bodies_max> body_times_{};
  std::uint64_t random_;  // Never 0.
  seeded_clock seeded_clock_;
  look_limit look_limit_;
  statistics counts_;

  // Stopping.
  std::uint64_t attended_ = 0;  // The scheduler's attention count that was last attended to.
  bool stop_acknowledged_ = false;
  bool unwinding_ = false;

  // What other workers read.
  alignas(padding_bytes) std::atomic<std::uint32_t> open_slots_{0};
  alignas(padding_bytes) parking_spot<> spot_;
  std::atomic<bool> may_steal_when_woken_{false};  // Of the wait in which the worker is parked.
  std::atomic<int> called_by_{-1};                 // For whose loop it was woken last.
  alignas(padding_bytes) std::array<loop_slot, open_loops_max> slots_;
  // Written by those who connect, each its own entry, under the scheduler's lock.
  std::vector<std::unique_ptr<ring>> inbound_storage_;
};

// Code of the worker that the program's code calls, on the worker's own thread.
class shared_section {
 public:
  explicit shared_section(worker& here) : here_(here), entered_(here.enter_shared()) {}
  ~shared_section() {
    if (entered_) here_.leave_shared();
  }
  shared_section(const shared_section&) = delete;
  shared_section& operator=(const shared_section&) = delete;

 private:
  worker& here_;
  const bool entered_;
};

}  // namespace weft
