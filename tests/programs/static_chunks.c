// Loops with schedule(static, CHUNK): some that cannot tell which thread has which chunk, and some that can, each by another trace, and see what OpenMP prescribes.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define N 203

static double a[N], b[N];
static int seen[N], first[N];
static int own;
#pragma omp threadprivate(own)

static void expect(const char *name, int right)
{
    printf("%s %s\n", name, right ? "ok" : "WRONG");
}

static int owner(int i, int chunk) { return i / chunk % THREADS; }

// The number of iterations that the thread of iteration i has executed before it.
static int before(int i, int chunk)
{
    int count = 0;
    for (int j = 0; j < i; j++) count += owner(j, chunk) == owner(i, chunk);
    return count;
}

static int counted(int chunk)
{
    int right = 1;
    for (int i = 0; i < N; i++) right &= seen[i] == before(i, chunk);
    memset(seen, -1, sizeof seen);
    return right;
}

static int added_up(int i)
{
    own += i;
    return own;
}

static __attribute__((noinline)) int slot(int i) { return i / 4 % THREADS; }

static __attribute__((noinline)) void fill(int from, int step)
{
#pragma omp for schedule(static, 4) nowait
    for (int i = from; i < N; i += step) b[i] = i;
}

static __attribute__((noinline)) void sum_up(int from, int step)
{
#pragma omp for schedule(static, 4)
    for (int i = from; i < N; i += step) a[i] = 3 * b[i];
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_num_threads(THREADS);
    memset(seen, -1, sizeof seen);
    int n = N, right = 1;

    // No trace.
    for (int times = 0; times < 3; times++) {
#pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < n; i++) a[i] = i + times, b[i] = 2 * a[i];
    }
    for (int i = 0; i < N; i++) right &= a[i] == i + 2 && b[i] == 2 * a[i];
    expect("independent", right);

    double sum = 0, most = -1;
    long product = 1;
    unsigned bits = 0, odd = 0;
#pragma omp parallel for schedule(static, 3) reduction(+ : sum)
    for (int i = 0; i < n; i++)
        if (b[i] > 0) sum += b[i];
#pragma omp parallel for schedule(static, 3) reduction(max : most)
    for (int i = 0; i < n; i++)
        if (b[i] > most) most = b[i];
#pragma omp parallel for schedule(static, 1) reduction(* : product) reduction(| : bits) reduction(^ : odd)
    for (int i = 0; i < n; i++) {
        product *= i % 50 == 49 ? 3 : 1;
        bits |= 1u << (i % 20);
        odd ^= i;
    }
    unsigned wanted = 0;
    for (int i = 0; i < N; i++) wanted ^= i;
    expect("reductions", sum == 2. * (N * (N - 1) / 2 + 2 * N) && most == 2. * (N + 1) && product == 81
                             && bits == (1u << 20) - 1 && odd == wanted);

    right = 1;
#pragma omp parallel for schedule(static, 2)
    for (int i = 0; i < n; i++) {
        double square[8];
        for (int k = 0; k < 8; k++) square[k] = k * a[i];
        b[i] = 0;
        for (int k = 0; k < 8; k++) b[i] += square[k];
    }
    for (int i = 0; i < N; i++) right &= b[i] == 28. * (i + 2);
    expect("private array", right);

    // A counter.
    int count = 0;
#pragma omp parallel for schedule(static, 1) firstprivate(count)
    for (int i = 0; i < n; i++) seen[i] = count++;
    expect("counter", counted(1));

    // A counter that is compared only.
    int times = 0;
#pragma omp parallel for schedule(static, 1) firstprivate(times)
    for (int i = 0; i < n; i++) {
        if (times < 3) seen[i] = 1;
        times++;
    }
    right = 1;
    for (int i = 0; i < N; i++) right &= seen[i] == (before(i, 1) < 3 ? 1 : -1);
    memset(seen, -1, sizeof seen);
    expect("compared counter", right);

    // The first iteration of a thread, which compilers peel.
    int begun = 0, from = 0;
#pragma omp parallel for schedule(static, 1) firstprivate(begun, from)
    for (int i = 0; i < n; i++) {
        if (!begun) from = i, begun = 1;
        first[i] = i - from;
    }
    right = 1;
    for (int i = 0; i < N; i++) right &= first[i] == i - owner(i, 1);
    expect("first iteration", right);

    // A private array.
    int counts[4] = {0};
#pragma omp parallel for schedule(static, 5) firstprivate(counts)
    for (int i = 0; i < n; i++) seen[i] = counts[(i * 13) & 1] + counts[~(i * 13) & 1], counts[i & 1]++;
    expect("array of counters", counted(5));

    // The thread's number.
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) seen[i] = omp_get_thread_num();
    right = 1;
    for (int i = 0; i < N; i++) right &= seen[i] == owner(i, 1);
    memset(seen, -1, sizeof seen);
    expect("number", right);

    // A thread-local variable, in a function.
#pragma omp parallel
    own = 0;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < n; i++) seen[i] = added_up(i);
    right = 1;
    for (int i = 0, sums[THREADS] = {0}; i < N; i++) right &= seen[i] == (sums[owner(i, 1)] += i);
    memset(seen, -1, sizeof seen);
    expect("thread-local", right);

    // A partial result in the loop.
    int partial = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : partial)
    for (int i = 0; i < n; i++) seen[i] = partial, partial++;
    expect("partial result", counted(1) && partial == N);

    // Partial results combined with each other, and the last of a thread.
    int ones = 0, ranks = 0, last = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : ones, ranks, last)
    for (int i = 0; i < n; i++) ones++, ranks += ones, last = i;
    right = ones == N && last == 4 * N - 10;
    for (int i = 0; i < N; i++) ranks -= before(i, 1) + 1;
    expect("combined", right && ranks == 0);

    // Partial results that other operations combine, are copied, or go to other variables.
    int threads = 0, sums[8] = {0}, copied = 0, taken = 0, added = 0;
#pragma omp parallel for schedule(static, 1) reduction(+ : threads)
    for (int i = 0; i < n; i++) threads |= a[i] == 20;
#pragma omp parallel for schedule(static, 4) reduction(+ : sums)
    for (int i = 0; i < n; i++) {
        memset(sums, 0, sizeof sums);
        sums[i & 7] += i;
    }
    for (int i = 0; i < 8; i++) copied += sums[i];
#pragma omp parallel for schedule(static, 1) reduction(+ : taken, added)
    for (int i = 0; i < n; i++) taken = added, added += i;
    right = 0;
    for (int i = 0; i < N; i++) right += i - (i >= N - THREADS ? i : 0);
    expect("other operations", threads == 1 && copied == 199 + 202 + 191 + 195 && taken == right);

    // An array of partial results, of which the loop looks at elements; and a buffer for each thread, which a function finds.
    int counts_of[8] = {0};
#pragma omp parallel for schedule(static, 4) reduction(+ : counts_of)
    for (int i = 0; i < n; i++) seen[i] = counts_of[(int)b[i] & 7]++;
    right = 1;
    for (int i = 0; i < N; i++) {
        int same = 0;
        for (int j = 0; j < i; j++) same += owner(j, 4) == owner(i, 4) && ((int)b[j] & 7) == ((int)b[i] & 7);
        right &= seen[i] == same;
    }
    memset(seen, -1, sizeof seen);
    static long buffer[THREADS];
#pragma omp parallel for schedule(static, 4)
    for (int i = 0; i < n; i++) buffer[slot(i)] += i;
    for (int i = 0; i < N; i++) buffer[owner(i, 4)] -= i;
    for (int t = 0; t < THREADS; t++) right &= buffer[t] == 0;
    expect("arrays", right);

    // A loop of a region that functions have, one without waiting for the other.
#pragma omp parallel
    {
        fill(0, 1);
        sum_up(0, 1);
    }
    right = 1;
    for (int i = 0; i < N; i++) right &= a[i] == 3 * i;
    expect("functions", right);

    // Where an extremum is.
    int where = 0, least = 1000;
#pragma omp parallel for schedule(static, 1) reduction(min : least) reduction(+ : where)
    for (int i = 0; i < n; i++) {
        int x = (i * 57) % n;
        if (x < least) least = x, where = i;
    }
    for (int t = 0; t < THREADS; t++) {
        int smallest = 1000, at = 0;
        for (int i = t; i < N; i += THREADS)
            if ((i * 57) % n < smallest) smallest = (i * 57) % n, at = i;
        where -= at;
    }
    expect("where", where == 0 && least == 0);

    // Two loops of one region, the second one without waiting.
#pragma omp parallel
    {
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < n; i++) a[i] = i;
#pragma omp for schedule(static, 1)
        for (int i = 0; i < n; i++) b[i] = 3 * a[i];
    }
    right = 1;
    for (int i = 0; i < N; i++) right &= b[i] == 3 * i;
    expect("nowait", right);

    // What a thread has at the end, without a reduction.
    int total = 0, squares = 0;
#pragma omp parallel
    {
        int mine = 0;
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < n; i++) mine += i;
#pragma omp critical
        total += mine, squares += mine % 1000 * (mine % 1000);
    }
    int expected = 0;
    for (int t = 0; t < THREADS; t++) {
        int mine = 0;
        for (int i = t; i < N; i += THREADS) mine += i;
        expected += mine % 1000 * (mine % 1000);
    }
    expect("end", total == N * (N - 1) / 2 && squares == expected);

    // Downwards, strided, 64 bits, collapsed.
    memset(seen, 0, sizeof seen);
#pragma omp parallel for schedule(static, 1)
    for (long i = N - 1; i >= 0; i -= 2) seen[i]++;
#pragma omp parallel for schedule(static, 4) collapse(2)
    for (int i = 0; i < 14; i++)
        for (unsigned char k = 0; k < 14; k++) seen[i * 14 + k] += 2;
    right = 1;
    for (int i = 0; i < N; i++) right &= seen[i] == !((N - 1 - i) % 2) + 2 * (i < 196);
    expect("forms", right);
    return 0;
}
