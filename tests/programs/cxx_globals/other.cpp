#include "shared.hpp"

#include <numeric>

static Traced third("third", 3);

void fill_elsewhere()
{
#pragma omp parallel for
    for (int i = 0; i < 100; i++)
        Table<int>::entries[99 - i] *= 2;
    folded.value += 100;
    third.value++;
}

long sum_elsewhere()
{
    label() += '!';
    return std::accumulate(Table<int>::entries.begin(), Table<int>::entries.end(), 0L);
}
