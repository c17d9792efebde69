#include "parcel/object_table.hpp"

#include <cstring>

#include "base/format.hpp"
#include "base/stack_trace.hpp"
#include "parcel/layer.hpp"
#include "weft/error.hpp"
#include "weft/parcels/object.hpp"

namespace weft::detail {

// Under the lock. What others say of it is not believed.
object_table::known& object_table::at(std::uint64_t number, const char* type) {
  const auto found = objects_.find(number);
  if (found == objects_.end())
    throw error(formatted("there is no object {} here any more: nobody referred to it", number));
  if (std::strcmp(found->second.type, type) != 0)
    throw error(formatted("object {} is a {}, not a {}", number, demangled(found->second.type),
                          demangled(type)));
  return found->second;
}

std::uint64_t object_table::add(std::shared_ptr<void> made, const char* type) {
  const std::lock_guard hold(lock_);
  objects_.emplace(++last_, known{std::move(made), type});
  return last_;
}

std::shared_ptr<void> object_table::find(std::uint64_t number, const char* type) {
  const std::lock_guard hold(lock_);
  known& called = at(number, type);
  ++called.calls;
  if (!called.is_left()) return called.object;
  std::shared_ptr<void> last = std::move(called.object);
  objects_.erase(number);
  return last;
}

void object_table::hold(std::uint64_t number, const char* type) {
  const std::lock_guard hold(lock_);
  ++at(number, type).references;
}

void object_table::release(std::uint64_t number, std::uint64_t calls) {
  std::shared_ptr<void> last;  // Its destructor runs without the lock.
  const std::lock_guard hold(lock_);
  const auto found = objects_.find(number);
  if (found == objects_.end() || found->second.references == 0)
    throw error(formatted("a reference to object {} was given back that there is not", number));
  --found->second.references;
  found->second.calls_sent += calls;
  if (!found->second.is_left()) return;
  last = std::move(found->second.object);
  objects_.erase(found);
}

void object_table::name(const std::string& name, int process, std::uint64_t number,
                        const std::string& type) {
  const std::lock_guard hold(lock_);
  if (!names_.emplace(name, named{process, number, type}).second)
    throw error(formatted("another object has the name \"{}\"", name));
}

object_id<void> object_table::find(const std::string& name, const std::string& type) {
  const std::lock_guard hold(lock_);
  const auto found = names_.find(name);
  if (found == names_.end()) throw error(formatted("no object has the name \"{}\"", name));
  if (found->second.type != type)
    throw error(formatted("the object of the name \"{}\" is a {}, not a {}", name,
                          demangled(found->second.type.c_str()), demangled(type.c_str())));
  return {found->second.process, found->second.number};
}

// --- What the header calls --------------------------------------------------------------------------

std::uint64_t add_object(std::shared_ptr<void> made, const char* type) {
  return parcel_layer::here("create").objects().add(std::move(made), type);
}
std::shared_ptr<void> find_object(std::uint64_t number, const char* type) {
  return parcel_layer::here("a method").objects().find(number, type);
}
void hold_object(std::uint64_t number, const char* type) {
  parcel_layer::here("resolve").objects().hold(number, type);
}
void release_object(std::uint64_t number, std::uint64_t calls) {
  parcel_layer::here("a reference's end").objects().release(number, calls);
}
void submit_release(task& what) noexcept {
  task_source* const here = task_source::here_or_null();
  if (here != nullptr && !here->home().is_shared())
    here->submit(what, priority::normal);
  else
    what.act(what, false);
}
void name_object(const std::string& name, int process, std::uint64_t number,
                 const std::string& type) {
  parcel_layer::here("give_name").objects().name(name, process, number, type);
}
object_id<void> find_name(const std::string& name, const std::string& type) {
  return parcel_layer::here("resolve").objects().find(name, type);
}

}  // namespace weft::detail
