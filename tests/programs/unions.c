// Unions: one member written by one thread, another read by the next; type tags on the heap.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union {
    uint64_t word;
    uint32_t half[2];
    uint8_t byte[8];
    double real;
} Cell;

typedef struct {
    enum { NUMBER, TEXT, LIST } kind;
    union {
        long number;
        char text[24];
        struct { int *items; int count; } list;
    };
} Value;

static Cell cell[257];

int main(void) {
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 257; i++) cell[i].word = 0x0102030405060708ULL * (uint64_t)(i + 1);
#pragma omp for schedule(static, 2)
        for (int i = 0; i < 257; i++) cell[i].byte[i % 8] ^= 0xFF;
#pragma omp for schedule(dynamic, 5)
        for (int i = 0; i < 257; i++) cell[i].half[i & 1] += 3;
    }
    uint64_t x = 0;
    for (int i = 0; i < 257; i++) x = x * 31 + cell[i].word;
    printf("%016llx\n", (unsigned long long)x);
#pragma omp parallel for
    for (int i = 0; i < 257; i++) cell[i].real = i * 0.5;
    x = 0;
#pragma omp parallel for reduction(^ : x) schedule(static, 1)
    for (int i = 0; i < 257; i++) x ^= cell[256 - i].word >> (i % 8);
    printf("%016llx\n", (unsigned long long)x);

    Value *values = malloc(60 * sizeof *values);
    long sum = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static, 1)
        for (int i = 0; i < 60; i++) {
            values[i].kind = i % 3;
            if (values[i].kind == NUMBER) values[i].number = i * 1000;
            else if (values[i].kind == TEXT) snprintf(values[i].text, sizeof values[i].text, "value %d", i);
            else {
                values[i].list.count = i;
                values[i].list.items = malloc(sizeof(int) * (size_t)(i + 1));
                for (int k = 0; k < i; k++) values[i].list.items[k] = k;
            }
        }
#pragma omp for reduction(+ : sum) schedule(static, 7)
        for (int i = 0; i < 60; i++) {
            Value *v = &values[59 - i];
            if (v->kind == NUMBER) sum += v->number;
            else if (v->kind == TEXT) sum += (long)strlen(v->text);
            else {
                for (int k = 0; k < v->list.count; k++) sum += v->list.items[k];
                free(v->list.items);
            }
        }
    }
    free(values);
    printf("%ld\n", sum);
    return 0;
}
