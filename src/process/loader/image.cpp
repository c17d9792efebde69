// Loading works in four steps. The parts of the file that the loader reads go into an anonymous file
// (glibc knows files by device and inode, so each copy needs one of its own), with the calls of
// constructors taken out; that file is loaded; its pages are replaced by pages of the original file
// wherever they are equal; and the anonymous file, of which nothing is mapped any more, goes.
//
// What the loader has found for the names of the first copy it would find for the others: they are loaded
// from tables that hold it already.
#include "process/loader/image.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/format.hpp"
#include "base/reasons.hpp"
#include "process/loader/binding.hpp"
#include "process/loader/libraries.hpp"
#include "process/loader/start.h"
#include "weft/error.hpp"

namespace weft::process {
namespace {

bool is_debugged() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "TracerPid:") return status >> word && word != "0";
  return false;
}

std::vector<const elf_file*> files_of(std::span<const std::unique_ptr<copied_file>> sources) {
  std::vector<const elf_file*> files;
  for (const std::unique_ptr<copied_file>& one : sources) files.push_back(&one->file);
  return files;
}

}  // namespace

// --- The program ----------------------------------------------------------------------------------

image_program::image_program(const std::string& path, const std::vector<std::string>& libraries,
                             bool tells)
    : debugged_(is_debugged()), tells_(tells) {
  if (const char* const paths = std::getenv("LD_LIBRARY_PATH")) search_path_ = paths;
  std::vector<std::unique_ptr<copied_file>> unordered;
  unordered.push_back(std::make_unique<copied_file>(path));
  for (const std::string& library : libraries)
    unordered.push_back(std::make_unique<copied_file>(library));
  for (const std::size_t at : order_of_loading(files_of(unordered)))
    sources_.push_back(std::move(unordered[at]));
  std::vector<numbered_file> all;
  for (const std::unique_ptr<copied_file>& s : sources_) all.push_back(s->numbered());
  for (const std::unique_ptr<copied_file>& s : sources_) s->prepare(all, debugged_);
  choose_thread_locals();
  bind_names();
  must_see_all_ =
      debugged_ || static_tls_bytes(files_of(sources_)) != 0 ||
      std::ranges::any_of(sources_, [](const auto& s) { return s->file.has_text_relocations(); });
  // Each copy has a number of its own.
  rlimit numbers{};
  if (getrlimit(RLIMIT_NOFILE, &numbers) == 0) {
    numbers.rlim_cur = numbers.rlim_max;
    setrlimit(RLIMIT_NOFILE, &numbers);
  }
}

image_program::~image_program() = default;

// Libraries cannot have their share of them: the loader does not know where they lie.
void image_program::choose_thread_locals() {
  const elf_file& program = sources_.back()->file;
  thread_locals_ = program.thread_locals_of_executable();
  if (!thread_locals_) return;
  for (const std::unique_ptr<copied_file>& one : sources_)
    if (&one->file != &program) refuse_thread_locals_of(program, one->file);
  if (!has_room_for_thread_locals())
    throw error(formatted(
        "this process has no room for the thread-local variables of {}: start it with --ranks-per-process 1",
        program.path()));
}

// The program first, then the libraries that it needs, then those that these need, as a loader does. What stands before the C
// library comes before all of these, as the library does that brings it and is preloaded.
void image_program::bind_names() {
  const std::vector<const elf_file*> files = files_of(sources_);
  order_ = {files.size() - 1};
  for (std::size_t i = 0; i + 1 < files.size(); ++i)
    if (files[i]->soname() == process_library || files[i]->soname() == mpich_process_library)
      order_.push_back(i);
  for (std::size_t looked_at = 0; looked_at < order_.size(); ++looked_at)
    for (const std::uint64_t index : files[order_[looked_at]]->needed())
      for (std::size_t i = 0; i < files.size(); ++i)
        if (files[i]->answers_to(files[order_[looked_at]]->string_at(index)) &&
            std::ranges::find(order_, i) == order_.end())
          order_.push_back(i);
  // Open MPI's own libraries for Fortran and C++ look into its objects: what stands in the place of some of their functions comes before.
  const auto is_of_openmpi = [&](std::size_t i) {
    return files[i]->soname().starts_with("libmpi_");
  };
  const auto first = std::find_if(order_.begin() + 1, order_.end(), is_of_openmpi);
  const auto functions = std::ranges::find_if(first, order_.end(), [&](std::size_t i) {
    return files[i]->soname() == openmpi_functions_library;
  });
  if (functions != order_.end()) std::rotate(first, functions, functions + 1);
  std::vector<std::vector<binding>> all = bindings_of(files, order_);
  for (const std::vector<binding>& one : all)
    uses_streams_ =
        uses_streams_ || std::ranges::find(one, files.size(), &binding::file) != one.end();
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->set_bindings(std::move(all[i]));
}

std::string image_program::bound_to_threads_by() const {
  for (const std::unique_ptr<copied_file>& s : sources_) {
    if (std::string why = s->file.is_of_thread(); !why.empty()) return why;
    for (const std::uint64_t index : s->file.needed())
      for (const std::string_view openmp : {"libgomp.", "libomp.", "libiomp5."})
        if (s->file.string_at(index).starts_with(openmp))
          return formatted("{} uses OpenMP", s->file.path());
  }
  return {};
}

std::string image_program::failure_text(std::string_view reason) const {
  const std::string what =
      formatted("cannot load copy {} of {}", loaded_ + 1, sources_.back()->file.path());
  if (reason.find("static TLS") != reason.npos) {
    return formatted(
        "{}: its thread_local variables of model initial-exec take {} bytes of each thread's "
        "static space, and glibc.rtld.optional_static_tls in GLIBC_TUNABLES sets aside too little; "
        "compile without -ftls-model=initial-exec, or run with --ranks-per-process 1",
        what, static_tls_bytes(files_of(sources_)));
  }
  if (reason.find("map") != reason.npos || reason.find("memory") != reason.npos) {
    // A limit on memory is reached long before that on mappings.
    if (const std::string limit = limit_of_memory(); !limit.empty())
      return formatted("{}: {}; {}: raise it, or run with --ranks-per-process 1", what, reason,
                       limit);
    return formatted(
        "{}: {}; a copy takes about {} mappings and vm.max_map_count is {}: raise it, or divide the ranks among more "
        "processes (weftrun --processes)",
        what, reason, mappings(true), limit_of_mappings());
  }
  return formatted("{}: {}", what, reason);
}

// Its own start file knows it.
image::main_function image_program::main_of_foreign(void* handle, std::uintptr_t base) const {
  const elf_file& program = sources_.back()->file;
  using finder = decltype(&::weft_find_main);
  const auto find = reinterpret_cast<finder>(::dlsym(handle, "weft_find_main"));
  if (find == nullptr || program.entry() == 0)
    throw error(formatted("{} has no main(): build it as a program", program.path()));
  return find(reinterpret_cast<void (*)()>(base + program.entry()));
}

void image_program::open_copies() {
  for (const std::unique_ptr<copied_file>& s : sources_) {
    if (s->open_copy()) continue;
    throw error(formatted("cannot load copy {} of {}: {}", loaded_ + 1,
                          sources_.back()->file.path(), copied_file::reason_of_refusal(errno)));
  }
  for (const std::unique_ptr<copied_file>& s : sources_) s->write_copy();
}

void image_program::close_copies() noexcept {
  for (const std::unique_ptr<copied_file>& s : sources_) s->close_copy();
}

std::size_t image_program::mappings(bool protects) const {
  std::size_t count = 0;
  for (const std::unique_ptr<copied_file>& s : sources_)
    count += mappings_of_copy(s->file, protects);
  return count;
}

image image_program::load() {
  const std::lock_guard hold(loading_lock());
  const bool protects =
      loaded_ < protected_copies_max(mappings(true), static_cast<std::size_t>(limit_of_mappings()));
  open_copies();
  void* const handle = list_.open(loaded_name(sources_.back()->number()).c_str(),
                                  RTLD_NOW | RTLD_LOCAL, sources_.size(), must_see_all_);
  if (handle == nullptr) {
    close_copies();
    throw error(failure_text(list_.reason()));
  }
  image loaded;
  std::vector<link_map*> maps;
  std::vector<std::uintptr_t> bases;
  for (const std::unique_ptr<copied_file>& s : sources_) {
    link_map* const map = map_of(handle, s->number());
    if (map == nullptr)
      throw error(failure_text(formatted("its library {} was not found", s->file.path())));
    maps.push_back(map);
    bases.push_back(map->l_addr);
  }
  loaded.streams_ = &own_streams::make();
  loaded.uses_streams_ = uses_streams_;
  bases.push_back(loaded.streams_->address());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    copied_file& s = *sources_[i];
    // A library's own are in place before the program's copies are made.
    const std::vector<copied_variable> variables = s.variables_of(bases[i], bases, sources_);
    s.bind(bases[i], bases, variables);
    std::ranges::copy_if(variables, std::back_inserter(loaded.variables_),
                         [](const copied_variable& v) { return !v.is_kept; });
    if (loaded_ == 0) s.keep_findings(bases[i], bases, sources_);
    if (!debugged_) {
      s.share_pages(bases[i], protects);
      maps[i]->l_name = s.shown_name();
    }
    loaded.parts_.emplace_back(s.file, bases[i]);
  }
  if (!debugged_) {
    close_copies();
  } else {
    for (const std::unique_ptr<copied_file>& s : sources_) s->leave_copy_open();
  }
  ++loaded_;
  if (thread_locals_)
    loaded.thread_locals_ = {
        reinterpret_cast<const std::byte*>(bases[sources_.size() - 1] + thread_locals_->address),
        thread_locals_->initialized, thread_locals_->size, thread_locals_->below};
  const auto* const description = static_cast<const weft_program*>(::dlsym(handle, "weft_program"));
  if (description == nullptr || description->version != weft_program_version)
    throw error(
        formatted("{} was not built by weftcc, weftcxx or weftfc of this version of weft: "
                  "build it again",
                  sources_.back()->file.path()));
  loaded.main_ = description->main;
  if (loaded.main_ == nullptr) loaded.main_ = main_of_foreign(handle, bases[sources_.size() - 1]);
  loaded.own_ = &description->own;
  std::vector<opened_libraries::own_file> files;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    files.push_back({&sources_[i]->file, sources_[i]->number(), bases[i]});
  loaded.opened_ = &opened_libraries::of_copy(
      {std::move(files), order_, handle, search_path_, debugged_, tells_, loaded.streams_});
  return loaded;
}

// --- A copy ---------------------------------------------------------------------------------------

void image::construct(int argc, char** argv, char** environment) {
  if (!place_thread_locals(thread_locals_))
    throw error(
        "the program has thread-local variables and was linked as an executable, so that each rank needs a worker of its own, and two "
        "ranks share one: start it with --ranks-per-process 1");
  opened_->set_words(argc, argv, environment);
  // Once more: what all ranks share may have changed since, as standard output does when ranks begin.
  for (const copied_variable& v : variables_) std::memcpy(v.to, v.from, v.size);
  if (uses_streams_) streams_->begin();
  for (const loaded_part& p : parts_) p.construct(argc, argv, environment);
}

// What was constructed last goes first.
void image::destroy() {
  opened_->finish();
  for (std::size_t at = parts_.size(); at-- > 0;) parts_[at].finish();
}

}  // namespace weft::process
