#include "descriptors.h"

int weft_f08_has_gaps(const CFI_cdesc_t* of) {
  CFI_index_t bytes = (CFI_index_t)of->elem_len;
  int is_empty = 0, has_gaps = 0;
  for (int i = 0; i < of->rank; ++i) {
    const CFI_dim_t* const d = &of->dim[i];
    is_empty |= d->extent == 0;
    has_gaps |= d->sm != bytes && d->extent > 1;
    bytes *= d->extent;
  }
  return has_gaps && !is_empty;
}

struct weft_section weft_f08_section(const CFI_cdesc_t* of) {
  struct weft_section section = {of->rank, (MPI_Aint)of->elem_len, {{0, 0}}};
  for (int i = 0; i < of->rank; ++i) {
    section.dimensions[i].extent = of->dim[i].extent;
    section.dimensions[i].stride = of->dim[i].sm;
  }
  return section;
}

void weft_f08_lists(const CFI_cdesc_t* of, MPI_Datatype* types, long count) {
  if (!weft_f08_is_section(of)) return;
  const struct weft_section section = weft_f08_section(of);
  for (long i = 0; i < count; ++i) {
    const MPI_Datatype made = weft_section_list(&section, types[i]);
    if (made != NULL) types[i] = made;
  }
}

void weft_f08_end_lists(const CFI_cdesc_t* of, const MPI_Datatype* types, long count) {
  if (!weft_f08_is_section(of)) return;
  for (long i = 0; i < count; ++i) weft_section_end(types[i]);
}

void pmpi_f_sync_reg_f08ts_(CFI_cdesc_t* buf) { (void)buf; }
WEFT_FORTRAN_NAME_ALONE(mpi_f_sync_reg_f08ts_, (CFI_cdesc_t*));
