// A face of a stencil that both of two ranks exchange and that is written part by part: as a persistent message sent once all of
// it is written, and as a partitioned message whose parts go as they are written.
//
//   partitioned/persistent/SIZE                one message; Start when the whole face is written
//   partitioned/PARTS/SIZE                     Pready after each of PARTS parts; the receiver reads each part once Parrived says so
#define BENCH_OVER_MPI
#include <cstring>

#include "../adapter.hpp"

#if !defined OPEN_MPI || OMPI_MAJOR_VERSION > 4
#define BENCH_HAS_PARTITIONS
#endif

namespace {

struct faces {
  std::vector<double> out, in;
  explicit faces(std::size_t bytes) : out(bytes / sizeof(double)), in(bytes / sizeof(double)) {}
};

// What a stencil does with a part of a face: some arithmetic on each value.
void write_part(faces& f, std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) f.out[i] = f.out[i] * 0.5 + 1;
}
double read_part(const faces& f, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += f.in[i];
  return sum;
}

double kept = 0;  // So that what is read is not left out.

void persistent(bench::peers& p, std::size_t bytes) {
  faces f(bytes);
  const int other = 1 - p.rank(), count = static_cast<int>(f.out.size());
  MPI_Request r[2];
  MPI_Recv_init(f.in.data(), count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &r[0]);
  MPI_Send_init(f.out.data(), count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &r[1]);
  bench::measure(p, "partitioned/persistent/" + bench::size_name(bytes), [&](long n) {
    for (long i = 0; i < n; ++i) {
      MPI_Start(&r[0]);
      write_part(f, 0, f.out.size());
      MPI_Start(&r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      kept += read_part(f, 0, f.in.size());
    }
  });
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

#ifdef BENCH_HAS_PARTITIONS
void partitioned(bench::peers& p, std::size_t bytes, int parts) {
  faces f(bytes);
  const int other = 1 - p.rank();
  const std::size_t each = f.out.size() / static_cast<std::size_t>(parts);
  MPI_Request r[2];
  MPI_Precv_init(f.in.data(), parts, static_cast<MPI_Count>(each), MPI_DOUBLE, other, 0,
                 MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Psend_init(f.out.data(), parts, static_cast<MPI_Count>(each), MPI_DOUBLE, other, 0,
                 MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  bench::measure(p, "partitioned/" + std::to_string(parts) + "/" + bench::size_name(bytes),
                 [&](long n) {
                   for (long i = 0; i < n; ++i) {
                     MPI_Startall(2, r);
                     for (int part = 0; part < parts; ++part) {
                       write_part(f, static_cast<std::size_t>(part) * each, each);
                       MPI_Pready(part, r[1]);
                     }
                     for (int part = 0; part < parts; ++part) {
                       for (int arrived = 0; arrived == 0;) MPI_Parrived(r[0], part, &arrived);
                       kept += read_part(f, static_cast<std::size_t>(part) * each, each);
                     }
                     MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
                   }
                 });
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    for (const std::size_t bytes :
         {std::size_t{8} << 10, std::size_t{64} << 10, std::size_t{1} << 20}) {
      persistent(p, bytes);
#ifdef BENCH_HAS_PARTITIONS
      partitioned(p, bytes, 64);
#endif
    }
    if (kept == -1) std::fprintf(stderr, "%f", kept);
  });
}
