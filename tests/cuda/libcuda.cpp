// In place of the driver of NVIDIA's GPUs, for machines that have none: the functions that weft and
// its tests call, for a GPU whose memory the processor cannot reach. An allocation is mapped twice,
// without any rights where its address says, and once more for these functions.
//
// It is as strict as a driver may be: copies need a current context, and what does not end in the
// processor's memory happens when it is waited for, not before.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace {

using result = int;
using address = std::uint64_t;
constexpr result invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100,
                 invalid_context = 201;

struct allocation {
  std::size_t size = 0;
  std::byte* reachable = nullptr;
  bool is_managed = false;
};
struct copy_to_gpu {
  std::byte* to;
  std::vector<std::byte> data;
};

std::mutex guard;  // Of all below.
bool is_initialized = false;
std::map<address, allocation> allocations;
std::vector<copy_to_gpu> queue;
int the_context;
thread_local std::vector<void*> contexts;

// GPUs there are; FAKE_GPUS says how many.
int gpus() {
  const char* const said = std::getenv("FAKE_GPUS");
  return said != nullptr ? std::atoi(said) : 1;
}

// Null: the processor's.
const allocation* find(address at, std::size_t& offset) {
  auto next = allocations.upper_bound(at);
  if (next == allocations.begin()) return nullptr;
  const auto& [begin, found] = *--next;
  offset = at - begin;
  return offset < found.size ? &found : nullptr;
}

std::byte* reachable(address at, std::size_t bytes, bool& is_on_gpu) {
  std::size_t offset = 0;
  const allocation* const found = find(at, offset);
  is_on_gpu = found != nullptr;
  if (found == nullptr) return reinterpret_cast<std::byte*>(at);
  return bytes <= found->size - offset ? found->reachable + offset : nullptr;
}

void run_queue() {
  for (const copy_to_gpu& each : queue) std::memcpy(each.to, each.data.data(), each.data.size());
  queue.clear();
}

result allocate(address* made, std::size_t bytes, bool is_managed) {
  const std::scoped_lock lock(guard);
  if (contexts.empty()) return invalid_context;
  if (bytes == 0) return invalid_value;
  const int file = memfd_create("gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return out_of_memory;
  const int rights = is_managed ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* const seen = mmap(nullptr, bytes, rights, MAP_SHARED, file, 0);
  void* const used = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (seen == MAP_FAILED || used == MAP_FAILED) return out_of_memory;
  *made = reinterpret_cast<address>(seen);
  allocations[*made] = {bytes, static_cast<std::byte*>(used), is_managed};
  return 0;
}

}  // namespace

extern "C" {

result cuInit(unsigned) {
  if (gpus() == 0) return no_device;
  const std::scoped_lock lock(guard);
  is_initialized = true;
  return 0;
}
result cuDeviceGetCount(int* count) {
  *count = gpus();
  return is_initialized ? 0 : not_initialized;
}
result cuGetErrorName(result, const char** name) {
  *name = "CUDA_ERROR_NO_DEVICE";
  return 0;
}
result cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &the_context;
  return is_initialized ? 0 : not_initialized;
}
result cuCtxPushCurrent_v2(void* context) {
  if (context != &the_context) return invalid_context;
  contexts.push_back(context);
  return 0;
}
result cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return invalid_context;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
result cuMemAlloc_v2(address* made, std::size_t bytes) {
  return allocate(made, bytes, false);
}
result cuMemAllocManaged(address* made, std::size_t bytes, unsigned) {
  return allocate(made, bytes, true);
}
result cuMemFree_v2(address at) {
  const std::scoped_lock lock(guard);
  run_queue();
  const auto found = allocations.find(at);
  if (found == allocations.end()) return invalid_value;
  munmap(found->second.reachable, found->second.size);
  munmap(reinterpret_cast<void*>(at), found->second.size);
  allocations.erase(found);
  return 0;
}

// Attributes that are asked of the processor's memory are zeros.
result cuPointerGetAttributes(unsigned count, const int* asked, void** answers, address at) {
  const std::scoped_lock lock(guard);
  if (!is_initialized) return not_initialized;
  std::size_t offset = 0;
  const allocation* const found = find(at, offset);
  for (unsigned i = 0; i < count; ++i) switch (asked[i]) {
      case 1:  // CONTEXT
        *static_cast<void**>(answers[i]) = found != nullptr ? &the_context : nullptr;
        break;
      case 2:  // MEMORY_TYPE: DEVICE
        *static_cast<unsigned*>(answers[i]) = found != nullptr ? 2 : 0;
        break;
      case 8:  // IS_MANAGED, of which only one byte is written
        *static_cast<bool*>(answers[i]) = found != nullptr && found->is_managed;
        break;
      case 9:  // DEVICE_ORDINAL
        *static_cast<int*>(answers[i]) = found != nullptr ? 0 : -2;
        break;
      default:
        return invalid_value;
    }
  return 0;
}

result cuMemcpy(address to, address from, std::size_t bytes) {
  const std::scoped_lock lock(guard);
  if (contexts.empty()) return invalid_context;
  bool goes_there = false, comes_from_there = false;
  std::byte* const target = reachable(to, bytes, goes_there);
  const std::byte* const source = reachable(from, bytes, comes_from_there);
  if (target == nullptr || source == nullptr) return invalid_value;
  if (comes_from_there) run_queue();
  if (goes_there) {
    queue.push_back({target, std::vector(source, source + bytes)});
  } else {
    std::memcpy(target, source, bytes);
  }
  return 0;
}
result cuStreamSynchronize(void*) {
  const std::scoped_lock lock(guard);
  if (contexts.empty()) return invalid_context;
  run_queue();
  return 0;
}

}  // extern "C"
