// Mutexes and condition variables inside of objects that come and go: they end without a call of any library.
//@ libs: -lpthread
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <vector>

struct Account {
    std::mutex mutex;
    std::recursive_mutex recursive;
    std::condition_variable changed;
    long balance = 0;

    void add(long amount) {
        std::lock_guard<std::recursive_mutex> outer(recursive);
        std::lock_guard<std::recursive_mutex> inner(recursive);
        std::lock_guard<std::mutex> guard(mutex);
        balance += amount;
        changed.notify_all();
    }
};

int main() {
    long total = 0;
    for (int generation = 0; generation < 30; generation++) {
        std::vector<std::unique_ptr<Account>> accounts;
        for (int i = 0; i < 300; i++) accounts.push_back(std::make_unique<Account>());
        #pragma omp parallel for schedule(static, 1)
        for (int i = 0; i < 900; i++) accounts[i % 300]->add(i);
        for (auto &account : accounts) total += account->balance;
    }
    std::printf("%ld\n", total);
}
