#include "base/kept_dispositions.hpp"

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft {
namespace {

template <class Visit>
void each_object(Visit visit) noexcept {
  const auto call = [](dl_phdr_info* object, std::size_t, void* with) noexcept {
    (*static_cast<Visit*>(with))(*object);
    return 0;
  };
  dl_iterate_phdr(call, &visit);
}

bool contains(const dl_phdr_info& object, std::uintptr_t address) noexcept {
  return std::any_of(
      object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
        return part.p_type == PT_LOAD && address - object.dlpi_addr - part.p_vaddr < part.p_memsz;
      });
}

}  // namespace

sigset_t kept_dispositions::all() noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals_) sigaddset(&set, signal);
  return set;
}

kept_dispositions::kept_dispositions() {
  for (std::size_t i = 0; i < before_.size(); ++i) sigaction(signals_[i], nullptr, &before_[i]);
  std::size_t count = 0;
  each_object([&](const dl_phdr_info&) { ++count; });
  objects_.reserve(count);
  each_object([&](const dl_phdr_info& object) {
    if (objects_.size() < count) objects_.push_back(object.dlpi_phdr);
  });
}

kept_dispositions::~kept_dispositions() {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const int signal = signals_[i];
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction == before_[i].sa_sigaction)
      continue;
    bool is_of_new_object = false;
    each_object([&](const dl_phdr_info& object) {
      is_of_new_object |= contains(object, reinterpret_cast<std::uintptr_t>(now.sa_sigaction)) &&
                          std::ranges::find(objects_, object.dlpi_phdr) == objects_.end();
    });
    if (is_of_new_object) sigaction(signal, &before_[i], nullptr);
  }
}

}  // namespace weft
