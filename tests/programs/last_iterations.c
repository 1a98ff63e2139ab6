//@ env: KMP_FORCE_MONOTONIC_DYNAMIC_SCHEDULE=1
// lastprivate: the value of the last iteration, whichever thread executed it. The variable has LLVM's runtime take no chunk behind the last one; this one does so anyway.
#include <omp.h>
#include <stdio.h>

static int dynamic, guided, chunked, sections, task, steps;
static long conditional;

int main(void) {
    int wrong = 0;
    for (int round = 0; round < 150; round++) {
        dynamic = guided = chunked = sections = task = steps = -1;
        conditional = -1;
#pragma omp parallel
        {
#pragma omp for lastprivate(dynamic) schedule(dynamic, 7) nowait
            for (int i = 0; i < 1000; i++) dynamic = i;
#pragma omp for lastprivate(steps) schedule(nonmonotonic : dynamic)
            for (long i = 400; i > 0; i -= 3) steps = (int)i;
#pragma omp for lastprivate(guided) schedule(guided) nowait
            for (unsigned i = 0; i < 500; i++) guided = (int)i;
#pragma omp for lastprivate(chunked) schedule(static, 3) nowait
            for (int i = 0; i < 500; i++) chunked = i;
#pragma omp for lastprivate(conditional : conditional) schedule(dynamic, 5)
            for (int i = 0; i < 500; i++)
                if (i % 11 == 9) conditional = round * 1000L + i;
#pragma omp sections lastprivate(sections) nowait
            {
#pragma omp section
                sections = 1;
#pragma omp section
                sections = 2;
#pragma omp section
                sections = 3;
            }
#pragma omp single nowait
#pragma omp taskloop lastprivate(task) grainsize(9)
            for (int i = 0; i < 100; i++) task = i;
        }
        wrong += dynamic != 999 || steps != 1 || guided != 499 || chunked != 499 || sections != 3 || task != 99;
        wrong += conditional != round * 1000L + 493;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
