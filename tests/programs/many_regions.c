// Many short parallel regions and barriers with serial code between them that reads and writes the
// same data.
#include <stdio.h>

static int shared_value[40];
static long log_value;

int main(void) {
    int local = 1;
    for (int region = 0; region < 300; region++) {
        shared_value[region % 40] += region;
#pragma omp parallel num_threads(1 + region % 4)
        {
#pragma omp for schedule(static, 1)
            for (int i = 0; i < 40; i++) shared_value[i] += local + i;
#pragma omp single nowait
            log_value += shared_value[region % 40];
        }
        local = shared_value[(region * 7) % 40] % 5;
    }
    long sum = 0;
    for (int i = 0; i < 40; i++) sum += shared_value[i] * (i + 1L);
    printf("%ld %ld %d\n", sum, log_value, local);
    int ticks = 0;
#pragma omp parallel
    for (int i = 0; i < 300; i++) {
#pragma omp single
        ticks += i;
    }
    printf("%d\n", ticks);
    return 0;
}
