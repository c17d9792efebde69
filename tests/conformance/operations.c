/* Operations: the predefined ones on the types they take, pairs, the program's own, those that do not
   commute, and reducing without communication. */
#include "conform.h"
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#define CHECK_TYPE(c_type, mpi_type)                                                                   \
  do {                                                                                                 \
    c_type in_[3], out_[3];                                                                            \
    const c_type sum_ = (c_type)(size * (size + 1) / 2);                                               \
    for (int i_ = 0; i_ < 3; ++i_) in_[i_] = (c_type)(rank + 1);                                       \
    MPI_Allreduce(in_, out_, 3, mpi_type, MPI_SUM, MPI_COMM_WORLD);                                    \
    EXPECT(out_[0] == sum_ && out_[2] == sum_, "sum of %s: %g", #mpi_type, (double)out_[2]);           \
    MPI_Allreduce(in_, out_, 3, mpi_type, MPI_MAX, MPI_COMM_WORLD);                                    \
    EXPECT(out_[1] == (c_type)size, "max of %s: %g", #mpi_type, (double)out_[1]);                      \
    MPI_Allreduce(in_, out_, 3, mpi_type, MPI_MIN, MPI_COMM_WORLD);                                    \
    EXPECT(out_[1] == (c_type)1, "min of %s: %g", #mpi_type, (double)out_[1]);                         \
    for (int i_ = 0; i_ < 3; ++i_) in_[i_] = rank == 0 ? 3 : rank == size - 1 ? 2 : 1;                 \
    MPI_Allreduce(in_, out_, 3, mpi_type, MPI_PROD, MPI_COMM_WORLD);                                   \
    EXPECT(out_[2] == (size == 1 ? 3 : 6), "product of %s: %g", #mpi_type, (double)out_[2]);           \
  } while (0)

#define CHECK_BITS(c_type, mpi_type)                                                                   \
  do {                                                                                                 \
    c_type in_ = (c_type)(1u << rank % 5), out_ = 0, all_ = 0, none_ = 0;                              \
    for (int r_ = 0; r_ < size; ++r_) all_ |= (c_type)(1u << r_ % 5), none_ ^= (c_type)(1u << r_ % 5); \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_BOR, MPI_COMM_WORLD);                                  \
    EXPECT(out_ == all_, "or of %s: %x", #mpi_type, (unsigned)out_);                                   \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_BXOR, MPI_COMM_WORLD);                                 \
    EXPECT(out_ == none_, "xor of %s: %x", #mpi_type, (unsigned)out_);                                 \
    in_ = (c_type)~in_;                                                                                \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_BAND, MPI_COMM_WORLD);                                 \
    EXPECT(out_ == (c_type)~all_, "and of %s: %x", #mpi_type, (unsigned)out_);                         \
  } while (0)

#define CHECK_LOGIC(c_type, mpi_type)                                           \
  do {                                                                          \
    c_type in_ = (c_type)(rank == 0 ? 0 : 1), out_ = 0;                         \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_LAND, MPI_COMM_WORLD);          \
    EXPECT(!out_, "logical and of %s", #mpi_type);                              \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_LOR, MPI_COMM_WORLD);           \
    EXPECT(!out_ == (size == 1), "logical or of %s", #mpi_type);                \
    MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_LXOR, MPI_COMM_WORLD);          \
    EXPECT(!out_ == (size % 2 == 1), "logical xor of %s", #mpi_type);           \
  } while (0)

static void predefined(void) {
  CHECK_TYPE(int, MPI_INT);
  CHECK_TYPE(long, MPI_LONG);
  CHECK_TYPE(short, MPI_SHORT);
  CHECK_TYPE(unsigned short, MPI_UNSIGNED_SHORT);
  CHECK_TYPE(unsigned, MPI_UNSIGNED);
  CHECK_TYPE(unsigned long, MPI_UNSIGNED_LONG);
  CHECK_TYPE(long long, MPI_LONG_LONG);
  CHECK_TYPE(signed char, MPI_SIGNED_CHAR);
  CHECK_TYPE(char, MPI_CHAR); /* Not in the standard's list, but taken by all. */
  CHECK_BITS(char, MPI_CHAR);
  CHECK_LOGIC(char, MPI_CHAR);
  CHECK_TYPE(unsigned char, MPI_UNSIGNED_CHAR);
  CHECK_TYPE(int8_t, MPI_INT8_T);
  CHECK_TYPE(uint16_t, MPI_UINT16_T);
  CHECK_TYPE(int64_t, MPI_INT64_T);
  CHECK_TYPE(uint64_t, MPI_UINT64_T);
  CHECK_TYPE(float, MPI_FLOAT);
  CHECK_TYPE(double, MPI_DOUBLE);
  CHECK_TYPE(long double, MPI_LONG_DOUBLE);
  CHECK_TYPE(MPI_Aint, MPI_AINT);
  CHECK_TYPE(MPI_Count, MPI_COUNT);
  CHECK_BITS(int, MPI_INT);
  CHECK_BITS(unsigned char, MPI_BYTE);
  CHECK_BITS(uint64_t, MPI_UINT64_T);
  CHECK_BITS(short, MPI_SHORT);
  CHECK_LOGIC(int, MPI_INT);
  CHECK_LOGIC(bool, MPI_C_BOOL);
  /* Not the standard's, but all take them. */
  CHECK_TYPE(signed char, MPI_CHARACTER);
  CHECK_LOGIC(MPI_Aint, MPI_AINT);
  CHECK_LOGIC(MPI_Offset, MPI_OFFSET);
  CHECK_LOGIC(MPI_Count, MPI_COUNT);
  CHECK_LOGIC(int64_t, MPI_INTEGER8);
  double complex z = rank + 1 + I, sum = 0;
  MPI_Allreduce(&z, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(creal(sum) == size * (size + 1) / 2 && cimag(sum) == size, "%g + %g i", creal(sum), cimag(sum));
  float complex w = I, product = 0;
  MPI_Allreduce(&w, &product, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
  const float complex turned[] = {1, I, -1, -I};
  EXPECT(product == turned[size % 4], "%g + %g i", crealf(product), cimagf(product));
}

static void pairs(void) {
  struct { double value; int place; } in[2], out[2];
  struct { int value, place; } small_in = {rank / 2 * 2, rank}, small_out;
  in[0].value = rank == size / 2 ? 5.5 : 1.5, in[0].place = 10 + rank;
  in[1].value = -rank, in[1].place = 20 + rank;
  MPI_Allreduce(in, out, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  EXPECT(out[0].value == 5.5 && out[0].place == 10 + size / 2 && out[1].value == 0 && out[1].place == 20, "%g %d, %g %d",
         out[0].value, out[0].place, out[1].value, out[1].place);
  MPI_Allreduce(in, out, 2, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  EXPECT(out[1].value == 1 - size && out[1].place == 19 + size, "%g %d", out[1].value, out[1].place);
  MPI_Allreduce(&small_in, &small_out, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD); /* Of equals the least place. */
  EXPECT(small_out.value == (size - 1) / 2 * 2 && small_out.place == (size - 1) / 2 * 2, "%d %d", small_out.value,
         small_out.place);
  struct { short value; int place; } s_in = {(short)rank, rank}, s_out;
  MPI_Allreduce(&s_in, &s_out, 1, MPI_SHORT_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  EXPECT(s_out.value == size - 1 && s_out.place == size - 1, "%d %d", s_out.value, s_out.place);
}

/* 2 x 2 matrices, modulo a prime: associative, and the order matters. */
typedef struct { long a, b, c, d; } matrix;

static void multiply(void* left_, void* right_, int* count, MPI_Datatype* type) {
  const long prime = 10007;
  const matrix* left = left_;
  matrix* right = right_;
  (void)type;
  for (int i = 0; i < *count; ++i) {
    const matrix l = left[i], r = right[i];
    right[i] = (matrix){(l.a * r.a + l.b * r.c) % prime, (l.a * r.b + l.b * r.d) % prime, (l.c * r.a + l.d * r.c) % prime,
                        (l.c * r.b + l.d * r.d) % prime};
  }
}

static matrix of_rank(int r, int i) { return (matrix){r + 1, 2, i + 1, 3 * r + 1}; }

static matrix product(int first, int end, int i) {
  matrix all = of_rank(first, i);
  for (int r = first + 1; r < end; ++r) {
    matrix next = of_rank(r, i);
    int one = 1;
    multiply(&all, &next, &one, NULL);
    all = next;
  }
  return all;
}

static int same(matrix x, matrix y) { return x.a == y.a && x.b == y.b && x.c == y.c && x.d == y.d; }

static void not_commutative(void) {
  enum { most = 700 };
  static matrix in[most * 17], out[most * 17];
  MPI_Datatype type;
  MPI_Op op;
  int commutes = -1;
  MPI_Type_contiguous(4, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(multiply, 0, &op);
  MPI_Op_commutative(op, &commutes);
  EXPECT_INT(commutes, 0);
  MPI_Op_commutative(MPI_SUM, &commutes);
  EXPECT_INT(commutes, 1);
  for (int n = 1; n <= most; n = n * 25 + 2) {
    for (int root = 0; root < size; root += size / 2 + 1) {
      for (int i = 0; i < n; ++i) in[i] = of_rank(rank, i);
      MPI_Reduce(in, out, n, type, op, root, MPI_COMM_WORLD);
      if (rank == root)
        for (int i = 0; i < n; ++i) EXPECT(same(out[i], product(0, size, i)), "reduce %d of %d, root %d", i, n, root);
    }
    MPI_Allreduce(in, out, n, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) EXPECT(same(out[i], product(0, size, i)), "allreduce %d of %d", i, n);
    MPI_Scan(in, out, n, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) EXPECT(same(out[i], product(0, rank + 1, i)), "scan %d of %d", i, n);
    MPI_Exscan(in, out, n, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n && rank > 0; ++i) EXPECT(same(out[i], product(0, rank, i)), "exscan %d of %d", i, n);
    for (int i = 0; i < n; ++i) in[i] = of_rank(rank, i);
    MPI_Allreduce(MPI_IN_PLACE, in, n, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) EXPECT(same(in[i], product(0, size, i)), "in place %d of %d", i, n);
    MPI_Request request;
    for (int i = 0; i < n; ++i) in[i] = of_rank(rank, i);
    MPI_Iallreduce(in, out, n, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i) EXPECT(same(out[i], product(0, size, i)), "iallreduce %d of %d", i, n);
  }
  for (int i = 0; i < 5 * size; ++i) in[i] = of_rank(rank, i);
  MPI_Reduce_scatter_block(in, out, 5, type, op, MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) EXPECT(same(out[i], product(0, size, 5 * rank + i)), "reduce_scatter_block %d", i);
  MPI_Op_free(&op);
  EXPECT(op == MPI_OP_NULL, "the freed operation has a value");
  MPI_Type_free(&type);
}

/* The operation sees the datatype of the call, holes included. */
static MPI_Datatype expected_type;
static int odd_type_count;
static void add_first_of_two(void* in_, void* inout_, int* count, MPI_Datatype* type) {
  int *in = in_, *inout = inout_;
  if (*type != expected_type) ++odd_type_count;
  for (int i = 0; i < *count; ++i) inout[2 * i] += in[2 * i];
}

static void derived(void) {
  int in[20], out[20];
  MPI_Op op;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &expected_type);
  MPI_Type_commit(&expected_type);
  MPI_Op_create(add_first_of_two, 1, &op);
  for (int i = 0; i < 20; ++i) in[i] = i + rank, out[i] = -1;
  MPI_Allreduce(in, out, 10, expected_type, op, MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i)
    EXPECT(out[2 * i] == size * 2 * i + size * (size - 1) / 2 && out[2 * i + 1] == -1, "%d: %d %d", i, out[2 * i],
           out[2 * i + 1]);
  EXPECT_INT(odd_type_count, 0);
  MPI_Op_free(&op);
  MPI_Type_free(&expected_type);
}

static void local(void) {
  int in[3] = {1, 2, 3}, inout[3] = {10, 20, 30};
#ifdef MPI_ABI_VERSION /* Not all find it. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Reduce_local(inout, inout, 3, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  EXPECT_CLASS(MPI_Reduce_local(MPI_IN_PLACE, inout, 3, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#endif
  MPI_Reduce_local(in, inout, 3, MPI_INT, MPI_SUM);
  EXPECT(inout[0] == 11 && inout[2] == 33, "%d %d", inout[0], inout[2]);
  matrix left = of_rank(0, 1), right = of_rank(1, 1);
  MPI_Op op;
  MPI_Datatype type;
  MPI_Type_contiguous(4, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(multiply, 0, &op);
  MPI_Reduce_local(&left, &right, 1, type, op);
  EXPECT(same(right, product(0, 2, 1)), "%ld", right.a);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

#if MPI_VERSION >= 4
static void add_large(void* in_, void* inout_, MPI_Count* count, MPI_Datatype* type) {
  (void)type;
  for (MPI_Count i = 0; i < *count; ++i) ((int*)inout_)[i] += ((int*)in_)[i];
}

static void large(void) {
  int in[3] = {1, 2, 3}, inout[3] = {10, 20, 30}, out[3] = {0};
  MPI_Op op;
  MPI_Reduce_local_c(in, inout, 3, MPI_INT, MPI_SUM);
  EXPECT(inout[0] == 11 && inout[2] == 33, "%d %d", inout[0], inout[2]);
  MPI_Op_create_c(add_large, 1, &op);
  MPI_Reduce_local_c(in, inout, 3, MPI_INT, op);
  EXPECT(inout[0] == 12 && inout[2] == 36, "%d %d", inout[0], inout[2]);
  for (int i = 0; i < 3; ++i) in[i] = rank + i;
  MPI_Allreduce_c(in, out, 3, MPI_INT, op, MPI_COMM_WORLD);
  EXPECT_INT(out[2], size * (size - 1) / 2 + 2 * size);
  MPI_Allreduce(in, out, 2, MPI_INT, op, MPI_COMM_WORLD); /* Also by a call of small counts. */
  EXPECT_INT(out[1], size * (size - 1) / 2 + size);
  MPI_Op_free(&op);
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  predefined();
  pairs();
  not_commutative();
  derived();
  local();
#if MPI_VERSION >= 4
  large();
#endif
  return end();
}
