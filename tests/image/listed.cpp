// Hundreds of copies, some of which run while others are being loaded: the loader has all of them in its list at the
// end, whoever looks up, throws, opens or closes in between.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <string_view>

#include <weft/weft.hpp>

static int own = 0;

static bool is_caught(int rank) {
  try {
    throw rank;
  } catch (int thrown) {
    return thrown == rank;
  }
}

// glibc compares the length of its list with what it has counted each time.
static bool opens_and_closes(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  return library != nullptr && dlsym(library, "second_count") != nullptr && dlclose(library) == 0;
}

static bool is_found() {
  Dl_info found{};
  return dladdr(&own, &found) != 0 && std::string_view(found.dli_fname).ends_with("/listed") &&
         dlsym(RTLD_NEXT, "pthread_kill") != nullptr;
}

static int copies_listed() {
  int copies = 0;
  const auto count = [](dl_phdr_info* file, std::size_t, void* sum) {
    *static_cast<int*>(sum) += std::string_view(file->dlpi_name).ends_with("/listed") ? 1 : 0;
    return 0;
  };
  dl_iterate_phdr(count, &copies);
  return copies;
}

int main(int, char** argv) {
  const weft::communicator world = weft::this_world();
  const int rank = world.rank();
  own += rank;
  // The first opens a library while the last are loaded.
  const bool right =
      is_caught(rank) && is_found() && (rank % 100 != 0 || opens_and_closes(argv[1]));
  world.barrier();
  const bool right_then = own == rank && is_caught(rank) && is_found();
  if (!right || !right_then) std::printf("rank %d: %s\n", rank, right ? "wrong later" : "wrong");
  const int listed = copies_listed();
  if (rank == 0 && listed != world.size()) std::printf("%d copies are listed\n", listed);
  return right && right_then && listed == world.size() ? 0 : 1;
}
