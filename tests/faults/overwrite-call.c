//@ layout: 2x1
//@ found: output
// As for overwrite-partial.
#include <stdio.h>
#include <string.h>
#include <time.h>

char text[65536];

int main(void) {
    memset(text, 'x', sizeof text - 1);
#pragma omp parallel num_threads(2)
#pragma omp for schedule(static)
    for (int i = 0; i < 2; i++) {
        struct tm day = {.tm_year = 126};
        if (i == 1) strftime(text, sizeof text, "%Y", &day);
    }
    printf("%s %c\n", text, text[40000]);
    return 0;
}
