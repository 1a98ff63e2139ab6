// The kinds of dependences, and waiting for them.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int log_[400], logged;

static void chain(void) {
    int x = 0, seen[10];
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(out : x) shared(x)
            x = x * 2 + 1;
            for (int k = 0; k < 3; k++) {
#pragma omp task depend(in : x) shared(x, seen) firstprivate(i, k)
                if (k == 1) seen[i] = x;
            }
        }
    }
    printf("chain");
    for (int i = 0; i < 10; i++) printf(" %d", seen[i]);
    printf("\n");
}

static void sets(void) {
    int x = 1, order = 0;
    long sum = 0, product = 1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : sum, product) shared(x)
        x = 5;
        // One at a time, in any order, after x and before the reader.
        for (int i = 1; i <= 20; i++) {
#pragma omp task depend(mutexinoutset : sum) shared(sum, x)
            sum += i * x;
        }
#pragma omp task depend(in : sum) shared(sum, order)
        order = sum == 1050 ? 1 : -1;
        // All together, before the next.
        for (int i = 0; i < 8; i++) {
#pragma omp task depend(inoutset : product) shared(product)
#pragma omp atomic
            product *= 3;
        }
#pragma omp task depend(inout : product) shared(product)
        product += 1;
    }
    printf("sets %d %ld %ld\n", order, sum, product);
}

static void waiting(void) {
    int a = 0, b = 0, c = 0, got = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : a) shared(a)
        {
            for (volatile int spin = 0; spin < 20000; spin++) {}
            a = 3;
        }
#pragma omp task depend(out : b) shared(b)
        b = 4;
#pragma omp taskwait depend(in : a)
        got = a;
        // Undeferred: runs here when its dependence is fulfilled.
#pragma omp task if (0) depend(inout : b) shared(b)
        b *= 10;
        got += b;
        omp_depend_t object;
#pragma omp depobj(object) depend(inout : c)
#pragma omp task depend(depobj : object) shared(c)
        c = 1;
#pragma omp task depend(depobj : object) shared(c)
        c = c * 10 + 2;
#pragma omp depobj(object) destroy
#pragma omp taskwait
        got += c * 100;
    }
    printf("waiting %d\n", got);
}

// A wavefront over a matrix of cells.
static long wave[12][12];
static void wavefront(void) {
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++) {
#pragma omp task depend(in : wave[i > 0 ? i - 1 : 0][j], wave[i][j > 0 ? j - 1 : 0]) depend(inout : wave[i][j])
            wave[i][j] = i && j ? wave[i - 1][j] + wave[i][j - 1] : 1;
        }
    printf("wave %ld %ld\n", wave[11][11], wave[5][7]);
}

// Dependences hold between siblings only: children of different tasks are independent domains.
static void nested(void) {
    long sums[4] = {0};
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < 4; t++) {
#pragma omp task shared(sums) firstprivate(t)
        {
            long value = t;
            for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : value) shared(value) firstprivate(i)
                value = value * 3 + i;
            }
#pragma omp taskwait
            sums[t] = value;
        }
    }
    printf("nested %ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3]);
}

static void iterators(void) {
    int v[16], total = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < 16; i++) {
#pragma omp task depend(out : v[i]) shared(v)
            v[i] = i * i;
        }
#pragma omp task depend(iterator(k = 0 : 16), in : v[k]) shared(v, total)
        for (int i = 0; i < 16; i++) total += v[i];
    }
    printf("iterators %d\n", total);
}

int main(void) {
    chain(), sets(), waiting(), wavefront(), nested(), iterators();
    return logged + log_[0];
}
