// Leagues: their number of teams and threads from the routines, from clauses, and from neither.
#include <omp.h>
#include <stdio.h>

static int count(int ask_teams, int ask_threads) {
    int teams = 0, seen = 0;
#pragma omp teams num_teams(ask_teams) thread_limit(ask_threads) reduction(+ : seen)
    {
        if (omp_get_team_num() == 0) teams = omp_get_num_teams();
        seen++;
    }
    return teams == seen ? teams : -1;
}

int main(void) {
    printf("%d\n", count(1, 2));
    omp_set_num_teams(3);
    omp_set_teams_thread_limit(2);
    printf("%d %d\n", omp_get_max_teams(), omp_get_teams_thread_limit());
    int wide = 0, most = 0;
#pragma omp teams reduction(max : wide, most)
    {
        wide = omp_get_num_teams();
#pragma omp parallel reduction(max : most)
        most = omp_get_num_threads();
    }
    printf("%d %d\n", wide <= 3, most <= 2);
    printf("%d\n", omp_get_max_teams());
    return 0;
}
