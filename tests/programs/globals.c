// Initialised globals of every kind: static locals, pointers into other globals, const tables,
// strings, zero-initialised data, aligned and sectioned variables.
#include <stdio.h>
#include <string.h>

static int numbers[5] = {1, 2, 3, 4, 5};
int *middle = &numbers[2];
int **to_middle = &middle;
static const char *const words[] = {"alpha", "beta", "gamma"};
static const char *current[3] = {"one", "two", "three"};
static char text[32] = "initial text";
static struct { int id; int *where; const char *name; double v[3]; } table[] = {
    {1, &numbers[0], "first", {0.5, 1.5}},
    {2, &numbers[4], "last", {2.5}},
};
static _Alignas(256) char aligned[300];
static __attribute__((section("my_section"))) int placed = 77;
static long zero[1000];
const volatile int constant = 5;

static int tick(void) {
    static int ticks = 10;
    static int history[20];
    int now;
#pragma omp critical(tick)
    {
        history[ticks % 20] = ticks;
        now = ticks++;
        if (history[(ticks + 19) % 20] != now) now = -1;
    }
    return now;
}

int main(void) {
    long sum = 0;
    int negative = 0;
#pragma omp parallel for reduction(+ : sum, negative) schedule(static, 3)
    for (int i = 0; i < 200; i++) {
        int t = tick();
        sum += t;
        negative += t < 0;
    }
    printf("%ld %d\n", sum, negative);
#pragma omp parallel sections
    {
#pragma omp section
        for (int i = 0; i < 5; i++) numbers[i] *= 10;
#pragma omp section
        strcpy(text + 8, "changed");
#pragma omp section
        current[1] = words[2];
#pragma omp section
        for (int i = 0; i < 1000; i++) zero[i] += i;
#pragma omp section
        memset(aligned, 'x', sizeof aligned - 1);
#pragma omp section
        placed += constant;
    }
#pragma omp parallel sections
    {
#pragma omp section
        middle++;
#pragma omp section
        table[1].v[2] = table[0].v[1] + *table[0].where;
    }
    for (int i = 0; i < 1000; i++) sum += zero[i];
    printf("%d %d %s %s %d %.1f %zu %d %ld\n", **to_middle, *table[1].where, text, current[1], table[0].id,
           table[1].v[2], strlen(aligned), placed, sum);
    printf("%s %s %d\n", table[1].name, words[0], (int)((unsigned long)aligned % 256));
    return 0;
}
