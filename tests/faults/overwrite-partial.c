//@ layout: 2x1
//@ found: output
// What was not fetched is valid by its state: only its contents are wrong.
#include <stdio.h>
struct { double x, y; } points[4096];

int main(void) {
    for (int i = 0; i < 4096; i++) points[i].x = points[i].y = i;
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static)
    for (int i = 0; i < 4096; i++) points[i].x = 2 * i;
    double sum = 0;
    for (int i = 0; i < 4096; i++) sum += points[i].x + points[i].y;
    printf("%g\n", sum);
    return 0;
}
