// Globals of the program as memory that ranks reach: those of each rank's private copy, or of the process's only one.
#include <link.h>

#include "rma/initiator.hpp"
#include "weft/communicator.hpp"
#include "weft/reduction.hpp"

namespace weft::rma {
namespace {

// Of the process's own program, which comes first.
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

void initiator::expose_statics() {
  std::vector<std::span<std::byte>> parts = me_.statics;
  if (parts.empty()) dl_iterate_phdr(&first_object, &parts);
  // A rank that is alone in its process has no private libraries: what all have is the program, and it comes first.
  const communicator world(me_.shared->world, me_.number);
  parts.resize(world.allreduce(parts.size(), weft::min{}));
  for (const std::span<std::byte> part : parts) expose(part.data(), part.size());
}

}  // namespace weft::rma
