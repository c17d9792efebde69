// A process that the program has forked: its memory says that it is what its parent is.
#pragma once

namespace weft {

// Called by any thread: whether this process is not the one that started.
[[nodiscard]] bool is_forked_child() noexcept;

}  // namespace weft
