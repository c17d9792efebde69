// What a message costs whose receiver asks for it again and again, while all other ranks ask for theirs in vain: with more
// processes than cores, whoever asks has the core that the sender needs.
//
//   polling/message/WAY   one message of two ranks that send in turn, received by MPI_Test and its kin
#define BENCH_OVER_MPI
#include "../adapter.hpp"

namespace {

enum class way { test, testany, iprobe, improbe, get_status };
constexpr const char* names[] = {"test", "testany", "iprobe", "improbe", "get_status"};

void receive(way how, int from) {
  int value = 0, flag = 0, index = 0;
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message m = MPI_MESSAGE_NULL;
  if (how != way::iprobe && how != way::improbe)
    MPI_Irecv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &r[0]);
  while (flag == 0) switch (how) {
      case way::test:
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        break;
      case way::testany:
        MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE);
        break;
      case way::iprobe:
        MPI_Iprobe(from, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        break;
      case way::improbe:
        MPI_Improbe(from, 1, MPI_COMM_WORLD, &flag, &m, MPI_STATUS_IGNORE);
        break;
      case way::get_status:
        MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
        break;
    }
  if (how == way::iprobe) MPI_Recv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (how == way::improbe) MPI_Mrecv(&value, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

// Of all messages of a round, as rank 0 sees it.
double message_ns(bench::peers& p, way how, int messages) {
  int end = 0, flag = 0;
  double ns = 0;
  p.barrier();
  if (p.rank() < 2) {
    const double start = bench::clock_ns();
    for (int i = 0; i < messages; ++i)
      if (p.rank() == i % 2)
        MPI_Send(&i, 1, MPI_INT, 1 - p.rank(), 1, MPI_COMM_WORLD);
      else
        receive(how, 1 - p.rank());
    ns = (bench::clock_ns() - start) / messages;
    for (int other = 2; p.rank() == 0 && other < p.size(); ++other)
      MPI_Send(&end, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
  } else {
    MPI_Request r;
    MPI_Irecv(&end, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &r);
    while (flag == 0) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
  }
  return ns;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, [](bench::peers& p) {
    constexpr int repetitions = 15, messages = 200;
    for (const way how : {way::test, way::testany, way::iprobe, way::improbe, way::get_status}) {
      const std::string name = std::string("polling/message/") + names[static_cast<int>(how)];
      if (!bench::wanted(name)) continue;
      std::vector<double> samples;
      for (int i = 0; i < repetitions; ++i) samples.push_back(message_ns(p, how, messages));
      if (p.rank() == 0) bench::print_row(name, bench::setup_of(p), "ns", samples);
    }
  });
}
