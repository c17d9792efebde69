#include "octree/rank_exchange.hpp"

#include <algorithm>

namespace octree {
namespace {

// Long stages that a rank begins before it looks for messages again: a few milliseconds of work.
constexpr std::size_t stages_at_once = 16;

class rank_exchange final : public exchange {
 public:
  explicit rank_exchange(const weft::communicator& ranks)
      : ranks_(ranks.dup()), substeps_{ranks.dup(), ranks.dup()} {}

  int here() const noexcept override { return ranks_.rank(); }
  int localities() const noexcept override { return ranks_.size(); }
  const char* name() const noexcept override { return "ranks"; }

  void substep(locality& own) override {
    // A rank may be a sub-step ahead, not two: its root has had to hear of all. So two communicators keep them apart.
    const weft::communicator& messages = substeps_[substep_++ % 2];
    const plan& links = own.links();
    progress state(own);
    std::vector<outgoing> sent;
    const auto receive = [&](weft::message&& next) {
      const link& l = links[next.status().tag];
      next.recv(own.inbox(l));
      state.arrive(l);
    };
    while (!state.done()) {
      const progress::ready some = state.take(stages_at_once);
      if (some.nodes.empty()) {
        receive(messages.mprobe());
        continue;
      }
      run(own, some, messages, state, sent);
      while (auto next = messages.improbe()) receive(std::move(*next));
    }
    for (outgoing& one : sent) one.request.wait();
  }

  void move(locality& own, std::span<const transfer> all) override {
    std::vector<outgoing> sent;
    std::vector<double> block;
    std::size_t awaited = 0;
    for (std::size_t number = 0; number < all.size(); ++number) {
      const transfer& t = all[number];
      const int to = own.next()[t.to].owner;
      const bool begins = own.owns(t.from), ends = to == here();
      if (begins) count(link_kinds, !ends, values_of(t));
      if (begins && ends) {
        block.resize(values_of(t));
        own.pack(t, block);
        own.place(t, block);
      } else if (begins) {
        sent.emplace_back();
        sent.back().values.resize(values_of(t));
        own.pack(t, sent.back().values);
        sent.back().request = ranks_.isend(sent.back().values, to, static_cast<int>(number));
      } else if (ends) {
        ++awaited;
      }
    }
    for (; awaited > 0; --awaited) {
      weft::message next = ranks_.mprobe();
      const transfer& t = all[static_cast<std::size_t>(next.status().tag)];
      block.resize(values_of(t));
      next.recv(block);
      own.place(t, block);
    }
    for (outgoing& one : sent) one.request.wait();
    // No block of this regrid is taken for a message of what follows.
    ranks_.barrier();
  }

  void largest(std::span<double> values) override { ranks_.allreduce(values, weft::max{}); }
  std::vector<std::byte> concatenated(std::span<const std::byte> mine) override {
    return ranks_.allgatherv(mine);
  }

 private:
  struct outgoing {
    std::vector<double> values;
    weft::request request;
  };

  // One stage of several nodes. Chunks place what stays here and pack what leaves; the rank sends it.
  void run(locality& own, const progress::ready& some, const weft::communicator& messages,
           progress& state, std::vector<outgoing>& sent) {
    const plan& links = own.links();
    const auto each_link = [&](int node, auto&& visit) {
      for (const int number : links.out(node))
        if (made_by(links[number].kind) == some.what) visit(number, links[number]);
    };
    std::vector<std::vector<std::vector<double>>> leaving(some.nodes.size());
    weft::parallel_for(0, some.nodes.size(),
                       [&](std::size_t i) {
                         const int node = some.nodes[i];
                         own.run(node, some.what);
                         each_link(node, [&](int, const link& l) {
                           const bool away = !own.owns(l.to);
                           count(static_cast<std::size_t>(l.kind), away, l.size);
                           if (!away) return own.pack(l, own.inbox(l));
                           leaving[i].emplace_back(l.size);
                           own.pack(l, leaving[i].back());
                         });
                       },
                       {.grain = 1});
    for (std::size_t i = 0; i < some.nodes.size(); ++i) {
      std::size_t next = 0;
      each_link(some.nodes[i], [&](int number, const link& l) {
        if (own.owns(l.to)) return state.arrive(l);
        sent.push_back({std::move(leaving[i][next++]), {}});
        sent.back().request = messages.isend(sent.back().values, own.nodes()[l.to].owner, number);
      });
      state.finish(some.nodes[i], some.what);
    }
  }

  weft::communicator ranks_;
  std::array<weft::communicator, 2> substeps_;
  std::size_t substep_ = 0;
};

}  // namespace

std::unique_ptr<exchange> make_rank_exchange(const weft::communicator& ranks) {
  return std::make_unique<rank_exchange>(ranks);
}

}  // namespace octree
