/* Included twice by message_ways.c: for counts that are ints, and for large ones. COUNT: the type of counts;
   OF(name): the function of that size; FN(name): the name of a function here. */

/* Sends `length` ints in one of the four modes and three ways; a persistent send twice, to tag and tag + 1. */
#define GIVE(Mode, IMode)                                                                          \
  switch (way) {                                                                                   \
    case blocking: OF(MPI_##Mode)(values, length, MPI_INT, to, tag, MPI_COMM_WORLD); break;             \
    case started:                                                                                  \
      OF(MPI_##IMode)(values, length, MPI_INT, to, tag, MPI_COMM_WORLD, &request);                      \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                                       \
      EXPECT(request == MPI_REQUEST_NULL, "%s: the request lives", #IMode);                        \
      break;                                                                                       \
    default:                                                                                       \
      OF(MPI_##Mode##_init)(values, length, MPI_INT, to, tag, MPI_COMM_WORLD, &request);                \
      for (int round = 0; round < 2; ++round) {                                                    \
        MPI_Start(&request);                                                                       \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        EXPECT(request != MPI_REQUEST_NULL, "%s: the persistent request has gone", #Mode);         \
      }                                                                                            \
      MPI_Request_free(&request);                                                                  \
  }

static void FN(give)(int mode, int way, const int* values, int to, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (mode) {
    case standard: GIVE(Send, Isend) break;
    case buffered: GIVE(Bsend, Ibsend) break;
    case synchronous: GIVE(Ssend, Issend) break;
    default: GIVE(Rsend, Irsend)
  }
}

static void FN(expect)(const MPI_Status* status, const int* got, int from, int tag, const char* how) {
  COUNT count = -1;
  OF(MPI_Get_count)(status, MPI_INT, &count);
  if (from == MPI_PROC_NULL) {
    EXPECT(count == 0 && status->MPI_SOURCE == MPI_PROC_NULL && got[0] == -1, "%s: %d from nobody", how, (int)count);
    return;
  }
  EXPECT(count == length && status->MPI_SOURCE == from && status->MPI_TAG == tag, "%s: %d from %d with tag %d", how, (int)count,
         status->MPI_SOURCE, status->MPI_TAG);
  for (int i = 0; i < 7; ++i)
    EXPECT(got[i] == (i < length ? 100 * from + 10 * tag + i : -1), "%s: element %d is %d", how, i, got[i]);
}

static void FN(take)(int taking, int from, int tag) {
  int got[7] = {-1, -1, -1, -1, -1, -1, -1};
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  switch (taking) {
    case by_recv: OF(MPI_Recv)(got, 7, MPI_INT, from, tag, MPI_COMM_WORLD, &status); break;
    case by_mrecv:
      MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status);
      OF(MPI_Mrecv)(got, 7, MPI_INT, &message, &status);
      break;
    default:
      MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status);
      OF(MPI_Imrecv)(got, 7, MPI_INT, &message, &request);
      MPI_Wait(&request, &status);
  }
  FN(expect)(&status, got, from, tag, "taken at once");
}

/* Received into what is posted before the sender begins. */
static void FN(posted)(int mode, int way, int to, int from, int tag, const int* values) {
  int got[2][7];
  MPI_Request requests[2];
  MPI_Status status;
  const int persistent_receive = (mode + way) % 2, messages = way == persistent ? 2 : 1;
  memset(got, 0xff, sizeof got);
  for (int i = 0; i < messages; ++i)
    if (persistent_receive) {
      OF(MPI_Recv_init)(got[i], 7, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
      MPI_Start(&requests[i]);
    } else {
      OF(MPI_Irecv)(got[i], 7, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  FN(give)(mode, way, values, to, tag);
  for (int i = 0; i < messages; ++i) {
    MPI_Wait(&requests[i], &status);
    FN(expect)(&status, got[i], from, tag, "posted");
    if (persistent_receive) MPI_Request_free(&requests[i]);
  }
}

static void FN(messages)(int ints) {
  static char memory[1 << 16];
  void* given_back = NULL;
  COUNT room = 0;
  const int to = size == 1 ? MPI_PROC_NULL : (rank + 1) % size, from = size == 1 ? MPI_PROC_NULL : (rank + size - 1) % size;
  OF(MPI_Buffer_attach)(memory, sizeof memory);
  int tag = 0;
  length = ints;
  for (int mode = 0; mode < modes; ++mode)
    for (int way = 0; way < ways; ++way) {
      int values[5];
      for (int i = 0; i < 5; ++i) values[i] = 100 * rank + 10 * tag + i;
      FN(posted)(mode, way, to, from, tag, values);
      if (mode != ready)
        for (int taking = 0; taking < takings; ++taking) { /* Even ranks give first. */
          const int messages = way == persistent ? 2 : 1;
          if (rank % 2 == 0) FN(give)(mode, way, values, to, tag);
          for (int i = 0; i < messages; ++i) FN(take)(taking, from, tag);
          if (rank % 2 == 1) FN(give)(mode, way, values, to, tag);
        }
      ++tag;
    }
  OF(MPI_Buffer_detach)(&given_back, &room);
  EXPECT(given_back == memory && room == sizeof memory, "%p, %lld", given_back, (long long)room);

  int values[5], got[7];
  MPI_Status status;
  memset(got, 0xff, sizeof got);
  for (int i = 0; i < 5; ++i) values[i] = 100 * rank + i;
  OF(MPI_Sendrecv)(values, length, MPI_INT, to, 0, got, 7, MPI_INT, from, 0, MPI_COMM_WORLD, &status);
  FN(expect)(&status, got, from, 0, "exchanged");
  memset(got, 0xff, sizeof got);
  memcpy(got, values, (size_t)length * sizeof *values);
  OF(MPI_Sendrecv_replace)(got, length, MPI_INT, to, 0, from, 0, MPI_COMM_WORLD, &status);
  if (size > 1) FN(expect)(&status, got, from, 0, "replaced");
}

#undef GIVE
#undef COUNT
#undef OF
#undef FN
