// A row of the table of wait states has all fields.
// Expect: could not convert|no matching constructor
#include "profile/wait_states.hpp"

constexpr weft::profile::wait_state_row row{.name = "late example",
                                            .waits = "an example",
#ifndef MISUSE
                                            .until = "it is read",
#endif
                                            .blames = false,
                                            .advice = weft::profile::no_advice};
static_assert(!row.blames.value);
