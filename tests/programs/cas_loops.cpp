// Loops around a compare-and-swap that stand for one atomic operation, and such that do not: with another effect, with an operand that changes, that end early.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <omp.h>

enum { ITEMS = 6000, PLACES = 37 };

// As Kokkos has it: the value that was expected is compared with what was found.
template <class T, class Bits, class F> static T fetch_update(T *place, F f) {
    Bits found;
    memcpy(&found, (void *)place, sizeof found);
    for (;;) {
        Bits expected = found, bits;
        T value;
        memcpy(&value, &expected, sizeof value);
        T next = f(value);
        memcpy(&bits, &next, sizeof bits);
        __atomic_compare_exchange_n((Bits *)place, &found, bits, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        if (found == expected) return value;
    }
}

template <class T> static T add(std::atomic<T> &place, T x) {
    T old = place.load(std::memory_order_relaxed);
    while (!place.compare_exchange_weak(old, old + x, std::memory_order_relaxed))
        ;
    return old;
}

static void set_bit(uint64_t *words, int bit) {
    uint64_t old, next;
    do {
        old = words[bit / 64];
        next = old | 1ul << bit % 64;
    } while (!__sync_bool_compare_and_swap(&words[bit / 64], old, next));
}

// Whether the first attempt has been enough, as it is where nobody else is about.
__attribute__((noinline)) static bool add_at_once(std::atomic<uint32_t> &place, uint32_t x) {
    uint32_t old = place.load();
    bool first = place.compare_exchange_strong(old, old + x);
    if (!first)
        while (!place.compare_exchange_strong(old, old + x))
            ;
    return first;
}

static int attempts[64];
static double sums[PLACES];
static float small[PLACES];
static int64_t numbers[PLACES];
static uint16_t halves[PLACES];
static uint8_t masks[PLACES];
static uint64_t bitmap[ITEMS / 64 + 1];
static int least[PLACES], doubled[4], stamps[PLACES];
static std::atomic<double> totals[PLACES];
static std::atomic<uint32_t> turns[4];
static long seen_sum, data[64], read_back;

int main() {
    for (int i = 0; i < PLACES; i++) least[i] = 1 << 30, numbers[i] = i, masks[i] = 0xff;
#pragma omp parallel
    {
        int thread = omp_get_thread_num();
#pragma omp for schedule(static, 5) reduction(+ : seen_sum)
        for (int i = 0; i < ITEMS; i++) {
            int at = i * 7 % PLACES;
            fetch_update<double, uint64_t>(&sums[at], [&](double x) { return x + i; });
            fetch_update<double, uint64_t>(&sums[(at + 1) % PLACES], [&](double x) { return x - 3; });
            fetch_update<float, uint32_t>(&small[at], [&](float x) { return 1 + x; });
            fetch_update<int64_t, int64_t>(&numbers[at], [&](int64_t x) { return x - i; });
            fetch_update<uint16_t, uint16_t>(&halves[at], [&](uint16_t x) { return x + 40000; });
            fetch_update<uint8_t, uint8_t>(&masks[at], [&](uint8_t x) { return x & ~(1 << i % 3); });
            fetch_update<uint8_t, uint8_t>(&masks[at], [&](uint8_t x) { return x ^ (i % 2 << 7); });
            // Not what an operation has as its result: from an operand that is the value itself, and from the one that is subtracted.
            fetch_update<int, int>(&doubled[at % 2], [&](int x) { return x + x; });
            fetch_update<int, int>(&doubled[2 + at % 2], [&](int x) { return 5 - x; });
            set_bit(bitmap, i % 3 ? i : i / 2);
            add(totals[at], 0.5 * i);
            // Each value is seen once.
            seen_sum += add(turns[i % 4], 1u);
            // Ends early.
            for (int old = __atomic_load_n(&least[at], __ATOMIC_RELAXED);
                 old > i && !__atomic_compare_exchange_n(&least[at], &old, i, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);)
                ;
            // Has another effect: each attempt is counted, and gets another operand.
            int old = __atomic_load_n(&stamps[at], __ATOMIC_RELAXED), tries = 0;
            do attempts[thread % 64]++, tries++;
            while (!__atomic_compare_exchange_n(&stamps[at], &old, old + tries / tries, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        }
        // What is stored in front of an operation that releases is there for whoever finds by one that acquires what it left.
        static std::atomic<double> flag;
        data[thread % 64] = 100 + thread;
        double before = flag.load(std::memory_order_relaxed);
        while (!flag.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel))
            ;
        if (before + 1 == omp_get_num_threads()) {
            long sum = 0;
            for (int i = 0; i < omp_get_num_threads(); i++) sum += data[i] - 100 - i;
            read_back = sum;
        }
    }
    bool at_once = add_at_once(turns[0], 1);
    long tries = 0, count = 0;
    for (int i = 0; i < 64; i++) tries += attempts[i];
    for (uint64_t word : bitmap) count += __builtin_popcountll(word);
    double sum = 0;
    long checksum = 0;
    for (int i = 0; i < PLACES; i++) {
        sum += sums[i] * (i + 1) + totals[i] * (i + 2) + small[i];
        checksum += (numbers[i] + halves[i] + masks[i] + least[i] + stamps[i]) * (i + 1);
    }
    printf("%.1f %ld %ld %ld %d\n", sum, checksum, count, seen_sum, tries >= ITEMS);
    printf("%d %d %d %d %ld %d %u\n", doubled[0], doubled[1], doubled[2], doubled[3], read_back, at_once, turns[0].load());
    return 0;
}
