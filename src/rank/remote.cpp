// Short messages to and from ranks of other processes, and the checks of those that arrive.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/format.hpp"
#include "rank/messages.hpp"
#include "rank/remote_wire.hpp"

namespace weft::detail {

void fail(operation& op) noexcept {
  op.failed = true;
  op.result = {.bytes = failed_bytes};
}
void fail(worker& here, operation& op) noexcept {
  fail(op);
  complete(here, op);
}

// --- Arrivals ------------------------------------------------------------------------------------

inline void remote_messaging::on_eager(worker& here, rank_state& to, const comm::event& happened) {
  const envelope from = envelope_of(happened);
  const byte_view data(happened.data, happened.size);
  const origin source = origin_of(here, to, from, happened);
  if (source == origin::right) [[likely]]
    deliver(here, to, packed_envelope(from), data);
  else if (source == origin::unknown)
    deliver_early(here, to, from, data, {}, early_sender_of(happened));
  if (to.congested.load(std::memory_order_relaxed)) [[unlikely]]
    tell_congested(to, happened);
}

// --- Sending -------------------------------------------------------------------------------------

remote_messaging::remote_messaging(messaging& shared, remote::handlers handlers)
    : shared_(shared),
      job_(shared.in_job),
      between_(*handlers.between()),
      sends_(between_.devices().size()),
      known_sources_(between_.devices().size()),
      congested_(
          std::make_unique<std::atomic<bool>[]>(job_.places.size() + ranks_of_other_jobs_max)),
      ways_(std::make_unique_for_overwrite<way[]>(job_.places.size() + ranks_of_other_jobs_max)),
      known_ranks_(job_.places.size()),
      told_congested_(job_.places.size()) {
  for (std::size_t r = 0; r < job_.places.size(); ++r)
    ways_[r] = {job_.places[r].process, job_.places[r].worker, static_cast<std::int32_t>(r)};
  eager_bytes_max_ = job_.how.eager_max_bytes * remote_eager_factor;
  const remote::port any(between_.at(0));
  for (int p = 0; p < between_.process_count(); ++p)
    eager_bytes_max_ = std::min(eager_bytes_max_, any.eager_bytes_max(p));
  // All processes add them in this order, so that the numbers are the same.
  eager_ = handlers.add<&remote_messaging::on_eager>(*this);
  rts_ = handlers.add<&remote_messaging::on_rts, remote::of_bytes(sizeof(rts_on_wire))>(*this);
  finished_ = handlers.add<&remote_messaging::on_finished>(*this);
  congestion_ = handlers.add<&remote_messaging::on_congestion>(*this);
  withdraw_ = handlers.add<&remote_messaging::on_withdraw>(*this);
  finished_asked_ = handlers.add<&remote_messaging::on_finished_asked>(*this);
  finished_told_ = handlers.add<&remote_messaging::on_finished_told>(*this);
}

comm::am remote_messaging::message(const peer& to, const envelope& from, comm::handler_id handler,
                                   comm::const_buffers data) const noexcept {
  const way& there = way_to(to.number);
  comm::am made;
  made.to = {there.process, there.worker};
  made.handler = handler;
  made.data = data;
  made.tag = two(from.context, static_cast<std::uint32_t>(from.tag));
  made.head = {
      two(static_cast<std::uint32_t>(from.source), static_cast<std::uint32_t>(there.number)), 0};
  return made;
}

bool remote_messaging::goes_eager(const peer& to, std::size_t bytes,
                                  send_mode mode) const noexcept {
  // Relaxed: advice, as within a process.
  return mode != send_mode::synchronous && bytes <= eager_bytes_max_ &&
         !congested_[static_cast<std::size_t>(to.number)].load(std::memory_order_relaxed);
}

bool remote_messaging::reads_in_place(const worker& here, int rank) const noexcept {
  const comm::address there = address_of(rank);
  const std::vector<int>& nodes = shared_.in_job.node_of_process;
  // Another job's process is reached so on its own node only.
  const bool on_node =
      is_of_other_job(there.process) || nodes[static_cast<std::size_t>(there.process)] ==
                                            nodes[static_cast<std::size_t>(shared_.in_job.process)];
  return on_node && remote::port::of(here).copies_in_place(there);
}

bool remote_messaging::send_now(rank_state& me, const peer& to, const envelope& from,
                                std::span<const std::byte> data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  worker& here = *me.home;
  const comm::am wanted = message(to, from, eager_, data);
  const auto describe = [&]() -> wait_description {
    return {"send (no room)", from.context, to.number, from.tag, data.size()};
  };
  if (remote::port::of(here).send_in_wait(here, wanted, describe) == status::failed)
    throw_dead(me, to);
  return true;
}

bool remote_messaging::send_now(rank_state& me, const peer& to, const envelope& from,
                                const segments& data, send_mode mode) {
  if (!goes_eager(to, data.size(), mode)) return false;
  const auto row = std::make_unique_for_overwrite<std::byte[]>(data.size());
  copy_out(row.get(), data);
  return send_now(me, to, from, byte_view(row.get(), data.size()), mode);
}

bool send_remote(rank_state& me, const peer& to, packed_envelope from, byte_view data,
                 send_mode mode) {
  return me.shared->ways->send_now(me, to, from.unpacked(), data, mode);
}
bool send_remote(rank_state& me, const peer& to, packed_envelope from, const segments& data,
                 send_mode mode) {
  return me.shared->ways->send_now(me, to, from.unpacked(), data, mode);
}

void remote_messaging::post_small(worker& here, comm::address to, comm::handler_id handler,
                                  std::uint64_t first, std::uint32_t user) noexcept {
  comm::am made;
  made.to = to;
  made.handler = handler;
  made.head = {first, 0};
  made.user = user;
  remote::port::of(here).send(made);
}

void remote_messaging::post_to(worker& here, int rank, std::uint32_t context,
                               comm::handler_id handler, std::span<const std::byte> data,
                               std::uint64_t word) noexcept {
  comm::am made;
  const way& there = way_to(rank);
  made.to = {there.process, there.worker};
  made.handler = handler;
  made.data = data;
  made.tag = context;
  made.head = {static_cast<std::uint64_t>(there.number), word};
  remote::port::of(here).send(made);
}

// --- Arrivals ------------------------------------------------------------------------------------

origin remote_messaging::find_origin(known_sources& known, worker& here, const rank_state& to,
                                     const envelope& from, const comm::event& happened) {
  const auto c = find_communicator(to, base_context(from.context));
  if (c == nullptr) return origin::unknown;
  if (c->process_of(from.source) != happened.process) {
    remote::refuse(here, happened, foreign_source);
    return origin::forged;
  }
  known.know(*c);
  return origin::right;
}

// --- Congestion ----------------------------------------------------------------------------------

// A sender to a congested rank is told so once; from then on it sends rendezvous requests.
void remote_messaging::tell_congested(rank_state& r, const comm::event& happened) {
  auto& told = told_congested_[static_cast<std::size_t>(r.number)];
  const comm::address sender{happened.process, happened.device};
  for (const comm::address& one : told)
    if (one.process == sender.process && one.device == sender.device) return;
  told.push_back(sender);
  post_small(*r.home, sender, congestion_, static_cast<std::uint64_t>(r.number), 1);
}

void remote_messaging::tell_relaxed(rank_state& r) {
  // The list is taken first: a post that finds no room handles messages, and the rank may be congested again meanwhile.
  for (const comm::address& one :
       std::exchange(told_congested_[static_cast<std::size_t>(r.number)], {}))
    post_small(*r.home, one, congestion_, static_cast<std::uint64_t>(r.number), 0);
}

// The rank is named by the number by which it calls itself.
void remote_messaging::on_congestion(worker& here, const comm::event& happened) {
  const std::optional<std::size_t> rank = number_of(happened.process, happened.head[0]);
  if (!rank) return remote::refuse(here, happened, remote::of_foreign_rank);
  congested_[*rank].store(happened.user != 0, std::memory_order_relaxed);
}

std::optional<std::size_t> remote_messaging::number_of(int process, std::uint64_t own) const {
  const std::size_t world = job_.places.size();
  if (!is_of_other_job(process)) {
    if (own < world && job_.places[own].process == process) return own;
    return std::nullopt;
  }
  const std::lock_guard hold(adding_);
  for (std::size_t r = world; r < known_ranks_; ++r)
    if (ways_[r].process == process && static_cast<std::uint64_t>(ways_[r].number) == own) return r;
  return std::nullopt;
}

// --- Ranks of other jobs ---------------------------------------------------------------------------

int remote_messaging::add_ranks(std::span<const way> ranks, int first_process,
                                std::span<const int> number_of_process) {
  const std::lock_guard hold(adding_);
  const std::size_t first = known_ranks_;
  const std::size_t others = first - job_.places.size();
  if (others + ranks.size() > ranks_of_other_jobs_max)
    throw error(formatted(
        "this job has been joined with {} ranks of other jobs, and {} more would be beyond the limit of {}",
        others, ranks.size(), ranks_of_other_jobs_max));
  std::ranges::copy(ranks, ways_.get() + first);
  known_ranks_ += ranks.size();
  const auto end =
      static_cast<std::size_t>(first_process - between_.process_count()) + number_of_process.size();
  if (number_of_process_.size() < end) number_of_process_.resize(end);
  std::ranges::copy(number_of_process,
                    number_of_process_.begin() + (first_process - between_.process_count()));
  return static_cast<int>(first);
}

int remote_messaging::own_number_of(int process) const {
  if (!is_of_other_job(process)) return process;
  const std::lock_guard hold(adding_);
  return number_of_process_[static_cast<std::size_t>(process - between_.process_count())];
}

std::string remote_messaging::name_of_process(int process) const {
  if (is_of_other_job(process)) return "process of another job";
  return formatted("process {} on host {}", process, between_.job().host_of(process));
}

rank_place place_of(const messaging& of, int number) noexcept {
  const auto index = static_cast<std::size_t>(number);
  if (index < of.in_job.places.size()) return of.in_job.places[index];
  const comm::address there = of.ways->address_of(number);
  return {nullptr, there.process, there.device};
}

bool is_of_other_job(const messaging& of, int number) noexcept {
  return static_cast<std::size_t>(number) >= of.in_job.places.size();
}

bool reaches_other_jobs(const communicator_state& c) noexcept {
  return c.of.ways != nullptr && std::ranges::any_of(c.subgroups, [&](const subgroup& s) {
           return c.of.ways->is_of_other_job(s.process);
         });
}

}  // namespace weft::detail
