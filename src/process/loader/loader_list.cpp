// The list is glibc's; link.h shows how it is linked, and gdb relies on it. What glibc counts besides, the length,
// is compared with the list when something is unloaded and when the process ends: nobody may do either while copies
// are out. So they are taken out and put back while this thread has both of the loader's locks. Only code that the
// loader calls has them, and of its calls these two can be had at any time: of a resolver of a symbol, by dlsym(),
// and of a visitor, by dl_iterate_phdr(). Both locks may be taken again by who has them.
#include "process/loader/loader_list.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace {

// What the thread that is in loader_list::open() wants done: set under loading_lock().
struct loading {
  void (*call)(const void*) noexcept;
  const void* argument;
};
loading* wanted = nullptr;

void nothing() {}

}  // namespace

extern "C" {
// Asked by each dlsym() for the name below, in the loader's turn.
__attribute__((visibility("default"))) void (*weft_resolve_in_loader())() {
  if (loading* const mine = wanted; mine != nullptr) {
    wanted = nullptr;
    const auto visit = [](dl_phdr_info*, std::size_t, void* argument) {
      const auto& one = *static_cast<const loading*>(argument);
      one.call(one.argument);
      return 1;
    };
    dl_iterate_phdr(visit, mine);
  }
  return &nothing;
}
__attribute__((visibility("default"), ifunc("weft_resolve_in_loader"))) void weft_in_loader();
}

namespace weft::process {
namespace {

// The loader looks through so many copies in no time.
constexpr std::size_t seen_copies_max = 256;
// The loader allocates less than this for one file. Where there is no memory it must fail before it has the file in its list.
constexpr std::size_t loader_bytes_max = 32 * 1024;

link_map* end_of(link_map* at) {
  while (at->l_next != nullptr) at = at->l_next;
  return at;
}

std::size_t length_of(const link_map* from) {
  std::size_t length = 0;
  for (; from != nullptr; from = from->l_next) ++length;
  return length;
}

void join(link_map* before, link_map* after) {
  before->l_next = after;
  if (after != nullptr) after->l_prev = before;
}

}  // namespace

// The loader forgets the reason when this thread calls it again, or has called it around this.
void* loader_list::open_seen(const char* path, int flags) {
  void* const handle = ::dlopen(path, flags);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    reason_ = text != nullptr ? text : "no reason given";
  }
  return handle;
}

void* loader_list::open(const char* path, int flags, std::size_t files, bool must_see_all) {
  if (must_see_all || ++opened_ <= seen_copies_max) return open_seen(path, flags);
  std::free(std::malloc(loader_bytes_max));
  void* handle = nullptr;
  const auto open = [&]() noexcept { handle = open_unseen(path, flags, files); };
  using request = decltype(open);
  loading mine{[](const void* argument) noexcept { (*static_cast<const request*>(argument))(); },
               &open};
  wanted = &mine;
  (void)::dlsym(RTLD_DEFAULT, "weft_in_loader");
  if (wanted == nullptr) return handle;
  wanted = nullptr;  // Nobody finds the name: weft is part of a program that shows none of its own.
  return open_seen(path, flags);
}

// What is fresh stands at the end of the list, the program's file first. Earlier copies come back in front of it, so
// that all of them stay side by side. Where more has come than the copy's own files, what others may need later, it is
// left where everybody sees it.
void* loader_list::open_unseen(const char* path, int flags, std::size_t files) {
  link_map* const before = first_ != nullptr ? first_->l_prev : nullptr;
  if (before != nullptr) join(before, last_->l_next);
  void* const handle = open_seen(path, flags);
  auto* const fresh = static_cast<link_map*>(handle);
  if (before != nullptr) {
    join(fresh != nullptr ? fresh->l_prev : end_of(before), first_);
    join(last_, fresh);
  }
  if (fresh != nullptr && length_of(fresh) == files) {
    if (first_ == nullptr) first_ = fresh;
    last_ = end_of(fresh);
  }
  return handle;
}

}  // namespace weft::process
