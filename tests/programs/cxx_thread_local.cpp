// Thread-local objects that register themselves, static members, templates, and what happens at the end of threads.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <omp.h>
#include <string>
#include <thread>
#include <vector>

struct Stats;
static std::vector<Stats *> all;
static std::mutex mutex;
struct Stats {
    long hits = 0;
    std::string name;
    Stats()
    {
        std::lock_guard<std::mutex> guard(mutex);
        name = "statistics of thread number " + std::to_string(all.size());
        all.push_back(this);
    }
};
static thread_local Stats stats;

struct Class {
    static thread_local int member;
    int *address() { return &member; }
};
thread_local int Class::member = 3;

template <class T> struct Pool {
    static thread_local std::vector<T> free;
};
template <class T> thread_local std::vector<T> Pool<T>::free;

inline thread_local long in_header = 40;

static std::vector<int> &cache()
{
    thread_local std::vector<int> values(3, 7);
    return values;
}

static std::atomic<int> ended;
struct Ending {
    int value = 0;
    ~Ending()
    {
        if (value == 5) ended++;
    }
};
static thread_local Ending ending;
static Ending *volatile kept;

int main()
{
    std::vector<int> *caches[4];
    int *members[4];
    long *headers[4];
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < 1000; i++) stats.hits++;
        Class c;
        *c.address() += me;
        in_header += me;
        Pool<long>::free.push_back(me);
        Pool<long>::free.push_back(2 * me);
        cache().push_back(me);
        caches[me] = &cache();
        members[me] = c.address();
        headers[me] = &in_header;
    }
    long hits = 0, length = 0, rest = 0;
    for (Stats *s : all) hits += s->hits, length += s->name.size();
    for (int i = 0; i < 4; i++) rest += caches[i]->size() * caches[i]->back() + *members[i] + *headers[i];
    std::printf("%zu %ld %ld %ld\n", all.size(), hits, length, rest);
    long taken = 0;
#pragma omp parallel num_threads(4) reduction(+ : taken)
    for (long v : Pool<long>::free) taken += v;
    std::printf("%ld\n", taken);
    for (int i = 0; i < 3; i++)
        std::thread([] {
            ending.value = 5;
            kept = &ending;
        }).join();
    std::printf("%d\n", ended.load());
}
