// single with and without nowait, copyprivate of scalars, arrays and structures.
#include <stdio.h>
#include <string.h>

typedef struct {
    int id;
    char name[40];
    double weights[5];
} Config;

static int arrivals[64], bad;
static int kept;
#pragma omp threadprivate(kept)

// Constructs one behind the other, of which a thread may still copy what the last one has for it; with variables of odd sizes, more than goes into a message, none that others can reach, and a thread-local one.
static void in_turn(void) {
    static long seen[4];
    int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    {
        char text[7], letter = 0;
        short numbers[3] = {0};
        double large[2000] = {0};
        long count = 0;
        for (int round = 0; round < 200; round++) {
#pragma omp single copyprivate(count)
            count = round;
#pragma omp single copyprivate(text, letter, numbers)
            {
                snprintf(text, sizeof text, "%d", round);
                letter = 'a' + round % 26;
                for (int i = 0; i < 3; i++) numbers[i] = round + i;
            }
            char expected[7];
            snprintf(expected, sizeof expected, "%d", round);
            wrong += count != round || strcmp(text, expected) || letter != 'a' + round % 26 || numbers[2] != round + 2;
            if (round % 40 == 0) {
#pragma omp single copyprivate(large)
                for (int i = 0; i < 2000; i++) large[i] = round + i;
                for (int i = 0; i < 2000; i++) wrong += large[i] != round + i;
            }
#pragma omp for schedule(static, 1) nowait
            for (int i = 0; i < 4; i++) seen[i] += count;
#pragma omp single copyprivate(kept, count)
            kept = 3 * round, count = -round;
            wrong += kept != 3 * round || count != -round;
        }
    }
    printf("in turn: wrong %d, sums %ld %ld\n", wrong, seen[0], seen[3]);
}

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
    in_turn();
    return 0;
}
