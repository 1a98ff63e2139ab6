// firstprivate and lastprivate of scalars, arrays, structures and pointers.
#include <stdio.h>

typedef struct {
    int tag;
    double v[12];
} Item;

static long result[500];

int main(void) {
    int offset = 17, last = -1, both = 4, array[20], tail[4] = {0};
    Item item = {3, {0}}, final = {0, {0}};
    const char *text = "abcdefgh";
    for (int i = 0; i < 20; i++) array[i] = i * i;
    for (int i = 0; i < 12; i++) item.v[i] = i * 0.5;
#pragma omp parallel for firstprivate(offset, array, item, text) lastprivate(last, final, tail) schedule(static, 9)
    for (int i = 0; i < 500; i++) {
        offset++;
        item.v[i % 12] += 0;
        result[i] = array[i % 20] + (long)(item.v[i % 12] * 2) + text[i % 8] + item.tag;
        last = i;
        final.tag = i * 2;
        final.v[3] = item.v[3] + i;
        tail[i % 4] = i;
        tail[(i + 1) % 4] = -i;
        tail[(i + 2) % 4] = i + 2;
        tail[(i + 3) % 4] = i + 3;
    }
    printf("%d %d %d %.2f %d %d %d %d\n", offset, last, final.tag, final.v[3], tail[0], tail[1], tail[2], tail[3]);
#pragma omp parallel for firstprivate(both) lastprivate(both) schedule(guided, 7)
    for (int i = 0; i < 300; i++) both = both * 0 + i * 3;
    long sum = 0;
    for (int i = 0; i < 500; i++) sum += result[i] * (i + 1);
    printf("%d %ld\n", both, sum);
    int private_here = 99;
#pragma omp parallel for private(private_here) lastprivate(conditional : last)
    for (int i = 0; i < 100; i++) {
        private_here = i;
        result[i] = private_here;
        if (i % 10 == 3) last = i;
    }
    printf("%d %d %ld\n", private_here, last, result[57]);
    return 0;
}
