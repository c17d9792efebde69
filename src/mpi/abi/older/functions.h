/* How a function of an older interface is defined: under its name for profiling, with the weak name that programs call, which a
   tool may define itself. convert.h is that of the interface. */
#ifndef WEFT_MPI_ABI_OLDER_FUNCTIONS_H
#define WEFT_MPI_ABI_OLDER_FUNCTIONS_H
#include "convert.h"

#define OLDER_FUNCTION(result, name, parameters)                           \
  result P##name parameters;                                               \
  extern __attribute__((weak, alias("P" #name))) __typeof__(P##name) name; \
  result P##name parameters

/* --- Constants that both interfaces have alike -------------------------------------------------------------------------------- */

#define OLDER_DISPLACEMENT_CURRENT (-54278278)
static inline int compared_out(int result) { return result - MPI_IDENT; }
static inline int thread_level_in(int level) {
  return level == 0   ? MPI_THREAD_SINGLE
         : level == 1 ? MPI_THREAD_FUNNELED
         : level == 2 ? MPI_THREAD_SERIALIZED
         : level == 3 ? MPI_THREAD_MULTIPLE
                      : level;
}
static inline int thread_level_out(int level) {
  return level >= MPI_THREAD_MULTIPLE     ? 3
         : level >= MPI_THREAD_SERIALIZED ? 2
         : level >= MPI_THREAD_FUNNELED   ? 1
                                          : 0;
}
extern WEFT_HIDDEN const struct older_number older_combiners[];
static inline int combiner_out(int combiner) { return older_find_out(older_combiners, combiner, combiner - older_first_combiner) + older_first_combiner; }
WEFT_HIDDEN int assert_in(int promises);
WEFT_HIDDEN int access_in(int mode);
WEFT_HIDDEN int access_out(int mode);
static inline int whence_in(int from) { return from == 600 ? MPI_SEEK_SET : from == 602 ? MPI_SEEK_CUR : from == 604 ? MPI_SEEK_END : -1; }
static inline MPI_Offset displacement_in(MPI_Offset displacement) {
  return displacement == OLDER_DISPLACEMENT_CURRENT ? MPI_DISPLACEMENT_CURRENT : displacement;
}

/* The tools interface. */
WEFT_HIDDEN int verbosity_out(int verbosity);
static inline int bound_out(int bound) { return bound + older_first_bind - MPI_T_BIND_NO_OBJECT; }
static inline int scope_out(int scope) { return scope + older_first_scope - MPI_T_SCOPE_CONSTANT; }
static inline int variable_class_in(int kind) { return kind - older_first_variable_class + MPI_T_PVAR_CLASS_STATE; }
static inline int variable_class_out(int kind) { return kind + older_first_variable_class - MPI_T_PVAR_CLASS_STATE; }
static inline MPI_T_cb_safety safety_in(int safety) {
  return safety == 0   ? MPI_T_CB_REQUIRE_NONE
         : safety == 1 ? MPI_T_CB_REQUIRE_MPI_RESTRICTED
         : safety == 2 ? MPI_T_CB_REQUIRE_THREAD_SAFE
                       : MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE;
}

/* --- Arguments that mean something at some ranks alone ----------------------------------------------------------------------------- */

/* Of a collective with a root, as the standard numbers it: whether the caller is that, and whether it has no part of its own in a
   collective of two groups. */
static inline int joins_groups(MPI_Comm comm) {
  int flag = 0;
  return weft_abi_MPI_Comm_test_inter(comm, &flag) == MPI_SUCCESS && flag;
}
static inline int is_root(MPI_Comm comm, int root) {
  return root == MPI_ROOT || (root >= 0 && weft_rank_in(comm) == root && !joins_groups(comm));
}
static inline int has_no_part(int root) { return root == MPI_ROOT || root == MPI_PROC_NULL; }

/* --- Statuses ------------------------------------------------------------------------------------------------------------------ */

static inline void status_begin(MPI_Status* status) { status->MPI_SOURCE = status->MPI_ERROR = older_not_written; }
/* What a call has changed in a status that it was given; the rest stays as the program has it. */
static inline void status_update(const MPI_Status* from, older_status* to) {
  older_status changed = *to;
  MPI_Status before;
  status_in(to, &before);
  status_out(from, &changed);
  older_copy_length(&changed, to);
  if (from->MPI_SOURCE != before.MPI_SOURCE) to->source = changed.source;
  if (from->MPI_TAG != before.MPI_TAG) to->tag = changed.tag;
  if (from->MPI_ERROR != before.MPI_ERROR) to->error = changed.error;
}

/* --- Arrays of arguments ------------------------------------------------------------------------------------------------------- */

/* Room for `count` elements: in the frame where they are few. A count that is none makes room for none: weft refuses it. */
enum { older_few = 64 };
#define OLDER_ARRAY(Type, name, count)                                                                            \
  const long name##_count = (count) > 0 ? (long)(count) : 0;                                                      \
  Type name##_few[older_few];                                                                                     \
  Type* const name = name##_count <= older_few ? name##_few : (Type*)older_memory(name##_count, sizeof *name)
#define OLDER_END(name)                      \
  do {                                       \
    if ((name) != name##_few) free(name);    \
  } while (0)

#endif
