// Variables WEFT_* that nobody reads, which are mostly misspelt.
#pragma once
#include <string>
#include <vector>

namespace weft {

// From weftrun to the processes of its job: the directories where it finds plug-ins of MPIs, in which
// they look last.
inline constexpr const char* lent_plugins_variable = "WEFT_PLUGINS_LENT";

// From weftrun --breakdown to the processes of its job: the file in which their accounts are.
inline constexpr const char* accounts_variable = "WEFT_BREAKDOWN_ACCOUNTS";
// Likewise: into which they write their last events.
inline constexpr const char* breakdown_events_variable = "WEFT_BREAKDOWN_EVENTS";

// One line for each variable WEFT_* of the environment that no row knows: misspelt, or for another
// program. With the nearest that there is.
std::vector<std::string> remarks_on_environment();

// Prints them once in this process, unless weftrun has done so for the whole job. Only where settings
// were taken from the environment.
void tell_of_environment();
// For who reads some of them without resolve_options().
void note_environment_read() noexcept;
// Says so to the program that weftrun becomes.
void note_environment_told();

}  // namespace weft
