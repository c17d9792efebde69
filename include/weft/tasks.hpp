// Tasks, futures, coroutines, channels and senders: include this one.
#pragma once
#include "weft/tasks/channel.hpp"
#include "weft/tasks/coroutine.hpp"
#include "weft/tasks/execution.hpp"
#include "weft/tasks/future.hpp"
#include "weft/tasks/group.hpp"
#include "weft/tasks/latch.hpp"
#include "weft/tasks/run.hpp"
