//@ layout: 1x1
//@ found: verify
#include <stdio.h>
#include <string.h>

_Alignas(64) char bytes[128];

__attribute__((noinline)) void put(char *at, long n) { memcpy(at, &n, sizeof n); }

int main(void) {
    put(bytes + 60, -1);
    printf("%d %d\n", bytes[60], bytes[67]);
    return 0;
}
