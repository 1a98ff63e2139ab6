//! State of a process that is changed inside a parallel region: what the runtime says about it.

use super::case::Case;

const REGION: &str = "#define _GNU_SOURCE
#include <locale.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
static void handler(int signal) { (void)signal; }
int main(void)
{
    setenv(\"DSM_T_A\", \"before\", 1);
#pragma omp parallel num_threads(2)
    {
        mode_t mask = umask(0);
        umask(mask);
        setlocale(LC_ALL, NULL);
        getenv(\"DSM_T_A\");
        if (omp_get_thread_num() == 1)
            for (int i = 0; i < 3; i++) {
                setenv(\"DSM_T_A\", \"inside\", 1);
                signal(SIGUSR1, handler);
            }
    }
    puts(\"done\");
    return 0;
}
";

/// Once for each kind, with the process; asking is no change, and in one process there is nothing to say.
#[test]
fn changes_inside_a_region_are_said_once() {
    let Some(case) = Case::new("state_in_region", &[("region.c", REGION)]) else { return };
    case.compiled("-O2 -fopenmp ../region.c -o x");
    for (layout, warnings) in [("-n 2 ./x", 2), ("-n 1 -t 2 ./x", 0)] {
        let outcome = case.run("dsm", &case.dsm.run, layout);
        let message = outcome.errors();
        assert_eq!(outcome.status, Some(0), "{message}");
        assert_eq!(message.lines().count(), warnings, "{layout}: {message}");
        for part in ["process 1 changes the environment in a parallel region", "process 1 changes signal"] {
            assert_eq!(message.contains(part), warnings > 0, "{layout}: {message}");
        }
    }
}
