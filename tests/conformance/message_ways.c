/* Every mode of sending, in each of its ways, into every kind of receive, with counts of both sizes. */
#include "conform.h"

enum { blocking, started, persistent, ways };
enum { standard, buffered, synchronous, ready, modes };
enum { by_recv, by_mrecv, by_imrecv, takings };

static int length; /* Of each message, in ints. */

#define COUNT int
#define OF(name) name
#define FN(name) name
#include "message_ways.h"

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define OF(name) name##_c
#define FN(name) name##_large
#include "message_ways.h"
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  /* Of 4, 8 and 16 bytes, for which the fast path has a shorter one, and of others. */
  static const int lengths[] = {1, 2, 4, 5};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    messages(lengths[i]);
#if MPI_VERSION >= 4
    messages_large(lengths[i]);
#endif
  }
#ifdef MPI_ABI_VERSION /* Of MPI 4.1. */
  MPI_Buffer_flush();
#endif
  return end();
}
