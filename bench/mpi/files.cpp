// What files that all ranks share cost: each rank has blocks of 8 KiB that lie between those of the others.
//
//   files/collective_write/WHERE, collective_read/WHERE   MPI_File_write_at_all through a view of its blocks, 1 MiB a rank
//   files/strided_read/WHERE                              the same blocks, by each rank for itself
//
// WHERE: memory (BENCH_MEMORY_DIR, default /dev/shm) and disk (BENCH_DISK_DIR, default the working directory). Figures are
// nanoseconds for all of a rank's blocks.
#define BENCH_OVER_MPI
#include "../adapter.hpp"

namespace {

constexpr int block = 8 << 10, blocks = 128;

void in(bench::peers& p, const std::string& where, const std::string& directory) {
  const std::string path = directory + "/weft-bench-files";
  std::vector<char> data(static_cast<std::size_t>(block) * blocks, static_cast<char>(p.rank()));
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path.c_str(),
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS) {
    std::fprintf(stderr, "bench: %s cannot be opened; no figures of %s\n", path.c_str(),
                 where.c_str());
    return;
  }
  MPI_Datatype one, mine;
  MPI_Type_contiguous(block, MPI_BYTE, &one);
  MPI_Type_create_resized(one, 0, static_cast<MPI_Aint>(block) * p.size(), &mine);
  MPI_Type_commit(&mine);
  MPI_File_set_view(file, static_cast<MPI_Offset>(block) * p.rank(), MPI_BYTE, mine, "native",
                    MPI_INFO_NULL);
  const int bytes = block * blocks;
  bench::measure(p, "files/collective_write/" + where, [&](long n) {
    for (long i = 0; i < n; ++i)
      MPI_File_write_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  });
  bench::measure(p, "files/collective_read/" + where, [&](long n) {
    for (long i = 0; i < n; ++i)
      MPI_File_read_at_all(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  });
  bench::measure(p, "files/strided_read/" + where, [&](long n) {
    for (long i = 0; i < n; ++i)
      MPI_File_read_at(file, 0, data.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  });
  MPI_File_close(&file);
  MPI_Type_free(&mine);
  MPI_Type_free(&one);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    in(p, "memory", bench::setting("BENCH_MEMORY_DIR", "/dev/shm"));
    in(p, "disk", bench::setting("BENCH_DISK_DIR", "."));
  });
}
