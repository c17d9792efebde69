#include "descriptors.h"

static struct weft_section section_of(const CFI_cdesc_t* of) {
  struct weft_section section = {of->rank, (MPI_Aint)of->elem_len, {{0, 0}}};
  for (int i = 0; i < of->rank; ++i) {
    section.dimensions[i].extent = of->dim[i].extent;
    section.dimensions[i].stride = of->dim[i].sm;
  }
  return section;
}

MPI_Datatype weft_f08_block(const CFI_cdesc_t* of, MPI_Count count, MPI_Datatype type) {
  const struct weft_section section = section_of(of);
  return weft_section_block(&section, count, type);
}

MPI_Datatype weft_f08_list(const CFI_cdesc_t* of, MPI_Datatype type) {
  const struct weft_section section = section_of(of);
  return weft_section_list(&section, type);
}

MPI_Datatype weft_f08_reduced(const CFI_cdesc_t* from, const CFI_cdesc_t* to, MPI_Datatype type) {
  if (from->base_addr == &weft_mpi_in_place_) from = to;
  const struct weft_section one = section_of(from), other = section_of(to);
  return weft_section_reduced(weft_f08_is_section(from) ? &one : NULL, weft_f08_is_section(to) ? &other : NULL, type);
}

void weft_f08_lists(const CFI_cdesc_t* of, MPI_Datatype* types, long count) {
  if (!weft_f08_is_section(of)) return;
  const struct weft_section section = section_of(of);
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
