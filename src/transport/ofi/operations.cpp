#include "transport/ofi/operations.hpp"

#include <sys/mman.h>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "weft/error.hpp"

namespace weft {

operation_pool::operation_pool(operation_kind kind, std::size_t count, std::size_t packet_bytes,
                               fid_domain* domain, random_keys& keys)
    : packet_bytes_((packet_bytes + cache_line - 1) / cache_line * cache_line), operations_(count) {
  if (const std::size_t bytes = count * packet_bytes_; bytes != 0) {
    // Mapped, so that packets that are never used cost no memory.
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw error(formatted("no memory for {} packets of {} bytes", count, packet_bytes_));
    memory_ = {static_cast<std::byte*>(memory), unmapping{bytes}};
    if (domain != nullptr) {
      fid_mr* registration = nullptr;
      check_fabric(fi_mr_reg(domain, memory, bytes, FI_SEND | FI_RECV, 0, keys.next(), 0,
                             &registration, nullptr),
                   "fi_mr_reg");
      registration_.reset(registration);
    }
  }
  for (std::size_t i = count; i-- > 0;) {
    operation& each = operations_[i];
    each.kind = kind;
    each.owner = this;
    each.memory = memory_ ? memory_.get() + i * packet_bytes_ : nullptr;
    each.descriptor = registration_ ? fi_mr_desc(registration_.get()) : nullptr;
    each.next = free_;
    free_ = &each;
  }
}

void unmapping::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, bytes);
}

}  // namespace weft
