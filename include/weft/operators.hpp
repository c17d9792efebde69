// std::plus and its kin, and std::unwrap_reference. <functional>, which has them, brings the algorithms and hashed maps,
// 19,000 lines, into every program; in GCC's library they stand in two headers that others include anyway.
#pragma once
#include <type_traits>
#if __has_include(<bits/stl_function.h>)
#include <bits/stl_function.h>
#else
#include <functional>
#endif
