/* What Open MPI's interface has alone. */
#include "functions.h"

/* --- Texts for which its programs have less room ------------------------------------------------------------------------------------ */

static int text_out(int error, const char* text, int length, char* to, int room, int* resultlen) {
  if (error != MPI_SUCCESS) return error_out(error);
  if (length >= room) length = room - 1;
  memcpy(to, text, (size_t)length);
  to[length] = '\0';
  *resultlen = length;
  return MPI_SUCCESS;
}
#define TEXT(name, room_of_standard, room, PARAMETER, ARGUMENT)                                                       \
  OLDER_FUNCTION(int, name, (PARAMETER char* text, int* resultlen)) {                                                 \
    char made[room_of_standard] = "";                                                                                 \
    int length = 0;                                                                                                   \
    const int error = weft_abi_##name(ARGUMENT text == NULL ? NULL : made, resultlen == NULL ? NULL : &length);       \
    return text_out(error, made, length, text, room, resultlen);                                                      \
  }
#define COMMA ,
#define NOTHING
TEXT(MPI_Error_string, MPI_MAX_ERROR_STRING, openmpi_error_string, int errorcode COMMA, error_in(errorcode) COMMA)
TEXT(MPI_Get_library_version, MPI_MAX_LIBRARY_VERSION_STRING, openmpi_library_version, NOTHING, NOTHING)
TEXT(MPI_Comm_get_name, MPI_MAX_OBJECT_NAME, openmpi_object_name, older_handle comm COMMA, comm_in(comm) COMMA)
TEXT(MPI_Type_get_name, MPI_MAX_OBJECT_NAME, openmpi_object_name, older_handle datatype COMMA, type_in(datatype) COMMA)
TEXT(MPI_Win_get_name, MPI_MAX_OBJECT_NAME, openmpi_object_name, older_handle win COMMA, win_in(win) COMMA)

/* A longer key is cut: the program has no room for it, and does not find its value. */
OLDER_FUNCTION(int, MPI_Info_get_nthkey, (older_handle info, int n, char* key)) {
  char made[MPI_MAX_INFO_KEY] = "";
  int length = 0;
  const int error = weft_abi_MPI_Info_get_nthkey(info_in(info), n, key == NULL ? NULL : made);
  return text_out(error, made, (int)strlen(made), key, openmpi_info_key, &length);
}

/* --- Communicators that are made later -------------------------------------------------------------------------------------------------- */

/* The new communicator is written after the return, when the request is complete: weft's address is what the program has. */
static int idup(int error, older_handle* newcomm, MPI_Request made, older_handle* request) {
  if (newcomm != NULL && *newcomm == (older_handle)MPI_COMM_NULL) *newcomm = comm_out(MPI_COMM_NULL);
  if (made != (MPI_Request)0) *request = request_out(made);
  return error_out(error);
}
OLDER_FUNCTION(int, MPI_Comm_idup, (older_handle comm, older_handle* newcomm, older_handle* request)) {
  MPI_Request made = (MPI_Request)0;
  const int error = weft_abi_MPI_Comm_idup(comm_in(comm), (MPI_Comm*)newcomm, request == NULL ? NULL : &made);
  return idup(error, newcomm, made, request);
}
OLDER_FUNCTION(int, MPI_Comm_idup_with_info, (older_handle comm, older_handle info, older_handle* newcomm, older_handle* request)) {
  MPI_Request made = (MPI_Request)0;
  const int error = weft_abi_MPI_Comm_idup_with_info(comm_in(comm), info_in(info), (MPI_Comm*)newcomm, request == NULL ? NULL : &made);
  return idup(error, newcomm, made, request);
}

OLDER_FUNCTION(int, MPIX_Comm_ishrink, (older_handle comm, older_handle* newcomm, older_handle* request)) {
  MPI_Request made = (MPI_Request)0;
  const int error = weft_abi_MPIX_Comm_ishrink(comm_in(comm), (MPI_Comm*)newcomm, request == NULL ? NULL : &made);
  return idup(error, newcomm, made, request);
}

/* --- Datatypes by their size ------------------------------------------------------------------------------------------------------------- */

/* Not all that weft has are Open MPI's, too. */
OLDER_FUNCTION(int, MPI_Type_match_size, (int typeclass, int size, older_handle* datatype)) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int error = weft_abi_MPI_Type_match_size(type_class_in(typeclass), size, datatype == NULL ? NULL : &made);
  if (error != MPI_SUCCESS) return error_out(error);
  *datatype = type_out(made);
  if (*datatype != (older_handle)ompi_mpi_datatype_null) return MPI_SUCCESS;
  weft_abi_MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_ARG);
  return error_out(MPI_ERR_ARG);
}

/* --- Functions for attributes: true functions here --------------------------------------------------------------------------------------- */

#define ATTRIBUTE_FUNCTIONS(NULL_COPY, DUP, NULL_DELETE)                                                                       \
  int OMPI_C_##NULL_COPY(older_handle of, int keyval, void* extra_state, void* value, void* copy, int* flag);                  \
  int OMPI_C_##NULL_COPY(older_handle of, int keyval, void* extra_state, void* value, void* copy, int* flag) {                 \
    (void)of, (void)keyval, (void)extra_state, (void)value, (void)copy;                                                        \
    *flag = 0;                                                                                                                 \
    return MPI_SUCCESS;                                                                                                        \
  }                                                                                                                            \
  int OMPI_C_##DUP(older_handle of, int keyval, void* extra_state, void* value, void* copy, int* flag);                        \
  int OMPI_C_##DUP(older_handle of, int keyval, void* extra_state, void* value, void* copy, int* flag) {                       \
    (void)of, (void)keyval, (void)extra_state;                                                                                 \
    *(void**)copy = value;                                                                                                     \
    *flag = 1;                                                                                                                 \
    return MPI_SUCCESS;                                                                                                        \
  }                                                                                                                            \
  int OMPI_C_##NULL_DELETE(older_handle of, int keyval, void* value, void* extra_state);                                       \
  int OMPI_C_##NULL_DELETE(older_handle of, int keyval, void* value, void* extra_state) {                                      \
    (void)of, (void)keyval, (void)value, (void)extra_state;                                                                    \
    return MPI_SUCCESS;                                                                                                        \
  }
/* The names are macros of the standard's interface. */
#undef MPI_NULL_COPY_FN
#undef MPI_DUP_FN
#undef MPI_NULL_DELETE_FN
#undef MPI_COMM_NULL_COPY_FN
#undef MPI_COMM_DUP_FN
#undef MPI_COMM_NULL_DELETE_FN
#undef MPI_TYPE_NULL_COPY_FN
#undef MPI_TYPE_DUP_FN
#undef MPI_TYPE_NULL_DELETE_FN
#undef MPI_WIN_NULL_COPY_FN
#undef MPI_WIN_DUP_FN
#undef MPI_WIN_NULL_DELETE_FN
ATTRIBUTE_FUNCTIONS(MPI_NULL_COPY_FN, MPI_DUP_FN, MPI_NULL_DELETE_FN)
ATTRIBUTE_FUNCTIONS(MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN)
ATTRIBUTE_FUNCTIONS(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN)
ATTRIBUTE_FUNCTIONS(MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN)

/* --- Beyond the standard --------------------------------------------------------------------------------------------------------------------- */

OLDER_FUNCTION(int, MPIX_Query_cuda_support, (void)) { return 0; }
OLDER_FUNCTION(int, MPIX_Query_rocm_support, (void)) { return 0; }
