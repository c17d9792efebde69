// The halo exchange of weft-md over MPI: the same six messages in three rounds, of the same sizes,
// packed and unpacked in the same way. `weft-md --halo-only` prints the sizes; ./demo runs both.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct site {
  double x, y, z, slope;
};

struct direction {
  int to, from, tag;
  size_t* chosen;
  size_t count, ghosts_begin;
  struct site* subgroups_out;
  double *slopes_out, *slopes_in;
};

static void* allocate(size_t count, size_t size) {
  void* memory = calloc(count > 0 ? count : 1, size);
  if (memory == NULL) {
    fprintf(stderr, "halo_mpi: out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static void forward_positions(struct direction* pair, int rank, struct site* sites) {
  const int alone = pair[0].to == rank;
  MPI_Request requests[4];
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    struct site* out = alone ? sites + d->ghosts_begin : d->subgroups_out;
    for (size_t i = 0; i < d->count; ++i) {
      out[i] = sites[d->chosen[i]];
      out[i].x += 1e-3;
    }
  }
  if (alone) return;
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    MPI_Irecv(sites + d->ghosts_begin, (int)(4 * d->count), MPI_DOUBLE, d->from, d->tag,
              MPI_COMM_WORLD, &requests[k]);
  }
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    MPI_Isend(d->subgroups_out, (int)(4 * d->count), MPI_DOUBLE, d->to, d->tag, MPI_COMM_WORLD,
              &requests[2 + k]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void forward_slopes(struct direction* pair, int rank, struct site* sites) {
  const int alone = pair[0].to == rank;
  MPI_Request requests[4];
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    for (size_t i = 0; i < d->count; ++i) {
      const double slope = sites[d->chosen[i]].slope;
      if (alone)
        sites[d->ghosts_begin + i].slope = slope;
      else
        d->slopes_out[i] = slope;
    }
  }
  if (alone) return;
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    MPI_Irecv(d->slopes_in, (int)d->count, MPI_DOUBLE, d->from, d->tag, MPI_COMM_WORLD,
              &requests[k]);
  }
  for (int k = 0; k < 2; ++k) {
    struct direction* d = &pair[k];
    MPI_Isend(d->slopes_out, (int)d->count, MPI_DOUBLE, d->to, d->tag, MPI_COMM_WORLD,
              &requests[2 + k]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (int k = 0; k < 2; ++k)
    for (size_t i = 0; i < pair[k].count; ++i)
      sites[pair[k].ghosts_begin + i].slope = pair[k].slopes_in[i];
}

// Arguments: ranks along x, y, z; sites of a message along x, y, z; seconds to measure.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int grid[3] = {0, 0, 0};
  size_t count[3] = {0, 0, 0};
  for (int axis = 0; axis < 3 && argc == 8; ++axis) {
    grid[axis] = atoi(argv[1 + axis]);
    count[axis] = strtoul(argv[4 + axis], NULL, 10);
  }
  const double seconds_max = argc == 8 ? atof(argv[7]) : 0;
  if (grid[0] * grid[1] * grid[2] != ranks || seconds_max <= 0) {
    if (rank == 0)
      fprintf(stderr,
              "halo_mpi: usage: halo_mpi RANKS_X RANKS_Y RANKS_Z SITES_X SITES_Y SITES_Z SECONDS; "
              "the product of the ranks must be the %d ranks started\n",
              ranks);
    MPI_Finalize();
    return 2;
  }

  const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  // Enough owned sites to choose any message from.
  const size_t owned = count[2] > count[0] ? 2 * count[2] : 2 * count[0];
  size_t total = owned;
  struct direction directions[6];
  for (int d = 0; d < 6; ++d) {
    const int axis = d / 2, step = d % 2 == 1 ? 1 : -1;
    int to[3] = {place[0], place[1], place[2]}, from[3] = {place[0], place[1], place[2]};
    to[axis] = (place[axis] + step + grid[axis]) % grid[axis];
    from[axis] = (place[axis] - step + grid[axis]) % grid[axis];
    struct direction* it = &directions[d];
    it->to = (to[0] * grid[1] + to[1]) * grid[2] + to[2];
    it->from = (from[0] * grid[1] + from[1]) * grid[2] + from[2];
    it->tag = d;
    it->count = count[axis];
    it->ghosts_begin = total;
    total += it->count;
    it->chosen = allocate(it->count, sizeof *it->chosen);
    for (size_t i = 0; i < it->count; ++i)
      it->chosen[i] = (i * 7 + (size_t)d) % (it->ghosts_begin - (size_t)(d % 2) * count[axis]);
    it->subgroups_out = allocate(it->count, sizeof *it->subgroups_out);
    it->slopes_out = allocate(it->count, sizeof *it->slopes_out);
    it->slopes_in = allocate(it->count, sizeof *it->slopes_in);
  }
  struct site* sites = allocate(total, sizeof *sites);

  // Rounds of growing length until the time is used up: an MPI that spins on busy cores may need
  // a second for what takes another one a millisecond.
  double seconds = 0;
  long exchanges = 0;
  for (long round = 1; seconds < seconds_max; round *= 2) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < round; ++i) {
      for (int axis = 0; axis < 3; ++axis) forward_positions(&directions[2 * axis], rank, sites);
      for (int axis = 0; axis < 3; ++axis) forward_slopes(&directions[2 * axis], rank, sites);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime() - start;
    exchanges = round;
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    printf("ranks,ranks_x,ranks_y,ranks_z,sites_x,sites_y,sites_z,exchanges,exchange_us\n");
    printf("%d,%d,%d,%d,%zu,%zu,%zu,%ld,%.3f\n", ranks, grid[0], grid[1], grid[2], count[0],
           count[1], count[2], exchanges, 1e6 * seconds / (double)exchanges);
  }
  free(sites);
  for (int d = 0; d < 6; ++d) {
    free(directions[d].chosen);
    free(directions[d].subgroups_out);
    free(directions[d].slopes_out);
    free(directions[d].slopes_in);
  }
  MPI_Finalize();
  return 0;
}
