// Files as a whole: opening, closing, deleting, sizes, groups, hints, atomicity.
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "collective/collectives.hpp"
#include "mpi/io/access.hpp"
#include "mpi/object/group.hpp"

namespace weft::mpi {
namespace {

// Names of other libraries may say what kind of file system they mean: "ufs:/tmp/data".
std::string_view without_system(std::string_view name) noexcept {
  for (const std::string_view prefix : {"ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "posix:"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

// Of a name as the program gives it; by the rank's working directory, which threads of the library do not have.
std::string absolute_path(const char* name) {
  check_not_null(name, "filename");
  const std::string_view path = without_system(name);
  if (path.empty()) fail(MPI_ERR_BAD_FILE, "the name of the file is empty");
  if (path.front() == '/') return std::string(path);
  char directory[4096];
  if (::getcwd(directory, sizeof directory) == nullptr)
    fail(MPI_ERR_BAD_FILE, "the working directory, in which \"{}\" is to be, is not there: {}",
         printable(std::string(path)), text_of_error(errno));
  return std::string(directory) + '/' + std::string(path);
}

// The mask of new files of the calling thread, which the kernel tells without changing it.
unsigned mask_of_new_files() {
  constexpr unsigned usual = 022;
  std::FILE* const status = std::fopen("/proc/thread-self/status", "re");
  if (status == nullptr) return usual;
  char line[256];
  unsigned mask = usual;
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::sscanf(line, "Umask: %o", &mask) == 1) break;
  std::fclose(status);
  return mask;
}

void check_amode(int amode) {
  constexpr int all = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                      MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                      MPI_MODE_WRONLY;
  if ((amode & ~all) != 0) fail(MPI_ERR_AMODE, "access mode {} has unknown bits", amode);
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_RDWR && access != MPI_MODE_WRONLY)
    fail(MPI_ERR_AMODE,
         "access mode {} has not one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR", amode);
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    fail(MPI_ERR_AMODE, "MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
    fail(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
}

int flags_of(int amode) noexcept {
  int flags = (amode & MPI_MODE_RDWR) != 0     ? O_RDWR
              : (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                               : O_RDONLY;
  if ((amode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
  if ((amode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
  return flags;
}

// All ranks go by the hints of rank 0.
void share_hints(file_state& f) {
  struct numbers {
    std::uint64_t buffer_bytes;
    std::int32_t aggregators;
    std::uint32_t mode;
    std::int32_t writes;
    std::int32_t reads;
  };
  const numbers all =
      f.ranks().bcast(numbers{f.hints.buffer_bytes, f.hints.aggregators, f.hints.mode,
                              static_cast<std::int32_t>(f.hints.collective_writes),
                              static_cast<std::int32_t>(f.hints.collective_reads)},
                      0);
  f.hints.buffer_bytes = all.buffer_bytes;
  f.hints.aggregators = all.aggregators;
  f.hints.mode = all.mode;
  f.hints.collective_writes = static_cast<file_hints::choice>(all.writes);
  f.hints.collective_reads = static_cast<file_hints::choice>(all.reads);
}

// The first rank of each worker, or so many of these as the hint says; if that is more than there are, other ranks too.
std::vector<int> choose_aggregators(const file_state& f) {
  const detail::worker_group* const group = f.shared().at(f.own()).group;
  const bool is_first = group != nullptr && group->members[0] == f.own();
  struct wish {
    std::int32_t is_first;
    std::int32_t count;
  };
  const std::vector<wish> all = f.ranks().allgather(wish{is_first, f.hints.aggregators});
  std::vector<int> firsts;
  std::vector<int> others;
  for (std::size_t r = 0; r < all.size(); ++r)
    (all[r].is_first != 0 ? firsts : others).push_back(static_cast<int>(r));
  const auto wanted = static_cast<std::size_t>(all[0].count);
  if (wanted == 0 || wanted == firsts.size()) return firsts;
  std::vector<int> chosen;
  if (wanted < firsts.size()) {
    for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(firsts[i * firsts.size() / wanted]);
    return chosen;
  }
  chosen = std::move(firsts);
  const std::size_t more = std::min(wanted - chosen.size(), others.size());
  for (std::size_t i = 0; i < more; ++i) chosen.push_back(others[i * others.size() / more]);
  std::ranges::sort(chosen);
  return chosen;
}

// A name beside the file that nobody can know before: neither has a job that was killed left such a file, nor can another user
// have made it.
std::string path_of_pointer(const file_state& f) {
  struct name {
    std::array<std::uint64_t, 2> words;
    std::int32_t is_made;
    std::int32_t unused;
  } drawn{};
  if (f.own() == 0)
    drawn.is_made = ::getrandom(drawn.words.data(), sizeof drawn.words, 0) ==
                    static_cast<ssize_t>(sizeof drawn.words);
  drawn = f.ranks().bcast(drawn, 0);
  if (!f.shared().spans_processes()) return "";
  if (drawn.is_made == 0)
    fail(MPI_ERR_OTHER, "the kernel gives no random numbers for the name of a shared pointer");
  const std::size_t slash = f.path.rfind('/');
  return formatted("{}.{}.pointer-{:016x}{:016x}", f.path.substr(0, slash + 1),
                   f.path.substr(slash + 1), drawn.words[0], drawn.words[1]);
}

// What the ranks of a process share. The leader makes it and shows the others where it is.
struct shared_parts {
  std::shared_ptr<open_file> file = std::make_shared<open_file>();
  std::shared_ptr<shared_pointer> pointer;
};
void share_parts(file_state& f, shared_parts& mine) {
  const std::uint64_t place =
      f.own() == f.leader() ? reinterpret_cast<std::uintptr_t>(&mine) : std::uint64_t{0};
  const std::vector<std::uint64_t> places = f.ranks().allgather(place);
  const auto& parts =
      *reinterpret_cast<const shared_parts*>(places[static_cast<std::size_t>(f.leader())]);
  f.file = parts.file;
  f.pointer = parts.pointer;
}

// Rank 0 makes the file where that is wanted, so that exactly one rank does; then each other process opens it.
void open_everywhere(state& me, file_state& f, shared_parts& parts, const char* call) {
  const unsigned mode = f.hints.mode & ~mask_of_new_files();
  const auto open_here = [&](int flags) {
    file_outcome opened;
    run_blocking(me, {call, f.name}, [&] { opened = parts.file->open(f.path, flags, mode); });
    if (!opened.is_good())
      fail(class_of_error(opened.error), "file \"{}\" cannot be opened: {}", printable(f.name),
           text_of_error(opened.error));
  };
  contribution_of_rank mine;
  if (f.own() == 0) mine.note([&] { open_here(flags_of(f.amode)); });
  agree(f.ranks(), mine);
  if (f.own() == f.leader() && f.own() != 0)
    mine.note([&] { open_here(flags_of(f.amode) & ~(O_CREAT | O_EXCL)); });
  agree(f.ranks(), mine);
}

// Meets before it returns: from then on nobody uses what a leader has shown.
void open_at_end(state& me, file_state& f, const char* call) {
  contribution_of_rank mine;
  if ((f.amode & MPI_MODE_APPEND) != 0)
    mine.note([&] {
      f.position = end_position(me, f, call);
      if (f.own() == 0) run_on_file(me, f, call, [&] { return f.pointer->set(f.position); });
    });
  agree(f.ranks(), mine);
}

MPI_File open(state& me, MPI_Comm comm, const char* name, int amode, MPI_Info info,
              const char* call) {
  communicator_object& c = checked_intracommunicator(me, comm);
  const auto f = std::make_shared<file_state>();
  f->group = with_own_context(me, c, call);
  f->group->name = formatted("the group of file \"{}\"", name == nullptr ? "" : name);
  f->amode = amode;
  contribution_of_rank mine;
  mine.note([&] {
    check_amode(amode);
    f->path = absolute_path(name);
    f->name = name;
    take_hints(f->hints, checked_hints(me, info));
  });
  agree_on(f->ranks(), mine, static_cast<std::uint64_t>(amode), "the access mode");
  share_hints(*f);
  f->aggregators = choose_aggregators(*f);
  shared_parts parts;
  parts.pointer = std::make_shared<shared_pointer>(path_of_pointer(*f));
  open_everywhere(me, *f, parts, call);
  share_parts(*f, parts);
  reset_view(*f);
  try {
    open_at_end(me, *f, call);
  } catch (...) {
    release_view(me, *f);
    throw;
  }
  file_object& made = me.files.make();
  made.name = f->name;
  made.handler = me.handler_of_no_file;
  hold(made.handler);
  made.file = f;
  f->handle = handle_of(made);
  return f->handle;
}

void remove_file(state& me, const std::string& name, const std::string& path, const char* call) {
  int error = 0;
  run_blocking(me, {call, name}, [&] {
    struct stat found {};
    if (::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode))
      error = EISDIR;
    else if (::unlink(path.c_str()) != 0)
      error = errno;
  });
  if (error != 0)
    fail(class_of_error(error), "file \"{}\" cannot be deleted: {}", printable(name),
         text_of_error(error));
}

void close(state& me, MPI_File* file, const char* call) {
  file_object& object = checked_file(*file);
  const std::shared_ptr<file_state> f = object.file;
  if (f->split)
    fail(MPI_ERR_OTHER,
         "a split collective access is under way: call the function that ends it before "
         "MPI_File_close");
  const file_turn turn(me, *f, call);
  // All accesses of all ranks have ended.
  contribution_of_rank mine;
  agree(f->ranks(), mine);
  if (f->own() == 0) {
    f->pointer->remove();
    if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) != 0)
      mine.note([&] { remove_file(me, f->name, f->path, call); });
  }
  if (f->own() == f->leader()) {
    file_outcome closed;
    run_blocking(me, purpose_of(*f, call), [&] { closed = f->file->close(); });
    mine.note(*f, closed);
  }
  release_view(me, *f);
  release(me, object.handler);
  me.files.free(object);
  *file = MPI_FILE_NULL;
  agree(f->ranks(), mine);
}

// A collective call in which rank 0 alone does `work`, which returns a file_outcome; all ranks give the same value.
template <class Work>
void by_one_rank(state& me, file_state& f, std::uint64_t value, const char* what, const char* call,
                 contribution_of_rank mine, const Work& work) {
  const file_turn turn(me, f, call);
  agree_on(f.ranks(), mine, value, what);
  if (f.own() == 0) mine.note([&] { run_on_file(me, f, call, work); });
  agree(f.ranks(), mine);
}

void check_size(const file_state& f, MPI_Offset size) {
  if (size < 0) fail(MPI_ERR_ARG, "size {} is negative", static_cast<long>(size));
  if ((f.amode & MPI_MODE_RDONLY) != 0)
    fail(MPI_ERR_READ_ONLY, "file \"{}\" is open for reading only", printable(f.name));
  if ((f.amode & MPI_MODE_SEQUENTIAL) != 0)
    fail(MPI_ERR_UNSUPPORTED_OPERATION, "the file is open with MPI_MODE_SEQUENTIAL");
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_File_open,
                  (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh)) {
  return in_call(
      "MPI_File_open", MPI_FILE_NULL,
      [&](state& me) {
        check_not_null(fh, "fh");
        *fh = MPI_FILE_NULL;
        *fh = open(me, comm, filename, amode, info, "MPI_File_open");
      },
      comm, filename, amode, info);
}

WEFT_MPI_FUNCTION(int, MPI_File_close, (MPI_File * fh)) {
  const MPI_File file = fh == nullptr ? MPI_FILE_NULL : *fh;
  return in_file_call("MPI_File_close", file,
                      [&](state& me, file_state&) { close(me, fh, "MPI_File_close"); });
}

WEFT_MPI_FUNCTION(int, MPI_File_delete, (const char* filename, MPI_Info info)) {
  return in_call(
      "MPI_File_delete", MPI_FILE_NULL,
      [&](state& me) {
        check_hints(me, info);
        const std::string path = absolute_path(filename);
        remove_file(me, filename, path, "MPI_File_delete");
      },
      filename, info);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_size, (MPI_File fh, MPI_Offset* size)) {
  return in_file_call("MPI_File_get_size", fh, [&](state& me, file_state& f) {
    check_not_null(size, "size");
    std::uint64_t bytes = 0;
    run_on_file(me, f, "MPI_File_get_size", [&] { return f.file->size(bytes); });
    *size = static_cast<MPI_Offset>(bytes);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_set_size, (MPI_File fh, MPI_Offset size)) {
  return in_file_call(
      "MPI_File_set_size", fh,
      [&](state& me, file_state& f) {
        contribution_of_rank mine;
        mine.note([&] { check_size(f, size); });
        by_one_rank(me, f, static_cast<std::uint64_t>(size), "the size", "MPI_File_set_size", mine,
                    [&] { return f.file->set_size(static_cast<std::uint64_t>(size)); });
      },
      static_cast<long>(size));
}

WEFT_MPI_FUNCTION(int, MPI_File_preallocate, (MPI_File fh, MPI_Offset size)) {
  return in_file_call(
      "MPI_File_preallocate", fh,
      [&](state& me, file_state& f) {
        contribution_of_rank mine;
        mine.note([&] { check_size(f, size); });
        by_one_rank(me, f, static_cast<std::uint64_t>(size), "the size", "MPI_File_preallocate",
                    mine, [&] { return f.file->preallocate(static_cast<std::uint64_t>(size)); });
      },
      static_cast<long>(size));
}

WEFT_MPI_FUNCTION(int, MPI_File_sync, (MPI_File fh)) {
  return in_file_call("MPI_File_sync", fh, [&](state& me, file_state& f) {
    const file_turn turn(me, f, "MPI_File_sync");
    contribution_of_rank mine;
    // What the ranks of each process have written is there when all have come.
    agree(f.ranks(), mine);
    if (f.own() == f.leader())
      mine.note(
          [&] { run_on_file(me, f, "MPI_File_sync", [&] { return f.file->synchronize(); }); });
    agree(f.ranks(), mine);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_get_amode, (MPI_File fh, int* amode)) {
  return in_file_call("MPI_File_get_amode", fh, [&](state&, file_state& f) {
    check_not_null(amode, "amode");
    *amode = f.amode;
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_get_group, (MPI_File fh, MPI_Group* group)) {
  return in_file_call("MPI_File_get_group", fh, [&](state& me, file_state& f) {
    check_not_null(group, "group");
    *group = make_group(me, local_ranks(*f.group), f.group->session);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_set_info, (MPI_File fh, MPI_Info info)) {
  return in_file_call(
      "MPI_File_set_info", fh,
      [&](state& me, file_state& f) {
        const file_turn turn(me, f, "MPI_File_set_info");
        contribution_of_rank mine;
        mine.note([&] { take_hints(f.hints, checked_hints(me, info)); });
        agree(f.ranks(), mine);
        share_hints(f);
        f.aggregators = choose_aggregators(f);
      },
      info);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_info, (MPI_File fh, MPI_Info* info_used)) {
  return in_file_call("MPI_File_get_info", fh, [&](state& me, file_state& f) {
    check_not_null(info_used, "info_used");
    info_object& made = me.infos.make();
    made.entries = told_hints(f);
    tell_memory_kinds(me, f.group->session, made);
    *info_used = handle_of(made);
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_set_atomicity, (MPI_File fh, int flag)) {
  return in_file_call(
      "MPI_File_set_atomicity", fh,
      [&](state& me, file_state& f) {
        const file_turn turn(me, f, "MPI_File_set_atomicity");
        agree_on(f.ranks(), {}, flag != 0 ? 1 : 0, "the atomicity");
        f.atomic = flag != 0;
      },
      flag);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_atomicity, (MPI_File fh, int* flag)) {
  return in_file_call("MPI_File_get_atomicity", fh, [&](state&, file_state& f) {
    check_not_null(flag, "flag");
    *flag = f.atomic ? 1 : 0;
  });
}
