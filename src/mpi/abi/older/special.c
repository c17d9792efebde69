/* The functions of an older interface that write_functions.py cannot write by its rule, where both interfaces have them. */
#include <stdarg.h>

#include "functions.h"

/* --- Requests ------------------------------------------------------------------------------------------------------------------ */

/* Requests that are complete mostly have gone: MPI_REQUEST_NULL is what comes back. */
OLDER_FUNCTION(int, MPI_Waitall, (int count, older_handle* array_of_requests, older_status* array_of_statuses)) {
  const int wants = array_of_statuses != OLDER_STATUS_IGNORE && array_of_statuses != NULL;
  OLDER_ARRAY(MPI_Request, requests, array_of_requests == NULL ? 0 : count);
  OLDER_ARRAY(MPI_Status, statuses, wants ? count : 0);
  for (long i = 0; i < requests_count; ++i) requests[i] = request_in(array_of_requests[i]);
  for (long i = 0; i < statuses_count; ++i) status_begin(&statuses[i]);
  const int error = weft_abi_MPI_Waitall(count, array_of_requests == NULL ? NULL : requests, wants ? statuses : MPI_STATUSES_IGNORE);
  for (long i = 0; i < requests_count; ++i)
    if (requests[i] == MPI_REQUEST_NULL) array_of_requests[i] = OLDER_REQUEST_NULL;  /* Another one is as it was. */
  for (long i = 0; i < statuses_count; ++i) status_out(&statuses[i], &array_of_statuses[i]);
  OLDER_END(requests);
  OLDER_END(statuses);
  return error_out(error);
}

/* --- Statuses: the same bytes in C and in Fortran -------------------------------------------------------------------------------- */

#define STATUS_COPY(name)                                      \
  OLDER_FUNCTION(int, name, (const void* given, void* made)) { \
    memcpy(made, given, sizeof(older_status));                 \
    return MPI_SUCCESS;                                        \
  }
STATUS_COPY(MPI_Status_c2f)
STATUS_COPY(MPI_Status_f2c)
STATUS_COPY(MPI_Status_c2f08)
STATUS_COPY(MPI_Status_f082c)
STATUS_COPY(MPI_Status_f2f08)
STATUS_COPY(MPI_Status_f082f)

/* --- Datatypes ---------------------------------------------------------------------------------------------------------------------- */

static void types_out(const MPI_Datatype* from, older_handle* to, long count) {
  for (long i = 0; to != NULL && i < count; ++i) to[i] = type_out(from[i]);
}

/* Where constants stand among the numbers that say how a datatype was made: at the end the order of a subarray; in those of a
   distributed array ways and sizes of the distribution, in `dimensions` each. */
static void numbers_out(int combiner, int* numbers, int count, int has_large_counts) {
  if (numbers == NULL || count < 1) return;
  if (combiner == MPI_COMBINER_SUBARRAY) numbers[count - 1] = order_out(numbers[count - 1]);
  if (combiner != MPI_COMBINER_DARRAY || count < 4) return;
  const int dimensions = numbers[2], first = has_large_counts ? 3 : 3 + dimensions;
  for (int i = 0; i < dimensions; ++i) {
    numbers[first + i] = distribution_out(numbers[first + i]);
    numbers[first + dimensions + i] = distribution_size_out(numbers[first + dimensions + i]);
  }
  numbers[count - 1] = order_out(numbers[count - 1]);
}

OLDER_FUNCTION(int, MPI_Type_get_contents,
               (older_handle datatype, int max_integers, int max_addresses, int max_datatypes, int* array_of_integers,
                MPI_Aint* array_of_addresses, older_handle* array_of_datatypes)) {
  const MPI_Datatype of = type_in(datatype);
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  OLDER_ARRAY(MPI_Datatype, made, max_datatypes);
  const int error = weft_abi_MPI_Type_get_contents(of, max_integers, max_addresses, max_datatypes, array_of_integers,
                                                   array_of_addresses, array_of_datatypes == NULL ? NULL : made);
  if (error == MPI_SUCCESS && weft_abi_MPI_Type_get_envelope(of, &integers, &addresses, &types, &combiner) == MPI_SUCCESS) {
    numbers_out(combiner, array_of_integers, integers, 0);
    types_out(made, array_of_datatypes, types);
  }
  OLDER_END(made);
  return error_out(error);
}

OLDER_FUNCTION(int, MPI_Type_get_contents_c,
               (older_handle datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts, MPI_Count max_datatypes,
                int* array_of_integers, MPI_Aint* array_of_addresses, MPI_Count* array_of_large_counts, older_handle* array_of_datatypes)) {
  const MPI_Datatype of = type_in(datatype);
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
  OLDER_ARRAY(MPI_Datatype, made, max_datatypes);
  const int error = weft_abi_MPI_Type_get_contents_c(of, max_integers, max_addresses, max_large_counts, max_datatypes, array_of_integers,
                                                     array_of_addresses, array_of_large_counts, array_of_datatypes == NULL ? NULL : made);
  if (error == MPI_SUCCESS &&
      weft_abi_MPI_Type_get_envelope_c(of, &integers, &addresses, &large, &types, &combiner) == MPI_SUCCESS) {
    numbers_out(combiner, array_of_integers, (int)integers, large != 0);
    types_out(made, array_of_datatypes, (long)types);
  }
  OLDER_END(made);
  return error_out(error);
}

/* Functions of MPI-1, by the newer one. */
#define BOUND(name, wanted)                                                                                          \
  OLDER_FUNCTION(int, name, (older_handle datatype, MPI_Aint* to)) {                                                          \
    MPI_Aint lower = 0, extent = 0;                                                                                  \
    const int error = weft_abi_MPI_Type_get_extent(type_in(datatype), &lower, to == NULL ? NULL : &extent);          \
    if (error == MPI_SUCCESS) *to = wanted;                                                                          \
    return error_out(error);                                                                                         \
  }
BOUND(MPI_Type_extent, extent)
BOUND(MPI_Type_lb, lower)
BOUND(MPI_Type_ub, lower + extent)

/* --- Buffers for MPI_Bsend ------------------------------------------------------------------------------------------------------------ */

/* A program counts fewer bytes beside the data of each message than weft: 96 with MPICH, 128 with Open MPI, 512 here. weft keeps the data in memory of its own, and the
   size only says when a message is one too many. So it is told a size in which as many messages have room as in the program's,
   from which that one follows again. */
static MPI_Count size_in(MPI_Count size) {
  return size < 0 ? size : size / older_overhead * MPI_BSEND_OVERHEAD + size % older_overhead;
}
static MPI_Count size_out(MPI_Count size) { return size / MPI_BSEND_OVERHEAD * older_overhead + size % MPI_BSEND_OVERHEAD; }

/* OF: what the buffer belongs to, with a comma behind it, as parameter, argument and converted argument. */
#define BUFFERS_OF(attach, detach, Count, ending, PARAMETER, ARGUMENT)                                                 \
  OLDER_FUNCTION(int, attach##ending, (PARAMETER void* buffer, Count size)) {                                          \
    return error_out(weft_abi_##attach##_c(ARGUMENT attached_in(buffer), size_in(size)));                              \
  }                                                                                                                    \
  OLDER_FUNCTION(int, detach##ending, (PARAMETER void* buffer_addr, Count* size)) {                                    \
    MPI_Count taken = 0;                                                                                               \
    const int error = weft_abi_##detach##_c(ARGUMENT buffer_addr, size == NULL ? NULL : &taken);                       \
    if (error != MPI_SUCCESS) return error_out(error);                                                                 \
    *(void**)buffer_addr = attached_out(*(void**)buffer_addr);                                                         \
    taken = size_out(taken);                                                                                           \
    *size = (Count)taken == taken ? (Count)taken : (Count)MPI_UNDEFINED;                                               \
    return MPI_SUCCESS;                                                                                                \
  }
#define COMMA ,
#define NOTHING
#define BUFFERS(Count, ending)                                                                                         \
  BUFFERS_OF(MPI_Buffer_attach, MPI_Buffer_detach, Count, ending, NOTHING, NOTHING)                                    \
  BUFFERS_OF(MPI_Comm_attach_buffer, MPI_Comm_detach_buffer, Count, ending, older_handle comm COMMA, comm_in(comm) COMMA)       \
  BUFFERS_OF(MPI_Session_attach_buffer, MPI_Session_detach_buffer, Count, ending, older_handle session COMMA, session_in(session) COMMA)
BUFFERS(int, )
BUFFERS(MPI_Count, _c)

/* --- Texts for which programs have less room -------------------------------------------------------------------------------- */

OLDER_FUNCTION(int, MPI_Get_processor_name, (char* name, int* resultlen)) {
  char text[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  const int error = weft_abi_MPI_Get_processor_name(name == NULL ? NULL : text, resultlen == NULL ? NULL : &length);
  if (error != MPI_SUCCESS) return error_out(error);
  if (length >= older_processor_name) length = older_processor_name - 1;
  memcpy(name, text, (size_t)length);
  name[length] = '\0';
  *resultlen = length;
  return MPI_SUCCESS;
}

static int port_out(int error, const char* text, char* port_name) {
  if (error != MPI_SUCCESS) return error_out(error);
  if (strlen(text) >= older_port_name) {
    weft_abi_MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_PORT);
    return error_out(MPI_ERR_PORT);
  }
  strcpy(port_name, text);
  return MPI_SUCCESS;
}
OLDER_FUNCTION(int, MPI_Open_port, (older_handle info, char* port_name)) {
  char text[MPI_MAX_PORT_NAME] = "";
  const int error = weft_abi_MPI_Open_port(info_in(info), port_name == NULL ? NULL : text);
  if (error == MPI_SUCCESS && strlen(text) >= older_port_name) weft_abi_MPI_Close_port(text); /* Nobody can. */
  return port_out(error, text, port_name);
}
OLDER_FUNCTION(int, MPI_Lookup_name, (const char* service_name, older_handle info, char* port_name)) {
  char text[MPI_MAX_PORT_NAME] = "";
  return port_out(weft_abi_MPI_Lookup_name(service_name, info_in(info), port_name == NULL ? NULL : text), text, port_name);
}

/* --- Processes that start later -------------------------------------------------------------------------------------------------------- */

/* The arguments that say what is started count at the root alone, and so does the number of codes: libweft writes these as
   the interface has them. */
int weft_coded_spawn(const char* command, char** argv, int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* intercomm,
                     int* array_of_errcodes, int not_started);
int weft_coded_spawn_multiple(int count, char** array_of_commands, char*** array_of_argv, const int* array_of_maxprocs,
                              const MPI_Info* array_of_info, int root, MPI_Comm comm, MPI_Comm* intercomm, int* array_of_errcodes,
                              int not_started);

OLDER_FUNCTION(int, MPI_Comm_spawn,
               (const char* command, char** argv, int maxprocs, older_handle info, int root, older_handle comm, older_handle* intercomm, int* array_of_errcodes)) {
  MPI_Comm made = (MPI_Comm)0;
  const MPI_Comm of = comm_in(comm);
  const MPI_Info hints = is_root(of, rank_in(root)) ? info_in(info) : MPI_INFO_NULL;
  const int error = weft_coded_spawn(command, argv, maxprocs, hints, rank_in(root), of,
                                     intercomm == NULL ? NULL : &made, array_of_errcodes, error_out(MPI_ERR_SPAWN));
  if (made != (MPI_Comm)0) *intercomm = comm_out(made);
  return error_out(error);
}

OLDER_FUNCTION(int, MPI_Comm_spawn_multiple,
               (int count, char** array_of_commands, char*** array_of_argv, const int* array_of_maxprocs, const older_handle* array_of_info,
                int root, older_handle comm, older_handle* intercomm, int* array_of_errcodes)) {
  const MPI_Comm of = comm_in(comm);
  const int has_infos = array_of_info != NULL && root >= 0 && weft_rank_in(of) == root;
  OLDER_ARRAY(MPI_Info, infos, has_infos ? count : 0);
  for (long i = 0; i < infos_count; ++i) infos[i] = info_in(array_of_info[i]);
  MPI_Comm made = (MPI_Comm)0;
  const int error = weft_coded_spawn_multiple(count, array_of_commands, array_of_argv, array_of_maxprocs, has_infos ? infos : NULL,
                                              rank_in(root), of, intercomm == NULL ? NULL : &made, array_of_errcodes,
                                              error_out(MPI_ERR_SPAWN));
  OLDER_END(infos);
  if (made != (MPI_Comm)0) *intercomm = comm_out(made);
  return error_out(error);
}

/* --- Parts of a communicator ------------------------------------------------------------------------------------------------------------ */

OLDER_FUNCTION(int, MPI_Comm_split_type, (older_handle comm, int split_type, int key, older_handle info, older_handle* newcomm)) {
  const MPI_Info hints = info_in(info);
  MPI_Comm made = (MPI_Comm)0;
  const int error = weft_abi_MPI_Comm_split_type(comm_in(comm), split_in(split_type, hints),
                                                 key, hints, newcomm == NULL ? NULL : &made);
  if (made != (MPI_Comm)0) *newcomm = comm_out(made);
  return error_out(error);
}

/* --- Others ------------------------------------------------------------------------------------------------------------------------------ */

OLDER_FUNCTION(int, MPI_Pcontrol, (const int level, ...)) { return error_out(weft_abi_MPI_Pcontrol(level)); }

OLDER_FUNCTION(int, MPI_Info_create_env, (int argc, char** argv, older_handle* info)) {
  MPI_Info made = (MPI_Info)0;
  const int error = weft_abi_MPI_Info_create_env(argc, argv, info == NULL ? NULL : &made);
  if (made != (MPI_Info)0) *info = info_out(made);
  return error_out(error);
}

/* This library does not speak the standard's interface. */
OLDER_FUNCTION(int, MPI_Abi_get_version, (int* abi_major, int* abi_minor)) {
  if (abi_major != NULL) *abi_major = -1;
  if (abi_minor != NULL) *abi_minor = -1;
  return MPI_SUCCESS;
}

OLDER_FUNCTION(int, MPI_T_event_get_info,
               (int event_index, char* name, int* name_len, int* verbosity, older_handle* array_of_datatypes, MPI_Aint* array_of_displacements,
                int* num_elements, MPI_T_enum* enumtype, older_handle* info, char* desc, int* desc_len, int* bind)) {
  const int room = num_elements == NULL || array_of_datatypes == NULL ? 0 : *num_elements;
  OLDER_ARRAY(MPI_Datatype, types, room);
  MPI_Info made = (MPI_Info)0;
  const int error = weft_abi_MPI_T_event_get_info(event_index, name, name_len, verbosity, array_of_datatypes == NULL ? NULL : types,
                                                  array_of_displacements, num_elements, enumtype, info == NULL ? NULL : &made, desc,
                                                  desc_len, bind);
  if (error == MPI_SUCCESS) {
    if (verbosity != NULL) *verbosity = verbosity_out(*verbosity);
    if (bind != NULL) *bind = bound_out(*bind);
    if (num_elements != NULL) types_out(types, array_of_datatypes, room < *num_elements ? room : *num_elements);
    if (made != (MPI_Info)0) *info = info_out(made);
  }
  OLDER_END(types);
  return error_out(error);
}
