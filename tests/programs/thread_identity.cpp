// Threads of a team are told apart by their ids, and by the addresses of what each has of its own.
#include <cstdio>
#include <map>
#include <omp.h>
#include <pthread.h>
#include <set>
#include <thread>

static thread_local char here;

int main()
{
    std::map<std::thread::id, long> hits;
    std::set<pthread_t> selves;
    std::set<const void *> own;
    std::thread::id ids[4];
    int equal = 0, inside = 0;
#pragma omp parallel num_threads(4)
    {
        for (int i = 0; i < 10; i++) {
#pragma omp critical
            {
                hits[std::this_thread::get_id()]++;
                selves.insert(pthread_self());
                own.insert(&here);
            }
        }
        ids[omp_get_thread_num()] = std::this_thread::get_id();
        // A local is on the stack that the system knows of, if its address stays here.
        pthread_attr_t attributes;
        void *base;
        size_t bytes;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &base, &bytes);
        pthread_attr_destroy(&attributes);
        char *frame = (char *)__builtin_frame_address(0);
#pragma omp atomic
        inside += frame > (char *)base && frame < (char *)base + bytes;
#pragma omp barrier
        for (int i = 0; i < 4; i++) {
            bool same = ids[i] == std::this_thread::get_id();
#pragma omp atomic
            equal += same;
        }
    }
    long sum = 0;
    for (auto &[id, n] : hits) sum += n;
    std::printf("%zu %zu %zu threads, %d equal, %d inside, %ld\n", hits.size(), selves.size(), own.size(), equal, inside, sum);
    // A thread of the program's own has an identity, too.
    std::set<std::thread::id> made{std::this_thread::get_id()};
    for (auto &[id, n] : hits) made.insert(id);
    size_t before = made.size();
    std::thread::id id;
    std::thread([&id] { id = std::this_thread::get_id(); }).join();
    std::printf("%d\n", before == 4 && id != std::this_thread::get_id());
}
