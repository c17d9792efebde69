// Everything: include this one.
#pragma once
#include "weft/communicator.hpp"
#include "weft/element.hpp"
#include "weft/error.hpp"
#include "weft/layout.hpp"
#include "weft/loop.hpp"
#include "weft/options.hpp"
#include "weft/run.hpp"
