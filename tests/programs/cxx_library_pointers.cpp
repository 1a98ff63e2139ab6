// Addresses of the C library's functions in C++: constants of classes, templates, std::function, deleters, comparators.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

enum { N = 48 };

struct Traits {
    static constexpr int (*order)(const char *, const char *) = std::strcmp;
    static constexpr std::size_t (*length)(const char *) = std::strlen;
};

template <int (*Order)(const char *, const char *)> struct Less {
    bool operator()(const char *x, const char *y) const { return Order(x, y) < 0; }
};

struct Base {
    virtual ~Base() = default;
    virtual int (*order() const)(const char *, const char *) { return std::strcmp; }
};
struct Derived : Base {
    int (*order() const)(const char *, const char *) override { return strcasecmp; }
};

static char names[N][40];

int main() {
    std::function<std::size_t(const char *)> length = Traits::length;
    std::unique_ptr<Base> orders[2] = {std::make_unique<Base>(), std::make_unique<Derived>()};
    long equal[2] = {0, 0}, bytes = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++) std::snprintf(names[i], sizeof names[i], "%s %d of %d", i % 2 ? "x" : "X", i % 5, round);
#pragma omp parallel for reduction(+ : equal, bytes) schedule(static, 1)
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++)
                for (int k = 0; k < 2; k++) equal[k] += orders[k]->order()(names[i], names[j]) == 0;
            bytes += length(names[i]);
        }
        std::printf("%ld %ld %ld\n", equal[0], equal[1], bytes);
    }
    std::vector<const char *> pointers(names, names + N);
    std::vector<std::size_t> lengths(N);
    long order = 0;
#pragma omp parallel sections reduction(+ : order)
    {
#pragma omp section
        std::transform(pointers.begin(), pointers.end(), lengths.begin(), Traits::length);
#pragma omp section
        {
            std::map<const char *, int, Less<std::strcmp>> map;
            for (const char *p : pointers) map[p]++;
            for (auto &[key, count] : map) order = order * 7 % 100003 + key[2] * count;
        }
#pragma omp section
        {
            std::map<const char *, int, int (*)(const char *, const char *)> unused(std::strcmp);
            std::vector<std::string> copies(pointers.begin(), pointers.end());
            std::sort(copies.begin(), copies.end(), [](auto &x, auto &y) { return Traits::order(x.c_str(), y.c_str()) < 0; });
            order += copies[N / 2][2];
        }
    }
    for (std::size_t n : lengths) order += n;
    std::unique_ptr<char, void (*)(void *)> text(static_cast<char *>(std::malloc(100)), std::free);
    std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::tmpfile(), std::fclose);
    auto put = &std::fputs;
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        std::snprintf(text.get(), 100, "%s and %s", names[3], names[4]);
#pragma omp critical
        put(text.get(), file.get());
    }
    std::printf("%ld %ld %s %d\n", order, std::ftell(file.get()), text.get(), Traits::order == std::strcmp);
}
