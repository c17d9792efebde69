// libfabric 1.17's engine "net" does not free what it copies when endpoints are made and connected.
// A program that has made one is not asked what it lost; included by one source file of a program.
#pragma once
#include <string_view>

namespace weft::tests {

inline bool provider_leaks = false;

// Of a provider's name, as in WEFT_TRANSPORT after "ofi:". libfabric 1.17 answers "tcp" with "net".
inline void note_provider(std::string_view name) noexcept {
  provider_leaks = provider_leaks || !name.starts_with("tcp;ofi_rxm");
}

}  // namespace weft::tests

#if defined(__SANITIZE_ADDRESS__)
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() {
  return weft::tests::provider_leaks ? 1 : 0;
}
#endif
