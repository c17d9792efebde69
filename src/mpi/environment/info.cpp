// MPI_Info: lists of keys and values, MPI_INFO_ENV among them.
#include "mpi/object/info.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

// The command line of this process, from /proc, where a zero byte ends each word.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1)
    words.emplace_back(all.c_str() + at);
  return words;
}

void fill_environment(state& me) {
  auto& entries = me.environment.entries;
  std::vector<std::string> words = command_line();
  // weft-host, or weft-host-threads, runs a program with several ranks in one process. The program is its first argument.
  if (words.size() > 1 &&
      (words[0].ends_with("weft-host") || words[0].ends_with("weft-host-threads")))
    words.erase(words.begin());
  std::string arguments;
  for (std::size_t i = 1; i < words.size(); ++i) arguments += (i == 1 ? "" : " ") + words[i];
  const std::string ranks = std::to_string(me.rank.shared->world->size());
  if (!words.empty()) entries.emplace_back("command", words[0]);
  if (!arguments.empty()) entries.emplace_back("argv", arguments);
  entries.emplace_back("maxprocs", ranks);
  entries.emplace_back("soft", ranks);
  char text[4096] = "";
  if (::gethostname(text, sizeof text - 1) == 0) entries.emplace_back("host", text);
  if (::getcwd(text, sizeof text) != nullptr) entries.emplace_back("wdir", text);
#if defined(__x86_64__)
  entries.emplace_back("arch", "x86_64");
#elif defined(__aarch64__)
  entries.emplace_back("arch", "aarch64");
#endif
  const int level = me.thread_level;
  entries.emplace_back("thread_level", level == MPI_THREAD_MULTIPLE     ? "MPI_THREAD_MULTIPLE"
                                       : level == MPI_THREAD_SERIALIZED ? "MPI_THREAD_SERIALIZED"
                                       : level == MPI_THREAD_FUNNELED   ? "MPI_THREAD_FUNNELED"
                                                                        : "MPI_THREAD_SINGLE");
}

// The key without blanks around it; throws when nothing is left or it is too long.
std::string checked_key(const char* key) {
  check_not_null(key, "key");
  const char* begin = key;
  while (*begin == ' ') ++begin;
  std::size_t size = std::strlen(begin);
  while (size != 0 && begin[size - 1] == ' ') --size;
  if (size == 0) fail(MPI_ERR_INFO_KEY, "the key is empty");
  if (size >= MPI_MAX_INFO_KEY)
    fail(MPI_ERR_INFO_KEY, "the key has {} characters: at most {} fit", size, MPI_MAX_INFO_KEY - 1);
  return {begin, size};
}

info_object& changeable(state& me, MPI_Info info) {
  if (info == MPI_INFO_ENV) fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed");
  return checked_info(me, info);
}

}  // namespace

info_object& checked_info(state& me, MPI_Info info) {
  if (info == MPI_INFO_ENV) {
    // Before MPI_Init the entries are made anew each time: MPI_Init_thread still sets the thread level.
    if (!me.usable) me.environment.entries.clear();
    if (me.environment.entries.empty()) fill_environment(me);
    return me.environment;
  }
  if (auto* const i = find_object<info_object>(info); i != nullptr) return *i;
  if (info == MPI_INFO_NULL) fail(MPI_ERR_INFO, "the info is MPI_INFO_NULL");
  fail(MPI_ERR_INFO, "{} is no info, or has been freed", text_of(info));
}

void check_hints(state& me, MPI_Info info) {
  if (info != MPI_INFO_NULL) (void)checked_info(me, info);
}

info_entries checked_hints(state& me, MPI_Info info) {
  return info == MPI_INFO_NULL ? info_entries() : checked_info(me, info).entries;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_Info_create, (MPI_Info * info)) {
  return in_call_at_any_time("MPI_Info_create", [&](state& me) {
    check_not_null(info, "info");
    *info = handle_of(me.infos.make());
  });
}

WEFT_MPI_FUNCTION(int, MPI_Info_create_env, (int, char*[], MPI_Info* info)) {
  return in_call_at_any_time("MPI_Info_create_env", [&](state& me) {
    check_not_null(info, "info");
    info_object& made = me.infos.make();
    made.entries = checked_info(me, MPI_INFO_ENV).entries;
    *info = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Info_dup, (MPI_Info info, MPI_Info* newinfo)) {
  return in_call_at_any_time(
      "MPI_Info_dup",
      [&](state& me) {
        check_not_null(newinfo, "newinfo");
        const info_object& source = checked_info(me, info);
        info_object& made = me.infos.make();
        made.entries = source.entries;
        *newinfo = handle_of(made);
      },
      info);
}

WEFT_MPI_FUNCTION(int, MPI_Info_free, (MPI_Info * info)) {
  return in_call_at_any_time(
      "MPI_Info_free",
      [&](state& me) {
        check_not_null(info, "info");
        me.infos.free(changeable(me, *info));
        *info = MPI_INFO_NULL;
      },
      info == nullptr ? MPI_INFO_NULL : *info);
}

WEFT_MPI_FUNCTION(int, MPI_Info_set, (MPI_Info info, const char* key, const char* value)) {
  return in_call_at_any_time(
      "MPI_Info_set",
      [&](state& me) {
        info_object& i = changeable(me, info);
        const std::string name = checked_key(key);
        check_not_null(value, "value");
        const std::size_t size = std::strlen(value);
        if (size >= MPI_MAX_INFO_VAL)
          fail(MPI_ERR_INFO_VALUE, "the value has {} characters: at most {} fit", size,
               MPI_MAX_INFO_VAL - 1);
        i.set(name, value);
      },
      info, key, value);
}

WEFT_MPI_FUNCTION(int, MPI_Info_delete, (MPI_Info info, const char* key)) {
  return in_call_at_any_time(
      "MPI_Info_delete",
      [&](state& me) {
        info_object& i = changeable(me, info);
        const std::string name = checked_key(key);
        const auto at = std::find_if(i.entries.begin(), i.entries.end(),
                                     [&](const auto& e) { return e.first == name; });
        if (at == i.entries.end()) fail(MPI_ERR_INFO_NOKEY, "the info has no key {}", name);
        i.entries.erase(at);
      },
      info, key);
}

WEFT_MPI_FUNCTION(int, MPI_Info_get,
                  (MPI_Info info, const char* key, int valuelen, char* value, int* flag)) {
  return in_call_at_any_time(
      "MPI_Info_get",
      [&](state& me) {
        check_not_null(flag, "flag");
        if (valuelen < 0) fail(MPI_ERR_ARG, "valuelen is {}: it is 0 or more", valuelen);
        const std::string* const found = checked_info(me, info).find(checked_key(key));
        *flag = found != nullptr;
        if (found == nullptr) return;
        check_not_null(value, "value");
        // `valuelen` does not count the zero byte at the end.
        const std::size_t size = std::min(found->size(), static_cast<std::size_t>(valuelen));
        std::memcpy(value, found->data(), size);
        value[size] = '\0';
      },
      info, key, valuelen);
}

WEFT_MPI_FUNCTION(int, MPI_Info_get_valuelen,
                  (MPI_Info info, const char* key, int* valuelen, int* flag)) {
  return in_call_at_any_time(
      "MPI_Info_get_valuelen",
      [&](state& me) {
        check_not_null(flag, "flag");
        const std::string* const found = checked_info(me, info).find(checked_key(key));
        *flag = found != nullptr;
        if (found == nullptr) return;
        check_not_null(valuelen, "valuelen");
        *valuelen = static_cast<int>(found->size());
      },
      info, key);
}

WEFT_MPI_FUNCTION(int, MPI_Info_get_string,
                  (MPI_Info info, const char* key, int* buflen, char* value, int* flag)) {
  return in_call_at_any_time(
      "MPI_Info_get_string",
      [&](state& me) {
        check_not_null(buflen, "buflen");
        check_not_null(flag, "flag");
        if (*buflen < 0) fail(MPI_ERR_ARG, "*buflen is {}: it is 0 or more", *buflen);
        const std::string* const found = checked_info(me, info).find(checked_key(key));
        *flag = found != nullptr;
        if (found == nullptr) return;
        // `*buflen` counts the zero byte at the end. On return it is the length that the whole value needs.
        if (*buflen > 0) {
          check_not_null(value, "value");
          const std::size_t size = std::min(found->size(), static_cast<std::size_t>(*buflen) - 1);
          std::memcpy(value, found->data(), size);
          value[size] = '\0';
        }
        *buflen = static_cast<int>(found->size()) + 1;
      },
      info, key);
}

WEFT_MPI_FUNCTION(int, MPI_Info_get_nkeys, (MPI_Info info, int* nkeys)) {
  return in_call_at_any_time(
      "MPI_Info_get_nkeys",
      [&](state& me) {
        check_not_null(nkeys, "nkeys");
        *nkeys = static_cast<int>(checked_info(me, info).entries.size());
      },
      info);
}

WEFT_MPI_FUNCTION(int, MPI_Info_get_nthkey, (MPI_Info info, int n, char* key)) {
  return in_call_at_any_time(
      "MPI_Info_get_nthkey",
      [&](state& me) {
        check_not_null(key, "key");
        const info_object& i = checked_info(me, info);
        if (n < 0 || static_cast<std::size_t>(n) >= i.entries.size())
          fail(MPI_ERR_ARG, "n is {}: the info has {} keys, from 0 on", n, i.entries.size());
        std::strcpy(key, i.entries[static_cast<std::size_t>(n)].first.c_str());
      },
      info, n);
}
