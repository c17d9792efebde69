// Compiled instead of this directory's other files when libfabric was not found.
#include "transport/ofi/ofi.hpp"
#include "weft/error.hpp"

namespace weft {

std::unique_ptr<transport> make_ofi_transport(const ofi_options&) {
  throw error(
      "this weft was built without libfabric and has no network transport; install libfabric-dev "
      "and build it again");
}

std::vector<ofi_provider> ofi_providers() {
  return {};
}

}  // namespace weft
