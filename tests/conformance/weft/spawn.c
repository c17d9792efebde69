/* Processes that start later, and jobs that meet. The program starts itself: what it does as a child its first word says.

   Run with: -n 1 --timeout 60
   Run with: -n 4 --workers 2 --timeout 60
   Run with: -n 4 --processes 2 --timeout 60 */
#include "../conform.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { children = 3, large = 300000, own_mask = 027 };

/* Both groups of `between` call it. */
static void talk(MPI_Comm between, int is_parent) {
  int others, own, mine, value = -1, flag = -1;
  MPI_Comm_remote_size(between, &others);
  MPI_Comm_size(between, &own);
  MPI_Comm_rank(between, &mine);
  MPI_Comm_test_inter(between, &flag);
  EXPECT_INT(flag, 1);
  /* Messages, short, long and synchronous, and probes. */
  if (mine == 0) {
    int* const data = malloc(large * sizeof *data);
    for (int i = 0; i < large; ++i) data[i] = i ^ is_parent;
    value = 100 + is_parent;
    MPI_Status status;
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &flag, 1, MPI_INT, 0, 1, between, &status);
    EXPECT_INT(flag, 100 + !is_parent);
    EXPECT_INT(status.MPI_SOURCE, 0);
    MPI_Request request;
    MPI_Issend(data, large, MPI_INT, 0, 2, between, &request);
    int count;
    MPI_Probe(MPI_ANY_SOURCE, 2, between, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_INT(count, large);
    int* const got = calloc(large, sizeof *got);
    MPI_Recv(got, large, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, between, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < large; ++i) wrong += got[i] != (i ^ !is_parent);
    EXPECT_INT(wrong, 0);
    free(data);
    free(got);
  }
  /* Collectives between the groups. */
  int sum = -1;
  value = is_parent ? 1 : 1000;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, between);
  EXPECT_INT(sum, others * (is_parent ? 1000 : 1));
  value = mine == 0 ? 7 : 0;
  MPI_Bcast(&value, 1, MPI_INT, !is_parent ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
  EXPECT_INT(value, !is_parent || mine == 0 ? 7 : 0);
  int* const all = calloc(others, sizeof *all);
  MPI_Request request;
  MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, between, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < others; ++i) EXPECT_INT(all[i], i);
  free(all);
  MPI_Barrier(between);
  /* Communicators made of it. */
  MPI_Comm merged, part, copy;
  MPI_Intercomm_merge(between, !is_parent, &merged);
  int place, total;
  MPI_Comm_rank(merged, &place);
  MPI_Comm_size(merged, &total);
  EXPECT_INT(total, own + others);
  EXPECT_INT(place, is_parent ? mine : others + mine);
  MPI_Scan(&place, &sum, 1, MPI_INT, MPI_SUM, merged);
  EXPECT_INT(sum, place * (place + 1) / 2);
  const int right = (place + 1) % total, left = (place + total - 1) % total;
  MPI_Sendrecv(&place, 1, MPI_INT, right, 3, &value, 1, MPI_INT, left, 3, merged, MPI_STATUS_IGNORE);
  EXPECT_INT(value, left);
  double* const vector = malloc(20000 * sizeof *vector);
  for (int i = 0; i < 20000; ++i) vector[i] = place + i;
  MPI_Allreduce(MPI_IN_PLACE, vector, 20000, MPI_DOUBLE, MPI_SUM, merged);
  EXPECT(vector[19999] == total * (total - 1) / 2 + 19999.0 * total, "%g", vector[19999]);
  free(vector);
  MPI_Comm_split(merged, place % 2, -place, &part);
  int last;
  MPI_Comm_rank(part, &last);
  MPI_Allreduce(&last, &sum, 1, MPI_INT, MPI_MAX, part);
  EXPECT_INT(sum, (total + 1 - place % 2) / 2 - 1);
  MPI_Comm_dup(merged, &copy);
  MPI_Comm_compare(merged, copy, &flag);
  EXPECT_INT(flag, MPI_CONGRUENT);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&part);
  MPI_Comm_free(&merged);
}

/* What each job knows of its own ranks alone. Both groups of `between`, which are of two jobs, call it. */
static void divide(MPI_Comm between, int is_parent) {
  MPI_Comm merged, copy;
  int own, place, total, value = -1;
  MPI_Comm_size(between, &own);
  MPI_Intercomm_merge(between, !is_parent, &merged);
  MPI_Comm_rank(merged, &place);
  MPI_Comm_size(merged, &total);
  /* Sets of processes are of one job; one rank asks for nothing. */
  MPI_Info set;
  MPI_Info_create(&set);
  MPI_Info_set(set, "mpi_pset_name", "weft://process");
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Comm_split_type(merged, place == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_RESOURCE_GUIDED, 0, set, &copy),
               MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Info_free(&set);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_ARE_FATAL);
  /* Each job numbers machines by itself, and shares no memory with the other. */
  MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &copy);
  MPI_Comm_size(copy, &value);
  EXPECT_INT(value, own);
  MPI_Comm_free(&copy);
  /* Each job knows where its own ranks are: nobody moves. */
  const int before = (place + total - total / 2) % total, behind = (place + total / 2) % total;
  int from, to;
  MPI_Dist_graph_create_adjacent(merged, 1, &before, MPI_UNWEIGHTED, 1, &behind, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &copy);
  MPI_Comm_rank(copy, &value);
  EXPECT_INT(value, place);
  MPI_Dist_graph_neighbors(copy, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED);
  EXPECT(from == before && to == behind, "rank %d has neighbours %d and %d", place, from, to);
  MPI_Comm_free(&copy);
  MPI_Dist_graph_create(merged, 1, &place, (const int[]){1}, &behind, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &copy);
  MPI_Comm_rank(copy, &value);
  EXPECT_INT(value, place);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&merged);
}

static int child(const char* what, MPI_Comm parent) {
  char name[MPI_MAX_OBJECT_NAME];
  int length, *number, flag;
  MPI_Comm_get_name(parent, name, &length);
  EXPECT(strcmp(name, "MPI_COMM_PARENT") == 0, "%s", name);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
  if (strcmp(what, "one") == 0) EXPECT_INT(*number, 0);
  if (strcmp(what, "two") == 0) EXPECT_INT(*number, 1);
  /* The mask of modes is that of the rank that has started this; what this one starts is no child of that. */
  EXPECT_INT(umask(own_mask), own_mask);
  const char* const port = getenv("WEFT_PARENT");
  EXPECT(port == NULL || *port == '\0', "%s", port);
  if (strcmp(what, "talks") == 0) {
    EXPECT_INT(size, children);
    talk(parent, 0);
    divide(parent, 0);
  } else {
    EXPECT_INT(size, 3);
  }
  int wrong = 0;
  MPI_Allreduce(&wrong_count, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&wrong, 1, MPI_INT, 0, 9, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&parent);
  EXPECT(parent == MPI_COMM_NULL, "a parent");
  MPI_Finalize();
  return wrong_count != 0;
}

static void end_with(MPI_Comm* between) {
  int wrong = 0;
  if (rank == 0) MPI_Recv(&wrong, 1, MPI_INT, 0, 9, *between, MPI_STATUS_IGNORE);
  EXPECT_INT(wrong, 0);
  MPI_Comm_disconnect(between);
  EXPECT(*between == MPI_COMM_NULL, "a handle");
}

static void spawn(char* program) {
  char* words[] = {"talks", NULL};
  int codes[children] = {-1, -1, -1};
  MPI_Comm between;
  EXPECT_INT(MPI_Comm_spawn(program, words, children, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &between, codes), MPI_SUCCESS);
  for (int i = 0; i < children; ++i) EXPECT_INT(codes[i], MPI_SUCCESS);
  talk(between, 1);
  divide(between, 1);
  end_with(&between);
}

static void spawn_two_programs(char* program) {
  char* programs[] = {program, program};
  char *one[] = {"one", NULL}, *two[] = {"two", NULL}, **words[] = {one, two};
  int counts[] = {1, 2}, codes[3] = {-1, -1, -1};
  MPI_Info hints[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Info_create(&hints[i]);
    MPI_Info_set(hints[i], "soft", "1,2");
    MPI_Info_set(hints[i], "mpi_initial_errhandler", "mpi_errors_return");
  }
  MPI_Comm between;
  EXPECT_INT(MPI_Comm_spawn_multiple(2, programs, words, counts, hints, 0, MPI_COMM_WORLD, &between, codes), MPI_SUCCESS);
  int others;
  MPI_Comm_remote_size(between, &others);
  EXPECT_INT(others, 3);
  EXPECT_INT(codes[2], MPI_SUCCESS);
  end_with(&between);
  for (int i = 0; i < 2; ++i) MPI_Info_free(&hints[i]);
}

static void wrong_calls(void) {
  MPI_Comm other = MPI_COMM_WORLD;
  int codes[2] = {0, 0};
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_CLASS(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, codes), MPI_ERR_SPAWN);
  EXPECT_INT(codes[0], MPI_ERR_SPAWN);
  EXPECT_INT(codes[1], MPI_ERR_SPAWN);
  EXPECT(other == MPI_COMM_NULL, "a communicator");
  /* A program, but none of MPI. */
  EXPECT_CLASS(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
  EXPECT_CLASS(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, codes), MPI_ERR_ARG);
  EXPECT_CLASS(MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other), MPI_ERR_PORT);
  EXPECT_CLASS(MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, MPI_COMM_SELF, &other), MPI_ERR_PORT);
  EXPECT_CLASS(MPI_Close_port("nowhere"), MPI_ERR_PORT);
  EXPECT_CLASS(MPI_Lookup_name("weft: no such name", MPI_INFO_NULL, port), MPI_ERR_NAME);
  EXPECT_CLASS(MPI_Unpublish_name("weft: no such name", MPI_INFO_NULL, "port"), MPI_ERR_SERVICE);
  EXPECT_CLASS(MPI_Comm_join(-1, &other), MPI_ERR_ARG);
  MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Close_port(port);
  EXPECT_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other), MPI_ERR_PORT);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* The even and the odd ranks meet by a published name, twice. */
static void meet_by_name(void) {
  if (size < 2) return;
  MPI_Comm half, between;
  char name[64], port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME];
  int id = getpid();
  MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "weft test %d", id);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(name, MPI_INFO_NULL, port);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EXPECT_CLASS(MPI_Publish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Lookup_name(name, MPI_INFO_NULL, found);
  for (int round = 0; round < 2; ++round) {
    if (rank % 2 == 0)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
    else
      MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &between);
    talk(between, rank % 2 == 0);
    MPI_Comm_disconnect(&between);
  }
  if (rank == 0) {
    MPI_Unpublish_name(name, MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Comm_free(&half);
}

/* Ranks 0 and 1 meet over a socket of their own. */
static void join_by_socket(void) {
  if (size < 2 || rank > 1) return;
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof here;
  int connected = socket(AF_INET, SOCK_STREAM, 0);
  MPI_Comm between;
  if (rank == 0) {
    const int listener = connected;
    bind(listener, (struct sockaddr*)&here, sizeof here);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr*)&here, &length);
    MPI_Send(&here.sin_port, 1, MPI_UINT16_T, 1, 0, MPI_COMM_WORLD);
    /* When the other one has connected: accept() of a rank would keep its worker. */
    MPI_Recv(&connected, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    connected = accept(listener, NULL, NULL);
    close(listener);
  } else {
    MPI_Recv(&here.sin_port, 1, MPI_UINT16_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_INT(connect(connected, (struct sockaddr*)&here, sizeof here), 0);
    MPI_Send(&connected, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
  EXPECT_INT(MPI_Comm_join(connected, &between), MPI_SUCCESS);
  talk(between, rank == 0);
  MPI_Comm_disconnect(&between);
  close(connected);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argv[1], parent);
  int *universe, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
  EXPECT(flag && *universe >= size, "MPI_UNIVERSE_SIZE");
  umask(own_mask);
  spawn(argv[0]);
  spawn_two_programs(argv[0]);
  wrong_calls();
  meet_by_name();
  join_by_socket();
  return end();
}
