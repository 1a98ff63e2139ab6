// Tasks outside parallel regions whose own regions use what the tasks have captured or reduce.
#include <omp.h>
#include <stdio.h>

#define N 1000

static int orphaned(int factor) {
    int a[N], b[N], c[N], wrong = 0;
    for (int i = 0; i < N; i++) a[i] = i, b[i] = c[i] = 0;
#pragma omp task shared(b) firstprivate(a, factor)
#pragma omp parallel for
    for (int i = 0; i < N; i++) b[i] = factor * a[i];
#pragma omp taskwait
    // `b` and `factor` are firstprivate: no enclosing construct shares them.
#pragma omp task shared(c)
    {
#pragma omp parallel for
        for (int i = 0; i < N; i++) c[i] = b[i] + factor;
#pragma omp parallel for
        for (int i = 0; i < N; i++) b[i] = -1;
#pragma omp parallel for reduction(+ : wrong)
        for (int i = 0; i < N; i++) wrong += b[i] != -1;
        if (wrong) printf("%d elements of the task's own array are wrong\n", wrong);
    }
#pragma omp taskwait
    for (int i = 0; i < N; i++) wrong += b[i] != factor * i || c[i] != factor * i + factor;
    return wrong;
}

static int on_the_target(int factor) {
    int a[N], wrong = 0;
    struct { int first[7], step; } series = {{factor}, 3};
#pragma omp target nowait firstprivate(series) map(from : a) depend(out : a)
#pragma omp parallel for
    for (int i = 0; i < N; i++) a[i] = series.first[0] + series.step * i;
#pragma omp target nowait map(tofrom : a) depend(inout : a) firstprivate(factor)
#pragma omp teams distribute parallel for
    for (int i = 0; i < N; i++) a[i] += factor;
#pragma omp taskwait
    for (int i = 0; i < N; i++) wrong += a[i] != 2 * factor + 3 * i;
    return wrong;
}

static int in_a_loop(int factor) {
    static int sums[8];
    int weights[4] = {factor, 2, 3, 4}, wrong = 0;
#pragma omp taskloop firstprivate(weights)
    for (int i = 0; i < 8; i++) {
        int sum = 0;
        weights[1] += i;
#pragma omp parallel num_threads(4) reduction(+ : sum)
        sum += weights[omp_get_thread_num()];
        weights[1] -= i;
        sums[i] = sum;
    }
    for (int i = 0; i < 8; i++) wrong += sums[i] != factor + 9 + i;
    return wrong;
}

static int reduced(int factor) {
    int sums[50] = {0}, total = 0, wrong = 0;
#pragma omp taskgroup task_reduction(+ : sums, total)
    for (int k = 0; k < 3; k++)
#pragma omp task in_reduction(+ : sums, total)
    {
#pragma omp parallel for
        for (int i = 0; i < 50; i++) sums[i] += i * factor;
#pragma omp parallel for
        for (int i = 0; i < 100; i++)
#pragma omp atomic
            total += i;
    }
#pragma omp taskloop reduction(+ : total)
    for (int i = 0; i < 10; i++)
#pragma omp parallel num_threads(4)
#pragma omp atomic
        total += factor;
    for (int i = 0; i < 50; i++) wrong += sums[i] != 3 * factor * i;
    return wrong + (total != 3 * 4950 + 40 * factor);
}

int main(void) {
    for (int i = 1; i < 4; i++) printf("%d %d %d %d\n", orphaned(i), on_the_target(i), in_a_loop(i), reduced(i));
    return 0;
}
