// Parcels: calls of functions in other processes, and futures of what they return. Include this one.
#pragma once
#include "weft/parcels/action.hpp"
#include "weft/parcels/call.hpp"
#include "weft/parcels/encoding.hpp"
#include "weft/parcels/locality.hpp"
#include "weft/parcels/object.hpp"
#include "weft/tasks.hpp"
