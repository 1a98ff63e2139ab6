//@ flags: -D_GNU_SOURCE
// The functions without locks, which the C library's header has inline, on streams that another process has opened.
#include <stdio.h>

int main(void) {
    FILE *f = tmpfile();
    if (!f) return 1;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 12; i++) {
#pragma omp ordered
        {
            putc_unlocked('a' + i, f);
            fputc_unlocked('A' + i, f);
            fputs_unlocked("x\n", f);
            if (ferror_unlocked(f)) printf("error\n");
        }
    }
    rewind(f);
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < 13; i++) {
#pragma omp ordered
        {
            char rest[8] = "";
            int a = getc_unlocked(f), b = fgetc_unlocked(f);
            fgets_unlocked(rest, sizeof rest, f);
            printf("%d %d %d %s", a, b, feof_unlocked(f) != 0, rest);
            putchar_unlocked('\n');
        }
    }
    clearerr_unlocked(f);
    fclose(f);
    return 0;
}
