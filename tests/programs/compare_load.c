/* Threads claim the elements of an array by compare-and-swap, as searches in graphs do, and load behind each operation what it has left or found. Beside it they store to the elements' neighbours, so that homes and
   copies of the blocks come and go. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1 << 14, ROUNDS = 12 };

static int owner[ELEMENTS];
static int claimed[ELEMENTS];

int main(void) {
  long stale = 0, wins = 0, wrong = 0;
  for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for
    for (int i = 0; i < ELEMENTS; i++) owner[i] = -1;
#pragma omp parallel reduction(+ : stale, wins)
    {
      int me = omp_get_thread_num();
      unsigned at = 977u * (unsigned)me;
      for (int step = 0; step < ELEMENTS; step++) {
        at = (at + 4099u) % ELEMENTS;
        if (owner[at] == -1 && __sync_bool_compare_and_swap(&owner[at], -1, me)) wins++;
        /* Somebody has claimed it: this thread, or the one that the operation has found. */
        if (owner[at] == -1) stale++;
        if (owner[at] == me) claimed[at] = me + 1;
      }
    }
    for (int i = 0; i < ELEMENTS; i++) {
      if (owner[i] < 0 || claimed[i] != owner[i] + 1) wrong++;
      claimed[i] = 0;
    }
  }
  printf("%ld stale, %ld claimed, %ld wrong\n", stale, wins, wrong);
  return stale || wins != (long)ROUNDS * ELEMENTS || wrong;
}
