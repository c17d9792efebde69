// Which transports a device uses when nobody says otherwise.
#pragma once
#include "bootstrap/bootstrap.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::comm {

// Endpoints of `how.transport`: of shared memory and of the best network, or of the one that is
// named. The bootstrap and the options outlive what is returned. `beyond_host`: for others on any host, though the job
// itself be on one.
[[nodiscard]] runtime::endpoint_maker default_endpoints(weft::bootstrap& job,
                                                        const runtime_options& how,
                                                        bool beyond_host = false);

}  // namespace weft::comm
