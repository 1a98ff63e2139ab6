// Loops whose chunks or bounds are as large as their types allow.
#include <limits.h>
#include <stdio.h>

enum { N = 3000 };
static int hit[N];

/* Iterations that ran; each must have run once. */
static void show(const char *what) {
    long sum = 0, wrong = 0;
    for (int i = 0; i < N; i++) {
        sum += hit[i];
        wrong += hit[i] > 1;
        hit[i] = 0;
    }
    printf("%-24s %ld %ld\n", what, sum, wrong);
    fflush(stdout);
}

int main(void) {
#pragma omp parallel for schedule(static, INT_MAX)
    for (int i = 0; i < N; i++) hit[i]++;
    show("static, INT_MAX");
#pragma omp parallel for schedule(static, INT_MAX / 2)
    for (int i = N - 1; i >= 0; i--) hit[i]++;
    show("static, INT_MAX / 2 down");
#pragma omp parallel for schedule(static, 1 << 30)
    for (unsigned i = 0; i < N; i++) hit[i]++;
    show("static, 2^30 unsigned");
#pragma omp parallel for schedule(static, LLONG_MAX)
    for (long i = 0; i < N; i++) hit[i]++;
    show("static, LLONG_MAX");
#pragma omp parallel for schedule(static, 2000)
    for (int i = INT_MAX - N; i < INT_MAX; i++) hit[i - (INT_MAX - N)]++;
    show("static, 2000 at the top");
#pragma omp teams num_teams(2)
#pragma omp distribute dist_schedule(static, INT_MAX)
    for (int i = 0; i < N; i++) hit[i]++;
    show("distribute, INT_MAX");
#pragma omp parallel for schedule(dynamic, INT_MAX)
    for (int i = 0; i < N; i++) hit[i]++;
    show("dynamic, INT_MAX");
#pragma omp parallel for schedule(dynamic, 1000000000000LL)
    for (long i = 0; i < N; i++) hit[i]++;
    show("dynamic, 10^12");
#pragma omp parallel for schedule(guided, 1000)
    for (int i = N - 1; i >= 0; i--) hit[i]++;
    show("guided, 1000 down");
#pragma omp parallel for schedule(dynamic, 3) collapse(2)
    for (long long i = LLONG_MIN; i < LLONG_MIN + 30; i++)
        for (unsigned char j = 0; j < 100; j++) hit[(i - LLONG_MIN) * 100 + j]++;
    show("collapse at the bottom");
#pragma omp parallel for schedule(static) collapse(3)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 0; j++)
            for (int k = 0; k < 10; k++) hit[0]++;
    show("collapse of nothing");
    return 0;
}
