#include "collective/joining.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/format.hpp"
#include "collective/agreements.hpp"
#include "collective/collectives.hpp"
#include "collective/new_communicators.hpp"
#include "collective/peer_failure.hpp"
#include "collective/remote_subgroups.hpp"
#include "comm/joining.hpp"
#include "job/late_connection.hpp"
#include "rank/remote.hpp"
#include "remote/port.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word))
    throw error("the kernel gives no random number for joining two jobs");
  return word;
}

// By it the ranks of one process are known as such.
std::uint64_t key_of_this_process() {
  static const std::uint64_t key = random_word() | 1;
  return key;
}

// --- A job of one process --------------------------------------------------------------------------

// remote_messaging with what it stands on.
struct late_ways : late_connection, remote_messaging {
  explicit late_ways(messaging& of)
      : late_connection(of.in_job), remote_messaging(of, remote::handlers(numbers())) {}
};

void make_network(messaging& of) {
  auto* const made = new late_ways(of);
  remote::handlers handlers(made->numbers());
  of.subgroups.publish(new remote_subgroups(*made, handlers),
                       [](remote_subgroups* s) { delete s; });
  of.agreed->register_with(handlers);
  // Other workers ask for the ways first.
  of.ways.publish(made, [](remote_messaging* w) { delete static_cast<late_ways*>(w); });
}

// The first rank that asks makes it. Networks call functions of the system that let other ranks of the worker run: so these wait
// as ranks do, and no lock is held meanwhile.
network& network_of(messaging& of, worker& here, const char* call) {
  static std::mutex lock;
  static std::set<const messaging*> under_way;
  const auto is_under_way = [&of] {
    const std::lock_guard hold(lock);
    return under_way.contains(&of);
  };
  for (bool is_mine = false; of.ways == nullptr && !is_mine;) {
    {
      const std::lock_guard hold(lock);
      is_mine = of.ways == nullptr && under_way.insert(&of).second;
    }
    if (!is_mine) {
      here.wait_for_external([&] { return !is_under_way(); }, wait_description{call});
      here.check_stopped();
      continue;
    }
    const std::shared_ptr<void> ending(nullptr, [&](void*) {
      {
        const std::lock_guard hold(lock);
        under_way.erase(&of);
      }
      for (int w = 0; w < of.in_job.workers->worker_count(); ++w) of.in_job.workers->at(w).notify();
    });
    make_network(of);
  }
  return of.ways->between();
}

// --- What the ranks of a group say of themselves -----------------------------------------------------

struct joining_rank {
  std::uint64_t process_key = 0;
  std::int32_t process = 0;  // As it calls itself.
  std::int32_t worker = 0;
  std::int32_t number = 0;
  std::uint32_t offer_bytes = 0;  // 0: another rank of its worker offers endpoints.
};
struct group_head {
  std::uint64_t key = 0;  // Of two groups the one with the lower key comes first.
  std::uint32_t context = 0;
  std::uint32_t ranks = 0;
};
struct group_text {
  group_head head;
  std::vector<joining_rank> ranks;
  std::vector<std::string_view> offers;
};

template <class T>
void add(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
T take(std::string_view& from) {
  T value;
  if (from.size() < sizeof value)
    throw error(
        "the other job has said less of its ranks than it has; do both run the same version of weft?");
  std::memcpy(static_cast<void*>(&value), from.data(), sizeof value);
  from.remove_prefix(sizeof value);
  return value;
}

group_text parsed(std::string_view text) {
  group_text all;
  all.head = take<group_head>(text);
  if (all.head.ranks == 0 || all.head.ranks > ranks_of_other_jobs_max)
    throw error(formatted("the other job has {} ranks: from 1 to {} are right", all.head.ranks,
                          ranks_of_other_jobs_max));
  for (std::uint32_t r = 0; r < all.head.ranks; ++r) {
    all.ranks.push_back(take<joining_rank>(text));
    const joining_rank& one = all.ranks.back();
    if (one.worker < 0 || one.worker >= devices_max || one.number < 0 || one.process < 0 ||
        one.offer_bytes > text.size())
      throw error("the other job says of its ranks what makes no sense");
    all.offers.push_back(text.substr(0, one.offer_bytes));
    text.remove_prefix(one.offer_bytes);
  }
  return all;
}

// A text that the leader has, or the reason why it has none; all ranks get the same.
std::string shared_text(const communicator& by, int leader, std::string text,
                        const std::exception_ptr& failure, const char* call) {
  std::uint64_t head[2] = {text.size(), 0};
  if (failure != nullptr) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      text = e.what();
      head[1] = static_cast<std::uint64_t>(code_of(e)) << 1 | 1;
    }
    head[0] = text.size();
  }
  communicator_state& c = by.state();
  broadcast(c, by.rank(), std::as_writable_bytes(std::span(head)), leader, call);
  text.resize(head[0]);
  broadcast(c, by.rank(), std::as_writable_bytes(std::span(text.data(), text.size())), leader,
            call);
  if (failure != nullptr) std::rethrow_exception(failure);
  if (head[1] != 0) throw coded_error(text, static_cast<int>(head[1] >> 1));
  return text;
}

// What the leaders tell each other first: whether some ranks of both may be on different hosts.
constexpr std::string_view on_one_host = "one host";
constexpr std::string_view on_several_hosts = "several hosts";

bool is_on_several_hosts(const job& j) {
  const std::vector<int>& nodes = j.node_of_process;
  return std::ranges::any_of(nodes, [&](int node) { return node != nodes.front(); });
}

bool heard_of_several_hosts(std::string_view said) {
  if (said != on_one_host && said != on_several_hosts)
    throw error(
        "the other job does not say whether it is on several hosts; do both run the same version of weft?");
  return said == on_several_hosts;
}

// --- The numbers of the others -----------------------------------------------------------------------

struct numbers_of_group {
  int first_rank = 0;
  std::map<std::uint64_t, int> process_of_key;
};

numbers_of_group make_numbers(messaging& of, const group_text& others) {
  numbers_of_group made;
  std::vector<int> devices_of, own_numbers;
  for (const joining_rank& r : others.ranks) {
    const auto [place, first] =
        made.process_of_key.emplace(r.process_key, static_cast<int>(devices_of.size()));
    if (first) devices_of.push_back(0), own_numbers.push_back(r.process);
    int& devices = devices_of[static_cast<std::size_t>(place->second)];
    devices = std::max(devices, r.worker + 1);
  }
  const int first_process = of.ways->between().add_processes(devices_of);
  for (auto& [key, process] : made.process_of_key) process += first_process;
  std::vector<remote_messaging::way> ways;
  for (const joining_rank& r : others.ranks)
    ways.push_back({made.process_of_key.at(r.process_key), r.worker, r.number});
  made.first_rank = of.ways->add_ranks(ways, first_process, own_numbers);
  return made;
}

// The first rank of a process that asks makes them, for all `askers` ranks of its group there.
numbers_of_group numbers_of(messaging& of, const group_text& others, std::size_t askers) {
  struct entry {
    numbers_of_group made;
    std::size_t left;
  };
  static std::mutex lock;
  static std::map<std::pair<const messaging*, std::uint64_t>, entry> known;
  const std::lock_guard hold(lock);
  const std::pair key{&of, others.head.key};
  auto at = known.find(key);
  if (at == known.end()) at = known.emplace(key, entry{make_numbers(of, others), askers}).first;
  const numbers_of_group made = at->second.made;
  if (--at->second.left == 0) known.erase(at);
  return made;
}

// All endpoints that the groups offer, those of the first group first, and which is this worker's.
void connect(comm::offered_endpoints& offered, const group_text& first, const group_text& second,
             const group_text& others, const numbers_of_group& numbers, std::uint64_t own_key,
             int own_worker) {
  std::vector<comm::joined_endpoint> all;
  std::size_t self = 0;
  for (const group_text* group : {&first, &second})
    for (std::size_t r = 0; r < group->ranks.size(); ++r) {
      const joining_rank& one = group->ranks[r];
      if (one.offer_bytes == 0) continue;
      // Both groups may have ranks of this process.
      if (group != &others && one.process_key == own_key && one.worker == own_worker)
        self = all.size();
      const int process = group == &others ? numbers.process_of_key.at(one.process_key) : -1;
      all.push_back({{process, one.worker}, std::string(group->offers[r])});
    }
  offered.connect(all, self);
}

}  // namespace

std::uint32_t draw_joined_contexts(const messaging& of, std::uint32_t count) {
  const auto room = joined_context - count;
  const std::lock_guard hold(of.communicators->lock);
  const auto& used = of.communicators->by_context;
  for (;;) {
    const auto first = joined_context + static_cast<std::uint32_t>(random_word() % room);
    const auto next_used = used.lower_bound(first);
    if (next_used == used.end() || next_used->first - first >= count) return first;
  }
}

other_job_awaited::other_job_awaited(job& j) : counted_(j.workers->way_in_of_new_thread()) {
  j.workers->note_attached();
}

bool is_reached_beyond_host(const rank_state& me, int number) {
  const rank_place there = place_of(*me.shared, number);
  return there.process != me.of->process &&
         remote::port::of(*me.home).transport_to({there.process, there.worker}) != "shm";
}

joined_groups join_jobs(communicator_state& c, int rank, int leader, bool beyond_host,
                        const std::function<std::string(std::string)>& tell, const char* call) {
  rank_state& me = calling_rank(call);
  messaging& of = *me.shared;
  const communicator by(owned_too(c), rank);
  network& between = network_of(of, *me.home, call);
  between.attach_worker(*me.home);
  joining_rank mine{key_of_this_process(), of.in_job.process, me.home->index(), me.number, 0};
  std::string hosts;
  std::exception_ptr failure;
  if (rank == leader) try {
      // The way between the leaders says nothing of the other ranks of their jobs.
      const bool own = beyond_host || is_on_several_hosts(of.in_job);
      const std::string theirs = tell(std::string(own ? on_several_hosts : on_one_host));
      hosts = own || heard_of_several_hosts(theirs) ? on_several_hosts : on_one_host;
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  hosts = shared_text(by, leader, hosts, failure, call);
  std::unique_ptr<comm::offered_endpoints> offered;
  std::exception_ptr no_endpoints;  // Told when all ranks have come so far.
  if (c.at(rank).group->members.front() == rank) try {
      offered = network::of(*me.home).offer_endpoints();
      offered->make(hosts == on_several_hosts);
      mine.offer_bytes = static_cast<std::uint32_t>(offered->text().size());
    } catch (const std::exception&) {
      no_endpoints = std::current_exception();
      offered.reset();  // What it has of a text is none.
    }
  std::string text;
  add(text, mine);
  if (offered != nullptr) text += offered->text();
  const std::vector<char> gathered = by.allgatherv(std::vector<char>(text.begin(), text.end()));

  std::string ours, theirs;
  if (rank == leader) try {
      add(ours, group_head{random_word(), draw_joined_contexts(of, 1),
                           static_cast<std::uint32_t>(c.size())});
      ours.append(gathered.data(), gathered.size());
      theirs = tell(ours);
      (void)parsed(theirs);
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  ours = shared_text(by, leader, ours, failure, call);
  theirs = shared_text(by, leader, theirs, nullptr, call);
  const group_text own = parsed(ours), others = parsed(theirs);
  const bool is_first = own.head.key < others.head.key;
  numbers_of_group numbers;
  try {
    numbers = numbers_of(of, others, c.local().size());
    if (no_endpoints != nullptr) std::rethrow_exception(no_endpoints);
    if (offered != nullptr)
      connect(*offered, is_first ? own : others, is_first ? others : own, others, numbers,
              mine.process_key, mine.worker);
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  // Nothing is sent before all are connected, on both sides.
  const std::vector<char> failed = by.allgather(static_cast<char>(failure != nullptr));
  const int first_failed = static_cast<int>(std::ranges::find(failed, 1) - failed.begin());
  if (first_failed != c.size())
    (void)shared_text(by, first_failed, {}, rank == first_failed ? failure : nullptr, call);
  if (rank == leader) try {
      (void)tell("connected");
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  (void)shared_text(by, leader, {}, failure, call);

  std::vector<int> own_numbers;
  for (const peer& p : c.peers) own_numbers.push_back(p.number);
  std::vector<int> other_numbers;
  for (std::uint32_t r = 0; r < others.head.ranks; ++r)
    other_numbers.push_back(numbers.first_rank + static_cast<int>(r));
  std::vector<int> members = is_first ? own_numbers : other_numbers;
  const std::vector<int>& rest = is_first ? other_numbers : own_numbers;
  members.insert(members.end(), rest.begin(), rest.end());
  const std::uint32_t context = (is_first ? own : others).head.context;
  joined_groups made{join(of, me, members, context, is_first ? context : context | group_context),
                     is_first, c.size(), static_cast<int>(others.head.ranks)};
  // Whoever dies from now on is found in a communicator that lives.
  for (const auto& [key, process] : numbers.process_of_key)
    if (between.has_died(process))
      throw error("a process of the other job has died before both were joined");
  return made;
}

}  // namespace weft::detail
