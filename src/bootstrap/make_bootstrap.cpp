#include <cstdlib>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/local/local.hpp"
#include "bootstrap/pmi1/pmi1.hpp"
#include "bootstrap/pmix/pmix.hpp"
#include "bootstrap/single/single.hpp"
#include "weft/error.hpp"

namespace weft {

std::unique_ptr<bootstrap> make_bootstrap() {
  if (has_local_connection()) return make_local_bootstrap(nullptr);
  const launcher_found found = find_launcher(&::secure_getenv);
  switch (found.which) {
    case launcher::none:
      return make_single_bootstrap();
    case launcher::weftrun:
      return make_local_bootstrap(::secure_getenv(job_variable));
    case launcher::pmi1:
      return make_pmi1_bootstrap();
    case launcher::pmix:
      return make_pmix_bootstrap();
    case launcher::unknown:
      break;
  }
  throw error(found.why_not);
}

}  // namespace weft
