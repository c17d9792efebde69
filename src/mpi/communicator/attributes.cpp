// Keys of attributes, and the values that a rank keeps under them at its communicators, datatypes and windows.
#include "mpi/object/attributes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/topology.hpp"
#include "mpi/object/profiling.hpp"
#include "mpi/object/state.hpp"

namespace weft::mpi {
namespace {

const char* name_of(keyval::kind of) noexcept {
  return of == keyval::kind::communicator ? "communicators"
         : of == keyval::kind::datatype   ? "datatypes"
                                          : "windows";
}

keyval& checked_keyval(state& me, int key, keyval::kind of) {
  const auto at = me.attributes.keyvals.find(key);
  if (at == me.attributes.keyvals.end())
    fail(MPI_ERR_KEYVAL, "{} is no key of attributes, or has been freed{}", key,
         (key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE) || key == MPIX_FT ||
                 (key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL)
             ? ": it is a predefined one, which cannot be changed"
             : "");
  if (at->second.of != of) fail(MPI_ERR_KEYVAL, "key {} is one of {}", key, name_of(at->second.of));
  return at->second;
}

int add_keyval(state& me, const keyval& made) {
  const int key = me.attributes.next_key++;
  me.attributes.keyvals.emplace(key, made);
  if (me.births != nullptr) me.births->key_born(key);
  return key;
}

// Drops one reference to a key. The last one ends the key.
void release(state& me, int key) {
  const auto at = me.attributes.keyvals.find(key);
  if (at != me.attributes.keyvals.end() && --at->second.holders == 0)
    me.attributes.keyvals.erase(at);
}

[[noreturn]] void refused(const char* what, int key, int code) {
  throw failure(code, formatted("the {} function of key {} returned {}", what, key, code));
}

auto find_value(attribute_list& list, int key) {
  return std::find_if(list.begin(), list.end(), [&](const auto& a) { return a.first == key; });
}

// Calls the delete function of a key. The program may have freed the key: it lives as long as an attribute under it.
// The key is copied, since the function may make or free keys.
void call_delete(state& me, int key, void* value, MPI_Comm comm) {
  const keyval k = me.attributes.keyvals.at(key);
  if (k.delete_communicator == MPI_COMM_NULL_DELETE_FN) return;
  if (const int code = k.delete_communicator(comm, key, value, k.extra); code != MPI_SUCCESS)
    refused("delete", key, code);
}
void call_delete(state& me, int key, void* value, MPI_Datatype type) {
  const keyval k = me.attributes.keyvals.at(key);
  if (k.delete_datatype == MPI_TYPE_NULL_DELETE_FN) return;
  if (const int code = k.delete_datatype(type, key, value, k.extra); code != MPI_SUCCESS)
    refused("delete", key, code);
}
void call_delete(state& me, int key, void* value, MPI_Win win) {
  const keyval k = me.attributes.keyvals.at(key);
  if (k.delete_window == MPI_WIN_NULL_DELETE_FN) return;
  if (const int code = k.delete_window(win, key, value, k.extra); code != MPI_SUCCESS)
    refused("delete", key, code);
}

// The program's delete function runs in the middle and may change the list: the attribute is looked up again behind it.
template <class Handle>
void set_value(state& me, attribute_list& list, int key, void* value, Handle h) {
  if (const auto at = find_value(list, key); at != list.end()) {
    call_delete(me, key, at->second, h);
    if (const auto still = find_value(list, key); still != list.end()) {
      still->second = value;
      return;
    }
  }
  ++me.attributes.keyvals.at(key).holders;
  list.emplace_back(key, value);
}

template <class Handle>
void delete_value(state& me, attribute_list& list, int key, Handle h) {
  const auto at = find_value(list, key);
  if (at == list.end()) return;
  call_delete(me, key, at->second, h);
  const auto still = find_value(list, key);
  if (still == list.end()) return;
  list.erase(still);
  release(me, key);
}

// Deletes the attributes in the reverse order of their setting.
template <class Handle>
void delete_all(state& me, attribute_list& list, Handle h) {
  while (!list.empty()) delete_value(me, list, list.back().first, h);
}

int call_copy(const keyval& k, MPI_Comm from, int key, void* value, void** copy, int* flag) {
  if (k.copy_communicator == MPI_COMM_NULL_COPY_FN) return MPI_SUCCESS;
  if (k.copy_communicator != MPI_COMM_DUP_FN)
    return k.copy_communicator(from, key, k.extra, value, static_cast<void*>(copy), flag);
  *copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}
int call_copy(const keyval& k, MPI_Datatype from, int key, void* value, void** copy, int* flag) {
  if (k.copy_datatype == MPI_TYPE_NULL_COPY_FN) return MPI_SUCCESS;
  if (k.copy_datatype != MPI_TYPE_DUP_FN)
    return k.copy_datatype(from, key, k.extra, value, static_cast<void*>(copy), flag);
  *copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}

// Copies the list first: the program's copy functions may change it.
template <class Handle>
void copy_all(state& me, Handle from, const attribute_list& source, attribute_list& target) {
  for (const auto& [key, value] : attribute_list(source)) {
    const keyval k = me.attributes.keyvals.at(key);
    void* copy = nullptr;
    int flag = 0;
    if (const int code = call_copy(k, from, key, value, &copy, &flag); code != MPI_SUCCESS)
      refused("copy", key, code);
    if (flag == 0) continue;
    ++me.attributes.keyvals.at(key).holders;
    target.emplace_back(key, copy);
  }
}

// The variable that a predefined attribute points to, with its present value; null when `key` is no predefined one.
int* find_predefined_value(state& me, int key) {
  attributes_state& a = me.attributes;
  switch (key) {
    case MPI_TAG_UB:
      a.tag_ub = std::numeric_limits<int>::max();
      return &a.tag_ub;
    case MPI_IO:
      a.io = MPI_ANY_SOURCE;
      return &a.io;
    case MPI_HOST:
      a.host = MPI_PROC_NULL;
      return &a.host;
    case MPI_WTIME_IS_GLOBAL:
      // Ranks of one node read the same clock.
      a.wtime_is_global = std::ranges::all_of(me.rank.of->node_of_process, [&](int node) {
        return node == me.rank.of->node_of_process.front();
      });
      return &a.wtime_is_global;
    case MPI_LASTUSEDCODE:
      a.last_used_code = last_used_code(me);
      return &a.last_used_code;
    case MPI_UNIVERSE_SIZE:
      // Ranks may share cores: as many again can be spawned in any case.
      a.universe_size =
          std::max(2 * me.world->ranks.size(), static_cast<int>(machine_topology().threads.size()));
      return &a.universe_size;
    case MPI_APPNUM:
      a.appnum = me.rank.of->part;
      return &a.appnum;
    case MPIX_FT: {
      static int goes_on = 1, does_not = 0;  // Nobody writes them.
      return me.rank.of->how.on_failure == "error" ? &goes_on : &does_not;
    }
    default:
      return nullptr;
  }
}

void get_comm_attribute(state& me, MPI_Comm comm, int key, void* value, int* flag) {
  check_not_null(value, "attribute_val");
  check_not_null(flag, "flag");
  communicator_object& c = checked_communicator(me, comm);
  if (int* const predefined = find_predefined_value(me, key); predefined != nullptr) {
    *flag = 1;
    *static_cast<int**>(value) = predefined;
    return;
  }
  (void)checked_keyval(me, key, keyval::kind::communicator);
  const auto at = find_value(c.attributes, key);
  *flag = at != c.attributes.end();
  if (*flag != 0) *static_cast<void**>(value) = at->second;
}

void create_comm_keyval(state& me, MPI_Comm_copy_attr_function* copy,
                        MPI_Comm_delete_attr_function* deletion, int* key, void* extra) {
  check_not_null(key, "comm_keyval");
  keyval k;
  k.copy_communicator = copy;
  k.delete_communicator = deletion;
  k.extra = extra;
  *key = add_keyval(me, k);
}

void set_comm_attribute(state& me, MPI_Comm comm, int key, void* value) {
  communicator_object& c = checked_communicator(me, comm);
  (void)checked_keyval(me, key, keyval::kind::communicator);
  set_value(me, c.attributes, key, value, comm);
}

void delete_comm_attribute(state& me, MPI_Comm comm, int key) {
  communicator_object& c = checked_communicator(me, comm);
  (void)checked_keyval(me, key, keyval::kind::communicator);
  delete_value(me, c.attributes, key, comm);
}

// Returns the value of a predefined attribute of a window: an address, or where it stands; null when `key` is no such one.
void* find_predefined_value(window_object& w, int key) {
  switch (key) {
    case MPI_WIN_BASE:
      return w.base;
    case MPI_WIN_SIZE:
      return &w.bytes;
    case MPI_WIN_DISP_UNIT:
      return &w.unit;
    case MPI_WIN_CREATE_FLAVOR:
      return &w.flavor;
    case MPI_WIN_MODEL:
      return &w.model;
    default:
      return nullptr;
  }
}

void get_window_attribute(state& me, MPI_Win win, int key, void* value, int* flag) {
  check_not_null(value, "attribute_val");
  check_not_null(flag, "flag");
  window_object& w = checked_window(win);
  *flag = 1;
  if (key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL) {
    *static_cast<void**>(value) = find_predefined_value(w, key);
    return;
  }
  (void)checked_keyval(me, key, keyval::kind::window);
  const auto at = find_value(w.attributes, key);
  *flag = at != w.attributes.end();
  if (*flag != 0) *static_cast<void**>(value) = at->second;
}

void free_keyval(state& me, int* key, keyval::kind of) {
  check_not_null(key, "keyval");
  keyval& k = checked_keyval(me, *key, of);
  if (me.births != nullptr) me.births->key_ended(*key);
  if (!std::exchange(k.freed, true)) release(me, *key);
  *key = MPI_KEYVAL_INVALID;
}

}  // namespace

void copy_attributes(state& me, MPI_Comm from, const communicator_object& source,
                     communicator_object& target) {
  copy_all(me, from, source.attributes, target.attributes);
}

void delete_attributes(state& me, MPI_Comm comm, communicator_object& c) {
  delete_all(me, c.attributes, comm);
}

void copy_attributes(state& me, MPI_Datatype from, MPI_Datatype to) {
  const auto at = me.attributes.of_datatypes.find(from);
  if (at != me.attributes.of_datatypes.end())
    copy_all(me, from, at->second, me.attributes.of_datatypes[to]);
}

void delete_attributes(state& me, MPI_Datatype type) {
  const auto at = me.attributes.of_datatypes.find(type);
  if (at == me.attributes.of_datatypes.end()) return;
  delete_all(me, at->second, type);
  me.attributes.of_datatypes.erase(type);
}

void delete_attributes(state& me, MPI_Win win, window_object& w) {
  delete_all(me, w.attributes, win);
}

}  // namespace weft::mpi

using namespace weft::mpi;

// --- Of communicators ----------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Comm_create_keyval,
                  (MPI_Comm_copy_attr_function * comm_copy_attr_fn,
                   MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                   void* extra_state)) {
  return in_call("MPI_Comm_create_keyval", MPI_COMM_SELF, [&](state& me) {
    create_comm_keyval(me, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Comm_free_keyval, (int* comm_keyval)) {
  return in_call("MPI_Comm_free_keyval", MPI_COMM_SELF,
                 [&](state& me) { free_keyval(me, comm_keyval, keyval::kind::communicator); });
}

WEFT_MPI_FUNCTION(int, MPI_Comm_set_attr, (MPI_Comm comm, int comm_keyval, void* attribute_val)) {
  return in_call(
      "MPI_Comm_set_attr", comm,
      [&](state& me) { set_comm_attribute(me, comm, comm_keyval, attribute_val); }, comm,
      comm_keyval, static_cast<const void*>(attribute_val));
}

WEFT_MPI_FUNCTION(int, MPI_Comm_get_attr,
                  (MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag)) {
  return in_call(
      "MPI_Comm_get_attr", comm,
      [&](state& me) { get_comm_attribute(me, comm, comm_keyval, attribute_val, flag); }, comm,
      comm_keyval);
}

WEFT_MPI_FUNCTION(int, MPI_Comm_delete_attr, (MPI_Comm comm, int comm_keyval)) {
  return in_call(
      "MPI_Comm_delete_attr", comm,
      [&](state& me) { delete_comm_attribute(me, comm, comm_keyval); }, comm, comm_keyval);
}

// --- The same functions by their names of MPI-1 ----------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Keyval_create,
                  (MPI_Copy_function * copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                   void* extra_state)) {
  return in_call("MPI_Keyval_create", MPI_COMM_SELF, [&](state& me) {
    create_comm_keyval(me, copy_fn, delete_fn, keyval, extra_state);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Keyval_free, (int* keyval)) {
  return in_call("MPI_Keyval_free", MPI_COMM_SELF,
                 [&](state& me) { free_keyval(me, keyval, keyval::kind::communicator); });
}

WEFT_MPI_FUNCTION(int, MPI_Attr_put, (MPI_Comm comm, int keyval, void* attribute_val)) {
  return in_call(
      "MPI_Attr_put", comm, [&](state& me) { set_comm_attribute(me, comm, keyval, attribute_val); },
      comm, keyval, static_cast<const void*>(attribute_val));
}

WEFT_MPI_FUNCTION(int, MPI_Attr_get, (MPI_Comm comm, int keyval, void* attribute_val, int* flag)) {
  return in_call(
      "MPI_Attr_get", comm,
      [&](state& me) { get_comm_attribute(me, comm, keyval, attribute_val, flag); }, comm, keyval);
}

WEFT_MPI_FUNCTION(int, MPI_Attr_delete, (MPI_Comm comm, int keyval)) {
  return in_call(
      "MPI_Attr_delete", comm, [&](state& me) { delete_comm_attribute(me, comm, keyval); }, comm,
      keyval);
}

// --- Of datatypes ----------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Type_create_keyval,
                  (MPI_Type_copy_attr_function * type_copy_attr_fn,
                   MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                   void* extra_state)) {
  return in_call("MPI_Type_create_keyval", MPI_COMM_SELF, [&](state& me) {
    check_not_null(type_keyval, "type_keyval");
    keyval k;
    k.of = keyval::kind::datatype;
    k.copy_datatype = type_copy_attr_fn;
    k.delete_datatype = type_delete_attr_fn;
    k.extra = extra_state;
    *type_keyval = add_keyval(me, k);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Type_free_keyval, (int* type_keyval)) {
  return in_call("MPI_Type_free_keyval", MPI_COMM_SELF,
                 [&](state& me) { free_keyval(me, type_keyval, keyval::kind::datatype); });
}

WEFT_MPI_FUNCTION(int, MPI_Type_set_attr,
                  (MPI_Datatype datatype, int type_keyval, void* attribute_val)) {
  return in_call(
      "MPI_Type_set_attr", MPI_COMM_SELF,
      [&](state& me) {
        (void)checked_datatype(datatype);
        (void)checked_keyval(me, type_keyval, keyval::kind::datatype);
        set_value(me, me.attributes.of_datatypes[datatype], type_keyval, attribute_val, datatype);
      },
      datatype, type_keyval);
}

WEFT_MPI_FUNCTION(int, MPI_Type_get_attr,
                  (MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag)) {
  return in_call(
      "MPI_Type_get_attr", MPI_COMM_SELF,
      [&](state& me) {
        check_not_null(attribute_val, "attribute_val");
        check_not_null(flag, "flag");
        (void)checked_datatype(datatype);
        (void)checked_keyval(me, type_keyval, keyval::kind::datatype);
        *flag = 0;
        const auto list = me.attributes.of_datatypes.find(datatype);
        if (list == me.attributes.of_datatypes.end()) return;
        const auto at = find_value(list->second, type_keyval);
        if (at == list->second.end()) return;
        *flag = 1;
        *static_cast<void**>(attribute_val) = at->second;
      },
      datatype, type_keyval);
}

WEFT_MPI_FUNCTION(int, MPI_Type_delete_attr, (MPI_Datatype datatype, int type_keyval)) {
  return in_call(
      "MPI_Type_delete_attr", MPI_COMM_SELF,
      [&](state& me) {
        (void)checked_datatype(datatype);
        (void)checked_keyval(me, type_keyval, keyval::kind::datatype);
        const auto list = me.attributes.of_datatypes.find(datatype);
        if (list != me.attributes.of_datatypes.end())
          delete_value(me, list->second, type_keyval, datatype);
      },
      datatype, type_keyval);
}

// --- Of windows ------------------------------------------------------------------------------------

WEFT_MPI_FUNCTION(int, MPI_Win_create_keyval,
                  (MPI_Win_copy_attr_function * win_copy_attr_fn,
                   MPI_Win_delete_attr_function* win_delete_attr_fn, int* win_keyval,
                   void* extra_state)) {
  return in_call("MPI_Win_create_keyval", MPI_COMM_SELF, [&](state& me) {
    check_not_null(win_keyval, "win_keyval");
    keyval k;
    k.of = keyval::kind::window;
    k.copy_window = win_copy_attr_fn;
    k.delete_window = win_delete_attr_fn;
    k.extra = extra_state;
    *win_keyval = add_keyval(me, k);
  });
}

WEFT_MPI_FUNCTION(int, MPI_Win_free_keyval, (int* win_keyval)) {
  return in_call("MPI_Win_free_keyval", MPI_COMM_SELF,
                 [&](state& me) { free_keyval(me, win_keyval, keyval::kind::window); });
}

WEFT_MPI_FUNCTION(int, MPI_Win_set_attr, (MPI_Win win, int win_keyval, void* attribute_val)) {
  return in_call(
      "MPI_Win_set_attr", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        (void)checked_keyval(me, win_keyval, keyval::kind::window);
        set_value(me, w.attributes, win_keyval, attribute_val, win);
      },
      win, win_keyval, static_cast<const void*>(attribute_val));
}

WEFT_MPI_FUNCTION(int, MPI_Win_get_attr,
                  (MPI_Win win, int win_keyval, void* attribute_val, int* flag)) {
  return in_call(
      "MPI_Win_get_attr", win,
      [&](state& me) { get_window_attribute(me, win, win_keyval, attribute_val, flag); }, win,
      win_keyval);
}

WEFT_MPI_FUNCTION(int, MPI_Win_delete_attr, (MPI_Win win, int win_keyval)) {
  return in_call(
      "MPI_Win_delete_attr", win,
      [&](state& me) {
        window_object& w = checked_window(win);
        (void)checked_keyval(me, win_keyval, keyval::kind::window);
        delete_value(me, w.attributes, win_keyval, win);
      },
      win, win_keyval);
}
