// Every reduction operator over every integer width and signedness.
#include <stdio.h>

enum { N = 777 };
static int input[N];

#define REDUCE(T, fmt)                                                                                       \
    do {                                                                                                     \
        T sum = 3, diff = 50, product = 1, low = 100, high = 0, all = (T)~0, any = 0, odd = 5;               \
        T yes = 1, no = 0;                                                                                   \
        _Pragma("omp parallel for reduction(+ : sum) reduction(- : diff) reduction(* : product) reduction(min : low) reduction(max : high)") \
        for (int i = 0; i < N; i++) {                                                                        \
            sum += (T)input[i];                                                                              \
            diff -= (T)input[i];                                                                             \
            product *= (T)(input[i] | 1);                                                                    \
            low = low < (T)input[i] ? low : (T)input[i];                                                     \
            high = high > (T)input[i] ? high : (T)input[i];                                                  \
        }                                                                                                    \
        _Pragma("omp parallel for reduction(& : all) reduction(| : any) reduction(^ : odd) reduction(&& : yes) reduction(|| : no)") \
        for (int i = 0; i < N; i++) {                                                                        \
            all &= (T)(input[i] | 64);                                                                       \
            any |= (T)(input[i] & 21);                                                                       \
            odd ^= (T)input[i];                                                                              \
            yes = yes && input[i] != 1000;                                                                   \
            no = no || input[i] == 77;                                                                       \
        }                                                                                                    \
        printf("%-18s " fmt " " fmt " " fmt " " fmt " " fmt " | " fmt " " fmt " " fmt " " fmt " " fmt "\n", #T, \
               sum, diff, product, low, high, all, any, odd, yes, no);                                       \
    } while (0)

int main(void) {
    for (int i = 0; i < N; i++) input[i] = (i * 37 + 11) % 120;
    typedef signed char schar;
    typedef unsigned char uchar;
    typedef unsigned short ushort_t;
    typedef unsigned long ulong_t;
    REDUCE(schar, "%d");
    REDUCE(uchar, "%d");
    REDUCE(short, "%d");
    REDUCE(ushort_t, "%d");
    REDUCE(int, "%d");
    REDUCE(unsigned, "%u");
    REDUCE(long, "%ld");
    REDUCE(ulong_t, "%lu");
    // Reductions on parallel and sections, and one that the loop does not wait for.
    int team = 0, parts = 0;
    long late = 0;
#pragma omp parallel num_threads(3) reduction(+ : team)
    team += 7;
#pragma omp parallel sections reduction(+ : parts)
    {
#pragma omp section
        parts += 1;
#pragma omp section
        parts += 20;
#pragma omp section
        parts += 300;
    }
#pragma omp parallel
    {
#pragma omp for reduction(+ : late) nowait
        for (int i = 0; i < N; i++) late += input[i];
#pragma omp barrier
#pragma omp for reduction(+ : late)
        for (int i = 0; i < N; i++) late += 1;
    }
    printf("%d %d %ld\n", team, parts, late);
    return 0;
}
