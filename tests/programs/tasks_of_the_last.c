/* Behind a barrier one thread makes tasks and waits for them. The others have waited for tasks at the barrier, and may still get some when it is over; then they wait for that thread,
   in a reduction. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 200, TASKS = 50 };
static long done[TASKS];

int main(void) {
  long wrong = 0;
  for (long round = 1; round <= ROUNDS; round++) {
#pragma omp parallel reduction(+ : wrong)
    {
#pragma omp barrier
      if (omp_get_thread_num() == omp_get_num_threads() - 1) {
        for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
          {
#pragma omp atomic
            done[i] += 7;
          }
        }
#pragma omp taskwait
        for (int i = 0; i < TASKS; i++) wrong += done[i] != 7 * round;
      }
    }
  }
  printf("wrong %ld\n", wrong);
  return wrong != 0;
}
