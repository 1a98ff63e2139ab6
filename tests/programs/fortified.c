//@ flags: -D_FORTIFY_SOURCE=3 -D_GNU_SOURCE -fstack-protector-strong -Wl,-z,relro,-z,now
// The variants of library functions that distributions compile with: each turn, another thread reads what the one before left behind.
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wchar.h>

enum { TURNS = 24, ROOM = 256 };
static char text[ROOM], other[ROOM], place[PATH_MAX], path[64];
static wchar_t wide[ROOM];
static int numbers[ROOM], copies[ROOM], ends[2];
static struct pollfd polled;
static FILE *stream;
static char *lines;

static int format(char *to, size_t space, const char *form, ...) {
    va_list list;
    va_start(list, form);
    int n = vsnprintf(to, space, form, list);
    va_end(list);
    return n;
}

static int format_all(char *to, const char *form, ...) {
    va_list list;
    va_start(list, form);
    int n = vsprintf(to, form, list);
    va_end(list);
    return n;
}

static int print(FILE *to, const char *form, ...) {
    va_list list;
    va_start(list, form);
    int n = vfprintf(to, form, list);
    va_end(list);
    return n;
}

// The compiler knows the objects' sizes, but not the lengths, so the checked variants stay.
static void turn(int i, size_t n) {
    char *grown = NULL;
    switch (i % 12) {
    case 0: memset(text, 'a' + i, n); text[n] = 0; break;
    case 1: memcpy(other, text, n + 1); memmove(other + 1, other, n); break;
    case 2: strcpy(text, other); strcat(text, "-"); strncat(text, other, 2); break;
    case 3: stpcpy(other, text); strncpy(text, other + 2, n); stpncpy(text + 1, other, 2); break;
    case 4: snprintf(text, ROOM / 2 + n, "%s/%d", other, i); sprintf(other, "%s+%zu", text, n); break;
    case 5: format(text, ROOM - n, "<%s>", other); format_all(other, "[%s]", text); break;
    case 6: if (asprintf(&grown, "%s:%s", other, text) > 0) strncpy(text, grown, 40); free(grown); text[40] = 0; break;
    case 7: fprintf(stream, "%s\n", text); print(stream, "%d %s\n", i, other); break;
    case 8:
        rewind(stream);
        if (!fgets(text, ROOM / 2 + (int)n, stream) || fread(other, 1, n, stream) != n) abort();
        other[n] = 0;
        break;
    case 9: mbstowcs(wide, text, n); wmemcpy(wide + n, wide, n); wmemmove(wide + 1, wide, n); wmemset(wide + 2 * n, L'w', 3); break;
    case 10: {
        int fd = open(path, n > 0 ? O_RDONLY : O_WRONLY);
        if (read(fd, text, n) != (ssize_t)n || pread(fd, other, n, 1) != (ssize_t)n) abort();
        close(fd);
        text[n] = other[n] = 0;
        break;
    }
    case 11:
        for (int k = 0; k < ROOM; k++) numbers[k] = numbers[k] * 3 + i + k;
        memcpy(copies, numbers, n * sizeof(int));
        lines = reallocarray(lines, n + i, 4);
        snprintf(lines, 4 * (n + i), "%s", text);
        break;
    }
}

static jmp_buf back;

int main(int argc, char **argv) {
    strcpy(path, "dsm-fortified-XXXXXX");
    int fd = mkostemps(path, 0, O_APPEND);
    if (fd < 0 || write(fd, "the contents of a file", 22) != 22) return 1;
    close(fd);
    if (!(stream = tmpfile())) return 2;
    size_t n = 8 + argc;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < TURNS; i++) {
#pragma omp ordered
        {
            turn(i, n);
            printf("%d: %s %s %d %ls %s\n", i, text, other, copies[3], wide, lines ? lines : "-");
        }
    }
    if (pipe(ends) != 0 || write(ends[1], "through a pipe", 14) != 14) return 3;
    polled = (struct pollfd){.fd = ends[0], .events = POLLIN};
    printf("%d %d\n", poll(&polled, n > 0, 1000), polled.revents);
    if (read(ends[0], text, 4 + n) < 4) return 4;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || send(ends[0], text, n, 0) != (ssize_t)n) return 5;
    printf("%zd %.9s\n", recv(ends[1], other, n, 0), other);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    printf("%d\n", FD_ISSET(ends[0], &set) != 0);
    printf("%d %d\n", realpath("/tmp/..", place) != NULL, place[0]);
    char *where = get_current_dir_name();
    printf("%d %d\n", getcwd(place, n * 100) != NULL, strcmp(where, place));
    free(where);
    printf("%d\n", confstr(_CS_PATH, place, n * 10) > 0);
    if (!setjmp(back)) longjmp(back, 1);
    fprintf(stderr, "%s\n", "to standard error");
    dprintf(1, "%s", "");
    printf("%s\n", unlink(path) == 0 && argv[0] ? "end" : "");
    free(lines);
    return 0;
}
