//@ layout: 2x1
//@ found: verify
#include <stdio.h>
#include <pthread.h>


long value;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) long twice(void) {
    long first = value;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return first + value;
}

int main(void) {
    long sum = 0;
    value = 5;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += twice();
    printf("%ld\n", sum);
    return 0;
}
