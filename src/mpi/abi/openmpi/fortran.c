/* The functions of Open MPI's library for Fortran that look into its objects: into a request or a group for the number that it is in
   Fortran, into a communicator for its size and its attributes. Here are others in their place, which come before that library. Each has
   the names by which programs in Fortran call it, and that by which the module mpi_f08 does. */
#include "functions.h"

#define FORTRAN(name, parameters)                                                        \
  void ompi_##name##_f parameters;                                                       \
  extern __attribute__((alias("ompi_" #name "_f"))) __typeof__(ompi_##name##_f) pmpi_##name##_; \
  extern __attribute__((weak, alias("ompi_" #name "_f"))) __typeof__(ompi_##name##_f) mpi_##name##_; \
  void ompi_##name##_f parameters

/* Addresses that mean something in Fortran. */
extern char mpi_fortran_bottom_[], mpi_fortran_in_place_[], mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];
static void* buffer_of(void* buffer) {
  return buffer == mpi_fortran_in_place_ ? MPI_IN_PLACE : buffer == mpi_fortran_bottom_ ? MPI_BOTTOM : buffer;
}
/* A status is the same six integers in both. */
static older_status* status_of(void* status) { return status == mpi_fortran_status_ignore_ ? OLDER_STATUS_IGNORE : status; }
static older_status* statuses_of(void* statuses) { return statuses == mpi_fortran_statuses_ignore_ ? OLDER_STATUS_IGNORE : statuses; }
static void tell(int* ierr, int code) {
  if (ierr != NULL) *ierr = code;
}

/* --- Requests ---------------------------------------------------------------------------------------------------------------------------- */

int PMPI_Wait(older_handle* request, older_status* status);
int PMPI_Test(older_handle* request, int* flag, older_status* status);
int PMPI_Request_free(older_handle* request);
int PMPI_Waitall(int count, older_handle* requests, older_status* statuses);
int PMPI_Testall(int count, older_handle* requests, int* flag, older_status* statuses);
int PMPI_Waitany(int count, older_handle* requests, int* index, older_status* status);
int PMPI_Testany(int count, older_handle* requests, int* index, int* flag, older_status* status);
int PMPI_Waitsome(int incount, older_handle* requests, int* outcount, int* indices, older_status* statuses);
int PMPI_Testsome(int incount, older_handle* requests, int* outcount, int* indices, older_status* statuses);

FORTRAN(wait, (int* request, int* status, int* ierr)) {
  older_handle of = request_of_integer(*request);
  const int code = PMPI_Wait(&of, status_of(status));
  if (of == OLDER_REQUEST_NULL) *request = request_to_integer(of);
  tell(ierr, code);
}
FORTRAN(test, (int* request, int* flag, int* status, int* ierr)) {
  older_handle of = request_of_integer(*request);
  const int code = PMPI_Test(&of, flag, status_of(status));
  if (of == OLDER_REQUEST_NULL) *request = request_to_integer(of);
  tell(ierr, code);
}
FORTRAN(request_free, (int* request, int* ierr)) {
  older_handle of = request_of_integer(*request);
  const int code = PMPI_Request_free(&of);
  if (of == OLDER_REQUEST_NULL) *request = request_to_integer(of);
  tell(ierr, code);
}

/* Of several requests. An index counts from 1. */
#define OF_REQUESTS(call)                                                               \
  OLDER_ARRAY(older_handle, of, *count);                                                \
  for (long i = 0; i < of_count; ++i) of[i] = request_of_integer(requests[i]);          \
  const int code = call;                                                                \
  for (long i = 0; i < of_count; ++i)                                                   \
    if (of[i] == OLDER_REQUEST_NULL) requests[i] = request_to_integer(of[i]);           \
  OLDER_END(of);                                                                        \
  tell(ierr, code)
FORTRAN(waitall, (int* count, int* requests, int* statuses, int* ierr)) {
  OF_REQUESTS(PMPI_Waitall(*count, of, statuses_of(statuses)));
}
FORTRAN(testall, (int* count, int* requests, int* flag, int* statuses, int* ierr)) {
  OF_REQUESTS(PMPI_Testall(*count, of, flag, statuses_of(statuses)));
}
FORTRAN(waitany, (int* count, int* requests, int* index, int* status, int* ierr)) {
  OF_REQUESTS(PMPI_Waitany(*count, of, index, status_of(status)));
  if (code == MPI_SUCCESS && *index >= 0) ++*index;
}
FORTRAN(testany, (int* count, int* requests, int* index, int* flag, int* status, int* ierr)) {
  OF_REQUESTS(PMPI_Testany(*count, of, index, flag, status_of(status)));
  if (code == MPI_SUCCESS && *index >= 0) ++*index;
}
static void count_from_one(const int* count, int* indices) {
  for (int i = 0; i < *count; ++i) ++indices[i];
}
FORTRAN(waitsome, (int* count, int* requests, int* outcount, int* indices, int* statuses, int* ierr)) {
  OF_REQUESTS(PMPI_Waitsome(*count, of, outcount, indices, statuses_of(statuses)));
  if (code == MPI_SUCCESS || error_in(code) == MPI_ERR_IN_STATUS) count_from_one(outcount, indices);
}
FORTRAN(testsome, (int* count, int* requests, int* outcount, int* indices, int* statuses, int* ierr)) {
  OF_REQUESTS(PMPI_Testsome(*count, of, outcount, indices, statuses_of(statuses)));
  if (code == MPI_SUCCESS || error_in(code) == MPI_ERR_IN_STATUS) count_from_one(outcount, indices);
}

/* --- Groups -------------------------------------------------------------------------------------------------------------------------------- */

#define OF_TWO_GROUPS(name, Name)                                                      \
  int PMPI_Group_##Name(older_handle one, older_handle other, older_handle* made);     \
  FORTRAN(group_##name, (int* one, int* other, int* made, int* ierr)) {                \
    older_handle group = NULL;                                                         \
    const int code = PMPI_Group_##Name(group_of_integer(*one), group_of_integer(*other), &group); \
    if (code == MPI_SUCCESS) *made = group_to_integer(group);                          \
    tell(ierr, code);                                                                  \
  }
#define OF_RANKS(name, Ranks)                                                          \
  int PMPI_Group_##name(older_handle of, int count, Ranks, older_handle* made);        \
  FORTRAN(group_##name, (int* of, int* count, Ranks, int* made, int* ierr)) {          \
    older_handle group = NULL;                                                         \
    const int code = PMPI_Group_##name(group_of_integer(*of), *count, ranks, &group);  \
    if (code == MPI_SUCCESS) *made = group_to_integer(group);                          \
    tell(ierr, code);                                                                  \
  }
OF_TWO_GROUPS(union, union)
OF_TWO_GROUPS(intersection, intersection)
OF_TWO_GROUPS(difference, difference)
OF_RANKS(incl, int* ranks)
OF_RANKS(excl, int* ranks)
OF_RANKS(range_incl, int (*ranks)[3])
OF_RANKS(range_excl, int (*ranks)[3])

/* --- An exchange with a datatype for each peer --------------------------------------------------------------------------------------------- */

int PMPI_Alltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls, const older_handle* sendtypes, void* recvbuf,
                   const int* recvcounts, const int* rdispls, const older_handle* recvtypes, older_handle comm);
int PMPI_Ialltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls, const older_handle* sendtypes, void* recvbuf,
                    const int* recvcounts, const int* rdispls, const older_handle* recvtypes, older_handle comm, older_handle* request);
int PMPI_Alltoallw_init(const void* sendbuf, const int* sendcounts, const int* sdispls, const older_handle* sendtypes, void* recvbuf,
                        const int* recvcounts, const int* rdispls, const older_handle* recvtypes, older_handle comm, older_handle info,
                        older_handle* request);
#define OF_TYPES(name, MORE, before, call, after)                                                                                 \
  FORTRAN(name, (char* sendbuf, int* sendcounts, int* sdispls, int* sendtypes, char* recvbuf, int* recvcounts, int* rdispls,      \
                 int* recvtypes, int* comm, MORE int* ierr)) {                                                                    \
    const older_handle of = comm_of_integer(*comm);                                                                               \
    const void* const from = buffer_of(sendbuf);                                                                                  \
    const int peers = weft_peers_of(comm_in(of));                                                                                 \
    OLDER_ARRAY(older_handle, sent, from == MPI_IN_PLACE ? 0 : peers);                                                            \
    OLDER_ARRAY(older_handle, received, peers);                                                                                   \
    for (long i = 0; i < sent_count; ++i) sent[i] = type_of_integer(sendtypes[i]);                                                \
    for (long i = 0; i < received_count; ++i) received[i] = type_of_integer(recvtypes[i]);                                        \
    before;                                                                                                                       \
    const int code = call;                                                                                                        \
    after;                                                                                                                        \
    OLDER_END(sent);                                                                                                              \
    OLDER_END(received);                                                                                                          \
    tell(ierr, code);                                                                                                             \
  }
#define COMMA ,
#define ARGUMENTS from, sendcounts, sdispls, sent, buffer_of(recvbuf), recvcounts, rdispls, received, of
#define MADE if (code == MPI_SUCCESS) *request = request_to_integer(made)
OF_TYPES(alltoallw, , (void)0, PMPI_Alltoallw(ARGUMENTS), (void)0)
OF_TYPES(ialltoallw, int* request COMMA, older_handle made = NULL, PMPI_Ialltoallw(ARGUMENTS COMMA &made), MADE)
OF_TYPES(alltoallw_init, int* info COMMA int* request COMMA, older_handle made = NULL,
         PMPI_Alltoallw_init(ARGUMENTS COMMA info_of_integer(*info) COMMA &made), MADE)
/* Open MPI 4's name of the last. */
extern __attribute__((alias("ompi_alltoallw_init_f"))) __typeof__(ompi_alltoallw_init_f) ompix_alltoallw_init_f;
extern __attribute__((alias("ompi_alltoallw_init_f"))) __typeof__(ompi_alltoallw_init_f) pmpix_alltoallw_init_;
extern __attribute__((weak, alias("ompi_alltoallw_init_f"))) __typeof__(ompi_alltoallw_init_f) mpix_alltoallw_init_;

/* --- A communicator that is made later: Fortran's number of it is written when the request is complete --------------------------------------- */

int weft_marked_idup(MPI_Comm comm, MPI_Info info, int* newcomm, int null, unsigned marks, MPI_Request* request);
FORTRAN(comm_idup, (int* comm, int* newcomm, int* request, int* ierr)) {
  MPI_Request made = (MPI_Request)0;
  const int code = weft_marked_idup(comm_in(comm_of_integer(*comm)), MPI_INFO_NULL, newcomm, comm_to_integer(comm_out(MPI_COMM_NULL)), 0, &made);
  if (made != (MPI_Request)0) *request = request_to_integer(request_out(made));
  tell(ierr, error_out(code));
}

/* --- Attributes: values, not addresses of predefined ones ---------------------------------------------------------------------------------- */

#define OF_ATTRIBUTES(name, kind, Name, Value)                                                                        \
  int PMPI_##Name##_get_attr(older_handle of, int keyval, void* value, int* flag);                                    \
  FORTRAN(name, (int* of, int* keyval, Value* value, int* flag, int* ierr)) {                                         \
    void* found = NULL;                                                                                               \
    int is_set = 0;                                                                                                   \
    const int key = key_in(*keyval), code = PMPI_##Name##_get_attr(kind##_of_integer(*of), *keyval, &found, &is_set); \
    if (code == MPI_SUCCESS) *flag = is_set != 0;                                                                     \
    if (code == MPI_SUCCESS && is_set)                                                                                \
      *value = (Value)(key == MPI_WIN_SIZE      ? *(MPI_Aint*)found                                                   \
                       : is_number_of_weft(key) ? *(int*)found                                                        \
                                                : (MPI_Aint)found);                                                   \
    tell(ierr, code);                                                                                                 \
  }
/* The base of a window is its address. */
static int is_number_of_weft(int key) {
  return key != MPI_WIN_BASE && ((key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE) || (key >= MPI_WIN_BASE && key <= MPI_WIN_MODEL));
}
OF_ATTRIBUTES(comm_get_attr, comm, Comm, MPI_Aint)
OF_ATTRIBUTES(type_get_attr, type, Type, MPI_Aint)
OF_ATTRIBUTES(win_get_attr, win, Win, MPI_Aint)
OF_ATTRIBUTES(attr_get, comm, Comm, int)

/* Known by another name that stays this library's, whichever library comes first. */
extern WEFT_HIDDEN __attribute__((alias("ompi_wait_f"))) __typeof__(ompi_wait_f) openmpi_own_wait;
