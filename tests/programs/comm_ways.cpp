// Started by weftrun with several processes: what else can be said of a post. Lists of buffers,
// packets, receives in place, posts that are never refused, all kinds of matching, engines, several
// devices, devices that threads share, and all collectives with all their algorithms, each from
// every process to the next one. Prints one line of process 0 when all was right.
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm_check.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using comm::matching;
using weft::status;
using weft::tests::bytes_of;
using weft::tests::meet;
using weft::tests::text_of;
using weft::tests::until;

struct arrival {
  comm::event event;
  std::string text;
};
// What has come to a handler, in its order.
class arrivals {
 public:
  void signal(const comm::event& happened) noexcept {
    waiting_.push_back(
        {happened,
         std::string(reinterpret_cast<const char*>(happened.bytes().data()), happened.size)});
  }
  // Waits for it. The process before this one may be ahead.
  [[nodiscard]] arrival next(const comm::runtime& core) {
    until(core, [&] { return !waiting_.empty(); });
    arrival first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  std::deque<arrival> waiting_;
};

class ways {
 public:
  explicit ways(comm::runtime& core)
      : core_(core),
        on_(core.device()),
        team_(on_),
        next_((core.process() + 1) % core.process_count()),
        before_((core.process() + core.process_count() - 1) % core.process_count()),
        arrived_(core.register_handler(came_)),
        engine_(core),
        memory_(300'000, '?'),
        exposed_(on_, bytes_of(memory_)),
        everywhere_(static_cast<std::size_t>(core.process_count())) {
    const comm::remote_memory mine[] = {exposed_.remote()};
    end(team_.all_gather(std::as_bytes(std::span(mine)), bytes_of(everywhere_)));
  }

  // Cut in other places at each side.
  void lists() {
    for (const std::size_t scale : {std::size_t{1}, std::size_t{9000}}) {
      std::string text = text_of(21 * scale, 3), got(21 * scale, '?');
      const std::vector<std::span<const std::byte>> out = cut<const std::byte>(text, {5, 0, 16});
      const std::vector<std::span<std::byte>> in = cut<std::byte>(got, {9, 1, 1, 10});
      complete([&](const comm::completion& ended) {
        return post_am(on_, {next_}, arrived_, out, with::local(ended), with::done(false));
      });
      REQUIRE(came_.next(core_).text == text);
      meet();

      comm::counter received;
      comm::event result;
      const status said =
          post_recv(on_, before_, in, with::tag(8), with::local(received), with::result(&result));
      complete([&](const comm::completion& ended) {
        return post_send(on_, {next_}, out, with::tag(8), with::local(ended), with::done(false));
      });
      if (said == status::posted) until(core_, [&] { return received.value() == 1; });
      REQUIRE(said != status::failed && got == text);

      complete([&](const comm::completion& ended) {
        return post_put(on_, at(next_), out, with::offset(3), with::notify(arrived_),
                        with::local(ended), with::done(false));
      });
      REQUIRE(came_.next(core_).event.size == text.size());
      REQUIRE(memory_.compare(3, text.size(), text) == 0);
      meet();
      got.assign(got.size(), '?');
      complete([&](const comm::completion& ended) {
        return post_get(on_, at(next_), in, with::offset(3), with::local(ended), with::done(false));
      });
      REQUIRE(got == text);
      meet();
    }
  }

  void packets() {
    const std::string text = text_of(700, 4);
    const auto filled = [&] {
      comm::packet place;
      until(core_, [&] { return static_cast<bool>(place = on_.take_packet()); });
      std::copy(text.begin(), text.end(), reinterpret_cast<char*>(place.bytes().data()));
      return place;
    };
    for (int i = 0; i < 600; ++i) {  // More than there are.
      comm::packet place = filled();
      (void)insist([&] {
        return post_am(on_, {next_}, arrived_, place.bytes().first(text.size()),
                       with::from(&place));
      });
      REQUIRE(!place);
      REQUIRE(came_.next(core_).text == text);

      comm::synchronizer received;
      comm::event got;
      const status said = post_recv(on_, before_, {}, with::tag(2), with::in_place(true),
                                    with::local(received), with::result(&got));
      place = filled();
      (void)insist([&] {
        return post_send(on_, {next_}, place.bytes().first(text.size()), with::tag(2),
                         with::from(&place));
      });
      if (said == status::posted) {
        until(core_, [&] { return received.test(); });
        got = received.events()[0];
      }
      REQUIRE(std::equal(text.begin(), text.end(), reinterpret_cast<char*>(got.bytes().data()),
                         reinterpret_cast<char*>(got.bytes().data() + got.size)));
      release(got);
    }
    meet();
  }

  // Far more than the rings take, to a receiver that looks only now and then.
  void posts_without_refusal() {
    constexpr std::uint32_t count = 20'000;
    const std::string text = text_of(300, 5);
    for (std::uint32_t i = 0; i < count; ++i)
      REQUIRE(post_am(on_, {next_}, arrived_, text, with::user(i), with::retry(false)) ==
              status::done);
    for (std::uint32_t i = 0; i < count; ++i) {
      const arrival got = came_.next(core_);
      REQUIRE(got.event.user == i && got.text == text);
    }
    meet();
  }

  // Posts of all lengths of one message, refused while the rings are full, arrive in their order. A
  // process whose receiver is refused itself, and so looks all the time, may never be refused.
  void order_of_posts_that_were_refused() {
    constexpr std::uint32_t count = 20'000;
    constexpr std::array<std::size_t, 7> sizes{8, 4000, 0, 104, 8192, 105, 300};
    const std::string text = text_of(8192, 6);
    const auto text_number = [&](std::uint32_t i) {
      return text.substr(0, std::min(sizes[i % sizes.size()], on_.eager_bytes_max(next_)));
    };
    long refused = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string data = text_number(i);
      (void)insist([&] {
        const status said = post_am(on_, {next_}, arrived_, data, with::user(i));
        refused += said == status::retry;
        return said;
      });
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const arrival got = came_.next(core_);
      REQUIRE(got.event.user == i && got.text == text_number(i));
    }
    std::vector<long> of_all{refused};
    end(team_.all_reduce(bytes_of(of_all), comm::combination_of<long, std::plus<>>()));
    REQUIRE(of_all[0] != 0);
    meet();
  }

  // Each kind meets its own only, in order; what comes first waits for its receive.
  void kinds_of_matching() {
    constexpr std::array kinds{matching::source_and_tag, matching::source, matching::tag,
                               matching::any};
    for (const std::uint16_t engine : {std::uint16_t{0}, engine_.index()})
      for (const bool expected : {false, true})
        for (const std::size_t size : {std::size_t{40}, std::size_t{200'000}}) {
          std::array<std::array<std::string, 2>, kinds.size()> got;
          comm::counter received;
          std::uint64_t under_way = 0;
          const auto receive = [&] {
            for (std::size_t kind = kinds.size(); kind-- > 0;)
              for (std::string& into : got[kind]) {
                into.assign(size, '?');
                comm::event result;
                const status said =
                    post_recv(on_, before_, into, with::tag(1), with::by(kinds[kind]),
                              with::engine(engine), with::local(received), with::result(&result));
                REQUIRE(said == status::done || said == status::posted);
                under_way += said == status::posted;
              }
          };
          if (expected) receive();
          meet();
          comm::counter sent;
          std::uint64_t posted = 0;
          for (std::size_t kind = 0; kind < kinds.size(); ++kind)
            for (std::size_t i = 0; i < 2; ++i) {
              texts_[2 * kind + i] = text_of(size, 2 * kind + i);
              posted += status::posted == insist([&] {
                          return post_send(on_, {next_}, texts_[2 * kind + i], with::tag(1),
                                           with::by(kinds[kind]), with::engine(engine),
                                           with::local(sent));
                        });
            }
          if (!expected) receive();
          until(core_, [&] { return received.value() == under_way && sent.value() == posted; });
          REQUIRE(received.failures() == 0 && sent.failures() == 0);
          for (std::size_t kind = 0; kind < kinds.size(); ++kind)
            for (std::size_t i = 0; i < 2; ++i)
              REQUIRE(got[kind][i] == text_of(size, 2 * kind + i));
          meet();
        }
  }

  void collectives() {
    using comm::algorithm;
    using enum comm::algorithm;
    const int n = core_.process_count(), me = core_.process();
    const auto sum = comm::combination_of<long, std::plus<>>();
    for (const algorithm how : {automatic, tree, doubling}) {
      const long turn = ++turns_;
      complete([&](const comm::completion& ended) {
        return post_put(on_, at(0), std::as_bytes(std::span(&turn, 1)),
                        with::offset(8 * static_cast<std::size_t>(me)), with::local(ended),
                        with::done(false));
      });
      // The barrier's own messages may take another way to process 0: the put has arrived first.
      complete([&](const comm::completion& ended) {
        return post_get(on_, at(0), {}, with::local(ended), with::done(false));
      });
      end(team_.barrier(how));
      for (int p = 0; p < n && me == 0; ++p) {
        long theirs;
        std::copy_n(memory_.data() + 8 * p, 8, reinterpret_cast<char*>(&theirs));
        REQUIRE(theirs == turn);
      }
      end(team_.barrier());
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{20'000}}) {
      // Element i of process p, and the sum of those of all processes up to it.
      const auto of = [](int p, std::size_t i) {
        return (p + 1) * static_cast<long>(i % 1000 + 1);
      };
      const auto up_to = [](int p, std::size_t i) {
        return (p + 1L) * (p + 2) / 2 * static_cast<long>(i % 1000 + 1);
      };
      std::vector<long> mine(count), all(count * static_cast<std::size_t>(n)), to = all;
      const auto fill = [&] {
        for (std::size_t i = 0; i < count; ++i) mine[i] = of(me, i);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = of(me, i);
        std::fill(to.begin(), to.end(), -1);
      };
      const auto is_all_of_mine = [&](const std::vector<long>& got) {
        for (std::size_t i = 0; i < got.size(); ++i)
          if (got[i] != of(static_cast<int>(i / count), i % count)) return false;
        return true;
      };
      const auto is_sum_to = [&](int p, std::size_t from) {
        for (std::size_t i = 0; i < count; ++i)
          if (mine[i] != up_to(p, from + i)) return false;
        return true;
      };
      for (const int root : {0, n - 1}) {
        for (const algorithm how : {automatic, tree, linear, ring}) {
          fill();
          end(team_.broadcast(bytes_of(mine), root, how));
          for (std::size_t i = 0; i < count; ++i) REQUIRE(mine[i] == of(root, i));
        }
        for (const algorithm how : {automatic, tree, linear}) {
          fill();
          end(team_.reduce(bytes_of(mine), sum, root, how));
          REQUIRE(me != root || is_sum_to(n - 1, 0));
          fill();
          end(team_.gather(bytes_of(mine), bytes_of(to), root, how));
          REQUIRE(me != root || is_all_of_mine(to));
        }
      }
      for (const algorithm how : {automatic, tree, linear, doubling, ring}) {
        fill();
        end(team_.all_reduce(bytes_of(mine), sum, how));
        REQUIRE(is_sum_to(n - 1, 0));
      }
      for (const algorithm how : {automatic, linear, doubling, ring}) {
        fill();
        end(team_.all_gather(bytes_of(mine), bytes_of(to), how));
        REQUIRE(is_all_of_mine(to));
      }
      for (const algorithm how : {automatic, linear, ring}) {
        fill();
        end(team_.all_to_all(bytes_of(all), bytes_of(to), how));
        for (std::size_t i = 0; i < to.size(); ++i)
          REQUIRE(to[i] == of(static_cast<int>(i / count),
                              static_cast<std::size_t>(me) * count + i % count));
        fill();
        end(team_.reduce_scatter(bytes_of(all), bytes_of(mine), sum, how));
        REQUIRE(is_sum_to(n - 1, static_cast<std::size_t>(me) * count));
      }
      for (const algorithm how : {automatic, linear, doubling}) {
        fill();
        end(team_.scan(bytes_of(mine), sum, how));
        REQUIRE(is_sum_to(me, 0));
      }
    }
  }

 private:
  template <class Byte>
  static std::vector<std::span<Byte>> cut(std::string& text,
                                          std::initializer_list<std::size_t> shares) {
    std::size_t whole = 0, at = 0;
    for (const std::size_t share : shares) whole += share;
    std::vector<std::span<Byte>> parts;
    for (const std::size_t share : shares) {
      const std::size_t size = text.size() / whole * share;
      parts.push_back(bytes_of(text).subspan(at, size));
      at += size;
    }
    REQUIRE(at == text.size());
    return parts;
  }

  // Until it is not refused for want of room.
  template <class Post>
  status insist(const Post& post) {
    status said = status::retry;
    until(core_, [&] { return (said = post()) != status::retry; });
    REQUIRE(said != status::failed);
    return said;
  }
  template <class Post>
  void complete(const Post& post) {
    weft::tests::complete(core_, post);
  }
  void end(comm::collective of) {
    until(core_, [&] { return of.test(); });
    REQUIRE(of.wait() == comm::outcome::complete);
  }
  void meet() { weft::tests::meet(core_, team_); }
  [[nodiscard]] const comm::remote_memory& at(int process) const {
    return everywhere_[static_cast<std::size_t>(process)];
  }

  comm::runtime& core_;
  comm::device& on_;
  comm::team team_;
  const int next_, before_;
  arrivals came_;
  const comm::handler_id arrived_;
  comm::matching_engine engine_;
  std::string memory_;
  comm::registered_memory exposed_;
  std::vector<comm::remote_memory> everywhere_;
  std::array<std::string, 8> texts_;
  long turns_ = 0;
};

// From each device to each of the next process.
void several_devices(comm::rendezvous_protocol how) {
  constexpr int devices = 3;
  comm::runtime core({.devices = devices, .rendezvous = how});
  comm::team all(core.device());
  arrivals came;
  const comm::handler_id arrived = core.register_handler(came);
  const int n = core.process_count();
  const int next = (core.process() + 1) % n, before = (core.process() + n - 1) % n;
  meet(core, all);
  for (const std::size_t size : {std::size_t{20}, std::size_t{150'000}})
    for (int from = 0; from < devices; ++from)
      for (int to = 0; to < devices; ++to) {
        const std::string text = text_of(size, static_cast<std::uint64_t>(devices * from + to));
        std::string got(size, '?');
        comm::counter ended;
        std::uint64_t posted = 0;
        comm::event result;
        const auto count = [&](status said) {
          REQUIRE(said != status::failed);
          posted += said == status::posted;
          return said != status::retry;
        };
        until(core, [&] {
          return count(post_recv(core.device(to), before, got, with::tag(1), with::local(ended),
                                 with::result(&result)));
        });
        until(core, [&] {
          return count(post_am(core.device(from), {next, to}, arrived, text, with::local(ended)));
        });
        until(core, [&] {
          return count(
              post_send(core.device(from), {next, to}, text, with::tag(1), with::local(ended)));
        });
        until(core, [&] { return ended.value() == posted; });
        const arrival am = came.next(core);
        REQUIRE(ended.failures() == 0 && got == text && am.text == text);
        REQUIRE(am.event.process == before && am.event.device == from);
        meet(core, all);
      }
}

// Several threads post and make progress on the same devices.
void shared_devices() {
  constexpr int devices = 2, threads = 3;
  constexpr std::uint64_t rounds = 400;
  comm::runtime core({.devices = devices, .shared_devices = true});
  comm::team all(core.device());
  comm::counter came;
  const comm::handler_id arrived = core.register_handler(came);
  const int next = (core.process() + 1) % core.process_count();
  const std::string text = text_of(500, 6);
  meet(core, all);
  const auto take_part = [&](int thread) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      comm::device& on = core.device((thread + static_cast<int>(i)) % devices);
      const comm::address to{next, static_cast<int>(i / 2) % devices};
      until(core, [&] {
        const status said = post_am(on, to, arrived, text);
        REQUIRE(said != status::failed);
        return said != status::retry;
      });
    }
    until(core, [&] { return came.value() == threads * rounds; });
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(take_part, t);
    take_part(0);
  }
  REQUIRE(came.failures() == 0);
  meet(core, all);
}

}  // namespace

int main() {
  for (const auto how : {comm::rendezvous_protocol::best, comm::rendezvous_protocol::write,
                         comm::rendezvous_protocol::messages})
    several_devices(how);
  shared_devices();
  comm::runtime core;
  ways all(core);
  all.lists();
  all.packets();
  all.posts_without_refusal();
  all.order_of_posts_that_were_refused();
  all.kinds_of_matching();
  all.collectives();
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}
