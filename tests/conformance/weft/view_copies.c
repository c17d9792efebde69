/* MPI_File_get_view copies two datatypes with their attributes. When the second one's copy function refuses, the first copy goes. MPICH
   and Open MPI copy no attributes there.

   Run with: -n 2 --timeout 60
   Run with: -n 2 --check --timeout 60 */
#include "../conform.h"

static int copies, deletions;

static int copy_once(MPI_Datatype type, int key, void* state, void* value, void* copy, int* flag) {
  (void)type, (void)key, (void)state;
  if (copies++ != 0) return MPI_ERR_NO_MEM;
  *(void**)copy = value;
  *flag = 1;
  return MPI_SUCCESS;
}
static int count_deletion(MPI_Datatype type, int key, void* value, void* state) {
  (void)type, (void)key, (void)value, (void)state;
  ++deletions;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Datatype pair, same = MPI_BYTE, pairs = MPI_BYTE;
  MPI_Offset displacement;
  char representation[MPI_MAX_DATAREP_STRING], name[] = "view_copies.XXXXXX";
  int key;
  begin(&argc, &argv);
  if (rank == 0) (void)!mkstemp(name);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_keyval(copy_once, count_deletion, &key, NULL);
  MPI_Type_set_attr(pair, key, &copies);
  EXPECT_INT(MPI_File_set_view(file, 0, pair, pair, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_CLASS(MPI_File_get_view(file, &displacement, &same, &pairs, representation), MPI_ERR_NO_MEM);
  EXPECT(copies == 2 && deletions == 1, "%d copies, %d deletions", copies, deletions);
  EXPECT(same == MPI_BYTE && pairs == MPI_BYTE, "a datatype has been given all the same");
  MPI_File_close(&file);
  MPI_Type_free(&pair);
  MPI_Type_free_keyval(&key);
  EXPECT_INT(deletions, 2);
  return end();
}
