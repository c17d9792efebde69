// A job of one process, started by nobody.
#pragma once
#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace weft {

std::unique_ptr<bootstrap> make_single_bootstrap();

// 80 random bits in letters and digits: no two jobs have the same.
std::string make_job_id();

// The name of this machine.
std::string host_name();

}  // namespace weft
