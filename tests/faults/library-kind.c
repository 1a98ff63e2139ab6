//@ layout: 2x1
//@ found: guard
//@ flags: -fdsm-line=4096
// As for library-length.
#include <stdio.h>
#include <string.h>
#include <time.h>

char text[65536];

int main(void) {
    memset(text, 'x', sizeof text - 1);
#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < 2; i++) {
        struct tm day = {.tm_year = 126};
        if (i == 1) strftime(text, sizeof text, "%Y", &day);
    }
    printf("%s\n", text);
    return 0;
}
