// Linked structures on the shared heap: pointers mean the same in every process.
//
// Every thread builds a list of words with malloc, whatever process it runs in. The lists are hung into
// one table, walked by other threads than those that built them, and freed by yet others. Nothing is
// copied or translated: a pointer is an address, and an address is valid everywhere.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 32, LENGTH = 200 };

typedef struct Node {
    struct Node *next;
    int number;
    char text[24];
} Node;

static Node *table[LISTS];
static int builder[LISTS], reader[LISTS];

int main(void) {
    long sum = 0, length = 0;
    int crossed = 0, bad = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int list = 0; list < LISTS; list++) {
            builder[list] = omp_get_thread_num();
            for (int i = 0; i < LENGTH; i++) {
                Node *node = malloc(sizeof *node);
                node->number = list * LENGTH + i;
                snprintf(node->text, sizeof node->text, "node %d", node->number);
                node->next = table[list];
                table[list] = node;
            }
        }
        // The barrier of the loop above made the lists visible; now each is read by some other thread.
#pragma omp for schedule(static) reduction(+ : sum, length, bad)
        for (int k = 0; k < LISTS; k++) {
            int list = (k + LISTS / 2) % LISTS;
            reader[list] = omp_get_thread_num();
            for (Node *node = table[list]; node; node = node->next) {
                sum += node->number;
                length++;
                bad += atoi(node->text + strlen("node ")) != node->number;
            }
        }
        // Free takes memory from any process back to where it came from.
#pragma omp for schedule(static, 1)
        for (int list = 0; list < LISTS; list++)
            while (table[list]) {
                Node *next = table[list]->next;
                free(table[list]);
                table[list] = next;
            }
    }
    for (int list = 0; list < LISTS; list++) crossed += builder[list] != reader[list];
    printf("%ld nodes in %d lists, %d of them read by another thread than their builder\n", length, LISTS, crossed);
    long n = (long)LISTS * LENGTH;
    int right = length == n && sum == n * (n - 1) / 2 && bad == 0;
    puts(right ? "verified" : "WRONG");
    return !right;
}
