/* Library functions that make trees and lists, or reach memory through addresses in memory: one thread makes or calls, others use. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>
#include <wordexp.h>

enum { N = 60, CAPACITY = 64 };

struct item {
    int number, seen;
    char name[24];
};

static struct item items[N];
static void *tree;
static long visited, compared;
static int last;

static int by_number(const void *left, const void *right)
{
    #pragma omp atomic
    compared++;
    const struct item *x = left, *y = right;
    return (x->number > y->number) - (x->number < y->number);
}

static void visit(const void *node, VISIT when, int depth)
{
    if (when != postorder && when != leaf)
        return;
    struct item *item = *(struct item *const *)node;
    visited += (item->number > last) * item->number + (depth < 0);
    last = item->number;
    item->seen++;
}

static void release(void *item) { ((struct item *)item)->seen += 10; }

static long trees(void)
{
    long sum = 0;
    for (int round = 0; round < 3; round++) {
        #pragma omp parallel for num_threads(4) schedule(static, 1) reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            items[i].number = i * 7 % N + 1;
            snprintf(items[i].name, sizeof items[i].name, "item %d", i);
            #pragma omp critical
            {
                struct item **there = tsearch(&items[i], &tree, by_number);
                sum += *there == &items[i];
                sum += *(struct item **)tsearch(&items[i], &tree, by_number) == &items[i];
            }
        }
        #pragma omp parallel for num_threads(4) schedule(static) reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            struct item key = {.number = i + 1};
            struct item *const *there = tfind(&key, &tree, by_number);
            sum += strlen((*there)->name) + (*there)->number;
        }
        #pragma omp parallel num_threads(4)
        #pragma omp for schedule(static, 1) ordered
        for (int i = 0; i < 4; i++)
            #pragma omp ordered
            {
                last = 0;
                twalk(tree, visit);
                struct item key = {.number = 4 * i + 2};
                sum += tdelete(&key, &tree, by_number) != NULL;
                sum += tfind(&key, &tree, by_number) == NULL;
                sum += tdelete(&key, &tree, by_number) == NULL;
            }
        tdestroy(tree, release);
        tree = NULL;
    }
    for (int i = 0; i < N; i++)
        sum += items[i].seen;
    return sum + visited + (compared > 0);
}

static wchar_t wide[N][CAPACITY];
static char narrow[N][CAPACITY], converted[N][4 * CAPACITY];
static const char *from[N];
static const wchar_t *back[N];
static mbstate_t states[N];
static char *input[N], *output[N];
static size_t left[N], capacity[N];

static long encodings(void)
{
    long sum = 0;
    #pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        #pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            snprintf(narrow[i], CAPACITY, "text of line %d", i);
            from[i] = narrow[i];
            input[i] = narrow[i];
            left[i] = strlen(narrow[i]);
            output[i] = converted[i];
            capacity[i] = sizeof converted[i];
        }
        iconv_t own = iconv_open("UTF-16LE", "UTF-8");
        #pragma omp for schedule(static, 1)
        for (int j = 0; j < N; j++) {
            int i = N - 1 - j;
            sum += mbsnrtowcs(wide[i], &from[i], 12, CAPACITY, &states[i]);
            sum += iconv(own, &input[i], &left[i], &output[i], &capacity[i]);
            back[i] = wide[i];
        }
        iconv_close(own);
        #pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            sum += from[i] - narrow[i] + wide[i][3] + left[i] + (output[i] - converted[i]) + converted[i][2] + capacity[i];
            sum += wcsnrtombs(narrow[i], &back[i], 5, CAPACITY, &states[i]);
        }
        #pragma omp for schedule(static, 1)
        for (int i = 0; i < N; i++)
            sum += (back[i] - wide[i]) + narrow[i][4];
    }
    return sum;
}

static struct msghdr message, answer;
static struct iovec pieces[2], places[2];
static char sent[2][CAPACITY], received[2][CAPACITY];

static long messages(void)
{
    int ends[2];
    long sum = 0;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
        return -1;
    for (int round = 0; round < 4; round++) {
        #pragma omp parallel for num_threads(2) schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            snprintf(sent[i], CAPACITY, "piece %d of round %d", i, round);
            pieces[i] = (struct iovec){sent[i], strlen(sent[i])};
            places[i] = (struct iovec){received[i], 10 + 40 * i};
        }
        message = (struct msghdr){.msg_iov = pieces, .msg_iovlen = 2};
        answer = (struct msghdr){.msg_iov = places, .msg_iovlen = 2};
        #pragma omp parallel sections num_threads(2) reduction(+ : sum)
        {
            #pragma omp section
            sum += sendmsg(ends[0], &message, 0);
            #pragma omp section
            sum += recvmsg(ends[1], &answer, 0);
        }
        #pragma omp parallel for num_threads(2) schedule(static, 1) reduction(+ : sum)
        for (int i = 0; i < 2; i++)
            sum += strlen(received[1 - i]) + received[1 - i][5] + answer.msg_flags;
    }
    close(ends[0]);
    close(ends[1]);
    return sum;
}

static struct addrinfo *hosts;
static struct ifaddrs *interfaces;
static wordexp_t words;

static long lists(void)
{
    long sum = 0;
    struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_CANONNAME, .ai_family = AF_INET};
    words.we_offs = 1;
    #pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        #pragma omp single
        {
            sum += getaddrinfo("127.0.0.1", "80", &wanted, &hosts);
            sum += wordexp("one 'two three' four", &words, WRDE_DOOFFS) + wordexp("$((2 + 3)) six", &words, WRDE_DOOFFS | WRDE_APPEND);
            if (getifaddrs(&interfaces))
                interfaces = NULL;
        }
        for (struct addrinfo *at = hosts; at; at = at->ai_next) {
            struct sockaddr_in *address = (struct sockaddr_in *)at->ai_addr;
            sum += ntohs(address->sin_port) + at->ai_socktype + (at->ai_canonname ? strlen(at->ai_canonname) : 0);
        }
        long names = 0;
        for (struct ifaddrs *at = interfaces; at; at = at->ifa_next)
            if (strcmp(at->ifa_name, "lo") == 0 && at->ifa_addr)
                names |= at->ifa_addr->sa_family == AF_INET;
        sum += names;
        for (size_t i = 0; i < words.we_wordc; i++)
            sum += (i + 1) * strlen(words.we_wordv[1 + i]) + words.we_wordv[1 + i][0];
        #pragma omp barrier
        #pragma omp single
        {
            if (interfaces)
                freeifaddrs(interfaces);
            freeaddrinfo(hosts);
            wordfree(&words);
        }
    }
    return sum;
}

static int verbose;
static char *arguments[8];

static long options(void)
{
    static char text[7][CAPACITY];
    struct option known[] = {{"size", required_argument, NULL, 's'}, {"verbose", no_argument, &verbose, 7}, {NULL, 0, NULL, 0}};
    const char *given[] = {"program", "rest", "--size=12", "-x", "--verbose", "--si", "9"};
    long sum = 0;
    #pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int i = 0; i < 7; i++)
        arguments[i] = strcpy(text[i], given[i]);
    int index = 0, found;
    while ((found = getopt_long(7, arguments, "x", known, &index)) != -1)
        sum += found + index + (found == 's' ? atoi(optarg) : 0);
    #pragma omp parallel for num_threads(4) schedule(static, 1) reduction(+ : sum)
    for (int i = 0; i < 7; i++)
        sum += (i + 1) * arguments[i][strlen(arguments[i]) - 1] + verbose;
    return sum + optind;
}

static char code[16];

static int programs(void)
{
    int status = 0;
    #pragma omp parallel for num_threads(4) schedule(static, 1)
    for (int i = 0; i < 4; i++)
        if (i == 3)
            strcpy(code, "exit 7");
    /* A child has what its parent had. */
    fflush(stdout);
    if (strlen(code) != 6)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", code, (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

int main(void)
{
    printf("%ld\n", trees());
    printf("%ld\n", encodings());
    printf("%ld\n", messages());
    printf("%ld\n", lists());
    printf("%ld\n", options());
    printf("%d\n", programs());
    return 0;
}
