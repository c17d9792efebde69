#include "runtime/held_locks.hpp"

#include <dlfcn.h>

namespace weft {

const lock_watch* find_lock_watch() noexcept {
  return static_cast<const lock_watch*>(dlsym(RTLD_DEFAULT, lock_watch::symbol));
}

}  // namespace weft
