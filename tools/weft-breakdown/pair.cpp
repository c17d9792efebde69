#include "weft-breakdown/pair.hpp"

#include <exception>

namespace weft::pair {

std::vector<phase> phases_of(const std::string& face) {
  using enum stages::point;
  // Both are on one thread: what both pass stands behind something that only the first does.
  if (face == "fellows")
    return {{"latency:match", true, entry, matched},
            {"latency:copy", true, matched, copied},
            {"latency:signal", true, copied, told},
            {"latency:call", true, entry, left},
            {"latency:loop", true, taken, entry},
            {"latency:round", true, left, taken},
            // Most are kept for their receives.
            {"injection:keep", false, entry, left},
            {"injection:loop", false, left, entry},
            {"injection:row", false, entry, left, timed::posts},
            {"injection:progress", false, left, taken, timed::answer},
            {"injection:takes", false, taken, taken, timed::takes}};
  std::vector<phase> all;
  for (const bool is_latency : {true, false}) {
    const auto add = [&](const char* latency, const char* injection, stages::point from,
                         stages::point to) {
      all.push_back({is_latency ? latency : injection, is_latency, from, to});
    };
    if (face == "ranks") {
      add("latency:protocol", "injection:protocol", entry, reserved);
      add("latency:pack", "injection:pack", reserved, packed);
    } else {
      add("latency:protocol", "injection:protocol", entry, packed);
    }
    add("latency:publish", "injection:publish", packed, published);
  }
  all.push_back({"latency:match", true, seen, matched});
  if (face == "ranks") {
    all.push_back({"latency:copy", true, matched, copied});
    all.push_back({"latency:signal", true, copied, told});
  } else {
    all.push_back({"latency:signal", true, matched, told});
  }
  all.push_back({"latency:return", true, told, taken});
  all.push_back({"latency:loop", true, taken, entry});
  all.push_back({"injection:return", false, published, left});
  all.push_back({"injection:loop", false, left, entry});
  all.push_back({"injection:row", false, entry, left, timed::posts});
  all.push_back({"injection:progress", false, left, taken, timed::answer});
  all.push_back({"injection:takes", false, taken, taken, timed::takes});
  all.push_back({"latency:side", true, seen, published});
  all.push_back({"latency:round", true, published, seen, timed::wait});
  return all;
}

int run(const request& wanted) {
  try {
    return wanted.face == "comm" ? run_comm(wanted) : run_ranks(wanted);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "weft-breakdown: %s\n", failure.what());
    return 1;
  }
}

}  // namespace weft::pair
