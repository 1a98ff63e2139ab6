// Output functions reading shared strings and arrays that another thread wrote last.
#include <omp.h>
#include <stdio.h>
#include <string.h>

static char line[6][80];
static char heading[] = "heading";

int main(void) {
    char local[6][24];
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 6; i++) {
        snprintf(line[i], sizeof line[i], "line %d written elsewhere", i);
        strcpy(local[i], "local string #");
        local[i][14] = (char)('0' + i);
        local[i][15] = 0;
    }
    puts(heading);
    for (int i = 0; i < 6; i++) printf("%s | %s | %-10.4s|\n", line[i], local[i], line[i]);
    // Output by whichever thread is in turn; each flushes, since stdout belongs to its process.
    fflush(stdout);
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 4; turn++) {
        if (omp_get_thread_num() == turn) {
            printf("turn %d: %s\n", turn, line[turn]);
            fputs(local[turn], stdout);
            putchar('\n');
            fwrite(line[turn], 1, 6, stdout);
            fputc('!', stdout);
            puts("");
            fflush(stdout);
            line[turn + 1][0] = 'L';
        }
#pragma omp barrier
    }
    fprintf(stdout, "%s%n", "done ", &(int){0});
    int written = 0;
    printf("%s%n\n", line[4], &written);
    printf("%d\n", written);
    return 0;
}
