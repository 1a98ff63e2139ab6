// Variadic functions called in parallel, va_list passed on, pointers to shared data as arguments.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static long sum_of(const char *kinds, ...) {
    va_list args;
    va_start(args, kinds);
    long sum = 0;
    for (const char *k = kinds; *k; k++) switch (*k) {
        case 'i': sum += va_arg(args, int); break;
        case 'l': sum += va_arg(args, long); break;
        case 'd': sum += (long)(va_arg(args, double) * 4); break;
        case 'p': sum += *va_arg(args, int *); break;
        default: sum += (long)strlen(va_arg(args, char *));
        }
    va_end(args);
    return sum;
}

static int put_v(char *into, size_t size, const char *format, va_list args) {
    va_list copy;
    va_copy(copy, args);
    int need = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    vsnprintf(into, size, format, args);
    return need;
}

static int put(char *into, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = put_v(into, size, format, args);
    va_end(args);
    return n;
}

static void raise_all(int count, ...) {
    va_list args;
    va_start(args, count);
    for (int i = 0; i < count; i++) (*va_arg(args, int *))++;
    va_end(args);
}

static char text[30][64];
static int lengths[30];
static int cells[90];

int main(void) {
    static char name[] = "shared name";
    long total = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 30; i++) {
            cells[i * 3] = i;
            raise_all(3, &cells[i * 3], &cells[i * 3 + 1], &cells[i * 3 + 2]);
            lengths[i] = put(text[i], sizeof text[i], "%s %d %05.2f %c %ld", name, i, i * 0.25, 'a' + i % 26, 1L << i);
        }
#pragma omp for reduction(+ : total)
        for (int i = 0; i < 30; i++)
            total += sum_of("ildpsdil", i, 100L * i, i * 0.25, &cells[(29 - i) * 3], text[29 - i], 1.0, lengths[29 - i], 5L);
    }
    printf("%ld\n", total);
    for (int i = 0; i < 30; i += 7) printf("%s %d %d\n", text[i], lengths[i], cells[i * 3 + 1]);
    return 0;
}
