// Handlers that copy or convert what another process has thrown, before anything else has looked at it: texts of library classes, pointers to
// classes with virtual bases, results of futures. And a specialisation of a template of the library that has a variable of its own.
#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <unordered_set>

struct Root {
    long padding[40] = {};
    virtual ~Root() = default;
    int number = 7;
};
struct Left : virtual Root {
    long more[30] = {};
};
struct Right : virtual Root {
    long more[50] = {};
};
struct Both : Left, Right {
    explicit Both(int n) { number = n; }
};

struct Key {
    int value;
    bool operator==(const Key &other) const { return value == other.value; }
};
template <> struct std::hash<Key> {
    static inline std::atomic<long> calls;
    size_t operator()(const Key &key) const {
        calls++;
        return key.value * 31;
    }
};

int main() {
    constexpr int COUNT = 12;
    static std::exception_ptr thrown[COUNT];
#pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int i = 0; i < COUNT; i++) {
        try {
            if (i < 4) throw std::runtime_error("a text of number " + std::to_string(i) + " that is kept on the heap");
            if (i < 8) throw std::out_of_range("another text of number " + std::to_string(i) + " on the heap");
            if (i < 10) throw new Both(i);
            throw Both(i);
        } catch (...) {
            thrown[i] = std::current_exception();
        }
    }
    static std::string seen[COUNT];
#pragma omp parallel for num_threads(4) schedule(static, 3)
    for (int i = 0; i < COUNT; i++) {
        try {
            std::rethrow_exception(thrown[i]);
        } catch (std::runtime_error copy) {
            std::runtime_error other("nothing yet");
            other = copy;
            seen[i] = other.what();
        } catch (std::logic_error copy) {
            seen[i] = copy.what();
        } catch (Root *root) {
            seen[i] = std::to_string(root->number);
            delete root;
        } catch (Root &root) {
            seen[i] = "object " + std::to_string(root.number);
        }
    }
    for (auto &text : seen) std::printf("%s\n", text.c_str());
    for (auto &one : thrown) one = nullptr;

    static std::promise<std::string> promises[4];
    static std::future<std::string> futures[4];
    for (int i = 0; i < 4; i++) futures[i] = promises[i].get_future();
    static std::string results[4];
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        if (me % 2)
            promises[me].set_value("value " + std::to_string(me));
        else
            promises[me].set_exception(std::make_exception_ptr(std::range_error("failure " + std::to_string(me))));
#pragma omp barrier
        int other = (me + 1) % 4;
        try {
            results[other] = futures[other].get();
        } catch (const std::exception &error) {
            results[other] = error.what();
        }
    }
    for (auto &text : results) std::printf("%s\n", text.c_str());

    long found = 0;
#pragma omp parallel num_threads(4) reduction(+ : found)
    {
        std::unordered_set<Key> set;
        for (int i = 0; i < 50; i++) set.insert(Key{i});
        for (int i = 0; i < 100; i++) found += set.count(Key{i});
    }
    std::printf("%ld %d\n", found, std::hash<Key>::calls >= 600);
}
