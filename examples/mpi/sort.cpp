// Sorts records over all ranks by regular sampling: each rank sorts its own, splitters are chosen from
// everybody's samples, and one alltoallv brings every record to the rank that it belongs to.
//
//   weftcxx -O2 -std=c++20 sort.cpp -o sort && weftrun -n 5 ./sort [RECORDS OF EACH RANK]
//
// Objects with constructors lie outside of functions, as in many programs: each rank has its own.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace {

struct record {
  double key;
  std::int32_t owner;  // Who made it, and as which.
  std::int32_t number;
  friend bool operator<(const record& a, const record& b) {
    return a.key != b.key       ? a.key < b.key
           : a.owner != b.owner ? a.owner < b.owner
                                : a.number < b.number;
  }
};

// The same numbers under every library.
class generator {
 public:
  std::uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  void seed(std::uint64_t value) {
    state_ = value * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 8; ++i) (*this)();
  }

 private:
  std::uint64_t state_ = 1;
};

std::vector<record> records;
generator numbers;
std::string report;
int rank, size;
MPI_Datatype record_type;

void make_record_type() {
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {offsetof(record, key), offsetof(record, owner)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT32_T};
  MPI_Datatype members;
  MPI_Type_create_struct(2, lengths, places, types, &members);
  MPI_Type_create_resized(members, 0, sizeof(record), &record_type);
  MPI_Type_commit(&record_type);
  MPI_Type_free(&members);
}

// Crowded towards 0, with some keys that are alike.
void make_records(std::size_t count) {
  numbers.seed(static_cast<std::uint64_t>(rank) + 1);
  records.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(numbers() >> 40) / (1 << 24);
    records[i] = {x * x * x, rank, static_cast<std::int32_t>(i)};
  }
}

std::vector<record> splitters() {
  std::vector<record> mine(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = records[i * records.size() / mine.size()];
  std::vector<record> all(mine.size() * mine.size());
  MPI_Allgather(mine.data(), size, record_type, all.data(), size, record_type, MPI_COMM_WORLD);
  std::sort(all.begin(), all.end());
  std::vector<record> chosen;
  for (int i = 1; i < size; ++i)
    chosen.push_back(all[static_cast<std::size_t>(i * size + size / 2)]);
  return chosen;
}

void exchange(const std::vector<record>& borders) {
  std::vector<int> out(static_cast<std::size_t>(size)), in(out.size()), from(out.size()),
      to(out.size());
  std::size_t begin = 0;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const std::size_t end =
        r < borders.size()
            ? static_cast<std::size_t>(
                  std::lower_bound(records.begin(), records.end(), borders[r]) - records.begin())
            : records.size();
    from[r] = static_cast<int>(begin);
    out[r] = static_cast<int>(end - begin);
    begin = end;
  }
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(in.begin(), in.end(), to.begin(), 0);
  std::vector<record> received(static_cast<std::size_t>(to.back() + in.back()));
  MPI_Alltoallv(records.data(), out.data(), from.data(), record_type, received.data(), in.data(),
                to.data(), record_type, MPI_COMM_WORLD);
  records.swap(received);
}

// Whether no record of this rank is less than one of the ranks before.
bool is_in_order() {
  record last = records.empty() ? record{-1, -1, -1} : records.back(), before{-1, -1, -1};
  const int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
            previous = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&last, 1, record_type, next, 0, &before, 1, record_type, previous, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return std::is_sorted(records.begin(), records.end()) &&
         (records.empty() || !(records.front() < before));
}

void tell(long count) {
  long total = 0, least = 0, most = 0, here = static_cast<long>(records.size());
  int good = is_in_order(), all_good = 0;
  std::uint64_t sum = 0, all = 0;  // Does not depend on the order: nothing lost, nothing twice.
  for (const record& r : records)
    sum += (static_cast<std::uint64_t>(r.owner) << 32 | static_cast<std::uint32_t>(r.number)) *
           static_cast<std::uint64_t>(r.key * (1 << 24) + 1);
  MPI_Reduce(&here, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&here, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&here, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&good, &all_good, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
  const double middle = records.empty() ? 0 : records[records.size() / 2].key;
  std::vector<double> middles(static_cast<std::size_t>(size));
  MPI_Gather(&middle, 1, MPI_DOUBLE, middles.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  char line[200];
  std::snprintf(line, sizeof line, "%ld of %ld records, %s order, sum %016llx\n", total,
                count * size, all_good ? "in" : "NOT in", static_cast<unsigned long long>(all));
  report += line;
  std::snprintf(line, sizeof line, "a rank has %ld to %ld\n", least, most);
  report += line;
  for (int r = 0; r < size; ++r) {
    std::snprintf(line, sizeof line, "rank %d: middle %.6f\n", r,
                  middles[static_cast<std::size_t>(r)]);
    report += line;
  }
  std::fputs(report.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long count = argc > 1 ? std::atol(argv[1]) : 20000;
  make_record_type();
  make_records(static_cast<std::size_t>(count));
  std::sort(records.begin(), records.end());
  exchange(splitters());
  std::sort(records.begin(), records.end());
  tell(count);
  MPI_Type_free(&record_type);
  MPI_Finalize();
}
