#include "transport/shm/shm.hpp"

#include "unit/transport_contract.hpp"

namespace weft {
namespace {

contract_case shm_case(const std::string& name, const shm_options& options) {
  return {.name = name, .make = [=](std::size_t count) {
            std::vector<std::unique_ptr<transport>> made;
            for (std::size_t i = 0; i < count; ++i) made.push_back(make_shm_transport(options));
            return made;
          }};
}

INSTANTIATE_TEST_SUITE_P(shm, transport_contract,
                         ::testing::Values(shm_case("usual", {}),
                                           shm_case("small_rings", {.ring_bytes = 8192}),
                                           shm_case("file", {.nameless_segment = false}),
                                           shm_case("no_direct_copies", {.direct_copies = false})),
                         contract_name);

}  // namespace
}  // namespace weft
