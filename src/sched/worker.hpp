// A worker: what a kernel thread runs, fibers with their mail; and block(), the one wait of the code base. Usually a worker
// has a thread of its own, pinned to a core; moving_threads.hpp has threads between which workers move. "The worker's own
// thread" is then the one that runs it.
//
// A function here is called on the worker's own thread, or by its attached thread (attached_thread.hpp), unless its
// comment says otherwise. "A hint" is a value that may be out of date when the caller reads it.
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
#include "sched/event_source.hpp"
#include "sched/fiber.hpp"
#include "sched/loop.hpp"
#include "sched/quiescence.hpp"
#include "sched/seeded_clock.hpp"
#include "sched/spin_limit.hpp"
#include "sched/work_source.hpp"
#include "sync/memory_watch.hpp"
#include "sync/parking.hpp"
#include "sync/record_ring.hpp"
#include "trace/trace.hpp"

namespace weft {

class scheduler;
struct worker_place;

// How long wait_for_memory() lets the worker sleep when a writer may not wake it: the first sleep, and the longest.
inline constexpr std::uint64_t silent_sleep_ns_min = 200'000;
inline constexpr std::uint64_t silent_sleep_ns_max = 10'000'000;

// What the module `process` adds for ranks that share a process. Set before any worker runs, or null. Each hook is
// called on the worker's own thread.
struct fiber_hooks {
  // At a switch from or to a fiber with is_apart, before `next` runs: sets what the kernel keeps for the thread.
  void (*change)(const fiber& next) noexcept = nullptr;
  // Runs on the stack of a fiber with is_called, inside its wait. It may throw what the wait may throw.
  void (*answer)(fiber& self) = nullptr;
  // Runs once in a pass of each worker after scheduler::look_for_calls().
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
  // Whether other threads may run it later than the one that does now. Known before any fiber runs.
  [[nodiscard]] bool moves() const noexcept { return place_ != nullptr; }
  // The rank whose code the calling thread runs now, in a chunk of a loop the loop's owner; null for none. The thread
  // is a worker's or an attached thread.
  [[nodiscard]] static void* identity() noexcept {
    if (caller_ != nullptr) return caller_;
    return chunk_of_ != nullptr ? chunk_of_->identity : nullptr;
  }
  [[nodiscard]] static bool in_chunk() noexcept { return chunk_of_ != nullptr; }
  // The worker whose rank identity() is. Another one's in a chunk of its loop.
  [[nodiscard]] worker& home_of_caller() noexcept {
    return chunk_of_ != nullptr ? *chunk_of_->home : *this;
  }
  // The number of the rank of identity(). Async-signal-safe; the caller need not hold the hand-off lock.
  [[nodiscard]] int number() const noexcept {
    return chunk_of_ != nullptr ? chunk_of_->number : running_here().number;
  }
  // The identity of code that may wait; null in chunks and on other threads.
  [[nodiscard]] static void* caller() noexcept { return caller_; }

  // Makes `f` a fiber of this worker, ready to run. Before run() the starting thread calls it, later the worker
  // itself. The caller keeps `f` alive until f.reclaimed is called or run() returns. Throws weft::error when there is
  // no memory for its stack.
  void spawn(fiber& f);

  // --- Waiting -------------------------------------------------------------------------------
  // Returns when `c` has nothing pending. `victim`: the worker to steal from first meanwhile, -1 for any. This and the
  // waits below throw job_stopped when the job stops, unless they say otherwise.
  [[gnu::always_inline]] void wait(completion_counter& c, const wait_description& description,
                                   int victim = -1) {
    if (c.pending != 0) wait_for_pending(c, description, victim);
  }
  // A wait that goes on when the job stops: for what is sure to end by itself, and whose memory is in use until then.
  void wait_to_the_end(completion_counter& c, const wait_description& description);
  // wait() for a caller who knows that something is pending. `sender`: the worker whose mail probably ends the wait,
  // -1 when it is not known.
  [[gnu::always_inline]] void wait_for_pending(completion_counter& c,
                                               const wait_description& description, int victim = -1,
                                               int sender = -1) {
    // The fast path: switch to the next ready fiber from the caller's own frame. Each frame between here and the
    // fiber's code costs a mispredicted return (5 frames: 50 ns). The worker looks at its mail when no fiber is ready,
    // and after every `fast_waits_` waits on the fast path; polls that find nothing raise that number.
    fiber* next = first_ready();
    if (next == nullptr || --fast_waits_left_ <= 0) [[unlikely]] {
      next = poll_on_fast_path(c, sender);
      if (c.pending == 0) return;
    }
    if (next != nullptr && next->flow) [[likely]] {
      pop_ready(*next);
      fiber& self = *running_;
      self.waiting_in = &description;
      self.waits_for = &c;
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
    fast_waits_left_ = fast_waits_from_now();
    waiter w{nullptr, nullptr, &description, &c};
    w.victim = victim;
    block(w);
  }
  // Returns when `holds()` is true, which other threads make it. This worker calls it again and again, also on the
  // stacks of other fibers: it is cheap. One that has no effects at all is `looks` (fiber.hpp). `may_stop`: whether the job's stop
  // ends the wait.
  template <class Holds>
  void wait_until(const Holds& holds, const wait_description& description, bool may_stop = true) {
    if (holds()) return;
    waiter w{[](const void* subject) noexcept { return (*static_cast<const Holds*>(subject))(); },
             &holds, &description};
    w.may_stop = may_stop;
    w.may_act = !is_look<Holds>;
    block(w);
  }
  // wait_until() that also returns after `duration_ns`.
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
    w.may_act = !is_look<Holds>;
    block_as_timer(w);
  }
  // wait_until() for a condition on memory, which only looks. Whoever writes it looks at this worker's memory watch afterwards and wakes
  // the worker (memory_watch.hpp). `may_be_silent`: some writers do not; then the worker wakes by itself, after
  // silent_sleep_ns_min at first and silent_sleep_ns_max at most.
  template <class Holds>
  void wait_for_memory(const Holds& holds, const wait_description& description,
                       bool may_be_silent = false) {
    if (holds()) return;
    const struct watching {
      worker& here;
      explicit watching(worker& w) noexcept : here(w) { ++here.watching_; }
      ~watching() { --here.watching_; }
    } watched(*this);
    const looks on_memory{[&holds] { return holds(); }};
    if (!may_be_silent) return wait_until(on_memory, description);
    for (std::uint64_t most_ns = silent_sleep_ns_min; !holds();
         most_ns = std::min(2 * most_ns, silent_sleep_ns_max))
      wait_until(on_memory, most_ns, description);
  }
  // Called before any fiber of this worker waits for memory.
  void set_memory_watch(memory_watch<>& watch) noexcept { memory_watch_ = &watch; }
  // wait_until() for what somebody outside of the job ends, such as a child process, or for a `holds()` that looks at
  // the job's stop itself. It is never part of a deadlock, and the job's stop does not end it.
  template <class Holds>
  void wait_for_external(const Holds& holds, const wait_description& description) {
    waiter w{[](const void* subject) noexcept { return (*static_cast<const Holds*>(subject))(); },
             &holds, &description};
    w.may_stop = false;
    w.may_act = !is_look<Holds>;
    block_as_timer(w);
  }
  // Returns after `duration_ns`; other fibers run meanwhile. With a seed, sleepers wake in the order of their times by
  // the seeded clock, so the schedule does not depend on the machine's speed.
  void sleep(std::uint64_t duration_ns, const wait_description& description, bool may_stop = true);
  // A wait of length zero: makes progress and lets every ready fiber of this worker run.
  void yield();
  // Called before memory of another rank is read. Once this worker has acknowledged the job's stop, it does not
  // return: it waits until all workers have, since they may still read this rank's memory, and then throws job_stopped.
  void check_stopped() {
    if (stop_acknowledged_) [[unlikely]]
      wait_for_the_end();
  }
  // Each call of a rank begins with it: perturb(), then check_stopped().
  void begin_call() {
    if (needs_slow_path_) [[unlikely]]
      begin_call_on_slow_path();
  }
  // Whether all workers have acknowledged the job's stop: then each wait with may_stop throws job_stopped.
  [[nodiscard]] bool is_unwinding() const noexcept { return unwinding_; }
  // True with a seed, after this worker has acknowledged a stop, and when calls are traced: calls then take the slow
  // path, which handles all three.
  [[nodiscard]] bool needs_slow_path() const noexcept { return needs_slow_path_; }
  // Stops the job and returns when no other worker can begin to read this fiber's memory. For destructors: throws
  // nothing.
  void stop_and_wait() noexcept;
  // With a seed: lets another fiber run here, or not, as the seed says.
  void perturb() {
    if (seeded_) [[unlikely]]
      perturb_seeded();
  }

  // With a seed: chooses among `first`, next(first), and so on, 64 at most. Of nodes that are `same` only the first
  // is a choice: messages of one sender keep their order.
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

  // Lowers `c` by one. At zero the fiber that waits for it, one at most, becomes ready.
  [[gnu::always_inline]] void complete(completion_counter& c) noexcept {
    // A wait for any of several ends with the first; the others find nothing pending.
    if (c.pending != 0 && --c.pending == 0 && c.last != nullptr)
      make_ready(*std::exchange(c.last, nullptr));
  }
  // Sets `c` to zero. All fibers that wait for it become ready, in the order in which they came.
  void end(completion_counter& c) noexcept {
    c.pending = 0;
    release(c);
  }
  void make_ready(fiber& f) noexcept {
    f.next = nullptr;
    append_ready(f, f);
  }
  [[nodiscard]] fiber& running() const noexcept { return *running_; }
  // The fiber that runs on the worker's own thread, which calls this. The caller need not hold the hand-off lock; an
  // attached thread that holds it may run another fiber. Async-signal-safe.
  [[nodiscard]] const fiber& running_here() const noexcept {
    return handoff_lock_ == nullptr || handoff_lock_->held_here() ? *running_
                                                                  : *runs_on_own_thread_;
  }

  static constinit fiber_hooks hooks;
  // Makes hooks.answer run on the stack of `f`, a fiber of this worker: at once if it waits, else in its next wait.
  void call(fiber& f) noexcept;

  // One pass: delivers what has arrived. With a waiter it returns early: when that wait is over, or at the end of a
  // cache line of the mailbox when another fiber can run. True when anything was there.
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
  // As try_reserve(), but it never makes the mailbox: before the first record to that worker there is no room.
  [[nodiscard]] mail_room try_reserve_known(int to, std::size_t size) noexcept {
    ring* const r = outbound_[static_cast<std::size_t>(to)];
    return r != nullptr ? mail_room{r, r->try_reserve(size)} : mail_room();
  }
  // Called when a record with this header word has come from worker `from` and an answer is likely: fetches the cache
  // line of the answer early.
  void expect_answer(int from, std::uint64_t header) noexcept {
    if (ring* const back = outbound_[static_cast<std::size_t>(from)]; back != nullptr)
      back->expect_answer(header);
  }
  // Publishes the record that was reserved for worker `to`, once its payload is written, and wakes the worker.
  void send_reserved(const mail_room& record, int to, std::uint8_t kind,
                     std::uint32_t target) noexcept;
  // Sends a record from a handler, which may not wait: where the ring is full the record is copied and poll() sends it
  // later. For short payloads only.
  void post(int to, std::uint8_t kind, std::uint32_t target, std::span<const std::byte> payload);

  // For a fiber that alone waits here and knows what the next record of worker `sender` means: it reads that mailbox
  // itself instead of poll(). Null before the first record, while anything else needs a pass, after a few records in a
  // row, and after a look that found nothing, until the next poll().
  [[nodiscard]] ring* undivided_mail(int sender) noexcept;
  // Looks into that mailbox for about as long as an answer from another core takes. Returns the header word of the next
  // record, 0 when none came.
  [[nodiscard]] std::uint64_t look_for_mail(ring& from) noexcept;
  // Removes the record, whose payload the caller has used, and wakes the sender if it may wait for room.
  void drop_front(ring& from, int sender, std::uint64_t header) noexcept;

  // --- Other processes -------------------------------------------------------------------------
  // Called before run(), which it outlives.
  void set_events(event_source& view) noexcept {
    events_ = &view;
    add_rare_source();
  }
  [[nodiscard]] event_source* events() const noexcept { return events_; }

  // --- Threads that ranks make (attached_thread.hpp) -----------------------------------------------------
  // Makes the hand-off lock, without which no thread attaches. Called on the worker's own thread, which then holds it.
  void share();
  [[nodiscard]] bool is_shared() const noexcept { return handoff_lock_ != nullptr; }
  // The worker's own thread enters the worker's code from the program's code, and leaves it: it takes the hand-off lock
  // and gives it up. enter_shared() returns whether it took the lock; a caller that got false does not leave.
  [[nodiscard]] bool enter_shared();
  void leave_shared() noexcept;
  [[nodiscard]] bool has_attached_thread() const noexcept { return attached_thread_ != nullptr; }
  // Whether the calling thread is the own thread of a shared worker and runs the program's code without the hand-off
  // lock. False in functions of the program that weft calls, such as reduction operators: there it holds the lock.
  [[nodiscard]] static bool in_shared_program() noexcept {
    return current_worker_ != nullptr && caller_ != nullptr &&
           current_worker_->handoff_lock_ != nullptr &&
           !current_worker_->handoff_lock_->held_here();
  }
  // Whether the worker has fibers besides the one that runs. A hint for other threads.
  [[nodiscard]] bool has_others() const noexcept { return oldest() != newest(); }

  // --- Work of other kinds (work_source.hpp) -----------------------------------------------------
  // Null until some worker has opened the job's sources.
  [[nodiscard]] work_source* source() const noexcept { return source_; }
  // Opens the sources of all workers if nobody has yet: `make` returns one for each worker.
  void open_sources(std::vector<std::unique_ptr<work_source>> (*make)(scheduler&));
  // Gives `f` a stack and this worker as its home. Its source keeps it and gives it work; it does not end, and run()
  // does not wait for it. Throws weft::error when there is no memory for its stack.
  void adopt(fiber& f);
  // Puts `f` into the list of living fibers, which reports and a stop go through, and takes it out: a source lists
  // a fiber while that has work.
  void enlist(fiber& f) noexcept;
  void dismiss(fiber& f) noexcept;
  // The running fiber has no more work and gives the thread away. Returns when take_own() or take_others() has chosen
  // it again.
  void retire() noexcept;
  // Called when worker `owner` has work to share: wakes one parked worker, at most once in long_loop_ns.
  void wake_thief(int owner) noexcept;
  // While it lives, the running fiber has no identity: it runs work that belongs to no rank, on the stack of its wait.
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
  // Runs all chunks of `l`, helped by workers that have nothing else to do. Returns when all are done; rethrows the
  // first exception of a chunk.
  void execute(loop& l);
  // Claims chunks of another worker's loop and runs them; tries worker `first` before others. False: found none.
  bool steal(int first);
  // As execute(), but it does not wait for thieves: when the last chunk is done it calls `ended(*this, context)`, at
  // once or in a later poll() here. `l` lives until then. False when no slot is free: nothing has run.
  bool open_detached(loop& l, void (*ended)(worker&, void*), void* context);

  // --- The life of the thread, called by the scheduler -----------------------------------------
  void run();
  // Called by any thread: wakes the worker when it is parked.
  void notify() noexcept;
  // Called by any thread: wakes the worker, if it is parked in a wait that may steal, to take chunks of a loop of
  // worker `victim`. True when this call woke it.
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
  // Called by any thread, a hint: the number of the rank whose stolen chunk this worker runs now, -1 for none.
  [[nodiscard]] int stolen_from_number() const noexcept {
    return stolen_from_number_.load(std::memory_order_relaxed);
  }
  // Fills `calls` with the return addresses on the stack of `f`, a fiber of this worker, innermost first. Returns how
  // many; 0 when it has not begun, or has no room left on its stack.
  std::size_t calls_of(fiber& f, std::span<std::uintptr_t> calls) noexcept;
  // Called by any thread: the kernel's number of the worker's thread; 0 before it runs and after.
  [[nodiscard]] int thread() const noexcept {
    return thread_number_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const stack_pool& stacks() const noexcept { return stacks_; }
  // Calls `visit(fiber)` for each living fiber of this worker, oldest first.
  template <class Visit>
  void each_fiber(Visit&& visit) {
    for (fiber* f = oldest(); f != nullptr; f = f->newer) visit(*f);
  }

  // The attached threads of this worker that wait, the one that has waited longest first.
  [[nodiscard]] std::span<const attached_thread* const> waiting_attached() const noexcept {
    return waiting_attached_;
  }

  // xorshift*: good enough for choices of the scheduler. The same seed gives the same numbers.
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
    std::uint64_t moves = 0;  // To another thread.
  };
  [[nodiscard]] const statistics& counts() const noexcept { return counts_; }

 private:
  friend class scheduler;
  friend class attached_thread;
  friend class moving_threads;

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
  void block_as_timer(waiter& w);  // block() for a wait that ends by itself: it is no deadlock.
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
  // Relaxed, here and below: of other threads only the monitor reads it, as a hint.
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
  [[nodiscard]] fiber* oldest() const noexcept { return oldest_.load(std::memory_order_relaxed); }
  [[nodiscard]] fiber* newest() const noexcept { return newest_.load(std::memory_order_relaxed); }
  // Lets `newer` follow `f` in the list of living fibers; null: it is the oldest.
  void set_newer(fiber* f, fiber* newer) noexcept {
    if (f != nullptr)
      f->newer = newer;
    else
      oldest_.store(newer, std::memory_order_relaxed);
  }
  // Lets `older` stand before `f`; null: it is the newest.
  void set_older(fiber* f, fiber* older) noexcept {
    if (f != nullptr)
      f->older = older;
    else
      newest_.store(older, std::memory_order_relaxed);
  }
  // Makes all fibers ready that wait for `c`. While something is pending they look, and wait on.
  void release(completion_counter& c) noexcept {
    fiber* const last = std::exchange(c.last, nullptr);
    if (last == nullptr) return;
    fiber* const first = std::exchange(last->next, nullptr);
    append_ready(*first, *last);
  }
  void prepare(fiber& f);
  [[gnu::noinline]] static void trace_switch(const fiber& from, const fiber& to) noexcept;
  static void trace_slice(const fiber& f, trace_phase phase, std::uint64_t now) noexcept;
  // `f`, which runs, waits so from now on; null: no longer.
  [[gnu::noinline]] static void trace_wait_of(fiber& f, const wait_description* in) noexcept;
  // While tracing(): its core has nothing to do, and has something again.
  void note_free() noexcept;
  void note_busy() noexcept;
  void unlink_ready(fiber& previous, fiber& taken) noexcept {
    previous.next = taken.next;
    if (&taken == ready_tail_) ready_tail_ = &previous;
  }
  [[nodiscard]] fiber* take_ready() noexcept;
  [[nodiscard]] fiber* take_next();
  [[nodiscard]] fiber* take_urgent() noexcept;
  static void fiber_main(void* self);
  void run_root();
  [[noreturn]] void finish(fiber& self) noexcept;
  void reclaim() noexcept;
  [[gnu::noinline]] void begin_call_on_slow_path();
  [[gnu::noinline]] void perturb_seeded();
  [[gnu::cold]] void tick_seeded() noexcept;
  [[gnu::noinline]] void wait_for_the_end();

  // How often a wait may take the fast path before the worker looks at its mail. Never with a seed, which chooses at each
  // wait, and never after a stop, which each wait has to see.
  [[nodiscard]] int fast_waits_from_now() const noexcept {
    return seeded_ || stop_acknowledged_ || watched_ || attached_thread_ != nullptr ? 0
                                                                                    : fast_waits_;
  }
  // Polls before a wait on the fast path. Returns the fiber to switch to; null: the wait takes the slow path.
  [[nodiscard, gnu::noinline]] fiber* poll_on_fast_path(completion_counter& c, int sender);
  [[nodiscard]] int undivided_from_now() const noexcept;
  // Whether a fiber that reads one mailbox by itself keeps nobody waiting: this worker has one peer, or one fiber.
  [[nodiscard]] bool awaits_one_mailbox() const noexcept {
    return inbound_.size() == 1 || !has_others();
  }
  bool take_mail_of(int sender, const completion_counter& c);
  void deliver_front(ring& r, int sender, record_header header);
  bool drain(const inbound& from, const waiter* w);
  [[nodiscard]] const inbound* next_with_mail(std::size_t& left) noexcept;
  bool look() noexcept;
  // Called for each thing that poll_rare() has to look at.
  void add_rare_source() noexcept {
    ++rare_sources_;
    undivided_left_ = 0;
  }
  [[gnu::noinline]] bool poll_rare();
  bool flush_posted();
  bool end_detached();
  [[gnu::noinline]] bool
  handle_interrupts();  // To what is rare: stop requests, new rings, reports.
  [[gnu::noinline]] ring* connect(int to);
  [[nodiscard]] bool spin_once(const waiter& w);
  [[nodiscard]] bool has_work(const waiter& w) noexcept;
  // The same for a thread that has taken the worker and does not run it: without the outside, which it does not arm, and
  // without conditions that may act.
  [[nodiscard]] bool has_work_seen(const waiter& w) noexcept;
  // What both look at besides conditions.
  [[nodiscard]] bool has_arrivals(const waiter& w) noexcept;
  // Whether some wait here is for a condition that may act.
  [[nodiscard]] bool needs_own_thread(const waiter* w) const noexcept;
  // A few passes before it parks without having spun: a condition that acts does so after some looks. True: something came.
  [[nodiscard]] bool looks_before_parking(waiter& w);
  // The part of has_work() that only code of this worker can make true.
  [[nodiscard]] bool has_own_work(const waiter& w) noexcept;
  void park(waiter& w);
  [[nodiscard]] quiescence_observer::answer look_when_quiescent(const quiescence_look& before,
                                                                const waiter& w);
  // Notes the fiber that runs on the worker's own thread, before that thread gives up or offers the hand-off lock.
  void note_running() noexcept { runs_on_own_thread_ = running_; }
  [[nodiscard]] parked_count<>::outcome try_park(const waiter& w);
  void sleep(std::int64_t timeout_ns);
  void release_waiters() noexcept;

  // How long a chunk of this loop body took at the last measurement.
  struct body_time {
    decltype(loop::invoke) body = nullptr;
    std::uint64_t chunk_ticks = 0;
  };
  // The entry for the body of `l`. A hash chooses it, so it may hold another body that ran later.
  [[nodiscard]] body_time& note_for(const loop& l) noexcept;
  [[nodiscard]] bool is_worth_waking(const loop& l) noexcept;

  [[nodiscard]] loop_slot* open_slot(loop& l);
  void run_claims(loop& l, loop_slot& slot);
  void note_time(const loop& l, std::int64_t chunks, std::uint64_t time) noexcept;
  // Called by any thread, a hint: a slot with chunks that nobody has claimed, or null.
  [[nodiscard]] loop_slot* slot_with_chunks() noexcept;
  void run_chunks(loop& l, chunk_claim claim) noexcept;
  void close_slot(loop_slot& slot) noexcept;
  bool steal_from(worker& victim, bool was_woken = false);
  [[nodiscard]] std::int64_t claim_size(const loop_slot& slot, bool single) const noexcept;

  [[gnu::tls_model("initial-exec")]] static thread_local constinit worker* current_worker_;
  // One for each thread, not for each worker: the program's code reads them while an attached thread holds the lock.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit void* caller_;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit const loop* chunk_of_;

  scheduler& owner_;
  const int index_;
  const int core_;

  // All senders read the fields above. What the worker writes begins on another cache line: in theirs, each switch
  // would take the line from them. With 16 ranks on two workers a message took 410 ns instead of 290.
  alignas(padding_bytes) bool seeded_ = false;
  bool needs_slow_path_ =
      false;              // seeded_, stop_acknowledged_, or tracing() when its thread began.
  bool watched_ = false;  // The scheduler has a watcher of waits.
  bool is_free_ = false;  // See note_free().
  // How many records a fiber may read from a mailbox by itself between two polls: when it keeps nobody waiting, and
  // when it may. `undivided_left_` is what is left of that, 0 while poll_rare() has work.
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
  std::atomic<fiber*> oldest_{nullptr};
  std::atomic<fiber*> newest_{nullptr};
  fiber* dead_ = nullptr;
  work_source* source_ = nullptr;
  bool source_first_ = false;      // The source comes before ready fibers, which had many turns.
  std::uint64_t thief_woken_ = 0;  // Time of the last wake_thief(), in ticks.
  // `fast_waits_left_`: waits on the fast path until the next poll. `fast_waits_`: how many there are after it; it
  // doubles with each look that finds nothing.
  static constexpr int fast_waits_min = 4, fast_waits_max = 32;
  int fast_waits_left_ = 0;
  int fast_waits_ = fast_waits_min;
  stack_pool stacks_;
  struct looked_at {
    waiter* w;
    fiber* f;
  };
  std::vector<looked_at> looked_at_;
  std::size_t next_look_ = 0;
  std::atomic<std::uint64_t> passes_{0};
  // The number of things that most workers do not have and poll_rare() looks at: posted records, detached loops, the event source. One number, so that a pass reads one word when there is none.
  std::size_t rare_sources_ = 0;

  // Mail.
  std::vector<ring*> outbound_;   // By receiving worker; null before the first record.
  std::vector<inbound> inbound_;  // Rings that others have opened to here.
  std::vector<ring*> mail_of_;    // The same by sending worker; null where there is none.
  std::size_t next_ring_ = 0;
  std::deque<waiting_record> posted_;
  event_source* events_ = nullptr;

  // The number of fibers in wait_for_memory(), and the watch that writers of the memory look at.
  std::size_t watching_ = 0;
  memory_watch<>* memory_watch_ = nullptr;

  // All null unless ranks make threads that communicate. `attached_thread_` holds the hand-off lock now.
  // `asleep_for_` is the wait in which the worker's own thread sleeps; it has given up the lock meanwhile.
  std::unique_ptr<handoff_lock> handoff_lock_;
  attached_thread* attached_thread_ = nullptr;
  const waiter* asleep_for_ = nullptr;
  fiber* runs_on_own_thread_ = nullptr;  // See note_running().
  std::vector<const attached_thread*> waiting_attached_;

  // Loops.
  std::vector<detached_loop> detached_;
  int sticky_victim_ = -1;
  int follows_ = -1;  // The worker for whose loop it was woken, until a theft from it fails.
  const std::uint64_t long_loop_ticks_ = static_cast<std::uint64_t>(long_loop_ns / ns_per_tick());
  std::array<body_time, timed_bodies_max> body_times_{};
  std::uint64_t random_;  // Never 0.
  seeded_clock seeded_clock_;
  spin_limit spin_limit_;
  statistics counts_;
  worker_place* place_ = nullptr;  // Null: it stays on its thread. See moving_threads.hpp.

  // Stopping.
  std::uint64_t interrupts_seen_ =
      0;  // The scheduler's interrupts_ when handle_interrupts() last ran.
  bool stop_acknowledged_ = false;
  bool unwinding_ = false;

  // What other workers read.
  alignas(padding_bytes) std::atomic<std::uint32_t> open_slots_{0};
  alignas(padding_bytes) parking_spot<> spot_;
  std::atomic<bool> may_steal_when_woken_{false};  // waiter::may_steal while the worker is parked.
  std::atomic<int> called_by_{-1};                 // The worker for whose loop it was woken last.
  alignas(padding_bytes) std::array<loop_slot, open_loops_max> slots_;
  // One mailbox for each sending worker, which makes it under the scheduler's lock in connect().
  std::vector<std::unique_ptr<ring>> inbound_storage_;
};

// A scope in which the program's code, on the worker's own thread, runs code of the worker: enter_shared() and
// leave_shared().
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
