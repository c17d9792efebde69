// The fixed parts of the page (page.cpp).
#pragma once
#include <string_view>

namespace weft::breakdown {

extern const std::string_view page_begin;
extern const std::string_view page_script;

}  // namespace weft::breakdown
