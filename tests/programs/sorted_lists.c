// Loops that are left by what they find, and advance by what they compare: such loops are executed in strips.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 9000, ROUNDS = 6 };

struct node {
    int index;
    double value;
};

// Both end with an index of -1.
__attribute__((noinline)) static double product(const struct node *x, const struct node *y)
{
    double sum = 0;
    while (x->index != -1 && y->index != -1) {
        if (x->index == y->index)
            sum += x++->value * y++->value;
        else if (x->index > y->index)
            y++;
        else
            x++;
    }
    return sum;
}

__attribute__((noinline)) static int merge(const int *a, int n, const int *b, int m, int *out)
{
    int i = 0, j = 0, k = 0;
    while (i < n && j < m)
        out[k++] = a[i] <= b[j] ? a[i++] : b[j++];
    while (i < n)
        out[k++] = a[i++];
    while (j < m)
        out[k++] = b[j++];
    return k;
}

// From the end: the last one that is not larger.
__attribute__((noinline)) static int last(const short *a, int n, int most)
{
    int i = n - 1;
    while (i >= 0 && a[i] > most)
        i--;
    return i;
}

// Keeps what a condition holds of, up to a zero; writes seldom.
__attribute__((noinline)) static char *kept(const char *from, char *to, int every)
{
    for (; *from; from++)
        if (*from % every == 0)
            *to++ = *from;
    return to;
}

// Swaps from both ends.
__attribute__((noinline)) static int partition(int *a, int n, int pivot)
{
    int *low = a, *high = a + n - 1;
    while (low <= high) {
        if (*low < pivot) {
            low++;
        } else if (*high >= pivot) {
            high--;
        } else {
            int t = *low;
            *low++ = *high;
            *high-- = t;
        }
    }
    return (int)(low - a);
}

int main(void)
{
    struct node *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    int *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *c = malloc(N * sizeof *c);
    short *down = malloc(N * sizeof *down);
    char *text = malloc(N);
    int threads = 4;
    int *merged = malloc(threads * 2 * N * sizeof *merged);
    char *chosen = calloc(threads, N);
    for (int i = 0; i < N; i++) {
        x[i].index = 2 * i;
        y[i].index = 3 * i;
        x[i].value = y[i].value = i % 100;
        a[i] = 3 * i;
        b[i] = 2 * i + 1;
        c[i] = i * 7919 % N;
        down[i] = (short)i;
        text[i] = (char)(1 + i % 126);
    }
    x[N - 1].index = y[N - 1].index = -1;
    text[N - 1] = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double products = 0;
        long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : products, sum)
        {
            int me = omp_get_thread_num();
            products += product(x, y + me);
            sum += last(down, N, 10 * me + round);
            int *mine = merged + me * 2 * N;
            int length = merge(a + me, N - me, b, N, mine);
            for (int i = 0; i < length; i++)
                sum += (long)mine[i] * (i % 13);
            char *out = chosen + me * N;
            sum += kept(text, out, 2 + 20 * me + round) - out;
            int part = N / threads;
            sum += partition(c + me * part, part, N / 2 + round);
        }
        long order = 0;
        for (int i = 0; i < N; i++)
            order = (order * 31 + c[i]) % 1000003;
        for (int i = 0; i < threads * N; i++)
            order = (order * 31 + (i % N < 20 ? chosen[i] : 0)) % 1000003;
        printf("%d: %g %ld %ld\n", round, products, sum, order);
        for (int i = round; i < N - 1; i += 17) {
            x[i].value += 1;
            a[i]++;
            c[i] = (c[i] + 4001) % N;
            text[i] = (char)(1 + text[i] % 120);
        }
    }
    return 0;
}
