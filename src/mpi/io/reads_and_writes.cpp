// All functions that read and write: blocking, non-blocking, collective, split; at explicit offsets, with the individual and
// with the shared pointer. Each is defined with int and MPI_Count.
#include <limits>

#include "mpi/io/access.hpp"
#include "mpi/object/request.hpp"
#include "mpi/object/status.hpp"

namespace weft::mpi {
namespace {

constexpr file_direction direction_of(const void*) noexcept {
  return file_direction::write;
}
constexpr file_direction direction_of(void*) noexcept {
  return file_direction::read;
}

// Where an access begins.
enum class place : std::uint8_t { given, own_pointer, shared_pointer };

void refuse_sequential(const file_state& f) {
  if ((f.amode & MPI_MODE_SEQUENTIAL) != 0)
    fail(MPI_ERR_UNSUPPORTED_OPERATION,
         "the file is open with MPI_MODE_SEQUENTIAL: only the functions with a shared pointer go");
}

struct arguments {
  file_direction way;
  place where;
  MPI_Offset offset;  // With place::given.
  const void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
};

// Checks the arguments, and moves the pointer that the call goes by.
std::shared_ptr<file_access> make_access(state& me, file_state& f, const arguments& a,
                                         const char* call) {
  check_count(a.count);
  if (a.where != place::shared_pointer) refuse_sequential(f);
  auto access = std::make_shared<file_access>(me, f, a.way, a.buffer, a.count,
                                              committed_datatype(a.datatype));
  switch (a.where) {
    case place::given:
      if (a.offset < 0) fail(MPI_ERR_ARG, "offset {} is negative", static_cast<long>(a.offset));
      access->set_position(static_cast<std::uint64_t>(a.offset));
      break;
    case place::own_pointer:
      access->set_position(f.position);
      f.position += access->elements();
      break;
    case place::shared_pointer: {
      std::uint64_t position = 0;
      if (f.pointer->is_file())
        run_on_file(me, f, call, [&] { return f.pointer->add(access->elements(), position); });
      else
        check_outcome(f, f.pointer->add(access->elements(), position));
      access->set_position(position);
      break;
    }
  }
  return access;
}

void tell_moved(MPI_Status* status, std::uint64_t bytes) noexcept {
  set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
}

// --- The four ways ---------------------------------------------------------------------------------------------------------

void alone(state& me, file_state& f, const arguments& a, MPI_Status* status, const char* call) {
  const auto access = make_access(me, f, a, call);
  tell_moved(status, access_alone(me, f, *access, call));
}

void in_background(state& me, const std::shared_ptr<file_state>& f, const arguments& a,
                   MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  *request = begin_alone(me, f, make_access(me, *f, a, call), call);
}

// An ordered access has its place when its turn comes.
collective_access bring(state& me, file_state& f, const arguments& a, bool is_ordered,
                        const char* call) {
  collective_access mine;
  mine.is_ordered = is_ordered;
  mine.problem.note([&] {
    if (!is_ordered) {
      mine.access = make_access(me, f, a, call);
      return;
    }
    check_count(a.count);
    mine.access = std::make_shared<file_access>(me, f, a.way, a.buffer, a.count,
                                                committed_datatype(a.datatype));
  });
  if (mine.problem.code != MPI_SUCCESS) mine.access = nullptr;
  return mine;
}

void all_together(state& me, file_state& f, const arguments& a, bool is_ordered, MPI_Status* status,
                  const char* call) {
  const std::uint64_t turn = file_turn::take_number(f);
  collective_access mine = bring(me, f, a, is_ordered, call);
  tell_moved(status, access_together(me, f, turn, mine, call));
}

void all_in_background(state& me, const std::shared_ptr<file_state>& f, const arguments& a,
                       MPI_Request* request, const char* call) {
  check_not_null(request, "request");
  const auto moved = std::make_shared<std::uint64_t>(0);
  const MPI_Request made =
      add_request(me, handle_of(*f->group),
                  begin_together(me, f, bring(me, *f, a, false, call), moved, call), call);
  if (auto* const r = find_object<request_object>(made); r != nullptr && r->details != nullptr)
    r->details->moved_bytes = moved;
  *request = made;
}

const char* name_of(split_routine r) noexcept {
  switch (r) {
    case split_routine::read_all:
      return "MPI_File_read_all";
    case split_routine::read_at_all:
      return "MPI_File_read_at_all";
    case split_routine::read_ordered:
      return "MPI_File_read_ordered";
    case split_routine::write_all:
      return "MPI_File_write_all";
    case split_routine::write_at_all:
      return "MPI_File_write_at_all";
    case split_routine::write_ordered:
      return "MPI_File_write_ordered";
  }
  return "";
}

void begin_split(state& me, const std::shared_ptr<file_state>& f, const arguments& a,
                 split_routine routine, const char* call) {
  if (f->split)
    fail(MPI_ERR_OTHER,
         "{}_begin has been called and not ended: a file has one split access at a time",
         name_of(f->split->routine));
  const bool is_ordered =
      routine == split_routine::read_ordered || routine == split_routine::write_ordered;
  const auto moved = std::make_shared<std::uint64_t>(0);
  weft::request started = begin_together(me, f, bring(me, *f, a, is_ordered, call), moved, call);
  f->split.emplace(file_state::split_access{routine, a.buffer, std::move(started), moved});
}

void end_split(file_state& f, const void* buffer, split_routine routine, MPI_Status* status) {
  if (!f.split || f.split->routine != routine)
    fail(MPI_ERR_OTHER, "{}_begin has not been called before: {}{} is under way", name_of(routine),
         f.split ? name_of(f.split->routine) : "nothing", f.split ? "_begin" : "");
  (void)buffer;  // Programs of Fortran may pass a copy.
  file_state::split_access ended = std::move(*f.split);
  f.split.reset();
  if (ended.started.active()) ended.started.wait();
  tell_moved(status, *ended.moved_bytes);
}

// The file's state as requests keep it.
std::shared_ptr<file_state> kept(MPI_File file) {
  return checked_file(file).file;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

// DEFINE(name, suffix, type of the count, buffer): the frames of the functions.
#define ALONE(name, suffix, number, pointer, where)                                           \
  WEFT_MPI_FUNCTION(                                                                          \
      int, name##suffix,                                                                      \
      (MPI_File fh, pointer buf, number count, MPI_Datatype datatype, MPI_Status * status)) { \
    return in_file_call(                                                                      \
        #name #suffix, fh,                                                                    \
        [&](state& me, file_state& f) {                                                       \
          alone(me, f, {direction_of(buf), where, 0, buf, count, datatype}, status, #name);   \
        },                                                                                    \
        static_cast<const void*>(buf), count, datatype);                                      \
  }
#define ALONE_AT(name, suffix, number, pointer)                                                 \
  WEFT_MPI_FUNCTION(int, name##suffix,                                                          \
                    (MPI_File fh, MPI_Offset offset, pointer buf, number count,                 \
                     MPI_Datatype datatype, MPI_Status * status)) {                             \
    return in_file_call(                                                                        \
        #name #suffix, fh,                                                                      \
        [&](state& me, file_state& f) {                                                         \
          alone(me, f, {direction_of(buf), place::given, offset, buf, count, datatype}, status, \
                #name);                                                                         \
        },                                                                                      \
        static_cast<long>(offset), static_cast<const void*>(buf), count, datatype);             \
  }
#define BACKGROUND(name, suffix, number, pointer, where)                                        \
  WEFT_MPI_FUNCTION(                                                                            \
      int, name##suffix,                                                                        \
      (MPI_File fh, pointer buf, number count, MPI_Datatype datatype, MPI_Request * request)) { \
    return in_file_call(                                                                        \
        #name #suffix, fh,                                                                      \
        [&](state& me, file_state&) {                                                           \
          in_background(me, kept(fh), {direction_of(buf), where, 0, buf, count, datatype},      \
                        request, #name);                                                        \
        },                                                                                      \
        static_cast<const void*>(buf), count, datatype);                                        \
  }
#define BACKGROUND_AT(name, suffix, number, pointer)                                              \
  WEFT_MPI_FUNCTION(int, name##suffix,                                                            \
                    (MPI_File fh, MPI_Offset offset, pointer buf, number count,                   \
                     MPI_Datatype datatype, MPI_Request * request)) {                             \
    return in_file_call(                                                                          \
        #name #suffix, fh,                                                                        \
        [&](state& me, file_state&) {                                                             \
          in_background(me, kept(fh),                                                             \
                        {direction_of(buf), place::given, offset, buf, count, datatype}, request, \
                        #name);                                                                   \
        },                                                                                        \
        static_cast<long>(offset), static_cast<const void*>(buf), count, datatype);               \
  }
#define TOGETHER(name, suffix, number, pointer, where)                                        \
  WEFT_MPI_FUNCTION(                                                                          \
      int, name##suffix,                                                                      \
      (MPI_File fh, pointer buf, number count, MPI_Datatype datatype, MPI_Status * status)) { \
    return in_file_call(                                                                      \
        #name #suffix, fh,                                                                    \
        [&](state& me, file_state& f) {                                                       \
          all_together(me, f, {direction_of(buf), where, 0, buf, count, datatype},            \
                       where == place::shared_pointer, status, #name);                        \
        },                                                                                    \
        static_cast<const void*>(buf), count, datatype);                                      \
  }
#define TOGETHER_AT(name, suffix, number, pointer)                                             \
  WEFT_MPI_FUNCTION(int, name##suffix,                                                         \
                    (MPI_File fh, MPI_Offset offset, pointer buf, number count,                \
                     MPI_Datatype datatype, MPI_Status * status)) {                            \
    return in_file_call(                                                                       \
        #name #suffix, fh,                                                                     \
        [&](state& me, file_state& f) {                                                        \
          all_together(me, f, {direction_of(buf), place::given, offset, buf, count, datatype}, \
                       false, status, #name);                                                  \
        },                                                                                     \
        static_cast<long>(offset), static_cast<const void*>(buf), count, datatype);            \
  }
#define TOGETHER_IN_BACKGROUND(name, suffix, number, pointer)                                   \
  WEFT_MPI_FUNCTION(                                                                            \
      int, name##suffix,                                                                        \
      (MPI_File fh, pointer buf, number count, MPI_Datatype datatype, MPI_Request * request)) { \
    return in_file_call(                                                                        \
        #name #suffix, fh,                                                                      \
        [&](state& me, file_state&) {                                                           \
          all_in_background(me, kept(fh),                                                       \
                            {direction_of(buf), place::own_pointer, 0, buf, count, datatype},   \
                            request, #name);                                                    \
        },                                                                                      \
        static_cast<const void*>(buf), count, datatype);                                        \
  }
#define TOGETHER_IN_BACKGROUND_AT(name, suffix, number, pointer)                             \
  WEFT_MPI_FUNCTION(int, name##suffix,                                                       \
                    (MPI_File fh, MPI_Offset offset, pointer buf, number count,              \
                     MPI_Datatype datatype, MPI_Request * request)) {                        \
    return in_file_call(                                                                     \
        #name #suffix, fh,                                                                   \
        [&](state& me, file_state&) {                                                        \
          all_in_background(me, kept(fh),                                                    \
                            {direction_of(buf), place::given, offset, buf, count, datatype}, \
                            request, #name);                                                 \
        },                                                                                   \
        static_cast<long>(offset), static_cast<const void*>(buf), count, datatype);          \
  }
#define SPLIT_BEGIN(name, suffix, number, pointer, where, routine)                                \
  WEFT_MPI_FUNCTION(int, name##_begin##suffix,                                                    \
                    (MPI_File fh, pointer buf, number count, MPI_Datatype datatype)) {            \
    return in_file_call(                                                                          \
        #name "_begin" #suffix, fh,                                                               \
        [&](state& me, file_state&) {                                                             \
          begin_split(me, kept(fh), {direction_of(buf), where, 0, buf, count, datatype}, routine, \
                      #name);                                                                     \
        },                                                                                        \
        static_cast<const void*>(buf), count, datatype);                                          \
  }
#define SPLIT_BEGIN_AT(name, suffix, number, pointer, routine)                                  \
  WEFT_MPI_FUNCTION(                                                                            \
      int, name##_begin##suffix,                                                                \
      (MPI_File fh, MPI_Offset offset, pointer buf, number count, MPI_Datatype datatype)) {     \
    return in_file_call(                                                                        \
        #name "_begin" #suffix, fh,                                                             \
        [&](state& me, file_state&) {                                                           \
          begin_split(me, kept(fh),                                                             \
                      {direction_of(buf), place::given, offset, buf, count, datatype}, routine, \
                      #name);                                                                   \
        },                                                                                      \
        static_cast<long>(offset), static_cast<const void*>(buf), count, datatype);             \
  }
#define SPLIT_END(name, pointer, routine)                                                     \
  WEFT_MPI_FUNCTION(int, name##_end, (MPI_File fh, pointer buf, MPI_Status * status)) {       \
    return in_file_call(                                                                      \
        #name "_end", fh, [&](state&, file_state& f) { end_split(f, buf, routine, status); }, \
        static_cast<const void*>(buf));                                                       \
  }

// All functions of one direction, with counts of one size.
#define ALL_OF(Word, IWord, suffix, number, pointer)                                     \
  ALONE(MPI_File_##Word, suffix, number, pointer, place::own_pointer)                    \
  ALONE(MPI_File_##Word##_shared, suffix, number, pointer, place::shared_pointer)        \
  ALONE_AT(MPI_File_##Word##_at, suffix, number, pointer)                                \
  BACKGROUND(MPI_File_##IWord, suffix, number, pointer, place::own_pointer)              \
  BACKGROUND(MPI_File_##IWord##_shared, suffix, number, pointer, place::shared_pointer)  \
  BACKGROUND_AT(MPI_File_##IWord##_at, suffix, number, pointer)                          \
  TOGETHER(MPI_File_##Word##_all, suffix, number, pointer, place::own_pointer)           \
  TOGETHER(MPI_File_##Word##_ordered, suffix, number, pointer, place::shared_pointer)    \
  TOGETHER_AT(MPI_File_##Word##_at_all, suffix, number, pointer)                         \
  TOGETHER_IN_BACKGROUND(MPI_File_##IWord##_all, suffix, number, pointer)                \
  TOGETHER_IN_BACKGROUND_AT(MPI_File_##IWord##_at_all, suffix, number, pointer)          \
  SPLIT_BEGIN(MPI_File_##Word##_all, suffix, number, pointer, place::own_pointer,        \
              split_routine::Word##_all)                                                 \
  SPLIT_BEGIN(MPI_File_##Word##_ordered, suffix, number, pointer, place::shared_pointer, \
              split_routine::Word##_ordered)                                             \
  SPLIT_BEGIN_AT(MPI_File_##Word##_at_all, suffix, number, pointer, split_routine::Word##_at_all)

ALL_OF(read, iread, , int, void*)
ALL_OF(read, iread, _c, MPI_Count, void*)
ALL_OF(write, iwrite, , int, const void*)
ALL_OF(write, iwrite, _c, MPI_Count, const void*)
SPLIT_END(MPI_File_read_all, void*, split_routine::read_all)
SPLIT_END(MPI_File_read_at_all, void*, split_routine::read_at_all)
SPLIT_END(MPI_File_read_ordered, void*, split_routine::read_ordered)
SPLIT_END(MPI_File_write_all, const void*, split_routine::write_all)
SPLIT_END(MPI_File_write_at_all, const void*, split_routine::write_at_all)
SPLIT_END(MPI_File_write_ordered, const void*, split_routine::write_ordered)
