/* Active messages: the paper's four calls, and what goes beyond them. */
#include <shmemx.h>
#include <time.h>
#include "conform.h"

static int handled;
static long sum;
static int ids[2]; /* Of this PE, for others to read. */
static int word;

static void count(void* payload, size_t length, void* args_r, void* args_p, int source) {
  int* const counter = args_r;
  ++*counter;
  if (args_p != NULL) ++*(int*)args_p;
  long value = -1;
  EXPECT(length == sizeof value);
  memcpy(&value, payload, sizeof value);
  EXPECT(value == source);
  sum += value;
}

/* Sends on, and uses the memory of others, until the number is 0. */
static int forward_id;
static void forward(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_r, (void)args_p, (void)source;
  int left;
  EXPECT(length == sizeof left);
  memcpy(&left, payload, sizeof left);
  shmem_int_atomic_inc(&word, 0);
  shmem_fence();
  shmem_quiet();
  if (left == 0) return;
  --left;
  shmemx_am_send_nbi(forward_id, &left, sizeof left, NEXT);
}

static void square(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)length, (void)args_r, (void)args_p, (void)source;
  long value;
  memcpy(&value, payload, sizeof value);
  value *= value;
  if (value != 0) shmemx_am_reply(&value, sizeof value);
}

static void check_large(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_p;
  ++*(int*)args_r;
  const unsigned char* const bytes = payload;
  EXPECT(length == 0 || (bytes[0] == source + 1 && bytes[length - 1] == source + 1));
}

/* With a queue of 64 KiB: who waits for room in a handler tells what it has handled. */
static void returns_two(void* payload, size_t length, void* args_r, void* args_p, int source) {
  (void)args_p;
  for (int i = 0; i < 2; ++i) shmemx_am_send_nbi(*(int*)args_r, payload, length, source);
}
static void in_narrow_queues(void) {
  static char payload[1000];
  int id, back;
  static int narrow;
  shmemx_am_set_handler_all(check_large, &narrow, &id);
  shmemx_am_set_handler_all(returns_two, &id, &back);
  memset(payload, NEXT + 1, sizeof payload); /* As it comes back. */
  /* Until the first has sent as many as have room the others let them come, without a poll. */
  if (me == 0) {
    for (int i = 0; i < 51; ++i) shmemx_am_send_nbi(back, payload, sizeof payload, NEXT);
    for (int pe = 1; pe < pes; ++pe) shmem_int_p(&word, -1, pe);
    for (int i = 0; i < 8; ++i) shmemx_am_send_nbi(back, payload, sizeof payload, NEXT);
  } else {
    while (!shmem_int_test(&word, SHMEM_CMP_EQ, -1)) {
    }
  }
  shmemx_am_barrier_all(NULL);
  EXPECT(narrow == (me == 0 ? 118 : 0));
}

/* Who has answered is expected to answer, and its next message tells what it has handled. When it waits instead, for what
   only comes after its messages have been told as handled, they are told all the same. */
static int rounds_seen;
static void seen(void* payload, size_t length, void* r, void* p, int source) {
  (void)payload, (void)length, (void)r, (void)p, (void)source;
  ++rounds_seen;
}
static void without_an_answer(void) {
  static int may_go;
  const int other = pes - 1;
  enum { rounds = 20 };
  int id;
  shmemx_am_set_handler_all(seen, NULL, &id);
  if (other != 0 && me == 0) {
    for (int i = 0; i < rounds; ++i) {
      shmemx_am_send_nbi(id, &i, sizeof i, other);
      while (i < rounds - 1 && rounds_seen <= i) shmemx_am_wait(NULL);
    }
    shmemx_am_quiet(NULL);
    shmem_int_p(&may_go, 1, other);
  }
  if (other != 0 && me == other) {
    for (int i = 0; i < rounds; ++i) {
      while (rounds_seen <= i) shmemx_am_wait(NULL);
      if (i < rounds - 1) shmemx_am_send_nbi(id, &i, sizeof i, 0);
    }
    shmem_int_wait_until(&may_go, SHMEM_CMP_EQ, 1);
  }
  shmem_barrier_all();
}

static void count_one(void* payload, size_t length, void* r, void* p, int source) {
  (void)payload, (void)length, (void)p, (void)source;
  ++*(int*)r;
}

/* A source learns what has been handled although the PE computes, without a call, from its next poll on; and when it has no
   room for more it learns that at once. */
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static void told_to(int is_about_room) {
  static volatile int may_go;
  static char large[SHMEMX_AM_PAYLOAD_MAX_SIZE];
  enum { rounds = 4 };
  const int other = pes - 1;
  int id;
  may_go = rounds_seen = 0;
  shmemx_am_set_handler_all(seen, NULL, &id);
  for (int round = 1; round <= rounds; ++round) {
    if (me == 0) {
      shmemx_am_send_nbi(id, &round, sizeof round, other);
      while (rounds_seen < round) shmemx_am_wait(NULL);
      shmemx_am_send_nbi(id, &round, sizeof round, other);
      if (is_about_room) {
        int has_room = 0;
        for (const double end = seconds() + 1; !has_room && seconds() < end; shmemx_am_poll(NULL))
          has_room = shmemx_am_try_send_nbi(id, large, sizeof large, other);
        EXPECT(has_room);
      } else {
        shmemx_am_quiet(NULL);
      }
      shmem_int_p((int*)&may_go, round, other);
      shmem_quiet();
    } else if (me == other) {
      const int before = rounds_seen;
      while (rounds_seen < before + 1) shmemx_am_poll(NULL);
      shmemx_am_send_nbi(id, &round, sizeof round, 0);
      while (rounds_seen < before + 2) shmemx_am_poll(NULL);
      if (!is_about_room) shmemx_am_poll(NULL);
      const double end = seconds() + 2;
      while (may_go < round && seconds() < end) continue;
      EXPECT(may_go >= round);
    }
    shmemx_am_barrier_all(NULL);
  }
}

/* The last two PEs are on one worker of another process. While one handles a stream by polls the other one goes on, too. */
static void beside_polls(void) {
  static volatile int stop, may_go;
  static int got;
  const int reader = pes - 2, beside = pes - 1;
  int id;
  shmemx_am_set_handler_all(count_one, &got, &id);
  for (int round = 1; round <= 20; ++round) {
    if (me == 0) {
      while (stop < round) shmemx_am_send_nbi(id, &round, sizeof round, reader);
    } else if (me == reader) {
      const int before = got;
      while (got == before) shmemx_am_poll(NULL);
      int polls = 0;
      shmem_int_p((int*)&may_go, round, beside);
      for (; stop < round; ++polls) shmemx_am_poll(NULL);
      EXPECT(polls <= 64);
    } else if (me == beside) {
      shmem_int_wait_until((int*)&may_go, SHMEM_CMP_GE, round);
      shmem_int_p((int*)&stop, round, reader);
      shmem_int_p((int*)&stop, round, 0);
      shmem_quiet();
    }
    shmemx_am_barrier_all(NULL);
  }
}

/* All others send to PE 0 as much as it takes: no more than its queue may hold, and more than half of that. */
static void in_full_queue(long limit) {
  static char payload[1000];
  static int got;
  static long sent, sent_by_all;
  int id;
  shmemx_am_set_handler_all(count_one, &got, &id);
  if (me != 0)
    while (shmemx_am_try_send_nbi(id, payload, sizeof payload, 0)) ++sent;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sent_by_all, &sent, 1);
  EXPECT(sent_by_all * 1024 <= limit && sent_by_all * 1024 > limit / 2);
  shmemx_am_barrier_all(NULL);
  EXPECT(me != 0 || got == sent_by_all);
}

int main(int argc, char** argv) {
  begin();
  if (argc > 1 && strcmp(argv[1], "polls") == 0) {
    beside_polls();
    told_to(0);
    return end();
  }
  if (argc > 1 && strcmp(argv[1], "narrow") == 0) {
    told_to(1);
    in_narrow_queues();
    return end();
  }
  if (argc > 2 && strcmp(argv[1], "full") == 0) {
    in_full_queue(atol(argv[2]));
    return end();
  }
  without_an_answer();
  int first = 0, second = 0, polled = 0;
  /* Ids need not be the same: the odd PEs set theirs in the other order. */
  shmemx_am_set_handler(count, me % 2 == 0 ? &first : &second, &ids[me % 2]);
  shmemx_am_set_handler(count, me % 2 == 0 ? &second : &first, &ids[1 - me % 2]);
  shmem_barrier_all();
  EXPECT(pes == 1 || shmem_int_g(&ids[0], 0) != shmem_int_g(&ids[0], 1));
  long own = me;
  enum { each = 50 };
  for (int round = 0; round < each; ++round)
    for (int pe = 0; pe < pes; ++pe) {
      shmemx_am_send_nbi(shmem_int_g(&ids[0], pe), &own, sizeof own, pe);
      EXPECT(shmemx_am_try_send_nbi(shmem_int_g(&ids[1], pe), &own, sizeof own, pe));
    }
  shmem_quiet();
  EXPECT(first == 0 && second == 0); /* Handlers run in poll and wait alone. */
  shmem_barrier_all();
  EXPECT(first == 0 && second == 0);
  shmemx_am_wait(&polled);
  EXPECT(polled > 0);
  while (polled < 2 * each * pes) shmemx_am_poll(&polled);
  EXPECT(first == each * pes && second == each * pes && shmemx_am_poll(NULL) == 0);
  EXPECT(sum == 2l * each * pes * (pes - 1) / 2);
  shmemx_am_quiet(NULL);
  shmem_barrier_all();

  /* Messages that send messages, to the end of all of them. */
  shmemx_am_set_handler_all(forward, NULL, &forward_id);
  int all_same = forward_id;
  shmem_barrier_all();
  EXPECT(shmem_int_g(&forward_id, NEXT) == all_same);
  const int left = 30;
  shmemx_am_send_nbi(forward_id, (void*)&left, sizeof left, NEXT);
  shmemx_am_barrier_all(NULL);
  shmem_barrier_all();
  EXPECT(shmem_int_g(&word, 0) == 31 * pes);

  /* Replies, and their absence. */
  int id;
  shmemx_am_set_handler_all(square, NULL, &id);
  long value = me + 1, reply = 0;
  EXPECT(shmemx_am_call(id, &value, sizeof value, NEXT, &reply, sizeof reply, NULL) ==
         sizeof reply);
  EXPECT(reply == value * value);
  value = 0;
  EXPECT(shmemx_am_call(id, &value, sizeof value, NEXT, &reply, sizeof reply, NULL) == 0);
  shmemx_am_barrier_all(NULL);

  /* Sizes up to the limit, more than a chunk of the queue holds. */
  EXPECT(shmemx_am_payload_max() >= SHMEMX_AM_PAYLOAD_MAX_SIZE);
  shmemx_am_set_handler_all(check_large, &handled, &id);
  static unsigned char large[SHMEMX_AM_PAYLOAD_MAX_SIZE];
  memset(large, me + 1, sizeof large);
  int sent = 0;
  for (size_t size = 0; size <= sizeof large; size = size * 2 + 1, ++sent)
    shmemx_am_send_nbi(id, large, size, NEXT);
  shmemx_am_send_nbi(id, large, sizeof large, NEXT), ++sent;
  shmem_ctx_t ctx;
  shmem_ctx_create(0, &ctx);
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  for (int i = 0; i < 100; ++i, ++sent) shmemx_ctx_am_send_nbi(ctx, id, large, 8, NEXT);
  shmem_ctx_session_stop(ctx);
  shmem_ctx_quiet(ctx);
  shmem_ctx_destroy(ctx);
  shmemx_am_barrier_all(NULL);
  EXPECT(handled == sent);

  /* All flood all, and then read. */
  handled = 0;
  enum { flood = 300 };
  for (int i = 0; i < flood; ++i)
    for (int pe = 0; pe < pes; ++pe) shmemx_am_send_nbi(id, large, 1000, pe);
  shmem_quiet();
  shmem_barrier_all();
  while (handled < flood * pes) shmemx_am_wait(NULL);
  EXPECT(handled == flood * pes);
  shmemx_am_set_handler(NULL, NULL, &id);
  if (end() != 0) return 1;

  /* Opened again: handlers, queues and counts are as they were. */
  begin();
  handled = 0;
  shmemx_am_set_handler_all(check_large, &handled, &id);
  for (int pe = 0; pe < pes; ++pe) shmemx_am_send_nbi(id, large, 1000, pe);
  shmemx_am_barrier_all(NULL);
  EXPECT(handled == pes);
  return end();
}
