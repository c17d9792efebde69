#include "comm/endpoints.hpp"

#include "base/format.hpp"
#include "weft/error.hpp"

namespace weft::comm {

runtime::endpoint_maker default_endpoints(weft::bootstrap& job, const runtime_options& how) {
  (void)job;
  throw error(formatted("no transport \"{}\" in this build", how.transport));
}

}  // namespace weft::comm
