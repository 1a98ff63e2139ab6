//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) char text[64];

__attribute__((noinline)) int fill(char *at, int length, char until, char with) {
    for (int i = 0; i < length; i++) {
        if (at[i] == until) return i;
        at[i] = with;
    }
    return -1;
}

int main(void) {
    printf("%d\n", fill(text, 64, 50, 'x'));
    return 0;
}
