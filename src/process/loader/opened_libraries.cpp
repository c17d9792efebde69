#include "process/loader/opened_libraries.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/forked_child.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "process/blocking/yielding.h"
#include "process/libc_state/own_streams.hpp"
#include "process/loader/libraries.hpp"
#include "process/loader/start.h"
#include "sched/moving_threads.hpp"
#include "sched/worker.hpp"
#include "weft/error.hpp"

namespace weft::process {
namespace {

// The ranges in which the code of copies lies, and the handles that programs have. The lock is held for no call of the loader,
// which may hold its own when a library closes another.
struct code_range {
  std::uintptr_t end;
  opened_libraries* of;
  const elf_file* file;
};
struct known_code {
  std::mutex lock;
  std::map<std::uintptr_t, code_range> by_start;
  std::map<void*, opened_libraries*> by_handle;
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

void note_handle(void* handle, opened_libraries* of) {
  const std::lock_guard hold(code().lock);
  code().by_handle[handle] = of;
}

void forget(std::uintptr_t base, void* handle) {
  const std::lock_guard hold(code().lock);
  code().by_start.erase(base);
  code().by_handle.erase(handle);
}

opened_libraries* opener_of(void* handle) {
  const std::lock_guard hold(code().lock);
  const auto found = code().by_handle.find(handle);
  return found == code().by_handle.end() ? nullptr : found->second;
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

// A name with a slash means that file alone, as glibc has it.
bool is_meant(const elf_file& file, std::string_view name, const std::string& path) {
  if (name.find('/') != name.npos) return is_file(file, std::string(name));
  return file.answers_to(name) || is_file(file, path);
}

// The loader counts this call too.
void* open_again(int number, int flags) {
  return ::dlopen(std::to_string(number).c_str(), RTLD_LAZY | RTLD_NOLOAD | flags);
}

// The host's dlclose() would ask here again.
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

  // Breadth first; itself among them when what it needs needs it.
  [[nodiscard]] std::vector<opened*> needs() const {
    std::vector<opened*> all;
    const auto add = [&](const opened& one) {
      for (opened* const used : one.uses)
        if (std::ranges::find(all, used) == all.end()) all.push_back(used);
    };
    add(*this);
    for (std::size_t i = 0; i < all.size(); ++i) add(*all[i]);
    return all;
  }
  // It stays for the loader as well, which does not count what is counted here.
  void keep() {
    if (!stays) open_again(source.number(), RTLD_NODELETE);
    stays = true;
  }
  // Nobody counts who binds a name to one that is open for all.
  void open_for_all() {
    is_global = true;
    keep();
  }
};

struct opened_libraries::listed {
  const elf_file* file;
  const opened* one;    // Null for those of the program.
  std::uintptr_t base;  // 0: not loaded yet.
};

opened_libraries& opened_libraries::of_copy(program_files program) {
  auto* const made = new opened_libraries(std::move(program));
  for (const own_file& f : made->program_.files) note_code(*f.file, f.base, made);
  note_handle(made->program_.handle, made);
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
  const auto next = [&]() -> loaded_part* {
    const std::lock_guard hold(
        loading_lock());  // A thread that the rank leaves behind may open some, too.
    const auto last = std::find_if(open_.rbegin(), open_.rend(), is_left);
    return last == open_.rend() ? nullptr : &*(*last)->part;
  };
  while (loaded_part* const part = next()) part->finish();
}

// --- Which library is meant -------------------------------------------------------------------------

const opened_libraries::own_file* opened_libraries::linked(std::string_view name,
                                                           const std::string& path) const {
  for (const own_file& f : program_.files)
    if (is_meant(*f.file, name, path)) return &f;
  return nullptr;
}

opened_libraries::opened* opened_libraries::find(
    std::string_view name, const std::string& path,
    const std::vector<std::unique_ptr<opened>>& among) const {
  for (const std::unique_ptr<opened>& one : among)
    if (is_meant(one->source.file, name, path)) return one.get();
  return nullptr;
}

// The path at which the loader would find it. Of the system's own directories only what uses MPI, which each rank is to have: empty when
// another one lies there, or none anywhere.
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
  return mpi_user_of_system(name);
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

// In a program that was not linked so from the start, the functions of MPI mean the standard's interface. The program has Open MPI's when
// one of its own libraries speaks it.
void check_interface(const elf_file& file, bool has_openmpi) {
  for (const std::uint64_t index : file.needed()) {
    const std::string_view name = file.string_at(index);
    bool is_there = true;
    if (is_mpich_library(name)) {
      void* const functions =
          ::dlopen(std::string(mpich_functions_library).c_str(), RTLD_LAZY | RTLD_NOLOAD);
      is_there = functions != nullptr;
      if (is_there) ::dlclose(functions);
    } else if (name == openmpi_library) {
      is_there = has_openmpi;
    }
    if (!is_there)
      throw error(formatted(
          "{}: needs {}, the interface of {}, which this program does not have: build it with "
          "mpicc_abi, or let weftrun start the system's interpreter, a process for each rank",
          file.path(), name, name == openmpi_library ? "Open MPI" : "MPICH before version 5"));
  }
}

// The library, and those of its libraries that each rank is to have too and that are not there yet.
opened_libraries::opened& opened_libraries::collect(const std::string& path,
                                                    std::vector<std::unique_ptr<opened>>& fresh) {
  const std::size_t place = fresh.size();
  fresh.push_back(std::make_unique<opened>(path));
  opened& one = *fresh.back();
  const elf_file& file = one.source.file;
  check_interface(file, linked(openmpi_library, {}) != nullptr);
  if (const elf_file& program = *program_.files.back().file;
      program.is_executable() && program.has_thread_locals())
    refuse_thread_locals_of(program, file);
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
  // It goes behind what it needs.
  std::rotate(fresh.begin() + static_cast<std::ptrdiff_t>(place),
              fresh.begin() + static_cast<std::ptrdiff_t>(place) + 1, fresh.end());
  return one;
}

// The program's files, then what is open, then what is to be.
std::vector<opened_libraries::listed> opened_libraries::all_files(
    const std::vector<std::unique_ptr<opened>>& fresh) const {
  std::vector<listed> all;
  for (const own_file& f : program_.files) all.push_back({f.file, nullptr, f.base});
  for (const auto* const some : {&open_, &fresh})
    for (const std::unique_ptr<opened>& one : *some)
      all.push_back({&one->source.file, one.get(), one->part ? one->part->base() : 0});
  return all;
}

// Names are looked up as in a process of its own: in the program and its libraries, in what has been opened for all, in the library and
// what it needs.
void opened_libraries::bind_names(std::vector<std::unique_ptr<opened>>& fresh, int flags) {
  const std::vector<listed> all = all_files(fresh);
  std::vector<const elf_file*> files;
  for (const listed& each : all) files.push_back(each.file);
  const auto index_of = [&](const opened* one) {
    return static_cast<std::size_t>(std::ranges::find(all, one, &listed::one) - all.begin());
  };
  std::vector<std::size_t> local{files.size() - 1};
  for (const opened* const needed : fresh.back()->needs())
    if (needed != fresh.back().get()) local.push_back(index_of(needed));
  std::vector<std::size_t> order = program_.order;
  for (const std::unique_ptr<opened>& one : open_)
    if (one->is_global) order.push_back(index_of(one.get()));
  order.insert((flags & RTLD_DEEPBIND) != 0 ? order.begin() : order.end(), local.begin(),
               local.end());
  const std::size_t first = files.size() - fresh.size();
  std::vector<std::vector<binding>> bindings = bindings_of(files, order, first);
  for (const std::vector<binding>& one : bindings)
    if (std::ranges::find(one, files.size(), &binding::file) != one.end())
      program_.streams->begin();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    copied_file& source = fresh[i]->source;
    source.set_bindings(std::move(bindings[first + i]));
    source.keep_from_loader((flags & RTLD_NOW) == 0 && !source.file.is_bound_at_once());
  }
}

void* opened_libraries::load(std::vector<std::unique_ptr<opened>>& fresh, int flags) {
  for (const std::unique_ptr<opened>& one : fresh) {
    // What else is open may have the name of one of these.
    std::vector<numbered_file> needed;
    for (const own_file& f : program_.files) needed.push_back({f.file, &f.number});
    for (const opened* const used : one->uses) needed.push_back(used->source.numbered());
    one->source.prepare(needed, program_.debugged);
  }
  bind_names(fresh, flags);
  const opened& last = *fresh.back();
  const std::string& path = last.source.file.path();
  for (const std::unique_ptr<opened>& one : fresh)
    if (!one->source.open_copy())
      throw error(formatted("{}: cannot make a copy of it: {}", path,
                            copied_file::reason_of_refusal(errno)));
  for (const std::unique_ptr<opened>& one : fresh) one->source.write_copy();
  // Its name is the number alone, by which others may need it later.
  void* const handle = ::dlopen(std::to_string(last.source.number()).c_str(),
                                (flags & (RTLD_NOW | RTLD_LAZY)) | RTLD_LOCAL);
  if (handle == nullptr) throw error(reason_of_loader(path, last.source.number()));
  try {
    take(handle, fresh);
  } catch (...) {
    close_in_loader(handle);
    throw;
  }
  for (const std::unique_ptr<opened>& one : fresh) {
    note_code(one->source.file, one->part->base(), this);
    note_handle(one->handle, this);
    for (opened* const used : one->uses) ++used->users;
    if (one->source.file.is_never_unloaded()) one->keep();
    // Libraries that need each other would never be without users.
    const std::vector<opened*> needs = one->needs();
    if (std::ranges::find(needs, one.get()) != needs.end()) one->keep();
  }
  return handle;
}

// What the loader has loaded becomes ours.
void opened_libraries::take(void* handle, const std::vector<std::unique_ptr<opened>>& fresh) {
  for (const std::unique_ptr<opened>& one : fresh) {
    link_map* const map = map_of(handle, one->source.number());
    if (map == nullptr)
      throw error(formatted("{}: its library {} was not found", fresh.back()->source.file.path(),
                            one->source.file.path()));
    one->handle = map;
    one->part.emplace(one->source.file, map->l_addr);
  }
  std::vector<std::uintptr_t> bases;
  for (const listed& each : all_files(fresh)) bases.push_back(each.base);
  bases.push_back(program_.streams->address());
  for (const std::unique_ptr<opened>& one : fresh) {
    one->source.bind(one->part->base(), bases);
    if (program_.debugged) {
      one->source.leave_copy_open();
    } else {
      one->source.share_pages(one->part->base(), true);
      static_cast<link_map*>(one->handle)->l_name = one->source.shown_name();
      one->source.close_copy();
    }
  }
}

namespace {

void tell_of_kept_worker(const std::string& why) {
  static std::atomic<bool> has_told{false};  // Relaxed: it says nothing of anything else.
  if (!has_told.exchange(true, std::memory_order_relaxed))
    log_line("moving: workers whose ranks open it stay on their threads, since {}", why);
}

}  // namespace

// The second who comes finds what the first has constructed. Other ranks run while a rank waits.
std::unique_lock<std::recursive_mutex> opened_libraries::take_turn() {
  std::unique_lock turn(turn_, std::defer_lock);
  for (long long rest = 0; !turn.try_lock();)
    if (weft_lets_others_run(&rest) == 0) {
      turn.lock();
      break;
    }
  return turn;
}

std::optional<void*> opened_libraries::open_from(const elf_file& by, const char* path, int flags) {
  if (path == nullptr || *path == '\0') return program_.handle;
  std::vector<std::unique_ptr<opened>> fresh;
  std::vector<const loaded_part*> constructed;
  void* handle = nullptr;
  // The lock belongs to this thread, as do variables of the library.
  kept_on_thread kept(worker::current());
  const std::unique_lock turn = take_turn();
  {
    const std::lock_guard hold(loading_lock());
    const std::string found = path_of(path, by);
    if (const own_file* const file = linked(path, found); file != nullptr)
      return file == &program_.files.back() ? program_.handle : open_again(file->number, 0);
    opened* one = find(path, found, open_);
    if (one != nullptr) {
      handle = open_again(one->source.number(), 0);
    } else {
      if (found.empty() || ::access(found.c_str(), R_OK) != 0 || !is_own(found)) return {};
      if ((flags & RTLD_NOLOAD) != 0) return nullptr;
      one = &collect(std::filesystem::absolute(found).string(), fresh);
      handle = load(fresh, flags);
      const worker* const here = worker::current();
      const bool moves = here != nullptr && here->moves();
      for (const std::unique_ptr<opened>& each : fresh)
        if (const std::string why = moves ? each->source.file.is_of_thread() : std::string();
            !why.empty() && kept.keep_for_good()) {
          tell_of_kept_worker(why);
          break;
        }
    }
    ++one->users;
    if ((flags & RTLD_GLOBAL) != 0) {
      one->open_for_all();
      for (opened* const needed : one->needs()) needed->open_for_all();
    }
    if ((flags & RTLD_NODELETE) != 0) one->keep();
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
  // The numbers of its files are not those of the process that it has for its own.
  if (is_forked_child()) return {};
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
  if (is_forked_child()) return {};
  // loading_lock() must not be taken yet: the caller may be a library that the loader calls while it holds its own.
  opened_libraries* const of = opener_of(handle);
  if (of == nullptr) return {};
  if (of->program_.handle == handle) return 0;
  std::vector<std::unique_ptr<opened>> unused;
  {
    const std::lock_guard hold(loading_lock());
    const auto found = std::ranges::find_if(
        of->open_, [&](const std::unique_ptr<opened>& each) { return each->handle == handle; });
    if (found == of->open_.end()) return {};
    opened* const one = found->get();
    if (one->stays && one->users == 1) return 0;
    of->release(*one, unused);
  }
  for (const std::unique_ptr<opened>& one : unused) one->part->finish();
  const std::lock_guard hold(loading_lock());
  for (const std::unique_ptr<opened>& one : unused) forget(one->part->base(), one->handle);
  return close_in_loader(handle);
}

}  // namespace weft::process

// --- What the host has in place of the loader's -----------------------------------------------------

namespace {

// dlerror() has one for each thread, and tells it once.
thread_local std::string open_error, told_error;

}  // namespace

extern "C" {

struct weft_own_library weft_open_library(const char* path, int flags, const void* caller) {
  open_error.clear();
  try {
    const std::optional<void*> opened = weft::process::opened_libraries::open(path, flags, caller);
    return {opened.has_value(), opened.value_or(nullptr)};
  } catch (const std::exception& e) {
    static_cast<void>(::dlerror());  // An older one.
    open_error = e.what();
    return {1, nullptr};
  }
}

struct weft_own_closing weft_close_library(void* handle) {
  const std::optional<int> closed = weft::process::opened_libraries::close(handle);
  return {closed.has_value(), closed.value_or(0)};
}

const char* weft_open_error(void) {
  if (open_error.empty()) return nullptr;
  told_error = std::exchange(open_error, {});
  return told_error.c_str();
}
}
