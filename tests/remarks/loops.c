/* Loops of each kind that remarks tell apart; the test finds the lines by their text. */
#include <stddef.h>

#define N 4096
double unit[N], table[N];

struct node {
    struct node *next;
    double value;
};

void consume(double *element);

void walk(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        unit[i] += 1;
}

void stride(double *part, long n, long step)
{
    for (long i = 0; i < n; i++)
        part[i * step] += 2;
}

double chase(struct node *node)
{
    double sum = 0;
    while (node) {
        sum += node->value;
        node = node->next;
    }
    return sum;
}

void call(double *part, int n)
{
    for (int i = 0; i < n; i++) {
        part[i] = 3;
        consume(part);
    }
}

void gather(const int *index, int n)
{
    for (int i = 0; i < n; i++)
        table[index[i]] = 1;
}

double once(void) { return table[0]; }
