#include "octree/parcel_exchange.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <weft/error.hpp>
#include <weft/parcels.hpp>

namespace octree {
namespace {

class parcel_exchange;
// Barriers of all processes stand around its use; of its own process an action needs no more than this order.
std::atomic<parcel_exchange*> present{nullptr};

// Actions: what a process is asked by others.
void deliver(std::uint64_t round, int number, std::vector<double> values);
weft::future<std::vector<std::byte>> contribute(std::uint64_t round, int from,
                                                std::vector<std::byte> part);

class parcel_exchange final : public exchange {
 public:
  explicit parcel_exchange(const weft::communicator& processes)
      : processes_(processes), here_(weft::here().number()), localities_(weft::locality_count()) {
    present.store(this, std::memory_order_release);
    processes_.barrier();
  }
  ~parcel_exchange() override {
    // After a failure nobody waits.
    if (std::uncaught_exceptions() == 0) processes_.barrier();
    present.store(nullptr, std::memory_order_release);
  }

  int here() const noexcept override { return here_; }
  int localities() const noexcept override { return localities_; }
  const char* name() const noexcept override { return "parcels"; }

  void substep(locality& own) override {
    std::vector<int> awaited;
    for (const int node : own.own_nodes())
      for (int number = own.links().first_in(node); number < own.links().last_in(node); ++number)
        awaited.push_back(number);
    open(std::move(awaited), [&own](int number, std::span<const double> values) {
      std::ranges::copy(values, own.inbox(own.links()[number]).begin());
    });
    std::vector<weft::future<void>> nodes;
    for (const int node : own.own_nodes()) nodes.push_back(visit(own, node));
    for (weft::future<void>& node : nodes) node.get();
  }

  void move(locality& own, std::span<const transfer> all) override {
    std::vector<int> awaited;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (own.next()[all[i].to].owner == here_ && !own.owns(all[i].from))
        awaited.push_back(static_cast<int>(i));
    open(std::move(awaited), [&own, all](int number, std::span<const double> values) {
      own.place(all[static_cast<std::size_t>(number)], values);
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
      const transfer& t = all[i];
      if (!own.owns(t.from)) continue;
      const int to = own.next()[t.to].owner;
      std::vector<double> block(values_of(t));
      own.pack(t, block);
      count(link_kinds, to != here_, block.size());
      if (to == here_)
        own.place(t, block);
      else
        weft::post(weft::locality(to), deliver, round_, static_cast<int>(i), std::move(block));
    }
    for (weft::future<void>& one : arriving_) one.get();
  }

  void largest(std::span<double> values) override {
    const std::vector<double> all =
        exchange::concatenated(std::vector<double>(values.begin(), values.end()));
    for (std::size_t i = 0; i < all.size(); ++i)
      values[i % values.size()] = std::max(values[i % values.size()], all[i]);
  }
  // The first locality puts the parts together: one call and its result for each other.
  std::vector<std::byte> concatenated(std::span<const std::byte> mine) override {
    return weft::async(weft::locality(0), contribute, ++gathered_, here_,
                       std::vector<std::byte>(mine.begin(), mine.end()))
        .get();
  }

  // What another process has posted; maybe before this one is so far.
  void arrive(std::uint64_t round, int number, std::vector<double> values) {
    {
      const std::lock_guard lock(mutex_);
      if (round != round_) {
        early_.push_back({round, number, std::move(values)});
        return;
      }
    }
    take(number, values);
  }

  // At the first locality, once by each.
  weft::future<std::vector<std::byte>> gather(std::uint64_t round, int from,
                                              std::vector<std::byte> part) {
    weft::shared_future<std::vector<std::byte>> whole;
    std::vector<std::vector<std::byte>> parts;
    std::optional<weft::promise<std::vector<std::byte>>> done;
    {
      const std::lock_guard lock(mutex_);
      gathering& g = gatherings_[round];
      if (g.arrived == 0) {
        g.parts.resize(static_cast<std::size_t>(localities_));
        g.result = g.whole.get_future();
      }
      whole = g.result;
      g.parts[static_cast<std::size_t>(from)] = std::move(part);
      if (++g.arrived == localities_) {
        parts = std::move(g.parts);
        done = std::move(g.whole);
        gatherings_.erase(round);
      }
    }
    if (done) {
      std::vector<std::byte> all;
      for (const auto& one : parts) all.insert(all.end(), one.begin(), one.end());
      done->set_value(std::move(all));
    }
    co_return co_await whole;
  }

 private:
  struct arrival {
    std::uint64_t round;
    int number;
    std::vector<double> values;
  };
  struct gathering {
    std::vector<std::vector<std::byte>> parts;
    int arrived = 0;
    weft::promise<std::vector<std::byte>> whole;
    weft::shared_future<std::vector<std::byte>> result;
  };

  // The next round, a sub-step or the moves of a regrid: `numbers`, in rising order, are awaited here.
  void open(std::vector<int> numbers,
            std::function<void(int number, std::span<const double> values)> place) {
    std::vector<arrival> now;
    {
      const std::lock_guard lock(mutex_);
      ++round_;
      place_ = std::move(place);
      numbers_ = std::move(numbers);
      arrivals_.clear();
      arrivals_.reserve(numbers_.size());
      arriving_.clear();
      for (std::size_t i = 0; i < numbers_.size(); ++i) {
        arrivals_.emplace_back();
        arriving_.push_back(arrivals_.back().get_future());
      }
      // A process may be a round ahead, not two.
      now = std::move(early_);
      early_.clear();
    }
    for (arrival& one : now) arrive(one.round, one.number, std::move(one.values));
  }
  [[nodiscard]] std::size_t index_of(int number) const {
    const auto found = std::ranges::lower_bound(numbers_, number);
    if (found == numbers_.end() || *found != number)
      throw weft::error("a message of number " + std::to_string(number) +
                        " came to a locality that awaits none");
    return static_cast<std::size_t>(found - numbers_.begin());
  }
  void take(int number, std::span<const double> values) {
    const std::size_t index = index_of(number);
    place_(number, values);
    arrivals_[index].set_value();
  }

  // All stages of a node: waits for what each needs, and has it run by whichever worker is free.
  weft::future<void> visit(locality& own, int node) {
    const plan& links = own.links();
    for (std::size_t at = 0; at < stages; ++at) {
      const stage s = static_cast<stage>(at);
      if (!own.has_stage(node, s)) continue;
      for (int number = links.first_in(node); number < links.last_in(node); ++number)
        if (fed_by(links[number].kind) == s) co_await arriving_[index_of(number)];
      // Others wait for what these two make.
      const bool is_first = s == stage::gather || s == stage::descend;
      co_await weft::spawn([this, &own, node, s] { perform(own, node, s); },
                           {.priority = is_first ? weft::priority::high : weft::priority::normal});
    }
  }

  void perform(locality& own, int node, stage s) {
    own.run(node, s);
    for (const int number : own.links().out(node)) {
      const link& l = own.links()[number];
      if (made_by(l.kind) != s) continue;
      const int to = own.nodes()[l.to].owner;
      count(static_cast<std::size_t>(l.kind), to != here_, l.size);
      if (to == here_) {
        own.pack(l, own.inbox(l));
        arrivals_[index_of(number)].set_value();
        continue;
      }
      std::vector<double> values(l.size);
      own.pack(l, values);
      weft::post(weft::locality(to), deliver, round_, number, std::move(values));
    }
  }

  weft::communicator processes_;
  int here_, localities_;
  std::uint64_t gathered_ = 0;

  std::mutex
      mutex_;  // Of what follows, between rounds; within one each promise is set by one task.
  std::uint64_t round_ = 0;
  std::vector<arrival> early_;
  std::map<std::uint64_t, gathering> gatherings_;
  std::vector<int> numbers_;
  std::vector<weft::promise<void>> arrivals_;
  std::vector<weft::future<void>> arriving_;
  std::function<void(int, std::span<const double>)> place_;
};

parcel_exchange& present_one() {
  parcel_exchange* const one = present.load(std::memory_order_acquire);
  if (one == nullptr) throw weft::error("a parcel of the octree came when there was none");
  return *one;
}

void deliver(std::uint64_t round, int number, std::vector<double> values) {
  present_one().arrive(round, number, std::move(values));
}
weft::future<std::vector<std::byte>> contribute(std::uint64_t round, int from,
                                                std::vector<std::byte> part) {
  return present_one().gather(round, from, std::move(part));
}
WEFT_ACTION(deliver);
WEFT_ACTION(contribute);

}  // namespace

std::unique_ptr<exchange> make_parcel_exchange(const weft::communicator& processes) {
  return std::make_unique<parcel_exchange>(processes);
}

}  // namespace octree
