// The C++ face of memory-based operations.
#include <dsm.hpp>

#include <cstdint>
#include <cstdio>

struct Pair {
    int first;
    float second;
};

static long counter;
static double sum;
static Pair pair;
static unsigned char small[8];
static std::int16_t least = 100;
static int contents[100], flag;
alignas(64) static Pair both;

static void raise(Pair *place, const Pair &by)
{
    dsm::add(&place->first, by.first);
    dsm::add(&place->second, by.second);
}

int main()
{
    int threads = 0, wrong = 0;
    const dsm::function<Pair, Pair, raise> raises;
#pragma omp parallel reduction(+ : threads, wrong)
    {
        threads = 1;
        dsm::add(&counter, 3);
        dsm::add(&sum, .25);
        dsm::max(&small[1], 200);
        dsm::min(&least, -7);
        dsm::bit_or(&small[2], 4);
        dsm::swap(&pair, {1, 2.f});
        dsm::fence();
        dsm::fetch_add(&counter, 1);
        wrong += dsm::fetch_cas(&pair, {1, 2.f}, {1, 2.f}).first != 1;
    }
    wrong += counter != 4 * threads || sum != .25 * threads || small[1] != 200 || small[2] != 4 || least != -7;
    wrong += pair.first != 1 || pair.second != 2.f;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
#pragma omp masked
        {
            int own[100];
            for (int &element : own) element = 5;
            dsm::write_flag(contents, own, 100, &flag, 1);
            dsm::flush();
        }
        int seen = 0, own[100];
        while (!seen) dsm::read(&seen, &flag);
        dsm::read(own, contents, 100);
        for (int element : own) wrong += element != 5;
    }
#pragma omp parallel reduction(+ : wrong)
    {
        {
            dsm::bundle bundle;
            dsm::add(&both.first, 1);
            dsm::add(&both.second, .5f);
        }
        dsm::posted().wait();
        dsm::handle last = raises.signal(&both, {2, 1.f});
        last.wait();
        wrong += !last.test() || !dsm::handle().test();
    }
    wrong += both.first != 3 * threads || both.second != 1.5f * static_cast<float>(threads);
    dsm::fifo<Pair> queue(2);
    wrong += !queue || !queue.push({1, .5f}) || !queue.push({2, .5f}) || queue.push({3, .5f});
    int popped = 0;
#pragma omp parallel reduction(+ : popped)
    {
        Pair element;
        while (queue.pop(element)) popped += element.first;
    }
    wrong += popped != 3;
    std::puts(wrong ? "WRONG" : "verified");
    return wrong != 0;
}
