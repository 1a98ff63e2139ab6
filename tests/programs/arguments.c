// argc, argv, the environment and standard input, read by main and by the team.
//@ args: one two=2 -three
//@ env: TEST_WORD=hello
//@ stdin: 12 first line\nsecond line\n7 8 9\n
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[3][64];
static char **kept;

int main(int argc, char **argv, char **envp) {
    int length[8] = {0}, seen = 0;
    kept = argv;
    printf("%d\n", argc);
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i < argc; i++) length[i] = (int)strlen(argv[i]) + kept[i][0];
    for (int i = 1; i < argc; i++) printf("%s %d\n", argv[i], length[i]);
    for (char **e = envp; *e; e++) seen += strncmp(*e, "TEST_WORD=", 10) == 0;
    const char *word = getenv("TEST_WORD");
    printf("%d %s\n", seen, word ? word : "(none)");
    argv[1][0] = 'O';
    int number = 0, rest[3];
    if (scanf("%d ", &number) != 1) return 1;
    if (!fgets(line[0], sizeof line[0], stdin) || !fgets(line[1], sizeof line[1], stdin)) return 2;
    if (fscanf(stdin, "%d %d %d", &rest[0], &rest[1], &rest[2]) != 3) return 3;
    int letters = 0;
#pragma omp parallel for reduction(+ : letters) schedule(static, 1)
    for (int i = 0; i < 2; i++)
        for (char *p = line[i]; *p; p++) letters += *p;
    printf("%d %d %s%s%d\n", number, letters, line[0], line[1], rest[0] + rest[1] * rest[2]);
    return getchar() == '\n' && getchar() == EOF && strcmp(argv[1], "One") == 0 ? 0 : 4;
}
