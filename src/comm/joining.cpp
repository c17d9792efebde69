// Ways to processes of other jobs, which are added while the device runs. They have transports of their own, which connect
// the endpoints of both jobs by one table; so nothing changes of the ways within the job.
#include "comm/joining.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/format.hpp"
#include "comm/device.hpp"
#include "comm/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::comm {

bool local_device::is_of_other_job(int process) const noexcept {
  return process >= shared_.process_count;
}

void local_device::joined_channel::delivered(std::uint32_t peer, const wire_header& header,
                                             std::span<const std::byte> payload) noexcept {
  owner.deliver(peer < numbers.size() ? numbers[peer] : no_endpoint, header, payload);
}

void local_device::joined_channel::peer_failed(std::uint32_t peer, const char* why) noexcept {
  if (peer < numbers.size() && numbers[peer] != no_endpoint)
    channel::peer_failed(numbers[peer], why);
}

void local_device::joined_channel::refused(std::uint32_t peer, const char* why) noexcept {
  if (peer < numbers.size() && numbers[peer] != no_endpoint) channel::refused(numbers[peer], why);
}

void local_device::join(std::vector<std::unique_ptr<transport>> made,
                        const std::vector<std::vector<std::vector<std::byte>>>& addresses,
                        std::span<const comm::address> places, std::uint32_t self) {
  const device_guard guard(lock_.get());
  std::vector<std::unique_ptr<joined_channel>> ways;
  for (std::size_t i = 0; i < made.size(); ++i) {
    auto& way = ways.emplace_back(std::make_unique<joined_channel>(*this, std::move(made[i])));
    way->index = static_cast<std::uint8_t>(i);
    way->is_joined = true;
    way->to->connect(addresses[i], self);
    learn(*way);
    if (accelerator_ != nullptr) {
      way->traits.inject_bytes_max = 0;
      staging_.resize(std::max(staging_.size(), way->traits.message_bytes_max));
    }
    way->numbers.assign(places.size(), no_endpoint);
  }
  for (std::uint32_t at = 0; at < places.size(); ++at) {
    if (!is_of_other_job(places[at].process)) continue;
    const std::uint32_t number = shared_.endpoint_of(places[at]);
    if (number == no_endpoint) throw error("an endpoint of another job has no number");
    while (peers_.size() <= number) {
      peer_state& next = peers_.emplace_back();
      next.number = static_cast<std::uint32_t>(peers_.size() - 1);
      next.who = {-1, 0};
    }
    peer_state& peer = peers_[number];
    peer.who = places[at];
    peer.way = at;
    for (const auto& way : ways) {
      if (peer.route != nullptr || !way->to->reaches(at)) continue;
      peer.route = way.get();
      way->numbers[at] = number;
    }
    if (peer.route == nullptr)
      throw error(formatted(
          "process {} does not reach a process of the other job by {}: is there a network between their hosts? "
          "--transport ofi (WEFT_TRANSPORT) of both jobs makes one",
          shared_.process, ways.empty() ? "any transport" : ways.front()->traits.name));
  }
  for (auto& way : ways) channels_.push_back(std::move(way));
  doorbells_.resize(channels_.size());
}

void local_device::leave_other_jobs_as_dead() noexcept {
  const device_guard guard(lock_.get());
  for (const auto& way : channels_)
    if (way->is_joined) way->to->leave_as_dead();
}

// --- Offers --------------------------------------------------------------------------------------

namespace {

// Lengths are four bytes.
void add(std::string& to, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  to.append(reinterpret_cast<const char*>(&size), sizeof size).append(bytes);
}
std::string_view take(std::string_view& from) {
  std::uint32_t size = 0;
  if (from.size() >= sizeof size) std::memcpy(&size, from.data(), sizeof size);
  if (from.size() < sizeof size || from.size() - sizeof size < size)
    throw error(
        "the other job has offered addresses that end in the middle; do both run the same version of weft?");
  const std::string_view taken = from.substr(sizeof size, size);
  from.remove_prefix(sizeof size + size);
  return taken;
}

}  // namespace

offered_endpoints::offered_endpoints(device& of)
    : of_(of), made_(of.owner().internals().make_endpoints(of.index())) {
  for (const auto& each : made_) {
    const std::vector<std::byte> bytes = each->address();
    add(text_, each->traits().name);
    add(text_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

offered_endpoints::~offered_endpoints() = default;

void offered_endpoints::connect(std::span<const joined_endpoint> all, std::size_t self) {
  std::vector<std::vector<std::vector<std::byte>>> addresses(made_.size());
  std::vector<address> places;
  for (const joined_endpoint& one : all) {
    std::string_view text = one.offer;
    for (std::size_t i = 0; i < made_.size(); ++i) {
      const std::string_view name = text.empty() ? std::string_view("nothing") : take(text);
      if (name != made_[i]->traits().name)
        throw error(formatted(
            "the two jobs use other transports, {} and {}: start both with the same --transport (WEFT_TRANSPORT)",
            made_[i]->traits().name, name));
      const std::string_view bytes = take(text);
      const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
      addresses[i].emplace_back(begin, begin + bytes.size());
    }
    if (!text.empty())
      throw error(
          "the other job uses more transports: start both with the same --transport (WEFT_TRANSPORT)");
    places.push_back(one.place);
  }
  static_cast<local_device&>(of_).join(std::move(made_), addresses, places,
                                       static_cast<std::uint32_t>(self));
}

}  // namespace weft::comm
