#include "parcel/lci/lci_port.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "task/task_source.hpp"

namespace weft::detail {
namespace {

std::unique_ptr<parcelport> make(const parcelport_name&, const parcelport_site& site) {
  return std::make_unique<lci_port>(site);
}

}  // namespace

const parcelport_maker lci_parcelport{[](std::string_view kind) noexcept { return kind == "lci"; },
                                      &make};

lci_port::lci_port(const parcelport_site& site)
    : receiver_(site.receiver), between_(site.between), shares_(between_.devices().size()) {
  // First it expects work, or this process could say that it has ended with this message, which is yet to become work.
  remote::handlers handlers = site.handlers;
  handler_ =
      handlers.add<&lci_port::on_message, remote::message_form{}, &parcel_receiver::expect_work>(
          *this);
}

void lci_port::on_message(worker& here, const comm::event& happened) {
  bool& delivers = shares_[static_cast<std::size_t>(here.index())].delivers;
  delivers = true;
  receiver_.deliver(here, {happened.process, happened.device}, happened.bytes());
  delivers = false;
}

void lci_port::refuse(worker& here, const message_origin& from, const char* why) noexcept {
  remote::refuse(here, comm::address{from.process, from.port}, why);
}

comm::address lci_port::address_of(const worker& here, int process, int to_port) const noexcept {
  if (to_port >= 0) return {process, to_port};
  return {process, here.index() % between_.device_count(process)};
}

// What lives until all parts of a parcel have left. Its worker's own.
struct lci_port::sending {
  std::uint32_t left = 1;
  kept_values* kept;
  std::unique_ptr<std::byte[]> heap;

  void leave(bool workers_run) noexcept {
    if (--left != 0) return;
    if (kept != nullptr) kept->free(*kept);
    free_pooled(this);
    if (worker* const here = worker::current(); workers_run && here != nullptr) end_own_work(*here);
  }
  static void on_sent(void* self, const comm::event& happened) noexcept {
    static_cast<sending*>(self)->leave(happened.result != comm::outcome::canceled);
  }
};

void lci_port::send_at_once(worker& here, int process, int to_port,
                            std::span<const std::byte> bytes) noexcept {
  const remote::port mine = remote::port::of(here);
  comm::am made;
  made.to = address_of(here, process, to_port);
  made.handler = handler_;
  made.data = bytes;
  if (bytes.size() > mine.eager_bytes_max(made.to.process, made.to.device)) [[unlikely]]
    return send_copy(here, made, bytes);
  mine.send(made);
}

// It leaves when the receiver asks for it.
void lci_port::send_copy(worker& here, comm::am& what, std::span<const std::byte> bytes) noexcept {
  sending* all = nullptr;
  try {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    all = make_pooled<sending>();
    all->heap = std::move(copy);
  } catch (const std::bad_alloc&) {
    return between_.mark_failed(what.to.process,
                                "there is no memory for an answer that is to go there");
  }
  all->kept = nullptr;
  begin_own_work(here);
  what.data = std::span<const std::byte>(all->heap.get(), bytes.size());
  what.local = comm::completion(&sending::on_sent, all);
  if (remote::port::of(here).start(what) != status::posted) all->leave(true);
}

bool lci_port::send(worker& here, outgoing_parcel& what) {
  const remote::port mine = remote::port::of(here);
  const comm::address to = address_of(here, what.process, what.port);
  if (!what.chunks.empty() || what.bytes.size() > mine.eager_bytes_max(to.process, to.device))
      [[unlikely]]
    return send_parts(here, to, what);
  comm::am made;
  made.to = to;
  made.handler = handler_;
  made.data = std::span<const std::byte>(what.bytes);
  const struct until_left {
    kept_values* kept;
    ~until_left() {
      if (kept != nullptr) kept->free(*kept);
    }
  } leaves_at_once{what.kept};
  return mine.send_in_wait(here, made, [&] { return waits_at(waits_for_room, what.process); }) !=
         status::failed;
}

bool lci_port::send_parts(worker& here, const comm::address& to, outgoing_parcel& what) {
  const remote::port mine = remote::port::of(here);
  auto* const all = make_pooled<sending>();
  all->kept = std::exchange(what.kept, nullptr);
  all->heap = std::move(what.heap);
  begin_own_work(here);
  const struct leaving {
    sending& of;
    ~leaving() { of.leave(true); }
  } at_the_end{*all};
  const bool is_long = what.bytes.size() > mine.eager_bytes_max(to.process, to.device);
  if (is_long && all->heap == nullptr) {
    all->heap = std::make_unique_for_overwrite<std::byte[]>(what.bytes.size());
    std::memcpy(all->heap.get(), what.bytes.data(), what.bytes.size());
    what.bytes = {all->heap.get(), what.bytes.size()};
  }
  std::uint64_t tag = 0;
  if (!what.chunks.empty()) {
    std::uint64_t& next = shares_[static_cast<std::size_t>(here.index())].chunks_sent;
    tag = static_cast<std::uint64_t>(here.index()) << 48 | next;
    next += what.chunks.size();
    std::byte* const word =
        what.bytes.data() + what.bytes.size() - (1 + what.chunks.size()) * sizeof tag;
    std::memcpy(word, &tag, sizeof tag);
  }
  const auto posted = [&](const auto& operation) {
    // Counted as under way from before the post, which may complete it.
    ++all->left;
    status said = status::failed;
    try {
      said =
          mine.send_in_wait(here, operation, [&] { return waits_at(waits_for_room, to.process); });
    } catch (...) {
      --all->left;
      throw;
    }
    if (said != status::posted) --all->left;
    return said != status::failed;
  };
  const comm::completion on_sent(&sending::on_sent, all);
  comm::am header;
  header.to = to;
  header.handler = handler_;
  header.data = std::span<const std::byte>(what.bytes);
  if (is_long) header.local = on_sent;
  if (!posted(header)) return false;
  for (const parcel_chunk& one : what.chunks) {
    comm::send chunk;
    chunk.to = to;
    chunk.data = std::span<const std::byte>(one.data, one.size);
    chunk.tag = tag++;
    chunk.local = on_sent;
    if (!posted(chunk)) return false;
  }
  return true;
}

// What waits for the chunks of a parcel. Its worker's own.
struct lci_port::receiving {
  scheduler* workers;
  chunked_task* then;
  int process;
  std::uint32_t left = 1;
  bool is_broken = false;

  void leave(bool workers_run) noexcept {
    if (--left != 0) return;
    scheduler& at = *workers;
    chunked_task& next = *then;
    const bool complete = !is_broken;
    free_pooled(this);
    end_chunks(next, complete && workers_run);
    if (workers_run) at.end_network_work();
  }
  void on_one(const comm::event& happened) noexcept {
    if (happened.result != comm::outcome::complete) is_broken = true;
    // Counts as work until it has left: see on_message().
    if (worker* const here = worker::current(); here != nullptr)
      remote::uncounted_messages(*here).have_come_from(process);
  }
  static void on_received(void* self, const comm::event& happened) noexcept {
    auto& mine = *static_cast<receiving*>(self);
    mine.on_one(happened);
    mine.leave(happened.result != comm::outcome::canceled);
  }
};

void lci_port::receive(worker& here, int process, std::uint64_t word,
                       std::span<const std::span<std::byte>> places, chunked_task& then) {
  const bool in_progress = shares_[static_cast<std::size_t>(here.index())].delivers;
  auto* const all = make_pooled<receiving>();
  all->workers = &here.owner();
  all->then = &then;
  all->process = process;
  here.owner().expect_network_work();
  const struct leaving {
    receiving& of;
    ~leaving() { of.leave(true); }
  } at_the_end{*all};
  const remote::port mine = remote::port::of(here);
  for (std::size_t i = 0; i < places.size(); ++i) {
    comm::event result;
    comm::recv one;
    one.from = process;
    one.data = places[i];
    one.tag = word + i;
    one.local = comm::completion(&receiving::on_received, all);
    one.result = &result;
    one.allow.retry = !in_progress;
    ++all->left;
    status said = status::failed;
    try {
      said = mine.receive_in_wait(
          here, one, [&] { return waits_at("receiving a parcel, for room", process); });
    } catch (...) {
      --all->left;
      all->is_broken = true;
      throw;
    }
    if (said == status::posted) continue;
    --all->left;
    if (said == status::done)
      all->on_one(result);
    else
      all->is_broken = true;
  }
}

}  // namespace weft::detail
