#include "model/checker.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "fiber/context.hpp"

namespace weft::model {

// What a thread knows: of each thread, how far its operations happened before; of each location,
// the index of the oldest store that may still be read.
struct knowledge {
  std::array<std::uint32_t, threads_max + 1> clock{};
  std::array<std::uint16_t, locations_max> seen{};

  void join_seen(const knowledge& other, std::size_t locations) {
    for (std::size_t i = 0; i < locations; ++i) seen[i] = std::max(seen[i], other.seen[i]);
  }
  void join(const knowledge& other, std::size_t locations) {
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
    join_seen(other, locations);
  }
};

namespace {

constexpr std::size_t fiber_stack_bytes = 256 * 1024;
constexpr std::size_t main_thread = 0;  // Sets up and checks; the others are 1, 2, ...

enum class phase { running, waiting, paused, asleep, ended };

struct event {
  std::size_t thread;
  const char* operation;
  std::source_location where;
  std::memory_order order;
  const char* label;
  bool weakened;
  std::size_t location;
  bool has_loaded, has_stored;
  std::uint64_t loaded, stored;
  std::size_t newer;  // Stores that the load could have read and did not.
};

std::string text_of(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return formatted("{}:{}", path.substr(path.find_last_of('/') + 1), where.line());
}

// A label where it is used, and whether that is what is weakened.
struct labelled_place {
  const char* label;
  std::source_location where;
  bool weakened;

  [[nodiscard]] bool is(const char* other, const std::source_location& at) const {
    return label == other && where.line() == at.line() && where.file_name() == at.file_name();
  }
  [[nodiscard]] std::string text() const { return formatted("{} at {}", label, text_of(where)); }
};

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

// A fiber that runs one thread's function after another.
class thread_fiber {
 public:
  thread_fiber()
      : stack_(std::make_unique<std::byte[]>(fiber_stack_bytes)),
        context_({stack_.get(), fiber_stack_bytes}, &thread_fiber::enter, this) {}

  void resume(context& from) { context::switch_to(from, context_, this_thread()); }
  void suspend(context& to) { context::switch_to(context_, to, this_thread()); }
  const std::function<void()>* body = nullptr;

 private:
  static const thread_state& this_thread() {
    static const thread_state found = this_thread_state();  // The checker runs on one thread.
    return found;
  }
  static void enter(void* self);

  std::unique_ptr<std::byte[]> stack_;
  context context_;
};

}  // namespace

class machine {
 public:
  result explore(const setup& make, int preemption_bound, const std::string& weakened);

  // Called by thread_fiber.
  void thread_ended();

  // The operations of location.
  std::size_t new_location();
  void destroyed(const location& at);
  void begin(const location& at, const char* operation, order how, std::source_location where);
  std::size_t oldest_readable(const location& at, order how) const;
  std::size_t choose(std::size_t count);
  void loaded(const location& at, std::size_t index, order how, std::uint64_t value);
  void stored(location& at, order how, bool is_exchange, std::uint64_t value);
  void constructed(const location& at);
  void access_plain(const location& at, bool write, std::source_location where);
  void stored_plain(location& at, std::source_location where);
  void sleep(const location& at, bool timed, const location* beside);
  void loaded_by_kernel(const location& at);
  void wake_one(const location& at, std::source_location where);

  void require(bool condition, const char* what);
  void wait_until(const std::function<bool()>& condition);
  void pause();
  void light_fence(const char* label, const std::source_location& where);
  void heavy_fence(const char* label, const std::source_location& where);

  [[nodiscard]] bool active() const { return active_; }

 private:
  struct thread {
    phase state = phase::running;
    const std::function<bool()>* condition = nullptr;
    std::size_t asleep_at = 0;
    std::size_t asleep_beside = 0;  // The same, or a second location.
    bool timed = false;
    bool woken = false;
    bool newest_only = false;  // Loads read the newest values.
    bool stuck = false;        // Paused again although it had read the newest values.
    bool just_chosen = false;  // Its next operation is already the one that was chosen.
    std::size_t stores = 0;
    std::size_t others_stores = 0;  // When it paused.
    knowledge known;
    knowledge at_light_fence;
  };

  struct decision {
    std::size_t chosen;
    std::size_t count;
  };

  bool run_execution(const setup& make, int preemption_bound);
  bool next_path();
  void point();
  std::size_t pick();
  bool enabled(std::size_t id);
  void switch_from(std::size_t id);
  void fail(const std::string& what);
  void race(const location& at);
  [[nodiscard]] bool all_before(const std::array<std::uint32_t, threads_max + 1>& times) const;
  void deadlock();
  std::string report() const;
  std::memory_order effective(order how);
  bool is_weakened(const char* label, const std::source_location& where);
  void fence(const char* operation, const char* label, const std::source_location& where);
  void note(const char* operation, order how, std::source_location where, std::size_t at);
  knowledge& new_release() {
    if (released_used_ == released_.size()) released_.emplace_back();
    return released_[released_used_++];
  }
  thread& self() { return threads_[current_]; }
  const thread& self() const { return threads_[current_]; }
  std::size_t others_stores(std::size_t id) const { return stores_ - threads_[id].stores; }

  // Of the exploration.
  std::vector<decision> path_;
  std::string weakened_;
  std::vector<labelled_place> places_;

  // Of the execution.
  bool active_ = false;
  std::vector<thread> threads_;
  std::size_t current_ = main_thread;
  std::size_t next_ = main_thread;
  std::size_t depth_ = 0;
  std::size_t locations_ = 0;
  std::size_t steps_ = 0;
  std::size_t stores_ = 0;
  int preemptions_left_ = 0;
  bool looking_ = false;  // A condition is evaluated to see whether its thread could go on.
  bool atomically_ = false;
  knowledge seq_cst_;  // What the seq_cst operations so far make all later ones see.
  knowledge heavy_;    // What the heavy fences so far make all later light ones see.
  std::vector<event> events_;
  std::deque<knowledge> released_;  // Reused by the next execution.
  std::size_t released_used_ = 0;
  std::optional<std::string> error_;

  context main_context_;
  std::vector<std::unique_ptr<thread_fiber>> fibers_;
  std::vector<std::unique_ptr<thread_fiber>> abandoned_;
};

namespace {

// Never destroyed: abandoned stacks own objects that a leak checker must still find.
machine& the_machine() {
  static machine& one = *new machine;
  return one;
}

void thread_fiber::enter(void* self) {
  for (;;) {
    (*static_cast<thread_fiber*>(self)->body)();
    the_machine().thread_ended();
  }
}

}  // namespace

// --- exploration ---

result machine::explore(const setup& make, int preemption_bound, const std::string& weakened) {
  WEFT_ASSERT(!active_);
  path_.clear();
  places_.clear();
  weakened_ = weakened;
  result outcome;
  do {
    ++outcome.executions;
    if (!run_execution(make, preemption_bound)) {
      outcome.error = report();
      break;
    }
    if (outcome.executions == executions_max) {
      outcome.error = formatted(
          "not explored to the end after {} executions; make the scenario smaller", executions_max);
      break;
    }
  } while (next_path());
  for (const labelled_place& place : places_) outcome.places.insert(place.text());
  return outcome;
}

// Depth first: the last decision that has another alternative takes it.
bool machine::next_path() {
  while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().chosen;
  return true;
}

std::size_t machine::choose(std::size_t count) {
  if (count <= 1 || looking_) return 0;
  if (depth_ == path_.size()) path_.push_back({0, count});
  WEFT_ASSERT(path_[depth_].count == count);  // Else the scenario is not deterministic.
  return path_[depth_++].chosen;
}

bool machine::run_execution(const setup& make, int preemption_bound) {
  depth_ = locations_ = steps_ = stores_ = 0;
  preemptions_left_ = preemption_bound;
  current_ = main_thread;
  threads_.assign(1, thread{});
  seq_cst_ = heavy_ = {};
  events_.clear();
  released_used_ = 0;
  error_.reset();
  active_ = true;

  scenario scene = make();
  WEFT_ASSERT(scene.threads.size() <= threads_max);
  const knowledge start = threads_[main_thread].known;
  threads_.resize(1 + scene.threads.size());
  while (fibers_.size() < threads_.size()) fibers_.push_back(std::make_unique<thread_fiber>());
  for (std::size_t id = 1; id < threads_.size(); ++id) {
    threads_[id].known = start;
    threads_[id].just_chosen = true;
    fibers_[id]->body = &scene.threads[id - 1];
  }
  threads_[main_thread].state = phase::ended;
  next_ = pick();
  while (!error_ && next_ != main_thread) {
    current_ = next_;
    fibers_[current_]->resume(main_context_);
  }
  current_ = main_thread;
  if (!error_) {
    for (const thread& ended : threads_) threads_[main_thread].known.join(ended.known, locations_);
    if (!scene.check() && !error_) fail("the check failed");
  }
  if (!error_) scene = {};  // Destructors are part of the execution.
  active_ = false;
  if (error_) {
    // Threads that have not ended are never resumed: their stacks stay, with what lives there.
    for (std::size_t id = 1; id < threads_.size(); ++id)
      if (threads_[id].state != phase::ended)
        abandoned_.push_back(std::exchange(fibers_[id], std::make_unique<thread_fiber>()));
  }
  return !error_;
}

void machine::fail(const std::string& what) {
  if (!error_) error_ = what;
  if (current_ == main_thread) return;
  fibers_[current_]->suspend(main_context_);
  WEFT_ASSERT(false);  // Never resumed.
}

// --- scheduling ---

bool machine::enabled(std::size_t id) {
  thread& t = threads_[id];
  switch (t.state) {
    case phase::running:
      return true;
    case phase::waiting: {
      looking_ = true;
      const bool met = (*t.condition)();
      looking_ = false;
      return met;
    }
    case phase::paused:
      if (others_stores(id) != t.others_stores) {
        t.stuck = false;
        return true;
      }
      return t.newest_only;
    case phase::asleep:
      return t.woken || t.timed;
    case phase::ended:
      return false;
  }
  return false;
}

// The thread that goes on; main_thread when all have ended, or none can (error_ is set then).
std::size_t machine::pick() {
  const phase state = threads_[current_].state;
  const bool could_go_on = state == phase::running || state == phase::waiting;
  std::array<std::size_t, threads_max> candidates{};
  std::size_t count = 0;
  for (bool retried = false; count == 0; retried = true) {
    if (could_go_on && enabled(current_)) candidates[count++] = current_;
    if (count == 0 || preemptions_left_ > 0)
      for (std::size_t id = 1; id < threads_.size(); ++id)
        if (!(could_go_on && id == current_) && enabled(id)) candidates[count++] = id;
    if (count != 0) break;
    if (std::ranges::all_of(threads_, [](auto& t) { return t.state == phase::ended; }))
      return main_thread;
    if (retried) {
      deadlock();
      return main_thread;
    }
    for (thread& t : threads_) t.newest_only = t.state == phase::paused && !t.stuck;
  }
  const std::size_t chosen = choose(count);
  if (could_go_on && candidates[0] == current_ && chosen != 0) --preemptions_left_;
  return candidates[chosen];
}

// Lets another thread go on if that is the choice; returns when this one is chosen again.
void machine::switch_from(std::size_t id) {
  next_ = pick();
  if (error_ || next_ != id) fibers_[id]->suspend(main_context_);
}

// Before each operation.
void machine::point() {
  if (current_ == main_thread || atomically_) return;
  if (++steps_ > steps_max) fail("the execution does not end");
  if (std::exchange(self().just_chosen, false)) return;
  switch_from(current_);
}

void machine::thread_ended() {
  const std::size_t id = current_;
  self().state = phase::ended;
  next_ = pick();
  fibers_[id]->suspend(main_context_);
}

void machine::deadlock() {
  std::string what = "deadlock:";
  for (std::size_t id = 1; id < threads_.size(); ++id) {
    const char* how = threads_[id].state == phase::waiting  ? " waits for a condition;"
                      : threads_[id].state == phase::paused ? " retries in vain;"
                      : threads_[id].state == phase::asleep ? " sleeps for ever;"
                                                            : " has ended;";
    what += formatted(" thread {}{}", id, how);
  }
  error_ = what;
}

void machine::require(bool condition, const char* what) {
  if (!condition) fail(std::string("required: ") + what);
}

void machine::wait_until(const std::function<bool()>& condition) {
  if (current_ == main_thread) return require(condition(), "a condition that holds at the end");
  const std::size_t id = current_;
  self().state = phase::waiting;
  self().condition = &condition;
  self().just_chosen = false;
  switch_from(id);
  self().state = phase::running;
  // Nobody ran since the condition was found true; now its loads take effect.
  atomically_ = self().newest_only = true;
  const bool met = condition();
  atomically_ = self().newest_only = false;
  WEFT_ASSERT(met);
}

void machine::pause() {
  const std::size_t id = current_;
  thread& me = self();
  me.stuck = me.newest_only && others_stores(id) == me.others_stores;
  me.newest_only = false;
  me.others_stores = others_stores(id);
  me.state = phase::paused;
  switch_from(id);
  thread& again = self();
  again.state = phase::running;
  again.just_chosen = true;
  again.others_stores = others_stores(id);
}

// --- memory ---

bool machine::is_weakened(const char* label, const std::source_location& where) {
  if (label == nullptr) return false;
  for (const labelled_place& place : places_)
    if (place.is(label, where)) return place.weakened;
  labelled_place& place = places_.emplace_back(label, where, false);
  return place.weakened = place.text() == weakened_;
}

std::memory_order machine::effective(order how) {
  const bool load_weak = is_weakened(how.load_label, how.place);
  const bool store_weak = is_weakened(how.store_label, how.place);
  if (how.value == std::memory_order_seq_cst)
    return load_weak ? std::memory_order_acq_rel : how.value;
  const bool acquire = acquires(how.value) && !load_weak;
  const bool release = releases(how.value) && !store_weak;
  if (acquire) return release ? std::memory_order_acq_rel : std::memory_order_acquire;
  return release ? std::memory_order_release : std::memory_order_relaxed;
}

void machine::note(const char* operation, order how, std::source_location where, std::size_t at) {
  const std::memory_order order = effective(how);
  events_.push_back({current_, operation, where, order,
                     how.load_label != nullptr ? how.load_label : how.store_label,
                     order != how.value, at, false, false, 0, 0, 0});
}

std::size_t machine::new_location() {
  WEFT_ASSERT(active_);  // Else a model atomic lives outside explore().
  WEFT_ASSERT(locations_ < locations_max);
  return locations_++;
}

void machine::begin(const location& at, const char* operation, order how,
                    std::source_location where) {
  if (looking_) return;
  point();
  note(operation, how, where, at.id_);
  knowledge& known = self().known;
  if (known.clock[at.writer_] < at.written_) race(at);
  at.accessed_[current_] = ++known.clock[current_];
}

std::size_t machine::oldest_readable(const location& at, order how) const {
  if (looking_ || self().newest_only) return at.newest();
  std::size_t oldest = self().known.seen[at.id_];
  if (const_cast<machine*>(this)->effective(how) == std::memory_order_seq_cst)
    oldest = std::max<std::size_t>(oldest, seq_cst_.seen[at.id_]);
  return oldest;
}

void machine::loaded(const location& at, std::size_t index, order how, std::uint64_t value) {
  if (looking_) return;
  const std::memory_order order = effective(how);
  knowledge& known = self().known;
  const auto position = static_cast<std::uint16_t>(index);
  known.seen[at.id_] = std::max(known.seen[at.id_], position);
  if (acquires(order) && at.released_[index] != nullptr)
    known.join(*at.released_[index], locations_);
  if (order == std::memory_order_seq_cst)
    seq_cst_.seen[at.id_] = std::max(seq_cst_.seen[at.id_], position);
  event& last = events_.back();
  last.has_loaded = true;
  last.loaded = value;
  last.newer = at.newest() - index;
}

void machine::stored(location& at, order how, bool is_exchange, std::uint64_t value) {
  if (looking_) return fail("a condition of wait_until stores");
  const std::memory_order order = effective(how);
  knowledge& known = self().known;
  const std::size_t index = at.released_.size();
  WEFT_ASSERT(index <= UINT16_MAX);
  if (!all_before(at.plain_accessed_)) race(at);
  at.atomic_stored_[current_] = at.accessed_[current_];
  known.seen[at.id_] = static_cast<std::uint16_t>(index);
  if (order == std::memory_order_seq_cst) seq_cst_.seen[at.id_] = known.seen[at.id_];
  // A read-modify-write carries on the release sequence of the store that it read.
  const knowledge* visible = is_exchange ? at.released_.back() : nullptr;
  if (releases(order)) {
    knowledge& mine = new_release();
    mine = known;
    if (visible != nullptr) mine.join(*visible, locations_);
    visible = &mine;
  }
  at.released_.push_back(visible);
  ++stores_;
  ++self().stores;
  events_.back().has_stored = true;
  events_.back().stored = value;
}

void machine::constructed(const location& at) {
  at.writer_ = current_;
  at.written_ = at.accessed_[current_] = ++self().known.clock[current_];
}

bool machine::all_before(const std::array<std::uint32_t, threads_max + 1>& times) const {
  const auto& clock = self().known.clock;
  for (std::size_t id = 0; id < clock.size(); ++id)
    if (clock[id] < times[id]) return false;
  return true;
}

void machine::race(const location& at) {
  fail(formatted("data race on #{}", at.id_));
}

void machine::access_plain(const location& at, bool write, std::source_location where) {
  if (looking_) return;
  note(write ? "set" : "get", std::memory_order_relaxed, where, at.id_);
  knowledge& known = self().known;
  if (known.clock[at.writer_] < at.written_ ||
      !all_before(write ? at.accessed_ : at.atomic_stored_))
    race(at);
  if (write)
    constructed(at);
  else
    at.accessed_[current_] = ++known.clock[current_];
  at.plain_accessed_[current_] = at.accessed_[current_];
}

// A plain store to an atomic's memory; like every store it hides the older ones.
void machine::stored_plain(location& at, std::source_location where) {
  access_plain(at, true, where);
  self().known.seen[at.id_] = static_cast<std::uint16_t>(at.released_.size());
  at.released_.push_back(nullptr);
}

void machine::destroyed(const location& at) {
  if (!error_ && !all_before(at.accessed_))
    fail(formatted("#{} is destroyed while another thread may use it", at.id_));
}

void machine::sleep(const location& at, bool timed, const location* beside) {
  const std::size_t id = current_;
  thread& me = self();
  me.state = phase::asleep;
  me.asleep_at = at.id_;
  me.asleep_beside = beside != nullptr ? beside->id_ : at.id_;
  me.timed = timed;
  me.woken = false;
  switch_from(id);
  thread& again = self();
  again.state = phase::running;
  again.just_chosen = true;
}

void machine::loaded_by_kernel(const location& at) {
  self().known.seen[at.id_] = static_cast<std::uint16_t>(at.newest());
}

void machine::wake_one(const location& at, std::source_location where) {
  point();
  note("futex_wake", std::memory_order_relaxed, where, at.id_);
  for (thread& t : threads_)
    if (t.state == phase::asleep && (t.asleep_at == at.id_ || t.asleep_beside == at.id_) &&
        !t.woken) {
      t.woken = true;
      return;
    }
}

void machine::fence(const char* operation, const char* label, const std::source_location& where) {
  point();
  events_.push_back({current_, operation, where, std::memory_order_seq_cst, label, false,
                     locations_max, false, false, 0, 0, 0});
}

// A heavy fence and a light one are ordered as they are executed: the later one sees what the
// thread of the earlier one had seen and stored before it. Two light ones are not ordered.
void machine::light_fence(const char* label, const std::source_location& where) {
  if (is_weakened(label, where)) return;
  fence("light_fence", label, where);
  self().known.join_seen(heavy_, locations_);
  self().at_light_fence = self().known;
}

void machine::heavy_fence(const char* label, const std::source_location& where) {
  if (is_weakened(label, where)) return;
  fence("heavy_fence", label, where);
  for (const thread& t : threads_) heavy_.join_seen(t.at_light_fence, locations_);
  heavy_.join_seen(self().known, locations_);
  heavy_.join_seen(seq_cst_, locations_);
  seq_cst_.join_seen(heavy_, locations_);
  self().known.join_seen(heavy_, locations_);
}

// --- report ---

std::string machine::report() const {
  static constexpr std::array order_names{"relaxed", "consume", "acquire",
                                          "release", "acq_rel", "seq_cst"};
  std::string text = *error_ + "\n";
  for (const event& e : events_) {
    const std::string operation =
        e.location == locations_max ? e.operation : formatted("{} #{}", e.operation, e.location);
    std::string line = formatted("  thread {}  {:24}{:22}{}", e.thread, text_of(e.where), operation,
                                 order_names[static_cast<std::size_t>(e.order)]);
    if (e.label != nullptr) line += formatted(" {}{}", e.label, e.weakened ? " weakened" : "");
    if (e.has_loaded) line += formatted("  reads {}", e.loaded);
    if (e.has_loaded && e.newer != 0) line += formatted(" ({} newer)", e.newer);
    if (e.has_stored) line += formatted("  writes {}", e.stored);
    text += line + "\n";
  }
  return text;
}

// --- the face ---

location::location() : id_(the_machine().new_location()) {
  released_.push_back(nullptr);
  the_machine().constructed(*this);
}
location::~location() {
  if (the_machine().active()) the_machine().destroyed(*this);
}
void location::begin(const char* operation, order how, place where) const {
  the_machine().begin(*this, operation, how, where);
}
std::size_t location::oldest_readable(order how) const {
  return the_machine().oldest_readable(*this, how);
}
std::size_t location::choose(std::size_t count) {
  return the_machine().choose(count);
}
void location::loaded(std::size_t index, order how, std::uint64_t value) const {
  the_machine().loaded(*this, index, how, value);
}
void location::stored(order how, bool is_exchange, std::uint64_t value) {
  the_machine().stored(*this, how, is_exchange, value);
}
void location::access_plain(bool write, place where) const {
  the_machine().access_plain(*this, write, where);
}
void location::stored_plain(place where) {
  the_machine().stored_plain(*this, where);
}
void location::sleep(bool timed, const location* beside) const {
  the_machine().sleep(*this, timed, beside);
}
void location::loaded_by_kernel() const {
  the_machine().loaded_by_kernel(*this);
}
void location::wake_one(place where) const {
  the_machine().wake_one(*this, where);
}

result explore(const setup& make, int preemption_bound, const std::string& weakened) {
  return the_machine().explore(make, preemption_bound, weakened);
}

std::string failures(const std::vector<setup>& scenarios, int preemption_bound) {
  std::string text;
  for (std::size_t i = 0; i < scenarios.size(); ++i)
    if (const result one = explore(scenarios[i], preemption_bound); one.error)
      text += formatted("scenario {}: {}", i, *one.error);
  return text;
}

std::vector<std::string> unneeded_places(const std::vector<setup>& scenarios, int preemption_bound,
                                         const std::string& elsewhere) {
  std::set<std::string> places;
  for (const setup& make : scenarios) places.merge(explore(make, preemption_bound).places);
  std::erase_if(places, [&](const std::string& place) {
    if (!elsewhere.empty() && place.find(" at " + elsewhere + ":") != std::string::npos)
      return true;
    const bool is_needed = std::ranges::any_of(scenarios, [&](const setup& make) {
      return explore(make, preemption_bound, place).error.has_value();
    });
    if (is_needed) std::printf("needed: %s\n", place.c_str());
    return is_needed;
  });
  return {places.begin(), places.end()};
}

void require(bool condition, const char* what) {
  the_machine().require(condition, what);
}
void wait_until(const std::function<bool()>& condition) {
  the_machine().wait_until(condition);
}
void pause() {
  the_machine().pause();
}
void light_fence(const char* label, const std::source_location& where) {
  the_machine().light_fence(label, where);
}
void heavy_fence(const char* label, const std::source_location& where) {
  the_machine().heavy_fence(label, where);
}

}  // namespace weft::model
