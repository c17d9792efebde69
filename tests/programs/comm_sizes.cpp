// Started by weftrun with several processes: messages of the sizes at which something else begins, from
// every process to the next one. `comm_sizes best|read|write|messages|refused`: which rendezvous; refused:
// over shared memory of which the kernel copies nothing. Prints one line of process 0 when all was right.
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "bootstrap/bootstrap.hpp"
#include "comm/wire.hpp"
#include "comm_check.hpp"
#include "sync/record_ring.hpp"
#include "transport/shm/shm.hpp"

namespace {

namespace comm = weft::comm;
namespace with = weft::comm::with;
using weft::status;
using weft::tests::bytes_of;
using weft::tests::text_of;

// Of which the last that goes one way is named; of some the transport has another use.
std::vector<std::size_t> sizes_at_borders(const comm::runtime& core, int peer) {
  constexpr std::size_t ring_message =
      weft::max_record_payload(weft::shm_ring_bytes) - sizeof(weft::wire_header);
  constexpr std::size_t of_libfabric = sizeof(weft::wire_header) + 16;  // In front of each message.
  const std::size_t borders[] = {
      64,
      104,  // The longest of another library that went through its ring.
      256,
      weft::shm_put_message_bytes_max,
      weft::ofi_packet_bytes - of_libfabric,
      weft::ofi_packet_bytes,
      core.options().packet_bytes,
      weft::twice_copied_bytes_max,
      core.device().eager_bytes_max(peer),
      weft::ofi_message_bytes - of_libfabric - sizeof(comm::notification),
      weft::ofi_message_bytes - of_libfabric,
      ring_message - sizeof(comm::notification),
      ring_message,
      2 * (ring_message - sizeof(comm::notification)),
      weft::shm_ring_bytes,
  };
  std::vector<std::size_t> sizes{0, 1};
  for (const std::size_t border : borders)
    for (const std::size_t size : {border - 1, border, border + 1}) sizes.push_back(size);
  return sizes;
}

class passing_on {
 public:
  explicit passing_on(comm::runtime& core)
      : core_(core),
        on_(core.device()),
        team_(on_),
        self_(core.process()),
        next_((self_ + 1) % core.process_count()),
        before_((self_ + core.process_count() - 1) % core.process_count()),
        arrived_(core.register_handler(*this)),
        memory_(room + 2, '?'),
        exposed_(on_, bytes_of(memory_)),
        everywhere_(static_cast<std::size_t>(core.process_count())) {
    const comm::remote_memory mine[] = {exposed_.remote()};
    auto all = team_.all_gather(std::as_bytes(std::span(mine)), bytes_of(everywhere_));
    weft::tests::until(core_, [&] { return all.test(); });
  }

  void all() {
    for (const std::size_t size : sizes_at_borders(core_, next_)) {
      REQUIRE(size <= room);
      active_messages(size);
      sends(size, true);
      sends(size, false);
      put_and_get(size);
    }
  }
  void meet() { weft::tests::meet(core_, team_); }

  void signal(const comm::event& happened) noexcept {
    REQUIRE(happened.process == before_);
    came_.emplace_back(reinterpret_cast<const char*>(happened.bytes().data()), happened.size);
  }

 private:
  // Several at a time, so that each lies beside another one, wherever it waits.
  static constexpr std::size_t several = 3;
  static constexpr std::size_t room = 300'000;

  [[nodiscard]] static std::string text(int process, std::size_t size, std::size_t index) {
    return text_of(size, static_cast<std::uint64_t>(process) * several + index);
  }
  // With a byte at either side that is nobody's.
  [[nodiscard]] static bool is_framed(std::string_view got, const std::string& text) {
    return got.front() == '?' && got.substr(1, text.size()) == text && got.back() == '?';
  }
  void take_texts(std::size_t size) {
    for (std::size_t i = 0; i < several; ++i) texts_[i] = text(self_, size, i);
  }

  template <class Post>
  void post_until_taken(const Post& post) {
    status said = status::retry;
    until([&] { return (said = post()) != status::retry; });
    REQUIRE(said == status::done || said == status::posted);
    posted_ += said == status::posted;
  }
  template <class Condition>
  void until(const Condition& condition) {
    weft::tests::until(core_, condition);
  }
  void end() {
    until([&] { return ended_.value() == posted_; });
    REQUIRE(ended_.failures() == 0);
  }

  void active_messages(std::size_t size) {
    take_texts(size);
    for (const std::string& each : texts_)
      post_until_taken([&] { return post_am(on_, {next_}, arrived_, each, with::local(ended_)); });
    until([&] { return came_.size() == several; });
    end();
    for (std::size_t i = 0; i < several; ++i) {
      // Long ones are delivered when their data are there.
      const auto found = std::find(came_.begin(), came_.end(), text(before_, size, i));
      REQUIRE(found != came_.end());
      REQUIRE(size > on_.eager_bytes_max(next_) || found == came_.begin());
      came_.erase(found);
    }
    meet();
  }

  void sends(std::size_t size, bool expected) {
    take_texts(size);
    std::array<std::string, several> got;
    got.fill(std::string(size + 2, '?'));
    std::array<comm::event, several> results;
    const auto receive = [&] {
      for (std::size_t i = 0; i < several; ++i)
        post_until_taken([&] {
          return post_recv(on_, before_, bytes_of(got[i]).subspan(1, size), with::local(ended_),
                           with::result(&results[i]));
        });
    };
    if (expected) receive();
    meet();
    for (const std::string& each : texts_)
      post_until_taken([&] { return post_send(on_, {next_}, each, with::local(ended_)); });
    meet();  // They have come, or have been announced.
    if (!expected) receive();
    end();
    for (std::size_t i = 0; i < several; ++i) REQUIRE(is_framed(got[i], text(before_, size, i)));
    meet();
  }

  void put_and_get(std::size_t size) {
    const auto& theirs = everywhere_[static_cast<std::size_t>(next_)];
    std::fill(memory_.begin(), memory_.end(), '?');
    take_texts(size);
    meet();
    post_until_taken([&] {
      return post_put(on_, theirs, texts_[0], with::offset(1), with::notify(arrived_),
                      with::local(ended_));
    });
    until([&] { return came_.size() == 1; });
    end();
    const std::string put = text(before_, size, 0);
    REQUIRE(is_framed(std::string_view(memory_).substr(0, size + 2), put));
    REQUIRE(came_.front() == put);
    came_.clear();
    meet();
    std::string got(size + 2, '?');
    post_until_taken([&] {
      return post_get(on_, theirs, bytes_of(got).subspan(1, size), with::offset(1),
                      with::local(ended_));
    });
    end();
    REQUIRE(is_framed(got, texts_[0]));
    meet();
  }

  comm::runtime& core_;
  comm::device& on_;
  comm::team team_;
  const int self_, next_, before_;
  const comm::handler_id arrived_;
  std::deque<std::string> came_;
  std::array<std::string, several> texts_;
  comm::counter ended_;
  std::uint64_t posted_ = 0;
  std::string memory_;
  comm::registered_memory exposed_;
  std::vector<comm::remote_memory> everywhere_;
};

void pass_on(comm::runtime& core) {
  passing_on self(core);
  self.all();
  if (core.process() == 0)
    std::printf("%d processes over %s: all right\n", core.process_count(),
                weft::tests::transport_of(core).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "best";
  comm::runtime_options how;
  if (which == "read") how.rendezvous = comm::rendezvous_protocol::read;
  if (which == "write") how.rendezvous = comm::rendezvous_protocol::write;
  if (which == "messages") how.rendezvous = comm::rendezvous_protocol::messages;
  if (which != "refused") {
    comm::runtime core(how);
    pass_on(core);
    return 0;
  }
  const std::unique_ptr<weft::bootstrap> job = weft::make_bootstrap();
  {
    comm::runtime core(*job, how, [&](int) {
      std::vector<std::unique_ptr<weft::transport>> made;
      made.push_back(weft::make_shm_transport({.job = job->job_id(), .direct_copies = false}));
      return made;
    });
    pass_on(core);
  }
  job->finish();
}
