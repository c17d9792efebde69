// Each kind of data and of hidden state that an executable has, in a program that another compiler has linked: each rank has
// its own. Rank 0 prints "right" last.
#include <getopt.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static int wrong = 0;
#define CHECK(what)                                           \
  do {                                                        \
    if (!(what)) {                                            \
      ++wrong;                                                \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
    }                                                         \
  } while (0)

static int of_file;
int of_program = 5;
__attribute__((weak)) int weak_one = 1;
inline int inline_one = 2;
template <class T>
struct holder {
  static std::map<int, T> all;
};
template <class T>
std::map<int, T> holder<T>::all;
static int& of_function() {
  static int value = MPI_VERSION;
  return value;
}
static int& guarded() {
  static std::vector<int> values(3, MPI_VERSION);
  return values[1];
}

struct base {
  virtual int tell() { return 1; }
  virtual ~base() = default;
};
struct derived final : base {
  int tell() override { return 2; }
};

// The loader asks which of the two it is.
static int plain(int x) {
  return x + 1;
}
extern "C" int (*choose_version())(int) {
  return &plain;
}
extern "C" int chosen(int) __attribute__((ifunc("choose_version")));

static std::string constructed_before_main = "constructed";
static int from_init_array = 0;
__attribute__((constructor)) static void begin() {
  from_init_array = getenv("PATH") != nullptr ? 7 : 0;
}

static int handlers = 0;
static void handler() {
  ++handlers;
}
struct last_word {
  ~last_word() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized && handlers == 1) return;
    std::fputs("wrong: the order of the end\n", stderr);
    _exit(1);
  }
} at_the_end;

static int sum_of_all(int mine) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static void check_globals(int rank, int size) {
  CHECK(constructed_before_main == "constructed");
  CHECK(from_init_array == 7);
  for (int i = 0; i <= rank; ++i) {
    ++of_file, ++of_program, ++weak_one, ++inline_one, ++of_function(), ++guarded();
    holder<std::string>::all[i] = "x";
    MPI_Barrier(MPI_COMM_WORLD), MPI_Barrier(MPI_COMM_SELF);
  }
  for (int i = rank + 1; i < size; ++i) MPI_Barrier(MPI_COMM_WORLD);
  const int more = rank + 1;
  CHECK(of_file == more && of_program == 5 + more && weak_one == 1 + more &&
        inline_one == 2 + more);
  CHECK(of_function() == 5 + more && guarded() == 5 + more);
  CHECK(holder<std::string>::all.size() == static_cast<std::size_t>(more));
  CHECK(sum_of_all(of_file) == size * (size + 1) / 2);
  CHECK(chosen(rank) == rank + 1);
}

static void check_classes() {
  const std::unique_ptr<base> one = std::make_unique<derived>();
  CHECK(one->tell() == 2 && dynamic_cast<derived*>(one.get()) != nullptr);
  bool caught = false;
  try {
    if (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS) throw std::runtime_error("thrown");
  } catch (const std::exception& e) {
    caught = std::string(e.what()) == "thrown";
  }
  CHECK(caught);
}

// Variables of the C library that the linker copies to an executable, and state that it hides.
static void check_c_library(int rank) {
  std::string word = "-n" + std::to_string(rank);
  char name[] = "program", last[] = "rest";
  char* words[] = {name, word.data(), last, nullptr};
  optind = 1;
  CHECK(getopt(3, words, "n:") == 'n');
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(optarg != nullptr && std::atoi(optarg) == rank);
  CHECK(getopt(3, words, "n:") == -1 && optind == 2);

  char text[] = "a b c";
  const char* part = std::strtok(text, " ");
  for (int i = 0; i < 2; ++i) {
    CHECK(part != nullptr && part[0] == "abc"[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    part = std::strtok(nullptr, " ");
  }
  std::srand(1);
  const int first = std::rand();
  MPI_Barrier(MPI_COMM_WORLD);
  std::srand(1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(std::rand() == first);

  const std::string mine = std::to_string(rank);
  setenv("OF_THIS_RANK", mine.c_str(), 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(mine == getenv("OF_THIS_RANK"));
  bool found = false;
  for (char** entry = environ; *entry != nullptr; ++entry)
    found = found || *entry == "OF_THIS_RANK=" + mine;
  CHECK(found);
  const char* const preloaded = getenv("LD_PRELOAD");
  CHECK(preloaded == nullptr || std::strstr(preloaded, "libmpi_abi") == nullptr);

  std::cout.setf(std::ios::hex, std::ios::basefield);
  std::fprintf(stderr, "%s", "");
  CHECK(fileno(stdout) == STDOUT_FILENO && stdin != nullptr);
}

int main(int argc, char** argv) {
  std::atexit(handler);
  int early = -1;
  CHECK(MPI_Initialized(&early) == MPI_SUCCESS && early == 0);
  int major = 0, minor = -1, version = 0, subversion = -1;
  CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor == 0);
  CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version == 5 && subversion == 0);
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101 && MPI_Comm_fromint(0x102) == MPI_COMM_SELF);
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_globals(rank, size);
  check_classes();
  check_c_library(rank);
  const int all = sum_of_all(wrong);
  if (rank == 0) std::cout << (all == 0 ? "right" : "wrong") << std::endl;
  MPI_Finalize();
  // exit() from deep within is the rank's own, too.
  if (rank % 2 == 1) std::exit(all == 0 ? 0 : 1);
  return all == 0 ? 0 : 1;
}
