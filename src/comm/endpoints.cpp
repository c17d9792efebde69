#include "comm/endpoints.hpp"

#include <optional>
#include <string_view>

#include "base/format.hpp"
#include "transport/mpi/mpi.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/shm/shm.hpp"
#include "weft/error.hpp"

namespace weft::comm {

namespace {

bool has_several_nodes(weft::bootstrap& job) {
  for (int p = 1; p < job.process_count(); ++p)
    if (job.node_of(p) != job.node_of(0)) return true;
  return false;
}

// Nothing: what the network needs.
std::optional<protection> protection_of(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (word == "off") return protection::none;
  if (word == "authenticate") return protection::authenticate;
  if (word == "encrypt") return protection::encrypt;
  throw error(formatted(
      "secure is \"{}\" (WEFT_SECURE, runtime_options::secure); it may be auto, off, authenticate or "
      "encrypt",
      word));
}

// "ofi:tcp@eth0": the kind of transport, and after the colon which one of its kind.
std::unique_ptr<transport> make_endpoint(weft::bootstrap& job, std::string_view name,
                                         bool with_accelerators, bool stays_on_host,
                                         std::optional<protection> protects) {
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const std::string_view which =
      colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  if (kind == "shm") return make_shm_transport({.job = job.job_id()});
  if (kind == "ofi") {
    ofi_options how = parse_ofi_options(which);
    how.with_accelerators = with_accelerators;
    how.stays_on_host = stays_on_host;
    how.protects = protects;
    return make_ofi_transport(how);
  }
  if (kind == "mpi") {
    if (protects.value_or(protection::none) != protection::none)
      throw error(formatted(
          "an MPI carries messages as they are: with --transport {} they are not {}; take --transport "
          "ofi, or --secure off",
          name, *protects == protection::encrypt ? "encrypted" : "authenticated"));
    return make_mpi_transport(which);
  }
  throw error(
      formatted("there is no transport \"{}\" between processes; WEFT_TRANSPORT "
                "(runtime_options::transport) may be auto, shm, ofi, mpi or ofi:PROVIDER",
                name));
}

}  // namespace

runtime::endpoint_maker default_endpoints(weft::bootstrap& job, const runtime_options& how,
                                          bool beyond_host) {
  const bool stays_on_host = !beyond_host && !has_several_nodes(job);
  std::vector<std::string> names;
  if (how.transport != "auto") {
    names = {how.transport};
  } else {
    names = {"shm"};
    if (!stays_on_host) names.emplace_back("ofi");
  }
  return [&job, names, with_accelerators = how.accelerator != nullptr, stays_on_host,
          protects = protection_of(how.secure)](int) {
    std::vector<std::unique_ptr<transport>> made;
    for (const std::string& name : names)
      made.push_back(make_endpoint(job, name, with_accelerators, stays_on_host, protects));
    return made;
  };
}

}  // namespace weft::comm
