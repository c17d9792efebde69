// A member that owns memory cannot be copied as bytes.
// Expect: weft: .*a member that owns or points to memory
#include <span>
#include <string>
#include <weft/weft.hpp>

struct entry {
  int id;
  char name[8];
};
struct owning_entry {
  int id;
  std::string name;
};

#ifdef MISUSE
void rank(weft::communicator& world, std::span<owning_entry> all) {
  world.send(weft::members(all, &owning_entry::id, &owning_entry::name), 0);
}
#else
void rank(weft::communicator& world, std::span<entry> all) {
  world.send(weft::members(all, &entry::id, &entry::name), 0);
}
#endif
