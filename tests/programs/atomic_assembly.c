/* Atomic operations in inline assembly, as programs have them from before compilers had builtins. */
#include <stdio.h>

enum { N = 64, ROUNDS = 4000 };
static int counts[N], lock, guarded, largest;
static long wide[N];
static unsigned flags[N];

static int fetch_add(int *p, int x) {
  __asm__ volatile("lock; xadd %%eax, %2;" : "=a"(x) : "a"(x), "m"(*p) : "memory");
  return x;
}

static long fetch_add_wide(long *p, long x) {
  __asm__ volatile("lock; xaddq %0, %1" : "+r"(x), "+m"(*p) : : "memory");
  return x;
}

static int compare_and_swap(int *p, int old, int new) {
  int before;
  __asm__ volatile("lock; cmpxchgl %1,%2" : "=a"(before) : "r"(new), "m"(*p), "0"(old) : "memory");
  return before;
}

static int swaps(int *p, int old, int new) {
  __asm__ volatile("lock\n\tcmpxchgl %2,%1 ;\n\t sete %%al ; movzbl %%al,%0 ; 1:"
                   : "=a"(old), "=m"(*p)
                   : "r"(new), "a"(old), "m"(*p)
                   : "memory");
  return old;
}

static int exchange(int *p, int x) {
  __asm__ volatile("xchgl %0,%1" : "=r"(x) : "m"(*p), "0"(x) : "memory");
  return x;
}

static void increment(int *p) { __asm__ volatile("lock; incl %0" : "=m"(*p) : "m"(*p) : "memory"); }

static void set(unsigned *p, unsigned bits) { __asm__ volatile("lock; orl %1,%0" : "+m"(*p) : "ir"(bits) : "memory"); }

int main(void) {
  long seen = 0;
#pragma omp parallel for reduction(+ : seen) schedule(static, 7)
  for (int i = 0; i < ROUNDS; i++) {
    seen += fetch_add(&counts[i % N], 1) + fetch_add_wide(&wide[i % N], i);
    increment(&counts[(i + 1) % N]);
    set(&flags[i % N], 1u << i % 31);
    int old = largest;
    for (int found; old < i && (found = compare_and_swap(&largest, old, i)) != old;) old = found;
    if (i % 16 == 0) {
      while (exchange(&lock, 1)) {
      }
      guarded++;
      exchange(&lock, 0);
      int value;
      do value = fetch_add(&counts[0], 0);
      while (!swaps(&counts[0], value, value + 1));
    }
  }
  long sum = 0;
  for (int i = 0; i < N; i++) sum += counts[i] * (i + 1L) + wide[i] * (i + 3L) + (long)flags[i] * (i + 5L);
  printf("%ld %d %d %d\n", sum, guarded, largest, counts[0]);
  return seen < 0;
}
