/* Patterns that one thread compiles or expands and others use: regcomp, fnmatch, glob, scandir. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fnmatch.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 60 };

static regex_t expressions[3];
static regmatch_t matches[N][3];
static char lines[N][80];
static glob_t found;
static struct dirent **entries;
static long calls;

static int even(const struct dirent *entry)
{
    #pragma omp atomic
    calls++;
    return (entry->d_name[strlen(entry->d_name) - 1] - '0') % 2 == 0;
}

static int backwards(const struct dirent **left, const struct dirent **right)
{
    #pragma omp atomic
    calls += 0;
    return strcmp((*right)->d_name, (*left)->d_name);
}

static long text(const char *string)
{
    long h = 0;
    for (; *string; string++)
        h = (h * 31 + *string) % 1000003;
    return h;
}

int main(void)
{
    char directory[] = "/tmp/dsm-patterns-XXXXXX", path[200], pattern[100];
    if (!mkdtemp(directory))
        return 1;
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "%s/file_%d", directory, 100 + i);
        fclose(fopen(path, "w"));
    }
    long sum = 0;
    for (int round = 0; round < 3; round++) {
        snprintf(pattern, sizeof pattern, "([a-%c]+)=([0-9]*)", 'm' + round);
        if (regcomp(&expressions[0], pattern, REG_EXTENDED) || regcomp(&expressions[1], "^LINE", REG_ICASE | REG_NOSUB))
            return 2;
        sum += regcomp(&expressions[2], "(", REG_EXTENDED) != 0;
        snprintf(pattern, sizeof pattern, "%s/file_1[0-2]*", directory);
        found.gl_offs = 2;
        if (glob(pattern, GLOB_DOOFFS, NULL, &found))
            return 3;
        snprintf(pattern, sizeof pattern, "%s/file_14*", directory);
        if (glob(pattern, GLOB_DOOFFS | GLOB_APPEND, NULL, &found))
            return 4;
        int count = scandir(directory, &entries, round == 1 ? NULL : even, round ? backwards : alphasort);
        #pragma omp parallel num_threads(4)
        {
            #pragma omp for schedule(static)
            for (int i = 0; i < N; i++)
                snprintf(lines[i], sizeof lines[i], "line %d: abz key%d=%d", i, round, i * 37);
            #pragma omp for schedule(static, 1) reduction(+ : sum)
            for (int j = 0; j < N; j++) {
                int i = N - 1 - j;
                sum += regexec(&expressions[0], lines[i], 3, matches[i], 0) == 0;
                sum += regexec(&expressions[1], lines[i], 0, NULL, 0) == 0;
                sum += fnmatch("line *: abz*[0-4]", lines[i], 0) == 0;
            }
            #pragma omp for schedule(static, 1) reduction(+ : sum)
            for (int i = 0; i < N; i++)
                sum += matches[i][1].rm_so + 3 * matches[i][2].rm_eo;
            #pragma omp for schedule(static, 1) reduction(+ : sum)
            for (int i = 0; i < (int)found.gl_pathc; i++)
                sum += text(strrchr(found.gl_pathv[2 + i], '/')) * (i + 1);
            #pragma omp for schedule(static, 1) reduction(+ : sum)
            for (int i = 0; i < count; i++) {
                sum += text(entries[i]->d_name) * (i + 1);
                free(entries[i]);
            }
            #pragma omp single
            {
                regfree(&expressions[0]);
                regfree(&expressions[1]);
            }
        }
        free(entries);
        globfree(&found);
    }
    for (int i = 0; i < N; i++) {
        snprintf(path, sizeof path, "%s/file_%d", directory, 100 + i);
        unlink(path);
    }
    rmdir(directory);
    printf("%ld %ld\n", sum, calls);
    return 0;
}
