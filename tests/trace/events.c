/* What a trace has events of, in a mode:
     all             every kind of event
     many N          N read misses in each process
     killed          process 1 is killed in a region
     launcher FILE   the launcher is killed as soon as FILE, which is the trace, has a region that has begun */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 / sizeof(long), BLOCKS = 64 };

long records[BLOCKS * BLOCK];
long total;
omp_lock_t guard;

static long tree(int depth) {
  if (depth == 0) return 1;
  long left, right;
#pragma omp task shared(left)
  left = tree(depth - 1);
  right = tree(depth - 1);
#pragma omp taskwait
  return left + right;
}

static void all(void) {
  omp_init_lock(&guard);
#pragma omp parallel
  {
    for (int round = 0; round < 4; round++) {
#pragma omp for
      for (int i = 0; i < BLOCKS; i++) records[i * BLOCK] += i + round;
      /* What the other thread wrote: one thread may do all of the loop behind it. */
      long sum = records[(omp_get_thread_num() == 0 ? BLOCKS - 1 : 1) * BLOCK];
#pragma omp for schedule(dynamic, 8)
      for (int i = 0; i < BLOCKS; i++) sum += records[(BLOCKS - 1 - i) * BLOCK];
#pragma omp critical(sums)
      total += sum;
      omp_set_lock(&guard);
      records[1] += sum;
      omp_unset_lock(&guard);
#pragma omp barrier
    }
#pragma omp single
    total += tree(6);
  }
}

static void many(int count) {
  for (int round = 0; round < count / BLOCKS; round++) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < BLOCKS; i++) records[i * BLOCK] = round;
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      volatile long *seen = records;
      for (int i = 0; i < BLOCKS; i++) sum += seen[i * BLOCK];
    }
    total += sum;
  }
}

static void killed(void) {
#pragma omp parallel
  {
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) raise(SIGKILL);
#pragma omp barrier
  }
}

static void launcher(const char *trace) {
#pragma omp parallel
#pragma omp masked
  {
    struct stat start, now;
    for (stat(trace, &now), start = now; now.st_size == start.st_size; stat(trace, &now)) {
#pragma omp task
      total++;
#pragma omp taskwait
      usleep(1000);
    }
    kill(getppid(), SIGKILL);
    for (;;) pause();
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "all";
  if (!strcmp(mode, "many")) many(atoi(argv[2]));
  else if (!strcmp(mode, "killed")) killed();
  else if (!strcmp(mode, "launcher")) launcher(argv[2]);
  else all();
  printf("%ld\n", total);
}
