// volatile scalars, arrays and pointers, written and read in different threads between barriers.
#include <stdio.h>

static volatile int counter;
static volatile long array[200];
static int *volatile pointer;
static volatile struct { char a; short b; double c; } record;

int main(void) {
    volatile int local = 3;
    int target[4] = {10, 20, 30, 40};
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int round = 0; round < 25; round++) {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 200; i++) array[i] += i + round;
#pragma omp single
        {
            counter++;
            local += counter;
            pointer = &target[round % 4];
            record.a = (char)round;
            record.b = (short)(record.a * 5);
            record.c += 0.5;
        }
        sum += counter + local + *pointer + record.a + record.b + (long)(record.c * 2);
#pragma omp barrier
#pragma omp for schedule(static, 9)
        for (int i = 0; i < 199; i++) sum += 0 * array[i];
#pragma omp single
        sum += array[round];
    }
    long total = 0;
    for (int i = 0; i < 200; i++) total += array[i] * i;
    printf("%d %d %ld %d %.1f\n", counter, local, total, *pointer, record.c);
    // sum counts once per thread: it is printed for a team of known size only.
    long fixed = 0;
#pragma omp parallel num_threads(4) reduction(+ : fixed)
    fixed += counter * 3 + local;
    printf("%ld %d\n", fixed, sum != 0);
    return 0;
}
