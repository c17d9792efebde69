#include "comm/schedule.hpp"

#include "comm/far_memory.hpp"

namespace weft::comm {

void schedule::reset(std::uint64_t number) noexcept {
  tag_ = number;
  steps_.clear();
  at_ = 0;
  failures_before_ = ended_.failures();
  failed_ = false;
}

std::span<std::byte> schedule::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return std::span(scratch_).first(bytes);
}

void schedule::send(int to, std::span<const std::byte> data) {
  steps_.push_back({kind::send, to, nullptr, data.data(), data.size()});
}
void schedule::recv(int from, std::span<std::byte> data) {
  steps_.push_back({kind::recv, from, data.data(), nullptr, data.size()});
}
void schedule::settle() {
  steps_.push_back({kind::settle});
}
void schedule::copy(std::span<std::byte> to, std::span<const std::byte> from) {
  if (to.data() != from.data() && !from.empty())
    steps_.push_back({kind::copy, -1, to.data(), from.data(), from.size()});
}
void schedule::combine(const combination& by, std::span<std::byte> into,
                       std::span<const std::byte> from) {
  combination_ = by;
  steps_.push_back({kind::combine, -1, into.data(), from.data(), from.size(), &combination_});
}

status schedule::begin(const step& now) noexcept {
  switch (now.what) {
    case kind::send:
      return post_send(device_, {now.peer, device_.index()}, std::span(now.from, now.size),
                       with::tag(tag_), with::engine(engine_), with::local(ended_));
    case kind::recv:
      return post_recv(device_, now.peer, std::span(now.to, now.size), with::tag(tag_),
                       with::engine(engine_), with::local(ended_));
    case kind::settle:
      return ended_.value() == posted_ ? status::done : status::retry;
    case kind::copy:
      return copy_bytes(device_.owner().options().accelerator, now.to, now.from, now.size)
                 ? status::done
                 : status::failed;
    case kind::combine:
      now.by->combine(now.to, now.from, now.size / now.by->element_bytes);
      return status::done;
  }
  return status::failed;
}

bool schedule::advance() noexcept {
  for (; at_ < steps_.size(); ++at_) {
    const step& now = steps_[at_];
    // After a failure nothing more is begun, but what is under way still uses the memory.
    const bool over = result() != outcome::complete;
    const status said = over && now.what != kind::settle ? status::done : begin(now);
    if (said == status::retry) return false;
    if (said == status::failed) failed_ = true;
    if (said == status::posted) ++posted_;
  }
  return true;
}

}  // namespace weft::comm
