// Leagues of more teams than there are threads, of as many, and of fewer: each iteration and each team's part is done once, and sees what the initial thread wrote.
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 10007 };
static int times[N], owner[N];
static double input[N], output[N];

struct widest {
    double value;
    int where;
};
#pragma omp declare reduction(widest:struct widest : omp_out = omp_in.value > omp_out.value ? omp_in : omp_out) \
    initializer(omp_priv = (struct widest){-1, -1})

static int once(void) {
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += times[i] != 1;
    memset(times, 0, sizeof times);
    return wrong == 0;
}

// A loop shared by teams and by their threads, with reductions at both levels.
static void shared_loop(int teams, int round) {
    long sum = 0;
    double most = 0;
    struct widest widest = {-1, -1};
    for (int i = 0; i < N; i++) input[i] = (i * 7919L + round) % N;
#pragma omp teams distribute parallel for num_teams(teams) thread_limit(64) reduction(+ : sum) reduction(max : most) \
    reduction(widest : widest)
    for (int i = 0; i < N; i++) {
        times[i]++;
        output[i] = input[i] + 1;
        sum += (long)input[i];
        if (input[i] > most) most = input[i];
        if (input[i] > widest.value) widest = (struct widest){input[i], i};
    }
    double total = 0;
    for (int i = 0; i < N; i++) total += output[i];
    printf("%d teams: %d %ld %.0f %.0f %d %.0f\n", teams, once(), sum, most, widest.value, widest.where, total);
}

// A loop shared by teams, not by threads.
static void loop_of_teams(int teams) {
    int calls = 0, odd = 0;
#pragma omp teams num_teams(teams) reduction(+ : odd)
    {
        int mine = omp_get_team_num();
        odd += omp_in_parallel() || omp_get_level() || omp_get_thread_num() || omp_get_num_threads() != 1 ||
               mine >= omp_get_num_teams();
#pragma omp distribute dist_schedule(static, 5)
        for (int i = 0; i < N; i++) {
            times[i]++;
            owner[i] = mine;
        }
#pragma omp atomic
        calls++;
    }
    int held = 1;
    for (int i = 0; i < N; i++) held &= owner[i] == owner[i - i % 5] && owner[i] < calls;
    printf("%d teams: %d %d %d\n", teams, once(), odd, held && calls >= 1 && calls <= teams);
}

static int entered, wrong;

// Called by the initial thread of a team.
static void account(int bad) {
#pragma omp critical
    {
        entered++;
        wrong += bad;
    }
}

// Each team has a region and a critical section, and memory that its threads share.
static void regions(int teams) {
    int begun = 0;
    entered = wrong = 0;
#pragma omp teams num_teams(teams)
    {
        int local[64] = {0}, size = 0;
#pragma omp parallel num_threads(8)
        {
            if (omp_get_thread_num() == 0) size = omp_get_num_threads();
            local[omp_get_thread_num()] = 1 + omp_get_team_num();
        }
        int bad = size < 1 || size > 8;
        for (int i = 0; i < size && !bad; i++) bad = local[i] != 1 + omp_get_team_num();
        account(bad);
#pragma omp atomic
        begun++;
    }
    printf("%d teams: %d %d\n", teams, entered == begun, wrong);
}

int main(void) {
    static const int sizes[] = {2, 3, 4, 6, 8, 64, 1000};
    for (int k = 0; k < 7; k++) {
        shared_loop(sizes[k], k);
        loop_of_teams(sizes[k]);
        regions(sizes[k]);
    }
    return 0;
}
