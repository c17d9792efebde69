/* Locks of files by fcntl() and lockf(): the kernel has one owner of such locks for the whole process, here each rank is one.
   A rank's locks of a file stand on an open file description of its own, which no other rank has (F_OFD_SETLK): so they
   exclude other ranks and other processes, and two descriptors of one rank never exclude each other. The table says who
   has what: for F_GETLK, for ranks that wait for each other in a circle, and for close(), which drops the calling rank's
   locks of that file. Code that ranks share, threads that are no rank's, and forked children have the kernel's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/files/host_locks.h"

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/files/host_output.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"
#include "process/signals/own_number.h"
#include "process/signals/signals.h"

struct range {
  struct range* next;
  long long first, last; /* Bytes of the file, both included. */
  short type;
};
struct owner {
  struct owner* next;
  int rank;
  dev_t device;
  ino_t file;
  int descriptor;
  int may_write;
  struct range* ranges;
};
/* A call that waits for a lock. */
struct waiter {
  struct waiter* next;
  const struct owner* by;
  struct range wanted;
};
static struct owner* owners; /* Ranks that have locked something and not closed it. */
static struct waiter* waiters;
static int has_owners;                                    /* Read without the lock: the rank's own doing is seen. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* Never held across a wait. */

static long raw_fcntl(int descriptor, int command, void* argument) {
  return syscall(SYS_fcntl, descriptor, command, argument);
}

/* --- The table: all with the lock held ---------------------------------------------------------------------------- */

static struct owner* find_owner(int rank, const struct stat* file) {
  for (struct owner* one = owners; one != NULL; one = one->next)
    if (one->rank == rank && one->file == file->st_ino && one->device == file->st_dev) return one;
  return NULL;
}

static int overlap(const struct range* a, const struct range* b) { return a->first <= b->last && b->first <= a->last; }
static int exclude(const struct range* a, const struct range* b) {
  return overlap(a, b) && (a->type == F_WRLCK || b->type == F_WRLCK);
}
/* One of this owner's that keeps the other from what it wants. */
static const struct range* excluding(const struct owner* one, const struct range* wanted) {
  for (const struct range* r = one->ranges; r != NULL; r = r->next)
    if (exclude(r, wanted)) return r;
  return NULL;
}
static int is_other_of_same(const struct owner* one, int rank, dev_t device, ino_t file) {
  return one->rank != rank && one->file == file && one->device == device;
}

/* Whether who waits for `wanted` waits for this rank, perhaps through others. */
static int waits_for(const struct owner* by, const struct range* wanted, int rank, int depth) {
  if (depth == 0) return 0;
  for (const struct owner* one = owners; one != NULL; one = one->next) {
    if (!is_other_of_same(one, by->rank, by->device, by->file) || excluding(one, wanted) == NULL) continue;
    if (one->rank == rank) return 1;
    for (const struct waiter* w = waiters; w != NULL; w = w->next)
      if (w->by->rank == one->rank && waits_for(w->by, &w->wanted, rank, depth - 1)) return 1;
  }
  return 0;
}
static int closes_circle(const struct owner* mine, const struct range* wanted) {
  int depth = 1;
  for (const struct waiter* w = waiters; w != NULL; w = w->next) ++depth;
  /* The first step leads from this rank, each further one from a rank that waits. */
  for (const struct owner* one = owners; one != NULL; one = one->next) {
    if (!is_other_of_same(one, mine->rank, mine->device, mine->file) || excluding(one, wanted) == NULL) continue;
    for (const struct waiter* w = waiters; w != NULL; w = w->next)
      if (w->by->rank == one->rank && waits_for(w->by, &w->wanted, mine->rank, depth)) return 1;
  }
  return 0;
}

/* What the kernel has done on the owner's description. `spare` are two ranges for it, which it may use. */
static void note_range(struct owner* mine, const struct range* set, struct range* spare[2]) {
  for (struct range** at = &mine->ranges; *at != NULL;) {
    struct range* const r = *at;
    if (!overlap(r, set)) {
      at = &r->next;
      continue;
    }
    if (r->first < set->first && r->last > set->last) {
      struct range* const behind = spare[0];
      spare[0] = NULL;
      *behind = (struct range){r->next, set->last + 1, r->last, r->type};
      r->last = set->first - 1;
      r->next = behind;
      at = &behind->next;
    } else if (r->first < set->first) {
      r->last = set->first - 1;
      at = &r->next;
    } else if (r->last > set->last) {
      r->first = set->last + 1;
      at = &r->next;
    } else {
      *at = r->next;
      free(r);
    }
  }
  if (set->type == F_UNLCK) return;
  struct range* const more = spare[1];
  spare[1] = NULL;
  *more = *set;
  more->next = mine->ranges;
  mine->ranges = more;
}

static void free_ranges(struct owner* one) {
  while (one->ranges != NULL) {
    struct range* const r = one->ranges;
    one->ranges = r->next;
    free(r);
  }
}

/* Unlocks first: a child that was forked a moment ago may have the description, too. */
static int drop(struct owner** at) {
  struct owner* const one = *at;
  struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  raw_fcntl(one->descriptor, F_OFD_SETLK, &all);
  free_ranges(one);
  for (const struct waiter* w = waiters; w != NULL; w = w->next)
    if (w->by == one) return 0; /* Its thread closes what another waits for: the description stays. */
  syscall(SYS_close, one->descriptor);
  *at = one->next;
  free(one);
  if (owners == NULL) __atomic_store_n(&has_owners, 0, __ATOMIC_RELAXED);
  return 1;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
/* A child has none of its parent's locks, and does not keep them either. */
static void in_child(void) {
  for (const struct owner* one = owners; one != NULL; one = one->next) syscall(SYS_close, one->descriptor);
  owners = NULL;
  waiters = NULL;
  has_owners = 0;
  pthread_mutex_unlock(&lock);
}

/* --- Descriptions ------------------------------------------------------------------------------------------------- */

static int open_again(int descriptor, int flags) {
  char path[48];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
}
/* One for locks of this kind, of the file of `descriptor`, whose own one serves where there is no other. */
static int describe(int descriptor, int own_mode, int* may_write) {
  *may_write = 1;
  int made = open_again(descriptor, O_RDWR);
  if (made >= 0) return made;
  *may_write = own_mode != O_RDONLY;
  made = open_again(descriptor, own_mode);
  return made >= 0 ? made : (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 3);
}

/* The caller holds the lock. Null, with errno, where there is none to be had. */
static struct owner* owner_for(int rank, int descriptor, int own_mode, const struct stat* file, short type) {
  struct owner* mine = find_owner(rank, file);
  if (mine != NULL && (mine->may_write || type != F_WRLCK)) return mine;
  int may_write;
  const int made = describe(descriptor, own_mode, &may_write);
  if (made < 0) return NULL;
  if (mine != NULL) { /* It has been read only so far: its locks are for reading, which do not exclude each other. */
    for (const struct range* r = mine->ranges; r != NULL; r = r->next) {
      struct flock same = {.l_type = r->type, .l_whence = SEEK_SET, .l_start = r->first,
                           .l_len = r->last == LLONG_MAX ? 0 : r->last - r->first + 1};
      raw_fcntl(made, F_OFD_SETLK, &same);
    }
    syscall(SYS_close, mine->descriptor);
    mine->descriptor = made;
    mine->may_write = may_write;
    return mine;
  }
  mine = malloc(sizeof *mine);
  if (mine == NULL) {
    syscall(SYS_close, made);
    errno = ENOLCK;
    return NULL;
  }
  static int watches_forks;
  if (!watches_forks) watches_forks = pthread_atfork(before_fork, after_fork, in_child) == 0;
  *mine = (struct owner){owners, rank, file->st_dev, file->st_ino, made, may_write, NULL};
  owners = mine;
  __atomic_store_n(&has_owners, 1, __ATOMIC_RELAXED);
  return mine;
}

/* --- The calls ---------------------------------------------------------------------------------------------------- */

/* The range in bytes of the file. False, with errno. */
static int range_of(int descriptor, const struct stat* file, const struct flock* asked, struct range* made) {
  long long from = asked->l_start;
  if (asked->l_whence == SEEK_CUR)
    from += lseek(descriptor, 0, SEEK_CUR);
  else if (asked->l_whence == SEEK_END)
    from += file->st_size;
  const long long length = asked->l_len;
  made->next = NULL;
  made->type = asked->l_type;
  made->first = length < 0 ? from + length : from;
  made->last = length == 0 ? LLONG_MAX : length < 0 ? from - 1 : from > LLONG_MAX - length + 1 ? -1 : from + length - 1;
  const int is_known = asked->l_whence == SEEK_SET || asked->l_whence == SEEK_CUR || asked->l_whence == SEEK_END;
  if (is_known && made->first >= 0 && made->last >= made->first) return 1;
  errno = is_known && made->first >= 0 && length > 0 ? EOVERFLOW : EINVAL;
  return 0;
}
static void say_range(const struct range* r, struct flock* to) {
  to->l_type = r->type;
  to->l_whence = SEEK_SET;
  to->l_start = r->first;
  to->l_len = r->last == LLONG_MAX ? 0 : r->last - r->first + 1;
}

static int get_lock(int rank, int descriptor, const struct stat* file, const struct range* wanted, struct flock* answer) {
  pthread_mutex_lock(&lock);
  for (const struct owner* one = owners; one != NULL; one = one->next) {
    const struct range* const there =
        is_other_of_same(one, rank, file->st_dev, file->st_ino) ? excluding(one, wanted) : NULL;
    if (there == NULL) continue;
    say_range(there, answer);
    answer->l_pid = weft_number_of_rank(one->rank);
    pthread_mutex_unlock(&lock);
    return 0;
  }
  const struct owner* const mine = find_owner(rank, file);
  struct flock asked = {0};
  say_range(wanted, &asked);
  const int failed = (int)raw_fcntl(mine != NULL ? mine->descriptor : descriptor, F_OFD_GETLK, &asked);
  pthread_mutex_unlock(&lock);
  if (failed == 0 && asked.l_type == F_UNLCK)
    answer->l_type = F_UNLCK;
  else if (failed == 0)
    *answer = asked;
  return failed;
}

static int wait_for_lock(struct owner* mine, const struct range* wanted, struct flock* asked, const void* from,
                         int descriptor) {
  struct waiter* const me = malloc(sizeof *me);
  if (me == NULL) return errno = ENOLCK, -1;
  *me = (struct waiter){waiters, mine, *wanted};
  waiters = me;
  const int own = mine->descriptor;
  pthread_mutex_unlock(&lock);
  long failed;
  if (weft_may_move(from)) {
    const struct weft_moved_call call = {"fcntl (F_SETLKW)", descriptor, weft_call_leaves_handlers, SYS_fcntl, {own, F_OFD_SETLKW, (long)asked}};
    failed = weft_move(&call);
    if (failed < 0) errno = (int)-failed;
  } else {
    failed = raw_fcntl(own, F_OFD_SETLKW, asked);
  }
  const int saved = errno;
  pthread_mutex_lock(&lock);
  struct waiter** at = &waiters;
  while (*at != me) at = &(*at)->next;
  *at = me->next;
  free(me);
  errno = saved;
  return failed < 0 ? -1 : 0;
}

static int set_lock(const void* from, int rank, int descriptor, const struct stat* file, const struct range* wanted,
                    int waits) {
  const int mode = (int)raw_fcntl(descriptor, F_GETFL, NULL) & O_ACCMODE;
  if ((wanted->type == F_RDLCK && mode == O_WRONLY) || (wanted->type == F_WRLCK && mode == O_RDONLY))
    return errno = EBADF, -1;
  struct range* spare[2] = {malloc(sizeof(struct range)), malloc(sizeof(struct range))};
  struct flock asked = {0};
  say_range(wanted, &asked);
  int failed = -1;
  pthread_mutex_lock(&lock);
  struct owner* const mine = wanted->type == F_UNLCK ? find_owner(rank, file)
                                                     : owner_for(rank, descriptor, mode, file, wanted->type);
  if (spare[0] == NULL || spare[1] == NULL) {
    errno = ENOLCK;
  } else if (mine == NULL) {
    failed = wanted->type == F_UNLCK ? 0 : -1;
  } else {
    const int saved = errno;
    failed = (int)raw_fcntl(mine->descriptor, F_OFD_SETLK, &asked);
    if (failed != 0 && waits && (errno == EAGAIN || errno == EACCES)) {
      errno = saved;
      if (closes_circle(mine, wanted))
        errno = EDEADLK;
      else
        failed = wait_for_lock(mine, wanted, &asked, from, descriptor);
    }
    if (failed == 0) note_range(mine, wanted, spare);
  }
  pthread_mutex_unlock(&lock);
  const int saved = errno;
  free(spare[0]);
  free(spare[1]);
  errno = saved;
  return failed;
}

/* The rank whose locks a call from there means; -1: the kernel knows. */
static int rank_of_locks(const void* from) { return weft_is_ranks_code(from) ? weft_number() : -1; }

static int lock_for(const void* from, int rank, int descriptor, int command, struct flock* asked) {
  struct stat file;
  struct range wanted;
  if (fstat(descriptor, &file) != 0 || !range_of(descriptor, &file, asked, &wanted)) return -1;
  if (asked->l_type != F_RDLCK && asked->l_type != F_WRLCK && (asked->l_type != F_UNLCK || command == F_GETLK))
    return errno = EINVAL, -1;
  if (command == F_GETLK) return get_lock(rank, descriptor, &file, &wanted, asked);
  /* Handlers, which may leave this by a jump, run when nothing of the call is left. */
  for (;;) {
    const int moves = weft_may_move(from);
    const int failed = set_lock(from, rank, descriptor, &file, &wanted, command == F_SETLKW);
    const int saved = errno;
    const int goes_on = moves && weft_run_handlers(0) && failed != 0 && saved == EINTR;
    errno = saved;
    if (!goes_on) return failed;
  }
}

static int fcntl_for(const void* from, int descriptor, int command, void* argument) {
  NEXT(fcntl);
  if (command == F_SETLK || command == F_SETLKW || command == F_GETLK) {
    const int rank = rank_of_locks(from);
    if (rank >= 0) return lock_for(from, rank, descriptor, command, argument);
  } else if (command == F_OFD_SETLKW && weft_may_move(from)) {
    const struct weft_moved_call call = {"fcntl (F_OFD_SETLKW)", descriptor, 0, SYS_fcntl, {descriptor, command, (long)argument}};
    const long failed = weft_move(&call);
    if (failed < 0) errno = (int)-failed;
    return failed < 0 ? -1 : 0;
  }
  const int meant = weft_meant_output(from, descriptor);
  if (command == F_DUPFD_CLOEXEC) return weft_made_descriptor(from, next(meant, command, argument), 1);
  if (command == F_DUPFD)
    return weft_made_descriptor(from, next(meant, weft_closed_at_first(from) ? F_DUPFD_CLOEXEC : F_DUPFD, argument), 0);
  return next(meant, command, argument);
}
#define ARGUMENT_BEHIND(command)           \
  va_list words;                           \
  va_start(words, command);                \
  void* const argument = va_arg(words, void*); \
  va_end(words)
int fcntl(int descriptor, int command, ...) {
  ARGUMENT_BEHIND(command);
  return fcntl_for(__builtin_return_address(0), descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  ARGUMENT_BEHIND(command);
  return fcntl_for(__builtin_return_address(0), descriptor, command, argument);
}

static int lockf_for(const void* from, int descriptor, int command, off_t size) {
  struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = size};
  switch (command) {
    case F_TEST: /* Another's lock for reading does not count, nor, here, one's own. */
      asked.l_type = F_RDLCK;
      if (fcntl_for(from, descriptor, F_GETLK, &asked) != 0) return -1;
      if (asked.l_type == F_UNLCK) return 0;
      errno = EACCES;
      return -1;
    case F_ULOCK:
      asked.l_type = F_UNLCK;
      return fcntl_for(from, descriptor, F_SETLK, &asked);
    case F_LOCK:
      return fcntl_for(from, descriptor, F_SETLKW, &asked);
    case F_TLOCK:
      return fcntl_for(from, descriptor, F_SETLK, &asked);
    default:
      errno = EINVAL;
      return -1;
  }
}
int lockf(int descriptor, int command, off_t size) {
  return lockf_for(__builtin_return_address(0), descriptor, command, size);
}
int lockf64(int descriptor, int command, off64_t size) {
  return lockf_for(__builtin_return_address(0), descriptor, command, size);
}

/* --- The end of locks --------------------------------------------------------------------------------------------- */

static void drop_locks_of_file(int rank, int descriptor) {
  const int saved = errno;
  struct stat file;
  if (rank >= 0 && fstat(descriptor, &file) == 0) {
    pthread_mutex_lock(&lock);
    for (struct owner** at = &owners; *at != NULL; at = &(*at)->next)
      if ((*at)->rank == rank && (*at)->file == file.st_ino && (*at)->device == file.st_dev) {
        drop(at);
        break;
      }
    pthread_mutex_unlock(&lock);
  }
  errno = saved;
}
void weft_drop_locks(const void* from, int descriptor) {
  if (__atomic_load_n(&has_owners, __ATOMIC_RELAXED) != 0) drop_locks_of_file(rank_of_locks(from), descriptor);
}
void weft_drop_own_locks(int descriptor) {
  if (__atomic_load_n(&has_owners, __ATOMIC_RELAXED) != 0) drop_locks_of_file(weft_number(), descriptor);
}

void weft_drop_locks_of(int rank) {
  if (__atomic_load_n(&has_owners, __ATOMIC_RELAXED) == 0) return;
  pthread_mutex_lock(&lock);
  for (struct owner** at = &owners; *at != NULL;)
    if ((*at)->rank != rank || !drop(at)) at = &(*at)->next;
  pthread_mutex_unlock(&lock);
}

int close(int descriptor) {
  NEXT(close);
  weft_drop_locks(__builtin_return_address(0), descriptor);
  weft_note_closed(descriptor);
  return next(descriptor);
}
int fclose(FILE* stream) {
  NEXT(fclose);
  const int saved = errno, descriptor = fileno(stream);
  errno = saved; /* A stream may have none. */
  if (has_owners) weft_drop_locks(__builtin_return_address(0), descriptor);
  weft_note_closed(descriptor);
  return next(stream);
}
