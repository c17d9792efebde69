// What posting an operation says. On data paths nothing throws: this does the talking.
#pragma once
#include <cstdint>

namespace weft {

enum class [[nodiscard]] status : std::uint8_t{
    done,    // Complete: the buffer may be used again, and no completion will be signalled.
    posted,  // Under way: the completion will be signalled.
    retry,   // No resource now, nothing was posted: make progress and post again.
    failed,  // The peer is dead, or the operation can never succeed; nothing was posted.
};

}  // namespace weft
