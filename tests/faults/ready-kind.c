//@ layout: 1x1
//@ found: verify
#include <stdio.h>
int at[1000];
double a[1000], b[1000];

__attribute__((noinline)) void scatter(int n) {
    for (int i = 0; i < n; i++) a[at[i]] = b[i];
}

int main(void) {
    for (int i = 0; i < 1000; i++) at[i] = i * 7 % 1000;
    scatter(1000);
    printf("%g\n", a[3]);
    return 0;
}
