//@ libs: -lm
// What a program sets for itself holds for all of its threads: environment, working directory, permissions of new files, locale, limits, getopt.
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char line[4][600];
static char put[40] = "DSM_T_PUT=first";
static int pids[4];

static const char *have(const char *name) {
    const char *value = getenv(name);
    return value ? value : "(none)";
}

static int count(char **list, const char *prefix) {
    int n = 0;
    for (; list && *list; list++) n += strncmp(*list, prefix, strlen(prefix)) == 0;
    return n;
}

static void show(const char *title, char **arguments) {
    char **all = environ;
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        char here[200], *base;
        struct rlimit limit;
        struct stat status;
#pragma omp critical
        {
            if (!getcwd(here, sizeof here)) strcpy(here, "?/?");
            base = strrchr(here, '/') + 1;
            getrlimit(RLIMIT_CORE, &limit);
            mode_t mask = umask(0);
            umask(mask);
            stat(".", &status);
            pids[me] = getpid();
            snprintf(line[me], sizeof line[me],
                     "%s %s %s %s %d %d | %s %d | %o | %s %.1f | %ld | %d %s %s", have("DSM_T_A"), have("DSM_T_B"), have("DSM_T_PUT"),
                     have("DSM_T_C"), count(environ, "DSM_T_"), count(all, "DSM_T_"), base, S_ISDIR(status.st_mode), mask,
                     setlocale(LC_ALL, NULL), strtod("2.5", NULL), (long)limit.rlim_cur, optind, optarg ? optarg : "-", arguments[1]);
        }
    }
    for (int i = 1; i < 4; i++)
        if (strcmp(line[i], line[0]) || pids[i] != pids[0]) printf("thread %d has %s\n", i, line[i]);
    printf("%s: %s\n", title, line[0]);
}

int main(void) {
    char first[] = "-x", second[] = "value", third[] = "rest", name[] = "program";
    char *arguments[] = {name, first, second, third, NULL};
    char directory[] = "/tmp/dsm_state_XXXXXX";
    if (!mkdtemp(directory) || chdir(directory)) return 1;
    mkdir("one", 0777);
    mkdir("two", 0777);
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
    umask(022);
    if (chdir("one")) return 1;
    show("at first", arguments);

    setenv("DSM_T_A", "1", 1);
    setenv("DSM_T_B", "2", 1);
    putenv(put);
    show("set", arguments);
    setenv("DSM_T_A", "changed", 0);
    setenv("DSM_T_B", "a longer value than before", 1);
    strcpy(put + 10, "second");
    umask(077);
    show("changed", arguments);
    unsetenv("DSM_T_A");
    if (chdir("../two")) return 1;
    setlocale(LC_ALL, "C.UTF-8");
    while (getopt(4, arguments, "x:") != -1) {}
    show("moved", arguments);

    // A directory that was given another name, and one that is gone.
    rename("../two", "../three");
    show("renamed", arguments);
    chdir("../one");
    int up = -1;
    rename("../one", "../four");
    for (char letter = 'a'; letter < 'a' + 26; letter++) {
        char variable[] = "DSM_T_?1=";
        variable[6] = letter;
        variable[8] = 0;
        setenv(variable, "x", 1);
    }
    show("many", arguments);
    static char *fresh[] = {"DSM_T_C=mine", "PATH=/bin:/usr/bin", NULL};
    environ = fresh;
    show("replaced", arguments);
    setenv("DSM_T_A", "again", 1);
    show("extended", arguments);
    clearenv();
    show("cleared", arguments);
    setenv("TZ", "XYZ-5:30", 1);
    tzset();
    static int hours[4];
    static char zone[4][10];
#pragma omp parallel num_threads(4)
    {
        time_t moment = 86400 * 365;
        struct tm local;
        localtime_r(&moment, &local);
        hours[omp_get_thread_num()] = local.tm_hour * 100 + local.tm_min + (timezone == -19800);
        strftime(zone[omp_get_thread_num()], 10, "%Z", &local);
    }
    for (int i = 0; i < 4; i++) printf("zone %d %s\n", hours[i], zone[i]);

    // What a thread creates has the permissions and the place that the program set.
    umask(027);
    chdir("/tmp");
    chdir(directory);
    setenv("DSM_T_D", "for children", 1);
#pragma omp parallel num_threads(4)
    {
        char file[20];
        sprintf(file, "file%d", omp_get_thread_num());
#pragma omp critical
        {
            fclose(fopen(file, "w"));
            char command[80];
            sprintf(command, "test \"$DSM_T_D\" = 'for children' && echo $DSM_T_D >> file%d", omp_get_thread_num());
            system(command);
        }
    }
    for (int i = 0; i < 4; i++) {
        char file[20];
        struct stat status;
        sprintf(file, "file%d", i);
        printf("%s %o %ld bytes\n", file, stat(file, &status) ? 0 : status.st_mode & 0777, (long)status.st_size);
    }
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command) != 0 || up != -1;
}
