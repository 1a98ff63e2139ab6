// ordered regions run in iteration order under every schedule; data passes from one to the next.
#include <stdio.h>

static int log_of[3][120], used[3];

int main(void) {
    unsigned chain = 1;
#pragma omp parallel for ordered schedule(static)
    for (int i = 0; i < 120; i++) {
#pragma omp ordered
        {
            log_of[0][used[0]++] = i;
            chain = chain * 31 + (unsigned)i;
        }
    }
    printf("%u\n", chain);
#pragma omp parallel for ordered schedule(dynamic, 3)
    for (int i = 119; i >= 0; i--) {
        int local = i * i;
#pragma omp ordered
        {
            log_of[1][used[1]++] = local;
            chain = chain * 33 + (unsigned)local;
        }
    }
    printf("%u\n", chain);
    // Some iterations skip the ordered region.
#pragma omp parallel for ordered schedule(guided, 2)
    for (long i = 0; i < 120; i++) {
        if (i % 3) {
#pragma omp ordered
            {
                log_of[2][used[2]++] = (int)i;
                chain = chain * 37 + (unsigned)i;
            }
        }
    }
    printf("%u\n", chain);
    fflush(stdout);
#pragma omp parallel for ordered schedule(static, 1)
    for (unsigned i = 0; i < 40; i++) {
#pragma omp ordered
        {
            printf("%u ", i);
            fflush(stdout);
        }
    }
    puts("");
    for (int k = 0; k < 3; k++) {
        unsigned h = 0;
        for (int i = 0; i < used[k]; i++) h = h * 131 + (unsigned)log_of[k][i];
        printf("%d %u\n", used[k], h);
    }
    return 0;
}
