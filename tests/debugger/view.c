/* Process 1 writes; process 0, whose copies are invalid then, has gdb look at itself, with process 1 stopped, and at process 1. The arguments are
 * files with gdb's commands. */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 4096

struct node {
    struct node *next;
    int value;
};

static struct node *list;
static int numbers[N];
static int mixed[N];
static double sum;
static int peer;

static void add(int value)
{
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = list;
    list = node;
}

/* Runs gdb, which attaches to a process, with the commands of a file. */
static void look(const char *commands, int process)
{
    char line[4096];
    snprintf(line, sizeof line, "gdb -q -nx -batch -iex 'set auto-load safe-path /' -x '%s' -p %d 2>&1", commands, process);
    fflush(stdout);
    if (system(line) != 0)
        puts("gdb failed");
}

static int work(int rank)
{
    int local = 10 * rank;
    /* Where the system lets only parents look. */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (rank == 1) {
        /* The program is one process to itself: getpid() is that of process 0. */
        peer = (int)syscall(SYS_getpid);
        for (int i = 0; i < N; i++)
            numbers[i] = i + 1;
        add(7);
        add(8);
        sum = 2.5;
    }
    return local;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 0; i < N; i++)
        numbers[i] = mixed[i] = -1;
#pragma omp parallel reduction(+ : total)
    total += work(omp_get_thread_num());
    if (argc > 2) {
        int other = peer;
        kill(other, SIGSTOP);
        look(argv[1], getpid());
        kill(other, SIGCONT);
        look(argv[2], other);
    }
    printf("%d %d %d %g %d %d\n", total, numbers[10], mixed[10], sum, list->value, list->next->value);
    return 0;
}
