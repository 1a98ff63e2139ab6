// setjmp and longjmp across frames with escaping locals; stack use after the jump stays right.
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf jump;
static int unwound;

static void dig(int depth, char *above) {
    char here[200];
    memset(here, 'a' + depth % 26, sizeof here);
    here[0] = above[0];
    if (depth == 0) {
        unwound += here[1];
        longjmp(jump, 7);
    }
    dig(depth - 1, here);
    unwound = -1000000;
}

static int attempt(int depth) {
    volatile int tries = 0;
    int kept[32];
    for (int i = 0; i < 32; i++) kept[i] = i * depth;
    char top[4] = "xyz";
    int code = setjmp(jump);
    tries++;
    if (tries < 4) dig(depth + tries, top);
    int sum = code * 1000 + tries;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 32; i++) {
        kept[i]++;
        sum += kept[i];
    }
    return sum;
}

static void throw_if(jmp_buf *to, int *cell, int i) {
    int local[20] = {0};
    int *volatile escaped = local;
    escaped[i % 20] = i;
    *cell += local[i % 20];
    if (i % 3 == 0) longjmp(*to, i + 1);
}

int main(void) {
    long total = 0;
    for (int i = 0; i < 50; i++) total += attempt(i);
    printf("%ld %d\n", total, unwound);
    // Each thread jumps within its own stack.
    int cells[60] = {0}, jumps = 0;
#pragma omp parallel for reduction(+ : jumps) schedule(static, 1)
    for (int i = 0; i < 60; i++) {
        jmp_buf mine;
        int code = setjmp(mine);
        if (code == 0) throw_if(&mine, &cells[i], i);
        else jumps += code;
    }
    int sum = 0;
    for (int i = 0; i < 60; i++) sum += cells[i] * (i + 1);
    printf("%d %d\n", jumps, sum);
    return 0;
}
