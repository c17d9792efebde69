// Views, and the data representations in which they say that a file is written.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "collective/collectives.hpp"
#include "mpi/datatype/datatype_builder.hpp"
#include "mpi/datatype/datatype_elements.hpp"
#include "mpi/datatype/external.hpp"
#include "mpi/io/access.hpp"

namespace weft::mpi {
namespace {

std::shared_ptr<const file_representation> find_representation(const state& me, const char* name) {
  check_not_null(name, "datarep");
  const std::string_view text(name);
  using type = file_representation::type;
  if (text == "native" || text == "internal")
    return std::make_shared<const file_representation>(
        file_representation{type::native, std::string(text), {}});
  if (text == "external32")
    return std::make_shared<const file_representation>(
        file_representation{type::external32, std::string(text), {}});
  const auto at = me.representations.find(text);
  if (at == me.representations.end())
    fail(
        MPI_ERR_UNSUPPORTED_DATAREP,
        "data representation \"{}\" is not known: it is \"native\", \"internal\", \"external32\", or "
        "one that MPI_Register_datarep has made known",
        printable(std::string(text)));
  return std::make_shared<const file_representation>(
      file_representation{type::registered, std::string(text), at->second});
}

// The extent that the program's function says.
std::uint64_t told_extent(const file_representation& r, const datatype_object& basic) {
  MPI_Aint extent = 0;
  const int code = r.functions.extent(predefined_handle(basic), &extent, r.functions.extra_state);
  if (code != MPI_SUCCESS || extent < 0)
    fail(MPI_ERR_CONVERSION,
         "the extent function of data representation \"{}\" returned {}, extent {}",
         printable(r.name), code, static_cast<long>(extent));
  return static_cast<std::uint64_t>(extent);
}

// When elements have another size in the file than in memory, the layout in memory does not say where gaps lie in the file; such a filetype must have none.
std::shared_ptr<const file_view> make_view(const file_representation& r, std::uint64_t displacement,
                                           const datatype_object& etype,
                                           const datatype_object& filetype) {
  const std::uint64_t element = bytes_in_file(r, etype);
  if (element == etype.size)
    return std::make_shared<const file_view>(displacement, etype, filetype);
  const std::uint64_t tile = bytes_in_file(r, filetype);
  if (!filetype.contiguous)
    fail(MPI_ERR_UNSUPPORTED_OPERATION,
         "in data representation \"{}\" an etype of {} bytes has {}: weft knows such views with "
         "filetypes without gaps only",
         printable(r.name), etype.size, element);
  return std::make_shared<const file_view>(displacement, element,
                                           std::vector<file_run>{{0, tile, 0}}, tile);
}

void set_view(state& me, file_state& f, MPI_Offset displacement, MPI_Datatype etype,
              MPI_Datatype filetype, const char* representation, MPI_Info info, const char* call) {
  const file_turn turn(me, f, call);
  contribution_of_rank mine;
  std::shared_ptr<const file_representation> r;
  std::shared_ptr<const file_view> view;
  datatype_object* element = nullptr;
  datatype_object* tile = nullptr;
  mine.note([&] {
    take_hints(f.hints, checked_hints(me, info));
    if (displacement == MPI_DISPLACEMENT_CURRENT) {
      if ((f.amode & MPI_MODE_SEQUENTIAL) == 0)
        fail(MPI_ERR_DISP,
             "MPI_DISPLACEMENT_CURRENT is for files that are open with MPI_MODE_SEQUENTIAL");
    } else if ((f.amode & MPI_MODE_SEQUENTIAL) != 0) {
      fail(MPI_ERR_DISP,
           "the file is open with MPI_MODE_SEQUENTIAL: pass MPI_DISPLACEMENT_CURRENT");
    } else if (displacement < 0) {
      fail(MPI_ERR_DISP, "displacement {} is negative", static_cast<long>(displacement));
    }
    if (f.split) fail(MPI_ERR_OTHER, "a split collective access is under way");
    element = &committed_datatype(etype);
    tile = &committed_datatype(filetype);
    if (element->size == 0) fail(MPI_ERR_TYPE, "the etype has no bytes");
    if (tile->size % element->size != 0)
      fail(MPI_ERR_TYPE, "the filetype has {} bytes, which are no whole number of etypes of {}",
           tile->size, element->size);
    for (const datatype_object* const t : {element, tile}) {
      const std::vector<file_run> runs = runs_of(*t);
      if ((f.amode & MPI_MODE_RDONLY) == 0)
        check_no_overlap(runs, static_cast<std::uint64_t>(t->extent));
    }
    r = find_representation(me, representation);
    std::uint64_t from = 0;
    if (displacement != MPI_DISPLACEMENT_CURRENT) {
      from = static_cast<std::uint64_t>(displacement);
    } else {
      std::uint64_t position = 0;
      run_on_file(me, f, call, [&] { return f.pointer->get(position); });
      from = f.view->offset_of(position * f.view->element_bytes());
    }
    view = make_view(*r, from, *element, *tile);
  });
  agree_on(f.ranks(), mine, view != nullptr ? view->element_bytes() : 0, "the extent of the etype");
  hold(*element);
  hold(*tile);
  release_view(me, f);
  f.etype = element;
  f.filetype = tile;
  f.view = view;
  f.representation = r;
  f.position = 0;
  contribution_of_rank set;
  if (f.own() == 0) set.note([&] { run_on_file(me, f, call, [&] { return f.pointer->set(0); }); });
  agree(f.ranks(), set);
}

// What the program frees, or a predefined one.
MPI_Datatype told_type(state& me, const datatype_object& type) {
  if (type.made == nullptr) return predefined_handle(type);
  return duplicate_of(me, handle_of(const_cast<datatype_object&>(type)));
}

template <class Extent>
void tell_extent(const file_state& f, MPI_Datatype datatype, Extent* extent) {
  check_not_null(extent, "extent");
  const datatype_object& type = checked_datatype(datatype);
  const file_representation& r = *f.representation;
  const std::uint64_t bytes = bytes_in_file(r, type);
  *extent = bytes == type.size ? static_cast<Extent>(type.extent) : static_cast<Extent>(bytes);
}

void register_representation(state& me, const char* name, const registered_representation& r) {
  check_not_null(name, "datarep");
  const std::string_view text(name);
  if (text.size() >= MPI_MAX_DATAREP_STRING)
    fail(MPI_ERR_ARG, "the name of the data representation has {} characters: at most {} fit",
         text.size(), MPI_MAX_DATAREP_STRING - 1);
  if (text.empty()) fail(MPI_ERR_ARG, "the name of the data representation is empty");
  if (r.extent == nullptr) fail_null("dtype_file_extent_fn");
  if (text == "native" || text == "internal" || text == "external32" ||
      me.representations.find(text) != me.representations.end())
    fail(MPI_ERR_DUP_DATAREP, "data representation \"{}\" is known already",
         printable(std::string(text)));
  me.representations.emplace(text, r);
}

}  // namespace

const datatype_object& only_basic(const datatype_object& type) {
  const datatype_object* const found = find_only_basic(type);
  if (found == nullptr)
    fail(
        MPI_ERR_UNSUPPORTED_OPERATION,
        "a datatype of several basic elements cannot be read or written in a data representation of "
        "the program: use one for each element");
  return *found;
}

std::uint64_t bytes_in_file(const file_representation& r, const datatype_object& type) {
  switch (r.what) {
    case file_representation::type::external32:
      return external32_size(type);
    case file_representation::type::registered: {
      if (type.size == 0) return 0;
      const datatype_object& basic = only_basic(type);
      return type.size / basic.size * told_extent(r, basic);
    }
    case file_representation::type::native:
      break;
  }
  return type.size;
}

void reset_view(file_state& f) {
  f.etype = f.filetype = find_predefined(MPI_BYTE);
}

void release_view(state& me, file_state& f) {
  for (datatype_object* const t : {f.etype, f.filetype})
    if (t != nullptr) release(me, *t);
  f.etype = f.filetype = nullptr;
}

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_FUNCTION(int, MPI_File_set_view,
                  (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                   const char* datarep, MPI_Info info)) {
  return in_file_call(
      "MPI_File_set_view", fh,
      [&](state& me, file_state& f) {
        set_view(me, f, disp, etype, filetype, datarep, info, "MPI_File_set_view");
      },
      static_cast<long>(disp), etype, filetype, datarep, info);
}

WEFT_MPI_FUNCTION(int, MPI_File_get_view,
                  (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                   char* datarep)) {
  return in_file_call("MPI_File_get_view", fh, [&](state& me, file_state& f) {
    check_not_null(disp, "disp");
    check_not_null(etype, "etype");
    check_not_null(filetype, "filetype");
    check_not_null(datarep, "datarep");
    *disp = static_cast<MPI_Offset>(f.view->displacement());
    const MPI_Datatype element = told_type(me, *f.etype);
    try {
      *filetype = told_type(me, *f.filetype);
    } catch (...) {
      if (f.etype->made != nullptr) free_datatype(me, checked_datatype(element));
      throw;
    }
    *etype = element;
    std::strcpy(datarep, f.representation->name.c_str());
  });
}

WEFT_MPI_FUNCTION(int, MPI_File_get_type_extent,
                  (MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent)) {
  return in_file_call(
      "MPI_File_get_type_extent", fh,
      [&](state&, file_state& f) { tell_extent(f, datatype, extent); }, datatype);
}
WEFT_MPI_FUNCTION(int, MPI_File_get_type_extent_c,
                  (MPI_File fh, MPI_Datatype datatype, MPI_Count* extent)) {
  return in_file_call(
      "MPI_File_get_type_extent_c", fh,
      [&](state&, file_state& f) { tell_extent(f, datatype, extent); }, datatype);
}

WEFT_MPI_FUNCTION(int, MPI_Register_datarep,
                  (const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                   MPI_Datarep_conversion_function* write_conversion_fn,
                   MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state)) {
  return in_call(
      "MPI_Register_datarep", MPI_FILE_NULL,
      [&](state& me) {
        registered_representation r;
        r.read = read_conversion_fn;
        r.write = write_conversion_fn;
        r.extent = dtype_file_extent_fn;
        r.extra_state = extra_state;
        register_representation(me, datarep, r);
      },
      datarep);
}
WEFT_MPI_FUNCTION(int, MPI_Register_datarep_c,
                  (const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                   MPI_Datarep_conversion_function_c* write_conversion_fn,
                   MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state)) {
  return in_call(
      "MPI_Register_datarep_c", MPI_FILE_NULL,
      [&](state& me) {
        registered_representation r;
        r.large_read = read_conversion_fn;
        r.large_write = write_conversion_fn;
        r.extent = dtype_file_extent_fn;
        r.extra_state = extra_state;
        register_representation(me, datarep, r);
      },
      datarep);
}
