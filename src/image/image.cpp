// Loading works in four steps. The parts of the file that the loader reads go into an anonymous file
// (glibc knows files by device and inode, so each copy needs one of its own), with the calls of
// constructors taken out; that file is loaded; its pages are replaced by pages of the original file
// wherever they are equal; and the anonymous file, of which nothing is mapped any more, goes.
//
// What the loader has found for the names of the first copy it would find for the others: they are loaded
// from tables that hold it already.
#include "image/image.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <utility>

#include "base/format.hpp"
#include "base/limits.hpp"
#include "image/binding.hpp"
#include "image/start.h"
#include "weft/error.hpp"

namespace weft {
namespace {

std::size_t page_bytes() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
std::size_t page_down(std::size_t at) {
  return at & ~(page_bytes() - 1);
}
std::size_t page_up(std::size_t at) {
  return page_down(at + page_bytes() - 1);
}

// Tags that the loader would act on, as one that it does not know.
constexpr std::int64_t ignored_tag = 0x6000beef;
bool calls_code(std::int64_t tag) {
  return tag == DT_INIT || tag == DT_FINI || tag == DT_INIT_ARRAY || tag == DT_FINI_ARRAY ||
         tag == DT_INIT_ARRAYSZ || tag == DT_FINI_ARRAYSZ;
}

bool is_debugged() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "TracerPid:") return status >> word && word != "0";
  return false;
}

long limit_of_mappings() {
  long limit = 65530;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  return limit;
}

std::byte* at_address(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

// Replaces `size` octets of memory at once, so that no other thread sees anything between.
bool move_over(std::byte* from, std::byte* to, std::size_t size) {
  return size == 0 || ::mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

}  // namespace

// --- One file of the program ----------------------------------------------------------------------

class image_program::source {
 public:
  explicit source(const std::string& path) : file(path) {}
  ~source() {
    if (edited_ != nullptr) ::munmap(edited_, size());
    close_copy();
  }
  source(const source&) = delete;
  source& operator=(const source&) = delete;

  // Called once, when it is known which libraries have copies.
  void prepare(const std::vector<std::unique_ptr<source>>& all, bool whole) {
    void* const mapped =
        ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), 0);
    if (mapped == MAP_FAILED) throw error(formatted("cannot map {}", file.path()));
    edited_ = static_cast<std::byte*>(mapped);
    edit(whole);
    choose_ranges(whole);
    for (const std::unique_ptr<source>& library : all) {
      if (library.get() == this) continue;
      for (const std::uint64_t index : indices_of(library->file))
        names_.push_back({string_checked(index), library.get()});
    }
  }

  // The file that one copy is loaded from, at descriptor `number` or a later one.
  int open_copy(int number) {
    const std::string_view path = file.path();
    const std::string name(path.substr(path.rfind('/') + 1));
    const int made = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    if (made < 0) return -1;
    copy_ = ::fcntl(made, F_DUPFD_CLOEXEC, number);
    const int reason = errno;
    ::close(made);
    errno = reason;
    return copy_;
  }

  // Called when all copies have been opened: those of the libraries are known by their numbers.
  void write_copy() {
    for (const library_name& n : names_) {
      const std::string number = std::to_string(n.library->copy_);
      std::memcpy(edited_ + n.offset, number.c_str(), number.size() + 1);
    }
    if (::ftruncate(copy_, static_cast<off_t>(page_up(size()))) != 0) fail("cannot grow");
    for (const range& r : written_)
      if (::pwrite(copy_, edited_ + r.offset, r.size, static_cast<off_t>(r.offset)) !=
          static_cast<ssize_t>(r.size))
        fail("cannot write");
  }

  void close_copy() noexcept {
    if (copy_ >= 0) ::close(std::exchange(copy_, -1));
  }

  // Puts right what the loader has found elsewhere. `bases` are those of all files of the copy.
  void bind(std::uintptr_t base, const std::vector<std::uintptr_t>& bases) {
    if (bindings_.empty()) return;
    const auto [constant, size] = constant_part();
    if (size != 0 && ::mprotect(at_address(base + constant), size, PROT_READ | PROT_WRITE) != 0)
      fail("cannot bind the names of");
    for (const binding& b : bindings_)
      *reinterpret_cast<std::uintptr_t*>(base + b.place) = bases[b.file] + b.value;
    if (size != 0 && ::mprotect(at_address(base + constant), size, PROT_READ) != 0)
      fail("cannot protect");
  }
  void set_bindings(std::vector<binding> all) { bindings_ = std::move(all); }

  // Called for the first copy, when its names have been bound: each word that refers to one is left to the
  // loader as an address of this file, is to be bound when it is of another file of the copy, or is
  // the same in all copies.
  void keep_findings(std::uintptr_t base, const std::vector<std::uintptr_t>& bases,
                     const std::vector<std::unique_ptr<source>>& all) {
    if (file.has_text_relocations()) return;
    bindings_.clear();
    file.each_reference([&](const ElfW(Rela) & r) {
      if (!file.holds(r.r_offset)) return;
      const auto value = *reinterpret_cast<const std::uintptr_t*>(base + r.r_offset);
      ElfW(Rela)& told = edited_at(r);
      // The end of a file belongs to it, and so do the marks behind it: a blank page follows each copy.
      std::size_t at = 0;
      while (at < all.size() &&
             (value < bases[at] || value - bases[at] > page_up(all[at]->file.span_bytes())))
        ++at;
      if (at < all.size() && all[at].get() == this) {
        told.r_info = elf_file::own_address;
        told.r_addend = static_cast<ElfW(Sxword)>(value - base);
        return;
      }
      told.r_info = elf_file::no_relocation;
      if (at < all.size())
        bindings_.push_back({r.r_offset, at, value - bases[at]});
      else
        std::memcpy(edited_ + file.offset_of(r.r_offset), &value, sizeof value);
    });
  }

  // Maps the original in place of the copy, wherever both are equal.
  void share_pages(std::uintptr_t base) const {
    for (const ElfW(Phdr) & s : file.segments()) {
      if (s.p_type != PT_LOAD || s.p_filesz == 0) continue;
      const std::size_t first = page_down(s.p_vaddr);
      const std::size_t size = page_up(s.p_vaddr + s.p_filesz) - first;
      const auto offset = static_cast<off_t>(page_down(s.p_offset));
      if ((s.p_flags & PF_W) != 0) {
        share_writable(base, first, size, offset);
      } else if (!file.has_text_relocations()) {
        const int access = PROT_READ | ((s.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
        if (::mmap(at_address(base + first), size, access, MAP_PRIVATE | MAP_FIXED,
                   file.descriptor(), offset) == MAP_FAILED)
          fail("cannot map the code of");
      }
    }
  }

  // A debugger opens it when it likes.
  void leave_copy_open() noexcept { copy_ = -1; }

  [[nodiscard]] int copy() const noexcept { return copy_; }
  // Of the links that glibc keeps: what a debugger and a stack trace take for the file's name.
  [[nodiscard]] char* shown_name() const { return ::strdup(file.path().c_str()); }

  const elf_file file;

 private:
  struct range {
    std::size_t offset;
    std::size_t size;
  };
  struct library_name {
    std::size_t offset;
    const source* library;
  };

  [[nodiscard]] std::size_t size() const noexcept { return file.octets().size(); }
  template <class T>
  T& edited_at(const T& original) {
    return *reinterpret_cast<T*>(
        edited_ + (reinterpret_cast<const std::byte*>(&original) - file.octets().data()));
  }
  [[noreturn]] void fail(const char* what) const {
    const int reason = errno;
    throw error(formatted("{} a copy of {}: {}; vm.max_map_count is {}", what, file.path(),
                          std::strerror(reason), limit_of_mappings()));
  }

  // Build systems that take flags from the wrappers link an executable, which differs in a mark, and in
  // that its code knows where its thread-locals are.
  void take_for_library() {
    for (const ElfW(Dyn) & entry : file.dynamic())
      if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) {
        for (const ElfW(Phdr) & s : file.segments())
          if (s.p_type == PT_TLS)
            throw error(
                formatted("{} has thread-local variables and was linked as an executable, of which "
                          "a process holds one copy: link it with weftcc (mpicc), or start it "
                          "with --ranks-per-process 1",
                          file.path()));
        edited_at(entry).d_un.d_val &= ~static_cast<ElfW(Xword)>(DF_1_PIE);
      }
  }

  void edit(bool whole) {
    for (const ElfW(Dyn) & entry : file.dynamic())
      if (calls_code(entry.d_tag)) edited_at(entry).d_tag = ignored_tag;
    take_for_library();
    // Symbols that shall exist once in the process are to exist once in each copy.
    for (const ElfW(Sym) & s : file.symbols())
      if (ELF64_ST_BIND(s.st_info) == STB_GNU_UNIQUE)
        edited_at(s).st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(s.st_info));
    // A page that belongs to no file ends each copy: tools that read the list of mappings would
    // take two copies side by side for one.
    const ElfW(Phdr)* last = nullptr;
    for (const ElfW(Phdr) & s : file.segments())
      if (s.p_type == PT_LOAD) last = &s;
    if (last != nullptr)
      edited_at(*last).p_memsz =
          page_up(last->p_vaddr + last->p_memsz) + page_bytes() - last->p_vaddr;
    if (whole) return show_own_variables();
    // The sections are not written.
    auto& header = *reinterpret_cast<ElfW(Ehdr)*>(edited_);
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
  }

  // For gdb. It takes a global variable of a library for that of the first file which has a symbol of its
  // name, as if the linker had copied it there, and looks for names that a file does not define itself in
  // all files but where a mark says that the frame's own comes first.
  void show_own_variables() {
    for (const ElfW(Sym) & s : file.all_symbols())
      if (ELF64_ST_TYPE(s.st_info) == STT_OBJECT && s.st_shndx != SHN_UNDEF)
        edited_at(s).st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    // The loader obeys the mark, too: then most names mean what they are bound to anyhow.
    if (has_names_left_to_loader(file)) return;
    for (const ElfW(Dyn) & entry : file.dynamic())
      if (calls_code(entry.d_tag)) {
        edited_at(entry).d_tag = DT_SYMBOLIC;
        return;
      }
  }

  // What the loader reads: headers, tables, what is relocated. Code only when it runs meanwhile.
  void choose_ranges(bool whole) {
    if (whole || file.runs_while_loaded()) {
      written_ = {{0, size()}};
      return;
    }
    constexpr std::int64_t tables[] = {DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_HASH,  DT_RELA,
                                       DT_JMPREL, DT_VERSYM, DT_VERNEED,  DT_VERDEF};
    for (const ElfW(Phdr) & s : file.segments()) {
      if (s.p_type != PT_LOAD || s.p_filesz == 0) continue;
      const bool read = s.p_offset == 0 || (s.p_flags & PF_W) != 0 ||
                        std::ranges::any_of(tables, [&](std::int64_t tag) {
                          const std::uint64_t at = file.value_of(tag);
                          return at >= s.p_vaddr && at < s.p_vaddr + s.p_filesz;
                        });
      if (read) written_.push_back({s.p_offset, s.p_filesz});
    }
  }

  // Where this file names that library: as needed, and as the origin of versions.
  [[nodiscard]] std::vector<std::uint64_t> indices_of(const elf_file& library) const {
    std::vector<std::uint64_t> indices;
    for (const std::uint64_t index : file.needed())
      if (library.answers_to(file.string_at(index))) indices.push_back(index);
    std::uint64_t at = file.value_of(DT_VERNEED);
    for (std::uint64_t left = file.value_of(DT_VERNEEDNUM); left > 0; --left) {
      ElfW(Verneed) entry;
      std::memcpy(&entry, file.octets().data() + file.offset_of(at), sizeof entry);
      if (library.answers_to(file.string_at(entry.vn_file))) indices.push_back(entry.vn_file);
      at += entry.vn_next;
    }
    return indices;
  }

  // Linkers let a string end another one; such a name cannot be changed alone.
  [[nodiscard]] std::size_t string_checked(std::uint64_t index) const {
    const std::size_t offset = file.string_offset(index);
    if (file.octets()[offset - 1] != std::byte{0})
      throw error(
          formatted("{} names its library {} in a way that no rank can have its own: link "
                    "the library statically, or run with --ranks-per-process 1",
                    file.path(), file.string_at(index)));
    return offset;
  }

  // Whole pages that only the loader writes: first address and size.
  [[nodiscard]] std::pair<std::size_t, std::size_t> constant_part() const {
    for (const ElfW(Phdr) & s : file.segments())
      if (s.p_type == PT_GNU_RELRO) {
        const std::size_t first = page_down(s.p_vaddr);
        return {first, page_down(s.p_vaddr + s.p_memsz) - first};
      }
    return {0, 0};
  }

  void share_writable(std::uintptr_t base, std::size_t first, std::size_t size,
                      off_t offset) const {
    std::byte* const target = at_address(base + first);
    void* const mapped =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.descriptor(), offset);
    if (mapped == MAP_FAILED) fail("cannot map the data of");
    auto* const fresh = static_cast<std::byte*>(mapped);
    for (std::size_t at = 0; at < size; at += page_bytes())
      if (std::memcmp(fresh + at, target + at, page_bytes()) != 0)
        std::memcpy(fresh + at, target + at, page_bytes());
    // What is only written by the loader stays read-only.
    const auto [constant_first, constant_size] = constant_part();
    const std::size_t constant = constant_first == first ? std::min(size, constant_size) : 0;
    if (constant != 0 && ::mprotect(fresh, constant, PROT_READ) != 0) fail("cannot protect");
    if (!move_over(fresh, target, constant) ||
        !move_over(fresh + constant, target + constant, size - constant))
      fail("cannot place");
  }

  std::byte* edited_ = nullptr;
  std::vector<range> written_;
  std::vector<library_name> names_;
  std::vector<binding> bindings_;
  int copy_ = -1;
};

// --- The program ----------------------------------------------------------------------------------

image_program::image_program(const std::string& path, const std::vector<std::string>& libraries)
    : debugged_(is_debugged()) {
  std::vector<std::unique_ptr<source>> unordered;
  unordered.push_back(std::make_unique<source>(path));
  for (const std::string& library : libraries)
    unordered.push_back(std::make_unique<source>(library));
  // Each after those that it needs; what has been moved is null.
  const std::function<void(std::size_t)> place = [&](std::size_t at) {
    std::unique_ptr<source> one = std::move(unordered[at]);
    for (const std::uint64_t index : one->file.needed())
      for (std::size_t other = 0; other < unordered.size(); ++other)
        if (unordered[other] != nullptr &&
            unordered[other]->file.answers_to(one->file.string_at(index)))
          place(other);
    sources_.push_back(std::move(one));
  };
  place(0);
  for (const std::unique_ptr<source>& s : sources_) s->prepare(sources_, debugged_);
  bind_names();
  // A number names a file for the life of the process: glibc remembers what it has loaded.
  rlimit numbers{};
  if (getrlimit(RLIMIT_NOFILE, &numbers) == 0) {
    numbers.rlim_cur = numbers.rlim_max;
    setrlimit(RLIMIT_NOFILE, &numbers);
  }
  next_number_ = 64;
}

image_program::~image_program() = default;

// The program first, then the libraries that it needs, then those that these need, as a loader does.
void image_program::bind_names() {
  std::vector<const elf_file*> files;
  for (const std::unique_ptr<source>& s : sources_) files.push_back(&s->file);
  std::vector<std::size_t> order{files.size() - 1};
  for (std::size_t looked_at = 0; looked_at < order.size(); ++looked_at)
    for (const std::uint64_t index : files[order[looked_at]]->needed())
      for (std::size_t i = 0; i < files.size(); ++i)
        if (files[i]->answers_to(files[order[looked_at]]->string_at(index)) &&
            std::ranges::find(order, i) == order.end())
          order.push_back(i);
  std::vector<std::vector<binding>> all = bindings_of(files, order);
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->set_bindings(std::move(all[i]));
}

std::string image_program::failure_text(std::string_view reason) const {
  const std::string what =
      formatted("cannot load copy {} of {}", loaded_ + 1, sources_.back()->file.path());
  if (reason.find("static TLS") != reason.npos) {
    std::size_t each = 0;
    for (const std::unique_ptr<source>& s : sources_) each += s->file.static_tls_bytes();
    return formatted(
        "{}: its thread_local variables of model initial-exec take {} octets of each thread's "
        "static space, and glibc.rtld.optional_static_tls in GLIBC_TUNABLES sets aside too little; "
        "compile without -ftls-model=initial-exec, or run with --ranks-per-process 1",
        what, each);
  }
  if (reason.find("map") != reason.npos || reason.find("memory") != reason.npos)
    return formatted("{}: {}; a copy takes about {} mappings and vm.max_map_count is {}", what,
                     reason, 6 * sources_.size(), limit_of_mappings());
  return formatted("{}: {}", what, reason);
}

void image_program::open_copies() {
  for (const std::unique_ptr<source>& s : sources_) {
    const int number = s->open_copy(next_number_);
    if (number < 0) {
      rlimit numbers{};
      getrlimit(RLIMIT_NOFILE, &numbers);
      throw error(failure_text(formatted("{}; {} file descriptors are allowed (ulimit -n)",
                                         std::strerror(errno), numbers.rlim_cur)));
    }
    next_number_ = number + 1;
  }
  for (const std::unique_ptr<source>& s : sources_) s->write_copy();
}

void image_program::close_copies() noexcept {
  for (const std::unique_ptr<source>& s : sources_) s->close_copy();
}

image image_program::load() {
  const std::lock_guard hold(lock_);
  open_copies();
  const std::string directory = formatted("/proc/{}/fd/", getpid());
  void* const handle = ::dlopen((directory + std::to_string(sources_.back()->copy())).c_str(),
                                RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    close_copies();
    throw error(failure_text(reason != nullptr ? reason : "no reason given"));
  }
  image loaded;
  link_map* newest = nullptr;
  ::dlinfo(handle, RTLD_DI_LINKMAP, &newest);
  std::vector<link_map*> maps;
  std::vector<std::uintptr_t> bases;
  for (const std::unique_ptr<source>& s : sources_) {
    // The libraries of a copy come after it in glibc's list.
    const std::string name = directory + std::to_string(s->copy());
    link_map* map = newest;
    while (map != nullptr && name != map->l_name) map = map->l_next;
    if (map == nullptr)
      throw error(failure_text(formatted("its library {} was not found", s->file.path())));
    maps.push_back(map);
    bases.push_back(map->l_addr);
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    source& s = *sources_[i];
    s.bind(bases[i], bases);
    if (loaded_ == 0) s.keep_findings(bases[i], bases, sources_);
    if (!debugged_) {
      s.share_pages(bases[i]);
      maps[i]->l_name = s.shown_name();
    }
    const elf_calls calls = s.file.calls();
    loaded.parts_.push_back({bases[i], calls, calls.fini_count, 0});
  }
  if (!debugged_) {
    close_copies();
  } else {
    for (const std::unique_ptr<source>& s : sources_) s->leave_copy_open();
  }
  ++loaded_;
  const auto* const description = static_cast<const weft_program*>(::dlsym(handle, "weft_program"));
  if (description == nullptr || description->version != weft_program_version)
    throw error(
        formatted("{} was not built by weftcc, weftcxx or weftfc of this version of weft: "
                  "build it again",
                  sources_.back()->file.path()));
  loaded.main_ = description->main;
  loaded.own_ = &description->own;
  return loaded;
}

// --- A copy ---------------------------------------------------------------------------------------

void image::construct(int argc, char** argv, char** environment) {
  using initializer = void (*)(int, char**, char**);
  for (const part& p : parts_) {
    if (p.calls.first_init != 0)
      reinterpret_cast<initializer>(p.base + p.calls.first_init)(argc, argv, environment);
    const auto* const all = reinterpret_cast<const initializer*>(p.base + p.calls.init_array);
    for (std::size_t i = 0; i < p.calls.init_count; ++i) all[i](argc, argv, environment);
  }
}

void image::destroy() {
  using finisher = void (*)();
  for (std::size_t at = parts_.size(); at-- > 0;) {
    part& p = parts_[at];
    const auto* const all = reinterpret_cast<const finisher*>(p.base + p.calls.fini_array);
    // One that was left by a jump is called again: that which calls the handlers of atexit() goes on
    // with those that are left. One that leaves each time is given up.
    while (p.fini_left > 0) {
      if (++p.attempts <= finisher_attempts_max) all[p.fini_left - 1]();
      --p.fini_left;
      p.attempts = 0;
    }
    if (p.calls.last_fini != 0)
      reinterpret_cast<finisher>(p.base + std::exchange(p.calls.last_fini, 0))();
  }
}

}  // namespace weft
