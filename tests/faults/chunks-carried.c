//@ layout: 2x1
//@ found: output
// Each iteration stores how many its thread has executed before.
#include <stdio.h>
static int count[8];
int main(void)
{
    int before = 0;
#pragma omp parallel for schedule(static, 1) firstprivate(before)
    for (int i = 0; i < 8; i++) count[i] = before++;
    for (int i = 0; i < 8; i++) printf("%d ", count[i]);
}
