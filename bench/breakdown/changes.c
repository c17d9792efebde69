/* What what_if.py records and then runs changed: changes FIRST SECOND BYTES STEPS: in each step rank 0 has FIRST loops of
   work, rank 1 SECOND, and they exchange BYTES. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/region.h>

static volatile double sink;
static char *out, *in;

static void compute(long count) {
  for (long i = 0; i < count; ++i) sink = sink * 0.5 + 1;
}

/* Functions of their own, by whose names their work is known. */
__attribute__((noinline)) static void first(long work, int bytes) {
  compute(work);
  MPI_Sendrecv(out, bytes, MPI_CHAR, 1, 0, in, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}
__attribute__((noinline)) static void second(long work, int bytes) {
  compute(work);
  MPI_Sendrecv(out, bytes, MPI_CHAR, 0, 0, in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 5 || size != 2) {
    fprintf(stderr, "changes FIRST SECOND BYTES STEPS, with two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const long work[2] = {atol(argv[1]), atol(argv[2])};
  const int bytes = atoi(argv[3]), steps = atoi(argv[4]);
  out = calloc(1, (size_t)bytes);
  in = calloc(1, (size_t)bytes);
  for (int i = 0; i < bytes; i += 4096) out[i] = in[i] = 1; /* The pages are there. */
  for (int step = 0; step < steps; ++step) {
    weft_region_begin("step");
    (rank == 0 ? first : second)(work[rank], bytes);
    weft_region_end();
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
