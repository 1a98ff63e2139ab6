// Linked lists on the heap: every thread builds nodes, all are joined, walked and freed by others.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Node {
    struct Node *next;
    int key;
    char pad[21];
    short tail;
} Node;

static Node *head;

static void insert_sorted(int key) {
    Node *n = malloc(sizeof *n);
    n->key = key;
    n->tail = (short)(key * 3);
    Node **at = &head;
    while (*at && (*at)->key < key) at = &(*at)->next;
    n->next = *at;
    *at = n;
}

int main(void) {
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 400; i++) {
#pragma omp critical
        insert_sorted((i * 73) % 401);
    }
    long sum = 0, order = 1;
#pragma omp parallel
    {
#pragma omp single
        for (Node *n = head; n; n = n->next) {
            sum = sum * 3 % 1000003 + n->key + n->tail;
            if (n->next) order &= n->key <= n->next->key;
        }
    }
    printf("%ld %ld\n", sum, order);
    // Threads take nodes off the front in turn: whoever takes one frees it.
    int taken[8] = {0};
#pragma omp parallel num_threads(4)
    {
        for (;;) {
            Node *mine;
#pragma omp critical
            {
                mine = head;
                if (head) head = head->next;
            }
            if (!mine) break;
#pragma omp atomic
            taken[mine->key % 8]++;
            free(mine);
        }
    }
    for (int i = 0; i < 8; i++) printf("%d ", taken[i]);
    printf("%d\n", head == NULL);
    return 0;
}
