/* What a thread has seen of a variable by an atomic load, or by a compare-and-swap that failed, it sees by an ordinary load behind that as well. Thread 0 changes the variable by atomic operations only and waits for thread 1
   each time, so no access races; it publishes what it has stored before thread 1 has its copy, and then changes the variable once more. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 300, APART = 8192 / sizeof(long) };

static struct {
  long before[APART], value, between[APART], answer, further[APART], other, behind[APART];
} shared;

__attribute__((noinline)) static long load(long *place) {
  __asm__ volatile("" : "+r"(place));
  return *place;
}

static void compute(int steps) {
  for (volatile int step = 0; step < steps; step++) {
  }
}

static void change(int how, long round) {
  long last = round - 1;
  if (how == 0) __atomic_store_n(&shared.value, round, __ATOMIC_RELEASE);
  else if (how == 1) __atomic_fetch_add(&shared.value, 1, __ATOMIC_SEQ_CST);
  else __atomic_compare_exchange_n(&shared.value, &last, round, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static long look(int how) {
  if (how == 0) return __atomic_load_n(&shared.value, __ATOMIC_ACQUIRE);
  long never = -1;
  __atomic_compare_exchange_n(&shared.value, &never, -2, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return never;
}

int main(void) {
  int stale = 0;
  for (int how = 0; how < 6; how++) {
    shared.value = shared.answer = 0;
#pragma omp parallel
    if (omp_get_num_threads() > 1) {
      for (long round = 1; round <= ROUNDS; round++) {
        if (omp_get_thread_num() == 0) {
          change(how % 3, round);
          compute(4000);
          __atomic_store_n(&shared.other, round, __ATOMIC_RELEASE);
          while (__atomic_load_n(&shared.answer, __ATOMIC_ACQUIRE) != round) compute(10);
        } else if (omp_get_thread_num() == 1) {
          while (look(how / 3) != round) compute(10);
          stale += load(&shared.value) != round;
          compute(12000);
          stale += look(how / 3) != round;
          stale += load(&shared.value) != round;
          __atomic_store_n(&shared.answer, round, __ATOMIC_RELEASE);
        }
      }
    }
  }
  printf("%d stale\n", stale);
  return stale != 0;
}
