/* Handles as integers, for Fortran and for the ABI; statuses and their fields. */
#include "conform.h"

/* What comes back is the handle; what is none stays none. */
#define EXPECT_BACK(Kind, Handle, handle)                                              \
  do {                                                                                 \
    const Handle given_ = (handle);                                                    \
    EXPECT(MPI_##Kind##_f2c(MPI_##Kind##_c2f(given_)) == given_, "%s of Fortran", #handle); \
    EXPECT_BACK_BY_INT(Kind, handle);                                                  \
  } while (0)
#ifdef MPI_ABI_VERSION
#define EXPECT_BACK_BY_INT(Kind, handle) \
  EXPECT(MPI_##Kind##_fromint(MPI_##Kind##_toint(given_)) == given_, "%s as int", #handle)
#else
#define EXPECT_BACK_BY_INT(Kind, handle)
#endif

static void sum_them(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void ignore(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }

static void handles(void) {
  MPI_Comm comm;
  MPI_Group group;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Info info;
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Message message;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Op_create(sum_them, 1, &op);
  MPI_Info_create(&info);
  MPI_Comm_create_errhandler(ignore, &handler);
  int got = -1, value = 7;
  MPI_Irecv(&got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  EXPECT_BACK(Comm, MPI_Comm, comm);
  EXPECT_BACK(Comm, MPI_Comm, MPI_COMM_WORLD);
  EXPECT_BACK(Comm, MPI_Comm, MPI_COMM_NULL);
  EXPECT_BACK(Group, MPI_Group, group);
  EXPECT_BACK(Group, MPI_Group, MPI_GROUP_EMPTY);
  EXPECT_BACK(Type, MPI_Datatype, type);
  EXPECT_BACK(Type, MPI_Datatype, MPI_DOUBLE);
  EXPECT_BACK(Op, MPI_Op, op);
  EXPECT_BACK(Op, MPI_Op, MPI_MAXLOC);
  EXPECT_BACK(Info, MPI_Info, info);
  EXPECT_BACK(Info, MPI_Info, MPI_INFO_NULL);
  EXPECT_BACK(Errhandler, MPI_Errhandler, handler);
  EXPECT_BACK(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
  EXPECT_BACK(Request, MPI_Request, request);
  EXPECT_BACK(Request, MPI_Request, MPI_REQUEST_NULL);
  EXPECT_BACK(Message, MPI_Message, MPI_MESSAGE_NULL);
  EXPECT_BACK(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
  EXPECT_BACK(File, MPI_File, MPI_FILE_NULL);
  EXPECT_BACK(Win, MPI_Win, MPI_WIN_NULL);
#if MPI_VERSION >= 4
  EXPECT_BACK(Session, MPI_Session, MPI_SESSION_NULL);
#endif
  /* What went through an integer works. */
  MPI_Send(&value, 1, MPI_INT, rank, 1, MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)));
  MPI_Request same = MPI_Request_f2c(MPI_Request_c2f(request));
  MPI_Wait(&same, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 7);
  MPI_Send(&value, 1, MPI_INT, rank, 2, comm);
  MPI_Mprobe(rank, 2, comm, &message, MPI_STATUS_IGNORE);
  EXPECT_BACK(Message, MPI_Message, message);
  got = -1;
  message = MPI_Message_f2c(MPI_Message_c2f(message));
  MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  EXPECT_INT(got, 7);
  /* Different handles have different integers. */
  MPI_Comm other;
  MPI_Comm_dup(comm, &other);
  EXPECT(MPI_Comm_c2f(other) != MPI_Comm_c2f(comm), "both are %d", (int)MPI_Comm_c2f(comm));
  MPI_Comm_free(&other);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Type_free(&type);
  MPI_Op_free(&op);
  MPI_Info_free(&info);
  MPI_Errhandler_free(&handler);
}

static void statuses(void) {
  MPI_Status status, copy;
  MPI_Fint of_fortran[64];
  int values[3] = {1, 2, 3}, got[5], count = 0;
  MPI_Sendrecv(values, 3, MPI_INT, rank, 9, got, 5, MPI_INT, rank, 9, MPI_COMM_WORLD, &status);
  memset(&copy, 0, sizeof copy);
  MPI_Status_c2f(&status, of_fortran);
  MPI_Status_f2c(of_fortran, &copy);
  MPI_Get_count(&copy, MPI_INT, &count);
  EXPECT(copy.MPI_SOURCE == rank && copy.MPI_TAG == 9 && count == 3, "%d, %d, %d", copy.MPI_SOURCE, copy.MPI_TAG, count);
#ifdef MPI_ABI_VERSION
  MPI_F08_status of_f08;
  memset(&copy, 0, sizeof copy);
  memset(of_fortran, 0, sizeof of_fortran);
  MPI_Status_c2f08(&status, &of_f08);
  MPI_Status_f082c(&of_f08, &copy);
  EXPECT(of_f08.MPI_TAG == 9 && copy.MPI_TAG == 9 && copy.MPI_SOURCE == rank, "%d, %d, %d", of_f08.MPI_TAG, copy.MPI_TAG, copy.MPI_SOURCE);
  MPI_Status_f082f(&of_f08, of_fortran);
  memset(&of_f08, 0, sizeof of_f08);
  MPI_Status_f2f08(of_fortran, &of_f08);
  EXPECT(of_fortran[MPI_F_TAG] == 9 && of_f08.MPI_TAG == 9 && MPI_F08_STATUS_IGNORE != &of_f08, "%d, %d", of_fortran[MPI_F_TAG], of_f08.MPI_TAG);
  int field = -1;
  MPI_Status_get_source(&status, &field);
  EXPECT_INT(field, rank);
  MPI_Status_get_tag(&status, &field);
  EXPECT_INT(field, 9);
  MPI_Status_set_source(&status, 4);
  MPI_Status_set_tag(&status, 5);
  MPI_Status_set_error(&status, MPI_ERR_OTHER);
  EXPECT(status.MPI_SOURCE == 4 && status.MPI_TAG == 5 && status.MPI_ERROR == MPI_ERR_OTHER, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
  MPI_Status_get_error(&status, &field);
  EXPECT_INT(field, MPI_ERR_OTHER);
  MPI_Count many = -1;
  MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)1 << 33);
  MPI_Get_elements_c(&status, MPI_INT, &many);
  EXPECT(many == (MPI_Count)1 << 33, "%lld", (long long)many);
  MPI_Fint *const one = MPI_F_STATUS_IGNORE, *const all = MPI_F_STATUSES_IGNORE;
  EXPECT(one != all && one != NULL, "Fortran's ignored statuses are %p and %p", (void*)one, (void*)all);
#endif
}

#ifdef MPI_ABI_VERSION
static void expect_key(MPI_Info info, const char* key, const char* wanted) {
  char value[64] = "";
  int room = sizeof value, flag = 0;
  MPI_Info_get_string(info, key, &room, value, &flag);
  EXPECT(flag && strcmp(value, wanted) == 0, "%s: %s, not %s", key, value, wanted);
}

static void abi(void) {
  MPI_Info info;
  int major = -1, minor = -1, is_set = -1;
  MPI_Abi_get_version(&major, &minor);
  EXPECT(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION, "%d.%d", major, minor);
  MPI_Abi_get_info(&info);
  expect_key(info, "mpi_aint_size", sizeof(MPI_Aint) == 8 ? "8" : "4");
  expect_key(info, "mpi_count_size", "8");
  expect_key(info, "mpi_offset_size", "8");
  MPI_Info_free(&info);
  MPI_Abi_get_fortran_info(&info);
  expect_key(info, "mpi_integer_size", "4");
  expect_key(info, "mpi_double_precision_size", "8");
  expect_key(info, "mpi_complex16_supported", "true");
  int yes = -1, no = -1;
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);
  EXPECT(is_set == 1 && yes == 1 && no == 0, "%d %d %d", is_set, yes, no);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
  EXPECT_CLASS(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Info_free(&info);
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  handles();
  statuses();
#ifdef MPI_ABI_VERSION
  abi();
#endif
  return end();
}
