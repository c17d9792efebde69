// The communication core fed by a peer that sends any messages in any order: nothing outside what
// is registered or posted is read or written (AddressSanitizer, and words that must not change).
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "comm/wire.hpp"
#include "fuzz/byte_source.hpp"
#include "open_endpoint.hpp"

namespace {

using namespace weft;
namespace with = comm::with;
using tests::byte_source;
using tests::open_endpoint;

// A core of two, its peer played by the fuzzer, with one of each thing that messages may name.
class victim {
 public:
  victim() {
    for (int p = 0; p < 2; ++p) members_.push_back(std::make_unique<tests::member>(job_, p));
    {
      std::vector<std::jthread> starting;
      for (std::size_t p = 0; p < 2; ++p)
        starting.emplace_back([this, p] {
          cores_[p] =
              std::make_unique<comm::runtime>(*members_[p], comm::runtime_options{}, [&](int) {
                std::vector<std::unique_ptr<transport>> made;
                made.push_back(std::make_unique<open_endpoint>(p == 0 ? incoming_ : unused_,
                                                               p == 0 ? outgoing_ : nowhere_));
                return made;
              });
        });
    }
    handler_ = cores_[0]->register_handler(box_);
    memory_ = comm::registered_memory(device(), std::as_writable_bytes(std::span(words_).first(8)));
    comm::remote_memory theirs;
    theirs.size = 24;
    theirs.process = 1;
    (void)post_get(device(), theirs, std::span(got_).first(3), with::local(fetched_));
    (void)post_recv(device(), 1, received_, with::local(arrived_));
  }

  void feed(byte_source& from) {
    open_endpoint::message next;
    next.header.kind = from.byte() % 24;
    next.is_write = next.header.kind >= 22;
    next.header.flags = from.byte() % 16;
    next.header.handler = from.byte() < 128 ? handler_.index : from.byte();
    next.header.tag = from.word(memory_.remote().region);
    next.header.size = from.word(16);
    next.header.operation = from.word(from.byte() % 4);
    next.payload.resize(from.byte());
    for (std::byte& byte : next.payload) byte = static_cast<std::byte>(from.byte());
    if (next.header.kind == static_cast<std::uint8_t>(comm::message_kind::gathered)) {
      comm::gathered_head head{from.word(8), next.header};
      head.header.kind = from.byte() < 200 ? 1 : from.byte();
      next.payload.resize(next.payload.size() / 8 * 8);
      for (std::size_t at = 0; at + sizeof head <= next.payload.size(); at += sizeof head + 8)
        std::memcpy(next.payload.data() + at, &head, sizeof head);
    } else if (next.payload.size() >= 8 && from.byte() < 128) {
      const std::uint64_t region = memory_.remote().region;
      std::memcpy(next.payload.data(), &region, sizeof region);
    }
    incoming_.push_back(std::move(next));
    device().progress();
    for (std::size_t i = 8; i < words_.size(); ++i) require(words_[i] == 0);
    require(got_[3] == 4);
  }

 private:
  static void require(bool condition) {
    if (!condition) std::abort();
  }
  comm::device& device() { return cores_[0]->device(); }

  tests::shared_job job_{2};
  std::vector<std::unique_ptr<tests::member>> members_;
  std::deque<open_endpoint::message> incoming_, unused_;
  std::vector<wire_header> outgoing_, nowhere_;
  tests::mailbox box_;
  alignas(8) std::array<std::uint64_t, 16> words_{};
  std::uint64_t got_[4] = {1, 2, 3, 4};
  std::string received_ = std::string(40, '?');
  comm::synchronizer fetched_, arrived_;
  std::unique_ptr<comm::runtime> cores_[2];
  comm::handler_id handler_;
  comm::registered_memory memory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  victim core;
  for (byte_source from(data, size); !from.ended();) core.feed(from);
  return 0;
}
