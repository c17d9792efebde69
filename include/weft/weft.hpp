// Everything but serialization.hpp: include this one.
#pragma once
#include "weft/refusal.hpp"  // First: errors of the compiler lie in it, and so begin with fewer lines.

#include "weft/communicator.hpp"
#include "weft/element.hpp"
#include "weft/error.hpp"
#include "weft/layout.hpp"
#include "weft/loop.hpp"
#include "weft/options.hpp"
#include "weft/run.hpp"
#include "weft/sendable.hpp"
