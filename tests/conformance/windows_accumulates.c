/* Accumulates: every operation on numbers of each kind, pairs, complex numbers, odd sizes; get_accumulate, fetch_and_op and
   compare_and_swap; forms with requests and with large counts; derived datatypes; many ranks at one element in different ways. */
#include "conform.h"

enum { room = 256 };
static MPI_Win win;
static char* own;

static void set(const void* from, size_t bytes) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memcpy(own, from, bytes);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void look(void* to, size_t bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  memcpy(to, own, bytes);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The neighbour's three elements become `wanted`; what they were comes back. */
#define OPERATION(type, datatype, op, before, with, wanted)                                             \
  do {                                                                                                  \
    const type start_[3] = {before, before, before}, with_[3] = {with, with, with};                     \
    type got_[3], now_[3];                                                                              \
    const int to_ = (rank + 1) % size;                                                                  \
    set(start_, sizeof start_);                                                                         \
    MPI_Win_lock(MPI_LOCK_SHARED, to_, 0, win);                                                         \
    MPI_Get_accumulate(with_, 3, datatype, got_, 3, datatype, to_, 0, 3, datatype, op, win);            \
    MPI_Win_unlock(to_, win);                                                                           \
    look(now_, sizeof now_);                                                                            \
    for (int i_ = 0; i_ < 3; ++i_) {                                                                    \
      EXPECT(got_[i_] == (type)(before), "%s of %s: it was %g", #op, #datatype, (double)got_[i_]);      \
      EXPECT(now_[i_] == (type)(wanted), "%s of %s: it is %g", #op, #datatype, (double)now_[i_]);       \
    }                                                                                                   \
  } while (0)

#define ORDER_AND_SUMS(type, datatype)                       \
  OPERATION(type, datatype, MPI_SUM, 5, 9, 14);              \
  OPERATION(type, datatype, MPI_PROD, 5, 9, 45);             \
  OPERATION(type, datatype, MPI_MIN, 5, 9, 5);               \
  OPERATION(type, datatype, MPI_MAX, 5, 9, 9);               \
  OPERATION(type, datatype, MPI_REPLACE, 5, 9, 9);           \
  OPERATION(type, datatype, MPI_NO_OP, 5, 9, 5)
#define BITS(type, datatype)                                 \
  OPERATION(type, datatype, MPI_BAND, 12, 10, 8);            \
  OPERATION(type, datatype, MPI_BOR, 12, 10, 14);            \
  OPERATION(type, datatype, MPI_BXOR, 12, 10, 6);            \
  OPERATION(type, datatype, MPI_LAND, 12, 10, 1);            \
  OPERATION(type, datatype, MPI_LOR, 0, 10, 1);              \
  OPERATION(type, datatype, MPI_LXOR, 12, 10, 0)

static void operations(void) {
  ORDER_AND_SUMS(signed char, MPI_SIGNED_CHAR);
  ORDER_AND_SUMS(short, MPI_SHORT);
  ORDER_AND_SUMS(int, MPI_INT);
  ORDER_AND_SUMS(long, MPI_LONG);
  ORDER_AND_SUMS(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  ORDER_AND_SUMS(float, MPI_FLOAT);
  ORDER_AND_SUMS(double, MPI_DOUBLE);
  ORDER_AND_SUMS(long double, MPI_LONG_DOUBLE);
  BITS(unsigned char, MPI_UNSIGNED_CHAR);
  BITS(int, MPI_INT);
  BITS(unsigned long, MPI_UNSIGNED_LONG);
  OPERATION(unsigned char, MPI_BYTE, MPI_BXOR, 12, 10, 6);
  OPERATION(char, MPI_CHAR, MPI_REPLACE, 'a', 'b', 'b');
}

static void pairs(void) {
  const int to = (rank + 1) % size;
#ifndef OPEN_MPI /* Which knows pairs with gaps in no accumulate. */
  struct {
    double value;
    int place;
  } before = {4.5, 7}, with = {4.5, 3}, greater = {5.5, 9}, now;
  set(&before, sizeof before);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(&with, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
  MPI_Win_unlock(to, win);
  look(&now, sizeof now);
  EXPECT(now.value == 4.5 && now.place == 3, "%g %d", now.value, now.place);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(&greater, 1, MPI_DOUBLE_INT, to, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
  MPI_Win_unlock(to, win);
  look(&now, sizeof now);
  EXPECT(now.value == 5.5 && now.place == 9, "%g %d", now.value, now.place);
#endif
  int two[2] = {3, 8}, other[2] = {3, 1}, found[2];
  set(two, sizeof two);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(other, 1, MPI_2INT, to, 0, 1, MPI_2INT, MPI_MAXLOC, win);
  MPI_Win_unlock(to, win);
  look(found, sizeof found);
  EXPECT(found[0] == 3 && found[1] == 1, "%d %d", found[0], found[1]);
  double complex_before[2] = {1, 2}, complex_with[2] = {3, 4}, product[2];
  set(complex_before, sizeof complex_before);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(complex_with, 1, MPI_C_DOUBLE_COMPLEX, to, 0, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, win);
  MPI_Win_unlock(to, win);
  look(product, sizeof product);
  EXPECT(product[0] == -5 && product[1] == 10, "%g %g", product[0], product[1]);
}

/* All ranks at one element, by every call that can add one. Nothing is lost, and each sees another value. */
static void at_once(void) {
  enum { times = 30 };
  const int zero = 0, one = 1;
  int nothing[8] = {0};
  set(nothing, sizeof nothing);
  static char seen[64 * 4 * times];
  memset(seen, 0, sizeof seen);
  int last = -1;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < times; ++i) {
    int before = -1;
    switch ((rank + i) % 4) {
      case 0:
        MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        break;
      case 1:
        MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(0, win);
        break;
      case 2: {
        MPI_Request request;
        MPI_Rget_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_flush(0, win);
        break;
      }
      default:
        for (int expected = 0;; expected = before) {
          const int next = expected + 1;
          MPI_Compare_and_swap(&next, &expected, &before, MPI_INT, 0, 0, win);
          MPI_Win_flush(0, win);
          if (before == expected) break;
        }
    }
    EXPECT(before > last && before < size * times, "%d behind %d", before, last);
    last = before;
    if (before >= 0 && before < (int)sizeof seen) ++seen[before];
  }
  MPI_Win_unlock_all(win);
  MPI_Allreduce(MPI_IN_PLACE, seen, size * times, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < size * times; ++i) EXPECT(seen[i] == 1, "%d was seen %d times", i, seen[i]);
  int now = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Fetch_and_op(&zero, &now, MPI_INT, 0, 0, MPI_NO_OP, win);
  MPI_Win_unlock(0, win);
  EXPECT_INT(now, size * times);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void requests(void) {
  long start[6] = {1, 2, 3, 4, 5, 6}, with[6] = {10, 10, 10, 10, 10, 10}, got[6], now[6];
  const int to = (rank + 1) % size;
  MPI_Request all[3];
  set(start, sizeof start);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Rput(with, 2, MPI_LONG, to, 0, 2, MPI_LONG, win, &all[0]);
  MPI_Raccumulate(with, 2, MPI_LONG, to, 2 * sizeof(long), 2, MPI_LONG, MPI_SUM, win, &all[1]);
  MPI_Rget(got, 2, MPI_LONG, to, 4 * sizeof(long), 2, MPI_LONG, win, &all[2]);
  MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
  EXPECT(got[0] == 5 && got[1] == 6, "%ld %ld", got[0], got[1]);
  MPI_Rput(with, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, win, &all[0]);
  MPI_Rget(got, 2, MPI_LONG, MPI_PROC_NULL, 0, 2, MPI_LONG, win, &all[1]);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  MPI_Win_unlock(to, win);
  look(now, sizeof now);
  EXPECT(now[0] == 10 && now[1] == 10 && now[2] == 13 && now[3] == 14 && now[4] == 5, "%ld %ld %ld %ld %ld", now[0], now[1],
         now[2], now[3], now[4]);
#if MPI_VERSION >= 4
  set(start, sizeof start);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Rput_c(with, 1, MPI_LONG, to, 0, 1, MPI_LONG, win, &all[0]);
  MPI_Raccumulate_c(with, 1, MPI_LONG, to, 8, 1, MPI_LONG, MPI_SUM, win, &all[1]);
  MPI_Rget_c(got, 1, MPI_LONG, to, 16, 1, MPI_LONG, win, &all[2]);
  MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
  EXPECT_INT(got[0], 3);
  MPI_Rget_accumulate_c(with, 1, MPI_LONG, got, 1, MPI_LONG, to, 24, 1, MPI_LONG, MPI_SUM, win, &all[0]);
  MPI_Wait(all, MPI_STATUS_IGNORE);
  EXPECT_INT(got[0], 4);
  MPI_Put_c(with, 1, MPI_LONG, to, 32, 1, MPI_LONG, win);
  MPI_Win_flush(to, win);
  MPI_Get_c(got, 1, MPI_LONG, to, 32, 1, MPI_LONG, win);
  MPI_Win_flush(to, win);
  EXPECT_INT(got[0], 10);
  MPI_Accumulate_c(with, 1, MPI_LONG, to, 40, 1, MPI_LONG, MPI_PROD, win);
  MPI_Win_flush(to, win);
  MPI_Get_accumulate_c(with, 1, MPI_LONG, got, 1, MPI_LONG, to, 40, 1, MPI_LONG, MPI_NO_OP, win);
  MPI_Win_unlock(to, win);
  EXPECT_INT(got[0], 60);
  look(now, sizeof now);
  const long wanted[6] = {10, 12, 3, 14, 10, 60};
  for (int i = 0; i < 6; ++i) EXPECT_INT(now[i], wanted[i]);
#endif
}

/* Elements with gaps here, with other gaps there, and the old ones with gaps again. */
static void derived(void) {
  int start[16], now[16], old[12], with[12];
  for (int i = 0; i < 16; ++i) start[i] = i;
  for (int i = 0; i < 12; ++i) with[i] = 100 * (i + 1), old[i] = -1;
  MPI_Datatype odd, pairs_apart, backwards;
  MPI_Type_vector(4, 1, 3, MPI_INT, &odd);
  MPI_Type_vector(2, 2, 4, MPI_INT, &pairs_apart);
  const int one_each[4] = {1, 1, 1, 1}, places[4] = {3, 2, 1, 0};
  MPI_Type_indexed(4, one_each, places, MPI_INT, &backwards);
  MPI_Type_commit(&odd);
  MPI_Type_commit(&pairs_apart);
  MPI_Type_commit(&backwards);
  const int to = (rank + 1) % size;
  set(start, sizeof start);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Get_accumulate(with, 1, odd, old, 1, backwards, to, 0, 1, pairs_apart, MPI_SUM, win);
  MPI_Win_unlock(to, win);
  look(now, sizeof now);
  /* 0, 1, 4, 5 there get the elements 0, 3, 6, 9 from here. */
  const int wanted[16] = {100, 401, 2, 3, 704, 1005, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (int i = 0; i < 16; ++i) EXPECT_INT(now[i], wanted[i]);
  EXPECT(old[3] == 0 && old[2] == 1 && old[1] == 4 && old[0] == 5 && old[4] == -1, "%d %d %d %d %d", old[0], old[1], old[2],
         old[3], old[4]);
#ifndef OPEN_MPI /* Which leaves them as they are. */
  /* Pairs with a gap in each, in a datatype of the program. */
  struct {
    short value;
    int place;
  } pair_start[4], pair_with[2] = {{9, 1}, {-9, 2}}, pair_now[4];
  memset(pair_start, 0, sizeof pair_start);
  MPI_Datatype every_other;
  MPI_Type_vector(2, 1, 2, MPI_SHORT_INT, &every_other);
  MPI_Type_commit(&every_other);
  set(pair_start, sizeof pair_start);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(pair_with, 2, MPI_SHORT_INT, to, 0, 1, every_other, MPI_MAXLOC, win);
  MPI_Win_unlock(to, win);
  look(pair_now, sizeof pair_now);
  EXPECT(pair_now[0].value == 9 && pair_now[0].place == 1 && pair_now[1].value == 0 && pair_now[2].value == 0, "%d %d %d %d",
         pair_now[0].value, pair_now[0].place, pair_now[1].value, pair_now[2].value);
  MPI_Type_free(&every_other);
  /* A structure of which a member of another kind has no elements: its data are of one kind. */
  const int lengths[2] = {0, 3};
  const MPI_Aint begins[2] = {0, 0};
  const MPI_Datatype kinds[2] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype ints;
  MPI_Type_create_struct(2, lengths, begins, kinds, &ints);
  MPI_Type_commit(&ints);
  set(start, sizeof start);
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  MPI_Accumulate(with, 3, MPI_INT, to, 0, 1, ints, MPI_SUM, win);
  MPI_Win_unlock(to, win);
  look(now, sizeof now);
  for (int i = 0; i < 4; ++i) EXPECT_INT(now[i], i < 3 ? i + with[i] : i);
  MPI_Type_free(&ints);
#endif
  MPI_Type_free(&backwards);
  MPI_Type_free(&pairs_apart);
  MPI_Type_free(&odd);
}

/* Of one origin they come in order, also where they overlap. */
static void ordered(void) {
  int start[8] = {0}, now[8];
  set(start, sizeof start);
  const int to = (rank + 1) % size;
  MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
  for (int i = 1; i <= 20; ++i) {
    const int values[4] = {i, i, i, i};
    MPI_Accumulate(values, 4, MPI_INT, to, (i % 5) * (int)sizeof(int), 4, MPI_INT, MPI_REPLACE, win);
  }
  int back[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  MPI_Get_accumulate(NULL, 0, MPI_INT, back, 8, MPI_INT, to, 0, 8, MPI_INT, MPI_NO_OP, win);
  MPI_Win_unlock(to, win);
  look(now, sizeof now);
  /* The last that covers each place: 20 covers 0 to 3, 19 covers 4 to 7. */
  for (int i = 0; i < 8; ++i) {
    EXPECT_INT(now[i], i < 4 ? 20 : 19);
    EXPECT_INT(back[i], i < 4 ? 20 : 19);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int kind = 0; kind < 2; ++kind) {
    long double mine[room / sizeof(long double)];
    if (kind == 0) {
      MPI_Win_allocate(room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    } else {
      own = (char*)mine;
      MPI_Win_create(own, room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    operations();
    pairs();
    at_once();
    requests();
    derived();
    ordered();
    MPI_Win_free(&win);
  }
  return end();
}
