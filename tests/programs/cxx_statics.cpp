// Static objects of functions: initialised once, by whatever thread comes first, seen whole by all others, and tried again where the initialisation ended with an exception.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

static std::atomic<int> made{0}, tried{0};

struct Table {
    std::vector<int> values;
    std::string name;
    explicit Table(int size) : values(size), name("a name that is too long for the object itself") {
        for (int i = 0; i < size; i++) values[i] = i * i;
        made++;
    }
};

__attribute__((noinline)) static const Table &table() {
    static const Table only(atoi("1000"));
    return only;
}

template <int N> struct Power {
    static Power &get() {
        static Power only;
        return only;
    }
    long value = 1;

private:
    Power() {
        for (int i = 0; i < N; i++) value *= std::atoi("3");
        made++;
    }
};

struct Reluctant {
    int value;
    Reluctant() : value(7) {
        // The first attempts fail, in whatever thread.
        if (tried++ < 3) throw std::runtime_error("not yet");
        made++;
    }
};

static int reluctant() {
    static Reluctant only;
    return only.value;
}

// One within the other.
static long outer() {
    static const long value = Power<5>::get().value + table().values[3];
    return value;
}

int main() {
    long wrong = 0, failures = 0;
#pragma omp parallel reduction(+ : wrong, failures)
    {
        // First touched in all threads at once, then in loops.
        wrong += table().name.size() != 45;
        long sum = 0;
        for (int i = 0; i < 20000; i++) sum += table().values[i % 1000] + Power<2>::get().value;
        wrong += sum != 20L * 332833500 + 20000L * 9;
        for (int i = 0; i < 20; i++) {
            try {
                wrong += reluctant() != 7;
            } catch (const std::runtime_error &) {
                failures++;
            }
        }
        wrong += outer() != 243 + 9;
    }
    // Each thread in turn, and by tasks.
#pragma omp parallel for ordered schedule(static, 1) reduction(+ : wrong)
    for (int i = 0; i < 16; i++) {
#pragma omp ordered
        wrong += Power<7>::get().value != 2187;
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 64; i++) {
#pragma omp task shared(wrong)
        if (Power<9>::get().value != 19683) {
#pragma omp atomic
            wrong++;
        }
    }
    printf("wrong %ld, made %d, failures %ld\n", wrong, made.load(), failures);
    return 0;
}
