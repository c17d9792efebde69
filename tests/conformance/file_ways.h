/* Every way to write and to read, with counts of one size: included with CALL(name), COUNT and WAYS(name) defined. */

enum { WAYS(ways) = 10 };

/* Writes `count` ints from `at` on, in etypes of the view. */
static void WAYS(put)(int way, MPI_File file, MPI_Offset at, const int* data, COUNT count, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (way >= 5) MPI_File_seek(file, at, MPI_SEEK_SET);
  switch (way) {
    case 0:
      CALL(MPI_File_write_at)(file, at, data, count, MPI_INT, status);
      break;
    case 1:
      CALL(MPI_File_write_at_all)(file, at, data, count, MPI_INT, status);
      break;
    case 2:
      CALL(MPI_File_iwrite_at)(file, at, data, count, MPI_INT, &request);
      break;
    case 3:
      CALL(MPI_File_iwrite_at_all)(file, at, data, count, MPI_INT, &request);
      break;
    case 4:
      CALL(MPI_File_write_at_all_begin)(file, at, data, count, MPI_INT);
      MPI_File_write_at_all_end(file, data, status);
      break;
    case 5:
      CALL(MPI_File_write)(file, data, count, MPI_INT, status);
      break;
    case 6:
      CALL(MPI_File_write_all)(file, data, count, MPI_INT, status);
      break;
    case 7:
      CALL(MPI_File_iwrite)(file, data, count, MPI_INT, &request);
      break;
    case 8:
      CALL(MPI_File_iwrite_all)(file, data, count, MPI_INT, &request);
      break;
    case 9:
      CALL(MPI_File_write_all_begin)(file, data, count, MPI_INT);
      MPI_File_write_all_end(file, data, status);
      break;
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, status);
  if (way >= 5) {
    MPI_Offset behind = -1;
    MPI_File_get_position(file, &behind);
    EXPECT_INT(behind, at + (MPI_Offset)count);
  }
}

static void WAYS(get)(int way, MPI_File file, MPI_Offset at, int* data, COUNT count, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (way >= 5) MPI_File_seek(file, at, MPI_SEEK_SET);
  switch (way) {
    case 0:
      CALL(MPI_File_read_at)(file, at, data, count, MPI_INT, status);
      break;
    case 1:
      CALL(MPI_File_read_at_all)(file, at, data, count, MPI_INT, status);
      break;
    case 2:
      CALL(MPI_File_iread_at)(file, at, data, count, MPI_INT, &request);
      break;
    case 3:
      CALL(MPI_File_iread_at_all)(file, at, data, count, MPI_INT, &request);
      break;
    case 4:
      CALL(MPI_File_read_at_all_begin)(file, at, data, count, MPI_INT);
      MPI_File_read_at_all_end(file, data, status);
      break;
    case 5:
      CALL(MPI_File_read)(file, data, count, MPI_INT, status);
      break;
    case 6:
      CALL(MPI_File_read_all)(file, data, count, MPI_INT, status);
      break;
    case 7:
      CALL(MPI_File_iread)(file, data, count, MPI_INT, &request);
      break;
    case 8:
      CALL(MPI_File_iread_all)(file, data, count, MPI_INT, &request);
      break;
    case 9:
      CALL(MPI_File_read_all_begin)(file, data, count, MPI_INT);
      MPI_File_read_all_end(file, data, status);
      break;
  }
  if (request != MPI_REQUEST_NULL) MPI_Wait(&request, status);
}

/* Each rank sees two ints of every 2 * size. */
static inline void WAYS(through_views)(void) {
  enum { count = 14 };
  MPI_File file;
  MPI_Datatype some, tile;
  MPI_Type_contiguous(2, MPI_INT, &some);
  MPI_Type_create_resized(some, 0, 2 * size * (MPI_Aint)sizeof(int), &tile);
  MPI_Type_commit(&tile);
  EXPECT_INT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
  for (int way = 0; way < WAYS(ways); ++way) {
    MPI_Status status;
    int data[count], found[count + 6];
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 8 + 2 * rank * (MPI_Offset)sizeof(int), MPI_INT, tile, "native", MPI_INFO_NULL);
    for (int i = 0; i < count; ++i) data[i] = 1000 * way + 100 * rank + i;
    WAYS(put)(way, file, 0, data, 9, &status);
    EXPECT_INT(count_of(&status, MPI_INT), 9);
    WAYS(put)(way, file, 9, data + 9, count - 9, &status);
    EXPECT_INT(count_of(&status, MPI_INT), count - 9);
    settle(file);
    for (int read = 0; read < WAYS(ways); ++read) {
      for (int i = 0; i < count + 6; ++i) found[i] = -1;
      WAYS(get)(read, file, 1, found, count - 2, &status);
      EXPECT_INT(count_of(&status, MPI_INT), count - 2);
      for (int i = 0; i < count - 2; ++i)
        EXPECT(found[i] == data[i + 1], "written by way %d, read by %d: %d is %d", way, read, i, found[i]);
      EXPECT_INT(found[count - 2], -1);
      /* Beyond the end: the file ends behind the last rank's last int. */
      for (int i = 0; i < count + 6; ++i) found[i] = -1;
      WAYS(get)(read, file, 3, found, count + 3, &status);
#ifdef MPI_ABI_VERSION /* MPICH 4.0 and Open MPI 4.1 report more than there is, and MPICH writes it. */
      EXPECT_INT(found[count - 3], -1);
      EXPECT(count_of(&status, MPI_INT) == count - 3, "way %d found %d", read, count_of(&status, MPI_INT));
#endif
      EXPECT_INT(found[count - 4], data[count - 1]);
      WAYS(get)(read, file, count + 20, found, 2, &status);
#ifdef MPI_ABI_VERSION
      EXPECT(count_of(&status, MPI_INT) == 0, "way %d found %d", read, count_of(&status, MPI_INT));
#endif
    }
    /* All together are in the order of the tiles. */
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int r = 0; r < size; ++r) {
      int two[2] = {-1, -1};
      MPI_File_read_at(file, 2 + 2 * size + 2 * r, two, 2, MPI_INT, &status);
      EXPECT_INT(two[0], 1000 * way + 100 * r + 2);
      EXPECT_INT(two[1], 1000 * way + 100 * r + 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  MPI_Type_free(&some);
  remove_path();
}

/* With the shared pointer every int is written once, and read once. */
static inline void WAYS(shared)(void) {
  MPI_File file;
  MPI_Status status;
  MPI_Request request;
  MPI_Offset place = -1;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 16, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  int mine[2] = {2 * rank, 2 * rank + 1};
  CALL(MPI_File_write_shared)(file, mine, 2, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 2);
  CALL(MPI_File_iwrite_shared)(file, mine, 1, MPI_INT, &request);
  MPI_Wait(&request, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &place);
  EXPECT_INT(place, 3 * size);
  settle(file);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  int sum = 0, all = 0, found[3] = {-1, -1, -1};
  CALL(MPI_File_read_shared)(file, found, 2, MPI_INT, &status);
  CALL(MPI_File_iread_shared)(file, found + 2, 1, MPI_INT, &request);
  MPI_Wait(&request, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 1);
  for (int i = 0; i < 3; ++i) sum += found[i];
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_INT(all, size * (2 * size - 1) + size * (size - 1));
  /* At the end nothing is left. */
  CALL(MPI_File_read_shared)(file, found, 1, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 0);
  MPI_Barrier(MPI_COMM_WORLD);

  /* Ordered: each rank's data behind those of the lower ranks, of different sizes. */
  int some[20], behind = 0;
  for (int i = 0; i < 20; ++i) some[i] = 100 * rank + i;
  for (int r = 0; r < rank; ++r) behind += r % 3 + 1;
  int total = 0;
  for (int r = 0; r < size; ++r) total += r % 3 + 1;
  for (int split = 0; split < 2; ++split) {
    MPI_File_seek_shared(file, 5, MPI_SEEK_SET);
    const COUNT count = rank % 3 + 1;
    if (split) {
      CALL(MPI_File_write_ordered_begin)(file, some + split, count, MPI_INT);
      MPI_File_write_ordered_end(file, some + split, &status);
    } else {
      CALL(MPI_File_write_ordered)(file, some + split, count, MPI_INT, &status);
    }
    EXPECT_INT(count_of(&status, MPI_INT), rank % 3 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(file, &place);
    EXPECT_INT(place, 5 + total);
    settle(file);
    int there[3] = {-1, -1, -1};
    MPI_File_read_at(file, 5 + behind, there, (int)count, MPI_INT, &status);
    EXPECT_INT(there[count - 1], some[split + count - 1]);
    MPI_File_seek_shared(file, -total, MPI_SEEK_CUR);
    there[0] = there[1] = there[2] = -1;
    if (split) {
      CALL(MPI_File_read_ordered_begin)(file, there, count, MPI_INT);
      MPI_File_read_ordered_end(file, there, &status);
    } else {
      CALL(MPI_File_read_ordered)(file, there, count, MPI_INT, &status);
    }
    EXPECT_INT(count_of(&status, MPI_INT), rank % 3 + 1);
    EXPECT_INT(there[0], some[split]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
  remove_path();
}
