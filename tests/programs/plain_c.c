// A program without any OpenMP pragma runs as it does everywhere.
#include <stdio.h>
#include <stdlib.h>

static int sieve[2000];

int main(void) {
    int count = 0, *primes = malloc(400 * sizeof *primes);
    for (int i = 2; i < 2000; i++) {
        if (sieve[i]) continue;
        primes[count++] = i;
        for (int k = i * i; k < 2000; k += i) sieve[k] = 1;
    }
    printf("%d %d %d\n", count, primes[100], primes[count - 1]);
    free(primes);
    return 0;
}
