//! Control variables and allocators whose effects plain clang's library does not show, or shows differently from run to run.

use crate::openmp::run;

const LAYOUTS: [(u32, u32); 3] = [(1, 4), (2, 2), (4, 1)];

/// Debian's libomp 22 does not accept the memory spaces that its header defines.
#[test]
fn allocators_do_what_their_traits_say() {
    let expected = "alignment 1 1 1 1
moved 1
pool 1 0
again 1
fallback 1 0
default memory 0
all 20
all given back 1
nothing 1 1 1
kept 7 7
freed 1
shared 198000
set 1
inherited 1
kept 1
directive and clause 0
";
    for (processes, threads) in LAYOUTS {
        let source = include_str!("../openmp/allocators.c");
        let Some(outcome) = run("allocators", source, processes, threads, &[]) else { return };
        assert_eq!(outcome.text(), expected, "{processes}x{threads} {}", outcome.errors());
    }
}

#[test]
fn the_environment_sets_the_default_allocator() {
    let source = "#include <omp.h>
#include <stdint.h>
#include <stdio.h>
int main(void) {
    int right = 0;
#pragma omp parallel reduction(+ : right)
    {
        void *first = omp_alloc(600, omp_null_allocator), *second = omp_alloc(600000, omp_null_allocator);
        right += (uintptr_t)first % 512 == 0 && second == NULL;
        omp_free(first, omp_null_allocator);
    }
    printf(\"%d\", right);
}
";
    let variables =
        [("OMP_ALLOCATOR", "omp_default_mem_space:alignment=512,pool_size=100K,fallback=null_fb")];
    for (processes, threads) in LAYOUTS {
        let Some(outcome) = run("default_allocator", source, processes, threads, &variables) else { return };
        assert_eq!(outcome.text(), "4", "{processes}x{threads} {}", outcome.errors());
    }
}

/// Regions of several levels run at the same time; all their threads together are at most as many as the limit.
#[test]
fn thread_limits_hold_for_all_levels_together() {
    let source = "#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static int now, most;
static void stay(void) {
    int count, seen;
#pragma omp atomic capture
    count = ++now;
#pragma omp critical
    if (count > most) most = count;
    usleep(20000);
#pragma omp atomic
    now--;
}
int main(void) {
    int flat = 0, inner = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(16) reduction(+ : flat)
    flat++;
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(4)
#pragma omp parallel num_threads(2)
        stay();
    }
#pragma omp teams num_teams(2) thread_limit(2)
#pragma omp parallel reduction(max : inner)
    inner = omp_get_num_threads();
    printf(\"%d %d %d %d\", omp_get_thread_limit(), flat, most <= 6, inner);
#pragma omp parallel num_threads(6) reduction(+ : flat)
    flat++;
    printf(\" %d\", flat);
}
";
    for (processes, threads) in LAYOUTS {
        let Some(outcome) = run("thread_limit", source, processes, threads, &[("OMP_THREAD_LIMIT", "6")])
        else {
            return;
        };
        assert_eq!(outcome.text(), "6 6 1 2 12", "{processes}x{threads} {}", outcome.errors());
    }
}

#[test]
fn the_host_can_be_paused_outside_of_regions() {
    let source = "#include <omp.h>
#include <stdio.h>
static int counter;
#pragma omp threadprivate(counter)
int main(void) {
    int host = omp_get_initial_device(), sum = 0, inside = 0;
#pragma omp parallel num_threads(4) reduction(+ : inside)
    {
        counter = 1;
        inside += omp_pause_resource(omp_pause_soft, host) != 0;
    }
    int soft = omp_pause_resource(omp_pause_soft, host), hard = omp_pause_resource_all(omp_pause_hard);
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += counter;
    printf(\"%d %d %d %d %d %d\", inside, soft, hard, sum, omp_pause_resource((omp_pause_resource_t)9, host) != 0,
           omp_pause_resource(omp_pause_soft, 7) != 0);
}
";
    for (processes, threads) in LAYOUTS {
        let Some(outcome) = run("pause", source, processes, threads, &[]) else { return };
        assert_eq!(outcome.text(), "4 0 0 4 1 1", "{processes}x{threads} {}", outcome.errors());
    }
}

#[test]
fn mandatory_offloading_allows_the_host_as_the_default_device() {
    let source = "#include <omp.h>
#include <stdio.h>
int main(void) {
    int x = 0;
    omp_set_default_device(omp_get_initial_device());
#pragma omp target map(tofrom : x)
    x = 5;
    printf(\"%d\", x);
}
";
    for (processes, threads) in LAYOUTS {
        let variables = [("OMP_TARGET_OFFLOAD", "mandatory")];
        let Some(outcome) = run("host_device", source, processes, threads, &variables) else { return };
        assert_eq!(outcome.text(), "5", "{processes}x{threads} {}", outcome.errors());
    }
}

/// A region that names the host by a `device` clause runs there; one that names another device, or none, does not.
#[test]
fn mandatory_offloading_allows_regions_that_name_the_host() {
    let source = "#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int x = 0, sum = 0, host = omp_get_initial_device(), kind = atoi(getenv(\"KIND\")), initial = -1;
    int teams = argc + 1;
    if (kind == 0)
        omp_set_default_device(initial);
#pragma omp target device(host) map(tofrom : x) if (teams > 0)
    x = 5;
#pragma omp target device(omp_get_initial_device()) map(tofrom : x)
    x++;
#pragma omp target teams distribute parallel for device(initial) num_teams(teams) thread_limit(teams) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i * teams;
    printf(\"%d %d\", x, sum);
    fflush(stdout);
    if (kind == 1)
#pragma omp target device(host + 7) map(tofrom : x)
        x++;
    if (kind == 2)
#pragma omp target map(tofrom : x)
        x++;
}
";
    for kind in ["0", "1", "2", "3"] {
        for (processes, threads) in LAYOUTS {
            let variables = [("OMP_TARGET_OFFLOAD", "mandatory"), ("KIND", kind)];
            let Some(outcome) = run("host_device_clause", source, processes, threads, &variables) else {
                return;
            };
            let errors = outcome.errors();
            assert_eq!(outcome.text(), "6 90", "{kind} {processes}x{threads} {errors}");
            let refused = ["1", "2"].contains(&kind);
            assert_eq!(errors.contains("OMP_TARGET_OFFLOAD is mandatory"), refused, "{kind} {errors}");
            assert_eq!(outcome.status == Some(0), !refused, "{kind} {errors}");
        }
    }
}
