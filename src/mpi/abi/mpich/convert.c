/* The tables of convert.h, and the conversions that look into them. */
#include "functions.h"

#define HANDLE(handle) ((int)(uintptr_t)(handle))

static const struct older_number older_types[] = {
    {OLDER_DATATYPE_NULL, HANDLE(MPI_DATATYPE_NULL)},
    {0x4c000101, HANDLE(MPI_CHAR)},
    {0x4c000102, HANDLE(MPI_UNSIGNED_CHAR)},
    {0x4c000203, HANDLE(MPI_SHORT)},
    {0x4c000204, HANDLE(MPI_UNSIGNED_SHORT)},
    {0x4c000405, HANDLE(MPI_INT)},
    {0x4c000406, HANDLE(MPI_UNSIGNED)},
    {0x4c000807, HANDLE(MPI_LONG)},
    {0x4c000808, HANDLE(MPI_UNSIGNED_LONG)},
    {0x4c000809, HANDLE(MPI_LONG_LONG)},
    {0x4c00040a, HANDLE(MPI_FLOAT)},
    {0x4c00080b, HANDLE(MPI_DOUBLE)},
    {0x4c00100c, HANDLE(MPI_LONG_DOUBLE)},
    {0x4c00010d, HANDLE(MPI_BYTE)},
    {0x4c00040e, HANDLE(MPI_WCHAR)},
    {0x4c00010f, HANDLE(MPI_PACKED)},
    {0x4c000010, HANDLE(MPI_LB)},
    {0x4c000011, HANDLE(MPI_UB)},
    {0x4c000816, HANDLE(MPI_2INT)},
    {0x4c000118, HANDLE(MPI_SIGNED_CHAR)},
    {0x4c000819, HANDLE(MPI_UNSIGNED_LONG_LONG)},
    {0x4c00011a, HANDLE(MPI_CHARACTER)},
    {0x4c00041b, HANDLE(MPI_INTEGER)},
    {0x4c00041c, HANDLE(MPI_REAL)},
    {0x4c00041d, HANDLE(MPI_LOGICAL)},
    {0x4c00081e, HANDLE(MPI_COMPLEX)},
    {0x4c00081f, HANDLE(MPI_DOUBLE_PRECISION)},
    {0x4c000820, HANDLE(MPI_2INTEGER)},
    {0x4c000821, HANDLE(MPI_2REAL)},
    {0x4c001022, HANDLE(MPI_DOUBLE_COMPLEX)},
    {0x4c001023, HANDLE(MPI_2DOUBLE_PRECISION)},
    {0x4c000226, HANDLE(MPI_REAL2)},
    {0x4c000427, HANDLE(MPI_REAL4)},
    {0x4c000828, HANDLE(MPI_COMPLEX8)},
    {0x4c000829, HANDLE(MPI_REAL8)},
    {0x4c00102a, HANDLE(MPI_COMPLEX16)},
    {0x4c00102b, HANDLE(MPI_REAL16)},
    {0x4c00202c, HANDLE(MPI_COMPLEX32)},
    {0x4c00012d, HANDLE(MPI_INTEGER1)},
    {0x4c00042e, HANDLE(MPI_COMPLEX4)},
    {0x4c00022f, HANDLE(MPI_INTEGER2)},
    {0x4c000430, HANDLE(MPI_INTEGER4)},
    {0x4c000831, HANDLE(MPI_INTEGER8)},
    {0x4c001032, HANDLE(MPI_INTEGER16)},
    {0x4c000133, HANDLE(MPI_CXX_BOOL)},
    {0x4c000834, HANDLE(MPI_CXX_FLOAT_COMPLEX)},
    {0x4c001035, HANDLE(MPI_CXX_DOUBLE_COMPLEX)},
    {0x4c002036, HANDLE(MPI_CXX_LONG_DOUBLE_COMPLEX)},
    {0x4c000137, HANDLE(MPI_INT8_T)},
    {0x4c000238, HANDLE(MPI_INT16_T)},
    {0x4c000439, HANDLE(MPI_INT32_T)},
    {0x4c00083a, HANDLE(MPI_INT64_T)},
    {0x4c00013b, HANDLE(MPI_UINT8_T)},
    {0x4c00023c, HANDLE(MPI_UINT16_T)},
    {0x4c00043d, HANDLE(MPI_UINT32_T)},
    {0x4c00083e, HANDLE(MPI_UINT64_T)},
    {0x4c00013f, HANDLE(MPI_C_BOOL)},
    {0x4c000840, HANDLE(MPI_C_FLOAT_COMPLEX)},
    {0x4c001041, HANDLE(MPI_C_DOUBLE_COMPLEX)},
    {0x4c002042, HANDLE(MPI_C_LONG_DOUBLE_COMPLEX)},
    {0x4c000843, HANDLE(MPI_AINT)},
    {0x4c000844, HANDLE(MPI_OFFSET)},
    {0x4c000845, HANDLE(MPI_COUNT)},
    {0x4c000147, HANDLE(MPI_LOGICAL1)},
    {0x4c000248, HANDLE(MPI_LOGICAL2)},
    {0x4c000449, HANDLE(MPI_LOGICAL4)},
    {0x4c00084a, HANDLE(MPI_LOGICAL8)},
    {0x4c00104b, HANDLE(MPI_LOGICAL16)},
    /* Pairs of different types, which MPICH makes as a program would. */
    {(int)0x8c000000, HANDLE(MPI_FLOAT_INT)},
    {(int)0x8c000001, HANDLE(MPI_DOUBLE_INT)},
    {(int)0x8c000002, HANDLE(MPI_LONG_INT)},
    {(int)0x8c000003, HANDLE(MPI_SHORT_INT)},
    {(int)0x8c000004, HANDLE(MPI_LONG_DOUBLE_INT)},
    {0, 0},
};

static const struct older_number older_operations[] = {
    {OLDER_OP_NULL, HANDLE(MPI_OP_NULL)}, {0x58000001, HANDLE(MPI_MAX)},    {0x58000002, HANDLE(MPI_MIN)},
    {0x58000003, HANDLE(MPI_SUM)},        {0x58000004, HANDLE(MPI_PROD)},   {0x58000005, HANDLE(MPI_LAND)},
    {0x58000006, HANDLE(MPI_BAND)},       {0x58000007, HANDLE(MPI_LOR)},    {0x58000008, HANDLE(MPI_BOR)},
    {0x58000009, HANDLE(MPI_LXOR)},       {0x5800000a, HANDLE(MPI_BXOR)},   {0x5800000b, HANDLE(MPI_MINLOC)},
    {0x5800000c, HANDLE(MPI_MAXLOC)},     {0x5800000d, HANDLE(MPI_REPLACE)}, {0x5800000e, HANDLE(MPI_NO_OP)},
    {0, 0},
};

/* Of two numbers of MPICH for one of the standard's, the first comes back. */
const struct older_number older_error_numbers[] = {
    {1, MPI_ERR_BUFFER},
    {2, MPI_ERR_COUNT},
    {3, MPI_ERR_TYPE},
    {4, MPI_ERR_TAG},
    {5, MPI_ERR_COMM},
    {6, MPI_ERR_RANK},
    {7, MPI_ERR_ROOT},
    {8, MPI_ERR_GROUP},
    {9, MPI_ERR_OP},
    {10, MPI_ERR_TOPOLOGY},
    {11, MPI_ERR_DIMS},
    {12, MPI_ERR_ARG},
    {13, MPI_ERR_UNKNOWN},
    {14, MPI_ERR_TRUNCATE},
    {15, MPI_ERR_OTHER},
    {16, MPI_ERR_INTERN},
    {17, MPI_ERR_IN_STATUS},
    {18, MPI_ERR_PENDING},
    {19, MPI_ERR_REQUEST},
    {20, MPI_ERR_ACCESS},
    {21, MPI_ERR_AMODE},
    {22, MPI_ERR_BAD_FILE},
    {23, MPI_ERR_CONVERSION},
    {24, MPI_ERR_DUP_DATAREP},
    {25, MPI_ERR_FILE_EXISTS},
    {26, MPI_ERR_FILE_IN_USE},
    {27, MPI_ERR_FILE},
    {28, MPI_ERR_INFO},
    {29, MPI_ERR_INFO_KEY},
    {30, MPI_ERR_INFO_VALUE},
    {31, MPI_ERR_INFO_NOKEY},
    {32, MPI_ERR_IO},
    {33, MPI_ERR_NAME},
    {34, MPI_ERR_NO_MEM},
    {35, MPI_ERR_NOT_SAME},
    {36, MPI_ERR_NO_SPACE},
    {37, MPI_ERR_NO_SUCH_FILE},
    {38, MPI_ERR_PORT},
    {39, MPI_ERR_QUOTA},
    {40, MPI_ERR_READ_ONLY},
    {41, MPI_ERR_SERVICE},
    {42, MPI_ERR_SPAWN},
    {43, MPI_ERR_UNSUPPORTED_DATAREP},
    {44, MPI_ERR_UNSUPPORTED_OPERATION},
    {45, MPI_ERR_WIN},
    {46, MPI_ERR_BASE},
    {47, MPI_ERR_LOCKTYPE},
    {48, MPI_ERR_KEYVAL},
    {49, MPI_ERR_RMA_CONFLICT},
    {50, MPI_ERR_RMA_SYNC},
    {51, MPI_ERR_SIZE},
    {52, MPI_ERR_DISP},
    {53, MPI_ERR_ASSERT},
    {55, MPI_ERR_RMA_RANGE},
    {56, MPI_ERR_RMA_ATTACH},
    {57, MPI_ERR_RMA_SHARED},
    {58, MPI_ERR_RMA_FLAVOR},
    {59, MPI_T_ERR_MEMORY},
    {60, MPI_T_ERR_NOT_INITIALIZED},
    {61, MPI_T_ERR_CANNOT_INIT},
    {62, MPI_T_ERR_INVALID_INDEX},
    {63, MPI_T_ERR_INVALID_ITEM},
    {64, MPI_T_ERR_INVALID_HANDLE},
    {65, MPI_T_ERR_OUT_OF_HANDLES},
    {66, MPI_T_ERR_OUT_OF_SESSIONS},
    {67, MPI_T_ERR_INVALID_SESSION},
    {68, MPI_T_ERR_CVAR_SET_NOT_NOW},
    {69, MPI_T_ERR_CVAR_SET_NEVER},
    {70, MPI_T_ERR_PVAR_NO_STARTSTOP},
    {71, MPI_T_ERR_PVAR_NO_WRITE},
    {72, MPI_T_ERR_PVAR_NO_ATOMIC},
    {73, MPI_T_ERR_INVALID_NAME},
    {74, MPI_T_ERR_INVALID},
    {75, MPI_ERR_SESSION},
    {101, MPIX_ERR_PROC_FAILED}, /* For the standard a process that has failed is one that has aborted. */
    {76, MPI_ERR_PROC_ABORTED},
    {77, MPI_ERR_VALUE_TOO_LARGE},
    {78, MPI_T_ERR_NOT_SUPPORTED},
    {79, MPI_T_ERR_NOT_ACCESSIBLE},
    {80, MPI_ERR_ERRHANDLER},
    {81, MPI_ERR_ABI},
    {102, MPIX_ERR_PROC_FAILED_PENDING},
    {103, MPIX_ERR_REVOKED},
    {0, 0},
};

const struct older_number older_keys[] = {
    {OLDER_KEYVAL_INVALID, MPI_KEYVAL_INVALID},
    {0x64400001, MPI_TAG_UB},
    {0x64400003, MPI_HOST},
    {0x64400005, MPI_IO},
    {0x64400007, MPI_WTIME_IS_GLOBAL},
    {0x64400009, MPI_UNIVERSE_SIZE},
    {0x6440000b, MPI_LASTUSEDCODE},
    {0x6440000d, MPI_APPNUM},
    {0x66000001, MPI_WIN_BASE},
    {0x66000003, MPI_WIN_SIZE},
    {0x66000005, MPI_WIN_DISP_UNIT},
    {0x66000007, MPI_WIN_CREATE_FLAVOR},
    {0x66000009, MPI_WIN_MODEL},
    {0, 0},
};

/* --- Errors ------------------------------------------------------------------------------------------------------------------ */

/* What is no code of MPICH's becomes none of the standard's: -1. */
int older_error_in(int code) {
  if (code == older_last_code) return MPI_ERR_LASTCODE;
  if (code >= older_added) return code & ~older_added;
  return older_error_of_table(code);
}
int older_error_out(int code) {
  if (code == MPI_ERR_LASTCODE) return older_last_code;
  if (code > MPI_ERR_LASTCODE) return code | older_added;
  return older_find_out(older_error_numbers, code, 15 /* MPI_ERR_OTHER */);
}

/* --- Handles ------------------------------------------------------------------------------------------------------------------ */

/* Before anything else runs, and never written again: by the last byte, and by the standard's number. */
struct older_number older_type_by_byte[256];
static int types_of_theirs[256];
enum { standard_types = 0x200 };

__attribute__((constructor)) static void prepare_types(void) {
  for (const struct older_number* t = older_types; t->of_theirs != 0; ++t) {
    types_of_theirs[t->of_standard - standard_types] = t->of_theirs;
    if ((t->of_theirs & ~0xffff) == 0x4c000000) older_type_by_byte[t->of_theirs & 255] = *t;
  }
}

MPI_Datatype older_type_in(int type) {
  const MPI_Datatype made = type_made_in(type);
  return made != (MPI_Datatype)0 ? made : (MPI_Datatype)(uintptr_t)older_find_in(older_types, type, 0);
}
/* One that MPICH does not have has no number of its kind: MPI_DATATYPE_NULL. */
int older_type_out(MPI_Datatype type) {
  const uintptr_t value = (uintptr_t)type;
  if (value >= standard_handles_end) return type_made_out(type);
  const int known = value >= standard_types && value < standard_types + 256 ? types_of_theirs[value - standard_types] : 0;
  return known != 0 ? known : OLDER_DATATYPE_NULL;
}

MPI_Op op_in(int op) {
  const MPI_Op made = op_made_in(op);
  return made != (MPI_Op)0 ? made : (MPI_Op)(uintptr_t)older_find_in(older_operations, op, 0);
}
int op_out(MPI_Op op) {
  return (uintptr_t)op < standard_handles_end ? older_find_out(older_operations, HANDLE(op), OLDER_OP_NULL) : op_made_out(op);
}

MPI_Errhandler errhandler_in(int errhandler) {
  switch (errhandler) {
    case OLDER_ERRHANDLER_NULL: return MPI_ERRHANDLER_NULL;
    case OLDER_ERRORS_ARE_FATAL: return MPI_ERRORS_ARE_FATAL;
    case OLDER_ERRORS_RETURN:
    case OLDER_ERRORS_THROW: return MPI_ERRORS_RETURN; /* Its functions in C++ throw what is returned. */
    case OLDER_ERRORS_ABORT: return MPI_ERRORS_ABORT;
    default: return errhandler_made_in(errhandler);
  }
}
int errhandler_out(MPI_Errhandler errhandler) {
  return errhandler == MPI_ERRHANDLER_NULL    ? OLDER_ERRHANDLER_NULL
         : errhandler == MPI_ERRORS_ARE_FATAL ? OLDER_ERRORS_ARE_FATAL
         : errhandler == MPI_ERRORS_RETURN    ? OLDER_ERRORS_RETURN
         : errhandler == MPI_ERRORS_ABORT     ? OLDER_ERRORS_ABORT
                                              : errhandler_made_out(errhandler);
}

const struct older_number older_promises[] = {{1024, MPI_MODE_NOCHECK},    {2048, MPI_MODE_NOSTORE},
                                               {4096, MPI_MODE_NOPUT},      {8192, MPI_MODE_NOPRECEDE},
                                               {16384, MPI_MODE_NOSUCCEED}, {0, 0}};
