// One clock for all threads: times that they read can be compared and subtracted.
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double began[8], ended[8];

int main(void) {
    double first = omp_get_wtime();
    usleep(300000);
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        began[me] = omp_get_wtime();
#pragma omp barrier
        ended[me] = omp_get_wtime();
    }
    double last = omp_get_wtime();
    int late = 0, ordered = 0;
    for (int i = 0; i < 4; i++) {
        late += began[i] - first >= 0.3;
        for (int j = 0; j < 4; j++) ordered += began[i] <= ended[j] && ended[j] <= last;
    }
    printf("%d threads began after the pause, %d pairs in order, tick %d\n", late, ordered,
           omp_get_wtick() > 0 && omp_get_wtick() <= 1e-6);

    // A token that goes round: each thread sees a later time than the one before it.
    static double stamp;
    static int turn, later;
    stamp = omp_get_wtime();
#pragma omp parallel num_threads(4)
    for (int round = 0; round < 20; round++) {
        int seen;
        do {
#pragma omp atomic read acquire
            seen = turn;
        } while (seen % 4 != omp_get_thread_num());
        double now = omp_get_wtime();
        later += now >= stamp;
        stamp = now;
#pragma omp atomic write release
        turn = seen + 1;
    }
    printf("%d steps forward\n", later);
    return 0;
}
