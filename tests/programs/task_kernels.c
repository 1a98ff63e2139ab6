// Task kernels in the manner of the Barcelona suite: fib, queens, merge sort, sparse LU with dependences, a tree walk from several producers.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long fib(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) if (n > 10)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 10)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static int safe(const char *board, int row, int column) {
    for (int r = 0; r < row; r++)
        if (board[r] == column || abs(board[r] - column) == row - r) return 0;
    return 1;
}

static long queens(const char *board, int row, int n) {
    if (row == n) return 1;
    long found[16] = {0};
    for (int c = 0; c < n; c++) {
        if (!safe(board, row, c)) continue;
#pragma omp task shared(found) firstprivate(c) final(row > 3)
        {
            char next[16];
            memcpy(next, board, 16);
            next[row] = (char)c;
            found[c] = queens(next, row + 1, n);
        }
    }
#pragma omp taskwait
    long sum = 0;
    for (int c = 0; c < n; c++) sum += found[c];
    return sum;
}

static void merge_sort(int *v, int *tmp, int n) {
    if (n <= 250) {
        for (int i = 1; i < n; i++)
            for (int j = i; j > 0 && v[j] < v[j - 1]; j--) {
                int t = v[j];
                v[j] = v[j - 1], v[j - 1] = t;
            }
        return;
    }
    int half = n / 2;
    // Both tied: with an untied task that waits for its children, libomp's own run, the reference, hangs now and then.
#pragma omp task
    merge_sort(v, tmp, half);
#pragma omp task
    merge_sort(v + half, tmp + half, n - half);
#pragma omp taskwait
    int i = 0, j = half, k = 0;
    while (i < half && j < n) tmp[k++] = v[i] <= v[j] ? v[i++] : v[j++];
    while (i < half) tmp[k++] = v[i++];
    while (j < n) tmp[k++] = v[j++];
    memcpy(v, tmp, n * sizeof *v);
}

enum { NB = 6, BS = 12 };
typedef double Block[BS][BS];
static Block *lu[NB][NB];

static Block *new_block(double large) {
    Block *b = malloc(sizeof *b);
    for (int i = 0; i < BS; i++)
        for (int j = 0; j < BS; j++) (*b)[i][j] = 1.0 / (1 + i + 2 * j) + (i == j ? large : 0);
    return b;
}

static void diagonal(Block *d) {
    for (int k = 0; k < BS; k++)
        for (int i = k + 1; i < BS; i++) {
            (*d)[i][k] /= (*d)[k][k];
            for (int j = k + 1; j < BS; j++) (*d)[i][j] -= (*d)[i][k] * (*d)[k][j];
        }
}

static void forward(Block *d, Block *c) {
    for (int j = 0; j < BS; j++)
        for (int k = 0; k < BS; k++)
            for (int i = k + 1; i < BS; i++) (*c)[i][j] -= (*d)[i][k] * (*c)[k][j];
}

static void divide(Block *d, Block *r) {
    for (int i = 0; i < BS; i++)
        for (int k = 0; k < BS; k++) {
            (*r)[i][k] /= (*d)[k][k];
            for (int j = k + 1; j < BS; j++) (*r)[i][j] -= (*r)[i][k] * (*d)[k][j];
        }
}

static void update(Block *r, Block *c, Block *inner) {
    for (int i = 0; i < BS; i++)
        for (int j = 0; j < BS; j++)
            for (int k = 0; k < BS; k++) (*inner)[i][j] -= (*r)[i][k] * (*c)[k][j];
}

static double sparse_lu(void) {
    for (int i = 0; i < NB; i++)
        for (int j = 0; j < NB; j++) lu[i][j] = i == j || (i + 2 * j) % 3 != 1 ? new_block(i == j ? 100 : 1) : NULL;
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < NB; k++) {
#pragma omp task depend(inout : lu[k][k])
        diagonal(lu[k][k]);
        for (int j = k + 1; j < NB; j++) {
            if (lu[k][j]) {
#pragma omp task depend(in : lu[k][k]) depend(inout : lu[k][j])
                forward(lu[k][k], lu[k][j]);
            }
            if (lu[j][k]) {
#pragma omp task depend(in : lu[k][k]) depend(inout : lu[j][k])
                divide(lu[k][k], lu[j][k]);
            }
        }
        for (int i = k + 1; i < NB; i++) {
            if (!lu[i][k]) continue;
            for (int j = k + 1; j < NB; j++) {
                if (!lu[k][j]) continue;
                if (!lu[i][j]) lu[i][j] = new_block(0);
#pragma omp task depend(in : lu[i][k], lu[k][j]) depend(inout : lu[i][j])
                update(lu[i][k], lu[k][j], lu[i][j]);
            }
        }
    }
    double sum = 0;
    for (int i = 0; i < NB; i++)
        for (int j = 0; j < NB; j++) {
            for (int x = 0; lu[i][j] && x < BS * BS; x++) sum += (*lu[i][j])[x / BS][x % BS] * (1 + x % 7);
            free(lu[i][j]);
        }
    return sum;
}

// Every thread makes tasks that make tasks; no taskwait, the barrier has to find them all.
static long cells[3000];

static void spread(int from, int to) {
    if (to - from <= 20) {
        for (int i = from; i < to; i++) cells[i] += i * 3 + 1;
        return;
    }
    int middle = (from + to) / 2;
#pragma omp task
    spread(from, middle);
#pragma omp task
    spread(middle, to);
}

int main(void) {
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fib(15);
    printf("fib %ld\n", result);

    char board[16] = {0};
#pragma omp parallel
#pragma omp master
    result = queens(board, 0, 8);
    printf("queens %ld\n", result);

    int n = 6000, *v = malloc(n * sizeof *v), *tmp = malloc(n * sizeof *tmp);
    unsigned seed = 1;
    for (int i = 0; i < n; i++) v[i] = (int)((seed = seed * 1664525 + 1013904223) >> 8);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
#pragma omp single
        merge_sort(v, tmp, n);
        for (int i = 0; round < 2 && i < n; i++) v[i] = (int)((seed = seed * 1664525 + 1013904223) >> 8);
    }
    long mix = 0, sorted = 1;
    for (int i = 0; i < n; i++) mix = mix * 31 + v[i], sorted &= i == 0 || v[i - 1] <= v[i];
    printf("sort %ld %ld\n", sorted, mix);
    free(v), free(tmp);

    printf("lu %.9f\n", sparse_lu());

    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), threads = omp_get_num_threads();
            spread(3000L * me / threads, 3000L * (me + 1) / threads);
#pragma omp barrier
            // Behind the barrier everybody sees everything.
            if (me == threads - 1) {
                long sum = 0;
                for (int i = 0; i < 3000; i++) sum += cells[i];
                if (sum != (round + 1) * (3L * 2999 * 1500 + 3000)) printf("lost: %ld\n", sum);
            }
        }
    }
    long sum = 0;
    for (int i = 0; i < 3000; i++) sum = sum * 7 + cells[i];
    printf("spread %ld\n", sum);
    return 0;
}
