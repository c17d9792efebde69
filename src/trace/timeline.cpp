#include "trace/timeline.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "trace/flows.hpp"
#include "trace/stamps.hpp"

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

// How many messages of each name a rank has sent and received, on whichever of its threads.
class message_counts {
 public:
  // From 1; 0 when there are too many names.
  [[nodiscard]] std::uint64_t next(std::uint64_t name) noexcept {
    if (places_ == nullptr) return 0;
    for (std::size_t probe = 0; probe < 32; ++probe) {
      place& at = places_.get()[(name + probe) % places_count];
      if (at.name == 0) at.name = name;
      if (at.name == name) return ++at.count;
    }
    return 0;
  }

 private:
  struct place {
    std::uint64_t name, count;
  };
  struct freed {
    void operator()(place* places) const noexcept { std::free(places); }
  };
  static constexpr std::size_t places_count = 8192;
  // Zero, and touched only where names come to lie.
  std::unique_ptr<place, freed> places_{
      static_cast<place*>(std::calloc(places_count, sizeof(place)))};
};
// Of ranks of this process. Each is used by one thread at a time, as its worker is.
constinit std::array<message_counts*, ranks_max> counts{};

}  // namespace

void forget_flows() noexcept {
  for (message_counts*& one : counts) delete std::exchange(one, nullptr);
}

std::int64_t trace_message(int rank, int partner, const accounts::message_name& m,
                           bool is_send) noexcept {
  if (!is_timeline_on()) return message_argument(partner, 0);
  message_counts*& mine = counts[static_cast<std::size_t>(rank)];
  if (mine == nullptr) mine = new message_counts;
  const std::uint64_t name = accounts::stream_of(m);
  const std::uint64_t number = mine->next(is_send ? name : ~name);
  return message_argument(partner, number != 0 ? accounts::mixed(name, number) : 0);
}

}  // namespace weft
