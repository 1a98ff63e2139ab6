// Results that the C library keeps in memory of its own can be read by all threads; strtok goes on where any thread left off.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <omp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char text[4][900];

int main(void) {
    setenv("TZ", "UTC0", 1);
    time_t moment = 86400 * 365, later = moment + 3600;
    struct tm *broken = gmtime(&moment);
    struct tm copy = *broken;
    char *as_text = asctime(&copy);
    char *unknown = strerror(12345), *known = strerror(ENOENT), *signal_name = strsignal(SIGSEGV);
    setenv("DSM_T_VALUE", "a value", 1);
    char *value = getenv("DSM_T_VALUE");
    struct in_addr address = {htonl(0x7f000001)};
    char *dotted = inet_ntoa(address);
    struct passwd *user = getpwuid(0);
    struct group *group = getgrgid(0);
    struct protoent *protocol = getprotobyname("tcp");
    struct lconv *conventions = localeconv();
    char *locale = setlocale(LC_ALL, NULL), *code = nl_langinfo(CODESET), *digits;
    int point, sign;
    digits = ecvt(3.14159, 5, &point, &sign);
    char sentence[] = "one two three four five six seven eight";
    char *word = strtok(sentence, " ");
    char *encoded = l64a(123456789);
    static int words[4], letters;

#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        snprintf(text[me], sizeof text[me], "%d %d %s|%.24s|%s|%s|%s|%s|%s|%s %s %d|%s %s|%s %d %s|%s%s%d|%s|%s|%s %d|%s|%s", broken->tm_year,
                 broken->tm_hour, broken->tm_zone, as_text, unknown, known, signal_name, value, dotted, user->pw_name, user->pw_dir, (int)user->pw_uid,
                 group->gr_name, group->gr_mem[0] ? group->gr_mem[0] : "-", protocol ? protocol->p_name : "-", protocol ? protocol->p_proto : 0,
                 protocol && protocol->p_aliases[0] ? protocol->p_aliases[0] : "-", conventions->decimal_point, conventions->thousands_sep,
                 conventions->frac_digits, locale, code, digits, point, word, encoded);
    }
    for (int i = 1; i < 4; i++)
        if (strcmp(text[i], text[0])) printf("%d: %s\n", i, text[i]);
    printf("%s\n", text[0]);

    // Another thread's results, and one after the other under a lock.
    char *theirs = NULL, *their_error = NULL, *their_time = NULL;
    struct tm *their_broken = NULL;
    struct passwd *their_user = NULL;
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 3) {
            theirs = getenv("DSM_T_VALUE");
            their_error = strerror(EINVAL);
            their_time = ctime(&later);
            their_broken = localtime(&later);
            their_user = getpwnam("root");
        }
#pragma omp barrier
#pragma omp critical
        {
            char *next = strtok(NULL, " ");
            if (next) {
                words[omp_get_thread_num()]++;
                letters += strlen(next);
            }
        }
    }
    printf("%s|%s|%.24s|%d|%s\n", theirs, their_error, their_time, their_broken->tm_hour, their_user->pw_name);
    printf("words %d %d %d %d letters %d", words[0], words[1], words[2], words[3], letters);
    while ((word = strtok(NULL, " "))) printf(" %s", word);
    puts("");

    // The same place again: the library overwrites what it gave.
    struct tm *a = gmtime(&moment), *b = gmtime(&later);
    printf("same place %d, hour %d\n", a == b, a->tm_hour);
    return 0;
}
