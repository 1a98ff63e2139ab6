// Mutual exclusion and atomics of the C++ library between the threads of a team.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

static std::mutex global;
static std::recursive_mutex nested;
static std::shared_mutex readers;
static std::atomic<long> atomic_sum{0};
static std::atomic<double> atomic_double{0};
static std::atomic_flag flag = ATOMIC_FLAG_INIT;
static std::atomic<int> ready{0};

struct Account {
    std::mutex lock;
    long balance = 100;
    std::string history;
};

static void deposit(Account &account, int i, int depth)
{
    std::lock_guard<std::recursive_mutex> guard(nested);
    if (depth > 0)
        deposit(account, i, depth - 1);
    else {
        std::lock_guard<std::mutex> own(account.lock);
        account.balance += i;
    }
}

int main()
{
    std::vector<Account> accounts(4);
    long plain = 0, spun = 0;
    int busy = 0;
#pragma omp parallel for
    for (int i = 0; i < 400; i++) {
        {
            std::lock_guard<std::mutex> guard(global);
            plain += i;
        }
        {
            Account &from = accounts[i % 4], &to = accounts[(i + 1) % 4];
            std::scoped_lock both(from.lock, to.lock);
            from.balance--;
            to.balance++;
            to.history += 'x';
        }
        if (i % 4 == 0)
            deposit(accounts[0], i, 2);
        if (i % 8 == 0) {
            std::unique_lock<std::shared_mutex> writer(readers);
            busy++;
        } else {
            std::shared_lock<std::shared_mutex> reader(readers);
            atomic_sum += busy < 0;
        }
        atomic_sum += i;
        double seen = atomic_double.load();
        while (!atomic_double.compare_exchange_weak(seen, seen + 0.5))
            ;
        while (flag.test_and_set(std::memory_order_acquire))
            ;
        spun++;
        flag.clear(std::memory_order_release);
    }
    long total = 0, letters = 0;
    for (auto &account : accounts) {
        total += account.balance;
        letters += account.history.size();
    }
    std::printf("%ld %ld %ld %ld %.1f %d\n", plain + spun, total, letters, atomic_sum.load(), atomic_double.load(), busy);

    // A held mutex refuses everybody.
    int refused = 0, tries = 0;
#pragma omp parallel reduction(+ : refused, tries)
    {
#pragma omp master
        global.lock();
#pragma omp barrier
#pragma omp masked filter(1)
        {
            tries++;
            refused += !global.try_lock();
        }
#pragma omp barrier
#pragma omp master
        global.unlock();
    }
    std::printf("%d\n", refused == tries);

    // Publication through an atomic.
    std::vector<int> data(100);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            for (int i = 0; i < 100; i++)
                data[i] = i;
            ready.store(1, std::memory_order_release);
        }
#pragma omp section
        {
            if (ready.load(std::memory_order_acquire))
                plain = data[99] == 99;
        }
    }
    std::printf("%d\n", ready.load());
}
