// libfabric's objects as values that close themselves, and the choice of a provider.
#pragma once
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/ofi/ofi.hpp"

namespace weft {

// The library itself, loaded when it is first needed: it loads those of all its providers, which
// takes a quarter of a second that most jobs need not spend. The rest of its interface are inline
// functions over tables. Throws weft::error when it is not installed.
struct fabric_library {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) fabric;
  decltype(&::fi_strerror) strerror;
};
[[nodiscard]] const fabric_library& libfabric();

struct fabric_closer {
  template <class Object>
  void operator()(Object* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class Object>
using fabric_handle = std::unique_ptr<Object, fabric_closer>;

struct fabric_info_free {
  void operator()(fi_info* info) const noexcept { libfabric().freeinfo(info); }
};
using fabric_info = std::unique_ptr<fi_info, fabric_info_free>;

// Throws weft::error with libfabric's own words when `result` is an error. `what` is the function.
void check_fabric(long result, const char* what, const fi_info* info = nullptr);

[[nodiscard]] std::string_view provider_name(const fi_info& info);
[[nodiscard]] std::string_view domain_name(const fi_info& info);

// An address of this machine that means nothing to others: 127.0.0.1, or a name in shared memory.
[[nodiscard]] bool is_host_local(const fi_info& info);

// Data go through the kernel's TCP: by libfabric's own providers for it, whatever their name.
[[nodiscard]] bool is_tcp(const fi_info& info);

// Only processes that the network's own administration puts together reach each other: other users neither send to an
// endpoint nor see what goes there. What is not known to be so is not.
[[nodiscard]] bool isolates_users(const fi_info& info);

// TCP without a layer above it: "net" of libfabric 1.17, "tcp" of later ones.
[[nodiscard]] bool has_own_tcp(const fi_info& info);

// The best of what fits the options. Throws weft::error that lists what there is when nothing does.
[[nodiscard]] fabric_info choose_fabric(const ofi_options& options);

}  // namespace weft
