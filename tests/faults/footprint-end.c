//@ layout: 1x1
//@ found: verify
#include <stdio.h>
_Alignas(64) char text[128] = {[100] = 'x'};

__attribute__((noinline)) int position(const char *at, int length, char wanted) {
    for (int i = 0; i < length; i++)
        if (at[i] == wanted) return i;
    return -1;
}

int main(void) {
    printf("%d\n", position(text, 128, 'x'));
    return 0;
}
