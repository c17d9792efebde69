/* Files: opening, sizes, pointers, views, representations, hints, errors and their handlers. */
#include <fcntl.h>

#include "conform.h"
#include "file_paths.h"

static MPI_File open_new(void) {
  MPI_File file = MPI_FILE_NULL;
  EXPECT_INT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_SUCCESS);
  return file;
}

static void opening(void) {
  MPI_File file = MPI_FILE_NULL;
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
               MPI_ERR_AMODE);
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_SEQUENTIAL | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
               MPI_ERR_AMODE);
  file = open_new();
  int amode = 0, result = -1;
  MPI_Group group, all;
  MPI_File_get_amode(file, &amode);
  EXPECT_INT(amode, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_File_get_group(file, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_compare(group, all, &result);
  EXPECT_INT(result, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  EXPECT_INT(MPI_File_close(&file), MPI_SUCCESS);
  EXPECT(file == MPI_FILE_NULL, "the handle is not null");
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
               MPI_ERR_FILE_EXISTS);
  /* Each rank alone. */
  EXPECT_INT(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL, &file),
             MPI_SUCCESS);
  MPI_File_close(&file);
  remove_path();
  EXPECT_CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  /* It goes when it is closed. */
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
}

static inline void sizes(void) {
  MPI_File file = open_new();
  MPI_Offset found = -1;
  MPI_File_get_size(file, &found);
  EXPECT_INT(found, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(MPI_File_set_size(file, 1000), MPI_SUCCESS);
  settle(file);
  MPI_File_get_size(file, &found);
  EXPECT_INT(found, 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(MPI_File_preallocate(file, 500), MPI_SUCCESS); /* It shortens nothing. */
  settle(file);
  MPI_File_get_size(file, &found);
  EXPECT_INT(found, 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_INT(MPI_File_preallocate(file, 2000), MPI_SUCCESS);
  settle(file);
  MPI_File_get_size(file, &found);
  EXPECT_INT(found, 2000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, 10);
  settle(file);
  MPI_File_get_size(file, &found);
  EXPECT_INT(found, 10);
  MPI_File_close(&file);
  /* Appending begins at the end, with both pointers. */
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_APPEND | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_get_position(file, &found);
  EXPECT_INT(found, 10);
  MPI_File_get_position_shared(file, &found);
  EXPECT_INT(found, 10);
  MPI_File_close(&file);
  remove_path();
}

static void pointers(void) {
  MPI_File file = open_new();
  MPI_Datatype tile;
  MPI_Offset found = -1;
  MPI_Type_create_resized(MPI_INT, 0, 12, &tile); /* One int of three. */
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, 4, MPI_INT, tile, "native", MPI_INFO_NULL);
  MPI_File_get_position(file, &found);
  EXPECT_INT(found, 0);
  MPI_File_get_byte_offset(file, 0, &found);
  EXPECT_INT(found, 4);
  MPI_File_get_byte_offset(file, 5, &found);
  EXPECT_INT(found, 64);
  MPI_File_seek(file, 7, MPI_SEEK_SET);
  MPI_File_seek(file, -3, MPI_SEEK_CUR);
  MPI_File_get_position(file, &found);
  EXPECT_INT(found, 4);
  MPI_File_set_size(file, 4 + 12 * 9 + 4);
  settle(file);
#ifndef OPEN_MPI /* 4.1 counts otherwise. */
  MPI_File_seek(file, -2, MPI_SEEK_END); /* Ten ints are in the file. */
  MPI_File_get_position(file, &found);
  EXPECT_INT(found, 8);
  MPI_File_seek_shared(file, 1, MPI_SEEK_END);
  MPI_File_get_position_shared(file, &found);
  EXPECT_INT(found, 11);
#endif
  EXPECT(MPI_File_seek(file, -20, MPI_SEEK_SET) != MPI_SUCCESS, "a place before the view");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  remove_path();
}

static void views(void) {
  MPI_File file = open_new();
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype, vector;
  char representation[MPI_MAX_DATAREP_STRING] = "";
  MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
  EXPECT(displacement == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(representation, "native") == 0,
         "%lld, %s", (long long)displacement, representation);
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);
  MPI_File_set_view(file, 24, MPI_DOUBLE, vector, "native", MPI_INFO_NULL);
  MPI_Type_free(&vector); /* The view has it still. */
  MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
  MPI_Aint lower = -1, extent = -1;
  MPI_Type_get_extent(filetype, &lower, &extent);
  EXPECT(displacement == 24 && etype == MPI_DOUBLE && extent == 40, "%lld, extent %lld", (long long)displacement,
         (long long)extent);
  MPI_Type_free(&filetype);
  MPI_File_get_type_extent(file, MPI_INT, &extent);
  EXPECT_INT(extent, sizeof(int));
#if MPI_VERSION >= 4
  MPI_Count large = -1;
  MPI_File_get_type_extent_c(file, MPI_DOUBLE, &large);
  EXPECT_INT(large, sizeof(double));
#endif
  /* What a file cannot have. */
  const int backwards[2] = {3, 0}, twice[2] = {0, 1}, negative[2] = {-1, 2}, lengths[2] = {2, 1};
  const int* const wrong[] = {backwards, twice, negative};
  for (int i = 0; i < LENGTH(wrong); ++i) {
    MPI_Type_indexed(2, lengths, wrong[i], MPI_INT, &vector);
    MPI_Type_commit(&vector);
#ifdef MPI_ABI_VERSION
    EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, vector, "native", MPI_INFO_NULL), MPI_ERR_IO);
#endif
    MPI_Type_free(&vector);
  }
  /* Memory with gaps into a file with gaps. */
  double from[20], to[20];
  MPI_Status status;
  MPI_Type_vector(5, 1, 3, MPI_DOUBLE, &vector);
  MPI_Type_commit(&vector);
  for (int i = 0; i < 20; ++i) from[i] = 100 * rank + i, to[i] = -1;
  MPI_File_write_at_all(file, 5 * rank, from, 1, vector, &status);
  EXPECT_INT(count_of(&status, vector), 1);
  settle(file);
  MPI_File_read_at_all(file, 5 * rank, to, 1, vector, &status);
  EXPECT_INT(count_of(&status, MPI_DOUBLE), 5);
  for (int i = 0; i < 20; ++i) EXPECT(to[i] == (i % 3 == 0 && i < 15 ? from[i] : -1), "%d is %g", i, to[i]);
  /* Some ranks have nothing to write. */
  EXPECT_INT(MPI_File_write_at_all(file, 0, from, rank == 0 ? 1 : 0, MPI_DOUBLE, &status), MPI_SUCCESS);
  EXPECT_INT(MPI_File_write_at_all(file, 0, NULL, 0, MPI_DOUBLE, &status), MPI_SUCCESS);
  EXPECT_INT(count_of(&status, MPI_DOUBLE), 0);
  MPI_Type_free(&vector);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  remove_path();
}

/* Ranks that access much, a part each. */
static inline void large_blocks(void) {
  enum { count = 300000 };
  MPI_File file = open_new();
  MPI_Status status;
  int* data = malloc(count * sizeof *data);
  for (int i = 0; i < count; ++i) data[i] = rank * count + i;
  MPI_File_write_at_all(file, rank * (MPI_Offset)(count * sizeof *data), data, count, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), count);
  settle(file);
  const int other = (rank + 1) % size;
  memset(data, 0, count * sizeof *data);
  MPI_File_read_at_all(file, other * (MPI_Offset)(count * sizeof *data), data, count, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), count);
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += data[i] != other * count + i;
  EXPECT_INT(wrong, 0);
  /* Interleaved blocks of 8 KiB, more than one buffer of an aggregator. */
  MPI_Datatype tile, part;
  MPI_Type_contiguous(2048, MPI_INT, &part);
  MPI_Type_create_resized(part, 0, (MPI_Aint)8192 * size, &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, 8192 * rank, MPI_INT, tile, "native", MPI_INFO_NULL);
  for (int i = 0; i < count; ++i) data[i] = rank * count - i;
  MPI_File_write_all(file, data, count, MPI_INT, &status);
  settle(file);
  memset(data, 0, count * sizeof *data);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_read_all(file, data, count, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), count);
  for (int i = 0; i < count; ++i) wrong += data[i] != rank * count - i;
  EXPECT_INT(wrong, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  MPI_Type_free(&part);
  free(data);
  remove_path();
}

static inline void atomicity(void) {
  MPI_File file = open_new();
  MPI_Status status;
  int flag = -1, data[1000];
  MPI_File_get_atomicity(file, &flag);
  EXPECT_INT(flag, 0);
  MPI_File_set_atomicity(file, 1);
  MPI_File_get_atomicity(file, &flag);
  EXPECT_INT(flag, 1);
  MPI_File_set_size(file, sizeof data);
  MPI_Barrier(MPI_COMM_WORLD);
  /* All write the same place again and again, and each read finds the data of one rank alone. */
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 1000; ++i) data[i] = rank + 1;
    MPI_File_write_at(file, 0, data, 1000, MPI_INT, &status);
    MPI_File_read_at(file, 0, data, 1000, MPI_INT, &status);
    int mixed = 0;
    for (int i = 0; i < 1000; ++i) mixed += data[i] != data[0];
    EXPECT_INT(mixed, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  remove_path();
}

#ifndef OPEN_MPI /* 4.1 has native alone. */
static int conversions, extents;
static int doubled_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  (void)type;
  ++extents;
  EXPECT_INT(*(int*)state, 7);
  *extent = 2 * sizeof(int);
  return MPI_SUCCESS;
}
static int double_out(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* state) {
  (void)type, (void)state;
  ++conversions;
  for (int i = 0; i < count; ++i) {
    const long long wide = ((int*)user)[position + i];
    memcpy((char*)file + i * sizeof wide, &wide, sizeof wide);
  }
  return MPI_SUCCESS;
}
static int double_in(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* state) {
  (void)type, (void)state;
  ++conversions;
  for (int i = 0; i < count; ++i) {
    long long wide;
    memcpy(&wide, (char*)file + i * sizeof wide, sizeof wide);
    ((int*)user)[position + i] = (int)wide;
  }
  return MPI_SUCCESS;
}
#endif

static void representations(void) {
  MPI_File file = open_new();
  int out[4] = {1, 256, 3, 100 + rank}, in[4] = {0};
  MPI_Status status;
#ifndef OPEN_MPI
  EXPECT_INT(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_File_write_at_all(file, 4 * rank, out, 4, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 4);
  settle(file);
  MPI_File_read_at(file, 4 * rank, in, 4, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 4);
  EXPECT(memcmp(in, out, sizeof in) == 0, "%d %d", in[0], in[1]);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  unsigned char bytes[8];
  MPI_File_read_at(file, 0, bytes, 8, MPI_BYTE, &status);
  EXPECT(bytes[3] == 1 && bytes[0] == 0 && bytes[6] == 1 && bytes[7] == 0, "%d %d", bytes[0], bytes[3]);
  EXPECT_INT(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL), MPI_SUCCESS);
  settle(file);
  MPI_File_write_at_all(file, 4 * rank, out, 4, MPI_INT, &status);
  settle(file);
  MPI_File_read_at(file, 4 * rank, in, 4, MPI_INT, &status);
  EXPECT(memcmp(in, out, sizeof in) == 0, "%d %d", in[0], in[1]);
#endif
  EXPECT_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such thing", MPI_INFO_NULL),
               MPI_ERR_UNSUPPORTED_DATAREP);
#ifdef MPI_ABI_VERSION
  /* Longs have four bytes in external32. */
  long longs[3] = {-1, 77, rank}, found[3] = {0};
  MPI_Aint extent = 0;
  MPI_Offset offset = 0;
  MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
  MPI_File_get_type_extent(file, MPI_LONG, &extent);
  EXPECT_INT(extent, 4);
  MPI_File_get_byte_offset(file, 5, &offset);
  EXPECT_INT(offset, 20);
  MPI_File_write_at_all(file, 3 * rank, longs, 3, MPI_LONG, &status);
  EXPECT_INT(count_of(&status, MPI_LONG), 3);
  settle(file);
  MPI_File_read_at(file, 3 * rank, found, 3, MPI_LONG, &status);
  EXPECT_INT(count_of(&status, MPI_LONG), 3);
  EXPECT(memcmp(longs, found, sizeof longs) == 0, "%ld %ld", found[0], found[1]);
  /* One of the program. */
  int state = 7;
  EXPECT_INT(MPI_Register_datarep("wide", double_in, double_out, doubled_extent, &state), MPI_SUCCESS);
  EXPECT_CLASS(MPI_Register_datarep("wide", double_in, double_out, doubled_extent, &state), MPI_ERR_DUP_DATAREP);
  EXPECT_CLASS(MPI_Register_datarep("native", double_in, double_out, doubled_extent, &state), MPI_ERR_DUP_DATAREP);
  EXPECT_INT(MPI_Register_datarep_c("same", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, doubled_extent, &state),
             MPI_SUCCESS);
  MPI_File_set_size(file, 0);
  EXPECT_INT(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "wide", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_File_write_at_all(file, 4 * rank, out, 4, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), 4);
  settle(file);
  MPI_File_get_size(file, &offset);
  EXPECT_INT(offset, 32 * size);
  memset(in, 0, sizeof in);
  MPI_File_read_at(file, 4 * rank, in, 4, MPI_INT, &status);
  EXPECT(memcmp(in, out, sizeof in) == 0, "%d %d", in[0], in[1]);
  EXPECT(conversions >= 2 && extents > 0, "%d conversions, %d extents", conversions, extents);
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  (void)out, (void)in;
  MPI_File_close(&file);
  remove_path();
}

static void hints(void) {
  MPI_Info info, told;
  MPI_File file;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "no_such_hint", "whatever");
  MPI_Info_set(info, "access_style", "write_once");
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_File_get_info(file, &told);
  MPI_Info_get(told, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
  EXPECT(flag && strcmp(value, "65536") == 0, "%d, %.99s", flag, value);
  MPI_Info_free(&told);
  MPI_Info_set(info, "cb_nodes", "1");
  EXPECT_INT(MPI_File_set_info(file, info), MPI_SUCCESS);
  EXPECT_INT(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", info), MPI_SUCCESS);
#ifdef MPI_ABI_VERSION
  MPI_File_get_info(file, &told);
  MPI_Info_get(told, "cb_nodes", MPI_MAX_INFO_VAL, value, &flag);
  EXPECT(flag && strcmp(value, "1") == 0, "%d, %.99s", flag, value);
  MPI_Info_get(told, "no_such_hint", MPI_MAX_INFO_VAL, value, &flag);
  EXPECT_INT(flag, 0);
  MPI_Info_free(&told);
#endif
  /* Small buffers: many windows. */
  enum { count = 60000 };
  static int data[count], found[count];
  MPI_Datatype tile;
  MPI_Status status;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)sizeof(int) * size, &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, tile, "native", MPI_INFO_NULL);
  for (int i = 0; i < count; ++i) data[i] = rank + 64 * i;
  MPI_File_write_at_all(file, 0, data, count, MPI_INT, &status);
  settle(file);
  MPI_File_read_at_all(file, 0, found, count, MPI_INT, &status);
  EXPECT_INT(count_of(&status, MPI_INT), count);
  EXPECT(memcmp(data, found, sizeof data) == 0, "%d", found[1]);
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  MPI_Info_free(&info);
  remove_path();
}

static int handled, handled_code;
static void handle(MPI_File* file, int* code, ...) {
  (void)file;
  ++handled;
  handled_code = *code;
}

static void errors(void) {
  MPI_File file = open_new(), none = MPI_FILE_NULL;
  MPI_Status status;
  MPI_Errhandler handler, found;
  int data[4] = {0}, class = 0;
  MPI_File_get_errhandler(file, &found);
  EXPECT(found == MPI_ERRORS_RETURN, "another handler");
#ifndef OPEN_MPI /* 4.1 reads there, and calls a handler that is none. */
  EXPECT_CLASS(MPI_File_read_at(file, -1, data, 1, MPI_INT, &status), MPI_ERR_ARG);
#endif
  EXPECT_CLASS(MPI_File_read_at(file, 0, data, -1, MPI_INT, &status), MPI_ERR_COUNT);
  EXPECT(MPI_File_close(&none) != MPI_SUCCESS, "MPI_FILE_NULL was closed");
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(file, handler);
  MPI_File_get_errhandler(file, &found);
  EXPECT(found == handler, "another handler");
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  const int code = MPI_File_read_at(file, 0, data, -1, MPI_INT, &status);
  MPI_Error_class(code, &class);
  EXPECT(handled == 1 && handled_code == code && class == MPI_ERR_COUNT, "%d calls, class %d", handled, class);
  MPI_File_call_errhandler(file, MPI_ERR_IO);
  EXPECT(handled == 2 && handled_code == MPI_ERR_IO, "%d calls", handled);
  MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
#ifdef MPI_ABI_VERSION
  EXPECT_CLASS(MPI_File_set_view(file, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_DISP);
#endif
  MPI_File_close(&file);
  /* What files begin with is the handler of MPI_FILE_NULL. */
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  MPI_File_open(MPI_COMM_WORLD, "/no/such/directory/at all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  EXPECT_INT(handled, 3);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  /* What the access mode does not allow. */
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  EXPECT_CLASS(MPI_File_read(file, data, 1, MPI_INT, &status), MPI_ERR_ACCESS);
  EXPECT_INT(MPI_File_write_at(file, rank, data, 1, MPI_INT, &status), MPI_SUCCESS);
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  EXPECT_CLASS(MPI_File_write(file, data, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
#ifdef MPI_ABI_VERSION
  EXPECT_CLASS(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
  /* In a collective call all ranks are told of the error of one. */
  EXPECT_CLASS(MPI_File_read_at_all(file, rank == size - 1 ? -1 : 0, data, 1, MPI_INT, &status), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_File_read_all_end(file, data, &status), MPI_ERR_OTHER);
  MPI_File_read_all_begin(file, data, 1, MPI_INT);
  EXPECT_CLASS(MPI_File_read_at_all_begin(file, 0, data, 1, MPI_INT), MPI_ERR_OTHER);
  EXPECT_INT(MPI_File_read_all_end(file, data, &status), MPI_SUCCESS);
  MPI_Request request;
  EXPECT_CLASS(MPI_File_iwrite_at_all(file, 0, data, 1, MPI_INT, &request) != MPI_SUCCESS
                   ? MPI_ERR_OTHER
                   : MPI_Wait(&request, &status),
               MPI_ERR_READ_ONLY);
#endif
  MPI_File_close(&file);
#ifdef MPI_ABI_VERSION
  if (size > 1) {
    EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, path, rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &file),
                 MPI_ERR_NOT_SAME);
  }
  EXPECT_CLASS(MPI_File_open(MPI_COMM_WORLD, "/tmp", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
  EXPECT_CLASS(MPI_File_get_size(MPI_FILE_NULL, NULL), MPI_ERR_FILE);
  /* Ones of which only the shared pointer goes. */
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file);
  EXPECT_CLASS(MPI_File_read_at(file, 0, data, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_INT(MPI_File_read_shared(file, data, 1, MPI_BYTE, &status), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char representation[MPI_MAX_DATAREP_STRING];
  EXPECT_INT(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_File_get_view(file, &displacement, &etype, &filetype, representation);
  EXPECT_INT(displacement, size);
  MPI_File_close(&file);
#endif
  remove_path();
}

/* Bytes that the system has in memory, and some that it has to fetch: each block of this rank, with those of others
   between them. */
static void not_cached(void) {
  enum { block = 4096, blocks = 32 };
  static unsigned char data[block * blocks];
  MPI_File file = open_new();
  MPI_Datatype one, own;
  MPI_Status status;
  MPI_Type_contiguous(block, MPI_BYTE, &one);
  MPI_Type_create_resized(one, 0, (MPI_Aint)block * size, &own);
  MPI_Type_commit(&own);
  MPI_File_set_view(file, (MPI_Offset)block * rank, MPI_BYTE, own, "native", MPI_INFO_NULL);
  for (int i = 0; i < block * blocks; ++i) data[i] = (unsigned char)(i / block + rank);
  EXPECT_INT(MPI_File_write_at(file, 0, data, block * blocks, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (int round = 0; round < 2; ++round) {
    settle(file);
    if (round == 1 && rank == 0) {
      const int other = open(path, O_RDONLY);
      EXPECT_INT(posix_fadvise(other, (off_t)block * size * (blocks / 2), 0, POSIX_FADV_DONTNEED), 0);
      close(other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    memset(data, 0, sizeof data);
    EXPECT_INT(MPI_File_read_at(file, block, data, block * (blocks - 1), MPI_BYTE, &status), MPI_SUCCESS);
    EXPECT_INT(count_of(&status, MPI_BYTE), block * (blocks - 1));
    int wrong = 0;
    for (int i = 0; i < block * (blocks - 1); ++i) wrong += data[i] != (unsigned char)(i / block + 1 + rank);
    EXPECT_INT(wrong, 0);
  }
  MPI_File_close(&file);
  MPI_Type_free(&own);
  MPI_Type_free(&one);
  remove_path();
}

/* Reads in a loop what another rank is about to write: however fast they are, that rank gets its turn. */
static void looked_for(void) {
  enum { seconds_max = 20 };
  MPI_File file = open_new();
  char told = 0;
  if (rank == 0) EXPECT_INT(MPI_File_write_at(file, 0, &told, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  settle(file);
  if (rank == 0 && size > 1) {
    const double begin = MPI_Wtime();
    while (!told && MPI_Wtime() - begin < seconds_max)
      EXPECT_INT(MPI_File_read_at(file, 0, &told, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_INT(told, 1);
  } else if (rank == size - 1) {
    told = 1;
    EXPECT_INT(MPI_File_write_at(file, 0, &told, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  MPI_File_close(&file);
  remove_path();
}

/* More pieces, or longer gaps, than a rank's worker reads by itself. */
static void far_apart(void) {
  enum { pieces_max = 600 };
  static unsigned char data[pieces_max];
  for (int far = 0; far < 2; ++far) {
    const MPI_Aint gap = far ? 1 << 20 : 2;
    const int pieces = far ? 8 : pieces_max;
    MPI_File file = open_new();
    MPI_Datatype own;
    MPI_Status status;
    MPI_Type_create_resized(MPI_BYTE, 0, gap * size, &own);
    MPI_Type_commit(&own);
    MPI_File_set_view(file, gap * rank, MPI_BYTE, own, "native", MPI_INFO_NULL);
    for (int i = 0; i < pieces; ++i) data[i] = (unsigned char)(i + rank);
    EXPECT_INT(MPI_File_write_at(file, 0, data, pieces, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    memset(data, 0, sizeof data);
    EXPECT_INT(MPI_File_read_at(file, 1, data, pieces - 1, MPI_BYTE, &status), MPI_SUCCESS);
    EXPECT_INT(count_of(&status, MPI_BYTE), pieces - 1);
    int wrong = 0;
    for (int i = 0; i < pieces - 1; ++i) wrong += data[i] != (unsigned char)(i + 1 + rank);
    EXPECT_INT(wrong, 0);
    MPI_File_close(&file);
    MPI_Type_free(&own);
    remove_path();
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  make_path("files");
  opening();
#ifndef OPEN_MPI /* 4.1 does not come back. */
  sizes();
  atomicity();
  large_blocks();
  not_cached();
  looked_for();
  far_apart();
#endif
  pointers();
  views();
  representations();
  hints();
  errors();
  return end();
}
