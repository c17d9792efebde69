#include "mpi/object/births.hpp"

#include "base/format.hpp"

namespace weft::mpi {
namespace {

struct kind_row {
  object_kind kind;
  const char* one;
  const char* many;
  const char* remedy;
};
constexpr kind_row kinds[] = {
    {object_kind::communicator, "communicator", "communicators", "MPI_Comm_free"},
    {object_kind::group, "group", "groups", "MPI_Group_free"},
    {object_kind::datatype, "datatype", "datatypes", "MPI_Type_free"},
    {object_kind::operation, "operation", "operations", "MPI_Op_free"},
    {object_kind::info, "info", "infos", "MPI_Info_free"},
    {object_kind::error_handler, "error handler", "error handlers", "MPI_Errhandler_free"},
    {object_kind::window, "window", "windows", "MPI_Win_free"},
    {object_kind::file, "file", "files", "MPI_File_close"},
    {object_kind::none, "key of attributes", "keys of attributes",
     "MPI_Comm_free_keyval, MPI_Type_free_keyval or MPI_Win_free_keyval"},
};

}  // namespace

void note_birth(birth_list& in, object_kind kind, const void* made) {
  in.born(kind, made);
}
void note_end(birth_list& in, object_kind kind, const void* gone) noexcept {
  in.ended(kind, gone);
}

const diagnosis::call_list* birth_list::place_of(object_kind kind, const void* object) const {
  const auto at = living_.find({kind, value_of(object)});
  return at == living_.end() ? nullptr : &at->second;
}

void birth_list::tell_left_over(diagnosis::job_checks& to, int rank, const char* call) const {
  for (const kind_row& row : kinds) {
    std::map<diagnosis::call_list, std::size_t> by_place;
    const auto end = living_.upper_bound({row.kind, UINTPTR_MAX});
    for (auto at = living_.lower_bound({row.kind, 0}); at != end; ++at) ++by_place[at->second];
    for (const auto& [place, count] : by_place)
      to.add({diagnosis::finding::kind::warning,
              formatted("rank {} called {} with {} {} not freed, made in {}: call {}", rank, call,
                        count, count == 1 ? row.one : row.many, diagnosis::place_mark, row.remedy),
              {place}});
  }
}

}  // namespace weft::mpi
