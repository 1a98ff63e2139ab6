//@ flags: -D_GNU_SOURCE
// A signal handler that interrupts its thread in functions that handlers may call, and at the first use of a variable of the thread.
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_key_t key;
static int ends[2];
static volatile long handled, wrong;
static _Thread_local int counts[4];
static int *volatile addresses[64];

static void handler(int signal) {
    int saved = errno;
    (void)signal;
    if (pthread_getspecific(key) == NULL) wrong = wrong + 1;
    addresses[omp_get_thread_num()] = counts;
    counts[1]++;
    if (write(ends[1], "x", 1) < 0 && errno != EAGAIN) wrong = wrong + 1;
    handled = handled + 1;
    errno = saved;
}

int main(void) {
    if (pthread_key_create(&key, NULL) || pipe2(ends, O_NONBLOCK)) return 1;
    pthread_setspecific(key, &key);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    long calls = 0;
    char text[64];
    while (handled < 200) {
        for (int i = 0; i < 1000; i++) calls += pthread_getspecific(key) == &key;
        counts[2]++;
        if (write(ends[1], "y", 1) < 0 && errno != EAGAIN) wrong = wrong + 1;
        while (read(ends[0], text, sizeof text) > 0)
            ;
        void *object = malloc(9000 + calls % 1000);
        free(object);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld wrong, %d\n", wrong, calls > 0 && counts[1] == handled && addresses[0] == counts);
    return 0;
}
