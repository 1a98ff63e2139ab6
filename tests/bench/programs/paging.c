// Programs that need more memory than they may have.
//
//     paging KERNEL MEGABYTES [FILE]      prints the kernel's name and the seconds that it takes; with FILE its data is a mapping of that file
//
// Each kernel checks its result. Data is stored once before the time is taken.
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *file;

static void fail(const char *what) {
    fprintf(stderr, "paging: %s\n", what);
    exit(1);
}

static void *allocate(size_t bytes) {
    if (!file) {
        void *data = malloc(bytes);
        if (!data) fail("no memory");
        return data;
    }
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || unlink(file) || ftruncate(fd, bytes)) fail("no file");
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) fail("no mapping");
    close(fd);
    return data;
}

static uint64_t random_of(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ull;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dull;
    return x ^ x >> 33;
}

// STREAM triad over three arrays, three times.
static double triad(size_t bytes) {
    enum { TIMES = 3 };
    size_t n = bytes / 24;
    double *a = allocate(8 * n), *b = allocate(8 * n), *c = allocate(8 * n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) a[i] = 0, b[i] = i, c[i] = 2.0 * i;
    double begin = omp_get_wtime();
    for (int t = 1; t <= TIMES; t++) {
#pragma omp parallel for
        for (size_t i = 0; i < n; i++) a[i] = b[i] + t * c[i];
    }
    double seconds = omp_get_wtime() - begin;
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t i = 0; i < n; i++) wrong += a[i] != i + 2.0 * TIMES * i;
    if (wrong) fail("triad is wrong");
    return seconds;
}

// The sum of an array, three times.
static double sum(size_t bytes) {
    enum { TIMES = 3 };
    size_t n = bytes / 8;
    uint64_t *a = allocate(8 * n), total = 0;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) a[i] = i;
    double begin = omp_get_wtime();
    for (int t = 0; t < TIMES; t++) {
#pragma omp parallel for reduction(+ : total)
        for (size_t i = 0; i < n; i++) total += a[i];
    }
    double seconds = omp_get_wtime() - begin;
    if (total != TIMES * (n * (n - 1) / 2)) fail("sum is wrong");
    return seconds;
}

// Updates of words at random, as in HPCC RandomAccess; done twice, they cancel out.
static double updates(size_t bytes) {
    enum { UPDATES = 20000 };
    size_t n = bytes / 8;
    uint64_t *a = allocate(8 * n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) a[i] = i;
    double begin = omp_get_wtime();
    for (int t = 0; t < 2; t++) {
#pragma omp parallel
        {
            // Each thread has a part of its own.
            size_t part = n / omp_get_num_threads(), first = part * omp_get_thread_num();
            for (int i = 0; i < UPDATES; i++) {
                uint64_t value = random_of(i + 1);
                a[first + value % part] ^= value;
            }
        }
    }
    double seconds = omp_get_wtime() - begin;
    size_t wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (size_t i = 0; i < n; i++) wrong += a[i] != i;
    if (wrong) fail("updates are wrong");
    return seconds;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Sorts keys: each thread a part, then the parts are merged into another array.
static double sort(size_t bytes) {
    enum { MOST = 64 };
    size_t n = bytes / 16;
    uint64_t *keys = allocate(8 * n), *sorted = allocate(8 * n), total = 0, check = 0;
    int parts = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST;
#pragma omp parallel for reduction(+ : total)
    for (size_t i = 0; i < n; i++) total += keys[i] = random_of(i);
    double begin = omp_get_wtime();
#pragma omp parallel for num_threads(parts)
    for (int p = 0; p < parts; p++)
        qsort(keys + n * p / parts, n * (p + 1) / parts - n * p / parts, 8, by_value);
    size_t next[MOST];
    for (int p = 0; p < parts; p++) next[p] = n * p / parts;
    for (size_t i = 0; i < n; i++) {
        int least = -1;
        for (int p = 0; p < parts; p++)
            if (next[p] < n * (p + 1) / parts && (least < 0 || keys[next[p]] < keys[next[least]])) least = p;
        sorted[i] = keys[next[least]++];
    }
    double seconds = omp_get_wtime() - begin;
    for (size_t i = 0; i < n; i++) {
        check += sorted[i];
        if (i && sorted[i - 1] > sorted[i]) fail("sort is wrong");
    }
    if (check != total) fail("sort loses keys");
    return seconds;
}

// y = a x, of a matrix with ENTRIES elements in each row.
enum { ENTRIES = 42 };

static void multiply(const double *a, const int *columns, const double *x, double *y, size_t n) {
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = i * ENTRIES; k < (i + 1) * ENTRIES; k++) sum += a[k] * x[columns[k]];
        y[i] = sum;
    }
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

// Conjugate gradients on a symmetric sparse matrix with columns at random, as in NPB CG: five iterations.
static double cg(size_t bytes) {
    enum { ITERATIONS = 5 };
    size_t n = 1;
    while (2 * n * ENTRIES * 12 <= bytes) n *= 2;
    double *a = allocate(8 * n * ENTRIES);
    int *columns = allocate(4 * n * ENTRIES);
    double *x = allocate(8 * n), *b = allocate(8 * n), *r = allocate(8 * n), *p = allocate(8 * n), *q = allocate(8 * n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ENTRIES; k++) {
            // Row and column differ by the same bits in each row, so that the matrix is symmetric; the diagonal dominates.
            a[i * ENTRIES + k] = k ? -1 : ENTRIES + 1;
            columns[i * ENTRIES + k] = i ^ (k ? random_of(k) % n : 0);
        }
        x[i] = 0;
        b[i] = r[i] = p[i] = random_of(i) % 1000;
    }
    double begin = omp_get_wtime(), first = dot(r, r, n), norm = first;
    for (int t = 0; t < ITERATIONS; t++) {
        multiply(a, columns, p, q, n);
        double alpha = norm / dot(p, q, n), before = norm;
#pragma omp parallel for
        for (size_t i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        norm = dot(r, r, n);
#pragma omp parallel for
        for (size_t i = 0; i < n; i++) p[i] = r[i] + norm / before * p[i];
    }
    double seconds = omp_get_wtime() - begin;
    multiply(a, columns, x, q, n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) q[i] = b[i] - q[i];
    double residual = dot(q, q, n), error = residual - norm;
    if (!(norm < 1e-3 * first) || !(error * error <= 1e-12 * norm * norm)) fail("cg is wrong");
    return seconds;
}

// Data that all threads read, whole.
static uint64_t *shared_data(size_t n) {
    uint64_t *a = allocate(8 * n);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) a[i] = random_of(i);
    return a;
}

static void read_all(const uint64_t *a, size_t n, uint64_t expected) {
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) total += a[i];
    if (total != expected) fail("the data is wrong");
}

// Each thread reads all of the same data in order, twice; it has read it once before.
static double scan(size_t bytes) {
    enum { TIMES = 2 };
    size_t n = bytes / 8;
    uint64_t *a = shared_data(n), expected = 0;
    for (size_t i = 0; i < n; i++) expected += random_of(i);
    double begin = 0;
#pragma omp parallel
    for (int t = 0; t <= TIMES; t++) {
#pragma omp barrier
#pragma omp master
        if (t == 1) begin = omp_get_wtime();
        read_all(a, n, expected);
    }
    return omp_get_wtime() - begin;
}

// Each thread reads words of the same data at random; it has read all of it once before.
static double lookups(size_t bytes) {
    enum { LOOKUPS = 40000 };
    size_t n = bytes / 8;
    uint64_t *a = shared_data(n), expected = 0;
    for (size_t i = 0; i < n; i++) expected += random_of(i);
    double begin = 0;
#pragma omp parallel
    {
        read_all(a, n, expected);
#pragma omp barrier
#pragma omp master
        begin = omp_get_wtime();
        uint64_t at = omp_get_thread_num();
        for (int i = 0; i < LOOKUPS; i++) {
            at = random_of(at + i) % n;
            if (a[at] != random_of(at)) fail("a word is wrong");
        }
    }
    return omp_get_wtime() - begin;
}

static const struct {
    const char *name;
    double (*run)(size_t bytes);
} kernels[] = {{"triad", triad}, {"sum", sum}, {"updates", updates}, {"sort", sort}, {"cg", cg}, {"scan", scan}, {"lookups", lookups}};

int main(int argc, char **argv) {
    if (argc < 3) fail("usage: paging KERNEL MEGABYTES [FILE]");
    file = argc > 3 ? argv[3] : NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i].name, argv[1]) == 0) {
            printf("%s %.6f\n", argv[1], kernels[i].run((size_t)atol(argv[2]) << 20));
            return 0;
        }
    }
    fail("no such kernel");
}
