/* A library that uses MPI, opened by a program that knows nothing of it (opens_plugin.c), or by Python as a module. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_PYTHON
#include <Python.h>
#endif

static int rank, size, wrong;

static void expect(int right, const char* what) {
  if (right) return;
  ++wrong;
  fprintf(stderr, "rank %d: %s\n", rank, what);
}

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((long*)inout)[i] *= ((const long*)in)[i];
}

/* By a thread that the library has made, or its program. */
static void* exchange_in_thread(void* argument) {
  const int tag = *(const int*)argument;
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, tag, &got, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  int is_main = -1;
  MPI_Is_thread_main(&is_main);
  expect(got == (rank + size - 1) % size && !is_main, "a thread");
  return NULL;
}

static void messages(void) {
  enum { words = 100000 };
  long* const data = malloc(words * sizeof *data);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < words; ++i) data[i] = rank;
    MPI_Sendrecv_replace(data, words, MPI_LONG, (rank + 1) % size, round, (rank + size - 1) % size, round, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    expect(data[words - 1] == (rank + size - 1) % size, "a long message");
    long one = rank + 1, product = 0, expected = 1;
    for (int i = 1; i <= size; ++i) expected *= i;
    MPI_Op op;
    MPI_Request request;
    MPI_Op_create(multiply, 1, &op);
    MPI_Iallreduce(&one, &product, 1, MPI_LONG, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(product == expected, "an operation of one's own");
    MPI_Op_free(&op);
  }
  free(data);
}

/* `way`: how it ends. */
__attribute__((visibility("default"))) int use_mpi(const char* way) {
  int flag = -1;
  MPI_Initialized(&flag);
  expect(flag == 0, "MPI_Initialized before");
  int provided = -1;
  if (strcmp(way, "early") == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const number = getenv("WEFT_RANK");
  expect(number == NULL ? size == 1 : atoi(number) == rank, "WEFT_RANK");
  messages();
  pthread_t thread;
  int tag = 30;
  expect(pthread_create(&thread, NULL, exchange_in_thread, &tag) == 0 && pthread_join(thread, NULL) == 0, "pthread_create");
  if (strcmp(way, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(way, "wrong") == 0 && rank == size - 1) MPI_Send(&tag, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  if (strcmp(way, "unfinished") == 0) return 0;
  int right = wrong == 0, all = 0;
  MPI_Reduce(&right, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) fprintf(stderr, "right in %d of %d\n", all, size);
  MPI_Finalize();
  MPI_Finalized(&flag);
  if (flag != 1) fprintf(stderr, "rank %d: MPI_Finalized afterwards\n", rank);
  if (strcmp(way, "late") == 0) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return strcmp(way, "status") == 0 ? 5 : 0;
}

#ifdef WITH_PYTHON
static PyObject* use(PyObject* self, PyObject* words) {
  (void)self;
  const char* way = "";
  if (!PyArg_ParseTuple(words, "|s", &way)) return NULL;
  return PyLong_FromLong(use_mpi(way));
}
static PyMethodDef functions[] = {{"use", use, METH_VARARGS, "Uses MPI."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "mpi_module", NULL, -1, functions, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_mpi_module(void) { return PyModule_Create(&module); }
#endif
