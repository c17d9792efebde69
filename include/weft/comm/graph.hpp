// Operations and callbacks that wait for each other: an acyclic graph, built once and run any
// number of times. A node is posted when all nodes before it have completed, by whichever thread
// completed the last of them; so all devices of a graph belong to one thread, or are shared.
//
//   graph steps;
//   const auto got = steps.add([&](const completion& ended) {
//     return post_recv(device, 0, data, with::local(ended)); });
//   const auto used = steps.add_callback([&] { sort(data); });
//   steps.add_edge(got, used);
//   steps.start(queue);
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "weft/comm/completion.hpp"
#include "weft/status.hpp"

namespace weft::comm {

class graph {
 public:
  using node = std::uint32_t;
  // Posts an operation that signals `ended`, and returns what posting said. Called again after
  // retry; never throws.
  using poster = std::function<status(const completion& ended)>;

  graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph();  // Not while it runs.

  // Building, while it does not run.
  node add(poster post);
  node add_callback(std::function<void()> called);
  // `after` waits for `before`. Throws weft::error when there is no such node.
  void add_edge(node before, node after);

  // Posts what waits for nothing; `ended` is signalled when all is done. Throws weft::error when
  // the nodes wait for each other in a circle, or the graph runs already. Allocates nothing but at
  // the first start after building.
  void start(const completion& ended = {});
  // Posts again what was refused for want of room. Called between calls of progress(), by one
  // thread at a time; true when all is done.
  bool advance() noexcept;
  [[nodiscard]] bool is_over() const noexcept;
  // Of the run that is over. When an operation fails, what waits for it is not posted any more.
  [[nodiscard]] outcome result() const noexcept;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace weft::comm
