// Memory that the processor's own loads and stores do not reach, such as that of a GPU, for buffers
// of the communication core (runtime_options::accelerator).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace weft {

// Derive from it for memory that weft does not know. Called by all threads that use the devices of a
// runtime, also at the same time; may not call the communication core.
class accelerator {
 public:
  virtual ~accelerator() = default;
  accelerator() = default;
  accelerator(const accelerator&) = delete;
  accelerator& operator=(const accelerator&) = delete;

  // For people: "cuda".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Whether the byte at `address` lies in its memory, and the processor can not reach it. Asked for
  // every buffer that is posted or written to; a buffer lies in one kind of memory as a whole.
  [[nodiscard]] virtual bool owns(const void* address) const noexcept = 0;
  // Copies between memory of its own and the processor's, in either direction, or within its own. When
  // it returns, the bytes are where they belong, for whoever looks, and `from` may be changed. False:
  // the accelerator refused, what was asked for fails.
  [[nodiscard]] virtual bool copy(void* to, const void* from, std::size_t bytes) noexcept = 0;

  // What libfabric calls the memory at `address`: a value of its fi_hmem_iface and the number of the
  // device. With it a network that can moves the data itself; else they go through copy().
  struct fabric_name {
    int interface = -1;  // Unknown to libfabric.
    std::uint64_t device = 0;
  };
  [[nodiscard]] virtual fabric_name named_by_fabric(const void* /*address*/) const noexcept {
    return {};
  }
};

// The memory of all of NVIDIA's GPUs here (cudaMalloc, cuMemAlloc), by the driver, which is loaded
// now. Managed memory is the processor's as well, and taken for that. What a kernel writes must be
// there, and what it reads no longer in use, before the buffer is posted. Throws weft::error when
// weft was built without it, or there is no driver or no GPU.
[[nodiscard]] std::unique_ptr<accelerator> make_cuda_accelerator();

}  // namespace weft
