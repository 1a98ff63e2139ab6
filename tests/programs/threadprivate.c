// threadprivate globals and statics, copyin, persistence between regions, _Thread_local.
#include <omp.h>
#include <stdio.h>

typedef struct {
    int a[10];
    long sum;
} Scratch;

static int counter = 5;
static Scratch scratch;
_Thread_local long plain_tls = 100;
#pragma omp threadprivate(counter, scratch)

static int next_id(void) {
    static int id = 1000;
#pragma omp threadprivate(id)
    return ++id;
}

int main(void) {
    omp_set_dynamic(0);
    counter = 50;
    int sums[4] = {0};
#pragma omp parallel num_threads(4)
    {
        // Thread 0 keeps main's value, the others the initial one.
        counter += omp_get_thread_num();
        sums[omp_get_thread_num()] = counter;
    }
    for (int i = 0; i < 4; i++) printf("%d ", sums[i]);
#pragma omp parallel num_threads(4)
    {
        counter *= 2;
        sums[omp_get_thread_num()] = counter;
    }
    for (int i = 0; i < 4; i++) printf("%d ", sums[i]);
    puts("");
    counter = 7;
    for (int i = 0; i < 10; i++) scratch.a[i] = i;
    scratch.sum = 3;
#pragma omp parallel num_threads(4) copyin(counter, scratch)
    {
        for (int i = 0; i < 10; i++) scratch.sum += scratch.a[i] * (omp_get_thread_num() + 1);
        plain_tls += scratch.sum + counter;
        sums[omp_get_thread_num()] = (int)plain_tls;
    }
    for (int i = 0; i < 4; i++) printf("%d ", sums[i]);
#pragma omp parallel num_threads(4)
    {
        next_id();
        next_id();
        sums[omp_get_thread_num()] = next_id() + (int)scratch.sum;
    }
    for (int i = 0; i < 4; i++) printf("%d ", sums[i]);
    printf("| %d %ld\n", counter, scratch.sum);
    return 0;
}
