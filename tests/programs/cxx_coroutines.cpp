//@ flags: -std=c++20
// Coroutines keep their locals between resumptions, whoever has their addresses.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

struct Generator {
    struct promise_type {
        long value;
        Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(long v)
        {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

static long *escaped[8];

static Generator generate(int k, std::string text)
{
    long x[100];
    escaped[k] = x;
    for (int i = 0; i < 100; i++) x[i] = k;
    for (int round = 0; round < 4; round++) {
        long s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(4)
        for (int i = 0; i < 100; i++) s += x[i] + escaped[k][i];
        co_yield s + text.size();
        for (int i = 0; i < 100; i++) x[i] += round;
    }
}

int main()
{
    std::vector<Generator> all;
    for (int k = 0; k < 4; k++) all.push_back(generate(k, std::string(20 + k, 'x')));
    for (int round = 0; round < 4; round++)
        for (auto &g : all) {
            g.handle.resume();
            std::printf("%ld ", g.handle.promise().value);
        }
    std::printf("\n");
    // Resumed by threads of a team, each by one at a time.
    std::vector<Generator> more;
    for (int k = 0; k < 4; k++) more.push_back(generate(4 + k, "more"));
    long sum = 0;
    for (int round = 0; round < 4; round++)
#pragma omp parallel for num_threads(1) reduction(+ : sum)
        for (int k = 0; k < 4; k++) {
            more[k].handle.resume();
            sum += more[k].handle.promise().value;
        }
    std::printf("%ld\n", sum);
    for (auto &g : all) g.handle.destroy();
    for (auto &g : more) g.handle.destroy();
}
