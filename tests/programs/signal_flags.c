// Handlers that set a flag or count, wherever they interrupt: in user code, in a region's begin and end, in a lock, in a barrier, in a miss.
#define _GNU_SOURCE
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t stop, late;
static atomic_int ended;
static long rounds, done[8];
static long wide[4096];
static volatile sig_atomic_t calls[65];
static siginfo_t last;

static void set(int signal) {
    (void)signal;
    stop = 1;
}

static void set_atomic(int signal) {
    (void)signal;
    atomic_store(&ended, 1);
}

// Touches much more than a flag.
static void busy(int signal) {
    for (int i = 0; i < 4096; i += 64) wide[i]++;
    calls[signal]++;
    late = 1;
    signal = errno;
    write(-1, "", 1);
    errno = signal;
}

static void informed(int signal, siginfo_t *info, void *context) {
    (void)context;
    last = *info;
    calls[signal]++;
}

// Blocks SIGALRM in all threads but the main one, or lets it through: a handler in another thread might still be counting when the main thread compares.
static void mask_in_other_threads(int how) {
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() != 0) pthread_sigmask(how, &alarm, 0);
}

static void timer(long us, void (*handler)(int)) {
    signal(SIGALRM, handler);
    struct itimerval when = {{0, 0}, {0, us}};
    setitimer(ITIMER_REAL, &when, 0);
}

int main(void) {
    // Ends in the middle of forks, joins and critical sections.
    int bad = 0;
    for (int k = 0; k < 40; k++) {
        stop = 0;
        timer(2000 + 37 * k, set);
        while (!stop) {
#pragma omp parallel num_threads(2)
            {
#pragma omp critical
                rounds++;
                done[omp_get_thread_num()]++;
            }
        }
        bad += rounds != done[0] + done[1];
    }
    printf("flags: %d lost\n", bad);

    // Interrupts every millisecond while other processes write to what the handler touches.
    memset(wide, 0, sizeof wide);
    mask_in_other_threads(SIG_BLOCK);
    struct sigaction action = {.sa_handler = busy, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, 0);
    static long sums[4096];
    for (int k = 0; k < 60 || calls[SIGALRM] < 5; k++) {
#pragma omp parallel num_threads(4)
        {
            int me = omp_get_thread_num();
            for (int i = me; i < 4096; i += 4)
                if (i % 64) wide[i]++;
#pragma omp barrier
            for (int i = 0; i < 4096; i += 4)
                if ((i + me) % 64) sums[i + me] = wide[(i + 4 * me + 1) % 4096];
        }
    }
    setitimer(ITIMER_REAL, &never, 0);
    mask_in_other_threads(SIG_UNBLOCK);
    int wrong = 0;
    for (int i = 0; i < 4096; i++) wrong += i % 64 ? wide[i] != wide[1] : wide[i] != calls[SIGALRM];
    printf("busy: %d wrong, called %d\n", wrong, calls[SIGALRM] > 0 && wide[1] >= 60);

    // A loop without any call, a thread that waits while others poll, a flag for all.
    stop = 0;
    timer(3000, set);
    long spins = 0;
    while (!stop) spins++;
    printf("loop %d\n", spins > 0);
    timer(3000, set_atomic);
    int ends = 0;
#pragma omp parallel num_threads(4) reduction(+ : ends)
    {
        if (omp_get_thread_num() != 0)
            while (!atomic_load(&ended)) {}
        ends++;
    }
    printf("all %d ended\n", ends);

    // In the thread that raises it, in any process; what main has installed serves all.
    struct sigaction with_info = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGUSR1, &with_info, 0);
    sigaction(SIGUSR1, 0, &old);
    printf("installed %d\n", old.sa_sigaction == informed && (old.sa_flags & SA_SIGINFO));
    static int in_order[4];
#pragma omp parallel num_threads(4)
    {
#pragma omp critical
        {
            int before = calls[SIGUSR1];
            raise(SIGUSR1);
            in_order[omp_get_thread_num()] = calls[SIGUSR1] == before + 1 && last.si_signo == SIGUSR1;
        }
    }
    printf("raised %d: %d %d %d %d\n", calls[SIGUSR1], in_order[0], in_order[1], in_order[2], in_order[3]);

    // Handlers of one call, return values, ignored and blocked signals, waiting.
    struct sigaction once = {.sa_handler = busy, .sa_flags = SA_RESETHAND};
    sigaction(SIGUSR2, &once, 0);
    calls[SIGUSR2] = 0;
    raise(SIGUSR2);
    sigaction(SIGUSR2, 0, &old);
    printf("once %d %d\n", calls[SIGUSR2], old.sa_handler == SIG_DFL);
    printf("before %d %d\n", signal(SIGUSR2, SIG_IGN) == SIG_DFL, signal(SIGUSR2, busy) == SIG_IGN);
    printf("invalid %d %d\n", signal(SIGKILL, busy) == SIG_ERR, errno == EINVAL);
    sigset_t set_of, empty, pending;
    sigemptyset(&set_of);
    sigemptyset(&empty);
    sigaddset(&set_of, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set_of, 0);
    raise(SIGUSR2);
    sigpending(&pending);
    printf("pending %d called %d\n", sigismember(&pending, SIGUSR2), calls[SIGUSR2]);
    sigsuspend(&empty);
    printf("suspended %d\n", calls[SIGUSR2]);
    raise(SIGUSR2);
    int got = 0;
    sigwait(&set_of, &got);
    printf("waited for %d\n", got == SIGUSR2);
    sigprocmask(SIG_UNBLOCK, &set_of, 0);
    signal(SIGALRM, busy);
    late = 0;
    ualarm(3000, 0);
    printf("pause %d\n", pause());
    int shared[2] = {0, 0};
#pragma omp parallel num_threads(2) shared(shared)
    {
        if (omp_get_thread_num() == 0) {
            signal(SIGALRM, busy);
            late = 0;
            ualarm(2000, 0);
            while (!late) {}
            shared[0] = calls[SIGALRM] > 0;
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1) shared[1] = shared[0] + late;
    }
    printf("seen behind the barrier %d\n", shared[1]);
    return 0;
}
