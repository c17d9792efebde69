// How a device is joined with those of another job. Each side offers endpoints; all offers of both sides, in one order, make the
// table by which these are connected.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/comm/operations.hpp"
#include "weft/comm/runtime.hpp"

namespace weft::comm {

struct joined_endpoint {
  // In the numbers of this process; a process of -1: of its own job.
  address place;
  std::string offer;  // The text of its offered_endpoints.
};

class offered_endpoints {
 public:
  // Called by the device's thread, as all others.
  explicit offered_endpoints(device& of);
  ~offered_endpoints();
  offered_endpoints(const offered_endpoints&) = delete;
  offered_endpoints& operator=(const offered_endpoints&) = delete;

  // Called once, before the others. `beyond_host`: the other job may be on other hosts. Throws weft::error.
  void make(bool beyond_host);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // From then on the device reaches those of the other job, by transports that both jobs have. Nothing is sent before all
  // are connected. Throws weft::error when some are not reached.
  void connect(std::span<const joined_endpoint> all, std::size_t self);

 private:
  device& of_;
  std::vector<std::unique_ptr<transport>> made_;
  std::string text_;
  std::string no_network_;  // Why there are no endpoints for other hosts, where these were wanted.
};

}  // namespace weft::comm
