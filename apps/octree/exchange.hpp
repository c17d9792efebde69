// How localities give each other what they have: the only thing that differs between a job of ranks and one of parcels.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "octree/locality.hpp"

namespace octree {

// Messages of one kind that a locality has made: for itself, which cost a copy, and for others.
struct traffic {
  std::uint64_t here = 0, away = 0, bytes_here = 0, bytes_away = 0;
};
inline constexpr std::size_t traffic_kinds = link_kinds + 1;  // The last one: blocks of a regrid.

// One for each locality. All of them call the same functions in the same order.
class exchange {
 public:
  exchange() = default;
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  virtual ~exchange() = default;

  [[nodiscard]] virtual int here() const noexcept = 0;
  [[nodiscard]] virtual int localities() const noexcept = 0;
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  // Runs every stage of every own node, and hands on what they make. Rethrows what a stage throws.
  virtual void substep(locality& own) = 0;
  // Packs and places the blocks of `all` that begin or end here; between begin_regrid() and end_regrid().
  virtual void move(locality& own, std::span<const transfer> all) = 0;
  // Each value becomes the largest of all localities'.
  virtual void largest(std::span<double> values) = 0;
  // Those of all localities, in their order.
  [[nodiscard]] virtual std::vector<std::byte> concatenated(std::span<const std::byte> mine) = 0;
  template <class T>
  [[nodiscard]] std::vector<T> concatenated(const std::vector<T>& mine) {
    const std::vector<std::byte> bytes = concatenated(std::as_bytes(std::span(mine)));
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  [[nodiscard]] std::array<traffic, traffic_kinds> sent() const noexcept;

 protected:
  // By any thread.
  void count(std::size_t kind, bool away, std::size_t doubles) noexcept;

 private:
  struct counter {
    std::atomic<std::uint64_t> messages[2]{}, bytes[2]{};
  };
  std::array<counter, traffic_kinds> counted_;
};

// What a sub-step of one locality still waits for. Not for several threads.
class progress {
 public:
  explicit progress(const locality& own);
  // A link has been placed; a stage has been run, and its links for here have been placed.
  void arrive(const link& l);
  void finish(int node, stage s);

  // Stages that can be run now: those that others wait for first, else at most `most` of the long ones. Empty: none.
  struct ready {
    stage what = stage::gather;
    std::vector<int> nodes;
  };
  [[nodiscard]] ready take(std::size_t most);
  [[nodiscard]] bool done() const noexcept { return left_ == 0; }

 private:
  void satisfy(int node, stage s);
  [[nodiscard]] std::uint8_t& waiting(int node, stage s) noexcept {
    return waiting_[static_cast<std::size_t>(node) * stages + static_cast<std::size_t>(s)];
  }

  const locality& own_;
  std::vector<std::uint8_t> waiting_;
  std::array<std::vector<int>, stages> ready_;
  std::size_t left_ = 0;
};

// One locality, one thread: what the others are compared with.
[[nodiscard]] std::unique_ptr<exchange> make_serial_exchange();

}  // namespace octree
