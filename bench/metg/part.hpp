// What one rank does of a task graph: it owns a block of columns; in a step it sends what other ranks'
// columns read of its own and receives what its own read of theirs; within a rank outputs are read where
// they are. Every task looks at all of its inputs.
//
// In which order that happens, and how, is the back end:
//   ready   a rank is sent what it reads once, columns side by side in one message; a task runs when
//           what it reads is here, those first that need nothing from others; receives are posted a
//           step ahead
//   steps   a message for each pair of columns; all of a step are waited for, then its tasks run: the
//           code of Task Bench for MPI
//   tasks   like ready, with the tasks of a step as a loop whose chunks waiting ranks take
#pragma once
#include <algorithm>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "block.hpp"

namespace metg {

class part : public block {
 public:
  part(bench::peers& p, const settings& how) : block(p, how) {
    for (auto& outputs : outputs_) outputs.resize(columns_ * stamps_);
    // Enough chunks for thieves, however few columns there are.
    pieces_ = static_cast<long>(std::max<std::size_t>(1, 16 / std::max<std::size_t>(1, columns_)));
    for (std::size_t phase = 0; phase < graph_.phases(); ++phase) plans_.push_back(plan_of(phase));
  }

  void run(long steps, long iterations) {
    ++runs_[steps];
    moment moments
        [2];  // By parity of the step; a copy would wait for what was just written in pieces.
    set_moment(moments[0], 0, steps, iterations);
    if (posts_ahead()) post_receives(moments[0]);
    for (long step = 0; step < steps; ++step) {
      const moment& at = moments[step & 1];
      moment& next = moments[(step + 1) & 1];
      send_outputs(at);
      // While the messages are under way: nobody waits for what is done here.
      set_moment(next, step + 1, steps, iterations);
      if (!posts_ahead())
        post_receives(at);
      else if (step + 1 < steps)
        post_receives(next);
      finish_sends(step - 1);
      switch (how_.backend) {
        case backend::ready:
          run_as_ready(at);
          break;
        case backend::steps:
          run_after_all(at);
          break;
        case backend::tasks:
          run_as_loop(at);
          break;
        default:
          break;  // task_part.hpp has others.
      }
    }
    finish_sends(steps - 1);
  }

 private:
  struct message {
    row from;  // The columns whose outputs it has.
    row to;    // Those that read them there, and perhaps others between.
    int peer;  // The other rank.
    int tag;
    // In steps of even and odd numbers: the outputs of the step before, or where they arrive.
    std::span<stamp> at[2];
  };
  struct input {
    int from;
    const stamp* at[2];  // Where it is in steps of even and odd numbers.
  };
  struct column_plan {
    std::size_t first_message = 0,
                end_message = 0;  // Arrivals that no column before it has waited for.
    std::vector<input> inputs;
  };
  // What a rank does in a phase, worked out once.
  struct plan {
    std::vector<int> order;  // Own columns, those first that need nothing from others.
    std::vector<column_plan> columns;
    std::vector<message> departures;
    std::vector<message> arrivals;  // As the columns in that order need them.
    std::vector<stamp> inbox[2];    // By arrival, for steps of even and odd numbers.
  };
  struct moment {
    long step, iterations;
    row before, now;  // The columns that have tasks in the step before and in this one.
    plan* doing;
    bool whole;  // Those are all columns.
  };
  void set_moment(moment& at, long step, long steps, long iterations) {
    at.step = step;
    at.iterations = iterations;
    at.before = step > 0 ? graph_.row_of(step - 1, steps) : row{};
    at.now = step < steps ? graph_.row_of(step, steps) : row{};
    at.doing = &plans_[graph_.phase_of(step)];
    const auto is_whole = [&](const row& r) { return r.end - r.first == graph_.width(); };
    at.whole = is_whole(at.before) && is_whole(at.now);
  }
  // Whether a message is sent in this step: both sides ask.
  [[nodiscard]] static bool occurs(const moment& at, const message& m) {
    return meet(at.before, m.from) && meet(at.now, m.to);
  }
  [[nodiscard]] std::span<stamp> output(long step, int column) {
    return std::span(outputs_[step & 1]).subspan(index_of(column) * stamps_, stamps_);
  }

  // What a rank is sent by another.
  [[nodiscard]] std::vector<message> messages_of(std::size_t phase, int sender, int reader,
                                                 int peer) const {
    std::vector<message> all;
    if (how_.backend != backend::steps) {
      for (const metg::run& r : runs_of(phase, sender, reader))
        all.push_back({r.from, r.to, peer, r.from.first, {}});
      return all;
    }
    for (int from = first_of(sender); from < first_of(sender + 1); ++from)
      for (const int to : graph_.readers(phase, from))
        if (owner(to) == reader)
          all.push_back({{from, from + 1}, {to, to + 1}, peer, from * how_.width + to, {}});
    return all;
  }
  [[nodiscard]] plan plan_of(std::size_t phase) {
    plan all;
    all.columns.resize(columns_);
    const auto is_own = [&](int c) { return own_.has(c); };
    for (const bool alone : {true, false})
      for (int c = own_.first; c < own_.end; ++c)
        if (std::ranges::all_of(graph_.inputs(phase, c), is_own) == alone) all.order.push_back(c);
    std::vector<message> coming;
    for (int rank = 0; rank < p_.size(); ++rank) {
      if (rank == p_.rank()) continue;
      std::ranges::copy(messages_of(phase, rank, p_.rank(), rank), std::back_inserter(coming));
      std::ranges::copy(messages_of(phase, p_.rank(), rank, rank),
                        std::back_inserter(all.departures));
    }
    place(all.departures, [&](const message& m, std::size_t parity) {
      return outputs_[1 - parity].data() + index_of(m.from.first) * stamps_;
    });
    const auto with = [](std::vector<message>& among, int from, int to) {
      return std::ranges::find_if(
          among, [=](const message& m) { return m.from.has(from) && m.to.has(to); });
    };
    for (const int c : all.order) {
      column_plan& here = all.columns[index_of(c)];
      here.first_message = all.arrivals.size();
      for (const int from : graph_.inputs(phase, c))
        if (const auto m = with(coming, from, c); m != coming.end()) {
          all.arrivals.push_back(*m);
          coming.erase(m);
        }
      here.end_message = all.arrivals.size();
    }
    std::size_t arriving = 0;
    for (const message& m : all.arrivals) arriving += length_of(m);
    for (auto& inbox : all.inbox) inbox.resize(arriving);
    std::size_t placed[2] = {};
    place(all.arrivals, [&](const message& m, std::size_t parity) {
      return all.inbox[parity].data() +
             std::exchange(placed[parity], placed[parity] + length_of(m));
    });
    for (const int c : all.order)
      for (const int from : graph_.inputs(phase, c)) {
        input in{from, {}};
        for (const long step : {0L, 1L}) {
          if (own_.has(from)) {
            in.at[step] = output(step + 1, from).data();
          } else {
            const message& m = *with(all.arrivals, from, c);
            in.at[step] =
                m.at[step].data() + static_cast<std::size_t>(from - m.from.first) * stamps_;
          }
        }
        all.columns[index_of(c)].inputs.push_back(in);
      }
    return all;
  }

  [[nodiscard]] std::size_t length_of(const message& m) const {
    return static_cast<std::size_t>(m.from.end - m.from.first) * stamps_;
  }
  template <class Where>
  void place(std::vector<message>& messages, Where&& where) const {
    for (message& m : messages)
      for (const std::size_t parity : {0, 1}) m.at[parity] = {where(m, parity), length_of(m)};
  }
  void send_outputs(const moment& at) {
    start(sends_[at.step & 1], at, at.doing->departures, [&](const message& m) {
      return p_.isend(std::span<const stamp>(m.at[at.step & 1]), m.peer, m.tag);
    });
  }
  // Of a step; before the step after the next writes where they send from.
  void finish_sends(long step) { bench::peers::wait_all(sends_[step & 1]); }
  void post_receives(const moment& at) {
    start(receives_[at.step & 1], at, at.doing->arrivals,
          [&](const message& m) { return p_.irecv(m.at[at.step & 1], m.peer, m.tag); });
  }
  // A request for each message, complete where there is none in this step.
  template <class Begin>
  static void start(std::vector<bench::request>& requests, const moment& at,
                    const std::vector<message>& messages, Begin&& begin) {
    requests.resize(messages.size());
    bench::request* request = requests.data();
    if (at.whole)
      for (const message& m : messages) *request++ = begin(m);
    else
      for (const message& m : messages)
        *request++ = occurs(at, m) ? begin(m) : bench::peers::nothing();
  }

  // A message then finds its receive, however far its sender is ahead.
  [[nodiscard]] bool posts_ahead() const { return how_.backend != backend::steps; }
  [[nodiscard]] std::span<bench::request> receives(const moment& at) {
    return receives_[at.step & 1];
  }
  void run_as_ready(const moment& at) {
    for (const int c : at.doing->order) {
      const column_plan& here = at.doing->columns[index_of(c)];
      if (here.first_message != here.end_message)
        bench::peers::wait_all(
            receives(at).subspan(here.first_message, here.end_message - here.first_message));
      if (at.now.has(c)) run_task(at, c);
    }
  }
  void run_after_all(const moment& at) {
    bench::peers::wait_all(receives(at));
    const row mine = own_part(at.now);
    for (int c = mine.first; c < mine.end; ++c) run_task(at, c);
  }
  void run_task(const moment& at, int c) {
    check(at, c);
    kernel_.run(index_of(c), 0, kernel_.iterations_of(at.step, c, at.iterations));
    finish(at.step, c, output(at.step, c));
  }
  // One chunk is a piece of one column's kernel; the first piece also looks at the inputs.
  void run_as_loop(const moment& at) {
    bench::peers::wait_all(receives(at));
    const row mine = own_part(at.now);
    if (mine.first >= mine.end) return;
    bench::loop(static_cast<std::size_t>(mine.end - mine.first) * static_cast<std::size_t>(pieces_),
                [&](std::size_t chunk) {
                  const int c = mine.first + static_cast<int>(static_cast<long>(chunk) / pieces_);
                  const long piece = static_cast<long>(chunk) % pieces_;
                  if (piece == 0) check(at, c);
                  const long all = kernel_.iterations_of(at.step, c, at.iterations);
                  kernel_.run(index_of(c), all * piece / pieces_, all * (piece + 1) / pieces_);
                });
    for (int c = mine.first; c < mine.end; ++c) finish(at.step, c, output(at.step, c));
  }

  void check(const moment& at, int column) {
    column_findings& found = found_[index_of(column)];
    const std::vector<input>& inputs = at.doing->columns[index_of(column)].inputs;
    if (at.whole) {
      for (const input& in : inputs) look(found, at.step, column, in.from, in.at[at.step & 1]);
      found.inputs += static_cast<long>(inputs.size());
      return;
    }
    for (const input& in : inputs)
      if (at.before.has(in.from)) {
        look(found, at.step, column, in.from, in.at[at.step & 1]);
        ++found.inputs;
      }
  }
  long pieces_;  // Of a task in a loop.
  std::vector<plan> plans_;
  std::vector<stamp> outputs_[2];            // By parity of the step.
  std::vector<bench::request> sends_[2];     // By parity of the step.
  std::vector<bench::request> receives_[2];  // By parity of the step.
};

}  // namespace metg
