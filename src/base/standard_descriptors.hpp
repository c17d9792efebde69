// Standard input, output and error of a process that was started with some of them closed.
#pragma once

namespace weft {

// Called before anything is opened, which would get the number of one that is closed: what the program prints
// would go there. Reads and writes of the program fail as before.
void take_standard_descriptors() noexcept;

}  // namespace weft
