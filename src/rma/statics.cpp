#include "rma/statics.hpp"

#include <link.h>

namespace weft::rma {
namespace {

// The process's own program comes first.
int first_object(dl_phdr_info* object, std::size_t, void* into) {
  auto& parts = *static_cast<std::vector<std::span<std::byte>>*>(into);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& s = object->dlpi_phdr[i];
    if (s.p_type == PT_LOAD && (s.p_flags & PF_W) != 0)
      parts.push_back({reinterpret_cast<std::byte*>(object->dlpi_addr + s.p_vaddr), s.p_memsz});
  }
  return 1;
}

}  // namespace

std::vector<std::span<std::byte>> statics_of(const detail::job_rank& rank) {
  if (!rank.statics.empty()) return rank.statics;
  if (rank.find_statics != nullptr) return rank.find_statics();
  std::vector<std::span<std::byte>> parts;
  dl_iterate_phdr(&first_object, &parts);
  return parts;
}

}  // namespace weft::rma
