// How the leaders of two groups speak with each other before they can send messages: over a TCP connection. Whoever connects
// shows the secret that is in the port's name.
//
// Everything here blocks: it is called on threads of their own (blocking_operations.hpp). `stop` is asked now and then; true: the
// job ends.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace weft::mpi {

using stop_question = std::function<bool()>;

// A descriptor of this process.
class descriptor {
 public:
  explicit descriptor(int number = -1) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor();
  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept;

 private:
  int number_;
};

class leader_channel {
 public:
  explicit leader_channel(descriptor connected) noexcept : to_(std::move(connected)) {}
  // Sends `text` and returns what the other side sends. Throws failure when that goes away.
  [[nodiscard]] std::string tell_and_hear(std::string_view text, const stop_question& stop) const;

 private:
  descriptor to_;
};

// Where a port is opened.
struct port_place {
  bool beyond_host = false;  // It takes connections of other hosts, too.
  std::string address;       // Of the interface, as 10.0.0.1; empty: all, or the loopback.
  std::uint16_t number = 0;  // 0: any that is free.
};

// A port that takes connections. Whoever connects has to say the secret, within hello_ns_max; meanwhile others are served.
class listening_port {
 public:
  static constexpr std::uint64_t hello_ns_max = 2'000'000'000;
  // Of callers that have not been accepted yet. When one more comes, the oldest that has not said the secret goes, but not before
  // it had kept_ns_min for it; till then the one more waits in the queue of the kernel.
  static constexpr std::size_t callers_max = 32;
  static constexpr std::uint64_t kept_ns_min = 50'000'000;

  // Throws failure: MPI_ERR_PORT, MPI_ERR_INFO_VALUE.
  explicit listening_port(const port_place& at);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Waits for one that knows the secret. Called by any thread, also by several.
  [[nodiscard]] leader_channel accept(const stop_question& stop);

 private:
  struct caller {
    descriptor connected;
    std::string said;
    std::uint64_t until_ns;
    bool is_known = false;  // It has said the secret.
  };
  [[nodiscard]] descriptor take_known();
  [[nodiscard]] std::vector<caller>::iterator replaceable();
  void look();
  void hear();

  descriptor listener_;
  std::string secret_;
  std::string name_;
  std::mutex taking_;            // Held during a look, which is short.
  std::vector<caller> callers_;  // Oldest first.
};

// Connects to a port by its name, and waits until it has been accepted. Throws failure (MPI_ERR_PORT) when there is no such
// port, or no longer.
[[nodiscard]] leader_channel connect_to_port(const std::string& name, const stop_question& stop);

// Whether the two jobs that meet by that port, or over that socket, may be on different hosts. Both sides find the same.
[[nodiscard]] bool leads_beyond_host(const std::string& port_name) noexcept;
[[nodiscard]] bool leads_beyond_host(int connected) noexcept;

}  // namespace weft::mpi
