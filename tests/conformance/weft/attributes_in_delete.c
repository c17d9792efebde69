/* A delete function that itself sets and deletes attributes of its communicator. The standard does not say that it
   may; MPICH and Open MPI are not asked.

   Run with: -n 2 --timeout 60 */
#include "../conform.h"

enum { others = 40 };
static int first, other[others], set, deleted;

static int delete_other(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  ++deleted;
  return MPI_SUCCESS;
}
static int delete_first(MPI_Comm comm, int key, void* value, void* state) {
  int i;
  (void)key, (void)state;
  for (i = 0; i < others; ++i) {
    MPI_Comm_set_attr(comm, other[i], value);
    ++set;
  }
  MPI_Comm_delete_attr(comm, other[7]);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  void* value;
  int i, found;
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_first, &first, NULL);
  for (i = 0; i < others; ++i) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_other, &other[i], NULL);
  MPI_Comm_set_attr(comm, first, &deleted);
  MPI_Comm_set_attr(comm, first, &set); /* Deletes the old value. */
  MPI_Comm_get_attr(comm, first, &value, &found);
  EXPECT(found && value == &set, "%d %p", found, value);
  MPI_Comm_get_attr(comm, other[others - 1], &value, &found);
  EXPECT(found && value == &deleted, "%d %p", found, value);
  MPI_Comm_get_attr(comm, other[7], &value, &found);
  EXPECT_INT(found, 0);
  MPI_Comm_free(&comm);
  EXPECT(set == 2 * others && deleted == set, "%d set, %d deleted", set, deleted);
  return end();
}
