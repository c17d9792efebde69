// Set-up, registered memory and sleeping; the data path is in sending.cpp and receiving.cpp.
#include "transport/ofi/endpoint.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/accelerator.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

bool is_epoll_set(int descriptor) {
  std::array<char, 64> target = {};
  const std::string link = formatted("/proc/self/fd/{}", descriptor);
  return ::readlink(link.c_str(), target.data(), target.size() - 1) > 0 &&
         std::string_view(target.data()) == "anon_inode:[eventpoll]";
}

}  // namespace

std::unique_ptr<transport> make_ofi_transport(const ofi_options& options) {
  return std::make_unique<ofi_transport>(options);
}

ofi_transport::file_descriptor::~file_descriptor() {
  if (number_ >= 0) ::close(number_);
}

ofi_transport::ofi_transport(const ofi_options& options) : info_(choose_fabric(options)) {
  place_ = this_process();
  const protection protects = options.protects.value_or(
      isolates_users(*info_) ? protection::none : protection::authenticate);
  if (protects == protection::none) {
    key_ = keys_.next();
  } else {
    keys_for_seals_.emplace();
    envelope_bytes_ = sizeof(ofi_sealed_envelope);
    head_bytes_ = envelope_bytes_ + sizeof(wire_header);
  }
  open_fabric();
  const bool is_local = (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
  fid_domain* const registering = is_local ? domain_.get() : nullptr;
  const std::size_t longest = longest_message();
  packets_.emplace(operation_kind::send, ofi_packets_max, ofi_packet_bytes, registering, keys_);
  large_packets_.emplace(operation_kind::send, ofi_large_packets_max, longest, registering, keys_);
  remotes_.emplace(operation_kind::remote, ofi_remote_operations_max, 0, nullptr, keys_);
  buffers_.emplace(operation_kind::receive, std::min(ofi_receive_buffers, info_->rx_attr->size),
                   longest, registering, keys_);
  buffer_count_ = buffers_->all().size();
  unposted_.reserve(buffer_count_);
  // An injection that fails does so in silence. Over tcp a connection may break at any time.
  if (!is_tcp(*info_)) inject_bytes_ = std::min(info_->tx_attr->inject_size, ofi_packet_bytes);

  // What others could guess opens nothing: data go as messages then, which carry the endpoint's key.
  completes_at_peer_ = (info_->caps & FI_RMA) != 0;
  const bool has_rma = completes_at_peer_ && keys_are_ours() && !is_sealed();
  detail_ = formatted("{} on {}", provider_name(*info_), domain_name(*info_));
  traits_ = {.name = "ofi",
             .detail = detail_,
             .message_bytes_max = longest - head_bytes_,
             .inject_bytes_max = std::min(ofi_packet_bytes, longest) - head_bytes_,
             .can_put = has_rma,
             .can_get = has_rma,
             .can_tell_put = has_rma && info_->domain_attr->cq_data_size >= sizeof(std::uint64_t),
             .needs_registration = is_local,
             .registers_accelerators = has_rma && (info_->caps & FI_HMEM) != 0,
             .registration_opens = has_rma,
             .protects = protects,
             .sleep_ns_max = has_descriptor_ ? ofi_watch_ns : ofi_blind_sleep_ns};
  watch_ticks_ = static_cast<std::uint64_t>(static_cast<double>(ofi_watch_ns) / ns_per_tick());
  post_receives();
}

// The layer ofi_rxm cuts longer ones into segments, and in libfabric 1.17 loses track of them when several
// peers send at once. Others still it announces, and has them fetched by keys that it counts: anybody's.
std::size_t ofi_transport::longest_message() const {
  const bool is_layered = provider_name(*info_).ends_with(";ofi_rxm");
  std::size_t longest = std::min(is_layered ? ofi_rxm_message_bytes : ofi_message_bytes,
                                 info_->ep_attr->max_msg_size);
  std::size_t eager = 0, size = sizeof eager;
  if (is_layered &&
      fi_getopt(&endpoint_->fid, FI_OPT_ENDPOINT, FI_OPT_BUFFERED_LIMIT, &eager, &size) == 0)
    longest = std::min(longest, eager);
  if (longest < ofi_packet_bytes)
    throw error(
        formatted("messages over {} have {} bytes at most, and weft needs {}; is "
                  "FI_OFI_RXM_BUFFER_SIZE set?",
                  provider_name(*info_), longest, ofi_packet_bytes));
  return longest;
}

void ofi_transport::open_fabric() {
  fi_info& info = *info_;
  // Asked for where it was a question of having it; from here on each operation says it itself.
  info.tx_attr->op_flags = 0;
  fid_fabric* fabric = nullptr;
  check_fabric(libfabric().fabric(info.fabric_attr, &fabric, nullptr), "fi_fabric", &info);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check_fabric(fi_domain(fabric, &info, &domain, nullptr), "fi_domain", &info);
  domain_.reset(domain);
  fi_av_attr table = {};
  table.type = info.domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info.domain_attr->av_type;
  fid_av* addresses = nullptr;
  check_fabric(fi_av_open(domain, &table, &addresses, nullptr), "fi_av_open", &info);
  addresses_.reset(addresses);

  open_queue();
  fid_cq* const queue = queue_.get();

  fid_ep* endpoint = nullptr;
  check_fabric(fi_endpoint(domain, &info, &endpoint, nullptr), "fi_endpoint", &info);
  endpoint_.reset(endpoint);
  check_fabric(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind", &info);
  check_fabric(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind", &info);
  check_fabric(fi_enable(endpoint), "fi_enable", &info);
  open_sleeper();
}

void ofi_transport::open_queue() {
  fi_cq_attr attributes = {};
  attributes.size =
      ofi_packets_max + ofi_large_packets_max + ofi_remote_operations_max + 2 * ofi_receive_buffers;
  attributes.format = FI_CQ_FORMAT_DATA;
  fid_cq* queue = nullptr;
  int result = -FI_ENOSYS;
  // Without a descriptor to sleep on, whoever sleeps looks now and then.
  for (const fi_wait_obj wait : {has_own_tcp(*info_) ? FI_WAIT_POLLFD : FI_WAIT_FD, FI_WAIT_NONE}) {
    attributes.wait_obj = wait;
    result = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
    if (result == 0) break;
  }
  check_fabric(result, "fi_cq_open", info_.get());
  queue_.reset(queue);
  wait_object_ = attributes.wait_obj;
}

// The descriptors that become readable when libfabric's queue may have something.
std::vector<int> ofi_transport::queue_descriptors() const {
  if (wait_object_ == FI_WAIT_FD) {
    int descriptor = -1;
    if (fi_control(&queue_->fid, FI_GETWAIT, &descriptor) == 0) return {descriptor};
  }
  if (wait_object_ != FI_WAIT_POLLFD) return {};
  // Of libfabric's tcp: the sockets, in an epoll set, and a bell of its own, which it leaves
  // ringing after the first completion. Nobody but this thread makes progress, so the sockets are
  // enough.
  // The set joins the list when somebody waits for the first time, and libfabric does not begin to
  // wait when the time is up by then, be it that this thread was kept from running.
  std::vector<int> sets;
  for (int wait_ms = 1; sets.empty() && wait_ms <= ofi_first_wait_ms_max; wait_ms *= 2) {
    fi_cq_data_entry entry;
    (void)fi_cq_sread(queue_.get(), &entry, 1, nullptr, wait_ms);
    std::array<pollfd, 8> list = {};
    fi_wait_pollfd all = {};
    all.nfds = list.size();
    all.fd = list.data();
    if (fi_control(&queue_->fid, FI_GETWAIT, &all) != 0) return {};
    for (std::size_t i = 0; i < std::min<std::size_t>(all.nfds, list.size()); ++i)
      if (is_epoll_set(list[i].fd)) sets.push_back(list[i].fd);
  }
  return sets;
}

void ofi_transport::open_sleeper() {
  alarm_ = file_descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  sleeper_ = file_descriptor(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<int> descriptors = queue_descriptors();
  has_descriptor_ = !descriptors.empty();
  descriptors.push_back(alarm_.get());
  epoll_event readable = {};
  readable.events = EPOLLIN;
  for (const int descriptor : descriptors)
    if (::epoll_ctl(sleeper_.get(), EPOLL_CTL_ADD, descriptor, &readable) != 0)
      throw error(formatted("no descriptors to sleep on: {}", std::strerror(errno)));
}

void ofi_transport::post_receives() {
  while (operation* const buffer = buffers_->take()) {
    const long result = give_to_provider(*buffer);
    if (result == -FI_EAGAIN)
      unposted_.push_back(buffer);
    else
      check_fabric(result, "fi_recv", info_.get());
  }
}

std::vector<std::byte> ofi_transport::address() const {
  ofi_address mine;
  mine.provider = provider_name(*info_);
  mine.format = info_->addr_format;
  mine.is_host_local = is_host_local(*info_);
  mine.place = place_;
  mine.key = key_;
  if (is_sealed()) mine.sealing = keys_for_seals_->told();
  std::size_t size = 0;
  const int result = fi_getname(&endpoint_->fid, nullptr, &size);
  if (result != -FI_ETOOSMALL) check_fabric(result, "fi_getname", info_.get());
  mine.bytes.resize(size);
  check_fabric(fi_getname(&endpoint_->fid, mine.bytes.data(), &size), "fi_getname", info_.get());
  return mine.packed();
}

void ofi_transport::connect(std::span<const std::vector<std::byte>> addresses, std::uint32_t self) {
  WEFT_ASSERT(peers_.empty() && self < addresses.size());
  self_ = self;
  peers_ = std::vector<peer_state>(addresses.size());
  peer_addresses_.resize(addresses.size());
  known_.reserve(addresses.size());
  failures_.reserve(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].empty()) continue;
    auto address = ofi_address::unpacked(addresses[i]);
    if (!address)
      throw error(
          formatted("endpoint {} gave an address that is not one of this transport; do all "
                    "processes run the same version of weft?",
                    i));
    const bool is_same_net =
        address->provider == provider_name(*info_) && address->format == info_->addr_format;
    const bool is_local = address->is_host_local || is_host_local(*info_);
    const bool is_near =
        address->place.host == place_.host && address->place.network == place_.network;
    if (!is_same_net || (is_local && !is_near)) continue;
    check_fabric(fi_av_insert(addresses_.get(), address->bytes.data(), 1, &peers_[i].address, 0,
                              nullptr) == 1
                     ? 0
                     : -FI_EADDRNOTAVAIL,
                 "fi_av_insert", info_.get());
    peers_[i].key = address->key;
    peer_addresses_[i] = *std::move(address);
  }
  watched_at_ = ticks();
}

bool ofi_transport::keys_are_ours() const noexcept {
  return (info_->domain_attr->mr_mode & FI_MR_PROV_KEY) == 0 &&
         info_->domain_attr->mr_key_size >= sizeof(std::uint64_t);
}

memory_region ofi_transport::register_memory(std::span<std::byte> memory, peer_access peers) {
  fi_mr_attr how = {};
  how.iface = FI_HMEM_SYSTEM;
  return registered(memory, peers, how);
}

memory_region ofi_transport::register_memory_of(const accelerator& owner,
                                                std::span<std::byte> memory, peer_access peers) {
  const accelerator::fabric_name name = owner.named_by_fabric(memory.data());
  if (name.interface < 0)
    throw error(formatted("libfabric does not know the memory of {}", owner.name()));
  fi_mr_attr how = {};
  how.iface = static_cast<fi_hmem_iface>(name.interface);
  static_assert(sizeof how.device == sizeof name.device);
  std::memcpy(&how.device, &name.device, sizeof how.device);
  return registered(memory, peers, how);
}

// `how` says whose memory it is.
memory_region ofi_transport::registered(std::span<std::byte> memory, peer_access peers,
                                        const fi_mr_attr& how) {
  memory_region region{.begin = memory.data(), .size = memory.size(), .key = {}, .handle = nullptr};
  region.key.words[2] = memory.size();
  if (memory.empty() || !traits_.can_put) return region;
  // Of the processor's memory, for this endpoint alone, most providers need to know nothing.
  if (peers == peer_access::none && !traits_.needs_registration && how.iface == FI_HMEM_SYSTEM)
    return region;
  fid_mr* handle = nullptr;
  const iovec bytes = {memory.data(), memory.size()};
  fi_mr_attr wanted = how;
  wanted.mr_iov = &bytes;
  wanted.iov_count = 1;
  wanted.access = FI_READ | FI_WRITE | (allows(peers, peer_access::read) ? FI_REMOTE_READ : 0) |
                  (allows(peers, peer_access::write) ? FI_REMOTE_WRITE : 0);
  wanted.requested_key = keys_.next();
  const int result = fi_mr_regattr(domain_.get(), &wanted, 0, &handle);
  // A provider for accelerators, in a libfabric that was built without this one.
  if (result == -FI_ENOSYS && how.iface != FI_HMEM_SYSTEM) traits_.registers_accelerators = false;
  check_fabric(result, "fi_mr_regattr", info_.get());
  fabric_handle<fid_mr> owner(handle);
  if ((info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    check_fabric(fi_mr_bind(handle, &endpoint_->fid, 0), "fi_mr_bind", info_.get());
    check_fabric(fi_mr_enable(handle), "fi_mr_enable", info_.get());
  }
  region.key.words[0] = fi_mr_key(handle);
  region.key.words[1] = reinterpret_cast<std::uintptr_t>(memory.data());
  region.handle = owner.release();
  return region;
}

void ofi_transport::deregister(memory_region& region) noexcept {
  if (region.handle != nullptr) fi_close(&static_cast<fid_mr*>(region.handle)->fid);
  region = {};
}

bool ofi_transport::arm() noexcept {
  // Without any buffer nothing rings: see watch().
  if (is_marked_.load(std::memory_order_relaxed) || !failures_.empty() || early_ ||
      first_to_self_ != nullptr || has_no_buffer_posted())
    return false;
  // libfabric's own answer does not cover what it has already taken out of a socket.
  fi_cq_data_entry entry;
  const ssize_t found = fi_cq_read(queue_.get(), &entry, 1);
  if (found == 1) early_ = entry;
  if (found != -FI_EAGAIN) return false;
  fid* queue = &queue_->fid;
  return !has_descriptor_ || fi_trywait(fabric_.get(), &queue, 1) == FI_SUCCESS;
}

void ofi_transport::disarm() noexcept {
  std::uint64_t rings = 0;
  [[maybe_unused]] const ssize_t size = ::read(alarm_.get(), &rings, sizeof rings);
}

}  // namespace weft
