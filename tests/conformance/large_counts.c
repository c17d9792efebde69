/* The functions with MPI_Count instead of int: same results, and counts beyond 2^31 by types. */
#include "conform.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
#if MPI_VERSION >= 4
  int out[10], in[10];
  MPI_Status status;
  MPI_Count count = -1;
  MPI_Request request;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < 10; ++i) out[i] = 10 * rank + i, in[i] = -1;
  MPI_Irecv_c(in, 10, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
  MPI_Send_c(out, 7, MPI_INT, right, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count_c(&status, MPI_INT, &count);
  EXPECT(count == 7 && in[6] == 10 * left + 6 && in[7] == -1, "%lld", (long long)count);
  MPI_Sendrecv_c(out, 10, MPI_INT, right, 1, in, 10, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
  EXPECT_INT(in[9], 10 * left + 9);
  MPI_Bcast_c(in, 10, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce_c(out, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_INT(in[3], 10 * size * (size - 1) / 2 + 3 * size);
  MPI_Count counts[64];
  MPI_Aint places[64];
  int all[64 * 3];
  for (int i = 0; i < size; ++i) counts[i] = 2, places[i] = 3 * i;
  MPI_Allgatherv_c(out, 2, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) EXPECT_INT(all[3 * i + 1], 10 * i + 1);
  /* A buffer whose size no int holds. */
  void* room = NULL;
  MPI_Count attached = 0;
  int as_int = 0;
  MPI_Buffer_attach_c(out, (MPI_Count)1 << 33);
  MPI_Buffer_detach(&room, &as_int);
  EXPECT(room == out && as_int == MPI_UNDEFINED, "detached %p, %d bytes", room, as_int);
  MPI_Buffer_attach_c(out, (MPI_Count)1 << 33);
  MPI_Buffer_detach_c(&room, &attached);
  EXPECT(attached == (MPI_Count)1 << 33, "%lld", (long long)attached);
#endif
  /* 2^33 bytes as a type, of which no element is sent; sizes do not fit an int. */
  MPI_Datatype million, huge;
  MPI_Count bytes = 0, lower = 0, extent = 0;
  int small = 0;
  MPI_Type_contiguous(1 << 20, MPI_LONG_LONG, &million);
  MPI_Type_contiguous(1 << 10, million, &huge);
  MPI_Type_commit(&huge);
  MPI_Type_size_x(huge, &bytes);
  MPI_Type_get_extent_x(huge, &lower, &extent);
  MPI_Type_size(huge, &small);
  EXPECT(bytes == (MPI_Count)1 << 33 && extent == bytes && small == MPI_UNDEFINED, "%lld bytes, as int %d", (long long)bytes,
         small);
  MPI_Status made;
  MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &made);
  MPI_Status_set_elements_x(&made, MPI_BYTE, (MPI_Count)5 << 30);
  int elements = 0;
  MPI_Count many = 0;
  MPI_Get_elements_x(&made, MPI_BYTE, &many);
  MPI_Get_elements(&made, MPI_BYTE, &elements);
  EXPECT(many == (MPI_Count)5 << 30 && elements == MPI_UNDEFINED, "%lld, as int %d", (long long)many, elements);
  MPI_Type_free(&huge);
  MPI_Type_free(&million);
  return end();
}
