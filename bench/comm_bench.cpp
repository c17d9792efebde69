// The communication core between two processes, and in one: latency, rate, bandwidth, completion
// objects, threads and devices. Started with two processes by weftrun or an MPI's launcher; alone it
// measures what one process sends to itself. The first process measures, the second follows.
#include "weft/comm.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "report.hpp"
#include "two_threads.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;

// Posts until it is not refused. Whether a completion will be signalled.
template <class Post>
bool insist(comm::device& on, Post&& post) {
  for (;;) {
    const status said = post();
    if (said == status::failed) {
      std::fputs("bench-comm: the peer is gone\n", stderr);
      std::exit(1);
    }
    if (said != status::retry) return said == status::posted;
    on.progress();
  }
}

// Counts what arrives; the count is what both sides wait for.
struct arrivals {
  std::uint64_t count = 0;
  void signal(const comm::event&) noexcept { ++count; }
  void wait_for(comm::device& on, std::uint64_t wanted) {
    while (count < wanted) on.progress();
  }
};

// The two processes: whoever is first says what to do next.
class pair {
 public:
  explicit pair(comm::runtime& core) : core_(core), device_(core.device()) {
    orders_ = core.register_handler(comm::completion(
        [](void* context, const comm::event& happened) noexcept {
          auto& here = *static_cast<pair*>(context);
          here.order_ = static_cast<long>(happened.tag);
          here.has_order_ = true;
        },
        this));
    arrived_ = core.register_handler(arrivals_);
    memory_.resize(16 << 20);
    exposed_ = comm::registered_memory(device_, std::as_writable_bytes(std::span(memory_)));
    // Each tells the other where its memory is.
    const comm::handler_id met = core.register_handler(comm::completion(
        [](void* context, const comm::event& happened) noexcept {
          auto& here = *static_cast<pair*>(context);
          std::memcpy(static_cast<void*>(&here.theirs_), happened.data, sizeof here.theirs_);
          here.has_met_ = true;
        },
        this));
    const comm::remote_memory mine[] = {exposed_.remote()};
    insist(device_,
           [&] { return post_am(device_, {other()}, met, std::as_bytes(std::span(mine))); });
    while (!has_met_) device_.progress();
  }

  [[nodiscard]] bool is_first() const { return core_.process() == 0; }
  [[nodiscard]] int other() const { return 1 - core_.process(); }
  comm::device& device() { return device_; }
  comm::runtime& core() { return core_; }
  arrivals& arrived() { return arrivals_; }
  [[nodiscard]] comm::handler_id arrived_handler() const { return arrived_; }
  [[nodiscard]] const comm::remote_memory& theirs() const { return theirs_; }
  std::span<std::byte> memory(std::size_t size) {
    return std::as_writable_bytes(std::span(memory_)).first(size);
  }

  // first(n) is timed at the first process while the second runs second(n). `divisor`: of the time.
  template <class First, class Second>
  void row(const std::string& name, double divisor, First&& first, Second&& second,
           int threads = 1) {
    if (!bench::wanted(name)) return;
    if (!is_first()) {
      for (long n; (n = next_order()) != 0;) {
        order(n);
        second(n);
      }
      order(0);
      return;
    }
    auto samples = bench::sample([&](long n) {
      order(n);
      next_order();  // The second is ready.
      const double start = bench::clock_ns();
      first(n);
      return bench::clock_ns() - start;
    });
    order(0);
    next_order();
    for (double& each : samples) each /= divisor;
    const std::string by(device_.transport_to(other()));
    bench::print_row(name, {"weft-" + by + bench::setting("BENCH_VARIANT", ""), 2, threads}, "ns",
                     samples);
  }

 private:
  void order(long n) {
    insist(device_, [&] {
      return post_am(device_, {other()}, orders_, {}, with::tag(static_cast<std::uint64_t>(n)));
    });
  }
  long next_order() {
    while (!has_order_) device_.progress();
    has_order_ = false;
    return order_;
  }

  comm::runtime& core_;
  comm::device& device_;
  comm::handler_id orders_, arrived_;
  arrivals arrivals_;
  std::vector<char> memory_;
  comm::registered_memory exposed_;
  comm::remote_memory theirs_;
  long order_ = 0;
  bool has_order_ = false, has_met_ = false;
};

// --- Between two processes ---

// One way of an am that carries `size` bytes, there and back.
void latency(pair& p, std::size_t size, const std::string& protocol = "") {
  const auto hit = [&](long n, bool serves) {
    comm::counter sent;
    std::uint64_t posted = 0;
    const std::uint64_t before = p.arrived().count;
    for (long i = 0; i < n; ++i) {
      if (!serves) p.arrived().wait_for(p.device(), before + static_cast<std::uint64_t>(i) + 1);
      posted += insist(p.device(), [&] {
        return post_am(p.device(), {p.other()}, p.arrived_handler(), p.memory(size),
                       with::local(sent));
      });
      if (serves) p.arrived().wait_for(p.device(), before + static_cast<std::uint64_t>(i) + 1);
    }
    while (sent.value() != posted) p.device().progress();
  };
  p.row(
      "comm/am/" + bench::size_name(size) + protocol, 2, [&](long n) { hit(n, true); },
      [&](long n) { hit(n, false); });
}

// The same am by either protocol, each in a runtime of its own; the row of that which the default
// takes ends in /default. Where the data lie makes more of a difference than a default may cost, so
// they are not compared with the row that the default has in the first runtime.
void latency_of_protocols(std::size_t size, std::size_t default_eager_bytes) {
  const auto row = [&](std::string protocol, std::size_t eager_bytes) {
    const bool is_eager = size <= eager_bytes;
    if (is_eager == (size <= default_eager_bytes)) protocol += "/default";
    if (!bench::wanted("comm/am/" + bench::size_name(size) + protocol)) return;
    comm::runtime core({.eager_bytes = eager_bytes});
    // Messages of some transports are shorter.
    if (is_eager && core.device().eager_bytes_max(1 - core.process()) < size) return;
    pair p(core);
    latency(p, size, protocol);
  };
  row("/eager", size);
  row("/rendezvous", size / 2);
}

void rate(pair& p, std::size_t size) {
  p.row(
      "comm/rate/" + bench::size_name(size), 1,
      [&](long n) {
        const std::uint64_t before = p.arrived().count;
        for (long i = 0; i < n; ++i)
          insist(p.device(), [&] {
            return post_am(p.device(), {p.other()}, p.arrived_handler(), p.memory(size));
          });
        p.arrived().wait_for(p.device(), before + 1);
      },
      [&](long n) {
        const std::uint64_t before = p.arrived().count;
        p.arrived().wait_for(p.device(), before + static_cast<std::uint64_t>(n));
        insist(p.device(),
               [&] { return post_am(p.device(), {p.other()}, p.arrived_handler(), {}); });
      });
}

// Sixteen under way at a time; the last one notifies.
void put_rate(pair& p, std::size_t size) {
  p.row(
      "comm/put/" + bench::size_name(size), 1,
      [&](long n) {
        const std::uint64_t before = p.arrived().count;
        comm::counter ended;
        std::uint64_t posted = 0;
        for (long i = 0; i < n; ++i) {
          posted += insist(p.device(), [&] {
            return post_put(p.device(), p.theirs(), p.memory(size), with::local(ended),
                            with::notify(i + 1 == n ? p.arrived_handler() : comm::handler_id()));
          });
          while (posted - ended.value() > 16) p.device().progress();
        }
        p.arrived().wait_for(p.device(), before + 1);
      },
      [&](long) {
        const std::uint64_t before = p.arrived().count;
        p.arrived().wait_for(p.device(), before + 1);
        insist(p.device(),
               [&] { return post_am(p.device(), {p.other()}, p.arrived_handler(), {}); });
      });
}

void get_latency(pair& p, std::size_t size) {
  p.row(
      "comm/get/" + bench::size_name(size), 1,
      [&](long n) {
        comm::counter ended;
        std::uint64_t posted = 0;
        for (long i = 0; i < n; ++i) {
          posted += insist(p.device(), [&] {
            return post_get(p.device(), p.theirs(), p.memory(size), with::local(ended));
          });
          while (ended.value() != posted) p.device().progress();
        }
        insist(p.device(),
               [&] { return post_am(p.device(), {p.other()}, p.arrived_handler(), {}); });
      },
      [&](long) {
        const std::uint64_t before = p.arrived().count;
        p.arrived().wait_for(p.device(), before + 1);
      });
}

void two_sided(pair& p, std::size_t size) {
  const auto hit = [&](long n, bool serves) {
    comm::counter received, sent;
    std::uint64_t posted = 0;
    std::vector<char> room(size);
    for (long i = 0; i < n; ++i) {
      const auto receive = [&] {
        const std::uint64_t wanted = received.value() + 1;
        if (!insist(p.device(),
                    [&] { return post_recv(p.device(), p.other(), room, with::local(received)); }))
          return;
        while (received.value() < wanted) p.device().progress();
      };
      if (!serves) receive();
      posted += insist(p.device(), [&] {
        return post_send(p.device(), {p.other()}, p.memory(size), with::local(sent));
      });
      if (serves) receive();
    }
    while (sent.value() != posted) p.device().progress();
  };
  p.row(
      "comm/send_recv/" + bench::size_name(size), 2, [&](long n) { hit(n, true); },
      [&](long n) { hit(n, false); });
}

// One way of an 8-byte am whose arrival is told by different objects.
template <class Object, class Wait>
void completion_kind(pair& p, const std::string& name, Object& object, Wait&& wait) {
  const comm::handler_id handler = p.core().register_handler(object);
  const auto hit = [&](long n, bool serves) {
    for (long i = 0; i < n; ++i) {
      if (!serves) wait(p.device());
      insist(p.device(), [&] { return post_am(p.device(), {p.other()}, handler, p.memory(8)); });
      if (serves) wait(p.device());
    }
  };
  p.row(
      "comm/completion/" + name, 2, [&](long n) { hit(n, true); }, [&](long n) { hit(n, false); });
}

// One way of 8 bytes that are sent and received by graphs: the first sends and then receives, the
// second receives and then sends. No peer can name a graph, so these are no ams.
void completion_graph(pair& p) {
  comm::graph there_and_back, back;
  std::uint64_t in[1] = {};
  const auto send = [&](const comm::completion& ended) {
    return post_send(p.device(), {p.other()}, p.memory(8), with::local(ended));
  };
  const auto receive = [&](const comm::completion& ended) {
    return post_recv(p.device(), p.other(), in, with::local(ended));
  };
  const auto sent = there_and_back.add(send), answered = there_and_back.add(receive);
  there_and_back.add_edge(sent, answered);
  const auto received = back.add(receive), returned = back.add(send);
  back.add_edge(received, returned);
  const auto run = [&](comm::graph& steps, long n) {
    for (long i = 0; i < n; ++i) {
      steps.start();
      while (!steps.advance()) p.device().progress();
    }
  };
  p.row(
      "comm/completion/graph", 2, [&](long n) { run(there_and_back, n); },
      [&](long n) { run(back, n); });
}

// So many threads of either process, each of which sends to, or receives from, its own one of the
// other, until the last message is answered. With a core for each thread where there are as many;
// otherwise those of one process share one, and whoever finds nothing gives it up.
class threads_between {
 public:
  threads_between(int cores_of_process, int devices, int threads, bool shared)
      : cores_(cores_of_process),
        devices_(devices),
        threads_(threads),
        core_({.devices = devices, .shared_devices = shared}) {
    for (bench::word& each : arrived_)
      handlers_.push_back(core_.register_handler(comm::completion(
          [](void* context, const comm::event&) noexcept {
            static_cast<bench::word*>(context)->value.fetch_add(1, std::memory_order_relaxed);
          },
          &each)));
  }

  void row(const std::string& name) {
    pair p(core_);
    p.row(
        name, threads_, [&](long n) { work_all(p, n, true); },
        [&](long n) { work_all(p, n, false); }, threads_);
    bench::pin(core_.process());
  }

 private:
  void work_all(pair& p, long n, bool sends) {
    // Further ones begin on this thread's core, which they would never get from one that spins.
    std::atomic<int> begun = 1;
    std::vector<std::jthread> others;
    for (int t = 1; t < threads_; ++t)
      others.emplace_back([&, t] {
        pin(t);
        begun.fetch_add(1);
        begun.notify_one();
        work(p, t, n, sends);
      });
    for (int count; (count = begun.load()) != threads_;) begun.wait(count);
    pin(0);
    work(p, 0, n, sends);
  }

  void pin(int t) { bench::pin(core_.process() * cores_ + t % cores_); }

  void work(pair& p, int t, long n, bool sends) {
    const auto index = static_cast<std::size_t>(t);
    comm::device& on = core_.device(t % devices_);
    const std::atomic<std::uint64_t>& count = arrived_[index].value;
    const auto look = [&] {
      if (on.progress() == 0 && threads_ > cores_) std::this_thread::yield();
    };
    const auto post = [&] {
      while (post_am(on, {p.other(), t % devices_}, handlers_[index], p.memory(8)) == status::retry)
        look();
    };
    for (long i = 0; sends && i < n; ++i) post();
    wanted_[index] += sends ? 1 : static_cast<std::uint64_t>(n);
    while (count.load(std::memory_order_relaxed) < wanted_[index]) look();
    if (!sends) post();
  }

  const int cores_, devices_, threads_;
  comm::runtime core_;
  bench::word arrived_[2];  // Of each thread, raised by whichever makes progress.
  std::uint64_t wanted_[2] = {};
  std::vector<comm::handler_id> handlers_;
};

void between_processes(comm::runtime& core) {
  pair p(core);
  for (const std::size_t size : {8, 64, 128, 256, 512, 1 << 10, 2 << 10, 3 << 10, 4 << 10, 6 << 10,
                                 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20})
    latency(p, size);
  for (const std::size_t size : {8, 1 << 10, 8 << 10}) rate(p, size);
  for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20}) put_rate(p, size);
  for (const std::size_t size : {8, 64 << 10, 1 << 20}) get_latency(p, size);
  for (const std::size_t size : {8, 8 << 10, 64 << 10, 1 << 20}) two_sided(p, size);
  comm::counter counter;
  std::uint64_t seen = 0;
  completion_kind(p, "counter", counter, [&](comm::device& on) {
    ++seen;
    while (counter.value() < seen) on.progress();
  });
  comm::completion_queue queue;
  completion_kind(p, "queue", queue, [&](comm::device& on) {
    comm::event happened;
    while (!queue.try_pop(happened)) on.progress();
    release(happened);
  });
  comm::synchronizer synchronizer;
  completion_kind(p, "synchronizer", synchronizer, [&](comm::device& on) {
    while (!synchronizer.test()) on.progress();
    release(synchronizer.events()[0]);
    synchronizer.reset();
  });
  completion_graph(p);
  comm::device& device = p.device();
  p.row(
      "comm/progress/idle", 1,
      [&](long n) {
        for (long i = 0; i < n; ++i) device.progress();
        insist(device, [&] { return post_am(device, {p.other()}, p.arrived_handler(), {}); });
      },
      [&](long) { p.arrived().wait_for(device, p.arrived().count + 1); });
}

// --- In one process: each thread sends to itself ---

void to_itself(const std::string& name, int devices, int threads, bool shared) {
  if (!bench::wanted(name)) return;
  comm::runtime core({.devices = devices, .shared_devices = shared});
  bench::word arrived[2];  // Of each thread, raised by whichever makes progress.
  std::vector<comm::handler_id> handlers;
  for (bench::word& each : arrived)
    handlers.push_back(core.register_handler(comm::completion(
        [](void* context, const comm::event&) noexcept {
          auto& count = static_cast<bench::word*>(context)->value;
          count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        },
        &each)));
  // Until n have arrived.
  const auto work = [&](int t, long n, auto&& go_on) {
    comm::device& on = core.device(t % devices);
    const std::atomic<std::uint64_t>& count = arrived[t].value;
    const std::uint64_t before = count.load();
    const std::uint64_t value[] = {1};
    for (long i = 0; i < n && go_on(); ++i) {
      insist(on, [&] {
        return post_am(on, {0, t % devices}, handlers[static_cast<std::size_t>(t)], value);
      });
      if (i % 16 == 15) on.progress();
    }
    while (count.load(std::memory_order_relaxed) < before + static_cast<std::uint64_t>(n) &&
           go_on())
      on.progress();
  };
  // Time per message of all threads.
  auto samples = bench::sample([&](long n) {
    // What the second left behind is not the next sample's.
    return bench::one_or_two(threads, n, arrived[1], work, [&] {
      while (core.device(0).progress() + core.device(devices - 1).progress() != 0) {
      }
    });
  });
  bench::print_row(name, {"weft", 1, threads}, "ns", samples);
}

}  // namespace

int main() {
  bench::raise_priority();
  const int cores = bench::cores_allowed();
  comm::runtime core;
  if (core.process_count() != 2) {
    bench::print_header();
    to_itself("comm/self/one_thread", 1, 1, false);
    to_itself("comm/self/one_thread/shared", 1, 1, true);
    to_itself("comm/self/two_threads/device_each", 2, 2, false);
    to_itself("comm/self/two_threads/one_device", 1, 2, true);
    return 0;
  }
  bench::pin(core.process());
  if (core.process() == 0) bench::print_header();
  between_processes(core);
  latency_of_protocols(64 << 10, core.device().eager_bytes_max(1 - core.process()));
  const auto threads = [&](const std::string& name, int devices, int count, bool shared) {
    if (bench::wanted(name))
      threads_between(std::max(cores / 2, 1), devices, count, shared).row(name);
  };
  threads("comm/between/one_thread", 1, 1, false);
  threads("comm/between/one_thread/shared", 1, 1, true);
  threads("comm/between/two_threads/device_each", 2, 2, false);
  threads("comm/between/two_threads/one_device", 1, 2, true);
}
