// Binary search trees: sub-trees built in parallel, joined, searched by everyone, freed by others.
#include <stdio.h>
#include <stdlib.h>

typedef struct Tree {
    struct Tree *left, *right;
    unsigned key;
    long weight;
} Tree;

static Tree *add(Tree *t, unsigned key) {
    if (!t) {
        t = calloc(1, sizeof *t);
        t->key = key;
        t->weight = 1;
        return t;
    }
    if (key < t->key) t->left = add(t->left, key);
    else if (key > t->key) t->right = add(t->right, key);
    else t->weight++;
    return t;
}

static long sum(const Tree *t, int depth) {
    return t ? t->weight * (long)t->key + depth + sum(t->left, depth + 1) + sum(t->right, depth + 1) : 0;
}

static const Tree *find(const Tree *t, unsigned key) {
    while (t && t->key != key) t = key < t->key ? t->left : t->right;
    return t;
}

static void drop(Tree *t) {
    if (!t) return;
    drop(t->left);
    drop(t->right);
    free(t);
}

int main(void) {
    enum { PARTS = 8 };
    Tree *part[PARTS] = {0};
    // Values of one part come in one thread's order, so the shape does not depend on the team.
#pragma omp parallel for schedule(static, 1)
    for (int p = 0; p < PARTS; p++)
        for (unsigned i = 0; i < 300; i++) part[p] = add(part[p], (i * 2654435761u + (unsigned)p * 977) % 5000 / PARTS * PARTS + (unsigned)p);
    long sums[PARTS];
#pragma omp parallel for schedule(static, 1)
    for (int p = 0; p < PARTS; p++) sums[p] = sum(part[(p + 3) % PARTS], 0);
    for (int p = 0; p < PARTS; p++) printf("%ld ", sums[p]);
    puts("");
    int found = 0;
    long weights = 0;
#pragma omp parallel for reduction(+ : found, weights) schedule(dynamic, 50)
    for (unsigned key = 0; key < 5000; key++) {
        const Tree *t = find(part[key % PARTS], key);
        if (t) found++, weights += t->weight;
    }
    printf("%d %ld\n", found, weights);
#pragma omp parallel for schedule(static, 1)
    for (int p = 0; p < PARTS; p++) {
        Tree *other = part[(p + 5) % PARTS];
        drop(other->left);
        other->left = NULL;
    }
    long rest = 0;
    for (int p = 0; p < PARTS; p++) rest += sum(part[p], 0), drop(part[p]);
    printf("%ld\n", rest);
    return 0;
}
