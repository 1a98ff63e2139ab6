// Threads of the C++ library: thread, async, promise, condition_variable, on memory that regions share.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

static std::vector<long> values;
static std::mutex mutex;
static std::condition_variable changed;
static bool ready;

int main() {
    values.resize(1000);
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) values[i] = i;
    std::thread doubling([] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [] { return ready; });
        for (long &v : values) v *= 2;
    });
    {
        std::lock_guard guard(mutex);
        ready = true;
    }
    changed.notify_all();
    doubling.join();
    auto sum = std::async(std::launch::async, [] { return std::accumulate(values.begin(), values.end(), 0L); });
    std::printf("%ld\n", sum.get());
    std::vector<long> parts(4);
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; k++)
        threads.emplace_back([&, k] {
            for (int i = k; i < 1000; i += 4) parts[k] += values[i];
        });
    for (auto &t : threads) t.join();
    long total = 0;
#pragma omp parallel for reduction(+ : total) schedule(static, 1)
    for (int k = 0; k < 4; k++) total += parts[k];
    std::printf("%ld\n", total);
    std::promise<std::string> promise;
    std::thread teller([&] { promise.set_value("told by a thread, in a string that is not short"); });
    std::printf("%s\n", promise.get_future().get().c_str());
    teller.join();
    std::thread failing([&] {
        try {
            values.at(5000) = 1;
        } catch (const std::out_of_range &) {
            std::lock_guard guard(mutex);
            ready = false;
        }
    });
    failing.join();
    std::unique_lock lock(mutex);
    bool woken = changed.wait_for(lock, std::chrono::milliseconds(20), [] { return ready; });
    std::printf("%d %d\n", ready, woken);
    return 0;
}
