#include <cstdlib>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/local/local.hpp"
#include "bootstrap/single/single.hpp"
#include "weft/error.hpp"

namespace weft {

std::unique_ptr<bootstrap> make_bootstrap() {
  if (has_local_connection()) return make_local_bootstrap(nullptr);
  const launcher_found found = find_launcher(&std::getenv);
  switch (found.which) {
    case launcher::none:
      return make_single_bootstrap();
    case launcher::weftrun:
      return make_local_bootstrap(std::getenv(job_variable));
    case launcher::pmi1:
      throw error("PMI-1 is not there yet: start the program by weftrun");
    case launcher::pmix:
      throw error("PMIx is not there yet: start the program by weftrun");
    case launcher::unknown:
      break;
  }
  throw error(found.why_not);
}

}  // namespace weft
