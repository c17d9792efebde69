// What one PE does of a task graph, by the means of OpenSHMEM. Each PE has the outputs of all columns in symmetric
// memory, those of two steps; it fills its own and is given, or fetches, those that its tasks read. Columns side by side
// go together, as in the back end `ready` of ranks.
//
//   signals   outputs are put to the PEs that read them, with a signal; a task waits for the signals of the PEs it
//             reads from
//   get       the PEs that read are sent a signal and get the outputs (the paper's signal-and-get)
//   am        outputs are the payload of active messages whose handler stores them and counts; the PE polls
//   am-wait   the same; the PE waits in shmemx_am_wait()
//
// Of two PEs that read each other's outputs in every step none can be more than a step ahead; a PE that only reads
// tells its source when it has done so, before the source writes there again.
#pragma once
#include <cstring>
#include <memory>
#include <stdexcept>

#include "block.hpp"
#ifdef WEFT_SHMEM_H
#include <shmemx.h>
#endif

namespace metg {

class part : public block {
 public:
  // Collective.
  part(bench::peers& p, const settings& how) : block(p, how) {
    for (std::size_t phase = 0; phase < graph_.phases(); ++phase) plans_.push_back(plan_of(phase));
    const auto pes = static_cast<std::size_t>(p.size());
    answers_.assign(pes, 1);
    for (const plan& each : plans_)
      for (std::size_t pe = 0; pe < pes; ++pe)
        answers_[pe] &= has(each.from, static_cast<int>(pe)) && has(each.to, static_cast<int>(pe));
    // Rows that grow or shrink leave out messages.
    if (!is_whole(graph_.row_of(0, 2L * how.width))) answers_.assign(pes, 0);
    for (auto& numbers : sent_) numbers.assign(pes, 0);
    for (stamp*& outputs : outputs_)
      outputs = symmetric<stamp>(static_cast<std::size_t>(how.width) * stamps_);
    arrived_ = symmetric<std::uint64_t>(pes);
    read_ = symmetric<std::uint64_t>(pes);
    left_out_.assign(pes, 1);
#ifdef WEFT_SHMEM_H
    shmemx_am_set_handler_all(&on_outputs, this, &outputs_id_);
    shmemx_am_set_handler_all(&on_read, this, &read_id_);
#endif
    p.barrier();
  }
  ~part() {
    p_.barrier();
#ifdef WEFT_SHMEM_H
    shmemx_am_barrier_all(nullptr);  // Who has read may still be under way.
    shmemx_am_set_handler(nullptr, nullptr, &outputs_id_);
    shmemx_am_set_handler(nullptr, nullptr, &read_id_);
#endif
    shmem_free(read_);
    shmem_free(arrived_);
    for (const std::size_t parity : {1, 0}) shmem_free(outputs_[parity]);
  }
  part(const part&) = delete;
  part& operator=(const part&) = delete;

  void run(long steps, long iterations) {
    ++runs_[steps];
    for (long step = 0; step < steps; ++step) {
      moment at;
      at.step = step;
      at.number = ++number_;
      at.before = step > 0 ? graph_.row_of(step - 1, steps) : row{};
      at.now = graph_.row_of(step, steps);
      at.whole = is_whole(at.before) && is_whole(at.now);
      const plan& doing = plans_[graph_.phase_of(step)];
      if (step > 0) send_outputs(at, doing);
      await_readers(at);
      for (const column_plan& column : doing.columns) {
        if (step > 0 && !column.waits_for.empty()) await_outputs(at, doing, column.waits_for);
        if (!at.now.has(column.number)) continue;
        check(at, column.number);
        kernel_.run(index_of(column.number), 0,
                    kernel_.iterations_of(step, column.number, iterations));
        finish(step, column.number, {output(at, column.number), stamps_});
      }
      if (step > 0) tell_sources(at, doing);
    }
    shmem_quiet();
  }

 private:
  struct peer_plan {
    int pe;
    std::vector<metg::run> runs;
  };
  struct column_plan {
    int number;
    std::vector<std::size_t>
        waits_for;  // Of the PEs that are read from, those that no column before it waits for.
  };
  // What a PE does in a phase.
  struct plan {
    std::vector<column_plan> columns;  // Own ones, those first that need nothing from others.
    std::vector<peer_plan> from, to;
  };
  struct moment {
    long step;
    std::uint64_t number;  // Of the step, counted through all runs.
    row before, now;       // The columns that have tasks in the step before and in this one.
    bool whole;            // Those are all columns.
  };

  template <class T>
  static T* symmetric(std::size_t count) {
    auto* const made = static_cast<T*>(shmem_align(64, count * sizeof(T)));
    if (made == nullptr)
      throw std::runtime_error("metg: no symmetric memory: SHMEM_SYMMETRIC_SIZE");
    std::memset(static_cast<void*>(made), 0, count * sizeof(T));
    return made;
  }
  [[nodiscard]] bool is_whole(const row& r) const {
    return r.end - r.first == graph_.width();
  }
  static bool has(const std::vector<peer_plan>& peers, int pe) {
    return std::any_of(peers.begin(), peers.end(), [=](const peer_plan& p) { return p.pe == pe; });
  }
  [[nodiscard]] static bool occurs(const moment& at, const metg::run& r) {
    return at.whole || (meet(at.before, r.from) && meet(at.now, r.to));
  }
  [[nodiscard]] static bool occurs(const moment& at, const peer_plan& peer) {
    return at.whole || std::any_of(peer.runs.begin(), peer.runs.end(),
                                   [&](const metg::run& r) { return occurs(at, r); });
  }
  [[nodiscard]] plan plan_of(std::size_t phase) const {
    plan all;
    for (int pe = 0; pe < p_.size(); ++pe) {
      if (pe == p_.rank()) continue;
      if (auto runs = runs_of(phase, pe, p_.rank()); !runs.empty())
        all.from.push_back({pe, std::move(runs)});
      if (auto runs = runs_of(phase, p_.rank(), pe); !runs.empty())
        all.to.push_back({pe, std::move(runs)});
    }
    // Not all begin with PE 0.
    std::stable_partition(all.to.begin(), all.to.end(),
                          [&](const peer_plan& peer) { return peer.pe > p_.rank(); });
    for (const bool alone : {true, false})
      for (int c = own_.first; c < own_.end; ++c) {
        const std::vector<int>& inputs = graph_.inputs(phase, c);
        if (std::all_of(inputs.begin(), inputs.end(), [&](int from) { return own_.has(from); }) ==
            alone)
          all.columns.push_back({c, {}});
      }
    std::vector<bool> awaited(all.from.size());
    for (column_plan& column : all.columns)
      for (std::size_t i = 0; i < all.from.size(); ++i) {
        const std::vector<int>& inputs = graph_.inputs(phase, column.number);
        if (awaited[i] || std::none_of(inputs.begin(), inputs.end(),
                                       [&](int from) { return owner(from) == all.from[i].pe; }))
          continue;
        awaited[i] = true;
        column.waits_for.push_back(i);
      }
    return all;
  }

  // Where the outputs of a step are, or of that before.
  [[nodiscard]] stamp* output(const moment& at, int column, int steps_before = 0) const {
    return outputs_[(at.step - steps_before) & 1] + static_cast<std::size_t>(column) * stamps_;
  }
  [[nodiscard]] std::size_t bytes_of(const row& columns) const {
    return static_cast<std::size_t>(columns.end - columns.first) * stamps_ * sizeof(stamp);
  }
  [[nodiscard]] bool by_messages() const {
    return how_.backend >= backend::am;
  }

  // --- The outputs of the step before ------------------------------------------------------------------
  void send_outputs(const moment& at, const plan& doing) {
    shmem_quiet();  // What was sent from may be written, and own outputs may be read.
    for (const peer_plan& peer : doing.to) {
      if (!occurs(at, peer)) continue;
      sent_[(at.step - 1) & 1][static_cast<std::size_t>(peer.pe)] = at.number;
      if (how_.backend == backend::signals)
        put(at, peer);
      else if (how_.backend == backend::get)
        shmem_uint64_p(arrived_ + p_.rank(), at.number, peer.pe);
      else
        message(at, peer);
    }
  }
  // The signal follows all runs.
  void put(const moment& at, const peer_plan& peer) {
    for (std::size_t i = 0; i + 1 < peer.runs.size(); ++i) {
      stamp* const outputs = output(at, peer.runs[i].from.first, 1);
      shmem_putmem_nbi(outputs, outputs, bytes_of(peer.runs[i].from), peer.pe);
    }
    if (peer.runs.size() > 1) shmem_fence();
    const row& last = peer.runs.back().from;
    stamp* const outputs = output(at, last.first, 1);
#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 105
    shmem_putmem_signal_nbi(outputs, outputs, bytes_of(last), arrived_ + p_.rank(), at.number,
                            SHMEM_SIGNAL_SET, peer.pe);
#else
    shmem_putmem_nbi(outputs, outputs, bytes_of(last), peer.pe);
    shmem_fence();
    shmem_uint64_p(arrived_ + p_.rank(), at.number, peer.pe);
#endif
  }
  void await_outputs(const moment& at, const plan& doing, const std::vector<std::size_t>& sources) {
    if (by_messages()) {
      for (const std::size_t i : sources)
        if (occurs(at, doing.from[i])) await_messages(arrived_[doing.from[i].pe], at.number);
      return;
    }
    await_signals(at, doing, sources);
    if (how_.backend != backend::get) return;
    for (const std::size_t i : sources)
      for (const metg::run& r : doing.from[i].runs)
        if (occurs(at, r)) {
          stamp* const outputs = output(at, r.from.first, 1);
          shmem_getmem_nbi(outputs, outputs, bytes_of(r.from), doing.from[i].pe);
        }
    shmem_quiet();
  }
  void await_signals(const moment& at, const plan& doing, const std::vector<std::size_t>& sources) {
#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 105
    constexpr std::size_t few = 3;
    if (at.whole && sources.size() > few) {  // One wait for all of them.
      for (const std::size_t i : sources) left_out_[static_cast<std::size_t>(doing.from[i].pe)] = 0;
      shmem_uint64_wait_until_all(arrived_, left_out_.size(), left_out_.data(), SHMEM_CMP_GE,
                                  at.number);
      for (const std::size_t i : sources) left_out_[static_cast<std::size_t>(doing.from[i].pe)] = 1;
      return;
    }
#endif
    for (const std::size_t i : sources)
      if (occurs(at, doing.from[i]))
        shmem_uint64_wait_until(arrived_ + doing.from[i].pe, SHMEM_CMP_GE, at.number);
  }

  // --- Who has read ------------------------------------------------------------------------------------
  // Before own outputs are written over those of two steps before.
  void await_readers(const moment& at) {
    std::vector<std::uint64_t>& sent = sent_[at.step & 1];
    for (std::size_t pe = 0; pe < sent.size(); ++pe) {
      if (answers_[pe] != 0 || sent[pe] == 0) continue;
      if (by_messages())
        await_messages(read_[pe], sent[pe]);
      else
        shmem_uint64_wait_until(read_ + pe, SHMEM_CMP_GE, sent[pe]);
      sent[pe] = 0;
    }
  }
  void tell_sources(const moment& at, const plan& doing) {
    for (const peer_plan& peer : doing.from) {
      if (answers_[static_cast<std::size_t>(peer.pe)] != 0 || !occurs(at, peer)) continue;
#ifdef WEFT_SHMEM_H
      if (by_messages()) {
        std::uint64_t number = at.number;
        shmemx_am_send_nbi(read_id_, &number, sizeof number, peer.pe);
        shmem_quiet();
        continue;
      }
#endif
      shmem_uint64_p(read_ + p_.rank(), at.number, peer.pe);
    }
  }

  // --- Active messages -----------------------------------------------------------------------------------
#ifdef WEFT_SHMEM_H
  struct message_head {
    std::uint64_t number;  // 0 when more of the step are to come from that PE.
    std::uint32_t parity;
    std::uint32_t first;  // Stamp.
  };
  static constexpr std::size_t stamps_max =
      (SHMEMX_AM_PAYLOAD_MAX_SIZE - sizeof(message_head)) / sizeof(stamp);

  void message(const moment& at, const peer_plan& peer) {
    for (std::size_t i = 0; i < peer.runs.size(); ++i) {
      const row& from = peer.runs[i].from;
      const std::size_t end = static_cast<std::size_t>(from.end) * stamps_;
      for (std::size_t first = static_cast<std::size_t>(from.first) * stamps_; first < end;) {
        const std::size_t count = std::min(end - first, stamps_max);
        const bool is_last = i + 1 == peer.runs.size() && first + count == end;
        const message_head head{is_last ? at.number : 0,
                                static_cast<std::uint32_t>(at.step - 1) & 1,
                                static_cast<std::uint32_t>(first)};
        // Many PEs are sent the same, of which one copy will do until shmem_quiet().
        const std::size_t bytes = sizeof head + count * sizeof(stamp);
        if (made_.size() != bytes || std::memcmp(made_.data(), &head, sizeof head) != 0 ||
            !is_last) {
          if (!made_.empty()) shmem_quiet();
          made_.resize(bytes);
          std::memcpy(made_.data(), &head, sizeof head);
          std::memcpy(made_.data() + sizeof head, outputs_[head.parity] + first,
                      count * sizeof(stamp));
        }
        shmemx_am_send_nbi(outputs_id_, made_.data(), bytes, peer.pe);
        first += count;
      }
    }
  }
  static void on_outputs(void* payload, std::size_t length, void* args_r, void*, int source) {
    part& to = *static_cast<part*>(args_r);
    message_head head;
    std::memcpy(&head, payload, sizeof head);
    std::memcpy(to.outputs_[head.parity] + head.first,
                static_cast<const char*>(payload) + sizeof head, length - sizeof head);
    if (head.number != 0) to.arrived_[source] = head.number;
  }
  static void on_read(void* payload, std::size_t, void* args_r, void*, int source) {
    std::memcpy(static_cast<part*>(args_r)->read_ + source, payload, sizeof(std::uint64_t));
  }
  // Handlers of this PE raise the word.
  void await_messages(const std::uint64_t& word, std::uint64_t until) const {
    const volatile std::uint64_t& is = word;
    while (is < until)
      if (how_.backend == backend::am_wait)
        shmemx_am_wait(nullptr);
      else
        shmemx_am_poll(nullptr);
  }
  std::vector<char> made_;
  int outputs_id_ = 0, read_id_ = 0;
#else
  void message(const moment&, const peer_plan&) {}
  void await_messages(const std::uint64_t&, std::uint64_t) const {}
#endif

  void check(const moment& at, int column) {
    column_findings& found = found_[index_of(column)];
    for (const int from : graph_.inputs(graph_.phase_of(at.step), column))
      if (at.before.has(from)) {
        look(found, at.step, column, from, output(at, from, 1));
        ++found.inputs;
      }
  }

  std::vector<plan> plans_;
  std::uint64_t number_ = 0;
  std::vector<char> answers_;  // By PE: it reads from here, and is read from, in every step.
  std::vector<std::uint64_t>
      sent_[2];  // By parity of the outputs and PE: when they were last sent there; 0: awaited.
  std::vector<int> left_out_;
  // Symmetric.
  stamp* outputs_[2];       // By parity of the step: those of all columns.
  std::uint64_t* arrived_;  // By PE: the number of the step for which its outputs are there.
  std::uint64_t* read_;     // By PE: the last number that it has read.
};

}  // namespace metg
