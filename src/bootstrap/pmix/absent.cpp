// In place of pmix.cpp where the headers of PMIx were not found.
#include "bootstrap/pmix/pmix.hpp"
#include "weft/error.hpp"

namespace weft {

std::unique_ptr<bootstrap> make_pmix_bootstrap() {
  throw error(
      "a PMIx launcher started this program, and this weft was built without PMIx (Debian: "
      "libpmix-dev): start it by weftrun, or build weft anew");
}

}  // namespace weft
