// Functions with versions for processors, also as members and in headers, with static objects and threads around them.
#include <cstdio>
#include <vector>

__attribute__((target("default"))) long step(long *p, int n) { for (int i = 0; i < n; i++) p[i] += i; return p[0]; }
__attribute__((target("sse4.2"))) long step(long *p, int n) { for (int i = 0; i < n; i++) p[i] += i; return p[0]; }
__attribute__((target("avx2"))) long step(long *p, int n) { for (int i = 0; i < n; i++) p[i] += i; return p[0]; }

struct Sums {
    long total = 0;
    __attribute__((target_clones("avx2", "default"))) void add(const long *p, int n) {
        for (int i = 0; i < n; i++) total += p[i];
    }
};

__attribute__((target("default"))) inline long twice(long x) { return x + x; }
__attribute__((target("avx2"))) inline long twice(long x) { return x << 1; }

static std::vector<long> values(4000, 1);
static long first = step(values.data(), 1000);

int main() {
#pragma omp parallel for schedule(static, 1)
    for (int b = 0; b < 40; b++) step(values.data() + 100 * b, 100);
    Sums all;
#pragma omp parallel for schedule(static, 1)
    for (int b = 0; b < 40; b++) {
        Sums part;
        part.add(values.data() + 100 * b, 100);
#pragma omp critical
        all.total += twice(part.total);
    }
    std::printf("%ld %ld %ld\n", first, all.total, values[3999]);
}
