/* Sessions: sets of processes, groups and communicators of them; before, beside and after MPI_Init and MPI_Finalize.
   Not with: openmpi (4.1), which has none. */
#include "conform.h"
#include <unistd.h>

static MPI_Session first_session;

static MPI_Comm communicator_of(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT_INT(MPI_Group_from_session_pset(session, set, &group), MPI_SUCCESS);
  EXPECT_INT(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made), MPI_SUCCESS);
  EXPECT(made != MPI_COMM_NULL, "no communicator of %s", set);
  MPI_Group_free(&group);
  return made;
}

static void use(MPI_Comm comm) {
  int own = -1, count = -1, sum = 0, got = -1, one = 1;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &count);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  EXPECT_INT(sum, count);
  MPI_Sendrecv(&own, 1, MPI_INT, (own + 1) % count, 3, &got, 1, MPI_INT, (own + count - 1) % count, 3, comm,
               MPI_STATUS_IGNORE);
  EXPECT_INT(got, (own + count - 1) % count);
}

/* --- Sets of processes ------------------------------------------------------------------------------------------- */

static int size_of_set(MPI_Session session, const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  char value[32] = "";
  int room = sizeof value, is_there = 0;
  EXPECT_INT(MPI_Session_get_pset_info(session, name, &info), MPI_SUCCESS);
  MPI_Info_get_string(info, "mpi_size", &room, value, &is_there);
  EXPECT(is_there, "no mpi_size of %s", name);
  MPI_Info_free(&info);
  return atoi(value);
}

static void sets(void) {
  MPI_Session session = MPI_SESSION_NULL;
  EXPECT_INT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), MPI_SUCCESS);
  int count = 0, has_world = 0, has_self = 0;
  EXPECT_INT(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count), MPI_SUCCESS);
  EXPECT(count >= 2, "%d sets", count);
  for (int i = 0; i < count; ++i) {
    int length = 0, again, members = -1;
    char name[MPI_MAX_PSET_NAME_LEN] = "unchanged";
    EXPECT_INT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name), MPI_SUCCESS);
    EXPECT(length > 1 && strcmp(name, "unchanged") == 0, "%d, %s", length, name);
    again = length;
    EXPECT_INT(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &again, name), MPI_SUCCESS);
    EXPECT(again == length && (int)strlen(name) == length - 1, "%d %d", length, again);
    has_world |= strcmp(name, "mpi://WORLD") == 0;
    has_self |= strcmp(name, "mpi://SELF") == 0;
    /* The caller is in each. */
    MPI_Group group;
    int place = MPI_UNDEFINED;
    MPI_Group_from_session_pset(session, name, &group);
    MPI_Group_rank(group, &place);
    MPI_Group_size(group, &members);
    EXPECT(place != MPI_UNDEFINED, "no member of set %d", i);
    EXPECT_INT(size_of_set(session, name), members);
    MPI_Group_free(&group);
  }
  EXPECT(has_world && has_self, "%d %d", has_world, has_self);
  EXPECT_INT(size_of_set(session, "mpi://SELF"), 1);
  char little[5] = "----";
  int room = sizeof little;
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &room, little);
  EXPECT(memchr(little, 0, sizeof little) != NULL, "no end");
  EXPECT_INT(MPI_Session_finalize(&session), MPI_SUCCESS);
  EXPECT(session == MPI_SESSION_NULL, "the session has a value");
}

/* --- Communicators ----------------------------------------------------------------------------------------------- */

static void cycle(int turn) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  char tag[32];
  snprintf(tag, sizeof tag, "turn %d", turn);
  MPI_Comm all = communicator_of(session, "mpi://WORLD", tag), alone = communicator_of(session, "mpi://SELF", tag);
  use(all);
  use(alone);
  MPI_Comm copy, half;
  MPI_Comm_dup(all, &copy);
  use(copy);
  MPI_Comm_split(all, rank % 2, rank, &half);
  use(half);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&alone);
  MPI_Comm_free(&all);
  EXPECT_INT(MPI_Session_finalize(&session), MPI_SUCCESS);
}

static void several_at_once(void) {
  MPI_Session one, other;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &one);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
  EXPECT(one != other, "two sessions are one");
  MPI_Comm of_one = communicator_of(one, "mpi://WORLD", "one"), of_other = communicator_of(other, "mpi://WORLD", "other");
  /* Messages of the two do not meet. */
  MPI_Request requests[2];
  int got[2] = {-1, -1}, sent[2] = {10 + rank, 20 + rank}, left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Irecv(&got[0], 1, MPI_INT, left, 5, of_one, &requests[0]);
  MPI_Irecv(&got[1], 1, MPI_INT, left, 5, of_other, &requests[1]);
  MPI_Send(&sent[1], 1, MPI_INT, right, 5, of_other);
  MPI_Send(&sent[0], 1, MPI_INT, right, 5, of_one);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT(got[0] == 10 + left && got[1] == 20 + left, "%d %d", got[0], got[1]);
  MPI_Comm_free(&of_one);
  MPI_Session_finalize(&one); /* The first goes first. */
  use(of_other);
  MPI_Comm_free(&of_other);
  MPI_Session_finalize(&other);
}

/* Groups of a session behave as others do; each half makes a communicator of its own, by the same tag. */
static void parts(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group all, mine;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  int range[1][3] = {{rank % 2, size - 1, 2}};
  MPI_Group_range_incl(all, 1, range, &mine);
  MPI_Comm part, inter;
  MPI_Comm_create_from_group(mine, "parts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &part);
  int count = 0, place = -1;
  MPI_Comm_size(part, &count);
  MPI_Comm_rank(part, &place);
  EXPECT(count == (size + 1 - rank % 2) / 2 && place == rank / 2, "%d of %d", place, count);
  use(part);
  if (size > 1) { /* The two parts talk. */
    MPI_Group theirs;
    int others[1][3] = {{1 - rank % 2, size - 1, 2}};
    MPI_Group_range_incl(all, 1, others, &theirs);
    EXPECT_INT(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "parts", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter),
               MPI_SUCCESS);
    int is_inter = 0, remote = 0, sum = -1, one = 1;
    MPI_Comm_test_inter(inter, &is_inter);
    MPI_Comm_remote_size(inter, &remote);
    EXPECT(is_inter && remote == size - count, "%d %d", is_inter, remote);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    EXPECT_INT(sum, remote);
    MPI_Comm together;
    MPI_Intercomm_merge(inter, rank % 2, &together);
    use(together);
    MPI_Comm_free(&together);
    MPI_Comm_free(&inter);
    MPI_Group_free(&theirs);
  }
  MPI_Comm_free(&part);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}

/* MPICH 4.0 crashes without MPI_Init, and loses puts to windows of such a communicator: weft/session_objects.c has both. */
static void files(MPI_Comm comm) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/weft_session_file_%d", (int)getppid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm);
  MPI_File file;
  MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  int got = -1;
  MPI_File_read_at_all(file, (MPI_Offset)sizeof(int) * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
  EXPECT_INT(got, rank);
  MPI_File_close(&file);
}

/* --- Info, attributes ------------------------------------------------------------------------------------- */

static void levels(void) {
  const char* const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  MPI_Info wish, used;
  MPI_Info_create(&wish);
  MPI_Info_set(wish, "thread_level", names[1]);
  MPI_Session session;
  MPI_Session_init(wish, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_info(session, &used);
  char value[64] = "";
  int is_there = 0, room = sizeof value, known = 0;
  MPI_Info_get_string(used, "thread_level", &room, value, &is_there);
  for (int i = 0; i < LENGTH(names); ++i) known |= strcmp(value, names[i]) == 0;
  EXPECT(is_there && known, "thread_level %s", value);
  MPI_Info_free(&used);
  MPI_Info_free(&wish);
  MPI_Session_finalize(&session);
}

static int deleted;
static int delete_value(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static void attributes(MPI_Comm comm) {
  int key = MPI_KEYVAL_INVALID, there = 0, *found = NULL;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &key, NULL);
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_set_attr(copy, key, &rank);
  MPI_Comm_get_attr(copy, key, &found, &there);
  EXPECT(there && found == &rank, "%d", there);
  MPI_Comm_free(&copy);
  EXPECT_INT(deleted, 1);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &found, &there);
  EXPECT(there && *found >= 32767, "no tags");
}

static void conversions(void) {
  EXPECT(MPI_Session_f2c(MPI_Session_c2f(first_session)) == first_session, "another session");
  EXPECT(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL, "not null");
}

/* --- Beside MPI_Init ---------------------------------------------------------------------------------------------- */

int main(int argc, char** argv) {
  int is_up = 1;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first_session);
  MPI_Initialized(&is_up);
  EXPECT(!is_up, "a session is no MPI_Init");
  MPI_Comm all = communicator_of(first_session, "mpi://WORLD", "main");
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  use(all);
  sets();
  for (int turn = 0; turn < 10; ++turn) cycle(turn);
  several_at_once();
  parts();
  levels();
  attributes(all);
  conversions();
  MPI_Init(&argc, &argv);
  int place = -1, count = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &place);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  EXPECT(place == rank && count == size, "%d of %d", place, count);
  use(MPI_COMM_WORLD);
  use(all);
  files(all);
  cycle(10);
  parts();
  int wrong = 0;
  MPI_Finalize();
  MPI_Finalized(&is_up);
  EXPECT(is_up, "not finalised");
  use(all); /* The session goes on. */
  cycle(11);
  several_at_once();
  MPI_Allreduce(&wrong_count, &wrong, 1, MPI_INT, MPI_SUM, all);
  if (rank == 0) printf(wrong == 0 ? "right\n" : "wrong: %d\n", wrong);
  fflush(stdout);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&first_session);
  return wrong != 0;
}
