// Memory-based operations: a queue of work for all threads, and a histogram that all add to.
//
// The Collatz sequences of all numbers up to LAST are followed, and how many have which length is counted. Ranges of numbers differ much in what they cost, so threads take them
// from a queue when they have nothing to do: a pop is one request to the process that has the queue. Nobody looks at the histogram before the end, so additions to it are
// posted: they go to its home some thousand at a time, and nobody waits for them. There is no lock, and no data that moves from process to process.
#include <dsm.h>
#include <omp.h>
#include <stdio.h>

enum { LAST = 400000, RANGE = 500, LONGEST = 600, CAPACITY = 64 };

static long histogram[LONGEST], greatest;
static int all_pushed;
static dsm_fifo *queue;

static int length_from(unsigned long n) {
    int length = 1;
    for (; n != 1; length++) n = n % 2 ? 3 * n + 1 : n / 2;
    return length;
}

static void count(int first) {
    for (int n = first; n < first + RANGE; n++) {
        int length = length_from(n);
        dsm_add(&histogram[length], 1);
        dsm_max(&greatest, length);
    }
}

// Takes ranges from the queue until it is empty and all have been pushed; returns how many that were.
static int work(void) {
    int first, done, ranges = 0;
    for (;;) {
        dsm_read(&done, &all_pushed, sizeof done);
        if (dsm_fifo_pop(queue, &first) == DSM_OK) count(first), ranges++;
        else if (done) return ranges;
    }
}

int main(void) {
    int ranges = 0, least = LAST;
    queue = dsm_fifo_create(CAPACITY, sizeof(int));
    double start = omp_get_wtime();
#pragma omp parallel reduction(+ : ranges) reduction(min : least)
    {
        int mine = 0;
        if (omp_get_thread_num() == 0) {
            // Where the queue is full there is work enough: one more for this thread.
            for (int first = 1; first < LAST; first += RANGE)
                if (dsm_fifo_push(queue, &first) == DSM_FULL) count(first), mine++;
            dsm_swap(&all_pushed, 1);
        }
        mine += work();
        ranges += mine;
        least = mine;
    }
    double seconds = omp_get_wtime() - start;
    dsm_fifo_destroy(queue);
    // The region's end was a release of all: ordinary loads see what was added.
    long sum = 0, longest = 0;
    for (int i = 0; i < LONGEST; i++) {
        sum += histogram[i];
        if (histogram[i]) longest = i;
    }
    printf("%ld sequences, the longest of %ld numbers; %d ranges, %d at least a thread; %.3f s\n", sum, longest, ranges,
           least, seconds);
    int right = sum == LAST && greatest == longest && longest == 443 && histogram[1] == 1 && ranges == LAST / RANGE;
    puts(right ? "verified" : "WRONG");
    return !right;
}
