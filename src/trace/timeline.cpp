#include "trace/timeline.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "trace/flows.hpp"
#include "trace/message_numbers.hpp"
#include "trace/mixing.hpp"

namespace weft {
namespace timeline {
namespace {

constexpr std::array<kind_style, trace_kind_count> styles{{
    {"wait", "wait to receive", "source", true},
    {"wait", "wait to send", "destination", true},
    {"wait", "wait in collective", "", true},
    {"run", "rank {}", "", false},
    {"chunk", "chunk of rank {}", "first chunk", false},
    {"stolen", "chunk of rank {} (stolen)", "first chunk", false},
    {"message", "send", "destination", false},
    {"message", "receive", "source", false},
    {"park", "park", "", false},
    {"copy", "copy", "bytes", false},
    {"wait", "sleep", "", true},
    {"wait", "wait for thieves", "", true},
    {"call", "call", "", false},
    {"region", "region", "", false},
    {"task", "tasks", "", false},
    {"wait", "wait for memory", "", true},
    {"wait", "wait for task", "", true},
    {"beside", "beside rank {}", "", false},
    {"move", "to another thread", "thread", false},
    {"park", "no thread", "", false},
}};

[[nodiscard]] bool is_message(const event& e) noexcept {
  return e.kind == trace_kind::send || e.kind == trace_kind::recv;
}

}  // namespace

const kind_style& style_of(trace_kind kind) noexcept {
  return styles[static_cast<std::size_t>(kind)];
}

std::string name_of(const event& e) {
  return fmt::format(fmt::runtime(style_of(e.kind).name), e.rank);
}

std::int64_t argument_of(const event& e) noexcept {
  return is_message(e) ? partner_in(e.argument) : e.argument;
}

std::uint64_t flow_of(const event& e) noexcept {
  return is_message(e) ? flow_in(e.argument) : 0;
}

}  // namespace timeline

namespace {

// One for each rank of this process. One thread at a time uses it, as it uses the worker.
constinit std::array<message_numbers*, ranks_max> numbers{};

message_numbers& numbers_of(int rank) {
  message_numbers*& mine = numbers[static_cast<std::size_t>(rank)];
  if (mine == nullptr) mine = new message_numbers;
  return *mine;
}
std::int64_t argument_of_message(int partner, std::uint64_t name, std::uint64_t number) noexcept {
  return message_argument(partner, number != 0 ? mixed(name, number) : 0);
}

}  // namespace

void forget_flows() noexcept {
  for (message_numbers*& one : numbers) delete std::exchange(one, nullptr);
}

std::int64_t trace_sent(int rank, int partner, const message_name& m) {
  if (!is_timeline_on()) return message_argument(partner, 0);
  const std::uint64_t name = stream_of(m);
  return argument_of_message(partner, name, numbers_of(rank).of_sent(name));
}
std::int64_t trace_received(int rank, int partner, const message_name& m, const void* receive) {
  if (!is_timeline_on()) return message_argument(partner, 0);
  const std::uint64_t name = stream_of(m);
  return argument_of_message(partner, name, numbers_of(rank).of_ended(name, receive));
}
std::uint64_t next_received_by(int rank, std::uint64_t name) {
  return is_timeline_on() ? numbers_of(rank).next_received(name) : 0;
}
void trace_matched(int rank, const message_name& m, const void* receive) {
  if (is_timeline_on()) (void)numbers_of(rank).of_matched(stream_of(m), receive);
}

}  // namespace weft
