// Variable-length arrays and alloca, shared by a team, in loops and in recursive calls.
#include <alloca.h>
#include <stdio.h>

static long work(int n, int round) {
    int vla[n];
    double matrix[n / 2 + 1][n % 7 + 1];
    char *text = alloca((size_t)n + 1);
    for (int i = 0; i < n; i++) vla[i] = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < n; i++) {
            vla[i] += i * round;
            text[i] = (char)('a' + i % 26);
        }
#pragma omp for collapse(2)
        for (int i = 0; i <= n / 2; i++)
            for (int j = 0; j <= n % 7; j++) matrix[i][j] = vla[(i + j) % n] * 0.5;
    }
    text[n] = 0;
    long sum = 0;
    for (int i = 0; i < n; i++) sum += vla[i] + text[i];
    for (int i = 0; i <= n / 2; i++) sum += (long)matrix[i][i % (n % 7 + 1)];
    return n > 10 ? sum + work(n / 2, round + 1) : sum;
}

int main(void) {
    long total = 0;
    for (int n = 1; n < 400; n += 37) total += work(n, 1 + n % 3);
    printf("%ld\n", total);
    // alloca in a loop: each block lives until the function returns.
    char *kept[40];
    for (int i = 0; i < 40; i++) {
        kept[i] = alloca(64);
        snprintf(kept[i], 64, "kept %d", i);
    }
    int letters = 0;
#pragma omp parallel for reduction(+ : letters)
    for (int i = 0; i < 40; i++) {
        kept[i][0] = 'K';
        for (char *p = kept[i]; *p; p++) letters += *p;
    }
    printf("%d %s\n", letters, kept[39]);
    // A VLA private to each thread, and a pointer to a VLA passed to a function's parameter type.
    int n = 13;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < 50; i++) {
        int mine[n + i];
        for (int k = 0; k < n + i; k++) mine[k] = k;
        total += mine[n + i - 1];
    }
    printf("%ld\n", total);
    return 0;
}
