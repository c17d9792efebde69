#include "image/opened_libraries.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/log.hpp"
#include "image/libraries.hpp"
#include "image/start.h"
#include "weft/error.hpp"

namespace weft {
namespace {

// Where the code of copies lies.
struct code_range {
  std::uintptr_t end;
  opened_libraries* of;
  const elf_file* file;
};
struct known_code {
  std::mutex lock;
  std::map<std::uintptr_t, code_range> by_start;
  std::vector<opened_libraries*> all;
};
known_code& code() {
  static known_code* const known =
      new known_code;  // Libraries may be closed after all destructors.
  return *known;
}

void note_code(const elf_file& file, std::uintptr_t base, opened_libraries* of) {
  const std::lock_guard hold(code().lock);
  code().by_start[base] = {base + file.span_bytes(), of, &file};
}

void forget_code(std::uintptr_t base) {
  const std::lock_guard hold(code().lock);
  code().by_start.erase(base);
}

code_range code_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard hold(code().lock);
  auto found = code().by_start.upper_bound(at);
  if (found == code().by_start.begin() || at >= (--found)->second.end) return {};
  return found->second;
}

bool is_file(const elf_file& file, const std::string& path) {
  struct stat a {
  }, b{};
  return !path.empty() && ::fstat(file.descriptor(), &a) == 0 && ::stat(path.c_str(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Not the host's, which would ask here again.
int close_in_loader(void* handle) {
  static const auto next = reinterpret_cast<int (*)(void*)>(::dlsym(RTLD_NEXT, "dlclose"));
  return next(handle);
}

// The error of the loader names the copy.
std::string reason_of_loader(const std::string& path, int number) {
  const char* const text = ::dlerror();
  std::string reason = text != nullptr ? text : "no reason given";
  const std::string name = loaded_name(number);
  if (reason.starts_with(name)) reason.replace(0, name.size(), path);
  return reason;
}

}  // namespace

std::recursive_mutex& loading_lock() {
  static std::recursive_mutex lock;
  return lock;
}

// Found by the path for libraries that starts with this directory, too.
std::string loaded_name(int number) {
  return formatted("/proc/{}/fd/{}", getpid(), number);
}

// What has been needed comes after what needs it in glibc's list.
link_map* map_of(void* handle, int number) {
  link_map* map = nullptr;
  ::dlinfo(handle, RTLD_DI_LINKMAP, &map);
  const std::string name = loaded_name(number);
  while (map != nullptr && name != map->l_name) map = map->l_next;
  return map;
}

struct opened_libraries::opened {
  explicit opened(const std::string& path) : source(path) {}

  copied_file source;
  std::optional<loaded_part> part;  // Once it is loaded.
  void* handle = nullptr;
  int users = 0;  // Calls of dlopen(), and libraries that need it.
  std::vector<opened*> uses;
  bool is_global = false;  // Its names mean something in those that are opened later.
  bool stays = false;
};

opened_libraries& opened_libraries::of_copy(program_files program) {
  auto* const made = new opened_libraries(std::move(program));
  for (const own_file& f : made->program_.files) note_code(*f.file, f.base, made);
  const std::lock_guard hold(code().lock);
  code().all.push_back(made);
  return *made;
}

opened_libraries::opened_libraries(program_files program) : program_(std::move(program)) {}
opened_libraries::~opened_libraries() = default;

void opened_libraries::set_words(int argc, char** argv, char** environment) {
  argc_ = argc;
  argv_ = argv;
  environment_ = environment;
}

void opened_libraries::finish() {
  // A destructor may open and close libraries.
  const auto is_left = [](const std::unique_ptr<opened>& one) { return !one->part->is_finished(); };
  for (;;) {
    const auto last = std::find_if(open_.rbegin(), open_.rend(), is_left);
    if (last == open_.rend()) return;
    (*last)->part->finish();
  }
}

// --- Which library is meant -------------------------------------------------------------------------

const opened_libraries::own_file* opened_libraries::linked(std::string_view name,
                                                           const std::string& path) const {
  for (const own_file& f : program_.files)
    if (f.file->answers_to(name) || is_file(*f.file, path)) return &f;
  return nullptr;
}

opened_libraries::opened* opened_libraries::find(
    std::string_view name, const std::string& path,
    const std::vector<std::unique_ptr<opened>>& among) const {
  for (const std::unique_ptr<opened>& one : among)
    if (one->source.file.answers_to(name) || is_file(one->source.file, path)) return one.get();
  return nullptr;
}

// As the loader looks for it, but for the system's own directories: empty when it lies there or nowhere.
std::string opened_libraries::path_of(std::string_view name, const elf_file& by) const {
  if (name.find('/') != name.npos) return std::string(name);
  const std::string origin = std::filesystem::path(by.path()).parent_path().string();
  std::string run_path, old_path;
  if (const std::uint64_t at = by.value_of(DT_RUNPATH)) run_path = by.string_at(at);
  if (const std::uint64_t at = by.value_of(DT_RPATH); at != 0 && run_path.empty())
    old_path = by.string_at(at);
  const std::string all = old_path + ":" + program_.search_path + ":" + run_path;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    std::string directory = all.substr(at, end - at);
    at = end + 1;
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (const std::size_t here = directory.find(word); here != directory.npos)
        directory.replace(here, word.size(), origin);
    if (directory.empty()) continue;
    std::string path = directory + "/" + std::string(name);
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

bool opened_libraries::is_own(const std::string& path) const {
  static std::set<std::string> told;  // All ranks share them.
  try {
    const auto is_private = [&](std::string_view name) {
      return linked(name, {}) != nullptr || find(name, {}, open_) != nullptr;
    };
    const opened_library_choice how = choose_opened(elf_file(path), library_lists(), is_private);
    if (how.shared && program_.tells && told.insert(path).second)
      log_line("check: {}", text_of(*how.shared));
    return how.own;
  } catch (const error&) {
    return false;  // The loader says what is wrong with it.
  }
}

// --- Loading ----------------------------------------------------------------------------------------

// The library, and those of its libraries that each rank is to have too and that are not there yet.
opened_libraries::opened& opened_libraries::collect(const std::string& path,
                                                    std::vector<std::unique_ptr<opened>>& fresh) {
  const std::size_t place = fresh.size();
  fresh.push_back(std::make_unique<opened>(path));
  opened& one = *fresh.back();
  const elf_file& file = one.source.file;
  for (const std::uint64_t index : file.needed()) {
    const std::string name(file.string_at(index));
    if (linked(name, {}) != nullptr) continue;
    opened* other = find(name, {}, open_);
    if (other == nullptr) other = find(name, {}, fresh);
    if (other == nullptr) {
      const std::string found = path_of(name, file);
      if (found.empty() || !is_own(found)) continue;
      other = &collect(found, fresh);
    }
    one.uses.push_back(other);
  }
  // Behind what it needs.
  std::rotate(fresh.begin() + static_cast<std::ptrdiff_t>(place),
              fresh.begin() + static_cast<std::ptrdiff_t>(place) + 1, fresh.end());
  return one;
}

// As in a process of its own: the program and its libraries, what has been opened for all, the library and
// what it needs.
void opened_libraries::bind_names(std::vector<std::unique_ptr<opened>>& fresh, int flags) {
  std::vector<const elf_file*> files;
  std::vector<const opened*> at;  // Of the same index; null for those of the program.
  for (const own_file& f : program_.files) files.push_back(f.file), at.push_back(nullptr);
  for (const auto* const some : {&std::as_const(open_), &std::as_const(fresh)})
    for (const std::unique_ptr<opened>& one : *some)
      files.push_back(&one->source.file), at.push_back(one.get());
  const auto index_of = [&](const opened* one) {
    return static_cast<std::size_t>(std::ranges::find(at, one) - at.begin());
  };
  std::vector<std::size_t> local{files.size() - 1};
  for (std::size_t looked_at = 0; looked_at < local.size(); ++looked_at)
    if (const opened* const one = at[local[looked_at]]; one != nullptr)
      for (const opened* const used : one->uses)
        if (const std::size_t index = index_of(used);
            std::ranges::find(local, index) == local.end())
          local.push_back(index);
  std::vector<std::size_t> order = program_.order;
  for (const std::unique_ptr<opened>& one : open_)
    if (one->is_global) order.push_back(index_of(one.get()));
  order.insert((flags & RTLD_DEEPBIND) != 0 ? order.begin() : order.end(), local.begin(),
               local.end());
  const std::size_t first = files.size() - fresh.size();
  std::vector<std::vector<binding>> bindings = bindings_of(files, order, first);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    copied_file& source = fresh[i]->source;
    source.set_bindings(std::move(bindings[first + i]));
    source.keep_from_loader((flags & RTLD_NOW) == 0 && !source.file.is_bound_at_once());
  }
}

void* opened_libraries::load(std::vector<std::unique_ptr<opened>>& fresh, int flags) {
  std::vector<numbered_file> all;
  for (const own_file& f : program_.files) all.push_back({f.file, &f.number});
  for (const auto* const some : {&std::as_const(open_), &std::as_const(fresh)})
    for (const std::unique_ptr<opened>& one : *some) all.push_back(one->source.numbered());
  for (const std::unique_ptr<opened>& one : fresh) one->source.prepare(all, program_.debugged);
  bind_names(fresh, flags);
  const opened& last = *fresh.back();
  const std::string& path = last.source.file.path();
  for (const std::unique_ptr<opened>& one : fresh)
    if (!one->source.open_copy())
      throw error(formatted("{}: cannot make a copy of it: {}", path, std::strerror(errno)));
  for (const std::unique_ptr<opened>& one : fresh) one->source.write_copy();
  // By the number alone, by which others may need it later.
  void* const handle = ::dlopen(std::to_string(last.source.number()).c_str(),
                                (flags & (RTLD_NOW | RTLD_LAZY)) | RTLD_LOCAL);
  if (handle == nullptr) throw error(reason_of_loader(path, last.source.number()));
  std::vector<link_map*> maps;
  for (const std::unique_ptr<opened>& one : fresh) {
    maps.push_back(map_of(handle, one->source.number()));
    if (maps.back() == nullptr)
      throw error(formatted("{}: its library {} was not found", path, one->source.file.path()));
    one->part.emplace(one->source.file, maps.back()->l_addr);
  }
  std::vector<std::uintptr_t> bases;
  for (const own_file& f : program_.files) bases.push_back(f.base);
  for (const auto* const some : {&std::as_const(open_), &std::as_const(fresh)})
    for (const std::unique_ptr<opened>& one : *some) bases.push_back(one->part->base());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    opened& one = *fresh[i];
    one.handle = maps[i];
    one.source.bind(one.part->base(), bases);
    if (program_.debugged) {
      one.source.leave_copy_open();
    } else {
      one.source.share_pages(one.part->base());
      maps[i]->l_name = one.source.shown_name();
      one.source.close_copy();
    }
    note_code(one.source.file, one.part->base(), this);
    for (opened* const used : one.uses) ++used->users;
  }
  return handle;
}

std::optional<void*> opened_libraries::open_from(const elf_file& by, const char* path, int flags) {
  if (path == nullptr || *path == '\0') return program_.handle;
  std::vector<std::unique_ptr<opened>> fresh;
  std::vector<const loaded_part*> constructed;
  void* handle = nullptr;
  {
    const std::lock_guard hold(loading_lock());
    const std::string found = path_of(path, by);
    const auto again = [](int number) {
      return ::dlopen(std::to_string(number).c_str(), RTLD_LAZY | RTLD_NOLOAD);
    };
    if (const own_file* const file = linked(path, found); file != nullptr)
      return file == &program_.files.back() ? program_.handle : again(file->number);
    opened* one = find(path, found, open_);
    if (one != nullptr) {
      handle = again(one->source.number());
    } else {
      if (found.empty() || ::access(found.c_str(), R_OK) != 0 || !is_own(found)) return {};
      if ((flags & RTLD_NOLOAD) != 0) return nullptr;
      one = &collect(std::filesystem::absolute(found).string(), fresh);
      handle = load(fresh, flags);
    }
    ++one->users;
    one->is_global = one->is_global || (flags & RTLD_GLOBAL) != 0;
    // Nobody counts who has bound a name to one that is open for all.
    one->stays = one->stays || one->is_global || (flags & RTLD_NODELETE) != 0 ||
                 one->source.file.is_never_unloaded();
    for (std::unique_ptr<opened>& each : fresh) {
      constructed.push_back(&*each->part);
      open_.push_back(std::move(each));
    }
  }
  // They may wait.
  for (const loaded_part* const part : constructed) part->construct(argc_, argv_, environment_);
  return handle;
}

std::optional<void*> opened_libraries::open(const char* path, int flags, const void* caller) {
  const code_range by = code_at(caller);
  if (by.of == nullptr) return {};
  return by.of->open_from(*by.file, path, flags);
}

// --- Closing ----------------------------------------------------------------------------------------

void opened_libraries::release(opened& one, std::vector<std::unique_ptr<opened>>& unused) {
  if (--one.users > 0 || one.stays) return;
  const auto at = std::ranges::find_if(open_, [&](const auto& each) { return each.get() == &one; });
  unused.push_back(std::move(*at));
  open_.erase(at);
  for (opened* const used : one.uses) release(*used, unused);
}

std::optional<int> opened_libraries::close(void* handle) {
  std::vector<opened_libraries*> all;
  {
    const std::lock_guard hold(code().lock);
    all = code().all;
  }
  std::vector<std::unique_ptr<opened>> unused;
  {
    const std::lock_guard hold(loading_lock());
    opened_libraries* of = nullptr;
    opened* one = nullptr;
    for (opened_libraries* const each : all) {
      if (each->program_.handle == handle) return 0;
      for (const std::unique_ptr<opened>& o : each->open_)
        if (o->handle == handle) of = each, one = o.get();
    }
    if (one == nullptr) return {};
    if (one->stays && one->users == 1) return 0;
    of->release(*one, unused);
  }
  for (const std::unique_ptr<opened>& one : unused) one->part->finish();
  const std::lock_guard hold(loading_lock());
  for (const std::unique_ptr<opened>& one : unused) forget_code(one->part->base());
  return close_in_loader(handle);
}

}  // namespace weft

// --- What the host has in place of the loader's -----------------------------------------------------

namespace {

// As dlerror() has it: of the thread, and told once.
thread_local std::string open_error, told_error;

}  // namespace

extern "C" {

int weft_open_library(const char* path, int flags, const void* caller, void** handle) {
  open_error.clear();
  try {
    const std::optional<void*> opened = weft::opened_libraries::open(path, flags, caller);
    *handle = opened.value_or(nullptr);
    return opened.has_value() ? 1 : 0;
  } catch (const weft::error& e) {
    open_error = e.what();
    *handle = nullptr;
    return 1;
  }
}

int weft_close_library(void* handle, int* failed) {
  const std::optional<int> closed = weft::opened_libraries::close(handle);
  *failed = closed.value_or(0);
  return closed.has_value() ? 1 : 0;
}

const char* weft_open_error(void) {
  if (open_error.empty()) return nullptr;
  told_error = std::exchange(open_error, {});
  return told_error.c_str();
}
}
