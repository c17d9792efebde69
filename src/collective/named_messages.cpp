#include "collective/named_messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/format.hpp"
#include "collective/control_messages.hpp"
#include "collective/subgroups.hpp"
#include "rank/communicator_state.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

// In the world, where nothing else uses the three bits together.
constexpr std::uint32_t named_context = hidden_context | group_context | neighbor_context;
// Kept messages are those whose names have one hash: more than a few come from no sound process.
constexpr std::size_t kept_max = 1024;

// Goes first; the data follow in a message of their own.
struct title {
  std::uint32_t name_bytes = 0;
  std::uint32_t data_bytes = 0;
  std::array<char, named_bytes_max> name;
};
constexpr std::size_t title_bytes = offsetof(title, name);

int tag_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<int>((hash ^ hash >> 32) % tag_of_broadcast);  // Those are of broadcasts.
}

}  // namespace

bool named_inbox::has_kept(int from, std::string_view name) const noexcept {
  return std::ranges::any_of(kept_,
                             [&](const message& m) { return m.from == from && m.name == name; });
}

std::vector<std::byte> named_inbox::receive(rank_state& me, int from, std::string_view name,
                                            std::size_t bytes_max, const char* call) {
  const std::pair key{from, tag_of(name)};
  const wait_description what{call, me.shared->world->context, from, key.second, 0};
  const auto take_kept = [&]() -> std::vector<std::byte> {
    const auto at = std::ranges::find_if(
        kept_, [&](const message& m) { return m.from == from && m.name == name; });
    std::vector<std::byte> data = std::move(at->data);
    kept_.erase(at);
    return data;
  };
  me.home->wait_until([&] { return has_kept(from, name) || !heard_.contains(key); }, what);
  if (has_kept(from, name)) return take_kept();
  struct hearing {
    std::set<std::pair<int, int>>& in;
    std::pair<int, int> key;
    ~hearing() { in.erase(key); }
  } const now{heard_, key};
  heard_.insert(key);
  const envelope wanted{named_context, from, key.second};
  for (;;) {
    title first{};
    std::vector<std::byte> data;
    control_messages with(me, what, lengths::any);
    with.receive(me, wanted, std::as_writable_bytes(std::span(&first, 1)));
    with.wait();
    if (first.name_bytes > named_bytes_max || first.data_bytes > bytes_max)
      throw error(formatted(
          "{}: rank {} sends a name of {} bytes and {} bytes: at most {} and {} are right", call,
          from, first.name_bytes, first.data_bytes, named_bytes_max, bytes_max));
    data.resize(first.data_bytes);
    with.receive(me, wanted, data);
    with.wait();
    const std::string_view came(first.name.data(), first.name_bytes);
    if (came == name) return data;
    if (kept_.size() == kept_max)
      throw error(formatted("{}: {} messages of rank {} are for names that nobody waits for", call,
                            kept_max, from));
    kept_.push_back({from, std::string(came), std::move(data)});
  }
}

void send_named(rank_state& me, int to, std::string_view name, std::span<const std::byte> data,
                const char* call) {
  title first{};
  first.name_bytes = static_cast<std::uint32_t>(name.size());
  first.data_bytes = static_cast<std::uint32_t>(data.size());
  std::memcpy(first.name.data(), name.data(), name.size());
  const envelope from{named_context, me.number, tag_of(name)};
  const wait_description what{call, me.shared->world->context, to, from.tag, 0};
  control_messages with(me, what, lengths::any);
  const peer& there = me.shared->world->to(to);
  with.send(there, to, from, std::as_bytes(std::span(&first, 1)).first(title_bytes + name.size()));
  with.send(there, to, from, data);
  with.wait();
}

}  // namespace weft::detail
