/* Functions of wide and of multibyte characters on memory that other threads have written. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uchar.h>
#include <wchar.h>
#include <wctype.h>

enum { N = 64, ROOM = 400 };

static wchar_t text[N][ROOM], out[N][ROOM], joined[N][ROOM];
static char narrow[N][ROOM];
static long value[N];
static double real[N];
static struct tm days[N];
static mbstate_t states[N];

static int vprint(wchar_t *to, size_t space, const wchar_t *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vswprintf(to, space, format, list);
    va_end(list);
    return length;
}

static unsigned long hash(const void *memory, size_t bytes)
{
    unsigned long h = 5381;
    for (const unsigned char *c = memory; bytes--; c++)
        h = h * 33 + *c;
    return h;
}

int main(void)
{
    unsigned long sum = 0;
    for (int round = 0; round < 3; round++) {
        #pragma omp parallel for schedule(static) num_threads(4)
        for (int i = 0; i < N; i++) {
            swprintf(text[i], ROOM, L"%d words, %ls and %s: %f", i * 37 + round, L"wide ones", "narrow", i / 4.0);
            snprintf(narrow[i], ROOM, "line %d of round %d", i, round);
            days[i] = (struct tm){.tm_year = 100 + i, .tm_mday = 1 + i % 28, .tm_mon = i % 12};
            memset(&states[i], 0, sizeof states[i]);
        }
        #pragma omp parallel for schedule(static, 1) num_threads(4) reduction(+ : sum)
        for (int j = 0; j < N; j++) {
            int i = N - 1 - j;
            wchar_t *end;
            value[i] = wcstol(text[i], &end, 10);
            sum += end - text[i];
            real[i] = wcstod(wcschr(text[i], L':') + 1, NULL);
            sum += wcslen(text[i]) + wcsspn(text[i], L"0123456789") + wcscspn(text[i], L",") + wcsnlen(text[i], 7);
            sum += (wcscmp(text[i], text[(i + 1) % N]) < 0) + (wcsncmp(text[i], text[(i + 1) % N], 2) == 0);
            sum += wcsstr(text[i], L"ones") != NULL;
            wcscpy(out[i], text[i]);
            wcscat(out[i], text[(i + 5) % N]);
            wcsncat(out[i], text[(i + 9) % N], 6);
            vprint(joined[i], ROOM, L"<%ls|%s|%.3ls>", text[(i + 2) % N], narrow[(i + 3) % N], text[i]);
            sum += wmemchr(joined[i], L'|', ROOM) != NULL;
        }
        #pragma omp parallel for schedule(static, 1) num_threads(4) reduction(+ : sum)
        for (int j = 0; j < N; j++) {
            int i = (j + 17) % N, number = 0;
            wchar_t word[40];
            char word2[60];
            sum += hash(out[i], wcslen(out[i]) * sizeof(wchar_t)) + hash(joined[i], wcslen(joined[i]) * sizeof(wchar_t));
            sum += swscanf(text[i], L"%d words, %39ls and %s", &number, word, word2);
            sum += (unsigned long)number + word[2];
            sum += wcsftime(out[i], ROOM, L"%Y-%m-%d %j", &days[i]);
            const char *from = narrow[i];
            sum += mbsrtowcs(joined[i], &from, ROOM, &states[i]) + (from == NULL);
            const wchar_t *back = joined[i];
            sum += wcsrtombs(narrow[i], &back, ROOM, &states[i]) + wcstombs(narrow[(i + 0) % N], joined[i], ROOM);
            wchar_t *copy = wcsdup(text[i]), *rest;
            for (wchar_t *word = wcstok(copy, L" ", &rest); word; word = wcstok(NULL, L" ", &rest))
                sum += word[0];
            free(copy);
            char16_t c16;
            sum += mbrtoc16(&c16, narrow[i], 1, &states[i]) + c16;
        }
        for (int i = 0; i < N; i++)
            sum += value[i] + (unsigned long)(real[i] * 4) + hash(narrow[i], strlen(narrow[i])) + hash(out[i], 40) + hash(joined[i], 60);
    }
    wprintf(L"%lu %ls\n", sum, text[N - 1]);
    return 0;
}
