/* Random programs against a model: an array of bytes and a length. Each step sets a random view, writes, reads or sets the
   size, by a random way; every rank knows from the seed what all ranks do. FILES_SEEDS=first,count chooses others. */
#include "conform.h"
#include "file_paths.h"

#define CALL(name) name
#define COUNT int
#define WAYS(name) name##_of_ints
#include "file_ways.h"

enum { room = 1 << 17, slots_max = 64, elements_max = 60, steps = 14 };

static unsigned char model[room], written[room];
static long length;
static unsigned long long state;

static unsigned next(void) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33);
}
static int below(int limit) { return (int)(next() % (unsigned)limit); }

/* The view: tiles of slots, each an int of one rank or of nobody. */
static int displacement, slots, owner[slots_max];

static int slots_of(int r) {
  int count = 0;
  for (int s = 0; s < slots; ++s) count += owner[s] == r;
  return count;
}
/* Where in the file element `k` of rank `r` lies. */
static long offset_of(int r, int k) {
  const int each = slots_of(r);
  int left = k % each;
  for (int s = 0; s < slots; ++s)
    if (owner[s] == r && left-- == 0) return displacement + ((long)(k / each) * slots + s) * (long)sizeof(int);
  return -1;
}

static void choose_view(MPI_File file) {
  displacement = below(10);
  slots = size + below(slots_max - size);
  for (int s = 0; s < slots; ++s) owner[s] = s < size ? s : below(size + 2) - 1;
  for (int s = slots - 1; s > 0; --s) {
    const int other = below(s + 1), kept = owner[s];
    owner[s] = owner[other];
    owner[other] = kept;
  }
  int places[slots_max], count = 0;
  for (int s = 0; s < slots; ++s)
    if (owner[s] == rank) places[count++] = s;
  MPI_Datatype mine, tile;
  MPI_Type_create_indexed_block(count, 1, places, MPI_INT, &mine);
  MPI_Type_create_resized(mine, 0, slots * (MPI_Aint)sizeof(int), &tile);
  MPI_Type_commit(&tile);
  EXPECT_INT(MPI_File_set_view(file, displacement, MPI_INT, tile, "native", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Type_free(&mine);
  MPI_Type_free(&tile);
}

static void write_some(MPI_File file, int step, int seed) {
  const int way = below(ways_of_ints);
  int at[256], count[256], data[elements_max];
  MPI_Status status;
  for (int r = 0; r < size; ++r) at[r] = below(30), count[r] = below(4) == 0 ? 0 : below(elements_max - 30);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count[r]; ++i) {
      const int value = (seed * 100 + step) * 10000 + r * 100 + i;
      const long offset = offset_of(r, at[r] + i);
      memcpy(model + offset, &value, sizeof value);
      memset(written + offset, 1, sizeof value);
      if (offset + (long)sizeof value > length) length = offset + (long)sizeof value;
      if (r == rank) data[i] = value;
    }
  put_of_ints(way, file, at[rank], data, count[rank], &status);
  EXPECT(count_of(&status, MPI_INT) == count[rank], "seed %d, step %d, way %d: %d written", seed, step, way,
         count_of(&status, MPI_INT));
  settle(file);
}

static void read_some(MPI_File file, int step, int seed) {
  const int way = below(ways_of_ints);
  int at = 0, count = 0, found[elements_max];
  for (int r = 0; r < size; ++r) {
    const int place = below(40), elements = below(elements_max);
    if (r == rank) at = place, count = elements;
  }
  MPI_Status status;
  memset(found, 0x5a, sizeof found);
  get_of_ints(way, file, at, found, count, &status);
  /* Bytes of the view up to the end of the file. */
  long there = 0;
  for (int i = 0; i < count; ++i) {
    const long offset = offset_of(rank, at + i);
    long bytes = length - offset;
    bytes = bytes < 0 ? 0 : bytes > (long)sizeof(int) ? (long)sizeof(int) : bytes;
    there += bytes;
#ifndef MPI_ABI_VERSION /* MPICH 4.0 leaves anything in places that nobody has written. */
    if (bytes == 0 || !written[offset] || !written[offset + bytes - 1]) continue;
#endif
    EXPECT(memcmp(found + i, model + offset, (size_t)bytes) == 0, "seed %d, step %d, way %d: element %d is %d", seed, step,
           way, i, found[i]);
#ifdef MPI_ABI_VERSION /* MPICH 4.0 writes what there is not. */
    for (long b = bytes; b < (long)sizeof(int); ++b)
      EXPECT(((unsigned char*)(found + i))[b] == 0x5a, "seed %d, step %d, way %d: element %d behind the end was written",
             seed, step, way, i);
#endif
  }
#ifdef MPI_ABI_VERSION /* MPICH 4.0 and Open MPI 4.1 report more than there is. */
  EXPECT(count_of(&status, MPI_BYTE) == there, "seed %d, step %d, way %d: %d bytes read of %ld", seed, step, way,
         count_of(&status, MPI_BYTE), there);
#endif
  (void)there;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void resize(MPI_File file) {
  const long to = below(4) == 0 ? 0 : below(6000);
  if (to < length) memset(model + to, 0, (size_t)(length - to));
  if (to < length) memset(written + to, 0, (size_t)(length - to));
  length = to;
  EXPECT_INT(MPI_File_set_size(file, to), MPI_SUCCESS);
  settle(file);
}

static void check_whole(MPI_File file, int seed) {
  static unsigned char found[room];
  MPI_Offset bytes = -1;
  MPI_Status status;
  MPI_File_get_size(file, &bytes);
  EXPECT(bytes == length, "seed %d: %lld bytes, not %ld", seed, (long long)bytes, length);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, found, (int)length, MPI_BYTE, &status);
#ifdef MPI_ABI_VERSION
  EXPECT(memcmp(found, model, (size_t)length) == 0, "seed %d: the file differs from the model", seed);
#endif
  MPI_Barrier(MPI_COMM_WORLD);
}

static void run(int seed) {
  MPI_File file;
  MPI_Info info;
  memset(model, 0, sizeof model);
  memset(written, 0, sizeof written);
  length = 0;
  state = (unsigned long long)seed * 0x9e3779b97f4a7c15ULL + 1;
  for (int i = 0; i < 4; ++i) next();
  MPI_Info_create(&info);
  if (below(2) == 0) MPI_Info_set(info, "cb_buffer_size", below(2) == 0 ? "64" : "4096");
  if (below(3) == 0) {
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
  }
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_Info_free(&info);
  choose_view(file);
  for (int step = 0; step < steps; ++step) switch (below(8)) {
      case 0:
        choose_view(file);
        break;
      case 1:
        resize(file);
        break;
      case 2:
      case 3:
      case 4:
        write_some(file, step, seed);
        break;
      default:
        read_some(file, step, seed);
        break;
    }
  check_whole(file, seed);
  MPI_File_close(&file);
  remove_path();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int first = 1, count = 50;
#ifndef MPI_ABI_VERSION
  count = 10; /* The other libraries take their time, and Open MPI 4.1 does not come back. */
#ifdef OPEN_MPI
  count = 0;
#endif
#endif
  const char* wish = getenv("FILES_SEEDS");
  if (wish != NULL) sscanf(wish, "%d,%d", &first, &count);
  make_path("random");
  for (int seed = first; seed < first + count; ++seed) run(seed);
  return end();
}
