//@ layout: 1x1
//@ found: verify
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    volatile long *p = malloc(sizeof *p);
    *p = 3;
    printf("%ld\n", *p);
    free((void *)p);
    return 0;
}
