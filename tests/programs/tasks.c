// Explicit tasks: created by one thread, recursion with taskwait, taskgroup, data handed to tasks.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int fib(int n) {
    if (n < 2) return n;
    int a, b;
#pragma omp task shared(a) firstprivate(n) if (n > 8)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n) if (n > 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

typedef struct Node {
    struct Node *next;
    long value;
} Node;

int main(void) {
    int result = 0;
#pragma omp parallel
#pragma omp single
    result = fib(14);
    printf("%d\n", result);

    Node *head = NULL;
    for (int i = 0; i < 200; i++) {
        Node *n = malloc(sizeof *n);
        n->next = head, n->value = i, head = n;
    }
#pragma omp parallel
    {
#pragma omp single
        for (Node *n = head; n; n = n->next) {
#pragma omp task firstprivate(n)
            n->value = n->value * n->value + 1;
        }
        // The barrier at the end of single completes all tasks.
    }
    long sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        free(head);
        head = next;
    }
    printf("%ld\n", sum);

    static int cells[64];
    int after = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 64; i++) {
#pragma omp task
            cells[i] = i * 3;
        }
        for (int i = 0; i < 64; i++) after += cells[i];
    }
    printf("%d\n", after);
    return 0;
}
