// How the leaders of two groups speak with each other before they can send messages: over a TCP connection. Whoever connects
// shows the secret that is in the port's name.
//
// Everything here blocks: it is called on threads of their own (blocking_operations.hpp). `stop` is asked now and then; true: the
// job ends.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

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

// A port that takes connections.
class listening_port {
 public:
  // `beyond_host`: also from other hosts.
  explicit listening_port(bool beyond_host);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Waits for one that knows the secret.
  [[nodiscard]] leader_channel accept(const stop_question& stop) const;

 private:
  descriptor listener_;
  std::string secret_;
  std::string name_;
};

// Connects to a port by its name, and waits until it has been accepted. Throws failure (MPI_ERR_PORT) when there is no such
// port, or no longer.
[[nodiscard]] leader_channel connect_to_port(const std::string& name, const stop_question& stop);

}  // namespace weft::mpi
