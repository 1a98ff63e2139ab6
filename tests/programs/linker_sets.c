// Entries that nothing but the linker's names for begin and end of their section leads to.
#include <stdio.h>

typedef int (*entry)(int);
#define ENTRY(name, value) \
    static int name(int x) { return x value; } \
    static const entry set_##name __attribute__((used, section("entries"))) = name;

ENTRY(twice, * 2)
ENTRY(next, + 1)
ENTRY(square, * x)

extern const entry __start_entries[], __stop_entries[];
static int results[64];

int main(void) {
    int count = __stop_entries - __start_entries;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 64; i++) results[i] = __start_entries[i % count](i);
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += results[i];
    printf("%d entries, %d\n", count, sum);
    return 0;
}
