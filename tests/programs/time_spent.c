// A thread that lets the others wait, and one that fetches what another has written.
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 1 << 20 };
static int values[N];

int main(void)
{
    long sum = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            usleep(60000);
            for (int i = 0; i < N; i++)
                values[i] = i % 7;
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            for (int i = 0; i < N; i++)
                sum += values[i];
    }
    printf("%ld\n", sum);
    return 0;
}
