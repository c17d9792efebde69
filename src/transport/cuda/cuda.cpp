// NVIDIA's GPUs by the driver's own interface, of which only these functions are needed: so weft
// builds without its headers, and runs where it is not installed. What they mean is in the manual of
// the CUDA driver API, sections "Unified Addressing", "Memory Management", "Context Management".
#include <dlfcn.h>

#include <array>
#include <cstdint>

#include "base/format.hpp"
#include "base/library_function.hpp"
#include "weft/accelerator.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

using cu_result = int;
using cu_context = void*;
using cu_address = std::uint64_t;  // CUdeviceptr
enum cu_pointer_attribute : int {
  attribute_context = 1,
  memory_type = 2,
  is_managed = 8,
  ordinal = 9
};
constexpr unsigned memory_type_device = 2;
constexpr int hmem_interface_cuda = 1;  // FI_HMEM_CUDA

struct cuda_driver {
  cu_result (*init)(unsigned);
  cu_result (*device_count)(int*);
  cu_result (*error_name)(cu_result, const char**);
  cu_result (*pointer_attributes)(unsigned, const cu_pointer_attribute*, void**, cu_address);
  cu_result (*push_context)(cu_context);
  cu_result (*pop_context)(cu_context*);
  cu_result (*copy)(cu_address, cu_address, std::size_t);
  cu_result (*synchronize)(void*);
};

cuda_driver load_driver() {
  constexpr const char* name = "libcuda.so.1";
  void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);  // Never closed: it has threads.
  if (library == nullptr)
    throw error(formatted(
        "the driver of NVIDIA's GPUs cannot be loaded ({}): install it, or run without a GPU",
        ::dlerror()));
  cuda_driver all{};
  find_function(library, name, "cuInit", all.init);
  find_function(library, name, "cuDeviceGetCount", all.device_count);
  find_function(library, name, "cuGetErrorName", all.error_name);
  find_function(library, name, "cuPointerGetAttributes", all.pointer_attributes);
  find_function(library, name, "cuCtxPushCurrent_v2", all.push_context);
  find_function(library, name, "cuCtxPopCurrent_v2", all.pop_context);
  find_function(library, name, "cuMemcpy", all.copy);
  find_function(library, name, "cuStreamSynchronize", all.synchronize);
  return all;
}

class cuda_accelerator final : public accelerator {
 public:
  cuda_accelerator() : driver_(load_driver()) {
    int count = 0;
    cu_result said = driver_.init(0);
    if (said == 0) said = driver_.device_count(&count);
    if (said != 0 || count == 0) {
      const char* why = nullptr;
      if (said != 0) (void)driver_.error_name(said, &why);
      throw error(
          formatted("NVIDIA's driver offers no GPU here{}{}", why ? ": " : "", why ? why : ""));
    }
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda"; }
  [[nodiscard]] bool owns(const void* address) const noexcept override {
    return place_of(address).is_on_gpu();
  }

  [[nodiscard]] bool copy(void* to, const void* from, std::size_t bytes) noexcept override {
    place there = place_of(to);
    if (!there.is_on_gpu()) there = place_of(from);
    if (driver_.push_context(there.context) != 0) return false;
    const auto at = [](const void* address) { return reinterpret_cast<cu_address>(address); };
    // The driver's copies may return before the GPU has done its part.
    const bool is_done =
        driver_.copy(at(to), at(from), bytes) == 0 && driver_.synchronize(nullptr) == 0;
    cu_context popped = nullptr;
    return driver_.pop_context(&popped) == 0 && is_done;
  }

  [[nodiscard]] fabric_name named_by_fabric(const void* address) const noexcept override {
    return {hmem_interface_cuda, static_cast<std::uint64_t>(place_of(address).gpu)};
  }

 private:
  struct place {
    cu_context context = nullptr;
    unsigned type = 0;
    unsigned managed = 0;  // Written as an int or a bool.
    int gpu = 0;
    [[nodiscard]] bool is_on_gpu() const noexcept {
      return type == memory_type_device && managed == 0;
    }
  };
  // Of memory that the driver does not know: nothing.
  [[nodiscard]] place place_of(const void* address) const noexcept {
    place found;
    constexpr std::array asked{attribute_context, memory_type, is_managed, ordinal};
    std::array<void*, asked.size()> answers{&found.context, &found.type, &found.managed,
                                            &found.gpu};
    if (driver_.pointer_attributes(asked.size(), asked.data(), answers.data(),
                                   reinterpret_cast<cu_address>(address)) != 0)
      return {};
    return found;
  }

  const cuda_driver driver_;
};

}  // namespace

std::unique_ptr<accelerator> make_cuda_accelerator() {
  return std::make_unique<cuda_accelerator>();
}

}  // namespace weft
