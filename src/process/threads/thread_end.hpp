// How many threads that a rank has made live: one that leaves its main() by pthread_exit() ends with the last of them.
#pragma once
#include <utility>

#include "sync/reader_count.hpp"

namespace weft::detail {
struct job_rank;
}

namespace weft::process {

// It belongs to a thread from before that is made until it ends. It counts for no rank where `maker` is null.
class counted_thread {
 public:
  explicit counted_thread(const detail::job_rank* maker);
  counted_thread(counted_thread&& other) noexcept
      : living_(std::exchange(other.living_, nullptr)) {}
  ~counted_thread();
  counted_thread& operator=(counted_thread&&) = delete;

 private:
  reader_count<>* living_;
};

}  // namespace weft::process
