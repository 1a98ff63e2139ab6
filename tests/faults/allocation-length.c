//@ layout: 1x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>
int at[1000];

__attribute__((noinline)) long gather(const long *p, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) sum += p[at[i]];
    return sum;
}

int main(void) {
    long *p = calloc(100000, sizeof *p);
    for (int i = 0; i < 1000; i++) at[i] = i * 77 % 100000;
    p[77] = 3;
    printf("%ld\n", gather(p, 1000));
    return 0;
}
