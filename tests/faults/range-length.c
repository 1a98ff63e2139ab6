//@ layout: 1x1
//@ found: verify
#include <stdio.h>
#include <string.h>

char from[5000], to[5000];

__attribute__((noinline)) void copy(size_t n) { memcpy(to, from, n); }

int main(void) {
    copy(5000);
    printf("%d\n", to[4999]);
    return 0;
}
