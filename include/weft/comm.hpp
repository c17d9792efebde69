// The communication core, usable alone: moves messages between the processes of a job. It knows no
// ranks and no fibers and makes no threads; nothing happens but within a caller's call, most of it
// in device::progress(). docs/comm.md is the guide.
#pragma once
#include "weft/accelerator.hpp"
#include "weft/comm/collectives.hpp"
#include "weft/comm/completion.hpp"
#include "weft/comm/graph.hpp"
#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"
#include "weft/error.hpp"
