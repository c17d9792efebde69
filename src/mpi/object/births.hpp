// In a checked job: which objects the program has made and not freed, and where it made them. Touched by their rank alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "diagnosis/checks.hpp"
#include "mpi/object/handles.hpp"

namespace weft::mpi {

class birth_list {
 public:
  // Of an object by its address, and of a key of attributes, which is no object, by its number.
  void born(object_kind kind, const void* object) { born(kind, object, diagnosis::calls_here()); }
  void born(object_kind kind, const void* object, diagnosis::call_list where) {
    living_[{kind, value_of(object)}] = std::move(where);
  }
  void key_born(int key) { living_[{object_kind::none, number_of(key)}] = diagnosis::calls_here(); }
  // The program has freed it, or it is none of the program's. Nothing happens when it is not known.
  void ended(object_kind kind, const void* object) { living_.erase({kind, value_of(object)}); }
  void key_ended(int key) { living_.erase({object_kind::none, number_of(key)}); }
  // Null: it is not known.
  [[nodiscard]] const diagnosis::call_list* place_of(object_kind kind, const void* object) const;

  // Adds a finding for each place at which objects were made that still live. Requests are left out, which
  // finish_requests() tells of.
  void tell_left_over(diagnosis::job_checks& to, int rank, const char* call) const;

 private:
  static std::uintptr_t number_of(int key) noexcept { return static_cast<std::uintptr_t>(key); }
  std::map<std::pair<object_kind, std::uintptr_t>, diagnosis::call_list> living_;
};

}  // namespace weft::mpi
