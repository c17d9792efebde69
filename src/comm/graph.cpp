#include "weft/comm/graph.hpp"

#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "sync/handoff_stack.hpp"
#include "sync/published.hpp"
#include "weft/error.hpp"

namespace weft::comm {

// The thread that posts a node sees what all its predecessors did. The thread that ends the run, and each thread that learns of the end, sees all of it.
class graph::state {
 public:
  node add(poster post, std::function<void()> called) {
    must_not_run("built");
    nodes_.emplace_back();
    nodes_.back().owner = this;
    nodes_.back().post = std::move(post);
    nodes_.back().called = std::move(called);
    is_checked_ = false;
    return static_cast<node>(nodes_.size() - 1);
  }

  void add_edge(node before, node after) {
    must_not_run("built");
    for (const node each : {before, after})
      if (each >= nodes_.size())
        throw error(formatted("the graph has no node {}: it has {}", each, nodes_.size()));
    nodes_[before].followers.push_back(after);
    ++nodes_[after].predecessors;
    is_checked_ = false;
  }

  void start(const completion& ended) {
    must_not_run("started");
    if (!is_checked_) check();
    ended_ = ended;
    // Relaxed: nobody else knows of this run yet; posting tells them.
    result_.store(outcome::complete, std::memory_order_relaxed);
    over_.reset(false);
    left_.expect(nodes_.size() + 1);
    for (step& each : nodes_) each.waits_for.expect(each.predecessors);
    step* ready = nullptr;
    for (step& each : nodes_)
      if (each.predecessors == 0) each.ready_next = std::exchange(ready, &each);
    run(ready);
    one_less();  // The start itself, so that the run does not end before all were posted.
  }

  bool advance() noexcept {
    if (is_over()) return true;
    for (step* each = refused_.take_all(); each != nullptr;) {
      step* const again = each;
      each = each->next.get();
      again->ready_next = nullptr;
      run(again);
    }
    return is_over();
  }

  [[nodiscard]] bool is_over() const noexcept { return over_.value(); }
  [[nodiscard]] outcome result() const noexcept {
    return result_.load(std::memory_order_relaxed);  // Relaxed: read after is_over().
  }

 private:
  struct step {
    // An operation of this node ended.
    void signal(const event& happened) noexcept {
      if (happened.result != outcome::complete) owner->fail(happened.result);
      release(happened);
      step* ready = nullptr;
      owner->complete(*this, ready);
      owner->run(ready);
      owner->one_less();
    }
    static constexpr bool keeps_data = false;

    state* owner = nullptr;
    poster post;
    std::function<void()> called;
    std::vector<node> followers;
    std::uint32_t predecessors = 0;
    join_count<> waits_for;          // For its predecessors.
    step* ready_next = nullptr;      // Of the thread that found it ready.
    std_atomics::plain<step*> next;  // While it waits in refused_.
  };

  void must_not_run(const char* what) const {
    if (!is_over()) throw error(formatted("a graph that runs cannot be {}", what));
  }

  // Every node is reached when those without predecessors are taken away one after the other.
  void check() {
    std::vector<std::uint32_t> left;
    std::vector<node> free;
    for (node i = 0; i < nodes_.size(); ++i) {
      left.push_back(nodes_[i].predecessors);
      if (left.back() == 0) free.push_back(i);
    }
    std::size_t reached = 0;
    while (!free.empty()) {
      const node taken = free.back();
      free.pop_back();
      ++reached;
      for (const node each : nodes_[taken].followers)
        if (--left[each] == 0) free.push_back(each);
    }
    if (reached != nodes_.size())
      throw error(formatted("{} nodes of the graph wait for each other in a circle",
                            nodes_.size() - reached));
    is_checked_ = true;
  }

  // Posts these and what becomes ready through them, without recursion.
  void run(step* ready) noexcept {
    while (ready != nullptr) {
      step& now = *ready;
      ready = now.ready_next;
      status said = status::done;
      if (result_.load(std::memory_order_relaxed) == outcome::complete) {  // Relaxed: a short cut.
        if (now.post)
          said = now.post(completion(now));
        else
          now.called();
      }
      if (said == status::retry) {
        refused_.push(&now);
        continue;
      }
      // It ends by signal(), which may have happened already.
      if (said == status::posted) continue;
      if (said == status::failed) fail(outcome::failed);
      complete(now, ready);
      one_less();
    }
  }

  void complete(step& ended, step*& ready) noexcept {
    for (const node each : ended.followers) {
      step& after = nodes_[each];
      if (after.waits_for.arrive() == 0) after.ready_next = std::exchange(ready, &after);
    }
  }

  // From here on the graph may be gone, when this was the last.
  void one_less() noexcept {
    if (left_.arrive() != 0) return;
    const completion ended = ended_;
    event happened;
    happened.kind = operation_kind::group;
    happened.result = result();
    over_.publish(true);
    if (ended && ended.reserve()) ended.signal(happened);
  }

  void fail(outcome why) noexcept {
    // Relaxed: published by the end of the run.
    result_.store(why, std::memory_order_relaxed);
  }

  std::deque<step> nodes_;
  bool is_checked_ = false;
  completion ended_;
  join_count<> left_;  // Nodes, and the start itself.
  std::atomic<outcome> result_{outcome::complete};
  published<bool> over_{true};
  handoff_stack<step> refused_;
};

graph::graph() : state_(std::make_unique<state>()) {}
graph::~graph() = default;
graph::node graph::add(poster post) {
  return state_->add(std::move(post), {});
}
graph::node graph::add_callback(std::function<void()> called) {
  return state_->add({}, std::move(called));
}
void graph::add_edge(node before, node after) {
  state_->add_edge(before, after);
}
void graph::start(const completion& ended) {
  state_->start(ended);
}
bool graph::advance() noexcept {
  return state_->advance();
}
bool graph::is_over() const noexcept {
  return state_->is_over();
}
outcome graph::result() const noexcept {
  return state_->result();
}

}  // namespace weft::comm
