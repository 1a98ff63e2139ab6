// single with and without nowait, copyprivate of scalars, arrays and structures.
#include <stdio.h>
#include <string.h>

typedef struct {
    int id;
    char name[40];
    double weights[5];
} Config;

static int arrivals[64], bad;

int main(void) {
    int executed = 0;
    static long table[300];
#pragma omp parallel num_threads(4)
    {
        int value = -1, list[6] = {0};
        Config config;
        memset(&config, 0, sizeof config);
        for (int round = 0; round < 30; round++) {
#pragma omp single copyprivate(value, list, config)
            {
                executed++;
                value = round * 3;
                for (int i = 0; i < 6; i++) list[i] = round + i;
                config.id = round;
                snprintf(config.name, sizeof config.name, "round %d", round);
                config.weights[round % 5] += 0.5;
            }
            char expect[40];
            snprintf(expect, sizeof expect, "round %d", round);
            int wrong = value != round * 3 || list[5] != round + 5 || config.id != round || strcmp(expect, config.name);
            if (wrong) {
#pragma omp atomic
                bad++;
            }
#pragma omp atomic
            arrivals[round]++;
#pragma omp single nowait
            {
#pragma omp atomic
                executed += 100;
            }
#pragma omp barrier
#pragma omp single
            for (int i = 0; i < 300; i++) table[i] += i + arrivals[round];
            // The implicit barrier of single publishes the table to the whole team.
            long sum = 0;
            for (int i = 0; i < 300; i++) sum += table[i];
            if (sum != (round + 1) * (299L * 150 + 4 * 300)) {
#pragma omp atomic
                bad++;
            }
#pragma omp barrier
        }
    }
    printf("executed %d bad %d\n", executed, bad);
    return 0;
}
