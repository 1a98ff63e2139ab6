/* Comparisons of qsort and its relatives that synchronise: atomics, locks, regions; ties stay in order, and as many comparisons are made. */
#define _GNU_SOURCE
#include <omp.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row { int key; char text[60]; };
static struct { _Alignas(4096) int values[64]; long other[64]; } shared;
static struct row rows[100];
static long asked, answered;
static int stop, regions;

/* Waits for another thread, which stores beside what is sorted. */
static int with_answer(const void *x, const void *y) {
    long question, answer;
#pragma omp atomic capture seq_cst
    question = ++asked;
    do {
#pragma omp atomic read seq_cst
        answer = answered;
    } while (answer < question);
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static int with_lock(const void *x, const void *y, void *count) {
#pragma omp critical
    ++*(long *)count;
    return ((const struct row *)x)->key - ((const struct row *)y)->key;
}

/* The threads of a region look at the elements. */
static int with_region(const void *x, const void *y) {
    int sum = 0;
    regions++;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    if (omp_get_thread_num() == omp_get_num_threads() - 1)
        sum += ((const struct row *)x)->key - ((const struct row *)y)->key + (((const struct row *)x)->text[0] != 'r') * 1000;
    return sum;
}

static int equal(const void *x, const void *y) {
    long question;
#pragma omp atomic capture seq_cst
    question = ++asked;
    return *(const int *)x - *(const int *)y + (question < 0);
}

static void make_rows(void) {
#pragma omp parallel for
    for (int i = 0; i < 100; i++) {
        rows[i].key = i * 37 % 11;
        snprintf(rows[i].text, sizeof rows[i].text, "row %d", i);
    }
}

int main(void) {
    for (int i = 0; i < 64; i++) shared.values[i] = i * 37 % 64;
#pragma omp parallel num_threads(2)
    if (omp_get_num_threads() > 1 && omp_get_thread_num() == 0) {
        qsort(shared.values, 64, sizeof(int), with_answer);
#pragma omp atomic write seq_cst
        stop = 1;
    } else if (omp_get_thread_num() == 1) {
        int end = 0;
        for (long question, done = 0; !end;) {
#pragma omp atomic read seq_cst
            end = stop;
#pragma omp atomic read seq_cst
            question = asked;
            if (question > done) {
                shared.other[question % 64] += question;
                done = question;
#pragma omp atomic write seq_cst
                answered = done;
            }
        }
    }
    int wrong = 0;
    long other = 0;
    for (int i = 0; i < 64; i++) {
        wrong += shared.values[i] != i;
        other += shared.other[i];
    }
    printf("%d %d %ld\n", wrong, other == asked * (asked + 1) / 2, asked);
    long count = 0;
    make_rows();
    qsort_r(rows, 100, sizeof *rows, with_lock, &count);
    printf("%s %s %s %ld\n", rows[0].text, rows[1].text, rows[99].text, count);
    make_rows();
    qsort(rows, 20, sizeof *rows, with_region);
    printf("%s %s %s %d\n", rows[0].text, rows[1].text, rows[19].text, regions);
    int list[40];
    size_t used = 0;
    for (int i = 0; i < 200; i++) {
        int key = i * i % 31;
        *(int *)lsearch(&key, list, &used, sizeof *list, equal) = key;
    }
    int key = 16;
#pragma omp parallel num_threads(4)
#pragma omp critical
    wrong += !lfind(&key, list, &used, sizeof *list, equal);
    printf("%zu %d %d\n", used, list[5], wrong);
}
