#include "process/loader/system_libraries.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace weft::process {
namespace {

#if defined(__x86_64__)
constexpr std::int32_t own_kind = 0x0303;
constexpr std::int32_t other_kind = 0x0003;  // Of 32 bits.
#else
constexpr std::int32_t own_kind = 0x0a03;
constexpr std::int32_t other_kind = 0x0303;
#endif

struct entry {
  std::int32_t kind;
  std::string name, path;
  std::uint64_t processor = 0;
};

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string cache_of(const std::vector<entry>& entries) {
  std::string cache = "glibc-ld.so.cache1.1", strings;
  const std::size_t begin = 48 + entries.size() * 24;
  append(cache, static_cast<std::uint32_t>(entries.size()));
  cache.resize(48);
  for (const entry& e : entries) {
    append(cache, e.kind);
    for (const std::string& text : {e.name, e.path}) {
      append(cache, static_cast<std::uint32_t>(begin + strings.size()));
      strings += text + '\0';
    }
    append(cache, std::uint32_t{0});
    append(cache, e.processor);
  }
  return cache + strings;
}

TEST(system_libraries, the_first_of_this_machine_in_the_cache_is_taken) {
  const std::string cache = cache_of({{own_kind, "libz.so.1", "/lib/libz.so.1"},
                                      {other_kind, "liba.so.2", "/lib32/liba.so.2"},
                                      {own_kind, "liba.so.2", "/usr/local/lib/liba.so.2"},
                                      {own_kind, "liba.so.2", "/usr/lib/liba.so.2"}});
  EXPECT_EQ(library_in_cache(cache, "liba.so.2").path, "/usr/local/lib/liba.so.2");
  EXPECT_EQ(library_in_cache(cache, "libz.so.1").path, "/lib/libz.so.1");
  EXPECT_EQ(library_in_cache(cache, "libb.so.2").path, "");
  EXPECT_FALSE(library_in_cache(cache, "liba.so.2").depends_on_processor);
}

TEST(system_libraries, one_for_some_processors_is_seen) {
  const std::string cache = cache_of({{own_kind, "liba.so.2", "/lib/better/liba.so.2", 1ULL << 62},
                                      {own_kind, "liba.so.2", "/lib/liba.so.2"}});
  EXPECT_TRUE(library_in_cache(cache, "liba.so.2").depends_on_processor);
}

TEST(system_libraries, the_older_cache_may_stand_before_the_newer) {
  std::string both = "ld.so-1.7.0";
  both.resize(12);
  append(both, std::uint32_t{3});
  both.resize(16 + 3 * 12 + 4);  // To a multiple of 8.
  both += cache_of({{own_kind, "liba.so.2", "/lib/liba.so.2"}});
  EXPECT_EQ(library_in_cache(both, "liba.so.2").path, "/lib/liba.so.2");
}

TEST(system_libraries, a_cache_that_is_cut_off_or_wrong_is_not_believed) {
  const std::string cache = cache_of({{own_kind, "liba.so.2", "/lib/liba.so.2"}});
  for (std::size_t bytes = 0; bytes < cache.size(); ++bytes)
    EXPECT_EQ(library_in_cache(cache.substr(0, bytes), "liba.so.2").path, "") << bytes;
  for (std::size_t at = 20; at < cache.size(); ++at) {
    std::string wrong = cache;
    wrong[at] = static_cast<char>(0xff);
    (void)library_in_cache(wrong, "liba.so.2");
  }
}

// Whatever the system's cache says of those that this program has.
TEST(system_libraries, the_loader_has_the_same) {
  for (const char* const name : {"libc.so.6", "libm.so.6"}) {
    void* const handle = ::dlopen(name, RTLD_LAZY);
    ASSERT_NE(handle, nullptr) << name;
    link_map* map = nullptr;
    ASSERT_EQ(::dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
    EXPECT_EQ(library_of_system(name), map->l_name);
    ::dlclose(handle);
  }
  EXPECT_EQ(library_of_system("libof_nobody.so.77"), "");
}

}  // namespace
}  // namespace weft::process
