#include "octree/exchange.hpp"

namespace octree {

void exchange::count(std::size_t kind, bool away, std::size_t doubles) noexcept {
  counter& c = counted_[kind];
  // Relaxed: sums are all.
  c.messages[away].fetch_add(1, std::memory_order_relaxed);
  c.bytes[away].fetch_add(doubles * sizeof(double), std::memory_order_relaxed);
}

std::array<traffic, traffic_kinds> exchange::sent() const noexcept {
  std::array<traffic, traffic_kinds> all;
  for (std::size_t kind = 0; kind < traffic_kinds; ++kind) {
    const auto value = [](const std::atomic<std::uint64_t>& of) {
      return of.load(std::memory_order_relaxed);  // Relaxed: the steps have ended.
    };
    const counter& c = counted_[kind];
    all[kind] = {value(c.messages[0]), value(c.messages[1]), value(c.bytes[0]), value(c.bytes[1])};
  }
  return all;
}

progress::progress(const locality& own)
    : own_(own), waiting_(static_cast<std::size_t>(own.nodes().size()) * stages) {
  const plan& links = own.links();
  for (const int node : own.own_nodes()) {
    waiting(node, stage::interact) = 1;
    waiting(node, stage::descend) = 1;
    waiting(node, stage::update) = 2;
    for (int number = links.first_in(node); number < links.last_in(node); ++number)
      ++waiting(node, fed_by(links[number].kind));
    for (std::size_t s = 0; s < stages; ++s) {
      if (!own.has_stage(node, static_cast<stage>(s))) continue;
      ++left_;
      if (waiting(node, static_cast<stage>(s)) == 0) ready_[s].push_back(node);
    }
  }
}

void progress::satisfy(int node, stage s) {
  if (own_.has_stage(node, s) && --waiting(node, s) == 0)
    ready_[static_cast<std::size_t>(s)].push_back(node);
}

void progress::arrive(const link& l) {
  satisfy(l.to, fed_by(l.kind));
}

void progress::finish(int node, stage s) {
  --left_;
  switch (s) {
    case stage::gather:
      return satisfy(node, stage::interact);
    case stage::interact:
      return satisfy(node, stage::descend);
    case stage::flux:
    case stage::descend:
      return satisfy(node, stage::update);
    case stage::update:
      return;
  }
}

progress::ready progress::take(std::size_t most) {
  for (const stage s :
       {stage::gather, stage::descend, stage::flux, stage::interact, stage::update}) {
    std::vector<int>& from = ready_[static_cast<std::size_t>(s)];
    if (from.empty()) continue;
    ready some{s, {}};
    const bool is_short = s == stage::gather || s == stage::descend;
    if (is_short || from.size() <= most) {
      some.nodes.swap(from);
    } else {
      some.nodes.assign(from.end() - static_cast<std::ptrdiff_t>(most), from.end());
      from.resize(from.size() - most);
    }
    return some;
  }
  return {};
}

namespace {

class serial_exchange final : public exchange {
 public:
  int here() const noexcept override { return 0; }
  int localities() const noexcept override { return 1; }
  const char* name() const noexcept override { return "none"; }

  void substep(locality& own) override {
    progress state(own);
    while (!state.done()) {
      const progress::ready some = state.take(1);
      for (const int node : some.nodes) {
        own.run(node, some.what);
        for (const int number : own.links().out(node)) {
          const link& l = own.links()[number];
          if (made_by(l.kind) != some.what) continue;
          own.pack(l, own.inbox(l));
          count(static_cast<std::size_t>(l.kind), false, l.size);
          state.arrive(l);
        }
        state.finish(node, some.what);
      }
    }
  }
  void move(locality& own, std::span<const transfer> all) override {
    std::vector<double> block;
    for (const transfer& t : all) {
      block.resize(values_of(t));
      own.pack(t, block);
      count(link_kinds, false, values_of(t));
      own.place(t, block);
    }
  }
  void largest(std::span<double>) override {}
  std::vector<std::byte> concatenated(std::span<const std::byte> mine) override {
    return {mine.begin(), mine.end()};
  }
};

}  // namespace

std::unique_ptr<exchange> make_serial_exchange() {
  return std::make_unique<serial_exchange>();
}

}  // namespace octree
