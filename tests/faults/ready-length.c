//@ layout: 1x1
//@ found: verify
#include <stdio.h>
int at[1000];
double a[1000], b[1000];

__attribute__((noinline)) double gather(int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[at[i]] * b[at[i]];
    return sum;
}

int main(void) {
    double sum = 0;
    for (int i = 0; i < 1000; i++) at[i] = i * 7 % 1000;
#pragma omp parallel num_threads(1) reduction(+ : sum)
    sum += gather(1000);
    printf("%g\n", sum);
    return 0;
}
