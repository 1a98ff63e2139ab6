// Cancellation of task groups.
//@ env: OMP_CANCELLATION=true
#include <stdio.h>

static void cancelling(void) {
    int ran = 0, after = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task shared(ran)
            {
#pragma omp cancel taskgroup
                ran += 100;
            }
#pragma omp taskwait
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(ran)
#pragma omp atomic
                ran++;
            }
        }
#pragma omp taskgroup
        {
#pragma omp task shared(after)
            after = 1;
        }
    }
    printf("cancel %d %d\n", ran, after);
}

// A cancelled search: what began finishes or stops at a cancellation point.
static void searching(void) {
    int found = -1, wrong = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 50; i++) {
#pragma omp task shared(found, wrong)
        {
#pragma omp cancellation point taskgroup
            if (i % 10 == 7) {
#pragma omp atomic write
                found = i;
#pragma omp cancel taskgroup
#pragma omp atomic
                wrong++;
            }
        }
    }
    printf("search %d %d\n", found % 10, wrong);
}

int main(void) {
    cancelling(), searching();
    return 0;
}
