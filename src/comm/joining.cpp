// Ways to processes of other jobs, which are added while the device runs. They have transports of their own, which connect
// the endpoints of both jobs by one table; so nothing changes of the ways within the job.
#include "comm/joining.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
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
  // All are found before any is kept: the ways go when one is missing.
  struct found_peer {
    std::uint32_t number, at;
    joined_channel* route;
  };
  std::vector<found_peer> found;
  for (std::uint32_t at = 0; at < places.size(); ++at) {
    if (!is_of_other_job(places[at].process)) continue;
    const std::uint32_t number = shared_.endpoint_of(places[at]);
    if (number == no_endpoint) throw error("an endpoint of another job has no number");
    const auto route =
        std::ranges::find_if(ways, [&](const auto& w) { return w->to->reaches(at); });
    if (route == ways.end()) {
      std::string tried;
      for (const auto& way : ways)
        tried += formatted("{}{}", tried.empty() ? "" : " and ", way->traits.name);
      throw error(formatted(
          "process {} does not reach a process of the other job by {}: is there a network between their hosts? "
          "--transport ofi (WEFT_TRANSPORT) of both jobs makes one",
          shared_.process, tried));
    }
    found.push_back({number, at, route->get()});
  }
  for (const found_peer& one : found) {
    while (peers_.size() <= one.number) {
      peer_state& next = peers_.emplace_back();
      next.number = static_cast<std::uint32_t>(peers_.size() - 1);
      next.who = {-1, 0};
    }
    peer_state& peer = peers_[one.number];
    peer.who = places[one.at];
    peer.way = one.at;
    peer.route = one.route;
    one.route->numbers[one.at] = one.number;
    one.route->to->watch_peer(one.at);
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

struct offer {
  std::string_view name;
  protection protects = protection::none;
  std::string_view address;
};

std::vector<offer> offers_in(std::string_view text) {
  std::vector<offer> all;
  while (!text.empty()) {
    offer& one = all.emplace_back();
    one.name = take(text);
    const std::string_view protects = take(text);
    if (protects.size() != 1 ||
        static_cast<unsigned char>(protects[0]) > static_cast<unsigned char>(protection::encrypt))
      throw error("the other job says of its transport what makes no sense");
    one.protects = static_cast<protection>(protects[0]);
    one.address = take(text);
  }
  return all;
}

std::string names_of(const std::vector<offer>& all) {
  std::string names;
  for (const offer& one : all) names += formatted("{}{}", names.empty() ? "" : " and ", one.name);
  return names.empty() ? "none" : names;
}

const char* name_of(protection how) {
  return how == protection::encrypt ? "encrypt" : how == protection::none ? "off" : "authenticate";
}

}  // namespace

offered_endpoints::offered_endpoints(device& of) : of_(of) {}

offered_endpoints::~offered_endpoints() = default;

void offered_endpoints::make(bool beyond_host) {
  const runtime::state& shared = of_.owner().internals();
  if (beyond_host && shared.make_endpoints_beyond_host) try {
      made_ = shared.make_endpoints_beyond_host(of_.index());
    } catch (const std::exception& e) {
      if (shared.options.transport != "auto") throw;
      // The other job may be on this host all the same.
      no_network_ = e.what();
    }
  if (made_.empty()) made_ = shared.make_endpoints(of_.index());
  for (const auto& each : made_) {
    const std::vector<std::byte> bytes = each->address();
    const char protects = static_cast<char>(each->traits().protects);
    add(text_, each->traits().name);
    add(text_, {&protects, 1});
    add(text_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

void offered_endpoints::connect(std::span<const joined_endpoint> all, std::size_t self) {
  std::vector<std::vector<offer>> offers;
  std::vector<address> places;
  for (const joined_endpoint& one : all) {
    offers.push_back(offers_in(one.offer));
    places.push_back(one.place);
  }
  // Those that all have.
  std::vector<std::unique_ptr<transport>> ways;
  std::vector<std::vector<std::vector<std::byte>>> addresses;
  const std::vector<offer>* lacking = nullptr;
  for (auto& each : made_) {
    std::vector<std::vector<std::byte>> of_all;
    for (const std::vector<offer>& theirs : offers) {
      const auto same = std::ranges::find(theirs, each->traits().name, &offer::name);
      if (same == theirs.end()) {
        lacking = &theirs;
        break;
      }
      if (same->protects != each->traits().protects)
        throw error(formatted(
            "one of the two jobs has secure {}, and the other one {}: start both with the same --secure (WEFT_SECURE)",
            name_of(each->traits().protects), name_of(same->protects)));
      const auto* const begin = reinterpret_cast<const std::byte*>(same->address.data());
      of_all.emplace_back(begin, begin + same->address.size());
    }
    if (of_all.size() != offers.size()) continue;
    ways.push_back(std::move(each));
    addresses.push_back(std::move(of_all));
  }
  if (ways.empty())
    throw error(formatted(
        "the two jobs use other transports, {} and {}: start both with the same --transport (WEFT_TRANSPORT)",
        names_of(offers[self]), lacking == nullptr ? "none" : names_of(*lacking)));
  try {
    static_cast<local_device&>(of_).join(std::move(ways), addresses, places,
                                         static_cast<std::uint32_t>(self));
  } catch (const error& e) {
    if (no_network_.empty()) throw;
    throw error(formatted("{}; here none can be used: {}", e.what(), no_network_));
  }
}

}  // namespace weft::comm
