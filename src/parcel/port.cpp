#include "parcel/port.hpp"

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::detail {
namespace {

constexpr const parcelport_maker* makers[] = {
    &lci_parcelport,
    &lci_variant_parcelports,
    &tcp_parcelport,
    &mpi_parcelports,
};

}  // namespace

wait_description waits_at(const char* call, int process) noexcept {
  wait_description what;
  what.call = call;
  what.peer = process;
  return what;
}

void begin_own_work(worker& here) {
  here.owner().expect_network_work();
  remote::uncounted_messages(here).leave_for(remote::port::of(here).owner().process());
}

void end_own_work(worker& here) noexcept {
  remote::uncounted_messages(here).have_come_from(remote::port::of(here).owner().process());
  here.owner().end_network_work();
}

void end_chunks(chunked_task& then, bool have_come) noexcept {
  task_source* const tasks = have_come ? task_source::here_or_null() : nullptr;
  if (tasks != nullptr && !tasks->home().is_shared()) [[likely]]
    tasks->submit(then, priority::normal);
  else
    then.abandon(then);
}

void let_workers_look(const parcelport_site& site, poller& at) {
  site.between.at(0).keep_trying(
      [](worker& here, void* to) {
        task_source::look_everywhere_at(here, *static_cast<poller*>(to));
        return true;
      },
      &at);
}

parcelport_name parcelport_name::of(std::string_view text) {
  parcelport_name read;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) read.detail = text.substr(colon + 1);
  std::string_view kind = text.substr(0, colon);
  read.is_immediate = kind.ends_with("_i");
  if (read.is_immediate) kind.remove_suffix(2);
  read.kind = kind;
  return read;
}

std::unique_ptr<parcelport> make_parcelport(const parcelport_name& name,
                                            const parcelport_site& site) {
  // Only messages of the core are sealed.
  if (const std::string& secure = site.between.options().secure;
      name.kind.substr(0, 3) != "lci" && (secure == "authenticate" || secure == "encrypt"))
    throw error(formatted(
        "parcelport {} carries parcels as they are, and --secure {} asks for more; use lci_i or another "
        "one of lci, or --secure off",
        name.kind, secure));
  for (const parcelport_maker* const one : makers)
    if (one->knows(name.kind)) return one->make(name, site);
  throw error(formatted(
      "parcelport {}: this weft was built without it; use lci_i or another that docs/parcels.md lists",
      name.kind));
}

}  // namespace weft::detail
