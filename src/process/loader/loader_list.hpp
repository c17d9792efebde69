// Loads one more copy without glibc looking at the earlier ones. glibc keeps all that is loaded in one list and goes
// through it five times for each file: for one of that name, for one of that inode, for the list's end, for what is
// never to be unloaded, and for whoever calls. The copies before it are none of these, and of ten thousand they cost
// more than all else that starting does.
#pragma once
#include <link.h>

#include <cstddef>
#include <string>

namespace weft::process {

class loader_list {
 public:
  // dlopen() of a copy that brings this many files of its own. The caller holds loading_lock(). `must_see_all`: a debugger
  // follows, or the loader may fail when it has the file in its list already, and would count the list then.
  void* open(const char* path, int flags, std::size_t files, bool must_see_all);
  // Why the last open() gave null.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  void* open_seen(const char* path, int flags);
  void* open_unseen(const char* path, int flags, std::size_t files);

  // Earlier copies, side by side in the list. Null: none yet that goes unseen.
  link_map* first_ = nullptr;
  link_map* last_ = nullptr;
  std::size_t opened_ = 0;
  std::string reason_;
};

}  // namespace weft::process
