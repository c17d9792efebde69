/* Calls of the kernel that block. A rank that keeps others of its worker waiting tries first without waiting; where that
   does not do, the call moves to a blocking thread (process/blocking/moved_calls.h). Regular files, and descriptors that do not block, go
   straight to the C library, as does everything where nobody waits. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* Its own definitions would stand in the way. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "process/blocking/moved_calls.h"
#include "process/files/descriptors.h"
#include "process/files/host_streams.h"
#include "process/files/standard_streams.h"
#include "process/life/c_library.h"
#include "process/life/caller.h"
#include "process/signals/signals.h"

/* Addresses of sockets are unions in its declarations. */
#pragma GCC diagnostic ignored "-Wpedantic"

#define MAY_MOVE weft_may_move(__builtin_return_address(0))

static long result_of(long result) {
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}
#define MOVED_AS(traits, name, descriptor, number, ...) \
  result_of(weft_move(&(const struct weft_moved_call){name, descriptor, traits, number, {__VA_ARGS__}}))
#define MOVED(name, descriptor, number, ...) MOVED_AS(0, name, descriptor, number, __VA_ARGS__)

/* Whether an attempt has failed because the call would wait. */
static int would_wait(void) { return errno == EAGAIN || errno == EWOULDBLOCK; }

static int is_regular(int descriptor) {
  struct stat found;
  return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

/* What a call that sends has said: the rank has the signal that the kernel has sent on that account. */
static ssize_t sent(ssize_t size) {
  if (size < 0 && errno == EPIPE) weft_pipe_is_broken();
  return size;
}

/* --- Reading and writing ---------------------------------------------------------------------------------------- */

/* Standard input belongs to rank 0 and is empty for the others. */
static int is_empty_input(int descriptor) { return descriptor == STDIN_FILENO && weft_has_no_input(); }

ssize_t readv(int descriptor, const struct iovec* parts, int count) {
  NEXT(readv);
  if (is_empty_input(descriptor)) return 0;
  if (!MAY_MOVE || !weft_can_wait(descriptor)) return next(descriptor, parts, count);
  const int saved = errno;
  const ssize_t size = syscall(SYS_preadv2, descriptor, parts, (long)count, -1L, -1L, RWF_NOWAIT);
  if (size >= 0 || !weft_may_wait(errno)) return size;
  errno = saved;
  return MOVED("readv", descriptor, SYS_readv, descriptor, (long)parts, count);
}

ssize_t weft_read_for(const void* from, int descriptor, void* bytes, size_t size) {
  NEXT(read);
  if (is_empty_input(descriptor)) return 0;
  if (weft_is_file(descriptor) || size == 0 || !weft_may_move(from)) return next(descriptor, bytes, size);
  const int saved = errno;
  const struct iovec part = {bytes, size};
  const ssize_t got = syscall(SYS_preadv2, descriptor, &part, 1L, -1L, -1L, RWF_NOWAIT);
  if (got == 0 || got == (ssize_t)size) return got;
  if (got > 0) {
    /* This much of a file was in memory: the rest may be on the disk. */
    if (!is_regular(descriptor)) return got;
    const ssize_t rest = next(descriptor, (char*)bytes + got, size - (size_t)got);
    errno = saved;
    return rest > 0 ? got + rest : got;
  }
  if (!weft_may_wait(errno)) return -1;
  errno = saved;
  if (!weft_can_wait(descriptor)) return next(descriptor, bytes, size);
  return MOVED("read", descriptor, SYS_read, descriptor, (long)bytes, (long)size);
}
ssize_t read(int descriptor, void* bytes, size_t size) {
  return weft_read_for(__builtin_return_address(0), descriptor, bytes, size);
}
ssize_t __read_chk(int descriptor, void* bytes, size_t size, size_t room) {
  if (room < size) abort();
  return weft_read_for(__builtin_return_address(0), descriptor, bytes, size);
}

/* --- Sockets ---------------------------------------------------------------------------------------------------- */

#define ON_SOCKET(flags, ...)                                                          \
  if (!weft_may_move(from) || ((flags) & MSG_DONTWAIT) != 0) return next(__VA_ARGS__); \
  const int saved = errno

static ssize_t recvfrom_for(const void* from, const char* name, int socket, void* bytes, size_t size, int flags,
                            struct sockaddr* sender, socklen_t* length) {
  NEXT(recvfrom);
  ON_SOCKET(flags, socket, bytes, size, flags, sender, length);
  if ((flags & MSG_WAITALL) == 0) {
    const ssize_t got = next(socket, bytes, size, flags | MSG_DONTWAIT, sender, length);
    if (got >= 0 || !would_wait()) return got;
  }
  if (!weft_can_wait(socket)) return next(socket, bytes, size, flags, sender, length);
  errno = saved;
  return MOVED(name, socket, SYS_recvfrom, socket, (long)bytes, (long)size, flags, (long)sender, (long)length);
}
ssize_t recvfrom(int socket, void* restrict bytes, size_t size, int flags, struct sockaddr* restrict sender,
                 socklen_t* restrict length) {
  return recvfrom_for(__builtin_return_address(0), "recvfrom", socket, bytes, size, flags, sender, length);
}
ssize_t recv(int socket, void* bytes, size_t size, int flags) {
  return recvfrom_for(__builtin_return_address(0), "recv", socket, bytes, size, flags, NULL, NULL);
}
ssize_t __recv_chk(int socket, void* bytes, size_t size, size_t room, int flags) {
  if (room < size) abort();
  return recvfrom_for(__builtin_return_address(0), "recv", socket, bytes, size, flags, NULL, NULL);
}
ssize_t __recvfrom_chk(int socket, void* restrict bytes, size_t size, size_t room, int flags,
                       struct sockaddr* restrict sender, socklen_t* restrict length) {
  if (room < size) abort();
  return recvfrom_for(__builtin_return_address(0), "recvfrom", socket, bytes, size, flags, sender, length);
}

static ssize_t recvmsg_for(const void* from, int socket, struct msghdr* message, int flags) {
  NEXT(recvmsg);
  ON_SOCKET(flags, socket, message, flags);
  if ((flags & MSG_WAITALL) == 0) {
    const ssize_t got = next(socket, message, flags | MSG_DONTWAIT);
    if (got >= 0 || !would_wait()) return got;
  }
  if (!weft_can_wait(socket)) return next(socket, message, flags);
  errno = saved;
  return MOVED("recvmsg", socket, SYS_recvmsg, socket, (long)message, flags);
}
/* Descriptors that come with it are the receiver's. */
ssize_t recvmsg(int socket, struct msghdr* message, int flags) {
  const void* const from = __builtin_return_address(0);
  const ssize_t got = recvmsg_for(from, socket, message, flags | (weft_closed_at_first(from) ? MSG_CMSG_CLOEXEC : 0));
  if (got < 0) return got;
  for (struct cmsghdr* part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const int* const made = (const int*)CMSG_DATA(part);
    for (size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i)
      weft_made_descriptor(from, made[i], flags & MSG_CMSG_CLOEXEC);
  }
  return got;
}

/* An address that is a path is looked for from the rank's directory: a blocking thread is elsewhere. */
struct from_directory {
  struct sockaddr_un address;
  int directory; /* -1: the address is the given one. */
};
static int is_relative(const struct sockaddr* to, socklen_t length) {
  const size_t begin = offsetof(struct sockaddr_un, sun_path);
  const char* const path = (const char*)to + begin;
  return to != NULL && length > begin && to->sa_family == AF_UNIX && path[0] != '/' && path[0] != '\0';
}
/* False: it does not fit in there. */
static int lead_from_directory(struct from_directory* led, const struct sockaddr** to, socklen_t* length) {
  led->directory = -1;
  if (!is_relative(*to, *length)) return 1;
  const size_t begin = offsetof(struct sockaddr_un, sun_path), room = sizeof led->address.sun_path;
  const char* const path = (const char*)*to + begin;
  led->directory = (int)syscall(SYS_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  led->address.sun_family = AF_UNIX;
  const int size = snprintf(led->address.sun_path, room, "/proc/self/fd/%d/%.*s", led->directory,
                            (int)strnlen(path, *length - begin), path);
  if (led->directory < 0 || size >= (int)room) {
    if (led->directory >= 0) syscall(SYS_close, led->directory);
    return 0;
  }
  *to = (const struct sockaddr*)&led->address;
  *length = sizeof led->address;
  return 1;
}
/* The call begins again after handlers that let it. */
static int leave_directory(const struct from_directory* led, long result) {
  if (led->directory >= 0) syscall(SYS_close, led->directory);
  return weft_run_handlers(0) && result == -EINTR;
}

static ssize_t sendto_for(const void* from, const char* name, int socket, const void* bytes, size_t size, int flags,
                          const struct sockaddr* receiver, socklen_t length) {
  NEXT(sendto);
  if (!weft_may_move(from) || (flags & MSG_DONTWAIT) != 0) return sent(next(socket, bytes, size, flags, receiver, length));
  const int saved = errno;
  const ssize_t put = next(socket, bytes, size, flags | MSG_DONTWAIT, receiver, length);
  if (put == (ssize_t)size || (put < 0 && !would_wait())) return sent(put);
  if (!weft_can_wait(socket)) return put;
  errno = saved;
  const size_t done = put > 0 ? (size_t)put : 0;
  ssize_t rest;
  if (is_relative(receiver, length)) {
    long result;
    struct from_directory led;
    do {
      const struct sockaddr* to = receiver;
      socklen_t its = length;
      if (!lead_from_directory(&led, &to, &its)) return next(socket, bytes, size, flags, receiver, length);
      result = weft_move(&(const struct weft_moved_call){name, socket, weft_call_leaves_handlers, SYS_sendto,
                                                         {socket, (long)bytes, (long)size, flags, (long)to, its}});
    } while (leave_directory(&led, result));
    return result_of(result);
  }
  rest = MOVED(name, socket, SYS_sendto, socket, (long)((const char*)bytes + done), (long)(size - done), flags,
               (long)receiver, length);
  return rest < 0 ? (done > 0 ? (ssize_t)done : -1) : (ssize_t)done + rest;
}
ssize_t sendto(int socket, const void* bytes, size_t size, int flags, const struct sockaddr* receiver, socklen_t length) {
  return sendto_for(__builtin_return_address(0), "sendto", socket, bytes, size, flags, receiver, length);
}
ssize_t send(int socket, const void* bytes, size_t size, int flags) {
  return sendto_for(__builtin_return_address(0), "send", socket, bytes, size, flags, NULL, 0);
}
/* A message of parts may leave in part: it moves as a whole. */
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
  NEXT(sendmsg);
  if (!MAY_MOVE || (flags & MSG_DONTWAIT) != 0 || !weft_can_wait(socket)) return sent(next(socket, message, flags));
  if (is_relative(message->msg_name, message->msg_namelen)) {
    const ssize_t put = next(socket, message, flags | MSG_DONTWAIT); /* A datagram: as a whole or not at all. */
    if (put >= 0 || !would_wait()) return sent(put);
    long result;
    struct from_directory led;
    do {
      struct msghdr same = *message;
      const struct sockaddr* to = message->msg_name;
      if (!lead_from_directory(&led, &to, &same.msg_namelen)) return next(socket, message, flags);
      same.msg_name = (void*)to;
      result = weft_move(&(const struct weft_moved_call){"sendmsg", socket, weft_call_leaves_handlers, SYS_sendmsg,
                                                         {socket, (long)&same, flags}});
    } while (leave_directory(&led, result));
    return result_of(result);
  }
  return MOVED("sendmsg", socket, SYS_sendmsg, socket, (long)message, flags);
}

static int accept_for(const void* from, int socket, struct sockaddr* who, socklen_t* length, int flags) {
  NEXT(accept4);
  const int made = flags | weft_closed_at_first(from), stays_closed = flags & SOCK_CLOEXEC;
  if (!weft_may_move(from) || !weft_can_wait(socket))
    return weft_made_descriptor(from, next(socket, who, length, made), stays_closed);
  return weft_made_descriptor(from,
                              (int)MOVED_AS(weft_call_makes_descriptor, "accept", socket, SYS_accept4, socket, (long)who,
                                            (long)length, made),
                              stays_closed);
}
int accept(int socket, struct sockaddr* restrict who, socklen_t* restrict length) {
  return accept_for(__builtin_return_address(0), socket, who, length, 0);
}
int accept4(int socket, struct sockaddr* restrict who, socklen_t* restrict length, int flags) {
  return accept_for(__builtin_return_address(0), socket, who, length, flags);
}
int connect(int socket, const struct sockaddr* to, socklen_t length) {
  NEXT(connect);
  if (!MAY_MOVE || !weft_can_wait(socket)) return next(socket, to, length);
  if (!is_relative(to, length)) return (int)MOVED("connect", socket, SYS_connect, socket, (long)to, length);
  long result;
  struct from_directory led;
  do {
    const struct sockaddr* there = to;
    socklen_t its = length;
    if (!lead_from_directory(&led, &there, &its)) return next(socket, to, length);
    result = weft_move(&(const struct weft_moved_call){"connect", socket, weft_call_leaves_handlers, SYS_connect,
                                                       {socket, (long)there, its}});
  } while (leave_directory(&led, result));
  return (int)result_of(result);
}

/* --- Any of several descriptors ---------------------------------------------------------------------------------- */

/* A mask of signals for the time of the call is the rank's own: a blocking thread is sent none. True: a handler that it lets run
   has ended the call before it begins. */
static int begins_interrupted(const sigset_t* mask, sigset_t* before) {
  if (mask == NULL || !weft_begin_mask(mask, before)) return 0;
  weft_end_mask(before);
  errno = EINTR;
  return 1;
}
static long end_with(long result, const sigset_t* mask, const sigset_t* before) {
  if (mask != NULL) weft_end_mask(before);
  return result;
}
static int is_no_time(const struct timespec* most) { return most != NULL && most->tv_sec == 0 && most->tv_nsec == 0; }

static int ppoll_for(const void* from, const char* name, struct pollfd* ends, nfds_t count,
                     const struct timespec* most, const sigset_t* mask) {
  NEXT(ppoll);
  if ((mask == NULL && is_no_time(most)) || !weft_may_move(from)) return next(ends, count, most, mask);
  sigset_t before;
  if (begins_interrupted(mask, &before)) return -1;
  static const struct timespec none;
  const int ready = next(ends, count, &none, NULL);
  if (ready != 0 || is_no_time(most)) return (int)end_with(ready, mask, &before);
  struct timespec left = most != NULL ? *most : none; /* The kernel writes there what remains. */
  return (int)end_with(MOVED(name, count > 0 ? ends[0].fd : -1, SYS_ppoll, (long)ends, (long)count,
                             most != NULL ? (long)&left : 0, 0, _NSIG / 8),
                       mask, &before);
}
static int poll_for(const void* from, struct pollfd* ends, nfds_t count, int most_ms) {
  NEXT(poll);
  if (most_ms == 0 || !weft_may_move(from)) return next(ends, count, most_ms);
  const struct timespec most = {most_ms / 1000, most_ms % 1000 * 1000000L};
  return ppoll_for(from, "poll", ends, count, most_ms < 0 ? NULL : &most, NULL);
}
int poll(struct pollfd* ends, nfds_t count, int most_ms) {
  return poll_for(__builtin_return_address(0), ends, count, most_ms);
}
int ppoll(struct pollfd* ends, nfds_t count, const struct timespec* most, const sigset_t* mask) {
  return ppoll_for(__builtin_return_address(0), "ppoll", ends, count, most, mask);
}
int __poll_chk(struct pollfd* ends, nfds_t count, int most_ms, size_t room) {
  if (room / sizeof *ends < count) abort();
  return poll_for(__builtin_return_address(0), ends, count, most_ms);
}
int __ppoll_chk(struct pollfd* ends, nfds_t count, const struct timespec* most, const sigset_t* mask, size_t room) {
  if (room / sizeof *ends < count) abort();
  return ppoll_for(__builtin_return_address(0), "ppoll", ends, count, most, mask);
}

/* The sets are as long as `count` says, which may be more than an fd_set is. What remains of the time is not told. */
static int select_for(const char* name, int count, fd_set* in, fd_set* out, fd_set* other,
                      const struct timespec* most) {
  const size_t size = ((size_t)count + NFDBITS - 1) / NFDBITS * (NFDBITS / 8);
  fd_set* const given[] = {in, out, other};
  char* const kept = __builtin_alloca(3 * size + 1);
  static const struct timespec none;
  struct timespec no_time = none;
  for (int i = 0; i < 3; ++i)
    if (given[i] != NULL) memcpy(kept + (size_t)i * size, given[i], size);
  const long ready = syscall(SYS_pselect6, (long)count, in, out, other, &no_time, NULL);
  if (ready != 0 || is_no_time(most)) return (int)ready;
  for (int i = 0; i < 3; ++i)
    if (given[i] != NULL) memcpy(given[i], kept + (size_t)i * size, size);
  struct timespec left = most != NULL ? *most : none;
  return (int)MOVED(name, -1, SYS_pselect6, count, (long)in, (long)out, (long)other, most != NULL ? (long)&left : 0, 0);
}
int select(int count, fd_set* restrict in, fd_set* restrict out, fd_set* restrict other, struct timeval* restrict most) {
  NEXT(select);
  if (count < 0 || !MAY_MOVE || (most != NULL && (most->tv_sec < 0 || most->tv_usec < 0 || (most->tv_sec == 0 && most->tv_usec == 0))))
    return next(count, in, out, other, most);
  const struct timespec time = {most != NULL ? most->tv_sec + most->tv_usec / 1000000 : 0,
                                most != NULL ? most->tv_usec % 1000000 * 1000 : 0};
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  const int ready = select_for("select", count, in, out, other, most != NULL ? &time : NULL);
  if (most != NULL) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long long left = (time.tv_sec - (now.tv_sec - begun.tv_sec)) * 1000000LL +
                           (time.tv_nsec - (now.tv_nsec - begun.tv_nsec)) / 1000;
    most->tv_sec = left > 0 ? left / 1000000 : 0;
    most->tv_usec = left > 0 ? left % 1000000 : 0;
  }
  return ready;
}
int pselect(int count, fd_set* restrict in, fd_set* restrict out, fd_set* restrict other,
            const struct timespec* restrict most, const sigset_t* restrict mask) {
  NEXT(pselect);
  if (count < 0 || (mask == NULL && is_no_time(most)) || !MAY_MOVE) return next(count, in, out, other, most, mask);
  sigset_t before;
  if (begins_interrupted(mask, &before)) return -1;
  return (int)end_with(select_for("pselect", count, in, out, other, most), mask, &before);
}

static int epoll_for(const void* from, const char* name, int set, struct epoll_event* events, int room, int most_ms,
                     const sigset_t* mask) {
  NEXT(epoll_pwait);
  if ((mask == NULL && most_ms == 0) || !weft_may_move(from)) return next(set, events, room, most_ms, mask);
  sigset_t before;
  if (begins_interrupted(mask, &before)) return -1;
  const int ready = next(set, events, room, 0, NULL);
  if (ready != 0 || most_ms == 0) return (int)end_with(ready, mask, &before);
  return (int)end_with(MOVED(name, set, SYS_epoll_pwait, set, (long)events, room, most_ms, 0, _NSIG / 8), mask, &before);
}
int epoll_wait(int set, struct epoll_event* events, int room, int most_ms) {
  return epoll_for(__builtin_return_address(0), "epoll_wait", set, events, room, most_ms, NULL);
}
int epoll_pwait(int set, struct epoll_event* events, int room, int most_ms, const sigset_t* mask) {
  return epoll_for(__builtin_return_address(0), "epoll_pwait", set, events, room, most_ms, mask);
}

/* --- Locks, messages and semaphores ------------------------------------------------------------------------------- */

int flock(int descriptor, int operation) {
  NEXT(flock);
  if ((operation & LOCK_NB) != 0 || !MAY_MOVE) return next(descriptor, operation);
  const int saved = errno;
  if (next(descriptor, operation | LOCK_NB) == 0 || !would_wait()) return errno = saved, 0;
  errno = saved;
  return (int)MOVED_AS(1, "flock", descriptor, SYS_flock, descriptor, operation);
}

ssize_t msgrcv(int queue, void* message, size_t size, long type, int flags) {
  NEXT(msgrcv);
  if ((flags & IPC_NOWAIT) != 0 || !MAY_MOVE) return next(queue, message, size, type, flags);
  const int saved = errno;
  const ssize_t got = next(queue, message, size, type, flags | IPC_NOWAIT);
  if (got >= 0 || errno != ENOMSG) return got;
  errno = saved;
  return MOVED("msgrcv", -1, SYS_msgrcv, queue, (long)message, (long)size, type, flags);
}
int msgsnd(int queue, const void* message, size_t size, int flags) {
  NEXT(msgsnd);
  if ((flags & IPC_NOWAIT) != 0 || !MAY_MOVE) return next(queue, message, size, flags);
  const int saved = errno;
  if (next(queue, message, size, flags | IPC_NOWAIT) == 0) return 0;
  if (!would_wait()) return -1;
  errno = saved;
  return (int)MOVED("msgsnd", -1, SYS_msgsnd, queue, (long)message, (long)size, flags);
}

int semtimedop(int set, struct sembuf* operations, size_t count, const struct timespec* most) {
  NEXT(semtimedop);
  if (!MAY_MOVE) return next(set, operations, count, most);
  return (int)MOVED_AS(1, "semtimedop", -1, SYS_semtimedop, set, (long)operations, (long)count, (long)most);
}
int semop(int set, struct sembuf* operations, size_t count) {
  NEXT(semop);
  if (!MAY_MOVE) return next(set, operations, count);
  return (int)MOVED_AS(1, "semop", -1, SYS_semtimedop, set, (long)operations, (long)count, 0);
}

ssize_t mq_timedreceive(mqd_t queue, char* restrict bytes, size_t size, unsigned* restrict priority,
                        const struct timespec* restrict until) {
  NEXT(mq_timedreceive);
  if (!MAY_MOVE) return next(queue, bytes, size, priority, until);
  return MOVED("mq_receive", queue, SYS_mq_timedreceive, queue, (long)bytes, (long)size, (long)priority, (long)until);
}
ssize_t mq_receive(mqd_t queue, char* bytes, size_t size, unsigned* priority) {
  NEXT(mq_receive);
  if (!MAY_MOVE) return next(queue, bytes, size, priority);
  return MOVED("mq_receive", queue, SYS_mq_timedreceive, queue, (long)bytes, (long)size, (long)priority, 0);
}
int mq_timedsend(mqd_t queue, const char* bytes, size_t size, unsigned priority, const struct timespec* until) {
  NEXT(mq_timedsend);
  if (!MAY_MOVE) return next(queue, bytes, size, priority, until);
  return (int)MOVED("mq_send", queue, SYS_mq_timedsend, queue, (long)bytes, (long)size, priority, (long)until);
}
int mq_send(mqd_t queue, const char* bytes, size_t size, unsigned priority) {
  NEXT(mq_send);
  if (!MAY_MOVE) return next(queue, bytes, size, priority);
  return (int)MOVED("mq_send", queue, SYS_mq_timedsend, queue, (long)bytes, (long)size, priority, 0);
}

/* --- Raw calls ------------------------------------------------------------------------------------------------------ */

/* C++'s atomics and semaphores wait by a raw futex call. C++'s library itself does not move: it may have a lock. */
__attribute__((visibility("hidden"))) long weft_plain_call(long number, ...);
__attribute__((visibility("hidden"), used)) long weft_call_futex(long number, long word, long operation, long value,
                                                                 long most, long other, long bits) {
  const int what = (int)operation & FUTEX_CMD_MASK;
  const int waits = what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET;
  if (!waits || *(volatile int*)word != (int)value || !weft_is_private(__builtin_return_address(0)) || !MAY_MOVE)
    return weft_plain_call(number, word, operation, value, most, other, bits);
  return MOVED_AS(1, "futex", -1, number, word, operation, value, most, other, bits);
}
__attribute__((visibility("hidden"), used)) long weft_failed_call(long result) { return result_of(result); }

/* It needs no frame, as the C library's: some calls return twice. */
#if defined(__x86_64__)
__asm__(
    ".pushsection .text\n"
    ".globl syscall, weft_plain_call\n"
    ".hidden weft_plain_call\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "  .cfi_startproc\n"
    "  cmpq $202, %rdi\n" /* SYS_futex */
    "  je weft_call_futex\n"
    "weft_plain_call:\n"
    "  movq %rdi, %rax\n"
    "  movq %rsi, %rdi\n"
    "  movq %rdx, %rsi\n"
    "  movq %rcx, %rdx\n"
    "  movq %r8, %r10\n"
    "  movq %r9, %r8\n"
    "  movq 8(%rsp), %r9\n"
    "  syscall\n"
    "  cmpq $-4095, %rax\n"
    "  jae 1f\n"
    "  ret\n"
    "1: movq %rax, %rdi\n"
    "  jmp weft_failed_call\n"
    "  .cfi_endproc\n"
    "  .size syscall, . - syscall\n"
    "  .popsection\n");
#elif defined(__aarch64__)
__asm__(
    ".pushsection .text\n"
    ".globl syscall, weft_plain_call\n"
    ".hidden weft_plain_call\n"
    ".type syscall, %function\n"
    "syscall:\n"
    "  .cfi_startproc\n"
    "  cmp x0, #98\n" /* SYS_futex */
    "  b.eq weft_call_futex\n"
    "weft_plain_call:\n"
    "  mov x8, x0\n"
    "  mov x0, x1\n"
    "  mov x1, x2\n"
    "  mov x2, x3\n"
    "  mov x3, x4\n"
    "  mov x4, x5\n"
    "  mov x5, x6\n"
    "  svc #0\n"
    "  cmn x0, #4095\n"
    "  b.hs weft_failed_call\n"
    "  ret\n"
    "  .cfi_endproc\n"
    "  .size syscall, . - syscall\n"
    "  .popsection\n");
#endif
