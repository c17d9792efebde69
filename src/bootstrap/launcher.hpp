// Which launcher started this process, according to the environment.
#pragma once
#include <functional>
#include <string>

namespace weft {

enum class launcher { none, weftrun, pmi1, pmix, unknown };

struct launcher_found {
  launcher which = launcher::none;
  std::string why_not = {};  // For an unknown launcher: one line with the remedy.
};

// `variable` gives the value of a variable of the environment, or nullptr.
launcher_found find_launcher(const std::function<const char*(const char*)>& variable);

}  // namespace weft
